"""Weighted sums of boxes, two results along axis 0 from four multiplications per column instead of six.

Two neighbouring results of a column of three weights g read four values d:

    y0 = d0 g0 + d1 g1 + d2 g2        a = (d0 - d2) g0        b = (d1 + d2) (g0 + g1 + g2) / 2
    y1 = d1 g0 + d2 g1 + d3 g2        e = (d3 - d1) g2        c = (d2 - d1) (g0 - g1 + g2) / 2
                                      y0 = (b + c) + a        y1 = (b - c) + e

The sums of values are shared by all columns that hold them, and those over b, c, a and e are taken before they are
put together, so that nearly all that is left are the four multiply-adds; processors that add and multiply on different
units gain up to a third, the others lose nothing. Source: S. Winograd, "Arithmetic Complexity of Computations" (SIAM
1980), F(2, 3).

A result differs in rounding: every value enters with weights that may be larger than its own
(:data:`tilewright.programs.weights.MOST_GROWTH`). With n columns the error is at most (2 n + 4) growth eps / 2 times
the sum of absolute values; the package promises 4 (6 n - 1) eps.
"""

from collections.abc import Callable, Iterable

from tilewright.codegen.ir import Call, Expr, Int, Let, Load, Op, Real, Stmt, Var
from tilewright.programs.expression import Read
from tilewright.programs.weights import Column

Fetch = Callable[[Read, tuple[int, int]], Var]
"""Writes the load of a read for a place of a block, a row along axis 0 and a line, and names the vector."""


def sides(found: Iterable[Column]) -> dict[int, list[Column]]:
    """Columns by their offset on the innermost axis, in order."""
    result: dict[int, list[Column]] = {}
    for column in sorted(found, key=lambda each: each.read.offset[-1]):
        result.setdefault(column.read.offset[-1], []).append(column)
    return result


class Pairs:
    """Writes two neighbouring results at a time.

    Attributes:
        factors: What the sums are multiplied with, where they are read from a table: their place in it.
    """

    def __init__(self, dtype: str, prefix: str, fetch: Fetch, body: list[Stmt], table: Var | None) -> None:
        """Start.

        Args:
            dtype: Element type.
            prefix: Of new names.
            fetch: Writes the load of a read for a place of the block and names the vector.
            body: Statements go here.
            table: Where there are too many factors for the registers: where they lie. Every factor is then read once
                for each place on the innermost axis, since compilers would rather store all of them as whole vectors.
        """
        self.kind = f"vector:{dtype}"
        self.dtype, self.prefix, self.fetch, self.body, self.table = dtype, prefix, fetch, body, table
        self.factors: dict[float, int] = {}
        self.again = table
        self.count = 0

    def write(self, shift: int, lines: int, found: tuple[Column, ...]) -> dict[tuple[int, int], Var]:
        """Write the results at ``shift`` and the next one, in every line.

        Returns:
            The results by place.
        """
        sums: dict[tuple[int, int], Var] = {}
        # With few factors b and c go first and a and e onto them, which saves additions; with many, values are
        # fetched once for all four.
        for phase in ((1, 2), (0, 3)) if self.table is None else ((0, 1, 2, 3),):
            for near in sides(found).values():
                self._refresh()
                for source in sorted(
                    {(*_source(column), line + _line(column)) for column in near for line in range(lines)}
                ):
                    users = [
                        (line, c) for c in near for line in range(lines) if (*_source(c), line + _line(c)) == source
                    ]
                    line, column = users[0]
                    values = self._turned(column.read, (shift, line), phase)
                    for line, column in users:
                        for k in phase:
                            self._accumulate(sums, (line, k), column.factors[k], values[k])
            if 1 in phase:
                for line in range(lines):
                    self._join(sums, line)
        return {(shift + j, line): sums[line, 3 * j] for line in range(lines) for j in (0, 1)}

    def _refresh(self) -> None:
        """Name the table anew, so that the compiler takes no factor for known."""
        if self.table is not None:
            self.again = Var(self._name(), f"array:{self.dtype}")
            self.body.append(Let(self.again, Call(f"again:{self.dtype}", (self.table,))))

    def _name(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def _let(self, value: Expr) -> Var:
        var = Var(self._name(), self.kind)
        self.body.append(Let(var, value))
        return var

    def _turned(self, read: Read, place: tuple[int, int], phase: tuple[int, ...]) -> dict[int, Var]:
        """The sums of values that a column of this phase needs."""
        pairs = {0: ("sub", 0, 2), 1: ("add", 1, 2), 2: ("sub", 2, 1), 3: ("sub", 3, 1)}
        wanted = sorted({j for k in phase for j in pairs[k][1:]})
        values = {
            j: self._held(Read(read.field, read.level, (read.offset[0] + j, *read.offset[1:])), place) for j in wanted
        }
        return {k: self._let(Op(pairs[k][0], (values[pairs[k][1]], values[pairs[k][2]]), self.kind)) for k in phase}

    def _held(self, read: Read, place: tuple[int, int]) -> Var:
        """A value; where registers are scarce, one that is loaded once for all its uses."""
        value = self.fetch(read, place)
        return value if self.table is None else self._let(Call(f"hold:{self.dtype}", (value,)))

    def _accumulate(self, sums: dict[tuple[int, int], Var], at: tuple[int, int], factor: float, value: Var) -> None:
        term: Expr = Op("mul", (self._factor(factor), value), self.kind)
        sums[at] = self._let(Op("add", (sums[at], term), self.kind) if at in sums else term)

    def _factor(self, value: float) -> Expr:
        if self.again is None:
            return Real(value, self.dtype)
        return Load(self.again, Int(self.factors.setdefault(value, len(self.factors))), self.dtype)

    def _join(self, sums: dict[tuple[int, int], Var], line: int) -> None:
        """Put b and c together, and onto them what there is of a and e."""
        for k, op in ((0, "add"), (3, "sub")):
            both = self._let(Op(op, (sums[line, 1], sums[line, 2]), self.kind))
            sums[line, k] = self._let(Op("add", (both, sums[line, k]), self.kind)) if (line, k) in sums else both


def _source(column: Column) -> tuple[str, int, int]:
    """Where a column's values come from, but for the line."""
    return (column.read.field, column.read.level, column.read.offset[0])


def _line(column: Column) -> int:
    """A column's offset on the middle axis; 0 in 2D."""
    return column.read.offset[1] if len(column.read.offset) > 2 else 0
