"""The streaming tilings worth a look on a GPU: levels, a thread's cells, equal parts of a grid, whole waves."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from tilewright.base.constants import WARP, WARP_UNIT
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.arrays import TileSizes
from tilewright.costs.setting import Setting
from tilewright.costs.work import stream_blocks
from tilewright.schedules.streaming.block import BlockGrowth

_LEVELS = {2: (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24), 3: (1, 2, 3, 4, 5, 6, 8)}
_CELLS: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((1,), (2,), (3,), (4,), (6,), (8,), (12,), (16,)),
    3: ((1, 1), (1, 2), (2, 2), (1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (1, 8), (2, 8), (3, 8)),
}
"""Cells of a thread, which lie side by side, per axis that threads share."""
_THREADS, _MOST_THREADS = 64, 512
"""The fewest and the most threads of a block, where the grid has so many cells."""
_WASTE = {2: 1.05, 3: 1.2}
"""By how much the places of a block's warps, which are given in fours, may exceed its threads."""
_MOST_PARTS = {2: 300, 3: 64}
"""Parts into which an axis is cut at most, unless blocks of the most threads cut it into more than half of them."""
_WAVES, _BLOCKS = (1, 2, 3), (1, 2, 3, 4)
"""Waves of blocks into which a band may be cut, and resident blocks of a multiprocessor for which it is."""
_LEAST_ROWS = 16


def points(setting: Setting) -> TileSizes:
    """Enumerate sizes with threads that a GPU can hold, in lexicographic order; possibly none."""
    foot, rank = setting.facts.block, len(setting.facts.shape)
    if foot is None:
        raise UsageError("streaming tiles on a GPU are for 2D and 3D programs without recurrences")
    wanted = sorted({*_LEVELS[rank], *_even_bands(setting.facts.steps, _LEVELS[rank][-1])})
    times = sorted({int(t) for t in foot.whole(np.array(wanted)) if t <= max(1, setting.facts.steps)})
    rows = []
    for time, cells in itertools.product(times, _CELLS[rank]):
        reads = foot.written(np.array(time), np.array(foot.rims(cells).rows), np.array(math.prod(cells)))
        if int(reads) > foot.most_reads:
            continue
        axes = [list(_axis(setting, foot, time, axis, count)) for axis, count in enumerate(cells, start=1)]
        if not all(axes):
            continue
        most = math.prod(max(count for _, count in axis) for axis in axes)
        for choice in itertools.product(*axes):
            own, threads = [size for size, _ in choice], [count for _, count in choice]
            if _counts(math.prod(threads), rank, most):
                across = math.prod(ceil_div(n, size) for n, size in zip(setting.facts.shape[1:], own, strict=True))
                rows += [(time, height, *own, 1, *threads) for height in _heights(setting, across)]
    table = np.unique(np.array(rows, dtype=np.int64).reshape(len(rows), 2 * rank + 1), axis=0)
    columns = [table[:, column].copy() for column in range(table.shape[1])]
    sizes = TileSizes(
        time=columns[0],
        space=tuple(columns[1 : rank + 1]),
        k=np.zeros_like(columns[0]),
        threads=tuple(columns[rank + 1 :]),
    )
    block = stream_blocks.blocks(sizes, setting.facts)
    fits = (block.chip_bytes <= setting.rates.block_bytes) & (block.reads <= foot.most_reads)
    return sizes.take(fits)


def _even_bands(steps: int, most: int) -> list[int]:
    """Levels of which bands make up all steps, in a number that ends in the right set of arrays: no band is shorter."""
    return [levels for levels in range(1, most + 1) if steps % levels == 0 and (steps // levels - steps) % 2 == 0]


def _axis(setting: Setting, foot: BlockGrowth, time: int, axis: int, cells: int) -> Iterator[tuple[int, int]]:
    """Own cells along an axis and the threads for them: of tiles that cut the grid into equal parts, the fewest each.

    Own cells and those that are loaded below them are multiples of what an instruction moves.
    """
    extent, rank = setting.facts.shape[axis], len(setting.facts.shape)
    unit = math.gcd(cells, foot.lanes) if axis == rank - 1 else 1
    grown = foot.halo_base[axis] + foot.halo_rate[axis] * time
    low = round_up(ceil_div(grown, 2), unit)
    found: dict[int, int] = {}
    most_parts = 0
    for held in range(_MOST_THREADS, 0, -1):
        room = held * cells - low - grown // 2
        widest = extent if room >= extent else room - room % unit
        parts = ceil_div(extent, widest) if widest > 0 else 0
        most_parts = most_parts or max(_MOST_PARTS[rank], 2 * parts)
        if not 0 < parts <= most_parts:
            break
        own = min(round_up(ceil_div(extent, parts), unit), extent)
        found.setdefault(ceil_div(low + own + grown // 2, cells), own)
    return ((own, threads) for threads, own in found.items())


def _counts(threads: int, rank: int, most: int) -> bool:
    """Whether a block is worth a look with so many threads: enough, or the most there are, and few places empty."""
    if threads > _MOST_THREADS:
        return False
    filled = threads >= _THREADS and round_up(threads, WARP * WARP_UNIT) <= _WASTE[rank] * threads
    return filled or threads == most


def _heights(setting: Setting, across: int) -> list[int]:
    """Rows of a tile such that the tiles of a band, so many beside each other, fill whole waves of blocks."""
    extent, count = setting.facts.shape[0], 1 if setting.gpu is None else setting.gpu.sm_count
    pieces = {max(1, waves * blocks * count // across) for waves, blocks in itertools.product(_WAVES, _BLOCKS)}
    found = {ceil_div(extent, number) for number in pieces}
    return sorted(height for height in found if height >= _LEAST_ROWS) or [extent]
