"""The streaming tilings worth a look on a GPU: levels, threads and their cells, rows in whole waves."""

import itertools
import math

import numpy as np

from tilewright.base.constants import WARP
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.costs.arrays import TileSizes
from tilewright.costs.gpu import streaming as streaming_gpu
from tilewright.costs.setting import Setting

_LEVELS = {2: (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24), 3: (1, 2, 3, 4, 5, 6, 8)}
_CELLS = {2: ((1,), (2,), (3,), (4,), (6,), (8,), (12,), (16,)), 3: ((1, 1), (1, 2), (2, 2), (1, 4), (2, 4), (4, 4))}
"""Cells of a thread, which lie side by side, per axis that threads share."""
_THREADS = {
    2: ((32,), (64,), (96,), (128,), (192,), (256,), (384,), (512,)),
    3: tuple(itertools.product((4, 8, 12, 16, 24, 32), (8, 16, 24, 32))),
}
_MOST_THREADS = 512
_WAVES, _BLOCKS = (1, 2, 3), (1, 2, 3, 4, 5, 6, 7, 8)
"""Waves of blocks into which a band may be cut, and resident blocks of a multiprocessor for which it is."""
_LEAST_ROWS = 16


def points(setting: Setting) -> TileSizes:
    """Enumerate tilings that a machine can hold.

    Args:
        setting: The problem on a GPU.

    Returns:
        The sizes with their threads, in lexicographic order; shape (n,), possibly empty.

    Raises:
        UsageError: If no streaming tile of a thread block is legal.
    """
    foot, rank = setting.block, len(setting.shape)
    if foot is None:
        raise UsageError("streaming tiles on a GPU are for 2D and 3D programs without recurrences")
    times = sorted({int(t) for t in foot.whole(np.array(_LEVELS[rank])) if t <= max(1, setting.steps)})
    rows = []
    for time, cells, threads in itertools.product(times, _CELLS[rank], _THREADS[rank]):
        if math.prod(threads) < WARP or math.prod(threads) > _MOST_THREADS:
            continue
        grown = [base + rate * time for base, rate in zip(foot.halo_base, foot.halo_rate, strict=True)][1:]
        own = [_own(count, each, more) for count, each, more in zip(threads, cells, grown, strict=True)]
        if min(own) < 1:
            continue
        own = [min(size, extent) for size, extent in zip(own, setting.shape[1:], strict=True)]
        across = math.prod(ceil_div(extent, size) for size, extent in zip(own, setting.shape[1:], strict=True))
        rows += [(time, height, *own, 1, *threads) for height in _heights(setting, across)]
    table = np.unique(np.array(rows, dtype=np.int64).reshape(len(rows), 2 * rank + 1), axis=0)
    columns = [table[:, column].copy() for column in range(table.shape[1])]
    sizes = TileSizes(
        time=columns[0],
        space=tuple(columns[1 : rank + 1]),
        k=np.zeros_like(columns[0]),
        threads=tuple(columns[rank + 1 :]),
    )
    block = streaming_gpu.blocks_of(sizes, setting, foot)
    fits = (block.chip_bytes <= setting.block_bytes) & (block.reads <= foot.most_reads)
    return sizes.take(fits)


def _own(threads: int, cells: int, grown: int) -> int:
    """Own cells of a tile along an axis, such that they and the halo on either side are those of whole threads."""
    return cells * (threads - 2 * ceil_div(ceil_div(grown, 2), cells))


def _heights(setting: Setting, across: int) -> list[int]:
    """Rows of a tile such that the tiles of a band, so many beside each other, fill whole waves of blocks."""
    extent, count = setting.shape[0], 1 if setting.gpu is None else setting.gpu.sm_count
    pieces = {max(1, waves * blocks * count // across) for waves, blocks in itertools.product(_WAVES, _BLOCKS)}
    found = {ceil_div(extent, number) for number in pieces}
    return sorted(height for height in found if height >= _LEAST_ROWS) or [extent]
