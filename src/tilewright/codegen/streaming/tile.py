"""One tile of a streaming kernel: its levels in a pipeline along axis 0."""

from collections.abc import Callable, Sequence

from tilewright.codegen import ir, points
from tilewright.codegen.layouts import stride
from tilewright.codegen.sites import middle, place_name, place_table, scalars_of, unpack
from tilewright.codegen.streaming.block import axis_of, source, stage_outputs, stage_places, stage_sources, version_tag
from tilewright.codegen.streaming.borders import has_borders, near_border
from tilewright.codegen.streaming.copies import BOUNDS, FROM_CALLER, LIFTED_IN, LIFTED_OUT, TO_CALLER, outer, strides_in
from tilewright.codegen.streaming.layout import (
    EDGE,
    GX,
    GY,
    SLAB,
    VECTORS,
    X0,
    N,
    StreamingContext,
    lanes,
    row_width,
    sizes,
    slabs,
)
from tilewright.codegen.streaming.points import near_rows, spare
from tilewright.codegen.streaming.stages import loaded, variants
from tilewright.schedules.streaming.levels import line_cells

T, LEVELS, TURN, SIDE, START, VERSION = (
    ir.Var("t"),
    ir.Var("levels"),
    ir.Var("turn"),
    ir.Var("side"),
    ir.Var("start"),
    ir.Var("version"),
)
_Y0 = ir.Var("y0")
Lines = tuple[ir.Expr, ...]
"""The first of some lines of a slab and their end, in 3D; empty in 2D."""


def tile_function(plan: StreamingContext) -> ir.Function:
    """A function that advances one tile through one band."""
    pipeline, history = plan.pipeline, max(plan.pipeline.history)
    lag, below = pipeline.lag, pipeline.below[0]
    reach = LEVELS * below.period + (max(below.offsets) + below.period * (history - 1))
    first = ir.Var("first")
    units = tuple(_unit(plan, stage) for stage in range(len(pipeline.stages)))
    turn = ir.op(ir.Operator.AND, (START - first) / plan.rows, 1)
    advance = ir.For(
        var=START,
        low=first,
        high=BOUNDS[1] + (LEVELS - 1) * lag.period + max(lag.offsets),
        step=ir.Int(plan.rows),
        body=(ir.Let(TURN, turn), ir.For(var=T, low=ir.Int(-history), high=LEVELS, body=units)),
    )
    start = ir.Let(first, BOUNDS[0] - reach - history * lag.period)
    return ir.Function(
        name=plan.name("tile"),
        params=(*plan.site.params, _ring(plan), SIDE, VERSION, LEVELS, *BOUNDS),
        body=(
            *_extents(plan),
            *_ends_of_run(plan),
            *_where(plan),
            *_layout(plan),
            start,
            advance,
            ir.Intrinsic("fence", (), plan.site.dtype),
        ),
        about=f"One tile: its rows advance {plan.rows} at a time, every level a few rows behind what it reads.",
    )


def _ring(plan: StreamingContext) -> ir.Var:
    return ir.Var("ring", ir.pointer(plan.site.dtype))


def _extents(plan: StreamingContext) -> tuple[ir.Stmt, ...]:
    """Name extents and strides; a program in 1D runs as one in 2D with a single row."""
    if plan.site.rank > 1:
        return (*unpack(plan.site), ir.Let(N, ir.Var(f"n{plan.site.rank - 1}")))
    one = (ir.Let(ir.Var("n0"), ir.Int(1)), ir.Let(ir.Var("n1"), ir.Int(1)))
    size = plan.site.params[1]
    return (
        *one,
        ir.Let(N, ir.Load(size, ir.Int(2), ir.INDEX)),
        ir.Let(ir.Var("slot"), ir.Load(size, ir.Int(3), ir.INDEX)),
    )


