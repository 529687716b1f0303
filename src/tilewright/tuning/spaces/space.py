"""The feasible tile sizes of a problem on a machine (time model, problem 31), as arrays."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import ceil_div
from tilewright.costs.arrays import Ints, TileSizes
from tilewright.costs.setting import Setting
from tilewright.costs.time import evaluate, sizes_of
from tilewright.programs.stencil.problem import MAX_TILED_RANK, Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.family import Family
from tilewright.schedules.legality import untileable
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.spaces import strategies as strategy_space

_CPU_HEIGHTS = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512)
_CPU_BASES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_CPU_MIDDLES = (4, 8, 16, 32, 64, 128, 256)
_CPU_ROWS = (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512)
_LEVELS = {
    1: (8, 16, 24, 32, 52, 64, 100, 128),
    2: (4, 6, 8, 12, 16, 20, 24, 32, 52),
    3: (2, 3, 4, 5, 6, 7, 8, 10),
}
_STRIPS = (1, 2, 4, 8, 16)
_MIDDLES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32)
_WIDTHS = (256, 352, 512, 704, 1024, 2048, 4096, 8192)


def families(
    problem: Problem, storage: Storage = PLAIN, *, cpu: bool = False, every: bool = True
) -> tuple[Family, ...]:
    """Return the tiling families that can cut a problem, ``none`` first.

    Where no time tile is legal, in more than three dimensions, or for one step, that is all. On a GPU those without
    kernels are left out.
    """
    if problem.steps < 2 or problem.program.rank > MAX_TILED_RANK or untileable(problem):
        return (NONE.family,)
    tiled = (family for family in catalogue.families() if not (family.untiled or family.tables))
    found = (each for each in tiled if (every or each.trusted) and each.applies(problem, storage, gpu=not cpu))
    return (NONE.family, *(family for family in found if family.modelled or (cpu and family.candidates(problem))))


def feasible(
    setting: Setting, *, coarse: bool = False, family: Family | None = None, model: str = "exact"
) -> TileSizes:
    """Enumerate the tile sizes that a machine can hold.

    On a GPU every size of (31): t_T even, the innermost size a multiple of a warp, M_tile within what a block may use;
    in 1D and where ``coarse`` a grid of them. By the exact model hybrid tiles have thread blocks there, see
    :func:`tilewright.tuning.spaces.gpu_tiles.points`. On a CPU, where nothing fails but only spills, a grid of
    sizes whose innermost one is a multiple of the vector length or the whole extent. No size goes far beyond the
    problem's own. Sizes are in lexicographic order of (t_T, t_S1, …), k left open.
    """
    return TileSizes.join(list(parts(setting, coarse=coarse, family=family, model=model)))


def parts(
    setting: Setting, *, coarse: bool = False, family: Family | None = None, model: str = "exact"
) -> Iterator[TileSizes]:
    """Yield the sizes of :func:`feasible` in pieces of bounded length; at least one, possibly empty."""
    if family and not family.modelled:
        yield named(family, setting)
    elif family and not (family.hexagons or family.streams):
        yield strategy_space.points(family, setting)
    elif not setting.cpu:
        yield from _on_gpu(setting, family, model, coarse=coarse)
    else:
        yield _cpu_streams(setting) if family and family.streams else _product(_cpu_axes(setting))


def _on_gpu(setting: Setting, family: Family | None, model: str, *, coarse: bool) -> Iterator[TileSizes]:
    from tilewright.tuning.spaces import gpu_tiles, stream_block

    rank = len(setting.facts.shape)
    if family and family.streams:
        yield stream_block.points(setting)
    elif model == "exact" and rank > 1:
        yield from gpu_tiles.points(setting, coarse=coarse, rival=math.inf if coarse else _rival(setting))
    else:
        empty = np.zeros(0, dtype=np.int64)
        yield TileSizes(time=empty, space=(empty,) * rank, k=empty)
        yield from gpu_tiles.pieces(setting, coarse=coarse or rank == 1)


def named(family: Family, setting: Setting) -> TileSizes:
    """The tilings that a family calls worth a look, in lexicographic order."""
    found = sorted({(each.time, *each.space) for each in family.candidates(setting.facts.problem)})
    time, *space = np.array(found, dtype=np.int64).T.copy()
    return TileSizes(time=time, space=tuple(space), k=np.zeros_like(time))


def best_blocks(setting: Setting, rival: float, fewest: int) -> TileSizes:
    """Return the hybrid tiles of a GPU with thread blocks that may beat ``rival`` seconds, and a few in any case."""
    from tilewright.tuning.spaces import gpu_tiles

    return gpu_tiles.near_best(setting, rival, share=0.0, fewest=fewest)


def _rival(setting: Setting) -> float:
    """Seconds of the best tiling of a GPU that is not hybrid."""
    plain, found = replace(setting, energy=None), [(NONE.family, sizes_of(NONE, setting))]
    if setting.facts.block is not None:
        found.append((streaming.FAMILY, feasible(setting, family=streaming.FAMILY)))
    return min(float(np.min(evaluate(family, sizes, plain).seconds, initial=np.inf)) for family, sizes in found)


def possible(family: Family, sizes: TileSizes, setting: Setting) -> NDArray[np.bool_]:
    """Say at which sizes a family has a legal tile, whatever the machine can hold; shape (n,)."""
    even, reach = sizes.time % 2 == 0, setting.facts.slopes[0]
    if family.hexagons:
        return np.asarray(even & (sizes.space[0] >= max(1, reach)))
    if family.diamonds:
        least = np.maximum(2, reach * sizes.time * setting.facts.stages)
        return np.asarray(even & (sizes.space[0] % 2 == 0) & (sizes.space[0] >= least))
    if family.streams:
        return np.asarray(sizes.time <= max(1, setting.facts.steps))
    return np.ones(len(sizes.time), dtype=bool)


def tiling_at(family: Family, sizes: TileSizes, index: int) -> Tiling:
    """Return one point of a space as a tiling; the only point of ``none`` is the absence of time tiling."""
    if family.untiled:
        return Tiling(family=family)
    return Tiling(
        family=family,
        time=int(sizes.time[index]),
        space=tuple(int(size[index]) for size in sizes.space),
        threads=tuple(int(count[index]) for count in sizes.threads),
        k=int(sizes.k[index]) or None,
    )


def _cpu_axes(setting: Setting) -> list[Ints]:
    steps, reach, lanes = setting.facts.steps, max(1, setting.facts.slopes[0]), setting.rates.vector_width
    heights = [t for t in _CPU_HEIGHTS if t == 2 or t < 2 * steps]
    if len(setting.facts.shape) == 1:
        bases = sorted({lanes * n for n in (*_CPU_ROWS, 1024, 2048, 4096, 8192) if lanes * n >= reach} | {reach})
        return [_ints(heights), _clip(bases, setting.facts.shape[0], reach)]
    axes = [
        _ints(heights),
        _clip([b for b in _CPU_BASES if b >= reach] + [reach, 2 * reach], setting.facts.shape[0], reach),
    ]
    axes += [_clip([*_CPU_MIDDLES, extent], extent, 1) for extent in setting.facts.shape[1:-1]]
    innermost = -(-setting.facts.shape[-1] // lanes) * lanes
    longest = -(-(innermost + setting.facts.slopes[-1] * max(heights) * setting.facts.stages) // lanes) * lanes
    axes.append(_clip([lanes * n for n in _CPU_ROWS] + [innermost, longest], longest, 1))
    return axes


def _clip(values: list[int], extent: int, least: int) -> Ints:
    """Return the distinct values from ``least`` to ``extent``, sorted; at least one."""
    kept = sorted({value for value in values if least <= value <= max(extent, least)})
    return _ints(kept or [max(least, min(values))])


def _product(axes: list[Ints]) -> TileSizes:
    """Return every combination of a height and of sizes, the last axis fastest."""
    grids = [grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")]
    return TileSizes(time=grids[0], space=tuple(grids[1:]), k=np.zeros_like(grids[0]))


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _cpu_streams(setting: Setting) -> TileSizes:
    """Levels and sizes of streaming tiles worth a look on a CPU; shape (n,)."""
    rank, unit = len(setting.facts.shape), max(1, CACHE_LINE // setting.facts.itemsize)
    times = sorted({min(t, max(1, setting.facts.steps)) for t in _LEVELS[rank]})
    axes = [_equal_parts(setting.facts.shape[0], 1, _STRIPS, 16)] if rank > 1 else []
    if rank == 3:
        axes.append(_equal_parts(setting.facts.shape[1], 1, _MIDDLES, 8))
    last = setting.facts.shape[-1]
    counts = sorted({1, *(max(1, round(last / width)) for width in _WIDTHS)})
    axes.append(_equal_parts(last, unit, tuple(counts), unit))
    return _product([_ints(each) for each in (times, *axes)])


def _equal_parts(extent: int, unit: int, counts: tuple[int, ...], least: int) -> list[int]:
    """Sizes that cut an extent into these numbers of equal parts, none below ``least`` unless whole."""
    found = {ceil_div(ceil_div(extent, unit), count) * unit for count in counts}
    return sorted(size for size in found if size >= least) or [ceil_div(extent, unit) * unit]
