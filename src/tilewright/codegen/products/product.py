"""A function that adds a product of two matrices to a third, for files of the user's language.

Both operands are copied beforehand: the left one row after row, the right one in panels as wide as a few vectors
(Goto and van de Geijn, Anatomy of high-performance matrix multiplication, 2008). The columns of a row may begin and
end with the row, as in the lower triangle of a symmetric result: blocks that lie inside are added to in place, those
at the ends are computed apart, and only the cells that belong to their rows are added.
"""

from tilewright.base.constants import WIDEST_VECTOR
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.products.matmul import micro_kernel
from tilewright.schedules.code import Blocking


def product_text(dtype: str, how: Blocking) -> str:
    """Write ``tw_add_product_T(m, n, k, a, sa, b, pb, c, sc, low, l, high, h)`` and what it needs, T the type.

    It adds A[m x k] B[k x n] to the columns ``low + l r`` to ``high + h r`` of row r of C, so far as they are from 0
    to n - 1. Rows of A lie ``sa`` apart, panels of B ``pb`` and rows of C ``sc``. A panel's columns are
    :func:`panel_columns`, its last ones zeros where n is no multiple; columns of C lie side by side.
    """
    real = ir.element(dtype)
    micro = micro_kernel(real, how.rows, how.vectors, how, f"tw_micro_{dtype}_")
    return c.print_unit((micro, _add(real, how, micro, function_name(dtype))))


def function_name(dtype: str) -> str:
    """Return the name of the function for a type."""
    return f"tw_add_product_{dtype}"


def panel_columns(dtype: str, how: Blocking) -> str:
    """Return the columns of a panel, as C: they depend on the processor that a compiler builds for."""
    return f"({how.vectors} * (int64_t)(TW_BYTES / {ir.element(dtype).bytes}))"


def _add(real: ir.Element, how: Blocking, micro: ir.Function, name: str) -> ir.Function:
    b = ir.Builder(name)
    m, n, k = (b.param(name, ir.INDEX) for name in "mnk")
    left, sa = b.param("a", ir.const_pointer(real)), b.param("sa", ir.INDEX)
    panels, pb = b.param("b", ir.const_pointer(real)), b.param("pb", ir.INDEX)
    to, sc = b.param("c", ir.pointer(real)), b.param("sc", ir.INDEX)
    low, low_slope, high, high_slope = (b.param(name, ir.INDEX) for name in ("low", "l", "high", "h"))
    wide = b.let("wide", ir.Lanes(real) * how.vectors)
    part = b.array("part", ir.pointer(real), how.rows * how.vectors * WIDEST_VECTOR // real.bytes)

    def begin(row: ir.Expr) -> ir.Expr:
        return ir.largest(low + low_slope * row, 0)

    def end(row: ir.Expr) -> ir.Expr:
        return ir.smallest(high + high_slope * row, n - 1)

    with b.loop("j", 0, n, wide) as j, b.loop("i", 0, m, how.rows) as i:
        tall = b.let("tall", ir.smallest(m - i, how.rows))
        last = b.let("last", i + tall - 1)
        reached = b.let(
            "reached", (j + wide > ir.smallest(begin(i), begin(last))) & (j <= ir.largest(end(i), end(last)))
        )
        inside = (j >= ir.largest(begin(i), begin(last))) & (j + wide <= ir.smallest(end(i), end(last)) + 1)
        panel, rows = b.let("panel", panels + j / wide * pb), b.let("rows", left + i * sa)
        with b.when(inside & tall.equals(how.rows)):
            b.call(micro, k, rows, sa, panel, to + i * sc + j, sc, 1)
        with b.otherwise(), b.when(reached):
            b.call(micro, k, rows, sa, panel, part, wide, 0)
            with b.loop("r", 0, tall) as r:
                row = b.let("row", to + (i + r) * sc)
                with b.loop("q", ir.largest(begin(i + r), j), ir.smallest(end(i + r) + 1, j + wide)) as q:
                    b.set(row[q], row[q] + part[r * wide + (q - j)])
    return b.function()
