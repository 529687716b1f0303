"""How the rows that a thread block stores pass through the chip, so that threads of a warp store side by side.

Where a thread owns more cells of a line than an instruction moves, neighbouring threads would store with gaps between
them, each a part of a sector of memory. So threads put a row's values on chip, and after the barrier that ends the
advance each takes vectors from there that its neighbours' lie beside. The rows of the next advances have other places,
so that this one is still there.

Vectors of neighbouring threads lie an even number of vectors apart on chip, or an odd one. An odd one lets the accesses
of as many threads as there are banks for go at once. An even number is divisible by some power of two: as many vectors
side by side change places (their numbers are combined by exclusive or) from one width of all banks to the next. Then
threads meet in no bank either, neither where they put vectors nor where they take those that follow each other; in 3D
this holds within lines of threads.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.base.constants import WARP

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Place = tuple[int, int]  # a line of a tile's own cells, and a vector in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The way of rows, in 3D planes of several lines, of n tilings; every number or array has shape () or (n,)."""

    needed: Ints  # 1, or 0 where threads store their own cells
    lines: Ints  # of a row
    length: Ints  # own cells of a line
    vector: Ints  # values that an instruction moves, of which a line is a multiple
    threads: Ints  # of the block
    rows: Ints  # that have places on chip at a time
    banks: Ints  # vectors that lie side by side in all banks, a power of two
    swizzle: Ints  # vectors, a power of two, that change places by the number of all banks' width that they lie in

    @property
    def values(self) -> Ints:
        """Places on chip of a row, a multiple of those of vectors that change places."""
        unit = self.swizzle * self.vector
        return np.asarray(self.needed * -(-self.lines * self.length // unit) * unit)

    @property
    def columns(self) -> Ints:
        """Vectors of a line that threads take at once: whole groups of those that change places, lest two meet."""
        whole = self.threads - self.threads % self.swizzle
        return np.asarray(np.minimum(self.length // self.vector, np.where(whole > 0, whole, self.threads)))

    @property
    def abreast(self) -> Ints:
        """Lines that threads take at once."""
        return np.asarray(np.minimum(self.threads // self.columns, self.lines))

    @property
    def turns(self) -> Ints:
        """Vectors that a thread takes of a row at most."""
        return -(-self.lines // self.abreast) * -(-self.length // (self.vector * self.columns))

    @property
    def unit(self) -> Ints:
        """Vectors at multiples of which warps begin, in a line."""
        whole = (self.abreast == 1) & (self.columns * self.vector == self.length)
        return np.where(whole, WARP, np.gcd(self.columns, WARP))

    @property
    def borders(self) -> Floats:
        """Places in a line at which a warp ends and the next one begins, in the mean."""
        turns = -(-self.length // (self.vector * self.columns))
        rest = self.length // self.vector - (turns - 1) * self.columns
        # Of lines side by side some begin where a warp does.
        met = (self.abreast - 1) * np.gcd(self.columns, WARP) // WARP
        last = ((self.abreast * rest - 1) // WARP - met) / self.abreast
        return np.asarray((turns - 1) * (1 + (self.columns - 1) // WARP) + last)

    def rounds(self) -> Iterator[Place]:
        """Yield the first line and vector of every round of all threads, of one tiling."""
        lines = range(0, int(self.lines), int(self.abreast))
        yield from itertools.product(lines, range(0, int(self.length // self.vector), int(self.columns)))


def rows_passing(rows: Ints) -> Ints:
    """Return how many rows have places on chip at a time: two or more, that come again when those in use do.

    >>> rows_passing(np.array([1, 2, 3, 4, 5])).tolist()
    [2, 2, 3, 2, 5]
    """
    return np.where((rows == 1) | (rows % 2 == 0), 2, np.where(rows % 3 == 0, 3, rows))
