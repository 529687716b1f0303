"""The feasible tile sizes of a problem on a machine (time model, problem 31), as arrays."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilewright.costs.arrays import TileSizes
from tilewright.costs.setting import Setting
from tilewright.costs.time import evaluate, sizes_of
from tilewright.programs.stencil.problem import MAX_TILED_RANK, Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.family import Family, untileable
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.spaces import grids


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
        yield grids.leaning(family, setting)
    elif not setting.cpu:
        yield from _on_gpu(setting, family, model, coarse=coarse)
    else:
        yield grids.streams(setting) if family and family.streams else grids.hexagons(setting)


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
