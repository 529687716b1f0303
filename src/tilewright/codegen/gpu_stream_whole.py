"""The fast body of a streaming kernel for GPUs: whole bands, tiles whose reads leave the grid at ``fixed`` edges alone.

Levels, the cells of a thread, and as many advances as a ring has rows are written out, so that every place on chip is a
number next to the thread's own. A thread keeps the values of its own columns in registers, where there are not too
many: reads along axis 0 alone never go to the chip. The next rows are fetched at the start of an advance and stored at
its end.
"""

import itertools
from collections.abc import Callable

from tilewright.codegen import ir
from tilewright.codegen.gpu_site import stride
from tilewright.codegen.gpu_stream_cut import ADVANCE
from tilewright.codegen.gpu_stream_plan import DEST, LEVELS, SOURCE, Plan
from tilewright.codegen.gpu_sweep import conjunction
from tilewright.codegen.sites import extent
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement

Turns = tuple[int, ...]
"""Which of its cells per inner axis a thread is at."""


def whole_test(plan: Plan) -> ir.Expr:
    """Whether the fast body may compute a tile: a whole band, and inside the grid where an edge is not ``fixed``."""
    tests: list[ir.Expr] = [ir.eq(LEVELS, plan.levels)]
    for axis in _bent(plan):
        low = ir.Var(f"low{axis}")
        tests.append(ir.ge(low, plan.low[axis]))
        tests.append(ir.le(ir.add(low, plan.extent[axis] - plan.low[axis]), extent(axis)))
    return conjunction(tests)


def _bent(plan: Plan) -> tuple[int, ...]:
    """Axes along which a read beyond the edge is anything but a cell that keeps its value."""
    problem = plan.site.problem
    found = {
        axis
        for statement in problem.program.statements
        for read in statement.reads
        for axis, offset in enumerate(read.offset)
        if offset and any(side.kind != "fixed" for side in problem.sides(read.field)[axis])
    }
    return tuple(sorted(found))


def whole_body(plan: Plan) -> tuple[ir.Stmt, ...]:
    """Advance by a ring's rows at a time."""
    body = tuple(ir.Scope(_advance(plan, number)) for number in range(plan.depth))
    loop = ir.For(var=ADVANCE, low=ir.Int(0), high=ir.Var("advances"), step=ir.Int(plan.depth), body=body, unroll=1)
    return (*_places(plan), *_limits(plan), *_rooms(plan), loop)


def _units(plan: Plan) -> list[tuple[int, int]]:
    return list(itertools.product(range(plan.levels), range(len(plan.pipeline.stages))))


def _firsts(plan: Plan) -> list[tuple[str, int]]:
    """Fields and ages of the versions that a band starts from."""
    return [(field, age) for field in plan.updated for age in range(plan.history(field))]


# What does not change while a tile advances.


def _places(plan: Plan) -> tuple[ir.Stmt, ...]:
    """A thread's place in a row, and which of its cells lie in the grid and which are updated."""
    site = plan.site
    place: ir.Expr = ir.Var("i1")
    for axis in plan.inner[1:]:
        place = ir.add(ir.mul(place, plan.extent[axis]), ir.Var(f"i{axis}"))
    lets: list[ir.Stmt] = [ir.Let(ir.Var("place"), place)]
    lets += [ir.Let(ir.Var(f"at{axis}"), ir.add(ir.Var(f"origin{axis}"), ir.Var(f"i{axis}"))) for axis in plan.inner]
    for turns in plan.pieces:
        cells = [ir.add(ir.Var(f"at{axis}"), turns[axis - 1] * plan.threads[axis]) for axis in plan.inner]
        lets.append(ir.Let(_named("grid", turns, ir.BOOL), _between(cells, [(0, 0) for _ in plan.inner])))
        for number, bounds in enumerate(_bounds(plan)):
            lets.append(ir.Let(_named(f"free{number}_", turns, ir.BOOL), _between(cells, list(bounds[1:]))))
        index: ir.Expr = ir.wide(cells[-1])
        if site.rank == 3:
            index = ir.add(ir.mul(ir.wide(cells[0]), stride(1)), index)
        lets.append(ir.Let(_named("out", turns, ir.WIDE), index))
    return tuple(lets)


def _between(cells: list[ir.Expr], margins: list[tuple[int, int]]) -> ir.Expr:
    tests: list[ir.Expr] = []
    for axis, (cell, (low, high)) in enumerate(zip(cells, margins, strict=True), 1):
        tests += [ir.ge(cell, low), ir.lt(cell, ir.sub(extent(axis), high))]
    return conjunction(tests)


