"""The streaming tilings worth a look on a GPU: levels, loaded rows or planes in whole warps, heights, threads."""

import itertools

import numpy as np

from tilewright.base.constants import MAX_BLOCK_THREADS, WARP
from tilewright.base.errors import UsageError
from tilewright.costs import streaming_gpu
from tilewright.costs.arrays import Sizes
from tilewright.costs.setting import Setting

_LEVELS = {2: (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24), 3: (1, 2, 3, 4, 5, 6, 8)}
_HEIGHTS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_LINES = (64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 640, 768, 1024)
_PLANES = (8, 16, 24, 32, 40, 48, 64)
_WARPS = (32, 64, 96, 128)
_TURNS = {2: (1, 2, 3, 4), 3: (1, 2, 4, 8)}
"""Cells of a thread in a row or plane."""


def points(setting: Setting) -> Sizes:
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
    heights = sorted({min(height, setting.shape[0]) for height in _HEIGHTS})
    rows = []
    for time, turns, extents in itertools.product(times, _TURNS[rank], _extents(rank)):
        grown = [base + rate * time for base, rate in zip(foot.halo_base, foot.halo_rate, strict=True)][1:]
        own = [extent - more for extent, more in zip(extents, grown, strict=True)]
        threads = _threads(extents, turns)
        if min(own) < 1 or threads is None:
            continue
        own = [min(size, extent) for size, extent in zip(own, setting.shape[1:], strict=True)]
        rows += [(time, height, *own, *threads) for height in heights]
    table = np.unique(np.array(rows, dtype=np.int64).reshape(len(rows), 2 * rank + 1), axis=0)
    columns = [table[:, column].copy() for column in range(table.shape[1])]
    sizes = Sizes(
        time=columns[0],
        space=tuple(columns[1 : rank + 1]),
        k=np.zeros_like(columns[0]),
        threads=tuple(columns[rank + 1 :]),
    )
    block = streaming_gpu.blocks_of(sizes, setting, foot)
    fits = (block.chip_bytes <= setting.block_bytes) & (foot.written(block.levels, block.turns) <= foot.most_reads)
    return sizes.take(fits)


def _extents(rank: int) -> list[tuple[int, ...]]:
    return [(line,) for line in _LINES] if rank == 2 else list(itertools.product(_PLANES, _WARPS))


def _threads(extents: tuple[int, ...], turns: int) -> tuple[int, ...] | None:
    """Threads that deal out a row or plane evenly, each with so many cells; None where there are none."""
    outer, inner = (1, *extents)[-2:]
    if len(extents) == 1:
        count = inner // turns
        fits = count * turns == inner and count % WARP == 0 and 64 <= count <= MAX_BLOCK_THREADS
        return (1, count) if fits else None
    count = outer // turns
    fits = count * turns == outer and 64 <= count * inner <= MAX_BLOCK_THREADS
    return (1, count, inner) if fits else None
