"""The inner loops of a streaming kernel: one stage over lifted rows, several rows blocked in registers.

Where it matters how many vector registers there are, a stage is written twice: for 32 (AVX-512), and for 16 (AVX2 and
baseline x86-64), as the kernel's body says for each. The compiler's own macros choose, so that one text serves every
processor.
"""

from dataclasses import replace

from tilewright.codegen import ir
from tilewright.codegen.sites import inner_sites, place_name, scalar_lets
from tilewright.codegen.streaming.block import (
    Iteration,
    block_body,
    moved,
    parameters,
    source,
    stage_outputs,
    stage_places,
    stage_sources,
    target,
)
from tilewright.codegen.streaming.layout import (
    EDGE,
    GX,
    LINE,
    PITCH,
    VECTORS,
    N,
    StreamingContext,
    lanes,
    mul_vector,
    sizes,
    slab_at,
)
from tilewright.codegen.streaming.planes import Planes, planes_function
from tilewright.schedules.code import StageCode
from tilewright.schedules.streaming.levels import line_cells

FIRST, LAST = ir.Var("first"), ir.Var("last")
CHUNK = ir.Var("chunk")


def stage_params(plan: StreamingContext, stage: int) -> tuple[ir.Var, ...]:
    """Parameters of a stage's function."""
    names = [var for key in stage_sources(plan, stage) for var in source(plan, key).params]
    names += [var for field in stage_outputs(plan, stage) for var in target(plan, field).params[:2]]
    lines = (FIRST, LAST, *ahead_params(plan, stage)) if plan.rank == 3 else ()
    places = (place_name(plan.site, node) for node in stage_places(plan, stage))
    return (plan.site.params[2], *names, *places, *lines, GX, N, EDGE)


def ahead_params(plan: StreamingContext, stage: int) -> tuple[ir.Var, ...]:
    """Parameters of a stage in 3D for the cells that the next advance loads: where they start, how they go on."""
    starts = [next_name(plan, field, age) for field, age in loaded(plan, stage)]
    return (*(var for start in starts for var in (start, *next_strides(start))), CHUNK)


def loaded(plan: StreamingContext, stage: int) -> tuple[tuple[int, int], ...]:
    """Fields of a stage and their versions, by age, of which every advance loads rows of the grid."""
    fields = (field for field in stage_outputs(plan, stage) if plan.part(field) is None)
    return tuple((field, age) for field in fields for age in range(plan.pipeline.history[field]))


def next_name(plan: StreamingContext, field: int, age: int) -> ir.Var:
    """Name of the pointer to what the next advance loads."""
    return ir.Var(f"next_{plan.fields[field]}{age or ''}", ir.const_pointer(plan.site.dtype))


def next_strides(start: ir.Var) -> tuple[ir.Var, ir.Var]:
    """Names of the distances of planes and rows where ``start`` points to."""
    return ir.Var(f"{start.name}_plane"), ir.Var(f"{start.name}_row")


def stage_functions(plan: StreamingContext, stage: int) -> tuple[ir.Function, ...]:
    """The function that computes one stage over the rows of one advance, the ends of the rows included.

    It comes last, after functions that it calls.
    """
    code = plan.site.body.stages[stage]
    many, few = (_variant(plan, stage, each) for each in (code.many, code.few))
    if many == few:
        return many
    return (*(replace(each, registers=32) for each in many), *(replace(each, registers=16) for each in few))


def variants(plan: StreamingContext, stage: int) -> tuple[tuple[tuple[int, ...], StreamingContext], ...]:
    """A stage's plans for rows that meet no edge of a region along some axes of the program, the most axes first."""
    found = []
    for number, (axes, site) in enumerate(inner_sites(plan.site)):
        same = all(
            site.problem.program.statements[each] == plan.site.problem.program.statements[each]
            for each in plan.pipeline.stages[stage]
        )
        if not same:
            inner = replace(site, prefix=plan.site.prefix)
            found.append((axes, replace(plan, site=inner, variant=f"_inner{number or ''}")))
    return tuple(found)


def _variant(plan: StreamingContext, stage: int, code: StageCode) -> tuple[ir.Function, ...]:
    """The same for many registers, or for few."""
    lets = (ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan), *_scalars(plan, stage))
    if code.planes:
        return _in_planes(plan, stage, code)
    rows = {}
    for lines in dict.fromkeys((code.lines, 1)):
        rows[lines] = _rows(plan, stage, lines, block_body(plan, stage, code.of(plan.rows, lines), parameters(plan)))
    loops = rows[1] if plan.rank == 2 else _blocks(code.lines, rows[code.lines], rows[1])
    return (_stage(plan, stage, (*lets, *loops), distinct=code.distinct),)


