"""One tile of a streaming kernel: its levels in a pipeline along axis 0."""

from tilewright.codegen.borders import has_borders, near_border
from tilewright.codegen.ir import (
    Call,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Op,
    Scope,
    Stmt,
    Var,
    add,
    mul,
    select,
    sub,
)
from tilewright.codegen.pipeline import EDGE, GX, GY, SLAB, X0, N, Plan, lanes, row_width, sizes, slabs
from tilewright.codegen.row_block import source, stage_outputs, stage_sources, version_tag
from tilewright.codegen.row_kernel import loaded
from tilewright.codegen.sites import stride, unpack
from tilewright.codegen.stream_io import BOUNDS, FROM_CALLER, LIFTED_IN, LIFTED_OUT, TO_CALLER, outer, strides_in
from tilewright.tilings.pipeline import line_cells

T, LEVELS, TURN, SIDE, START, VERSION = Var("t"), Var("levels"), Var("turn"), Var("side"), Var("start"), Var("version")
_Y0, _SPARE = Var("y0"), Var("spare")


def tile_function(plan: Plan) -> Function:
    """A function that advances one tile through one band."""
    pipeline, history = plan.pipeline, max(plan.pipeline.history)
    lag, below = pipeline.lag, pipeline.below[0]
    reach = add(mul(LEVELS, below.period), max(below.offsets) + below.period * (history - 1))
    first = Var("first")
    units = tuple(_unit(plan, stage) for stage in range(len(pipeline.stages)))
    turn = Op("and", (Op("div", (sub(START, first), Int(plan.rows))), Int(1)))
    advance = For(
        var=START,
        low=first,
        high=add(add(BOUNDS[1], mul(sub(LEVELS, 1), lag.period)), max(lag.offsets)),
        step=Int(plan.rows),
        body=(Let(TURN, turn), For(var=T, low=Int(-history), high=LEVELS, body=units)),
    )
    start = Let(first, sub(sub(BOUNDS[0], reach), history * lag.period))
    return Function(
        name=plan.name("tile"),
        params=(*plan.site.params, _ring(plan), SIDE, VERSION, LEVELS, *BOUNDS),
        body=(
            *_extents(plan),
            *_ends_of_run(plan),
            *_where(plan),
            *_layout(plan),
            start,
            advance,
            Call(f"fence:{plan.site.dtype}", ()),
        ),
        about=f"One tile: its rows advance {plan.rows} at a time, every level a few rows behind what it reads.",
    )


def _ring(plan: Plan) -> Var:
    return Var("ring", f"pointer:{plan.site.dtype}")


def _extents(plan: Plan) -> tuple[Stmt, ...]:
    """Name extents and strides; a program in 1D runs as one in 2D with a single row."""
    if plan.site.rank > 1:
        return (*unpack(plan.site), Let(N, Var(f"n{plan.site.rank - 1}")))
    one = (Let(Var("n0"), Int(1)), Let(Var("n1"), Int(1)))
    size = Var("size")
    return (*one, Let(N, Load(size, Int(2), "index")), Let(Var("slot"), Load(size, Int(3), "index")))


def _ends_of_run(plan: Plan) -> tuple[Stmt, ...]:
    """Name whether this band reads or writes the caller's arrays, and the strides on both sides."""
    size, axes = Var("size"), plan.site.rank - 1
    place = 3 + plan.site.rank + axes
    first = Op("and", (Op("eq", (VERSION, Int(0))), Op("gt", (Load(size, Int(place), "index"), Int(0)))))
    last = Op(
        "and", (Op("eq", (add(VERSION, LEVELS), Load(size, Int(0), "index"))), Load(size, Int(place + 1), "index"))
    )
    lets: list[Stmt] = [Let(FROM_CALLER, first), Let(TO_CALLER, last)]
    wide = Op("and", (Op("gt", (Load(size, Int(place), "index"), Int(1))), Op("eq", (sub(BOUNDS[5], BOUNDS[4]), N))))
    for lifted, direct in ((LIFTED_IN, FROM_CALLER), (LIFTED_OUT, TO_CALLER)):
        lets.append(Let(lifted, Op("and", (wide, Op("eq", (direct, Int(0))))) if axes else Int(0)))
    for axis in range(axes):
        packed = Var(f"p{axis}")
        lets.append(Let(packed, Load(size, Int(place + 2 + axis), "index")))
        row: Expr = row_width(plan) if axis == axes - 1 else Op("mul", (Var("n1"), row_width(plan)))
        for letter, direct, lifted in (("i", FROM_CALLER, LIFTED_IN), ("o", TO_CALLER, LIFTED_OUT)):
            lets.append(Let(Var(f"{letter}{axis}"), select(direct, packed, select(lifted, row, stride(axis)))))
    return tuple(lets)