def _ends_of_run(plan: StreamingContext) -> tuple[ir.Stmt, ...]:
    """Name whether this band reads or writes the caller's arrays, and the strides on both sides."""
    size, axes = plan.site.params[1], plan.site.rank - 1
    place = 3 + plan.site.rank + axes
    first = VERSION.equals(0) & (ir.Load(size, ir.Int(place), ir.INDEX) > 0)
    last = (VERSION + LEVELS).equals(ir.Load(size, ir.Int(0), ir.INDEX)) & ir.Load(size, ir.Int(place + 1), ir.INDEX)
    lets: list[ir.Stmt] = [ir.Let(FROM_CALLER, first), ir.Let(TO_CALLER, last)]
    for field in range(len(plan.fields)):
        part = plan.part(field)
        lets += () if part is None else part.lets
    wide = (ir.Load(size, ir.Int(place), ir.INDEX) > 1) & (BOUNDS[5] - BOUNDS[4]).equals(N)
    for lifted, direct in ((LIFTED_IN, FROM_CALLER), (LIFTED_OUT, TO_CALLER)):
        lets.append(ir.Let(lifted, (wide & direct.equals(0)) if axes else ir.Int(0)))
    for axis in range(axes):
        packed = ir.Var(f"p{axis}")
        lets.append(ir.Let(packed, ir.Load(size, ir.Int(place + 2 + axis), ir.INDEX)))
        row: ir.Expr = row_width(plan) if axis == axes - 1 else (ir.Var("n1") * row_width(plan))
        for letter, direct, lifted in (("i", FROM_CALLER, LIFTED_IN), ("o", TO_CALLER, LIFTED_OUT)):
            lets.append(
                ir.Let(ir.Var(f"{letter}{axis}"), ir.select(direct, packed, ir.select(lifted, row, stride(axis))))
            )
    return tuple(lets)


def _lifted_in(plan: StreamingContext, field: int) -> ir.Expr:
    """Whether a field's rows lie lifted in memory; those of fields that do not change are the caller's."""
    return LIFTED_IN if plan.fields[field] in plan.site.problem.program.updated else ir.Int(0)


def _callers(plan: StreamingContext, field: int, age: ir.Expr) -> ir.Expr:
    """The caller's array that holds a version of a field, by age."""
    place = len(plan.fields) + sum(plan.pipeline.history[:field])
    return ir.Load(plan.site.params[0], age + place, ir.pointer(plan.site.dtype))


def _results(plan: StreamingContext, field: int) -> ir.Expr:
    """The array that takes the newest version of a field."""
    updated = [name for name in plan.fields if name in plan.site.problem.program.updated]
    place = len(plan.fields) + sum(plan.pipeline.history) + updated.index(plan.fields[field])
    return ir.Load(plan.site.params[0], ir.Int(place), ir.pointer(plan.site.dtype))


def _where(plan: StreamingContext) -> tuple[ir.Stmt, ...]:
    """Name where the rows of the tile start, and whether they reach an end of the grid."""
    frames = [plan.frame(field, plan.rank - 1) for field in range(len(plan.fields))]
    low, high = (max(frame[side] for frame in frames) for side in (0, 1))
    left = GX < max(1, low)
    right = GX + row_width(plan) > N - high
    return (
        ir.Let(ir.Var("V"), lanes(plan)),
        *sizes(plan),
        ir.Let(GX, X0 - plan.halo[-1][0]),
        ir.Let(GY, (BOUNDS[2] - plan.halo[1][0]) if plan.rank == 3 else ir.Int(0)),
        ir.Let(EDGE, left | right),
    )


def _layout(plan: StreamingContext) -> tuple[ir.Stmt, ...]:
    """Name where the slabs of every field start, and the spare row behind them."""
    lets: list[ir.Stmt] = []
    at: ir.Expr = _ring(plan) + ir.op(ir.Operator.MUL, ir.Int(plan.reach[0]), ir.Var("V"))
    for field in range(len(plan.fields)):
        lets.append(ir.Let(_memory(plan, field), at))
        at = _memory(plan, field) + SLAB * plan.slabs(field)
    lets.append(ir.Let(spare(plan), at))
    at = spare(plan) + row_width(plan) * 2
    for node in plan.site.problem.program.placed:
        name = place_name(plan.site, node)
        if node not in plan.lifted:
            lets.append(ir.Let(name, place_table(plan.site, node)))
            continue
        row = ir.Var(f"{name.name}_row", ir.pointer(plan.site.dtype))
        lets += [
            ir.Let(row, at),
            ir.Intrinsic("lift", (row, place_table(plan.site, node) + GX, VECTORS), plan.site.dtype),
            ir.Let(name, row),
        ]
        at = row + row_width(plan)
    return tuple(lets)


