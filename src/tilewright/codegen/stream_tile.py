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
from tilewright.codegen.pipeline import EDGE, GX, GY, SLAB, X0, N, Plan, lanes, sizes, slabs
from tilewright.codegen.row_block import source, stage_outputs, stage_sources, version_tag
from tilewright.codegen.row_kernel import loaded
from tilewright.codegen.sites import stride, unpack
from tilewright.codegen.stream_io import BOUNDS, global_row, outer

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
        body=(*_extents(plan), *_where(plan), *_layout(plan), start, advance, Call(f"fence:{plan.site.dtype}", ())),
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


def _where(plan: Plan) -> tuple[Stmt, ...]:
    """Name where the rows of the tile start, and whether they reach an end of the grid."""
    frames = [plan.frame(field, plan.rank - 1) for field in range(len(plan.fields))]
    low, high = (max(frame[side] for frame in frames) for side in (0, 1))
    left = Op("lt", (GX, Int(max(1, low))))
    right = Op("gt", (add(GX, plan.width), sub(N, high)))
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


def _loads(plan: Plan, fields: tuple[int, ...]) -> tuple[Stmt, ...]:
    """Load the versions that the band starts from."""
    body: list[Stmt] = []
    for field in fields:
        new = slabs(plan, field, "out", write=True)
        base = _slot(plan, field, SIDE, add(add(VERSION, T), 1))
        call = Call(
            plan.name(f"load_{field}"),
            (*outer(plan), *new.params[:2], base, _SPARE, _Y0, GX, GY, N, EDGE),
        )
        history = plan.pipeline.history[field]
        body.append(If(Op("ge", (T, Int(-history))), (call,)))
    return tuple(body)


def _next(plan: Plan, field: int, age: int) -> tuple[Expr, Expr]:
    """The version and the first row that the next advance loads."""
    lag = plan.pipeline.lag
    back = -(age + 1) * lag.period + lag.offsets[plan.pipeline.stage_of[field]]
    return _slot(plan, field, SIDE, sub(VERSION, age)), add(START, plan.rows - back)


def _aheads(plan: Plan, stage: int) -> tuple[Stmt, ...]:
    """While the levels are computed, the next rows to load are on their way."""
    if plan.rank == 3:
        return ()
    calls = []
    for field, age in loaded(plan, stage):
        base, row = _next(plan, field, age)
        calls.append(Call(plan.name(f"ahead_{field}"), (*outer(plan), base, row, GX, T, LEVELS)))
    return tuple(calls)


def _ahead_args(plan: Plan, stage: int) -> list[Expr]:
    """In 3D a stage asks for its share itself, row by row: a piece of every row of the next planes."""
    args: list[Expr] = []
    whole: Expr = Int(1)
    for field, age in loaded(plan, stage):
        base, plane = _next(plan, field, age)
        share = Op("div", (mul(T, plan.width), LEVELS))
        args.append(add(add(global_row(plan, base, plane, GY), GX), share))
        inside = Op("and", (Op("ge", (plane, Int(0))), Op("le", (add(plane, plan.rows), Var("n0")))))
        whole = Op("and", (whole, inside))
    chunk = select(whole, Op("ceildiv", (Int(plan.width), LEVELS)), Int(0))
    return [*args, chunk, *(stride(axis) for axis in range(2))]


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
        base = _slot(plan, field, sub(Int(1), SIDE), add(add(VERSION, T), 1))
        args: tuple[Expr, ...] = (*outer(plan), *new.params[:2], base, _SPARE, _Y0, *BOUNDS, GX, GY)
        result.append(If(Op("ge", (T, sub(LEVELS, history))), (Call(plan.name(f"store_{field}"), args),)))
    if history == max(plan.pipeline.history):
        return tuple(result)
    return (If(Op("ge", (T, Int(-history))), tuple(result)),) if result else ()