def _in_planes(plan: StreamingContext, stage: int, code: StageCode) -> tuple[ir.Function, ...]:
    """A stage that computes several planes of results at a time, by functions of their own."""
    lets = (ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan))
    functions: dict[tuple[int, int], Planes] = {}
    bodies: dict[int, tuple[ir.Stmt, ...]] = {}
    shifts = [sum(code.planes[:number]) for number in range(len(code.planes))]
    for lines in (code.lines, 1):
        calls = []
        for shift, planes in zip(shifts, code.planes, strict=True):
            block = (planes, lines)
            if block not in functions:
                functions[block] = planes_function(plan, stage, code.of(planes, lines), _scalars(plan, stage))
            calls.append(functions[block].call(shift, LINE * PITCH))
        bodies[lines] = (*calls, *_finish(plan, stage, lines))
    tables = tuple(dict.fromkeys(each.table for each in functions.values()))
    loops = _blocks(code.lines, bodies[code.lines], bodies[1])
    called = tuple(each.function for each in functions.values())
    return (*called, _stage(plan, stage, (*lets, *tables, *loops), distinct=False))


def _blocks(lines: int, body: tuple[ir.Stmt, ...], rest: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Loops over the rows of a plane, some at a time, then what is left one by one."""
    if lines == 1:
        return (ir.For(var=LINE, low=FIRST, high=LAST, body=body),)
    whole = ir.Var("whole")
    count = LAST - ir.largest(LAST - FIRST, 0) % lines
    return (
        ir.Let(whole, count),
        ir.For(var=LINE, low=FIRST, high=whole, step=ir.Int(lines), body=body),
        ir.For(var=LINE, low=whole, high=LAST, body=rest),
    )


def _stage(plan: StreamingContext, stage: int, body: tuple[ir.Stmt, ...], *, distinct: bool) -> ir.Function:
    new = ", ".join(plan.fields[field] for field in stage_outputs(plan, stage))
    return ir.Function(
        name=plan.name(f"stage_{stage}{plan.variant}"),
        params=stage_params(plan, stage),
        body=body,
        distinct=distinct,
        about=f"New values ({new}) in the rows of one advance of one level.",
    )


def _rows(plan: StreamingContext, stage: int, lines: int, each: Iteration) -> tuple[ir.Stmt, ...]:
    """Compute and finish the rows of one block."""
    low: ir.Expr = (LINE * PITCH) if plan.rank == 3 else ir.Int(0)
    return (*each.loop(plan, low, low + mul_vector(VECTORS)), *_finish(plan, stage, lines))


def _finish(plan: StreamingContext, stage: int, lines: int) -> tuple[ir.Stmt, ...]:
    """Finish the rows of one block, and ask for cells that the next advance loads."""
    low: ir.Expr = (LINE * PITCH) if plan.rank == 3 else ir.Int(0)
    ends = []
    for field in stage_outputs(plan, stage):
        for shift in range(plan.rows):
            for line in range(lines):
                at = moved(low, PITCH, line)
                row = slab_at(plan, target(plan, field), shift) + at
                ends.append(
                    ir.Call(plan.name(f"ends_{field}"), (row, _previous(plan, stage, field, shift, at), GX, N, EDGE))
                )
    asks = tuple(ask for line in range(lines) for ask in _aheads(plan, stage, line)) if plan.rank == 3 else ()
    return (*ends, *asks)


def _aheads(plan: StreamingContext, stage: int, line: int) -> tuple[ir.Stmt, ...]:
    """After every row, ask for a few cells that the next advance loads: memory works while the levels are computed."""
    unit, x = line_cells(plan.site.problem), ir.Var("x")
    body: list[ir.Stmt] = []
    for field, age in loaded(plan, stage):
        for r in range(plan.rows):
            base = next_name(plan, field, age)
            plane, pitch = next_strides(base)
            at = base + (LINE + line) * pitch + plane * r + x
            ask = ir.Intrinsic("prefetch", (at,), plan.site.dtype)
            body.append(ir.For(var=x, low=ir.Int(0), high=CHUNK, step=ir.Int(unit), body=(ask,)))
    return tuple(body)


def _previous(plan: StreamingContext, stage: int, field: int, shift: int, low: ir.Expr) -> ir.Expr:
    return slab_at(plan, source(plan, (field, 0)), shift - plan.lag(stage, stage, 1)) + low


def _scalars(plan: StreamingContext, stage: int) -> tuple[ir.Stmt, ...]:
    statements = plan.site.problem.program.statements
    return scalar_lets(plan.site, [statements[number] for number in plan.pipeline.stages[stage]])
