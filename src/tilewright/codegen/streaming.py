"""The streaming family in code: bands of steps, tiles shared by threads, levels in a pipeline along axis 0."""

from tilewright.codegen.borders import border_function, brim_function, has_borders, near_border
from tilewright.codegen.ir import (
    Call,
    Comment,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Op,
    Parallel,
    Scope,
    Stmt,
    Var,
    add,
    mul,
    select,
    sub,
)
from tilewright.codegen.pipeline import (
    EDGE,
    GX,
    GY,
    PITCH,
    SLAB,
    VECTORS,
    X0,
    X1,
    N,
    Plan,
    cut,
    lanes,
    make_plan,
    parts,
    sizes,
    slab_at,
    slabs,
)
from tilewright.codegen.row_block import source, stage_outputs, stage_sources
from tilewright.codegen.row_ends import ends_function
from tilewright.codegen.row_kernel import loaded, stage_function
from tilewright.codegen.sites import Site, constants, stride, unpack
from tilewright.programs.problem import Problem
from tilewright.tilings.pipeline import line_cells, of_problem
from tilewright.tilings.tiling import Tiling

STEPS, THREADS = Var("steps"), Var("threads")
T, LEVELS, TURN, SIDE, START, VERSION = Var("t"), Var("levels"), Var("turn"), Var("side"), Var("start"), Var("version")
_TILE = (SIDE, VERSION, LEVELS, Var("ya"), Var("yb"), Var("za"), Var("zb"), X0, X1)


def streams(tiling: Tiling) -> bool:
    """Whether a tiling is of this family."""
    return tiling.family == "streaming"


def copies(problem: Problem) -> tuple[int, ...]:
    """Versions per field: two sets that bands read and write in turn; one for fields that are never updated."""
    updated = problem.program.updated
    most = 2 * max(of_problem(problem).history)
    return tuple(most if field in updated else 1 for field in problem.program.fields)


def scratch_bytes(problem: Problem, tiling: Tiling) -> int:
    """Memory that every thread needs."""
    return make_plan(Site(problem=problem, prefix="", strict=False), tiling).scratch_bytes


def streaming_functions(site: Site, tiling: Tiling, name: str) -> tuple[Function, ...]:
    """Every function of a streaming kernel, callees first."""
    plan = make_plan(site, tiling)
    fields = range(len(plan.fields))
    result = [ends_function(plan, field) for field in fields]
    for field in fields:
        if plan.rank == 3:
            result.append(brim_function(plan, field))
        if has_borders(plan, field):
            result.append(border_function(plan, field))
    result += [
        _fetch_function(plan),
        *(_ahead_function(plan, field) for field in fields if plan.rank == 2),
        *(_load_function(plan, field) for field in fields),
    ]
    result += [_store_function(plan, field) for field in fields if plan.fields[field] in site.problem.program.updated]
    result += [stage_function(plan, stage) for stage in range(len(plan.pipeline.stages))]
    return (*result, _tile_function(plan), _entry(plan, name))


def _fetch_function(plan: Plan) -> Function:
    """The cells of a row as one piece: in place, or copied where they would lie before the first cell of all.

    Cells outside the grid may hold anything; what follows the last cell of all is the threads' own memory.
    """
    spare, line = Var("spare", f"pointer:{plan.site.dtype}"), Var("line", f"array:{plan.site.dtype}")
    base = Var("base", line.type)
    low, high, whole = Var("low"), Var("high"), Var("whole")
    body = (
        Let(low, Op("max", (GX, Int(0)))),
        Let(high, Op("min", (add(GX, plan.width), N))),
        Let(whole, Op("ge", (add(sub(line, base), GX), Int(0)))),
        If(
            Op("eq", (whole, Int(0))),
            (Call(f"copy:{plan.site.dtype}", (add(spare, sub(low, GX)), add(line, low), sub(high, low))),),
        ),
    )
    return Function(
        name=plan.name("fetch"),
        params=(spare, base, line, GX, N),
        body=body,
        result=select(whole, add(line, GX), spare),
        result_type=f"array:{plan.site.dtype}",
    )


