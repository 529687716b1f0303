"""Tiles of wavefronts whose numbers are sums: how many there are of every sum, and how bands of steps overlap."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.base.intmath import ceil_div
from tilewright.schedules.tree.order import Box


@dataclass(frozen=True, slots=True)
class Profile:
    """Tiles by the sum of their numbers.

    Attributes:
        counts: How many there are of every sum from 0 on, shape (largest sum + 1,).
    """

    counts: NDArray[np.int64]


def profile_of(boxes: Sequence[Box]) -> Profile:
    """Count the tiles of boxes of numbers by their sums.

    In one box they are a product of geometric series: the ends of the box with alternating signs, summed up once per
    axis.
    """
    if not boxes:
        return Profile(np.zeros(0, dtype=np.int64))
    ends = np.zeros(max(sum(high for _, high in box) for box in boxes) + 1, dtype=np.int64)
    for box in boxes:
        for corner in itertools.product(*box):
            odd = sum(end == high for end, (_, high) in zip(corner, box, strict=True)) % 2
            ends[sum(corner)] += -1 if odd else 1
    for _ in boxes[0]:
        ends = np.cumsum(ends)
    used = np.flatnonzero(ends)
    return Profile(ends[: used[-1] + 1])


def overlapping(bands: Sequence[tuple[int, Profile]], lag: int) -> tuple[int, int]:
    """Return the number of wavefronts with any tile, and the most tiles of one.

    Once as many equal bands are under way as can be, every further one only repeats ``lag`` wavefronts.

    Args:
        bands: How many bands have a profile, in order.
        lag: Wavefronts by which a band starts behind the one before.
    """
    longest = max([0, *(len(profile.counts) for _, profile in bands)])
    deep = ceil_div(longest, lag) + 2
    shown = [(min(times, 2 * deep), profile.counts) for times, profile in bands]
    total = np.zeros(lag * sum(times for times, _ in shown) + longest, dtype=np.int64)
    repeats, at = [], 0
    for (every, _), (times, counts) in zip(bands, shown, strict=True):
        if every > times:
            repeats.append((every - times, lag * (at + deep)))
        for band in range(at, at + times):
            total[lag * band : lag * band + len(counts)] += counts
        at += times
    repeated = sum(times * int((total[start : start + lag] > 0).sum()) for times, start in repeats)
    return int((total > 0).sum()) + repeated, int(total.max(initial=0))
