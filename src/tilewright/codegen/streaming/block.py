"""The body of the inner loop of a streaming kernel: several rows of results in registers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.sites import place_name
from tilewright.codegen.streaming.layout import LINE, PITCH, Slabs, StreamingContext, lanes, slab_at, slabs
from tilewright.codegen.sums import write_sums
from tilewright.codegen.sums.carry import CarriedSum
from tilewright.codegen.sums.loop import INDEX
from tilewright.codegen.sums.registers import OperandTable, Place, RegisterBlock, Results
from tilewright.codegen.tapes import in_any_order
from tilewright.programs.stencil.expression import Placed, Read, placed
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import SUM, Apart, apart, equal_box, equal_boxes
from tilewright.schedules.code import RowCode, Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """What a block reads and writes."""

    # where the slab of a version (field, level) at a position along axis 0 starts
    slab: Callable[[int, int, int], ir.Expr]
    result: Callable[[int, int], ir.Expr]  # where that of a field's results starts
    # what depends on the cell's place alone, at a position along axis 0 and a line
    placed: Callable[[Placed, Place], ir.Expr]
    factors: ir.Expr | None = None  # the table of weights, where sums may be loops


def parameters(plan: StreamingContext) -> Operands:
    """The operands of a stage's function."""
    return Operands(
        slab=lambda field, level, position: slab_at(plan, source(plan, (field, level)), position),
        result=lambda field, position: slab_at(plan, target(plan, field), position),
        placed=lambda node, at: along(plan, node, at, place_name(plan.site, node)),
    )


def stage_places(plan: StreamingContext, stage: int) -> tuple[Placed, ...]:
    """What a stage computes with that depends on the cell's place alone."""
    statements = plan.site.problem.program.statements
    return placed(*(statements[number].tape for number in plan.pipeline.stages[stage]))


def axis_of(plan: StreamingContext, node: Placed) -> int:
    """The axis of the kernel along which a number depends on the place; one in 1D runs as the second of two."""
    return node.axis + plan.rank - plan.site.rank


def along(
    plan: StreamingContext, node: Placed, at: Place, start: ir.Expr, line: ir.Expr = LINE, low: ir.Expr | None = None
) -> ir.Expr:
    """The numbers of a block that depend on the place alone: one for all of a row, or a vector.

    ``start`` are those of the advance's first position, of the tile's first line (``line`` counts as it does), or of a
    lifted row; ``low`` is where the row starts along which vectors are counted.
    """
    dtype, axis = plan.site.dtype, axis_of(plan, node)
    if axis == plan.rank - 1:
        start_of_row = low if low is not None else (line * PITCH) if plan.rank == 3 else ir.Int(0)
        return ir.Load(start, INDEX - start_of_row, ir.vector(dtype))
    return ir.Load(start, ir.Int(at[0]) if axis == 0 else (line + at[1]), dtype)


def stage_outputs(plan: StreamingContext, stage: int) -> tuple[int, ...]:
    """Fields that a stage produces: updated ones, and in stage 0 those that are only handed on."""
    return tuple(field for field in range(len(plan.fields)) if plan.pipeline.stage_of[field] == stage)


def stage_sources(plan: StreamingContext, stage: int) -> tuple[tuple[int, int], ...]:
    """Versions (field, level) that a stage reads; its own fields' newest ones among them."""
    keys = dict.fromkeys((field, 0) for field in stage_outputs(plan, stage))
    for number in plan.pipeline.stages[stage]:
        for read in plan.site.problem.program.statements[number].reads:
            keys[plan.fields.index(read.field), read.level] = None
    return tuple(sorted(keys))


def source(plan: StreamingContext, key: tuple[int, int]) -> Slabs:
    """Names of a version that a stage reads."""
    return slabs(plan, key[0], version_tag(key[1]))


def version_tag(level: int) -> str:
    """Name of a time level."""
    return {1: "new", 0: "now", -1: "prev", -2: "prev2"}[level]


def target(plan: StreamingContext, field: int) -> Slabs:
    """Names of the version that a stage writes."""
    return slabs(plan, field, "out", write=True)


def moved(index: ir.Expr, unit: ir.Var, times: int) -> ir.Expr:
    """An index some units further."""
    if times == 0:
        return index
    return (index + unit * times) if times > 0 else (index - unit * -times)


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """The code of one iteration, a vector of every row of a block."""

    body: tuple[ir.Stmt, ...]
    start: tuple[ir.Stmt, ...] = ()  # what comes before the first vector of a row
    ahead: int = 0  # vectors before the first one that are gone through as well
    lead: tuple[ir.Stmt, ...] = ()  # what is done for each of them
    weights: tuple[float, ...] = ()  # the weights that the table holds

    def loop(self, plan: StreamingContext, low: ir.Expr, high: ir.Expr) -> tuple[ir.Stmt, ...]:
        """The iterations from ``low`` to ``high``."""
        inner = ir.For(var=INDEX, low=low, high=high, step=lanes(plan), body=self.body)
        if not self.ahead:
            return (inner,)
        before = moved(low, ir.Var("V"), -self.ahead)
        return (
            ir.Scope((*self.start, ir.For(var=INDEX, low=before, high=low, step=lanes(plan), body=self.lead), inner)),
        )