def _global_row(plan: Plan, base: Expr, y: Expr, z: Expr) -> Expr:
    """A row of the grid; axis 0 is ``y``, and ``z`` the middle axis in 3D."""
    if plan.site.rank == 1:
        return base
    row = add(base, Op("mul", (y, stride(0))))
    return add(row, Op("mul", (z, stride(1)))) if plan.rank == 3 else row


def _load_function(plan: Plan, field: int) -> Function:
    """A function that brings the rows of one advance in."""
    new = slabs(plan, field, "out", write=True)
    base, spare = Var("base", f"array:{plan.site.dtype}"), Var("spare", f"pointer:{plan.site.dtype}")
    line = Var("line")
    body: list[Stmt] = [Let(Var("V"), lanes(plan)), *sizes(plan)]
    for r in range(plan.rows):
        row = add(slab_at(plan, new, r), Op("mul", (line, PITCH)) if plan.rank == 3 else Int(0))
        start = _global_row(plan, base, add(Var("y0"), r), add(GY, line))
        fill: tuple[Stmt, ...] = (
            Call(f"lift:{plan.site.dtype}", (row, Call(plan.name("fetch"), (spare, base, start, GX, N)), VECTORS)),
            Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE)),
        )
        if plan.rank == 3:
            low, high = Op("max", (Int(0), sub(Int(0), GY))), Op("min", (Int(plan.lines), sub(Var("n1"), GY)))
            fill = (For(var=line, low=low, high=high, body=fill),)
        inside = Op("and", (Op("ge", (add(Var("y0"), r), Int(0))), Op("lt", (add(Var("y0"), r), Var("n0")))))
        body.append(If(inside, fill))
    return Function(
        name=plan.name(f"load_{field}"),
        params=(*_outer(plan), *new.params[:2], base, spare, Var("y0"), GX, GY, N, EDGE),
        body=tuple(body),
    )


def _ahead_function(plan: Plan, field: int) -> Function:
    """A function that asks for a share of the rows that the next advance loads, before they are needed; in 2D."""
    base, y0, x = Var("base", f"array:{plan.site.dtype}"), Var("y0"), Var("x")
    part, shares = Var("part"), Var("shares")
    low, high = (add(GX, Op("div", (mul(Op("add", (part, Int(k))), plan.width), shares))) for k in (0, 1))
    body: list[Stmt] = []
    for r in range(plan.rows):
        ask = Call(f"prefetch:{plan.site.dtype}", (add(_global_row(plan, base, add(y0, r), Int(0)), x),))
        loop = For(var=x, low=low, high=high, step=Int(line_cells(plan.site.problem)), body=(ask,))
        inside = Op("and", (Op("ge", (add(y0, r), Int(0))), Op("lt", (add(y0, r), Var("n0")))))
        body.append(If(inside, (loop,)))
    return Function(
        name=plan.name(f"ahead_{field}"), params=(*_outer(plan), base, y0, GX, part, shares), body=tuple(body)
    )


def _outer(plan: Plan) -> tuple[Var, ...]:
    """Extents and strides of the outer axes."""
    names = (Var("n0"), Var("n1"))
    return (*names, *(stride(axis) for axis in range(plan.site.rank - 1)))


def _store_function(plan: Plan, field: int) -> Function:
    """A function that writes the tile's own cells of one advance to the grid."""
    new = slabs(plan, field, "out", write=True)
    base, spare = Var("base", f"pointer:{plan.site.dtype}"), Var("spare", f"pointer:{plan.site.dtype}")
    line, y0 = Var("line"), Var("y0")
    body: list[Stmt] = [Let(Var("V"), lanes(plan)), *sizes(plan)]
    for r in range(plan.rows):
        y = add(y0, r)
        row = add(slab_at(plan, new, r), Op("mul", (sub(line, GY), PITCH)) if plan.rank == 3 else Int(0))
        target = add(_global_row(plan, base, y, line), X0)
        write: tuple[Stmt, ...] = (
            Call(f"lower:{plan.site.dtype}", (spare, row, VECTORS)),
            Call(f"stream:{plan.site.dtype}", (target, add(spare, sub(X0, GX)), sub(X1, X0))),
        )
        if plan.rank == 3:
            write = (For(var=line, low=Var("za"), high=Var("zb"), body=write),)
        body.append(If(Op("and", (Op("ge", (y, Var("ya"))), Op("lt", (y, Var("yb"))))), write))
    return Function(
        name=plan.name(f"store_{field}"),
        params=(*_outer(plan), *new.params[:2], base, spare, y0, *_TILE[3:], GX, GY),
        body=tuple(body),
    )


