"""The feasible tile sizes of a GPU, problem (31) of the time model: every point once, in pieces of bounded size.

The set is ``prod(t_Si + growth_i) <= values``, one factor per axis, so how far an axis may go follows from the sizes
chosen before it: every axis multiplies out exactly the combinations that can be completed, and none is thrown away.
"""

import math
from collections.abc import Iterator

import numpy as np

from tilewright.base.constants import WARP
from tilewright.costs.arrays import Ints, TileSizes
from tilewright.costs.setting import Setting
from tilewright.costs.work import hexagonal

PIECE_POINTS = 2**18
"""About this many points are yielded at a time, whatever the size of the set."""
_MOST_PER_AXIS = 4096
_PER_DOUBLING = 8


def pieces(setting: Setting, *, coarse: bool = False) -> Iterator[TileSizes]:
    """Yield the feasible sizes, or a geometric grid of them, in lexicographic order of (t_T, t_S1, …), k left open."""
    values = setting.rates.block_bytes // (setting.facts.itemsize * max(1, setting.facts.copies))
    rank = len(setting.facts.shape)
    for time in grid(2, 2 * max(1, setting.facts.steps), 2, coarse=coarse).tolist():
        rows = int(hexagonal.grown_rows(np.array([time * setting.facts.stages], dtype=np.int64), rank)[0])
        grown = [slope * rows for slope in setting.facts.slopes]
        smallest = [max(1, setting.facts.slopes[0]), *(1,) * (rank - 2), WARP] if rank > 1 else [WARP]
        least = [size + more for size, more in zip(smallest, grown, strict=True)]
        if math.prod(least) > values:
            return
        rooms = [values // (math.prod(least) // least[axis]) - grown[axis] for axis in range(rank)]
        axes = [_axis(setting, axis, smallest[axis], grown[axis], room, coarse) for axis, room in enumerate(rooms)]
        axes[0] = axes[0][axes[0] >= setting.facts.slopes[0]]
        everything = np.full(1, values, dtype=np.int64)
        for columns in _extend(axes, grown, least, (), everything):
            count = np.full(len(columns[0]), time, dtype=np.int64)
            yield TileSizes(time=count, space=columns, k=np.zeros_like(count))


def grid(first: int, last: int, step: int, *, coarse: bool) -> Ints:
    """Return the multiples from first to last, all of them or about eight per doubling.

    >>> grid(32, 130, 32, coarse=False).tolist()
    [32, 64, 96, 128]
    """
    if last < first:
        return np.zeros(0, dtype=np.int64)
    if not coarse:
        return np.arange(first, min(last, first + step * _MOST_PER_AXIS) + 1, step, dtype=np.int64)
    octaves = max(1.0, np.log2(last / first))
    points = np.geomspace(first, last, int(_PER_DOUBLING * octaves) + 2)
    rounded = first + np.round((points - first) / step).astype(np.int64) * step
    return np.asarray(np.unique(rounded[rounded <= last]))


def _axis(setting: Setting, axis: int, first: int, grown: int, room: int, coarse: bool) -> Ints:
    """Return the sizes of one axis, from ``first`` to ``room``, none going a whole tile beyond the grid."""
    extent = setting.facts.shape[axis] + (grown if axis else 0)
    step = WARP if axis == len(setting.facts.shape) - 1 else 1
    return grid(first, min(room, max(first, -(-extent // step) * step)), step, coarse=coarse)


def _extend(
    axes: list[Ints], grown: list[int], least: list[int], columns: tuple[Ints, ...], room: Ints
) -> Iterator[tuple[Ints, ...]]:
    """Multiply partial points by the sizes of the next axis, the last axis fastest."""
    # ``room`` is what the footprints of the remaining axes may multiply to, per partial point.
    axis = len(columns)
    if axis == len(axes):
        yield columns
        return
    counts = np.searchsorted(axes[axis], room // math.prod(least[axis + 1 :]) - grown[axis], side="right")
    for low, high in _pieces_of(counts):
        part = counts[low:high]
        total = int(part.sum())
        if not total:
            continue
        source = np.repeat(np.arange(low, high), part)
        size = axes[axis][np.arange(total) - np.repeat(np.cumsum(part) - part, part)]
        chosen = (*(column[source] for column in columns), size)
        yield from _extend(axes, grown, least, chosen, room[source] // (size + grown[axis]))


def _pieces_of(counts: Ints) -> Iterator[tuple[int, int]]:
    """Cut a sequence of counts into ranges whose sum is at most :data:`PIECE_POINTS` where a single one allows."""
    ends = np.cumsum(counts)
    low, before = 0, 0
    while low < len(counts):
        high = max(low + 1, int(np.searchsorted(ends, before + PIECE_POINTS, side="right")))
        yield low, high
        low, before = high, int(ends[high - 1])
