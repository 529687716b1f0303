"""The tile sizes that codesign chooses from, with every k: the grid on which it is exact.

``fine``: t_T even up to 32, then 8 per doubling up to 128; t_S1 (and t_S2 in 3D) every size up to 16, then 8 per
doubling up to 1024 (128 for the middle one); the innermost size multiples of 32 up to 256, then 8 per doubling up to
1024. ``coarse`` is dense up to 8 (16 for t_T, 128 for the innermost size), then 4 per doubling. k takes every value
from 1 to MTB_SM. A size is in the grid if its tile fits the largest M_SM over the blocks per SM of (C.10).

Skewed and diamond tiles have 2 values per doubling (``coarse``: 1): heights up to 128, the first size up to 256 (of
diamonds 1 to 8 times half the least pitch), the middle one up to 64, the innermost one up to 1024 in multiples of 32
(in 1D up to 16384); k is 1, 2, 3, 4, 6, 8, 12 and so on.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import WARP
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Ints, TileSizes
from tilewright.costs.gpu import blocks
from tilewright.costs.published import time as published
from tilewright.costs.setting import Setting
from tilewright.costs.work import hexagonal
from tilewright.costs.work.families import tiles_of
from tilewright.schedules.families import hexagonal as hexagons
from tilewright.schedules.families import hybrid
from tilewright.schedules.family import Family, family_named
from tilewright.schedules.tiling import NONE
from tilewright.tuning.spaces.space import crossed, families, ordered
from tilewright.workloads.codesign.design import DesignOptions, WeightedProblem

_HIGHEST, _WIDEST, _WIDEST_MIDDLE, _LONGEST = 128, 1024, 128, 1024
_LONGEST_1D = 16384
_FIRST, _MIDDLE = 256, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Configurations:
    """Tiles, and tiles with their k, ordered by the smallest M_SM that holds them, then by size."""

    family: Family
    tiles: TileSizes  # k left open; shape (n,)
    shared_bytes: Ints  # M_tile per tile; shape (n,)
    tile: Ints  # index of each configuration's tile; shape (m,)
    k: Ints  # its tiles per SM; shape (m,)
    level: Ints  # index of the smallest M_SM that holds it, in increasing order; shape (m,)
    starts: Ints  # where each level begins, and the end: shape (levels + 1,)


def configurations(setting: Setting, shared_kb: tuple[float, ...], options: DesignOptions) -> Configurations:
    """Enumerate hexagonal or hybrid tiles of one stencil, whatever its size; (C.10) to (C.14) and (C.16) hold."""
    tiles = _grid(setting, coarse=options.grid == "coarse")
    printed = options.form.model == "published"
    values = published.shared_values(tiles) if printed else hexagonal.shared_values(tiles, setting.facts)
    footprint = values * setting.facts.itemsize
    every = np.arange(1, (options.most_tiles or setting.rates.max_tiles) + 1)
    family = hexagons.FAMILY if len(tiles.space) == 1 else hybrid.FAMILY
    configs = _arrangement(family, tiles, footprint, every, shared_kb, options)
    if not len(configs.shared_bytes):
        raise UsageError(
            f"no tile fits {shared_kb[-1]:g} kB of shared memory for {options.blocks_per_sm} blocks",
            f"the smallest needs {int(footprint.min()) * options.blocks_per_sm / 1024:.3g} kB",
        )
    return configs


def others_of(
    case: WeightedProblem, setting: Setting, shared_kb: tuple[float, ...], options: DesignOptions
) -> tuple[Configurations, ...]:
    """Enumerate the configurations of the families besides hexagons that are tried for a case."""
    kinds = [family_named(name) for name in options.tried(case) if name not in {"tiled", "none"}]
    if not kinds or families(case.problem) == (NONE.family,):
        return ()
    if options.form.model == "published" or options.form.pitch == "published":
        raise UsageError(
            f"no equations are printed for {kinds[0]} tiles", "take the exact model, or the strategies tiled and none"
        )
    most = options.most_tiles or setting.rates.max_tiles
    every = np.array([k for k in range(1, most + 1) if k & (k - 1) == 0 or (k % 3 == 0 and k // 3 & (k // 3 - 1) == 0)])
    groups = []
    for family in kinds:
        tiles = _family_grid(family, setting, coarse=options.grid == "coarse")
        footprint = blocks.shared_bytes(tiles_of(family).blocks(tiles, setting.facts), setting.facts)
        groups.append(_arrangement(family, tiles, footprint, every, shared_kb, options))
    return tuple(each for each in groups if len(each.k))


def _arrangement(
    family: Family, tiles: TileSizes, footprint: Ints, every: Ints, shared_kb: tuple[float, ...], options: DesignOptions
) -> Configurations:
    """Combine tiles with every k and order those that fit, perhaps none, by the smallest M_SM that holds them."""
    sizes = np.array([int(kb * 1024) for kb in shared_kb], dtype=np.int64)
    blocks_per_sm = options.blocks_per_sm
    fits = footprint * blocks_per_sm <= sizes[-1]
    tiles, footprint = tiles.take(fits), footprint[fits]
    tile = np.repeat(np.arange(len(footprint)), len(every))
    k = np.tile(every, len(footprint))
    need = np.maximum(k, blocks_per_sm) * footprint[tile]  # (C.10) and (C.12)
    level = np.searchsorted(sizes, need)
    order = np.flatnonzero(level < len(sizes))
    order = order[np.argsort(level[order], kind="stable")]
    return Configurations(
        family=family,
        tiles=tiles,
        shared_bytes=footprint,
        tile=tile[order],
        k=k[order],
        level=level[order],
        starts=np.searchsorted(level[order], np.arange(len(sizes) + 1)),
    )


def _grid(setting: Setting, *, coarse: bool) -> TileSizes:
    rank = len(setting.facts.shape)
    per_doubling, dense = (4, 8) if coarse else (8, 16)
    heights = _steps(2, 2 * dense, _HIGHEST, per_doubling, 2)
    if rank == 1:
        axes = [_steps(WARP, WARP * dense, _LONGEST_1D, per_doubling, WARP)]
    else:
        base = max(1, setting.facts.slopes[0])
        axes = [_steps(base, max(base, dense), _WIDEST, per_doubling, 1)]
        axes += [_steps(1, dense, _WIDEST_MIDDLE, per_doubling, 1) for _ in range(rank - 2)]
        axes.append(_steps(WARP, WARP * dense // 2, _LONGEST, per_doubling, WARP))
    grids = [grid.ravel() for grid in np.meshgrid(heights, *axes, indexing="ij")]
    sizes = TileSizes(time=grids[0], space=tuple(grids[1:]), k=np.zeros_like(grids[0]))
    return sizes.take(sizes.space[0] >= setting.facts.slopes[0])


def _steps(first: int, dense: int, last: int, per_doubling: int, step: int) -> Ints:
    """Return the multiples of a step from first to dense, then so many per doubling up to last."""
    every = np.arange(first, dense + 1, step, dtype=np.int64)
    count = round(np.log2(last / dense) * per_doubling)
    further = np.round(np.geomspace(dense, last, count + 1) / step).astype(np.int64) * step
    return np.asarray(np.unique(np.concatenate((every, further))))


def _family_grid(family: Family, setting: Setting, *, coarse: bool) -> TileSizes:
    rank, density = len(setting.facts.shape), 1 if coarse else 2
    heights = [int(t) for t in _geometric(2, min(_HIGHEST, 2 * max(1, setting.facts.steps)), 2, density)]
    last = _geometric(WARP, _LONGEST_1D if rank == 1 else _LONGEST, WARP, density)
    axes: list[Ints] = [np.array(heights, dtype=np.int64)]
    axes += [_geometric(1, size, 1, density) for size in (_FIRST, _MIDDLE)[: rank - 1]]
    axes.append(last)
    return ordered(family, crossed(family, axes, setting))


def _geometric(first: int, last: int, step: int, per_doubling: int) -> Ints:
    count = max(1, round(np.log2(max(last, first) / first) * per_doubling))
    sizes = np.round(np.geomspace(first, max(last, first), count + 1) / step).astype(np.int64) * step
    return np.asarray(np.unique(np.maximum(sizes, first)))