def _bounds(plan: Plan) -> list[tuple[tuple[int, int], ...]]:
    """The distinct margins of cells that statements do not update."""
    found = dict.fromkeys(plan.site.update_bounds(s) for s in plan.site.problem.program.statements)
    return list(found)


def _limits(plan: Plan) -> tuple[ir.Stmt, ...]:
    """The advances at which every unit has rows."""
    lets: list[ir.Stmt] = []

    def limit(name: str, span: tuple[ir.Expr, ir.Expr], lag: int) -> None:
        lets.append(
            ir.Let(ir.Var(f"{name}_from"), ir.sub(ir.add(ir.largest(span[0], ir.Int(0)), lag), ir.Var("begin")))
        )
        lets.append(ir.Let(ir.Var(f"{name}_to"), ir.sub(ir.add(ir.smallest(span[1], extent(0)), lag), ir.Var("begin"))))

    lag = plan.pipeline.lag
    for field, age in _firsts(plan):
        stage = plan.stage_of(field)
        name = f"load{plan.site.number(field)}_{age}"
        limit(name, plan.span0(ir.Int(plan.levels + age), stage), lag.at(-1 - age, stage))
    for step, stage in _units(plan):
        limit(f"unit{step}_{stage}", plan.span0(ir.Int(plan.levels - 1 - step), stage), lag.at(step, stage))
    return tuple(lets)


def _rooms(plan: Plan) -> tuple[ir.Stmt, ...]:
    """A thread's own memory: what it fetches ahead, and its columns."""
    rooms: list[ir.Stmt] = [ir.Array(_ahead(plan, field, age), len(plan.pieces)) for field, age in _firsts(plan)]
    if not plan.columns:
        return tuple(rooms)
    for field in plan.updated:
        first = 1 - plan.history(field)
        for version in range(first, first + plan.rings[plan.site.number(field)]):
            rooms += [ir.Array(_column(plan, field, version, turns), plan.depth) for turns in plan.pieces]
    return tuple(rooms)


def _named(name: str, turns: Turns, kind: ir.Type = ir.INDEX) -> ir.Var:
    return ir.Var(name + "_".join(map(str, turns)), kind)


def _ahead(plan: Plan, field: str, age: int) -> ir.Var:
    return ir.Var(f"ahead{plan.site.number(field)}_{age}", ir.private_pointer(plan.site.dtype))


def _column(plan: Plan, field: str, version: int, turns: Turns) -> ir.Var:
    name = f"own{plan.site.number(field)}_{version + plan.history(field) - 1}_"
    return _named(name, turns, ir.private_pointer(plan.site.dtype))


# One advance.


def _advance(plan: Plan, number: int) -> tuple[ir.Stmt, ...]:
    """The ``number``-th advance after a multiple of a ring's rows."""
    k = ir.Var("now")
    work: list[ir.Stmt] = []
    for step, stage in _units(plan):
        work += _unit(plan, number, step, stage)
    fetches = [part for field, age in _firsts(plan) for part in _fetch(plan, field, age)]
    keeps = [part for field, age in _firsts(plan) for part in _keep(plan, number, field, age)]
    return (ir.Let(k, ir.add(ADVANCE, number)), *fetches, *work, *keeps, ir.Barrier(memory=False))


def _during(name: str) -> ir.Expr:
    return ir.and_(ir.ge(ir.Var("now"), ir.Var(f"{name}_from")), ir.lt(ir.Var("now"), ir.Var(f"{name}_to")))


def _fetch(plan: Plan, field: str, age: int) -> tuple[ir.Stmt, ...]:
    """Begin to bring the next row of a version that the band starts from."""
    site, stage = plan.site, plan.stage_of(field)
    row = ir.sub(ir.add(ir.Var("begin"), ir.Var("now")), ir.Int(plan.pipeline.lag.at(-1 - age, stage)))
    line = ir.Var("line", ir.const_pointer(site.dtype))
    base = ir.add(plan.memory(field, SOURCE, ir.Int(age)), ir.mul(ir.wide(row), stride(0)))
    loads: list[ir.Stmt] = []
    for number, turns in enumerate(plan.pieces):
        test = _all([_named("grid", turns, ir.BOOL), *_masks(plan, turns, _loaded(plan))])
        value = ir.Load(line, _named("out", turns, ir.WIDE), site.dtype)
        loads.append(ir.If(test, (ir.Store(_ahead(plan, field, age), ir.Int(number), value, site.dtype),)))
    return (ir.If(_during(f"load{site.number(field)}_{age}"), (ir.Let(line, base), *loads)),)