def _memory(plan: StreamingContext, field: int) -> ir.Var:
    return ir.Var(f"m_{plan.fields[field]}", ir.pointer(plan.site.dtype))


def _version(plan: StreamingContext, field: int, version: ir.Expr) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """Passing, fresh and older slabs of a version (counted from the start of the band)."""
    keep, count = plan.pipeline.keep[field], plan.pipeline.versions[field]
    base = _memory(plan, field)
    turn = (version + count * 4) % count
    passing = base + ir.op(ir.Operator.MUL, turn, SLAB * plan.passing(field))
    store = base + SLAB * (count * plan.passing(field))
    at = (version + (plan.pipeline.history[field] - 1)) * 2
    fresh = store + ir.op(ir.Operator.MUL, at + TURN, SLAB * keep)
    older = store + ir.op(ir.Operator.MUL, at + 1 - TURN, SLAB * keep)
    return passing, fresh, older


def _unit(plan: StreamingContext, stage: int) -> ir.Stmt:
    """One stage of one step: load or compute the rows of one advance, finish them, write them."""
    pipeline = plan.pipeline
    left = LEVELS - 1 - T
    place = ir.Let(_Y0, START - (T * pipeline.lag.period + pipeline.lag.offsets[stage]))
    low = BOUNDS[0] - (left * pipeline.below[0].period + pipeline.below[0].offsets[stage])
    high = BOUNDS[1] + (left * pipeline.above[0].period + pipeline.above[0].offsets[stage])
    reach = max(g[0][1] for g in pipeline.ghosts)
    bounds = (ir.largest(low, 0), ir.smallest(high, ir.Var("n0") + reach))
    live = (_Y0 + plan.rows > bounds[0]) & (_Y0 < bounds[1])
    fields = stage_outputs(plan, stage)
    body: list[ir.Stmt] = [s for f in fields for s in _names(plan, f, "out", T + 1, write=True)]
    body.append(ir.If(T < 0, _loads(plan, fields)))
    body.append(ir.If(T >= 0, (_compute(plan, stage, left), *_aheads(plan, stage))))
    body += [s for f in fields for s in _finish(plan, f)]
    return ir.Scope((place, ir.If(live, tuple(body))))


def _names(
    plan: StreamingContext, field: int, tag: str, version: ir.Expr, *, write: bool = False
) -> tuple[ir.Stmt, ...]:
    names = slabs(plan, field, tag, write=write).params
    return tuple(ir.Let(var, value) for var, value in zip(names, _version(plan, field, version), strict=True))


def _slot(plan: StreamingContext, field: int, side: ir.Expr, version: ir.Expr) -> ir.Expr:
    """Cell zero of the slot that holds a version on one side; versions count from the start of the run."""
    base = ir.Load(plan.site.params[0], ir.Int(field), ir.pointer(plan.site.dtype))
    if plan.fields[field] not in plan.site.problem.program.updated:
        return base
    rest = ir.floormod(version, plan.sides)
    shift = ir.select(rest.equals(0).equals(side), ir.Int(plan.sides), ir.Int(0))
    part = plan.part(field)
    if part is not None:
        return base + (rest + shift) * part.distance
    return base + ir.op(ir.Operator.MUL, rest + shift, ir.Var("slot"))


def _source(plan: StreamingContext, field: int, age: ir.Expr) -> ir.Expr:
    """Where a band reads a version of a field, by age."""
    slot = _slot(plan, field, SIDE, VERSION - age)
    if plan.fields[field] not in plan.site.problem.program.updated:
        return slot
    return ir.select(FROM_CALLER, _callers(plan, field, age), slot)


def _loads(plan: StreamingContext, fields: tuple[int, ...]) -> tuple[ir.Stmt, ...]:
    """Load the versions that the band starts from."""
    body: list[ir.Stmt] = []
    for field in fields:
        new = slabs(plan, field, "out", write=True)
        base = _source(plan, field, ir.Int(-1) - T)
        place: tuple[ir.Expr, ...] = outer(plan, strides_in(plan, field))
        lifted: tuple[ir.Expr, ...] = (_lifted_in(plan, field),)
        if plan.part(field) is not None:
            place, lifted = (plan.site.params[3], ir.Var("n0"), ir.Var("n1")), ()
        call = ir.Call(
            plan.name(f"load_{field}"),
            (*place, *new.params[:2], base, spare(plan), _Y0, GX, GY, N, EDGE, *lifted),
        )
        history = plan.pipeline.history[field]
        body.append(ir.If(T >= -history, (call,)))
    return tuple(body)