def _lifted_in(plan: Plan, field: int) -> Expr:
    """Whether a field's rows lie lifted in memory; those of fields that do not change are the caller's."""
    return LIFTED_IN if plan.fields[field] in plan.site.problem.program.updated else Int(0)


def _callers(plan: Plan, field: int, age: Expr) -> Expr:
    """The caller's array that holds a version of a field, by age."""
    place = len(plan.fields) + sum(plan.pipeline.history[:field])
    return Load(plan.site.params[0], add(age, place), f"pointer:{plan.site.dtype}")


def _results(plan: Plan, field: int) -> Expr:
    """The array that takes the newest version of a field."""
    updated = [name for name in plan.fields if name in plan.site.problem.program.updated]
    place = len(plan.fields) + sum(plan.pipeline.history) + updated.index(plan.fields[field])
    return Load(plan.site.params[0], Int(place), f"pointer:{plan.site.dtype}")


def _where(plan: Plan) -> tuple[Stmt, ...]:
    """Name where the rows of the tile start, and whether they reach an end of the grid."""
    frames = [plan.frame(field, plan.rank - 1) for field in range(len(plan.fields))]
    low, high = (max(frame[side] for frame in frames) for side in (0, 1))
    left = Op("lt", (GX, Int(max(1, low))))
    right = Op("gt", (add(GX, row_width(plan)), sub(N, high)))
    return (
        Let(Var("V"), lanes(plan)),
        *sizes(plan),
        Let(GX, sub(X0, plan.halo[-1][0])),
        Let(GY, sub(BOUNDS[2], plan.halo[1][0]) if plan.rank == 3 else Int(0)),
        Let(EDGE, Op("or", (left, right))),
    )


def _layout(plan: Plan) -> tuple[Stmt, ...]:
    """Name where the slabs of every field start, and the spare row behind them."""
    lets: list[Stmt] = []
    at: Expr = add(_ring(plan), Op("mul", (Int(plan.reach[0]), Var("V"))))
    for field in range(len(plan.fields)):
        lets.append(Let(_memory(plan, field), at))
        at = add(_memory(plan, field), mul(SLAB, plan.slabs(field)))
    return (*lets, Let(Var("spare", f"pointer:{plan.site.dtype}"), at))


def _memory(plan: Plan, field: int) -> Var:
    return Var(f"m_{plan.fields[field]}", f"pointer:{plan.site.dtype}")


def _version(plan: Plan, field: int, version: Expr) -> tuple[Expr, Expr, Expr]:
    """Passing, fresh and older slabs of a version (counted from the start of the band)."""
    keep, count = plan.pipeline.keep[field], plan.pipeline.versions[field]
    base = _memory(plan, field)
    turn = Op("mod", (add(version, count * 4), Int(count)))
    passing = add(base, Op("mul", (turn, mul(SLAB, plan.passing(field)))))
    store = add(base, mul(SLAB, count * plan.passing(field)))
    at = mul(add(version, plan.pipeline.history[field] - 1), 2)
    fresh = add(store, Op("mul", (add(at, TURN), mul(SLAB, keep))))
    older = add(store, Op("mul", (sub(add(at, 1), TURN), mul(SLAB, keep))))
    return passing, fresh, older


