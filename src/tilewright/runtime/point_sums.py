"""Sums with weights of what kernels recorded, in C where there are many: the same bits as NumPy's."""

import numpy as np

from tilewright.codegen.point_sums import sums_source
from tilewright.programs.stencil.points import Sums
from tilewright.runtime.call import addresses, if_compiled, packed
from tilewright.runtime.memory import Array

_MANY = 2**20
"""Products from which on compiled code is worth its compilation."""
_COMPILED = ("float32", "float64")


def sums(terms: Sums, table: Array, start: Array, threads: int) -> Array:
    """Return the sums of the rows of a table, see :meth:`tilewright.programs.stencil.points.Sums.of`."""
    many = terms.weight.size * table.shape[1] >= _MANY and terms.weight.dtype == np.float64
    function = if_compiled(sums_source, table.dtype.name) if many and table.dtype.name in _COMPILED else None
    if function is None:
        return terms.of(table, start)
    rows, first = packed(table), packed(start, np.float64)
    result = np.empty((terms.count, rows.shape[1]))
    places, numbers = addresses((terms.starts, terms.source)), addresses((terms.weight, first, result))
    function((rows,), (threads, rows.shape[1], terms.count), places, numbers)
    return result
