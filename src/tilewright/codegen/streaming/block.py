"""The body of the inner loop of a streaming kernel: several rows of results in registers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.streaming import names as v
from tilewright.codegen.streaming.layout import StreamField, StreamStage
from tilewright.codegen.sums import write_sums
from tilewright.codegen.sums.carry import CarriedSum
from tilewright.codegen.sums.loop import INDEX
from tilewright.codegen.sums.registers import OperandTable, RegisterBlock, Results
from tilewright.codegen.tapes import in_any_order
from tilewright.programs.stencil.expression import Placed, Read
from tilewright.programs.stencil.weights import SUM, Apart, apart, equal_box, equal_boxes
from tilewright.schedules.code import Place, RowCode, Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """What a block reads and writes."""

    # where the slab of a version (number of its field, level) at a position along axis 0 starts
    slab: Callable[[int, int, int], ir.Expr]
    result: Callable[[StreamField, int], ir.Expr]  # where that of a field's results starts
    line: ir.Expr  # the first line, as what depends on the place alone counts them
    row: ir.Expr  # where its row starts, as the index of vectors counts
    factors: ir.Expr | None = None  # the table of weights, where sums may be loops


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """The code of one iteration, a vector of every row of a block."""

    dtype: ir.Element
    body: tuple[ir.Stmt, ...]
    start: tuple[ir.Stmt, ...]  # what comes before the first vector of a row
    ahead: int  # vectors before the first one that are gone through as well
    lead: tuple[ir.Stmt, ...]  # what is done for each of them
    weights: tuple[float, ...]  # the weights that the table holds

    def loop(self, b: ir.Builder, low: ir.Expr, high: ir.Expr) -> None:
        """Iterate from ``low`` to ``high``."""
        if not self.ahead:
            self._loop(b, low, high, self.body)
            return
        with b.scope():
            b.emit(*self.start)
            self._loop(b, moved(low, v.V, -self.ahead), low, self.lead)
            self._loop(b, low, high, self.body)

    def _loop(self, b: ir.Builder, low: ir.Expr, high: ir.Expr, body: tuple[ir.Stmt, ...]) -> None:
        with b.loop(INDEX.name, low, high, ir.Lanes(self.dtype)):
            b.emit(*body)


def moved(index: ir.Expr, unit: ir.Var, times: int) -> ir.Expr:
    """An index some units further."""
    return index + unit * times if times >= 0 else index - unit * -times


class BlockWriter:
    """Writes some rows along axis 0, and some along the middle axis in 3D; it says where their vectors come from."""

    def __init__(self, stage: StreamStage, code: RowCode, operands: Operands) -> None:
        self.stage, self.code, self.operands = stage, code, operands
        self.layout, self.dtype = stage.layout, stage.layout.dtype
        self.table = None if operands.factors is None else OperandTable(start=operands.factors, load=self.along)
        self.registers = RegisterBlock(self, code.places, table=self.table, placed=self._placed)

    def iteration(self) -> Iteration:
        """Write one iteration."""
        registers, outputs = self.registers, self.stage.outputs
        carried = [self._carried(field) if self.code.carried else () for field in outputs]
        sums = [each for some in carried for each in some]
        advance = tuple(statement for each in sums for statement in each.advance())
        lead = (*registers.body, *advance)
        stores: list[ir.Stmt] = []
        for field, forms, some in zip(outputs, self.code.sums, carried, strict=True):
            for at, value in self._values(field, forms, some).items():
                place = moved(INDEX, v.PITCH, at[1])
                stores.append(ir.Store(self.operands.result(field, at[0]), place, value, registers.kind))
        return Iteration(
            dtype=self.dtype,
            body=(*registers.finish(), *stores, *advance),
            start=tuple(statement for each in sums for statement in each.start()),
            ahead=max((each.ahead for each in sums), default=0),
            lead=lead,
            weights=tuple(self.table.factors if self.table else ()),
        )

    def _carried(self, field: StreamField) -> tuple[CarriedSum, ...]:
        """Write what is carried of a field's sums over boxes with one weight."""
        boxes = [equal_box(terms) for terms in equal_boxes(field.statement).sums] if field.statement else []
        return tuple(
            CarriedSum(self.registers, f"{field.name}_s{number}", box) for number, box in enumerate(boxes) if box
        )

    def _values(self, field: StreamField, forms: tuple[Sum, ...], carried: Sequence[CarriedSum]) -> Results:
        """Write the new values of a field; one that is only handed on is loaded."""
        name, statement, code = field.name, field.statement, self.code
        if statement is None:
            read = Read(name, 0, (0,) * self.layout.rank)
            return {at: self.registers.load(read, at) for at in self.registers.places}
        if carried:
            found = equal_boxes(statement)
            sums: dict[str, Results] = {f"{SUM}{number}": each.results() for number, each in enumerate(carried)}
        else:
            found = apart(statement, pairs=code.pairs) if forms else Apart(statement.tape, ())
            sums = write_sums(self.registers, found, forms, lambda number: f"{name}_s{number}" if number else name)
        tape = in_any_order(found.tape, self.layout.site)
        return self.registers.values(tape, lambda at: f"{name}{at[0]}{at[1]}_", sums, in_turn=code.in_turn)

    def _placed(self, node: Placed, at: Place) -> ir.Expr:
        """The numbers of a block that depend on the place alone: one for all of a row, or a vector."""
        start, axis = self.layout.site.place_name(node), self.layout.axis_of(node.axis)
        if axis == self.layout.rank - 1:
            return start.vector(INDEX - self.operands.row)
        return start[at[0] if axis == 0 else self.operands.line + at[1]]

    # Where vectors come from: lifted rows of slabs

    def key(self, read: Read, at: Place) -> tuple[int, int, Place, int]:
        """What reads of one vector have in common."""
        return self._field(read).number, read.level, self._position(read, at), read.offset[-1]

    def vector(self, read: Read, at: Place) -> ir.Load:
        """The vector of a read."""
        return self.along(read, at, moved(INDEX, v.V, read.offset[-1]))

    def along(self, read: Read, at: Place, index: ir.Expr) -> ir.Load:
        """The vector of a read, from an index along the rows that its offset is already part of."""
        position, line = self._position(read, at)
        slab = self.operands.slab(self._field(read).number, read.level, position)
        return slab.vector(moved(index, v.PITCH, line))

    def _field(self, read: Read) -> StreamField:
        return self.layout.fields[self.layout.site.problem.program.fields.index(read.field)]

    def _position(self, read: Read, at: Place) -> Place:
        """Where a read of a place lies: the slab's position along axis 0, and its line."""
        rank = self.layout.rank
        offset = (0,) * (rank - len(read.offset)) + read.offset
        behind = self.layout.lag(self._field(read).stage, self.stage.number, 1 - read.level)
        return at[0] + offset[0] - behind, at[1] + (offset[1] if rank == 3 else 0)
