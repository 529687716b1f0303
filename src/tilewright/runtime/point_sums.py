"""Sums with weights of what kernels recorded, in C where there are many: the same bits as NumPy's."""

import functools

import numpy as np

from tilewright.base.errors import ToolchainError
from tilewright.codegen.point_sums import sums_source
from tilewright.programs.stencil.points import Sums
from tilewright.runtime import cpu
from tilewright.runtime.memory import Array

_MANY = 2**20
"""Products from which on compiled code is worth its compilation."""
_COMPILED = ("float32", "float64")


def sums(terms: Sums, table: Array, start: Array, threads: int) -> Array:
    """Return the sums of the rows of a table, see :meth:`tilewright.programs.stencil.points.Sums.of`."""
    many = terms.weight.size * table.shape[1] >= _MANY and terms.weight.dtype == np.float64
    function = _function(table.dtype.name) if many and table.dtype.name in _COMPILED else None
    if function is None:
        return terms.of(table, start)
    rows, first = np.ascontiguousarray(table), np.ascontiguousarray(start, dtype=np.float64)
    result = np.empty((terms.count, rows.shape[1]))
    arguments = (
        np.array([rows.ctypes.data], dtype=np.uintp),
        np.array([threads, rows.shape[1], terms.count], dtype=np.int64),
        np.array([terms.starts.ctypes.data, terms.source.ctypes.data], dtype=np.uintp),
        np.array([terms.weight.ctypes.data, first.ctypes.data, result.ctypes.data], dtype=np.uintp),
    )
    function.function(*(each.ctypes.data for each in arguments))
    return result


@functools.lru_cache(maxsize=2)
def _function(dtype: str) -> cpu.CompiledFunction | None:
    try:
        return cpu.functions(sums_source(dtype))[0]
    except ToolchainError:
        return None
