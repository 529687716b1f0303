"""Weighted sums of columns, two results along axis 0 from four multiplications per column instead of six.

Two neighbouring results of a column of three weights g read four values d:

    y0 = d0 g0 + d1 g1 + d2 g2        a = (d0 - d2) g0        b = (d1 + d2) (g0 + g1 + g2) / 2
    y1 = d1 g0 + d2 g1 + d3 g2        e = (d3 - d1) g2        c = (d2 - d1) (g0 - g1 + g2) / 2
                                      y0 = (b + c) + a        y1 = (b - c) + e

The sums of values are shared by all columns that hold them, and those over b, c, a and e are taken before they are
put together, so that nearly all that is left are the four multiply-adds; processors that add and multiply on different
units gain up to a third, the others lose nothing. A column alone gains one product of five per result of a five-point
stencil. What is left of a column of five are two weights, F(2, 2), three products instead of four:

    a = (d0 - d1) g0        b = d1 (g0 + g1)        e = (d2 - d1) g1

Source: S. Winograd, "Arithmetic Complexity of Computations" (SIAM 1980), F(2, 3).

A result differs in rounding: every value enters with weights that may be larger than its own
(:data:`tilewright.programs.weights.MOST_GROWTH`). With n columns and r other reads, w reads in
all, the error is at most (2 n + r + 4) growth eps / 2 times the sum of absolute values; the package promises
4 (2 w - 1) eps.
"""

from collections.abc import Callable

from tilewright.codegen import ir
from tilewright.programs.expression import Read
from tilewright.programs.weights import Column

Fetch = Callable[[Read, tuple[int, int]], ir.Var]
"""Writes the load of a read for a place of a block, a row along axis 0 and a line, and names the vector."""

A, B, C, E = range(4)
"""The four sums, in the order of :attr:`tilewright.programs.weights.Column.factors`."""
TURNED = ((ir.sub, 0, 2), (ir.add, 1, 2), (ir.sub, 2, 1), (ir.sub, 3, 1))
"""What of the four values of a column goes into each of them."""
_OF_TWO = {A: (ir.sub, 0, 1), B: (None, 1, 1), E: (ir.sub, 2, 1)}
"""The same for a column of two weights, without c; b is a value itself."""


class Vectors:
    """Statements that name vectors.

    Attributes:
        dtype: Element type.
        kind: Type of a vector.
        prefix: Of new names.
        body: Statements go here.
    """

    def __init__(self, dtype: ir.Element, prefix: str, body: list[ir.Stmt]) -> None:
        self.dtype, self.kind, self.prefix, self.body = dtype, ir.vector(dtype), prefix, body
        self.count = 0

    def let(self, value: ir.Expr) -> ir.Var:
        """Name a vector."""
        self.count += 1
        var = ir.Var(f"{self.prefix}{self.count}", ir.type_of(value))
        self.body.append(ir.Let(var, value))
        return var


class Pairs(Vectors):
    """Writes two neighbouring rows of results in 2D at a time; see :mod:`tilewright.codegen.row_boxes` for 3D."""

    def __init__(self, dtype: ir.Element, prefix: str, fetch: Fetch, body: list[ir.Stmt]) -> None:
        """Start.

        Args:
            dtype: Element type.
            prefix: Of new names.
            fetch: Writes the load of a read for a place of the block and names the vector.
            body: Statements go here.
        """
        super().__init__(dtype, prefix, body)
        self.fetch = fetch

    def write(self, shift: int, found: tuple[Column, ...]) -> dict[tuple[int, int], ir.Var]:
        """Write the results at ``shift`` and the next row.

        Returns:
            The results by place.
        """
        sums: dict[int, ir.Var] = {}
        # b and c go first, and a and e onto what they make, which saves additions.
        for phase in ((B, C), (A, E)):
            for column in sorted(found, key=lambda each: each.read.offset[-1]):
                for k, value in self._turned(column, (shift, 0), phase).items():
                    self._accumulate(sums, k, column.factors[k], value)
            if B in phase:
                # Compilers would multiply what is one product twice, in either of the two additions.
                alone = (k for k in phase if sum(_needs(column, k) for column in found) == 1)
                sums |= {k: self.let(ir.hold(sums[k])) for k in alone}
                sums = {A: self.let(ir.add(sums[B], sums[C])), E: self.let(ir.sub(sums[B], sums[C]))}
        return {(shift, 0): sums[A], (shift + 1, 0): sums[E]}

    def _turned(self, column: Column, place: tuple[int, int], phase: tuple[int, ...]) -> dict[int, ir.Var]:
        """The sums of values that a column of this phase needs."""
        turned = dict(enumerate(TURNED)) if _needs(column, C) else _OF_TWO
        needed = [k for k in phase if _needs(column, k)]
        read, wanted = column.read, sorted({j for k in needed for j in turned[k][1:]})
        values = {
            j: self.fetch(Read(read.field, read.level, (read.offset[0] + j, *read.offset[1:])), place) for j in wanted
        }
        result = {}
        for k in needed:
            operation, first, second = turned[k]
            result[k] = values[first] if operation is None else self.let(operation(values[first], values[second]))
        return result

    def _accumulate(self, sums: dict[int, ir.Var], k: int, factor: float, value: ir.Var) -> None:
        term: ir.Expr = ir.mul(ir.Real(factor, self.dtype), value)
        sums[k] = self.let(ir.add(sums[k], term) if k in sums else term)


def _needs(column: Column, k: int) -> bool:
    """Whether a column adds to a sum: with two weights there is no c."""
    return k != C or len(column.weights) > 2
