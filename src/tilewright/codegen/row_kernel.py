"""The inner loops of a streaming kernel: one stage over lifted rows, several rows blocked in registers."""

from tilewright.codegen.expression import scalar_name
from tilewright.codegen.ir import (
    Call,
    Expr,
    For,
    Function,
    Int,
    Let,
    Load,
    Op,
    Real,
    Room,
    Stmt,
    Store,
    Var,
    add,
    mul,
    sub,
)
from tilewright.codegen.pipeline import EDGE, GX, PITCH, VECTORS, N, Plan, lanes, mul_vector, sizes, slab_at
from tilewright.codegen.row_block import (
    INDEX,
    TABLE,
    Body,
    block_body,
    moved,
    paired,
    shift_groups,
    source,
    stage_outputs,
    stage_sources,
    target,
)
from tilewright.programs.expression import Scalar
from tilewright.tilings.pipeline import line_cells

FIRST, LAST = Var("first"), Var("last")
CHUNK = Var("chunk")
_SCALARS = Var("scalar")
LINE = Var("line")
_SHARED = 9
"""Reads common to neighbouring rows of a plane from which on computing two together pays."""


def stage_params(plan: Plan, stage: int) -> tuple[Var, ...]:
    """Parameters of a stage's function."""
    names = [var for key in stage_sources(plan, stage) for var in source(plan, key).params]
    names += [var for field in stage_outputs(plan, stage) for var in target(plan, field).params[:2]]
    lines = (FIRST, LAST, *ahead_params(plan, stage)) if plan.rank == 3 else ()
    return (Var("scalar", f"array:{plan.site.dtype}"), *names, *lines, GX, N, EDGE)


def ahead_params(plan: Plan, stage: int) -> tuple[Var, ...]:
    """Parameters of a stage in 3D for the cells that the next advance loads: where they start, how they go on."""
    starts = [next_name(plan, field, age) for field, age in loaded(plan, stage)]
    return (*(var for start in starts for var in (start, *next_strides(start))), CHUNK)


def loaded(plan: Plan, stage: int) -> tuple[tuple[int, int], ...]:
    """Fields of a stage and their versions, by age, that every advance loads."""
    return tuple((field, age) for field in stage_outputs(plan, stage) for age in range(plan.pipeline.history[field]))


def next_name(plan: Plan, field: int, age: int) -> Var:
    """Name of the pointer to what the next advance loads."""
    return Var(f"next_{plan.fields[field]}{age or ''}", f"array:{plan.site.dtype}")


def next_strides(start: Var) -> tuple[Var, Var]:
    """Names of the distances of planes and rows where ``start`` points to."""
    return Var(f"{start.name}_plane"), Var(f"{start.name}_row")


def stage_function(plan: Plan, stage: int) -> Function:
    """A function that computes one stage over the rows of one advance, the ends of the rows included."""
    lets = (Let(Var("V"), lanes(plan)), *sizes(plan), *_scalars(plan, stage))
    if plan.rank == 2:
        part = _rows(plan, stage, 1)
        return _stage(plan, stage, (*lets, *part.statements), distinct=part.distinct)
    lines = _lines(plan, stage)
    part = _rows(plan, stage, lines)
    body, distinct, table = part.statements, part.distinct, part.table
    if table:
        room, kind = Var(TABLE, f"pointer:{plan.site.dtype}"), plan.site.dtype
        stores = (Store(room, Int(i), Real(value, kind), kind) for i, value in enumerate(table))
        lets = (*lets, Room(room, len(table)), *stores)
    if lines == 1:
        loops: tuple[Stmt, ...] = (For(var=LINE, low=FIRST, high=LAST, body=body),)
    else:
        whole = Var("whole")
        rest = _rows(plan, stage, 1).statements
        count = sub(LAST, Op("mod", (Op("max", (sub(LAST, FIRST), Int(0))), Int(lines))))
        loops = (
            Let(whole, count),
            For(var=LINE, low=FIRST, high=whole, step=Int(lines), body=body),
            For(var=LINE, low=whole, high=LAST, body=rest),
        )
    return _stage(plan, stage, (*lets, *loops), distinct=distinct)


def _stage(plan: Plan, stage: int, body: tuple[Stmt, ...], *, distinct: bool) -> Function:
    return Function(name=plan.name(f"stage_{stage}"), params=stage_params(plan, stage), body=body, distinct=distinct)


def _lines(plan: Plan, stage: int) -> int:
    """Rows of a plane computed together: two where a row shares many reads with the next one, three in pairs."""
    if len(shift_groups(plan, stage)) > 1 or (plan.rows == 2 and paired(plan, stage)):
        return 3
    reads = [
        (read.field, read.level, read.offset)
        for number in plan.pipeline.stages[stage]
        for read in plan.site.problem.program.statements[number].reads
    ]
    shared = sum((f, level, (z, y + 1, x)) in reads for f, level, (z, y, x) in reads)
    return 2 if shared >= _SHARED else 1


def _rows(plan: Plan, stage: int, lines: int) -> Body:
    """Compute and finish the rows of one block."""
    low: Expr = mul(LINE, PITCH) if plan.rank == 3 else Int(0)
    parts = [block_body(plan, stage, lines, shifts) for shifts in shift_groups(plan, stage)]
    high = add(low, mul_vector(VECTORS))
    inner = [For(var=INDEX, low=low, high=high, step=lanes(plan), body=part.statements) for part in parts]
    ends = []
    for field in stage_outputs(plan, stage):
        for shift in range(plan.rows):
            for line in range(lines):
                at = moved(low, PITCH, line)
                row = add(slab_at(plan, target(plan, field), shift), at)
                ends.append(
                    Call(plan.name(f"ends_{field}"), (row, _previous(plan, stage, field, shift, at), GX, N, EDGE))
                )
    asks = tuple(ask for line in range(lines) for ask in _aheads(plan, stage, line)) if plan.rank == 3 else ()
    distinct = all(part.distinct for part in parts)
    return Body(statements=(*inner, *ends, *asks), distinct=distinct, table=max((p.table for p in parts), key=len))


def _aheads(plan: Plan, stage: int, line: int) -> tuple[Stmt, ...]:
    """After every row, ask for a few cells that the next advance loads: memory works while the levels are computed."""
    unit, x = line_cells(plan.site.problem), Var("x")
    body: list[Stmt] = []
    for field, age in loaded(plan, stage):
        for r in range(plan.rows):
            base = next_name(plan, field, age)
            plane, pitch = next_strides(base)
            at = add(add(add(base, Op("mul", (add(LINE, line), pitch))), mul(plane, r)), x)
            ask = Call(f"prefetch:{plan.site.dtype}", (at,))
            body.append(For(var=x, low=Int(0), high=CHUNK, step=Int(unit), body=(ask,)))
    return tuple(body)


def _previous(plan: Plan, stage: int, field: int, shift: int, low: Expr) -> Expr:
    return add(slab_at(plan, source(plan, (field, 0)), shift - plan.lag(stage, stage, 1)), low)


def _scalars(plan: Plan, stage: int) -> tuple[Stmt, ...]:
    program = plan.site.problem.program
    used = {
        node.name
        for i in plan.pipeline.stages[stage]
        for node in program.statements[i].tape
        if isinstance(node, Scalar)
    }
    return tuple(
        Let(Var(scalar_name(name), plan.site.dtype), Load(_SCALARS, Int(i), plan.site.dtype))
        for i, name in enumerate(program.scalars)
        if name in used
    )