def _unit(plan: Plan, stage: int) -> Stmt:
    """One stage of one step: load or compute the rows of one advance, finish them, write them."""
    pipeline = plan.pipeline
    left = sub(sub(LEVELS, 1), T)
    place = Let(_Y0, sub(START, add(mul(T, pipeline.lag.period), pipeline.lag.offsets[stage])))
    low = sub(BOUNDS[0], add(mul(left, pipeline.below[0].period), pipeline.below[0].offsets[stage]))
    high = add(BOUNDS[1], add(mul(left, pipeline.above[0].period), pipeline.above[0].offsets[stage]))
    reach = max(g[0][1] for g in pipeline.ghosts)
    bounds = (Op("max", (low, Int(0))), Op("min", (high, add(Var("n0"), reach))))
    live = Op("and", (Op("gt", (add(_Y0, plan.rows), bounds[0])), Op("lt", (_Y0, bounds[1]))))
    fields = stage_outputs(plan, stage)
    body: list[Stmt] = [s for f in fields for s in _names(plan, f, "out", add(T, 1), write=True)]
    body.append(If(Op("lt", (T, Int(0))), _loads(plan, fields)))
    body.append(If(Op("ge", (T, Int(0))), (_compute(plan, stage, left), *_aheads(plan, stage))))
    body += [s for f in fields for s in _finish(plan, f)]
    return Scope((place, If(live, tuple(body))))


def _names(plan: Plan, field: int, tag: str, version: Expr, *, write: bool = False) -> tuple[Stmt, ...]:
    names = slabs(plan, field, tag, write=write).params
    return tuple(Let(var, value) for var, value in zip(names, _version(plan, field, version), strict=True))


def _slot(plan: Plan, field: int, side: Expr, version: Expr) -> Expr:
    """Cell zero of the slot that holds a version on one side; versions count from the start of the run."""
    base = Load(plan.site.params[0], Int(field), f"pointer:{plan.site.dtype}")
    if plan.fields[field] not in plan.site.problem.program.updated:
        return base
    rest = Op("floormod", (version, Int(plan.sides)))
    shift = select(Op("eq", (Op("eq", (rest, Int(0))), side)), Int(plan.sides), Int(0))
    return add(base, Op("mul", (add(rest, shift), Var("slot"))))


def _source(plan: Plan, field: int, age: Expr) -> Expr:
    """Where a band reads a version of a field, by age."""
    slot = _slot(plan, field, SIDE, sub(VERSION, age))
    if plan.fields[field] not in plan.site.problem.program.updated:
        return slot
    return select(FROM_CALLER, _callers(plan, field, age), slot)


def _loads(plan: Plan, fields: tuple[int, ...]) -> tuple[Stmt, ...]:
    """Load the versions that the band starts from."""
    body: list[Stmt] = []
    for field in fields:
        new = slabs(plan, field, "out", write=True)
        base = _source(plan, field, sub(Int(-1), T))
        place = outer(plan, strides_in(plan, field))
        call = Call(
            plan.name(f"load_{field}"),
            (*place, *new.params[:2], base, _SPARE, _Y0, GX, GY, N, EDGE, _lifted_in(plan, field)),
        )
        history = plan.pipeline.history[field]
        body.append(If(Op("ge", (T, Int(-history))), (call,)))
    return tuple(body)


def _next(plan: Plan, field: int, age: int) -> tuple[Expr, Expr]:
    """The version and the first row that the next advance loads."""
    lag = plan.pipeline.lag
    back = -(age + 1) * lag.period + lag.offsets[plan.pipeline.stage_of[field]]
    return _source(plan, field, Int(age)), add(START, plan.rows - back)


def _aheads(plan: Plan, stage: int) -> tuple[Stmt, ...]:
    """While the levels are computed, the next rows to load are on their way."""
    if plan.rank == 3:
        return ()
    calls = []
    for field, age in loaded(plan, stage):
        base, row = _next(plan, field, age)
        calls.append(
            Call(
                plan.name(f"ahead_{field}"),
                (*outer(plan, strides_in(plan, field)), base, row, _first_cell(plan, field), T, LEVELS),
            )
        )
    return tuple(calls)


