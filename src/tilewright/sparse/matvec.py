"""y = A x on this CPU: the kernel compiled once per element type, called with a matrix' diagonals."""

import functools
from collections.abc import Sequence

import numpy as np

from tilewright.runtime.call import CompiledFunction, address, addresses, compiled, overlap
from tilewright.runtime.host import describe_cpu, thread_count
from tilewright.runtime.memory import Array
from tilewright.schedules.code import Unrolling
from tilewright.sparse.lower.dia import emit_dia
from tilewright.tuning.spaces import bodies as rules

DTYPES = ("float32", "float64")
THREADED_BYTES = 2**18
"""Bytes moved below which a second thread costs more than it brings."""


@functools.cache
def unrolling() -> Unrolling:
    """Return the unrolling for this CPU."""
    return rules.unrolling()


def threads_for(moved: int, asked: int | None, kernel: CompiledFunction) -> int:
    """Return how many threads a call uses: what is asked for, or all where enough bytes move."""
    return kernel.team(thread_count(asked)) if asked is not None or moved >= THREADED_BYTES else 1


def past_caches(moved: int, threads: int) -> bool:
    """Whether results are better stored past the caches: everything together does not fit into the threads' own."""
    return moved > threads * describe_cpu().l2_bytes


class Matvec:
    """The products of one matrix: addresses and sizes are laid out once.

    It keeps the arrays alive that it points to.
    """

    __slots__ = ("_begin", "_diagonals", "_end", "_kernel", "_moved", "_offsets", "_sizes", "_table")

    def __init__(self, shape: tuple[int, int], offsets: Sequence[int], diagonals: Sequence[Array]) -> None:
        dtype = diagonals[0].dtype
        self._kernel = compiled(emit_dia, str(dtype), unrolling())[0]
        self._diagonals = tuple(diagonals)
        self._offsets = np.array(offsets, dtype=np.int64)
        self._table = addresses(diagonals)
        self._begin = int(self._table.min())
        self._end = max(address(each) + each.nbytes for each in diagonals)
        self._sizes = (*shape, len(offsets))
        self._moved = (sum(each.size for each in diagonals) + sum(shape)) * dtype.itemsize

    def reads(self, y: Array) -> bool:
        """Whether a contiguous array shares memory with a diagonal."""
        start = address(y)
        return start < self._end and self._begin < start + y.nbytes and overlap([y], self._diagonals)

    def __call__(self, x: Array, y: Array, threads: int | None = None, *, add: bool = False) -> None:
        """Store A x into y, or add it; both are contiguous, of the matrix' type, and apart in memory."""
        count = threads_for(self._moved, threads, self._kernel)
        stream = past_caches(self._moved, count)
        self._kernel((x, y, self._offsets, self._table), (*self._sizes, count, stream, add))
