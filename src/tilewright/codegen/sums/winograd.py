"""From fewer products: two results along axis 0 from four multiplications per column instead of six, F(2, 3).

Two neighbouring results of a column of three weights g read four values d:

    before: y0 = d0 g0 + d1 g1 + d2 g2    after: a = (d0 - d2) g0        b = (d1 + d2) (g0 + g1 + g2) / 2
            y1 = d1 g0 + d2 g1 + d3 g2           e = (d3 - d1) g2        c = (d2 - d1) (g0 - g1 + g2) / 2
                                                 y0 = (b + c) + a        y1 = (b - c) + e

The sums of values are shared by all columns that hold them, and those over b, c, a and e are taken before they are
put together, so that nearly all that is left are the four multiply-adds; processors that add and multiply on different
units gain up to a third, the others lose nothing. A column alone gains one product of five per result of a five-point
stencil. What is left of a column of five are two weights, F(2, 2), three products instead of four:

    a = (d0 - d1) g0        b = d1 (g0 + g1)        e = (d2 - d1) g1

In 2D all columns of a pair of rows are written; in 3D, as in :mod:`tilewright.codegen.sums.loop`, those at
one place along the rows. Source: S. Winograd, "Arithmetic Complexity of Computations" (SIAM 1980), F(2, 3); Lavin and
Gray (CVPR 2016) for convolutions.

A result differs in rounding: every value enters with weights that may be larger than its own
(:data:`tilewright.programs.stencil.weights.MOST_GROWTH`). With n columns and r other reads, w reads in
all, the error is at most (2 n + r + 4) growth eps / 2 times the sum of absolute values; the package promises
4 (2 w - 1) eps.
"""

from dataclasses import replace

from tilewright.codegen import ir
from tilewright.codegen.sums.inputs import InputSums
from tilewright.codegen.sums.loop import SumLoopWriter
from tilewright.codegen.sums.registers import Names, RegisterBlock, Results
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.weights import Terms, WeightColumn, columns
from tilewright.schedules.code import Place, Sum
from tilewright.schedules.sums import TURNED, A, B, C, E, Near, paired, turned

_NAMES = "abce"


def write(block: RegisterBlock, prefix: str, terms: Terms, form: Sum) -> Results:
    """Write a weighted sum for all places of a block: rows along axis 0 in pairs, what is left input by input."""
    split = columns(terms)
    if split is None:
        raise ValueError("there is no column of three weights in this sum")
    if block.table is not None:
        near = paired(terms, alike=form.alike)
        kind = _PairedLoop if any(each.columns for each in near) else SumLoopWriter
        return kind(block, prefix, form).write(near)
    shifts = sorted({shift for shift, _ in block.places})
    two = shifts[: len(shifts) // 2 * 2]
    sums, pairs = InputSums(block, f"{prefix}_"), _Pairs(block, f"{prefix}p")
    for shift in two[::2]:
        sums.results.update(pairs.write(shift, split[0]))
    sums.add_up([at for at in block.places if at[0] in two], split[1])
    sums.add_up([at for at in block.places if at[0] not in two], terms)
    return sums.results


class _Pairs(Names):
    """Two neighbouring rows of results at a time, in 2D."""

    def __init__(self, block: RegisterBlock, prefix: str) -> None:
        super().__init__(block.dtype, prefix, block.body)
        self.fetch = block.fetch

    def write(self, shift: int, found: tuple[WeightColumn, ...]) -> dict[Place, ir.Var]:
        """Write the results at ``shift`` and the next row."""
        sums: dict[int, ir.Var] = {}
        # b and c go first, and a and e onto what they make, which saves additions.
        for phase in ((B, C), (A, E)):
            for column in sorted(found, key=lambda each: each.read.offset[-1]):
                for k, value in self._turned(column, (shift, 0), phase).items():
                    term = column.factors[k] * value
                    sums[k] = self.let(sums[k] + term if k in sums else term)
            if B in phase:
                # Compilers would multiply what is one product twice, in either of the two additions.
                alone = (k for k in phase if sum(k in turned(column) for column in found) == 1)
                sums |= {k: self.let(ir.hold(sums[k])) for k in alone}
                sums = {A: self.let(sums[B] + sums[C]), E: self.let(sums[B] - sums[C])}
        return {(shift, 0): sums[A], (shift + 1, 0): sums[E]}

    def _turned(self, column: WeightColumn, place: Place, phase: tuple[int, ...]) -> dict[int, ir.Var]:
        """The sums of values that a column of this phase needs."""
        needed = {k: how for k, how in turned(column).items() if k in phase}
        (z, *near), wanted = column.read.offset, sorted({j for _, *both in needed.values() for j in both})
        values = {j: self.fetch(replace(column.read, offset=(z + j, *near)), place) for j in wanted}
        return {
            k: values[first] if operation is None else self.let(operation(values[first], values[second]))
            for k, (operation, first, second) in needed.items()
        }


class _PairedLoop(SumLoopWriter):
    """A loop over the places along the rows for two planes; other reads are added to a and e, of one result each."""

    def names(self) -> str:
        return _NAMES

    def result(self, at: Place) -> ir.Var:
        """Put b and c together, and onto them what belongs to one result alone."""
        plane, line = at
        b, c = (self.sum(line, _NAMES[k]) for k in (B, C))
        return self.let((b - c if plane else b + c) + self.own(line, plane))

    def row(self, near: Near, row: int, at: ir.Var) -> None:
        """Add what columns find in a row to the sums of its lines."""
        sums: dict[Read, list[ir.Var]] = {}
        for number, column in enumerate(near.columns):
            read = column.read
            line = row - read.offset[1]
            if not 0 <= line < self.lines:
                continue
            key = Read(read.field, read.level, (read.offset[0], 0, 0))
            if key not in sums:
                values = [self.value(read, (j, line), at) for j in range(4)]
                sums[key] = [self.let(operation(values[p], values[q])) for operation, p, q in TURNED.values()]
            for k, value in enumerate(sums[key]):
                self.add(self.sum(line, _NAMES[k]), self.weights[len(TURNED) * number + k], value)
        super().row(near, row, at)