def _first_cell(plan: Plan, field: int) -> Expr:
    """The place in a row of memory at which a tile's rows start."""
    return select(LIFTED_IN, Int(0), GX) if plan.fields[field] in plan.site.problem.program.updated else GX


def _ahead_args(plan: Plan, stage: int) -> list[Expr]:
    """In 3D a stage asks for its share itself, row by row: a piece of every row of the next planes."""
    args: list[Expr] = []
    whole: Expr = Int(1)
    for field, age in loaded(plan, stage):
        base, plane = _next(plan, field, age)
        share = Op("div", (mul(T, row_width(plan)), LEVELS))
        letter = strides_in(plan, field)
        steps = (Var(f"{letter}0"), Var(f"{letter}1"))
        row = add(add(base, Op("mul", (plane, steps[0]))), Op("mul", (GY, steps[1])))
        args += [add(add(row, _first_cell(plan, field)), share), *steps]
        inside = Op("and", (Op("ge", (plane, Int(0))), Op("le", (add(plane, plan.rows), Var("n0")))))
        whole = Op("and", (whole, inside))
    chunk = select(whole, Op("ceildiv", (row_width(plan), LEVELS)), Int(0))
    return [*args, chunk]


def _compute(plan: Plan, stage: int, left: Expr) -> Stmt:
    """Call a stage."""
    lets: list[Stmt] = []
    args: list[Expr] = [Var("scalar")]
    for key in stage_sources(plan, stage):
        lets += _names(plan, key[0], version_tag(key[1]), add(T, key[1]))
        args += source(plan, key).params
    for field in stage_outputs(plan, stage):
        args += slabs(plan, field, "out", write=True).params[:2]
    if plan.rank == 3:
        below, above = plan.pipeline.below[1], plan.pipeline.above[1]
        low = sub(BOUNDS[2], add(mul(left, below.period), below.offsets[stage]))
        high = add(BOUNDS[3], add(mul(left, above.period), above.offsets[stage]))
        args += [sub(Op("max", (low, Int(0))), GY), sub(Op("min", (high, Var("n1"))), GY)]
        args += _ahead_args(plan, stage)
    return Scope((*lets, Call(plan.name(f"stage_{stage}"), (*args, GX, N, EDGE))))


def _finish(plan: Plan, field: int) -> tuple[Stmt, ...]:
    """Finish the new rows of a field at the ends of the grid, and write those of the last versions."""
    new, history = slabs(plan, field, "out", write=True), plan.pipeline.history[field]
    result: list[Stmt] = []
    if has_borders(plan, field):
        names = _names(plan, field, "now", Op("max", (T, Int(1 - history))))
        loading = Op("lt", (T, Int(0)))
        place: tuple[Expr, ...] = (_Y0, loading, Var("n0"), Var("n1"), N, GX, GY, EDGE)
        border = Call(plan.name(f"border_{field}"), (*new.params, *slabs(plan, field, "now").params, *place))
        result.append(If(near_border(plan, field), (*names, border)))
    if plan.fields[field] in plan.site.problem.program.updated:
        slot = _slot(plan, field, sub(Int(1), SIDE), add(add(VERSION, T), 1))
        base = select(TO_CALLER, _results(plan, field), slot)
        unit, cells = line_cells(plan.site.problem), sub(BOUNDS[5], BOUNDS[4])
        # Between bands rows are padded to whole lines; the caller's are not.
        count = select(TO_CALLER, cells, Op("mul", (Op("ceildiv", (cells, Int(unit))), Int(unit))))
        args: tuple[Expr, ...] = (
            *(*outer(plan, "o"), *new.params[:2], base, _SPARE, _Y0),
            *(*BOUNDS, GX, GY, count, LIFTED_OUT),
        )
        kept = select(TO_CALLER, Int(1), Int(history)) if history > 1 else Int(1)
        result.append(If(Op("ge", (T, sub(LEVELS, kept))), (Call(plan.name(f"store_{field}"), args),)))
    if history == max(plan.pipeline.history):
        return tuple(result)
    return (If(Op("ge", (T, Int(-history))), tuple(result)),) if result else ()
