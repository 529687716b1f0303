"""The feasible tile sizes of a problem on a machine (time model, problem 31), as arrays.

On a CPU these are grids of sizes worth a look, as are those of skewed and diamond tiles on both machines. Points are in
lexicographic order of (t_T, t_S1, …), k left open.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilewright.base.constants import CACHE_LINE, WARP
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.arrays import Ints, TileSizes
from tilewright.costs.gpu.blocks import shared_bytes
from tilewright.costs.setting import Setting
from tilewright.costs.time import evaluate, sizes_of
from tilewright.costs.work.families import tiles_of
from tilewright.programs.stencil.problem import MAX_TILED_RANK, Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.family import Family, untileable
from tilewright.schedules.tiling import NONE, Tiling

# Of hexagons and hybrid tiles on CPUs: heights, bases, sizes of middle axes, and of the last one in vectors.
_HEIGHTS = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512)
_BASES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_HYBRID_MIDDLES = (4, 8, 16, 32, 64, 128, 256)
_ROWS = (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512)
# Of streaming tiles on CPUs: levels by rank, numbers of parts of the outer axes, and about how long the last ones are.
_LEVELS = {
    1: (8, 16, 24, 32, 52, 64, 100, 128),
    2: (4, 6, 8, 12, 16, 20, 24, 32, 52),
    3: (2, 3, 4, 5, 6, 7, 8, 10),
}
_STRIPS = (1, 2, 4, 8, 16)
_MIDDLES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32)
_WIDTHS = (256, 352, 512, 704, 1024, 2048, 4096, 8192)
_PITCHES = (2, 3, 4, 6, 8, 16)  # pitches of diamonds as multiples of half the smallest one
# Of skewed and diamond tiles on CPUs: heights and first sizes by rank, sizes of middle and last axes.
_CPU_TIMES = {1: (8, 16, 32, 64, 128, 256, 512), 2: (4, 8, 12, 16, 24, 32, 64), 3: (2, 4, 6, 8, 12, 16)}
_CPU_FIRST = {1: (512, 1024, 2048, 4096, 8192, 16384), 2: (16, 32, 64, 128, 256), 3: (8, 16, 32, 64)}
_CPU_MIDDLE = (8, 16, 32, 64)
_CPU_LAST = (128, 256, 512, 1024)
# Of skewed and diamond tiles on GPUs: sizes per doubling by rank, and the largest one in 1D in eighths.
_PER_DOUBLING = {1: 8, 2: 4, 3: 3}
_LARGEST = 4096


def families(
    problem: Problem, storage: Storage = PLAIN, *, cpu: bool = False, every: bool = True
) -> tuple[Family, ...]:
    """Return the tiling families that can cut a problem, ``none`` first."""
    # Where no time tile is legal, in more than three dimensions, or for one step, that is all. On a GPU those without
    # kernels are left out.
    if problem.steps < 2 or problem.program.rank > MAX_TILED_RANK or untileable(problem):
        return (NONE.family,)
    tiled = (family for family in catalogue.families() if not (family.untiled or family.tables))
    applicable = (each for each in tiled if (every or each.trusted) and each.applies(problem, storage, gpu=not cpu))
    return (NONE.family, *(family for family in applicable if family.modelled or (cpu and family.candidates(problem))))


def feasible(
    setting: Setting, *, coarse: bool = False, family: Family | None = None, model: str = "exact"
) -> TileSizes:
    """Enumerate the tile sizes that a machine can hold."""
    # On a GPU every size of (31): t_T even, the innermost size a multiple of a warp, M_tile within what a block may
    # use; in 1D and where ``coarse`` a grid of them. By the exact model hybrid tiles have thread blocks there, see
    # :func:`tilewright.tuning.spaces.gpu_tiles.points`. On a CPU, where nothing fails but only spills, a grid of sizes
    # whose innermost one is a multiple of the vector length or the whole extent. No size goes far beyond the problem's
    # own. Sizes are in lexicographic order of (t_T, t_S1, …), k left open.
    return TileSizes.join(list(parts(setting, coarse=coarse, family=family, model=model)))


def parts(
    setting: Setting, *, coarse: bool = False, family: Family | None = None, model: str = "exact"
) -> Iterator[TileSizes]:
    """Yield the sizes of :func:`feasible` in pieces of bounded length; at least one, possibly empty."""
    if family and not family.modelled:
        yield named(family, setting)
    elif family and not (family.hexagons or family.streams):
        yield leaning(family, setting)
    elif not setting.cpu:
        yield from _on_gpu(setting, family, model, coarse=coarse)
    else:
        yield streams(setting) if family and family.streams else hexagons(setting)


def _on_gpu(setting: Setting, family: Family | None, model: str, *, coarse: bool) -> Iterator[TileSizes]:
    from tilewright.tuning.spaces import gpu_tiles

    rank = len(setting.facts.shape)
    if family and family.streams:
        yield gpu_tiles.stream_points(setting)
    elif model == "exact" and rank > 1:
        yield from gpu_tiles.points(setting, coarse=coarse, rival=math.inf if coarse else _rival(setting))
    else:
        yield TileSizes.of(*[np.zeros(0, dtype=np.int64)] * (rank + 1))
        yield from gpu_tiles.pieces(setting, coarse=coarse or rank == 1)


def named(family: Family, setting: Setting) -> TileSizes:
    """The tilings that a family calls worth a look, in lexicographic order."""
    problem = setting.facts.problem
    whole = (catalogue.complete(problem, each) for each in family.candidates(problem))
    sizes = sorted({(each.time, *each.space) for each in whole})
    return TileSizes.of(*np.array(sizes, dtype=np.int64).T.copy())


def best_blocks(setting: Setting, rival: float, fewest: int) -> TileSizes:
    """Return the hybrid tiles of a GPU with thread blocks that may beat ``rival`` seconds, and a few in any case."""
    from tilewright.tuning.spaces import gpu_tiles

    return gpu_tiles.near_best(setting, rival, share=0.0, fewest=fewest)


def _rival(setting: Setting) -> float:
    plain, spaces = replace(setting, energy=None), [(NONE.family, sizes_of(NONE, setting))]
    if setting.facts.block is not None:
        spaces.append((streaming.FAMILY, feasible(setting, family=streaming.FAMILY)))
    return min(float(np.min(evaluate(family, sizes, plain).seconds, initial=np.inf)) for family, sizes in spaces)


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


def hexagons(setting: Setting) -> TileSizes:
    """Return the heights and sizes of hexagons and hybrid tiles worth a look on a CPU."""
    facts, reach, lanes = setting.facts, max(1, setting.facts.slopes[0]), setting.rates.vector_width
    heights = [t for t in _HEIGHTS if t == 2 or t < 2 * facts.steps]
    if len(facts.shape) == 1:
        bases = sorted({lanes * n for n in (*_ROWS, 1024, 2048, 4096, 8192) if lanes * n >= reach} | {reach})
        return _product([_ints(heights), _clip(bases, facts.shape[0], reach)])
    axes = [_ints(heights), _clip([b for b in _BASES if b >= reach] + [reach, 2 * reach], facts.shape[0], reach)]
    axes += [_clip([*_HYBRID_MIDDLES, extent], extent, 1) for extent in facts.shape[1:-1]]
    innermost = round_up(facts.shape[-1], lanes)
    longest = round_up(innermost + facts.slopes[-1] * max(heights) * facts.stages, lanes)
    axes.append(_clip([lanes * n for n in _ROWS] + [innermost, longest], longest, 1))
    return _product(axes)


def streams(setting: Setting) -> TileSizes:
    """Return the levels and sizes of streaming tiles worth a look on a CPU."""
    facts, rank, unit = setting.facts, len(setting.facts.shape), max(1, CACHE_LINE // setting.facts.itemsize)
    times = sorted({min(t, max(1, facts.steps)) for t in _LEVELS[rank]})
    axes = [_equal_parts(facts.shape[0], 1, _STRIPS, 16)] if rank > 1 else []
    if rank == 3:
        axes.append(_equal_parts(facts.shape[1], 1, _MIDDLES, 8))
    last = facts.shape[-1]
    counts = sorted({1, *(max(1, round(last / width)) for width in _WIDTHS)})
    axes.append(_equal_parts(last, unit, tuple(counts), unit))
    return _product([_ints(each) for each in (times, *axes)])


def _equal_parts(extent: int, unit: int, counts: tuple[int, ...], least: int) -> list[int]:
    """Sizes that cut an extent into these numbers of equal parts, none below ``least`` unless whole."""
    sizes = {ceil_div(ceil_div(extent, unit), count) * unit for count in counts}
    return sorted(size for size in sizes if size >= least) or [ceil_div(extent, unit) * unit]


def leaning(family: Family, setting: Setting) -> TileSizes:
    """Return the sizes of skewed or diamond tiles that a machine can hold; possibly none."""
    axes = _cpu_axes(setting) if setting.cpu else _gpu_axes(setting)
    if family.diamonds:
        axes[0] = axes[0][axes[0] % 2 == 0]
    time, *space = crossed(family, axes, setting)
    if not setting.cpu:
        # A tile keeps its own cells at least, a diamond all but one row of its pitch; most points end here.
        own = np.maximum(1, space[0] - family.diamonds)
        for size in space[1:]:
            own = own * size
        fits = own * setting.facts.copies * setting.facts.itemsize <= setting.rates.block_bytes
        time, space = time[fits], [size[fits] for size in space]
    sizes = ordered(family, [time, *space])
    if setting.cpu or not len(sizes.time):
        return sizes
    block = tiles_of(family).blocks(sizes, setting.facts)
    return sizes.take(shared_bytes(block, setting.facts) <= setting.rates.block_bytes)


def crossed(family: Family, axes: list[Ints], setting: Setting) -> list[Ints]:
    """Return every combination of heights and sizes; the first sizes of diamonds are their pitches, by the height."""
    if family.diamonds:
        axes = [axes[0], np.array(_PITCHES, dtype=np.int64), *axes[2:]]
    time, *space = (grid.ravel() for grid in np.meshgrid(*axes, indexing="ij"))
    if family.diamonds:
        pitch = np.maximum(1, setting.facts.slopes[0] * time * setting.facts.stages // 2) * space[0]
        space[0] = pitch + pitch % 2
    return [time, *space]


def ordered(family: Family, columns: list[Ints]) -> TileSizes:
    """Return combinations in lexicographic order, each once; only pitches of diamonds come otherwise."""
    if family.diamonds:
        columns = list(np.unique(np.stack(columns, axis=1), axis=0).T.copy())
    return TileSizes.of(*columns)


def _geometric(first: int, last: int, step: int, per_doubling: int) -> Ints:
    """Multiples of ``step`` from ``first`` to about ``last``, so many per doubling at most."""
    last = max(first, last)
    count = int(per_doubling * max(1.0, np.log2(last / first))) + 2
    rounded = np.round(np.geomspace(first, last, count) / step).astype(np.int64) * step
    return np.unique(np.maximum(rounded, first))


def _gpu_axes(setting: Setting) -> list[Ints]:
    """Heights and sizes per axis: none so large that a tile of it alone would not fit."""
    facts, rank = setting.facts, len(setting.facts.shape)
    density = _PER_DOUBLING[rank]
    values = setting.rates.block_bytes // (facts.itemsize * max(1, facts.copies))
    if rank == 1:
        most = min(values, round_up(facts.shape[0], WARP), 8 * _LARGEST)
        heights = _geometric(2, min(2 * max(1, facts.steps), values), 2, 4)
        return [heights, _geometric(WARP, most, WARP, density)]
    tallest = min(2 * max(1, facts.steps), max(2, values // WARP))
    axes = [_geometric(2, tallest, 2, density)]
    axes += [_geometric(1, min(extent, values // WARP), 1, density) for extent in facts.shape[:-1]]
    last = min(round_up(facts.shape[-1], WARP), values // 4)
    axes.append(_geometric(WARP, last, WARP, density))
    return axes


def _cpu_axes(setting: Setting) -> list[Ints]:
    facts, rank, lanes = setting.facts, len(setting.facts.shape), setting.rates.vector_width
    times = [t for t in _CPU_TIMES[rank] if t == _CPU_TIMES[rank][0] or t < 2 * facts.steps]
    axes = [_ints(times), _clip([*_CPU_FIRST[rank], facts.shape[0]], facts.shape[0], 1)]
    if rank == 3:
        axes.append(_clip([*_CPU_MIDDLE, facts.shape[1]], facts.shape[1], 1))
    if rank > 1:
        # A line that is not cut: what leans out of the grid on the left still belongs to the first tile.
        whole = setting.facts.shape[-1] + facts.slopes[-1] * max(times) * facts.stages
        lasts = [*_CPU_LAST, round_up(facts.shape[-1], lanes), round_up(whole, lanes)]
        axes.append(_clip(lasts, whole + lanes, 1))
    return axes


def _clip(values: list[int], extent: int, least: int) -> Ints:
    """Return the distinct values from ``least`` to ``extent``, sorted; at least one."""
    inside = sorted({value for value in values if least <= value <= max(extent, least)})
    return _ints(inside or [max(least, min(values))])


def _product(axes: list[Ints]) -> TileSizes:
    """Return every combination of a height and of sizes, the last axis fastest."""
    return TileSizes.of(*(grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")))


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
