"""Which forward states are kept: as many as fit into memory, where they spare the most steps.

Segments within segments: while one is taken back, its own checkpoints lie behind those before it. Where every segment
fits beside the starts of all, they are of equal length, and each step is computed again once. Else their lengths are
those of least cost by dynamic programming, as A. Griewank and A. Walther's binomial schedules (Algorithm 799: Revolve,
ACM Transactions on Mathematical Software 26 (2000)), but of bands whose states are all kept, and copies that count.
"""

import functools
import math

import numpy as np
import numpy.typing as npt

from tilewright.base.intmath import round_up

_COPY = 4.0
"""Steps that take as long as keeping a state and starting from it again: a step in time tiles takes less than a sweep,
a copy three."""
_LEAST = 2
"""Steps of a band that are always taken back together."""
_UNITS = 512
"""Parts of a run at whose ends states may be kept: more would take longer to decide."""


def fits(steps: int, slots: int) -> bool:
    """Whether all states of some steps fit into memory."""
    return steps <= max(_LEAST, slots)


@functools.lru_cache(maxsize=1024)
def segments(steps: int, slots: int) -> tuple[int, ...]:
    """Cut steps into segments whose starts are kept, among the ``slots`` states that fit into memory.

    Up to two more are kept, since a band has two.

    >>> segments(9, 6), segments(5, 8), segments(5, 1)
    ((3, 3, 3), (5,), (3, 2))
    """
    if fits(steps, slots):
        return (steps,)
    count = next((n for n in range(2, slots) if n + math.ceil(steps / n) <= slots), None)
    if count is not None:
        return tuple(steps // count + (number < steps % count) for number in range(count))
    unit = math.ceil(steps / _UNITS)
    left, free, found = math.ceil(steps / unit), slots, []
    cuts = _cuts(round_up(left, _UNITS // 4), round_up(slots, 16), unit)
    while left * unit > max(_LEAST, free) and left > 1:
        first = int(cuts[free - 1][left])
        found.append(first * unit)
        left, free = left - first, free - 1
    return (*found, steps - sum(found))


@functools.lru_cache(maxsize=8)
def _cuts(units: int, slots: int, unit: int) -> tuple[npt.NDArray[np.int64], ...]:
    """By slots less one and length, where the first segment of the cheapest schedule ends."""
    cuts = []
    before = np.full(units + 1, np.inf)  # without a slot there is but the one band that fits beside the start
    before[: max(1, _LEAST // unit) + 1] = _COPY
    for free in range(1, slots + 1):
        cost, cut = np.full(units + 1, _COPY), np.zeros(units + 1, dtype=np.int64)
        for length in range(max(2, max(_LEAST, free) // unit + 1), units + 1):
            each = unit * np.arange(1.0, length) + _COPY + cost[1:length] + before[length - 1 : 0 : -1]
            best = int(each.argmin())
            cost[length], cut[length] = each[best], best + 1
        cuts.append(cut)
        before = cost
    return tuple(cuts)


def longest(length: int, slots: int) -> int:
    """Return the most steps that are taken back with all their states in memory.

    >>> longest(5, 8)
    5
    """
    return max(recomputed(length, slots)[1])


def recomputed(length: int, slots: int) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return what is computed again of a segment: runs from checkpoint to checkpoint, and bands with all states.

    >>> recomputed(5, 8), recomputed(9, 6)
    (([], [5]), ([(3, 3)], [3, 3, 3]))
    """
    if fits(length, slots):
        return [], [length]
    lengths = segments(length, slots)
    runs, bands = [lengths[:-1]], []
    for number, each in enumerate(lengths):
        more, some = recomputed(each, max(1, slots - number))
        runs += more
        bands += some
    return runs, bands