def _next(plan: StreamingContext, field: int, age: int) -> tuple[ir.Expr, ir.Expr]:
    """The version and the first row that the next advance loads."""
    lag = plan.pipeline.lag
    back = -(age + 1) * lag.period + lag.offsets[plan.pipeline.stage_of[field]]
    return _source(plan, field, ir.Int(age)), START + (plan.rows - back)


def _aheads(plan: StreamingContext, stage: int) -> tuple[ir.Stmt, ...]:
    """While the levels are computed, the next rows to load are on their way."""
    if plan.rank == 3:
        return ()
    calls = []
    for field, age in loaded(plan, stage):
        base, row = _next(plan, field, age)
        calls.append(
            ir.Call(
                plan.name(f"ahead_{field}"),
                (*outer(plan, strides_in(plan, field)), base, row, _first_cell(plan, field), T, LEVELS),
            )
        )
    return tuple(calls)


def _first_cell(plan: StreamingContext, field: int) -> ir.Expr:
    """The place in a row of memory at which a tile's rows start."""
    return ir.select(LIFTED_IN, ir.Int(0), GX) if plan.fields[field] in plan.site.problem.program.updated else GX


def _ahead_args(plan: StreamingContext, stage: int) -> list[ir.Expr]:
    """In 3D a stage asks for its share itself, row by row: a piece of every row of the next planes."""
    args: list[ir.Expr] = []
    whole: ir.Expr = ir.Int(1)
    for field, age in loaded(plan, stage):
        base, plane = _next(plan, field, age)
        share = T * row_width(plan) / LEVELS
        letter = strides_in(plan, field)
        steps = (ir.Var(f"{letter}0"), ir.Var(f"{letter}1"))
        row = base + ir.op(ir.Operator.MUL, plane, steps[0]) + ir.op(ir.Operator.MUL, GY, steps[1])
        args += [row + _first_cell(plan, field) + share, *steps]
        inside = (plane >= 0) & (plane + plan.rows <= ir.Var("n0"))
        whole = whole & inside
    chunk = ir.select(whole, ir.ceildiv(row_width(plan), LEVELS), ir.Int(0))
    return [*args, chunk]


def _compute(plan: StreamingContext, stage: int, left: ir.Expr) -> ir.Stmt:
    """Call a stage."""
    lets: list[ir.Stmt] = []
    args: list[ir.Expr] = [scalars_of(plan.site, VERSION + T)]
    for key in stage_sources(plan, stage):
        lets += _names(plan, key[0], version_tag(key[1]), T + key[1])
        args += source(plan, key).params
    for field in stage_outputs(plan, stage):
        args += slabs(plan, field, "out", write=True).params[:2]
    moves = (_Y0, GY, ir.Int(0)) if plan.rank == 3 else (_Y0, ir.Int(0))
    for node in stage_places(plan, stage):
        args.append(place_name(plan.site, node) + moves[axis_of(plan, node)])
    if plan.rank == 2:
        return ir.Scope((*lets, _of_regions(plan, stage, lambda _: args, ())))
    below, above = plan.pipeline.below[1], plan.pipeline.above[1]
    low = BOUNDS[2] - (left * below.period + below.offsets[stage])
    high = BOUNDS[3] + (left * above.period + above.offsets[stage])
    lines = (ir.largest(low, 0) - GY, ir.smallest(high, ir.Var("n1")) - GY)
    ahead = _ahead_args(plan, stage)
    return ir.Scope((*lets, _of_regions(plan, stage, lambda some: [*args, *some, *ahead], lines)))


