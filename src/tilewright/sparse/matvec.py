"""y = A x on this CPU: the kernel compiled once per element type, called with a matrix' diagonals."""

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.codegen.matrices.dia import emit_dia
from tilewright.runtime.cpu import CompiledFunction, functions
from tilewright.runtime.host import describe_cpu, thread_count
from tilewright.schedules.bodies.unrolling import Unrolling
from tilewright.tuning.spaces import unrolling as rules

Array = npt.NDArray[Any]
DTYPES = ("float32", "float64")
THREADED_BYTES = 2**18
"""Bytes moved below which a second thread costs more than it brings."""


@functools.cache
def unrolling() -> Unrolling:
    """Return the unrolling for this CPU."""
    return rules.unrolling()


@functools.lru_cache(maxsize=8)
def kernel(dtype: str, how: Unrolling) -> CompiledFunction:
    """Return the compiled kernel."""
    return functions(emit_dia(dtype, how))[0]


def threads_for(moved: int, asked: int | None, compiled: CompiledFunction) -> int:
    """Return how many threads a call uses: what is asked for, or all where enough bytes move."""
    if not compiled.parallel:
        return 1
    if asked is not None:
        return thread_count(asked)
    return thread_count() if moved >= THREADED_BYTES else 1


def past_caches(moved: int, threads: int) -> bool:
    """Whether results are better stored past the caches: everything together does not fit into the threads' own."""
    return moved > threads * describe_cpu().l2_bytes


class Matvec:
    """The products of one matrix: addresses and sizes are laid out once.

    It keeps the arrays alive that it points to.
    """

    __slots__ = ("_diagonals", "_kernel", "_moved", "_offsets", "_sizes", "_table")

    def __init__(self, shape: tuple[int, int], offsets: Sequence[int], diagonals: Sequence[Array]) -> None:
        dtype = diagonals[0].dtype if diagonals else np.dtype("float64")
        self._kernel = kernel(str(dtype), unrolling())
        self._diagonals = tuple(diagonals)
        self._offsets = np.array(offsets, dtype=np.int64)
        self._table = np.array([each.ctypes.data for each in diagonals], dtype=np.uintp)
        self._sizes = (*shape, len(offsets))
        self._moved = (sum(each.size for each in diagonals) + sum(shape)) * dtype.itemsize

    def __call__(self, x: Array, y: Array, threads: int | None = None, *, add: bool = False) -> None:
        """Store A x into y, or add it; both are contiguous, of the matrix' type, and apart in memory."""
        count = threads_for(self._moved, threads, self._kernel)
        stream = past_caches(self._moved, count)
        array = (ctypes.c_void_p * 4)(x.ctypes.data, y.ctypes.data, self._offsets.ctypes.data, self._table.ctypes.data)
        size = (ctypes.c_int64 * 6)(*self._sizes, count, stream, add)
        self._kernel.function(array, size, None, None)
