"""Sums over boxes with one weight: what cells of a row have in common is added up once, and carried on in registers.

Before, for every vector:                      After:
    y = w * (((a[-1] + b[-1]) + c[-1]) + …       s = (a[1] + b[1]) + c[1]
             + ((a[1] + b[1]) + c[1]))            y = w * ((p + q) + s); p = q; q = s

Columns of a box are the box's sums at single places along the row, and the next vectors need them again: each vector is
loaded once, not once per place (scalar replacement of subscripted variables across iterations: Callahan, Carr and
Kennedy, PLDI 1990; the separable box filter). Sums of columns slide as well: neighbouring results along an outer axis
share all values but two. The order of a sum changes, so strict kernels do without.
"""

from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.sums.registers import Names, RegisterBlock, Results
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.weights import EqualBox


class CarriedSum(Names):
    """One sum, for all places of a block, which is a whole box of planes and lines."""

    def __init__(self, block: RegisterBlock, prefix: str, box: EqualBox) -> None:
        """Write the columns' sums of the last place along the row into the block."""
        super().__init__(block.dtype, f"{prefix}_", block.body)
        # ahead: vectors before the first one of a row, whose columns it needs
        self.block, self.box, self.ahead = block, box, len(box.ranges[-1]) - 1
        self.columns = self._columns()  # their sums at the last place that the box reads, by place of the block

    def start(self) -> tuple[ir.Stmt, ...]:
        """What is carried, named before the vectors of a row."""
        zero = ir.splat(ir.Real(0.0, self.dtype), self.kind)
        return tuple(ir.Mutable(var, zero) for at in self.block.places for var in self._carried(at))

    def advance(self) -> tuple[ir.Stmt, ...]:
        """Hand on what is carried to the next vector."""
        return tuple(
            ir.Assign(var, value)
            for at in self.block.places
            for var, value in zip(self._carried(at), (*self._carried(at)[1:], self.columns[at]), strict=True)
        )

    def results(self) -> Results:
        """The sums, written into the block."""
        sums = {}
        for at in self.block.places:
            first, *others = (*self._carried(at), self.columns[at])
            total: ir.Expr = first
            for each in others:
                total = self.let(total + each)
            sums[at] = self.let(self.box.weight * total)
        return sums

    def _carried(self, at: tuple[int, int]) -> tuple[ir.Var, ...]:
        """The columns' sums of the places before the last one."""
        return tuple(ir.Var(f"{self.prefix}p{at[0]}{at[1]}_{k}", self.kind) for k in range(self.ahead))

    def _columns(self) -> dict[tuple[int, int], ir.Expr]:
        outer, last = self.box.ranges[:-1], self.box.ranges[-1][-1]
        planes, lines = (1 + max(at[axis] for at in self.block.places) for axis in (0, 1))
        count = planes + len(outer[0]) - 1
        values: dict[tuple[int, int], ir.Expr] = {}
        for plane in range(count):
            rows = [self._row(plane, line, last) for line in range(lines + len(outer[1]) - 1 if outer[1:] else lines)]
            for line, value in enumerate(self._slide(rows, len(outer[1])) if outer[1:] else rows):
                values[plane, line] = value
        columns: dict[tuple[int, int], ir.Expr] = {}
        for line in range(lines):
            sums = self._slide([values[plane, line] for plane in range(count)], len(outer[0]))
            columns |= {(plane, line): value for plane, value in enumerate(sums)}
        return columns

    def _row(self, plane: int, line: int, last: int) -> ir.Var:
        """The vector of a plane and line of all that the block reads, at the last place along the row."""
        starts = [each.start for each in self.box.ranges[:-1]]
        return self.block.fetch(Read(self.box.field, self.box.level, (*starts, last)), (plane, line))

    def _slide(self, values: Sequence[ir.Expr], width: int) -> list[ir.Expr]:
        """Sums of so many neighbours; two at a time share what both add up."""
        sums: list[ir.Expr] = []
        for start in range(0, len(values) - width + 1, 2):
            common = values[start + 1]
            for each in values[start + 2 : start + width]:
                common = self.let(common + each)
            ends = values[start], *values[start + width : start + width + 1]
            sums += [self.let(common + each) for each in ends]
        return sums