def _of_regions(plan: StreamingContext, stage: int, given: Callable[[Lines], list[ir.Expr]], lines: Lines) -> ir.Stmt:
    """Call a stage for its rows: where they meet no edge of a region, the one that knows of none."""

    def call(variant: str, some: Lines) -> ir.Call:
        return ir.Call(plan.name(f"stage_{stage}{variant}"), (*given(some), GX, N, EDGE))

    work: ir.Stmt = call("", lines)
    for axes, some in reversed(variants(plan, stage)):
        inner: tuple[ir.Stmt, ...] = (call(some.variant, lines),)
        if plan.rank == 3 and 1 in axes:
            ends = middle(plan.site)[1]
            a, b = ir.Var("middle_a"), ir.Var("middle_b")
            inner = (
                ir.Let(a, ir.smallest(ir.largest(lines[0], ends[0] - GY), lines[1])),
                ir.Let(b, ir.largest(a, ir.smallest(lines[1], ends[1] - GY))),
                call("", (lines[0], a)),
                call(some.variant, (a, b)),
                call("", (b, lines[1])),
            )
        work = ir.If(_in_middle(plan, axes), inner, (work,))
    return work


def _in_middle(plan: StreamingContext, axes: Sequence[int]) -> ir.Expr:
    """Whether the rows of an advance, as far as the grid has them, meet no edge of a region along some axes.

    Lines of a slab in 3D are told apart one by one.
    """
    found: ir.Expr = ir.Int(1)
    for axis in axes:
        of_rows = axis + plan.rank - plan.site.rank == 0
        if not of_rows and axis < plan.site.rank - 1:
            continue
        begin, length, extent = (_Y0, ir.Int(plan.rows), ir.Var("n0")) if of_rows else (GX, row_width(plan), N)
        low, high = middle(plan.site)[axis]
        low_fits = ir.largest(begin, 0) >= low
        found = found & (low_fits & (ir.smallest(begin + length, extent) <= high))
    return found


def _finish(plan: StreamingContext, field: int) -> tuple[ir.Stmt, ...]:
    """Finish the new rows of a field at the ends of the grid, and write those of the last versions."""
    new, history = slabs(plan, field, "out", write=True), plan.pipeline.history[field]
    result: list[ir.Stmt] = []
    if points.touches(plan.site.problem, plan.fields[field]):
        where = (_Y0, ir.Var("n0"), ir.Var("n1"), N, GX, GY, EDGE, *BOUNDS)
        further = (spare(plan),) if plan.fields[field] in dict(plan.site.problem.points.faces) else ()
        handed = (plan.site.params[1], *plan.site.params[3:], VERSION + T, *new.params[:2], *further, *where)
        call = ir.Call(points.function_name(plan.site, plan.fields[field]), handed)
        result.append(ir.If((T >= 0) & near_rows(plan, field, _Y0), (call,)))
    if has_borders(plan, field):
        names = _names(plan, field, "now", ir.largest(T, 1 - history))
        loading = T < 0
        place: tuple[ir.Expr, ...] = (_Y0, loading, ir.Var("n0"), ir.Var("n1"), N, GX, GY, EDGE)
        border = ir.Call(plan.name(f"border_{field}"), (*new.params, *slabs(plan, field, "now").params, *place))
        result.append(ir.If(near_border(plan, field), (*names, border)))
    if plan.fields[field] in plan.site.problem.program.updated:
        slot = _slot(plan, field, ir.Int(1) - SIDE, VERSION + T + 1)
        base = ir.select(TO_CALLER, _results(plan, field), slot)
        unit, cells = line_cells(plan.site.problem), BOUNDS[5] - BOUNDS[4]
        # Between bands rows are padded to whole lines; the caller's are not.
        count = ir.select(TO_CALLER, cells, ir.op(ir.Operator.MUL, ir.ceildiv(cells, unit), unit))
        args: tuple[ir.Expr, ...] = (
            *(*outer(plan, "o"), *new.params[:2], base, spare(plan), _Y0),
            *(*BOUNDS, GX, GY, count, LIFTED_OUT),
        )
        if plan.part(field) is not None:
            place = (plan.site.params[3], ir.Var("n0"), ir.Var("n1"))
            args = (*place, *new.params[:2], base, spare(plan), _Y0, *BOUNDS, GX, GY)
        kept = ir.select(TO_CALLER, ir.Int(1), ir.Int(history)) if history > 1 else ir.Int(1)
        result.append(ir.If(T >= LEVELS - kept, (ir.Call(plan.name(f"store_{field}"), args),)))
    if history == max(plan.pipeline.history):
        return tuple(result)
    return (ir.If(T >= -history, tuple(result)),) if result else ()
