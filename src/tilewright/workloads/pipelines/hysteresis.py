"""Hysteresis thresholds: what is connected to a strong cell through weak ones.

No stencil, since it reaches any distance: a kernel of its own, or NumPy where there is no compiler.
"""

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ToolchainError
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.source import KernelSource, c_source
from tilewright.runtime.call import compiled, packed, scratch
from tilewright.runtime.memory import Array
from tilewright.runtime.warn import warn_once

_BYTE, _DOUBLE, _PLACE = (ir.element(name) for name in ("uint8", "float64", "int64"))
_EDGE = 255


def emit_hysteresis(dtype: str) -> KernelSource[None]:
    """Write the kernel for values of a type, ``float32`` or ``float64``.

    An edge is a cell of at least ``high``, or one of at least ``low`` with an edge among its eight neighbours.
    ``array`` holds the values (rows ``size[2]`` elements apart), the edges (bytes) and a stack (one int64 per cell),
    ``size`` rows, columns and that distance; the last argument points to ``low`` and ``high``, as doubles.
    """
    real = ir.element(dtype)
    b = ir.Builder("tw_hysteresis", kind="entry")
    array, size = b.param("array", ir.const_pointer(ir.pointer(_BYTE))), b.param("size", ir.const_pointer(ir.INDEX))
    b.param("unused", ir.pointer(_BYTE))
    scalar = b.param("scalar", ir.const_pointer(_DOUBLE))
    values, edge = b.let("value", array[0].to(ir.const_pointer(real))), b.let("edge", array[1])
    stack = b.let("stack", array[2].to(ir.pointer(_PLACE)))
    rows, columns, stride = (b.let(name, size[k]) for k, name in enumerate(("rows", "columns", "stride")))
    low, high = b.let("low", scalar[0].to(real)), b.let("high", scalar[1].to(real))
    with b.loop("i", 0, rows * columns) as i:
        b.set(edge[i], 0)
    top = b.mutable("top", 0)

    def found(place: ir.Expr) -> None:
        b.set(edge[place], _EDGE)
        b.set(stack[top], place.to(_PLACE))
        b.set(top, top + 1)

    with b.loop("y", 0, rows) as y, b.loop("x", 0, columns) as x:
        first = b.let("first", values[y * stride + x])
        place = b.let("place", y * columns + x)
        with b.when((first > 0.0) & (first >= high) & (first >= low)), b.when(edge[place].equals(0)):
            found(place)
            with b.loop_while(top > 0):
                b.set(top, top - 1)
                at = b.let("at", stack[top].to(ir.INDEX))
                row, column = b.let("row", at / columns), b.let("column", at % columns)
                with (
                    b.loop("v", ir.largest(row - 1, 0), ir.smallest(row + 2, rows)) as v,
                    b.loop("u", ir.largest(column - 1, 0), ir.smallest(column + 2, columns)) as u,
                ):
                    beside = b.let("beside", v * columns + u)
                    with b.when(edge[beside].equals(0)):
                        near = b.let("near", values[v * stride + u])
                        with b.when((near > 0.0) & (near >= low)):
                            found(beside)
    return c_source(c.print_unit((b.function(),)), "tw_hysteresis")


def hysteresis(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """Return 255 where a value is at least ``high``, or at least ``low`` and connected to such a cell, else 0.

    Cells are connected through their eight neighbours. Values that are not positive are never edges.

    >>> hysteresis(np.array([[0.0, 0.2, 0.5], [0.0, 0.0, 0.0], [0.2, 0.0, 0.0]]), 0.1, 0.4).tolist()
    [[0, 255, 255], [0, 0, 0], [0, 0, 0]]
    """
    given = packed(values)
    try:
        (kernel,) = compiled(emit_hysteresis, str(given.dtype))
    except ToolchainError as error:
        warn_once(f"running with NumPy, which is many times slower: {error}")
        return _with_numpy(given, low, high)
    stack, edges = scratch(8 * given.size, given.size), np.empty(given.shape, dtype=np.uint8)
    limits = np.array([low, high], dtype=np.float64)
    kernel((given, edges, stack), (*given.shape, given.shape[1]), values=limits)
    return edges


def _with_numpy(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """Grow the strong cells into the weak ones until nothing changes."""
    weak = (values > 0) & (values >= values.dtype.type(low))
    edges = weak & (values >= values.dtype.type(high))
    count = -1
    while count != (count := int(edges.sum())):
        wide = np.pad(edges, 1)
        grown = np.zeros_like(edges)
        for dy in range(3):
            for dx in range(3):
                grown |= wide[dy : dy + edges.shape[0], dx : dx + edges.shape[1]]
        edges = grown & weak
    return np.asarray(edges, dtype=np.uint8) * np.uint8(255)
