"""The splits of a chain: which operand ranges can be cut into two or three, as index arrays made once per length."""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLevel:
    """All ranges of operands i … j = i + length, and where each can be cut."""

    length: int  # j - i
    starts: Indexes  # i per range, shape (ranges, 1)
    cuts: Indexes  # k of the cut (i … k)(k+1 … j) relative to i, shape (cuts,)
    first: Indexes  # k of the two cuts (i … k)(k+1 … m)(m+1 … j) relative to i, shape (pairs,)
    second: Indexes  # m of these relative to i, shape (pairs,)

    def ends(self, fused: bool) -> tuple[Indexes, ...]:
        """Return the indexes into P0 … Pn of every cut's sizes, three or four arrays of shape (ranges, cuts)."""
        return _ends(self.length, self.starts.size, fused)


@functools.lru_cache(maxsize=1024)
def _ends(length: int, ranges: int, fused: bool) -> tuple[Indexes, ...]:
    inner = np.triu_indices(length, 1) if fused else (np.arange(length),)
    starts = np.arange(ranges)[:, None]
    columns = [starts + offset + 1 for offset in inner]
    low, high = (np.broadcast_to(each, columns[0].shape) for each in (starts, starts + length + 1))
    return low, *columns, high


@functools.lru_cache(maxsize=4)
def levels(count: int) -> tuple[ChainLevel, ...]:
    """Return the levels of a chain of ``count`` operands, shortest ranges first.

    >>> [(level.length, level.starts.size, level.cuts.size, level.first.size) for level in levels(4)]
    [(1, 3, 1, 0), (2, 2, 2, 1), (3, 1, 3, 3)]
    """
    result = []
    for length in range(1, count):
        first, second = np.triu_indices(length, 1)
        result.append(
            ChainLevel(
                length=length,
                starts=np.arange(count - length)[:, None],
                cuts=np.arange(length),
                first=first,
                second=second,
            )
        )
    return tuple(result)