def block_body(plan: StreamingContext, stage: int, block: RowCode, operands: Operands) -> Iteration:
    """Write one iteration: some rows along axis 0, and some along the middle axis in 3D."""
    reads = _Slabs(plan, stage, operands)
    table = None if operands.factors is None else OperandTable(start=operands.factors, load=reads.along)
    registers = RegisterBlock(reads, block.places, table=table, placed=operands.placed)
    carried = _carried(plan, stage, registers) if block.carried else {}
    sums = [each for some in carried.values() for each in some]
    advance = tuple(statement for each in sums for statement in each.advance())
    lead = (*registers.body, *advance)
    stores: list[ir.Stmt] = []
    for field, forms in zip(stage_outputs(plan, stage), block.sums, strict=True):
        for at, value in _values(plan, registers, field, block, forms, carried.get(field, ())).items():
            place = moved(INDEX, PITCH, at[1])
            stores.append(ir.Store(operands.result(field, at[0]), place, value, registers.kind))
    return Iteration(
        body=(*registers.finish(), *stores, *advance),
        start=tuple(statement for each in sums for statement in each.start()),
        ahead=max((each.ahead for each in sums), default=0),
        lead=lead,
        weights=tuple(table.factors if table else ()),
    )


def _statement(plan: StreamingContext, field: int) -> Statement | None:
    """The statement that updates a field; None of one that is only handed on."""
    statements = plan.site.problem.program.statements
    return next((each for each in statements if each.field == plan.fields[field]), None)


def _carried(plan: StreamingContext, stage: int, registers: RegisterBlock) -> dict[int, tuple[CarriedSum, ...]]:
    """Write what is carried of every field's sums over boxes with one weight."""
    found = {}
    for field in stage_outputs(plan, stage):
        statement = _statement(plan, field)
        boxes = [equal_box(terms) for terms in equal_boxes(statement).sums] if statement else []
        found[field] = tuple(
            CarriedSum(registers, f"{plan.fields[field]}_s{number}", box) for number, box in enumerate(boxes) if box
        )
    return found


def _values(
    plan: StreamingContext,
    block: RegisterBlock,
    field: int,
    code: RowCode,
    forms: tuple[Sum, ...],
    carried: Sequence[CarriedSum],
) -> Results:
    """Write the new values of a field; one that is only handed on is loaded."""
    name, statement = plan.fields[field], _statement(plan, field)
    if statement is None:
        return {at: block.load(Read(name, 0, (0,) * plan.rank), at) for at in block.places}
    if carried:
        found = equal_boxes(statement)
        sums: dict[str, Results] = {f"{SUM}{number}": each.results() for number, each in enumerate(carried)}
    else:
        found = apart(statement, pairs=code.pairs) if forms else Apart(statement.tape, ())
        sums = write_sums(block, found, forms, lambda number: f"{name}_s{number}" if number else name)
    tape = in_any_order(found.tape, plan.site)
    return block.values(tape, lambda at: f"{name}{at[0]}{at[1]}_", sums, in_turn=code.in_turn)


class _Slabs:
    """Where the vectors of a stage come from: lifted rows of slabs."""

    def __init__(self, plan: StreamingContext, stage: int, operands: Operands) -> None:
        self.plan, self.stage, self.slab, self.dtype = plan, stage, operands.slab, plan.site.dtype

    def key(self, read: Read, at: Place) -> tuple[int, int, Place, int]:
        field = self.plan.fields.index(read.field)
        return field, read.level, self.position(field, read, at), read.offset[-1]

    def vector(self, read: Read, at: Place) -> ir.Expr:
        return self.along(read, at, moved(INDEX, ir.Var("V"), read.offset[-1]))

    def along(self, read: Read, at: Place, index: ir.Expr) -> ir.Load:
        """The load of a read, from an index along the rows that its offset is already part of."""
        field = self.plan.fields.index(read.field)
        position, line = self.position(field, read, at)
        return ir.Load(self.slab(field, read.level, position), moved(index, PITCH, line), ir.vector(self.dtype))

    def position(self, field: int, read: Read, at: Place) -> Place:
        """Where a read of a place lies: the slab's position along axis 0, and its line."""
        plan = self.plan
        offset = (0,) * (plan.rank - len(read.offset)) + read.offset
        behind = plan.lag(plan.pipeline.stage_of[field], self.stage, 1 - read.level)
        return at[0] + offset[0] - behind, at[1] + (offset[1] if plan.rank == 3 else 0)
