"""Array helpers of the cost models: every formula takes arrays of tile sizes and scalars alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSizes:
    """Tile sizes of many tilings of one family."""

    time: Ints  # heights in time steps, t_T; shape (n,)
    space: tuple[Ints, ...]  # per axis the sizes t_S1, t_S2, t_S3; each of shape (n,)
    k: Ints  # tiles per SM, 0 where the largest number that fits is meant; shape (n,)
    sub: tuple[Ints, ...] = ()  # sizes of sub-tiles per axis, each of shape (n,); empty where tiles are not cut further
    # threads of a GPU's block per axis, each of shape (n,); empty where they are left open
    threads: tuple[Ints, ...] = ()

    @staticmethod
    def of(time: Ints, *space: Ints, threads: Sequence[Ints] = ()) -> "TileSizes":
        """Return heights, sizes and threads, k left open."""
        return TileSizes(time=time, space=space, k=np.zeros_like(time), threads=tuple(threads))

    @property
    def inner(self) -> Ints:
        """Cells of a tile per cell of the hexagon's axis: the product of the classic sizes; 1 in 1D."""
        total = np.ones_like(self.time)
        for size in self.space[1:]:
            total = total * size
        return total

    def take(self, index: Any) -> "TileSizes":  # noqa: ANN401  (whatever NumPy indexes by)
        """Return the sizes at an index, a mask or a slice."""
        return TileSizes(
            time=self.time[index],
            space=tuple(size[index] for size in self.space),
            k=self.k[index],
            sub=tuple(size[index] for size in self.sub),
            threads=tuple(count[index] for count in self.threads),
        )

    @staticmethod
    def join(parts: "Sequence[TileSizes]") -> "TileSizes":
        """Return the sizes of several parts, one after the other; at least one part, all with the same fields."""
        return TileSizes(
            time=np.concatenate([part.time for part in parts]),
            space=tuple(np.concatenate(axis) for axis in zip(*(part.space for part in parts), strict=True)),
            k=np.concatenate([part.k for part in parts]),
            sub=tuple(np.concatenate(axis) for axis in zip(*(part.sub for part in parts), strict=True)),
            threads=tuple(np.concatenate(axis) for axis in zip(*(part.threads for part in parts), strict=True)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockShapes:
    """Thread-block configurations as columns (T_y, T_x, N_y, N_x): threads, and elements per thread."""

    ty: Ints
    tx: Ints
    ny: Ints
    nx: Ints

    @property
    def threads(self) -> Ints:
        """Threads of a block."""
        return self.ty * self.tx

    @property
    def cells(self) -> Ints:
        """Cells of a tile (26)."""
        return self.ty * self.ny * self.tx * self.nx


def ceil_div(numerator: Ints, denominator: Ints | int) -> Ints:
    """Return the smallest integers not below the quotients.

    >>> ceil_div(np.array([7, 6]), 2).tolist()
    [4, 3]
    """
    return -(-numerator // denominator)


def ceil_sum(count: Ints, first: Ints, step: Ints, divisor: Ints | int) -> Ints:
    """Return the sum of ``ceil((first + i * step) / divisor)`` for ``i`` from 0 to ``count - 1``.

    Exact, in a number of operations that grows with the logarithm of the sizes (the floor-sum algorithm), for whole
    arrays at once. All arguments are at least 0, the divisor at least 1.

    >>> ceil_sum(np.array([3]), np.array([5]), np.array([2]), 4).tolist()
    [7]
    """
    n, m, a, b = np.broadcast_arrays(count, divisor, step, np.asarray(first) + np.asarray(divisor) - 1)
    n, m, a, b = (np.array(value, dtype=np.int64) for value in (n, m, a, b))
    total = np.zeros_like(n)
    live = n > 0
    while live.any():
        total += np.where(live, n * (n - 1) // 2 * (a // m) + n * (b // m), 0)
        a, b = a % m, b % m
        top = a * n + b
        live = live & (top >= m)
        # Count the lattice points under the line along the other axis.
        n, b = np.where(live, top // m, 0), np.where(live, top % m, 0)
        m, a = np.where(live, a, 1), np.where(live, m, 0)
    return total