def _tile_function(plan: Plan) -> Function:
    """A function that advances one tile through one band."""
    site = plan.site
    ring, spare = Var("ring", f"pointer:{site.dtype}"), Var("spare", f"pointer:{site.dtype}")
    memory: list[Stmt] = []
    place: Expr = add(ring, Op("mul", (Int(plan.reach[0]), Var("V"))))
    for field in range(len(plan.fields)):
        memory.append(Let(_memory(plan, field), place))
        place = add(_memory(plan, field), mul(SLAB, plan.slabs(field)))
    memory.append(Let(spare, place))
    pipeline, history = plan.pipeline, max(plan.pipeline.history)
    span = plan.pipeline.lag
    first = sub(
        Var("ya"),
        add(
            mul(LEVELS, pipeline.below[0].period),
            max(pipeline.below[0].offsets) + pipeline.below[0].period * (history - 1),
        ),
    )
    stop = add(add(Var("yb"), mul(sub(LEVELS, 1), span.period)), max(span.offsets))
    last_x = plan.width
    units = For(
        var=T, low=Int(-history), high=LEVELS, body=tuple(_unit(plan, stage) for stage in range(len(pipeline.stages)))
    )
    advance = For(
        var=START,
        low=sub(first, history * span.period),
        high=stop,
        step=Int(plan.rows),
        body=(
            Let(TURN, Op("and", (Op("div", (sub(START, sub(first, history * span.period)), Int(plan.rows))), Int(1)))),
            units,
        ),
    )
    where: tuple[Stmt, ...] = (
        Let(Var("V"), lanes(plan)),
        *sizes(plan),
        Let(N, Var(f"n{site.rank - 1}")),
        Let(GX, sub(X0, plan.halo[-1][0])),
        Let(GY, sub(Var("za"), plan.halo[1][0]) if plan.rank == 3 else Int(0)),
        Let(
            EDGE,
            Op(
                "or",
                (
                    Op("lt", (GX, Int(max(1, *plan_frame_low(plan))))),
                    Op("gt", (add(GX, last_x), sub(N, max(0, *plan_frame_high(plan))))),
                ),
            ),
        ),
    )
    names = unpack(site) if site.rank > 1 else (*unpack(site)[1:],)
    if site.rank == 1:
        names = (
            Let(Var("n0"), Int(1)),
            Let(Var("n1"), Int(1)),
            Let(N, Load(Var("size"), Int(2), "index")),
            Let(Var("slot"), Load(Var("size"), Int(3), "index")),
        )
        where = tuple(s for s in where if not (isinstance(s, Let) and s.var == N))
    elif site.rank == 2:
        where = tuple(where)
    return Function(
        name=plan.name("tile"),
        params=(*site.params, ring, *_TILE),
        body=(*names, *where, *memory, advance, Call("fence:" + site.dtype, ())),
    )


def plan_frame_low(plan: Plan) -> tuple[int, ...]:
    """Per field, cells at the start of a row that keep their values; at least two numbers."""
    return (0, *(plan.frame(field, plan.rank - 1)[0] for field in range(len(plan.fields))))