def _keep(plan: Plan, number: int, field: str, age: int) -> tuple[ir.Stmt, ...]:
    """Put what was fetched in its place."""
    site, stage = plan.site, plan.stage_of(field)
    slot = (number - plan.pipeline.lag.at(-1 - age, stage)) % plan.depth
    stores: list[ir.Stmt] = []
    for place, turns in enumerate(plan.pieces):
        test = _all([_named("grid", turns, ir.BOOL), *_masks(plan, turns, _loaded(plan))])
        value = ir.Load(_ahead(plan, field, age), ir.Int(place), site.dtype)
        stores.append(ir.If(test, _put(plan, field, -age, slot, turns, value)))
    return (ir.If(_during(f"load{site.number(field)}_{age}"), tuple(stores)),)


def _loaded(plan: Plan) -> tuple[tuple[int, int], ...]:
    return tuple((0, plan.extent[axis]) for axis in plan.inner)


def _masks(plan: Plan, turns: Turns, spans: tuple[tuple[int, int], ...]) -> list[ir.Expr]:
    """Tests of whether a cell lies in a box of a row, where its turn alone does not say so."""
    tests: list[ir.Expr] = []
    for axis, turn, (low, high) in zip(plan.inner, turns, spans, strict=True):
        count = plan.threads[axis]
        if turn * count < low:
            tests.append(ir.ge(ir.Var(f"i{axis}"), low - turn * count))
        if (turn + 1) * count > high:
            tests.append(ir.lt(ir.Var(f"i{axis}"), ir.Int(high - turn * count)))
    return tests


def _touches(plan: Plan, turns: Turns, spans: tuple[tuple[int, int], ...]) -> bool:
    """Whether any thread has a cell of a box at its turn."""
    counts = [plan.threads[axis] for axis in plan.inner]
    return all(t * n < high and (t + 1) * n > low for t, n, (low, high) in zip(turns, counts, spans, strict=True))


def _all(tests: list[ir.Expr]) -> ir.Expr:
    return conjunction(tests)


def _unit(plan: Plan, number: int, step: int, stage: int) -> tuple[ir.Stmt, ...]:
    """One row of one stage of a level."""
    site = plan.site
    spans = tuple(plan.span(axis, plan.levels - 1 - step, stage) for axis in plan.inner)
    name, lag = f"unit{step}_{stage}", plan.pipeline.lag.at(step, stage)
    lets: list[ir.Stmt] = [ir.Let(ir.Var("row"), ir.sub(ir.add(ir.Var("begin"), ir.Var("now")), ir.Int(lag)))]
    work: list[ir.Stmt] = []
    for statement in plan.statements(stage):
        low, high = site.update_bounds(statement)[0]
        kind = _bounds(plan).index(site.update_bounds(statement))
        if low or high:
            test = ir.and_(ir.ge(ir.Var("row"), low), ir.lt(ir.Var("row"), ir.sub(extent(0), high)))
            lets.append(ir.Let(ir.Var(f"open{kind}", ir.BOOL), test))
        for turns in plan.pieces:
            if not _touches(plan, turns, spans):
                continue
            cell = _cell(plan, (number, step, stage), statement, turns, rows=bool(low or high))
            masks = _masks(plan, turns, spans)
            work += [ir.If(_all(masks), cell)] if masks else cell
    unique = tuple(dict.fromkeys(lets))
    return (ir.If(_during(name), (*unique, *work)),)


def _cell(
    plan: Plan, unit: tuple[int, int, int], statement: Statement, turns: Turns, *, rows: bool
) -> tuple[ir.Stmt, ...]:
    """One cell: computed where it is updated, else taken over from the version before."""
    site, field = plan.site, statement.field
    number, step, stage = unit
    slot = (number - plan.pipeline.lag.at(step, stage)) % plan.depth
    new = ir.Var("value", site.dtype)
    body, value = site.lower(statement, _reader(plan, unit, turns))
    kind = _bounds(plan).index(site.update_bounds(statement))
    tests: list[ir.Expr] = [_named(f"free{kind}_", turns, ir.BOOL)]
    if rows:
        tests.append(ir.Var(f"open{kind}", ir.BOOL))
    compute: list[ir.Stmt] = [*body, ir.Let(new, value)]
    copy: list[ir.Stmt] = []
    if plan.kept(field, step + 1):
        compute += _put(plan, field, step + 1, slot, turns, new)
        if any(map(any, site.update_bounds(statement))):
            before = _get(plan, field, step, slot, turns)
            copy = [ir.If(_named("grid", turns, ir.BOOL), _put(plan, field, step + 1, slot, turns, before))]
    compute += _write_back(plan, step, field, turns, new)
    return (ir.If(_all(tests), (ir.Scope(tuple(compute)),), tuple(copy)),)


