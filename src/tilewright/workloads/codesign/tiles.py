"""The tile sizes that codesign chooses from, with every k: the grid on which it is exact.

``fine``: t_T even up to 32, then 8 per doubling up to 128; t_S1 (and t_S2 in 3D) every size up to 16, then 8 per
doubling up to 1024 (128 for the middle one); the innermost size multiples of 32 up to 256, then 8 per doubling up to
1024. ``coarse`` is dense up to 8 (16 for t_T, 128 for the innermost size), then 4 per doubling. k takes every value
from 1 to MTB_SM. A size is in the grid if its tile fits the largest M_SM over the blocks per SM of (C.10).
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import WARP
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Ints, TileSizes
from tilewright.costs.published import time as published
from tilewright.costs.setting import Setting
from tilewright.costs.work import hexagonal
from tilewright.workloads.codesign.design import DesignOptions

_HIGHEST, _WIDEST, _WIDEST_MIDDLE, _LONGEST = 128, 1024, 128, 1024
_LONGEST_1D = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Configurations:
    """Tiles, and tiles with their k, ordered by the smallest M_SM that holds them, then by size."""

    tiles: TileSizes  # k left open; shape (n,)
    shared_bytes: Ints  # M_tile per tile; shape (n,)
    tile: Ints  # index of each configuration's tile; shape (m,)
    k: Ints  # its tiles per SM; shape (m,)
    level: Ints  # index of the smallest M_SM that holds it, in increasing order; shape (m,)
    starts: Ints  # where each level begins, and the end: shape (levels + 1,)


def configurations(setting: Setting, shared_kb: tuple[float, ...], options: DesignOptions) -> Configurations:
    """Enumerate the configurations of one stencil, whatever its size; (C.10) to (C.14) and (C.16) hold."""
    sizes = np.array([int(kb * 1024) for kb in shared_kb], dtype=np.int64)
    tiles = _grid(setting, coarse=options.grid == "coarse")
    printed = options.form.model == "published"
    values = published.shared_values(tiles) if printed else hexagonal.shared_values(tiles, setting.facts)
    footprint = values * setting.facts.itemsize
    fits = footprint * options.blocks_per_sm <= sizes[-1]
    if not fits.any():
        raise UsageError(
            f"no tile fits {shared_kb[-1]:g} kB of shared memory for {options.blocks_per_sm} blocks",
            f"the smallest needs {int(footprint.min()) * options.blocks_per_sm / 1024:.3g} kB",
        )
    every = np.arange(1, (options.most_tiles or setting.rates.max_tiles) + 1)
    return arranged(tiles, footprint, every, shared_kb, options.blocks_per_sm)


def arranged(
    tiles: TileSizes, footprint: Ints, every: Ints, shared_kb: tuple[float, ...], blocks_per_sm: int
) -> Configurations:
    """Combine tiles with every k and order those that fit, perhaps none, by the smallest M_SM that holds them."""
    sizes = np.array([int(kb * 1024) for kb in shared_kb], dtype=np.int64)
    fits = footprint * blocks_per_sm <= sizes[-1]
    tiles, footprint = tiles.take(fits), footprint[fits]
    tile = np.repeat(np.arange(len(footprint)), len(every))
    k = np.tile(every, len(footprint))
    need = np.maximum(k, blocks_per_sm) * footprint[tile]  # (C.10) and (C.12)
    level = np.searchsorted(sizes, need)
    order = np.flatnonzero(level < len(sizes))
    order = order[np.argsort(level[order], kind="stable")]
    return Configurations(
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
