"""The streaming tilings worth a look on a CPU."""

import numpy as np

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import ceil_div
from tilewright.costs.arrays import TileSizes
from tilewright.costs.setting import Setting

_LEVELS = {1: (8, 16, 24, 32, 52, 64, 100, 128), 2: (4, 6, 8, 12, 16, 20, 24, 32, 52), 3: (2, 3, 4, 5, 6, 7, 8, 10)}
_STRIPS = (1, 2, 4, 8, 16)
_MIDDLE = (1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32)
_WIDTHS = (256, 352, 512, 704, 1024, 2048, 4096, 8192)


def points(setting: Setting) -> TileSizes:
    """Enumerate levels and tile sizes worth a look on a CPU; shape (n,)."""
    rank, unit = len(setting.facts.shape), max(1, CACHE_LINE // setting.facts.itemsize)
    times = sorted({min(t, max(1, setting.facts.steps)) for t in _LEVELS[rank]})
    axes = [_parts(setting.facts.shape[0], 1, _STRIPS, 16)] if rank > 1 else []
    if rank == 3:
        axes.append(_parts(setting.facts.shape[1], 1, _MIDDLE, 8))
    last = setting.facts.shape[-1]
    counts = sorted({1, *(max(1, round(last / width)) for width in _WIDTHS)})
    axes.append(_parts(last, unit, tuple(counts), unit))
    grids = [grid.ravel() for grid in np.meshgrid(np.array(times), *map(np.array, axes), indexing="ij")]
    return TileSizes(
        time=grids[0].astype(np.int64),
        space=tuple(grid.astype(np.int64) for grid in grids[1:]),
        k=np.zeros(len(grids[0]), dtype=np.int64),
    )


def _parts(extent: int, unit: int, counts: tuple[int, ...], least: int) -> list[int]:
    """Sizes that cut an extent into these numbers of equal parts, none below ``least`` unless whole."""
    found = {ceil_div(ceil_div(extent, unit), count) * unit for count in counts}
    return sorted(size for size in found if size >= least) or [ceil_div(extent, unit) * unit]