def _write_back(plan: Plan, step: int, field: str, turns: Turns, new: ir.Var) -> tuple[ir.Stmt, ...]:
    """Write what the next band starts from, for the tile's own cells."""
    site, age = plan.site, plan.levels - 1 - step
    spans = tuple((plan.low[axis], plan.low[axis] + plan.space[axis]) for axis in plan.inner)
    if age >= plan.history(field) or not _touches(plan, turns, spans):
        return ()
    own: list[ir.Expr] = [ir.ge(ir.Var("row"), ir.Var("low0")), ir.lt(ir.Var("row"), ir.Var("high0"))]
    base = ir.add(plan.memory(field, DEST, ir.Int(age)), ir.mul(ir.wide(ir.Var("row")), stride(0)))
    store = ir.Store(base, _named("out", turns, ir.WIDE), new, site.dtype)
    return (ir.If(_all([*own, *_masks(plan, turns, spans)]), (store,)),)


# Places of values.


def _offset(plan: Plan, turns: Turns, offset: tuple[int, ...]) -> int:
    """Values from a thread's first cell of a row to a neighbour of one of its cells."""
    result = 0
    for axis, turn, distance in zip(plan.inner, turns, offset, strict=True):
        result = result * plan.extent[axis] + turn * plan.threads[axis] + distance
    return result


def _on_chip(plan: Plan, field: str, version: int, slot: int, offset: int) -> tuple[ir.Expr, ir.Expr]:
    first = plan.ring(field, ir.Int(version))
    start = first.value if isinstance(first, ir.Int) else 0
    return plan.site.shared, ir.add(ir.Var("place"), start + slot * plan.plane + offset)


def _shared(plan: Plan, field: str) -> bool:
    """Whether any thread reads another one's value of a field."""
    reads = (read for statement in plan.site.problem.program.statements for read in statement.reads)
    return not plan.columns or any(read.field == field and any(read.offset[1:]) for read in reads)


def _put(plan: Plan, field: str, version: int, slot: int, turns: Turns, value: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Keep the value of a thread's cell."""
    stores: list[ir.Stmt] = []
    zero = (0,) * len(plan.inner)
    if _shared(plan, field):
        at = _on_chip(plan, field, version, slot, _offset(plan, turns, zero))
        stores.append(ir.Store(*at, value, plan.site.dtype))
    if plan.columns:
        stores.append(ir.Store(_column(plan, field, version, turns), ir.Int(slot), value, plan.site.dtype))
    return tuple(stores)


def _get(plan: Plan, field: str, version: int, slot: int, turns: Turns, offset: tuple[int, ...] = ()) -> ir.Expr:
    """The value of a thread's cell, or of a neighbour of it in the same row."""
    distance = offset or (0,) * len(plan.inner)
    if plan.columns and not any(distance):
        return ir.Load(_column(plan, field, version, turns), ir.Int(slot), plan.site.dtype)
    return ir.Load(*_on_chip(plan, field, version, slot, _offset(plan, turns, distance)), plan.site.dtype)


def _reader(plan: Plan, unit: tuple[int, int, int], turns: Turns) -> Callable[[Read], ir.Expr]:
    site = plan.site
    number, step, stage = unit
    lag = plan.pipeline.lag.at(step, stage)

    def read(node: Read) -> ir.Expr:
        if node.field in plan.updated:
            slot = (number - lag + node.offset[0]) % plan.depth
            return _get(plan, node.field, step + node.level, slot, turns, node.offset[1:])
        index: ir.Expr = _named("out", turns, ir.WIDE)
        if site.rank == 3 and node.offset[1]:
            index = ir.add(index, ir.mul(stride(1), node.offset[1]))
        row = ir.mul(ir.wide(ir.add(ir.Var("row"), node.offset[0])), stride(0))
        return ir.Load(ir.add(site.version(node.field, ir.Int(0)), row), ir.add(index, node.offset[-1]), site.dtype)

    return read
