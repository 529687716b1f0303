"""The inner loops of a streaming kernel: one stage over lifted rows, several rows blocked in registers.

Where it matters how many vector registers there are, a stage is written twice: for 32 (AVX-512), and for 16 (AVX2 and
baseline x86-64; :mod:`tilewright.codegen.row_columns`, :class:`tilewright.codegen.row_boxes.FewBoxes`). The compiler's
own macros choose, so that one text serves every processor.
"""

import itertools
from dataclasses import replace

from tilewright.base.intmath import ceil_div
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
    Stmt,
    Var,
    add,
    mul,
    sub,
)
from tilewright.codegen.pipeline import EDGE, GX, PITCH, VECTORS, N, Plan, lanes, mul_vector, sizes, slab_at
from tilewright.codegen.row_block import (
    INDEX,
    block_body,
    field_sums,
    moved,
    paired,
    source,
    stage_outputs,
    stage_sources,
    target,
)
from tilewright.codegen.row_planes import Planes, planes_function
from tilewright.programs.expression import Scalar
from tilewright.tilings.pipeline import line_cells

FIRST, LAST = Var("first"), Var("last")
CHUNK = Var("chunk")
_SCALARS = Var("scalar")
LINE = Var("line")
_PAIRED_LINES = 3
"""Rows of a plane computed together where two planes are: the sums of 12 results fit into 32 registers."""
_FEW_PLANES, _FEW_LINES = 4, 2
"""The same with few registers: the sums of 8 results, four inputs, a weight and a product fit into 16."""
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


def stage_functions(plan: Plan, stage: int) -> tuple[Function, ...]:
    """The function that computes one stage over the rows of one advance, the ends of the rows included.

    It comes last, after functions that it calls.
    """
    many, few = (_variant(plan, stage, few=few) for few in (False, True))
    if many == few:
        return many
    return (*(replace(each, registers=32) for each in many), *(replace(each, registers=16) for each in few))


def _variant(plan: Plan, stage: int, *, few: bool) -> tuple[Function, ...]:
    """The same for many registers, or for few."""
    lets = (Let(Var("V"), lanes(plan)), *sizes(plan), *_scalars(plan, stage))
    if plan.rank == 2:
        body = block_body(plan, stage, 1, few=few)
        return (_stage(plan, stage, (*lets, *_rows(plan, stage, 1, body.statements)), distinct=body.distinct),)
    if paired(plan, stage):
        return _in_planes(plan, stage, few=few)
    lines = 1 if few and _summed(plan, stage) else _lines(plan, stage)
    body = block_body(plan, stage, lines, few=few)
    rest = block_body(plan, stage, 1, few=few) if lines > 1 else body
    loops = _blocks(lines, _rows(plan, stage, lines, body.statements), _rows(plan, stage, 1, rest.statements))
    return (_stage(plan, stage, (*lets, *loops), distinct=body.distinct),)


def _in_planes(plan: Plan, stage: int, *, few: bool) -> tuple[Function, ...]:
    """A stage that computes several planes of results at a time, by functions of their own."""
    lets = (Let(Var("V"), lanes(plan)), *sizes(plan))
    functions: dict[tuple[int, int], Planes] = {}
    bodies: dict[int, tuple[Stmt, ...]] = {}
    most = _FEW_LINES if few else _PAIRED_LINES
    for lines in (most, 1):
        calls = []
        for shift, planes in _plane_blocks(plan.rows, few=few):
            block = (planes, lines)
            if block not in functions:
                functions[block] = planes_function(plan, stage, block, _scalars(plan, stage), few=few)
            calls.append(functions[block].call(plan, shift, mul(LINE, PITCH)))
        bodies[lines] = (*calls, *_finish(plan, stage, lines))
    tables = tuple(dict.fromkeys(each.table for each in functions.values()))
    loops = _blocks(most, bodies[most], bodies[1])
    called = tuple(each.function for each in functions.values())
    return (*called, _stage(plan, stage, (*lets, *tables, *loops), distinct=False))


def _plane_blocks(rows: int, *, few: bool) -> list[tuple[int, int]]:
    """Cut the planes of an advance into blocks: where each starts, and its planes.

    >>> _plane_blocks(6, few=True), _plane_blocks(5, few=False)
    ([(0, 3), (3, 3)], [(0, 2), (2, 2), (4, 1)])
    """
    if not few:
        return [(shift, min(2, rows - shift)) for shift in range(0, rows, 2)]
    count = ceil_div(rows, _FEW_PLANES)
    cuts = [rows * k // count for k in range(count + 1)]
    return [(low, high - low) for low, high in itertools.pairwise(cuts)]


def _summed(plan: Plan, stage: int) -> bool:
    """Whether a stage has weighted sums that are written apart."""
    found = (field_sums(plan, field) for field in stage_outputs(plan, stage))
    return any(each.sums for each in found if each)


def _blocks(lines: int, body: tuple[Stmt, ...], rest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Loops over the rows of a plane, some at a time, then what is left one by one."""
    if lines == 1:
        return (For(var=LINE, low=FIRST, high=LAST, body=body),)
    whole = Var("whole")
    count = sub(LAST, Op("mod", (Op("max", (sub(LAST, FIRST), Int(0))), Int(lines))))
    return (
        Let(whole, count),
        For(var=LINE, low=FIRST, high=whole, step=Int(lines), body=body),
        For(var=LINE, low=whole, high=LAST, body=rest),
    )


def _stage(plan: Plan, stage: int, body: tuple[Stmt, ...], *, distinct: bool) -> Function:
    new = ", ".join(plan.fields[field] for field in stage_outputs(plan, stage))
    return Function(
        name=plan.name(f"stage_{stage}"),
        params=stage_params(plan, stage),
        body=body,
        distinct=distinct,
        about=f"New values ({new}) in the rows of one advance of one level.",
    )


def _lines(plan: Plan, stage: int) -> int:
    """Rows of a plane computed together: two where a row shares many reads with the next one."""
    reads = [
        (read.field, read.level, read.offset)
        for number in plan.pipeline.stages[stage]
        for read in plan.site.problem.program.statements[number].reads
    ]
    shared = sum((f, level, (z, y + 1, x)) in reads for f, level, (z, y, x) in reads)
    return 2 if shared >= _SHARED else 1


def _rows(plan: Plan, stage: int, lines: int, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Compute and finish the rows of one block."""
    low: Expr = mul(LINE, PITCH) if plan.rank == 3 else Int(0)
    inner = For(var=INDEX, low=low, high=add(low, mul_vector(VECTORS)), step=lanes(plan), body=body)
    return (inner, *_finish(plan, stage, lines))


def _finish(plan: Plan, stage: int, lines: int) -> tuple[Stmt, ...]:
    """Finish the rows of one block, and ask for cells that the next advance loads."""
    low: Expr = mul(LINE, PITCH) if plan.rank == 3 else Int(0)
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
    return (*ends, *asks)


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