def plan_frame_high(plan: Plan) -> tuple[int, ...]:
    """Per field, cells at the end of a row that keep their values; at least two numbers."""
    return (0, *(plan.frame(field, plan.rank - 1)[1] for field in range(len(plan.fields))))


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
    y0 = Var("y0")
    left = sub(sub(LEVELS, 1), T)
    lets: list[Stmt] = [Let(y0, sub(START, add(mul(T, pipeline.lag.period), pipeline.lag.offsets[stage])))]
    low = sub(Var("ya"), add(mul(left, pipeline.below[0].period), pipeline.below[0].offsets[stage]))
    high = add(Var("yb"), add(mul(left, pipeline.above[0].period), pipeline.above[0].offsets[stage]))
    reach = max(g[0][1] for g in pipeline.ghosts)
    bounds = (Op("max", (low, Int(0))), Op("min", (high, add(Var("n0"), reach))))
    live = Op("and", (Op("gt", (add(y0, plan.rows), bounds[0])), Op("lt", (y0, bounds[1]))))
    fields = stage_outputs(plan, stage)
    body: list[Stmt] = [s for f in fields for s in _names(plan, f, "out", add(T, 1), write=True)]
    body.append(If(Op("lt", (T, Int(0))), _loads(plan, fields)))
    body.append(If(Op("ge", (T, Int(0))), (_compute(plan, stage, left), *_aheads(plan, stage))))
    body += [s for f in fields for s in _finish(plan, f)]
    return Scope((lets[0], If(live, tuple(body))))


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
    body: list[Stmt] = []
    for field in fields:
        new = slabs(plan, field, "out", write=True)
        base = _slot(plan, field, SIDE, add(add(VERSION, T), 1))
        call = Call(
            plan.name(f"load_{field}"),
            (*_outer(plan), *new.params[:2], base, Var("spare"), Var("y0"), GX, GY, N, EDGE),
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
        calls.append(Call(plan.name(f"ahead_{field}"), (*_outer(plan), base, row, GX, T, LEVELS)))
    return tuple(calls)


def _ahead_args(plan: Plan, stage: int) -> list[Expr]:
    """In 3D a stage asks for its share itself, row by row: a piece of every row of the next planes."""
    args: list[Expr] = []
    whole: Expr = Int(1)
    for field, age in loaded(plan, stage):
        base, plane = _next(plan, field, age)
        share = Op("div", (mul(T, plan.width), LEVELS))
        args.append(add(add(_global_row(plan, base, plane, GY), GX), share))
        inside = Op("and", (Op("ge", (plane, Int(0))), Op("le", (add(plane, plan.rows), Var("n0")))))
        whole = Op("and", (whole, inside))
    chunk = select(whole, Op("ceildiv", (Int(plan.width), LEVELS)), Int(0))
    return [*args, chunk, *(stride(axis) for axis in range(2))]


def _compute(plan: Plan, stage: int, left: Expr) -> Stmt:
    lets: list[Stmt] = []
    args: list[Expr] = [Var("scalar")]
    for key in stage_sources(plan, stage):
        lets += _names(
            plan,
            key[0],
            source(plan, key).passing.name.removeprefix(plan.fields[key[0]] + "_").removesuffix("_passing"),
            add(T, key[1]),
        )
        args += source(plan, key).params
    for field in stage_outputs(plan, stage):
        args += slabs(plan, field, "out", write=True).params[:2]
    if plan.rank == 3:
        below, above = plan.pipeline.below[1], plan.pipeline.above[1]
        low = sub(Var("za"), add(mul(left, below.period), below.offsets[stage]))
        high = add(Var("zb"), add(mul(left, above.period), above.offsets[stage]))
        args += [sub(Op("max", (low, Int(0))), GY), sub(Op("min", (high, Var("n1"))), GY)]
        args += _ahead_args(plan, stage)
    return Scope((*lets, Call(plan.name(f"stage_{stage}"), (*args, GX, N, EDGE))))


def _finish(plan: Plan, field: int) -> tuple[Stmt, ...]:
    new = slabs(plan, field, "out", write=True)
    result: list[Stmt] = []
    if has_borders(plan, field):
        old = slabs(plan, field, "now")
        names = _names(plan, field, "now", Op("max", (T, Int(1 - plan.pipeline.history[field]))))
        border: tuple[Expr, ...] = (
            *new.params,
            *old.params,
            Var("y0"),
            Op("lt", (T, Int(0))),
            Var("n0"),
            Var("n1"),
            N,
            GX,
            GY,
            EDGE,
        )
        result.append(If(near_border(plan, field), (*names, Call(plan.name(f"border_{field}"), border))))
    if plan.fields[field] in plan.site.problem.program.updated:
        base = _slot(plan, field, sub(Int(1), SIDE), add(add(VERSION, T), 1))
        kept: tuple[Expr, ...] = (*_outer(plan), *new.params[:2], base, Var("spare"), Var("y0"), *_TILE[3:], GX, GY)
        last = Op("ge", (T, sub(LEVELS, plan.pipeline.history[field])))
        held = Op("ge", (T, Int(-plan.pipeline.history[field])))
        result.append(If(Op("and", (last, held)), (Call(plan.name(f"store_{field}"), kept),)))
    return tuple(result)


def _entry(plan: Plan, name: str) -> Function:
    """The exported function: bands one after the other, tiles of a band shared by the threads."""
    site, rank = plan.site, plan.site.rank
    band, tile, bands, count = Var("band"), Var("tile"), Var("bands"), Var("count")
    ring = Var("ring", f"pointer:{site.dtype}")
    memory = Load(site.params[3], Int(len(constants(site.problem))), f"array:{site.dtype}")
    fewest = Op("ceildiv", (STEPS, Int(plan.levels)))
    slot = Op("mod", (STEPS, Int(2 * plan.sides)))
    odd = Op("and", (Op("ge", (slot, Int(1))), Op("le", (slot, Int(plan.sides)))))
    extents: list[Expr] = [Var(f"n{axis}") for axis in range(rank)] if rank > 1 else [Int(1), Var("n0")]
    units = [1] * (plan.rank - 1) + [line_cells(site.problem)]
    numbers = [Var(f"tiles{axis}") for axis in range(plan.rank)]
    lets = tuple(
        Let(number, parts(extent, size, unit))
        for number, extent, size, unit in zip(numbers, extents, plan.space, units, strict=True)
    )
    total: Expr = numbers[0]
    for number in numbers[1:]:
        total = Op("mul", (total, number))
    inside: list[Stmt] = []
    index: Expr = tile
    bounds: list[Expr] = []
    for axis in range(plan.rank - 1, -1, -1):
        at = Var(f"tile{axis}")
        inside.append(Let(at, Op("mod", (index, numbers[axis])) if axis else index))
        index = Op("div", (index, numbers[axis]))
        bounds = [
            cut(extents[axis], numbers[axis], at, units[axis]),
            cut(extents[axis], numbers[axis], add(at, 1), units[axis]),
            *bounds,
        ]
    if plan.rank == 2:
        bounds = [*bounds[:2], Int(0), Int(1), *bounds[2:]]
    begin, end = _share(band, bands), _share(add(band, 1), bands)
    call = Call(plan.name("tile"), (*site.params, ring, Op("mod", (band, Int(2))), begin, sub(end, begin), *bounds))
    tiles = For(var=tile, low=Int(0), high=count, body=(*inside, call), share="dynamic")
    size = Int(plan.scratch_bytes // site.problem.itemsize)
    body = (
        Let(STEPS, Load(Var("size"), Int(0), "index")),
        Let(THREADS, Load(Var("size"), Int(1), "index")),
        *unpack(site),
        Let(Var("fewest"), fewest),
        Let(bands, add(Var("fewest"), Op("mod", (add(Var("fewest"), odd), Int(2))))),
        *lets,
        Let(count, total),
        Comment(f"{plan.levels} levels, {plan.rows} rows at a time, rows of {plan.width} cells"),
        Parallel(
            THREADS,
            (
                Let(ring, add(Op("writable", (memory,), site.dtype), Op("mul", (Op("thread", ()), size)))),
                For(var=band, low=Int(0), high=bands, body=(tiles,)),
            ),
        ),
    )
    return Function(name=name, params=site.params, body=body, kind="entry")


def _share(index: Expr, count: Expr) -> Expr:
    return Op("div", (Op("mul", (STEPS, index)), count))
