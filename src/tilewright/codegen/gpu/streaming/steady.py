"""The steady loop of a streaming kernel for GPUs: threads own contiguous cells, and only their rims go to the chip.

Every advance computes a row of every level. Where all that a level reads was computed in an earlier advance, the last
level is first: a row's place in registers is free when the level that reads it last is done. Where a level reads its
own column of the row that the level before computes in the same advance, as stars do, the first level is first, and
each takes what it needs of the oldest row before the newest comes into its place: as the weighted sum of all that is
known by then, to which the newest row is added (:class:`_Parts`).

Levels, a thread's cells and a multiple of the rows in use are written out, so that registers rotate by their names and
every place on chip is a number next to the thread's own. There is one barrier per advance and no test but at stores:
before a level has rows it computes on zeros, and nothing of it is stored. Inside the grid pointers to the rows that are
fetched and stored move on with them.

Two forms: *inside* the grid every cell that counts is updated; at its ``fixed`` edges a cell that is not keeps its
value by a select. The next rows of the band's first versions are fetched at the start of an advance; they come into
their places at its end, or in the next one where that reads them at once.
"""

import itertools
from collections.abc import Callable, Iterator

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import stride
from tilewright.codegen.gpu.streaming.plan import BASE, DEST, LEVELS, SOURCE, GpuStreamingContext
from tilewright.codegen.gpu.sweep import conjunction
from tilewright.codegen.sites import extent, literal
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.rims import Cell, age_of, split

ADVANCE, NOW, ROW, PLACE = ir.Var("k"), ir.Var("now"), ir.Var("row"), ir.Var("place")


def whole_test(plan: GpuStreamingContext, low: str) -> ir.Expr:
    """Whether a tile may be computed here: a whole band, and inside the grid where an edge is not ``fixed``.

    Args:
        plan: The tile.
        low: Start of the names of its first own cells.
    """
    bent = stream_block.bent(plan.site.problem)
    return conjunction([ir.eq(LEVELS, plan.levels), *(test for axis in bent for test in _within(plan, axis, low))])


def inner_test(plan: GpuStreamingContext) -> ir.Expr:
    """Whether every cell that counts is updated, and all that threads load lies in the grid."""
    tests = [test for axis in range(plan.site.rank) for test in _within(plan, axis, "low")]
    if plan.vector > 1:
        tests.append(ir.eq(ir.mod(extent(plan.site.rank - 1), plan.vector), 0))
    return conjunction(tests)


def _within(plan: GpuStreamingContext, axis: int, name: str) -> list[ir.Expr]:
    """Tests of whether all that a tile loads along an axis lies in the grid."""
    low = ir.Var(f"{name}{axis}")
    covered = plan.extent[axis] if axis == 0 else plan.covered[axis - 1]
    return [
        ir.ge(low, plan.low[axis]),
        ir.le(ir.add(low, covered - plan.low[axis]), extent(axis)),
    ]


def steady_body(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """Clear rooms and chip, then advance inside the grid, or at its edges."""
    loops = (_loop(plan, edge=False), _loop(plan, edge=True))
    return (*_places(plan), *_rooms(plan), *_cleared(plan), ir.If(inner_test(plan), *loops))


def _loop(plan: GpuStreamingContext, *, edge: bool) -> tuple[ir.Stmt, ...]:
    count = plan.rims.rows if edge else plan.schedule.advances  # tests and addresses need registers, too
    body = tuple(ir.Scope(_advance(plan, number, edge=edge)) for number in range(count))
    starts = [] if edge else list(_starts(plan))
    if plan.rims.forward:
        for field, age in _firsts(plan):
            starts += _fetch(plan, field, age, ir.Int(0), edge=edge)
            starts += [] if edge else [_go_on(plan, field, age, ir.Int(0))]
    return (
        *starts,
        ir.For(var=ADVANCE, low=ir.Int(0), high=ir.Var("advances"), step=ir.Int(count), body=body, unroll=1),
    )


def _places(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """The thread's first cell, and its place among the threads' places on chip."""
    place: ir.Expr = ir.Int(0)
    lets: list[ir.Stmt] = []
    for axis, reach, count, cells in zip(plan.inner, plan.rims.reach, plan.threads[1:], plan.rims.cells, strict=True):
        thread = ir.Var(f"i{axis}")
        place = ir.add(ir.mul(place, count + 2 * reach), ir.add(thread, reach))
        lets.append(ir.Mutable(_at(axis), ir.add(ir.Var(f"origin{axis}"), ir.mul(thread, cells))))
    return (*lets, ir.Let(PLACE, place))


def _at(axis: int) -> ir.Var:
    """Index in the grid of a thread's first cell."""
    return ir.Var(f"at{axis}")


def _afresh(plan: GpuStreamingContext, *, edge: bool) -> list[ir.Stmt]:
    """Hide from the compiler where a thread's cells lie: at edges it would keep every test and address in registers."""
    return [ir.Assign(_at(axis), ir.op(ir.Operator.OPAQUE, _at(axis))) for axis in plan.inner] if edge else []


def _cells(plan: GpuStreamingContext) -> Iterator[Cell]:
    return itertools.product(*map(range, plan.rims.cells))


def _name(start: str, *parts: int | Cell) -> str:
    flat = [str(part) for each in parts for part in (each if isinstance(each, tuple) else (each,))]
    return start + "_".join(flat)


# Rooms: a thread's registers, and the chip.


def _own(plan: GpuStreamingContext, field: str, version: int, cell: Cell) -> ir.Var:
    """The rows of one cell of a thread."""
    slot = version + plan.history(field) - 1
    return ir.Var(_name(f"own{plan.site.number(field)}_", slot, cell), ir.private_pointer(plan.site.dtype))


def _other(plan: GpuStreamingContext, field: str, version: int, key: tuple[Cell, Cell]) -> ir.Var:
    """The rows of another thread's cell that are needed again."""
    slot, number = version + plan.history(field) - 1, plan.site.number(field)
    place = list(plan.rims.ages[number]).index(key)
    return ir.Var(_name(f"rim{number}_", slot, place), ir.private_pointer(plan.site.dtype))


def _total(plan: GpuStreamingContext, step: int, cell: Cell) -> ir.Var:
    """The partial sums of one cell of a step's results."""
    return ir.Var(_name("sum", step, cell), ir.private_pointer(plan.site.dtype))


def _ahead(plan: GpuStreamingContext, field: str, age: int, start: str = "ahead") -> ir.Var:
    return ir.Var(f"{start}{plan.site.number(field)}_{age}", ir.private_pointer(plan.site.dtype))


def _rooms(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """A thread's own rows and those of others that it needs again, cleared; and what it fetches ahead."""
    result: list[ir.Stmt] = []
    zero = literal(0.0, plan.site.dtype)
    rows = plan.rims.rows
    for field in plan.updated:
        ages = plan.rims.ages[plan.site.number(field)]
        again = [key for key in ages if len(ages[key]) > 1]
        if plan.sums:
            again = []
            totals = [_total(plan, step, cell) for step in range(plan.levels) for cell in _cells(plan)]
            result += [ir.Array(name, rows) for name in totals]
            places = itertools.product(totals, range(rows))
            result += [ir.Store(name, ir.Int(row), zero, plan.site.dtype) for name, row in places]
        for version in plan.versions(field):
            names = [_own(plan, field, version, cell) for cell in _cells(plan)]
            names += [_other(plan, field, version, key) for key in again]
            for name in names:
                result.append(ir.Array(name, rows))
                result += [ir.Store(name, ir.Int(row), zero, plan.site.dtype) for row in range(rows)]
        for age in range(plan.history(field)):
            result.append(ir.Array(_ahead(plan, field, age), len(list(_cells(plan)))))
    return tuple(result)


def _cleared(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """Zeros on chip, so that a level may compute before it has rows."""
    if not plan.values:
        return ()
    index = ir.Var("place_on_chip")
    store = ir.Store(plan.site.shared, index, literal(0.0, plan.site.dtype), plan.site.dtype)
    count = 1
    for each in plan.threads:
        count *= each
    loop = ir.For(var=index, low=ir.THREAD, high=ir.Int(plan.values), step=ir.Int(count), body=(store,), unroll=1)
    return (loop, ir.Barrier(memory=False))


def _on_chip(
    plan: GpuStreamingContext, field: str, version: int, slot: int, place: tuple[int, int], thread: Cell
) -> tuple[ir.Expr, ir.Expr]:
    """Where a cell of a thread lies, so many threads away: by its group and its place in it."""
    group, lane = place
    number, rims = plan.site.number(field), plan.rims
    pitch = rims.pitch(plan.threads[1:])
    kept = (version + plan.history(field) - 1) * rims.chip_rows + slot % rims.chip_rows
    groups = rims.published[number]
    first = plan.starts[number] + kept * rims.row(number, plan.threads[1:])
    first += pitch * sum(map(len, groups[:group]))
    size, step = len(groups[group]), 0
    for distance, count, reach in zip(thread, plan.threads[1:], rims.reach, strict=True):
        step = step * (count + 2 * reach) + distance
    if size == 1:
        return plan.site.shared, ir.add(PLACE, first + step)
    start = ir.add(plan.site.shared, ir.add(ir.mul(PLACE, size), first + step * size))
    return ir.aligned(start, size * plan.site.problem.itemsize), ir.Int(lane)


def _put(plan: GpuStreamingContext, field: str, version: int, slot: int, values: dict[Cell, ir.Expr]) -> list[ir.Stmt]:
    """Keep the values of a thread's cells, and publish a row that others read from the next advance on."""
    dtype, rims = plan.site.dtype, plan.rims
    stores: list[ir.Stmt] = [
        ir.Store(_own(plan, field, version, cell), ir.Int(slot), value, dtype) for cell, value in values.items()
    ]
    row = (slot - rims.delay) % rims.rows
    for number, group in enumerate(rims.published[plan.site.number(field)]):
        for lane, cell in enumerate(group):
            value = values[cell] if not rims.delay else ir.Load(_own(plan, field, version, cell), ir.Int(row), dtype)
            place = _on_chip(plan, field, version, row, (number, lane), (0,) * len(cell))
            stores.append(ir.Store(*place, value, dtype))
    return stores


# One advance.


def _advance(plan: GpuStreamingContext, number: int, *, edge: bool) -> tuple[ir.Stmt, ...]:
    """The ``number``-th advance of those that are written out."""
    firsts, forward = _firsts(plan), plan.rims.forward
    after = ir.add(NOW, 1) if forward else NOW
    fetches: list[ir.Stmt] = []
    for field, age in firsts:
        fetches += [ir.Array(_ahead(plan, field, age, "next"), len(list(_cells(plan))))] if forward else []
        fetches += _fetch(plan, field, age, after, edge=edge, start="next" if forward else "ahead")
    keeps = [part for field, age in firsts for part in _keep(plan, number, field, age)]
    units = list(itertools.product(range(plan.levels), range(len(plan.pipeline.stages))))
    if plan.rims.taken:
        work = _taken(plan, number, keeps, edge=edge)
    elif forward:
        work = [*keeps, *(ir.Scope(_unit(plan, number, *unit, edge=edge)) for unit in units)]
    else:
        work = [*(ir.Scope(_unit(plan, number, *unit, edge=edge)) for unit in reversed(units)), *keeps]
    moves = [] if edge else [_go_on(plan, field, age, after) for field, age in firsts]
    if forward:
        for field, age in firsts:
            for place in map(ir.Int, range(len(list(_cells(plan))))):
                value = ir.Load(_ahead(plan, field, age, "next"), place, plan.site.dtype)
                moves.append(ir.Store(_ahead(plan, field, age), place, value, plan.site.dtype))
    unread = () if plan.sums else _unread(plan, number)
    return (ir.Let(NOW, ir.add(ADVANCE, number)), *fetches, *unread, *work, *moves, ir.Barrier(memory=False))


def _unread(plan: GpuStreamingContext, number: int) -> Iterator[ir.Stmt]:
    """Keep other threads' values that are read later, where no level of the band reads them when they are youngest.

    A value comes off the chip at the youngest age at which any step reads it; of the versions that a band starts from,
    the step that would do so may lie before the band, and of those that it ends with behind it.
    """
    dtype = plan.site.dtype
    for (field, version, key), ages in sorted(_read_at(plan).items()):
        youngest = plan.rims.ages[plan.site.number(field)][key][0]
        if youngest in ages:
            continue
        slot = (number - plan.pipeline.lag.at(version - 1, plan.stage_of(field)) - youngest) % plan.rims.rows
        place = _on_chip(plan, field, version, slot, plan.rims.near[plan.site.number(field)][key], key[0])
        yield ir.Store(_other(plan, field, version, key), ir.Int(slot), ir.Load(*place, dtype), dtype)


def _read_at(plan: GpuStreamingContext) -> dict[tuple[str, int, tuple[Cell, Cell]], set[int]]:
    """The ages at which a band reads other threads' cells, by field, version, and thread and cell."""
    found: dict[tuple[str, int, tuple[Cell, Cell]], set[int]] = {}
    for step, stage in itertools.product(range(plan.levels), range(len(plan.pipeline.stages))):
        for statement, cell in itertools.product(plan.statements(stage), _cells(plan)):
            for read in statement.reads:
                key = split(tuple(a + b for a, b in zip(cell, read.offset[1:], strict=True)), plan.rims.cells)
                if read.field in plan.updated and any(key[0]):
                    age = age_of(plan.pipeline, stage, plan.stage_of(read.field), read.level, read.offset[0])
                    found.setdefault((read.field, step + read.level, key), set()).add(age)
    return found


def _taken(plan: GpuStreamingContext, number: int, keeps: list[ir.Stmt], *, edge: bool) -> list[ir.Stmt]:
    """All levels of one statement, first to last: each takes what it needs of the oldest row before that goes."""
    work: list[ir.Stmt] = []
    before: tuple[ir.Stmt, ...] = tuple(keeps)
    for step in range(plan.levels):
        parts = _Parts(plan, number, step, edge=edge)
        work += [*parts.take(), *before]
        before = (ir.Scope(parts.finish()),)
    return [*work, *before]


def _clamped(place: ir.Expr, axis: int) -> ir.Expr:
    return ir.largest(ir.Int(0), ir.smallest(place, ir.sub(extent(axis), 1)))


def _line(plan: GpuStreamingContext, row: ir.Expr, cell: Cell, *, edge: bool) -> ir.Expr:
    """Offset of the line of cells of a row that one of a thread's cells lies in."""
    offset = ir.mul(ir.wide(_clamped(row, 0)), stride(0))
    for axis in plan.inner[:-1]:
        at = ir.add(_at(axis), cell[axis - 1])
        offset = ir.add(offset, ir.mul(ir.wide(_clamped(at, axis) if edge else at), stride(axis)))
    return offset


def _column(plan: GpuStreamingContext, distance: int, *, edge: bool) -> ir.Expr:
    last = plan.site.rank - 1
    at = ir.add(_at(last), distance)
    return _clamped(at, last) if edge else at


def _firsts(plan: GpuStreamingContext) -> list[tuple[str, int]]:
    """The versions that a band starts from."""
    return [(field, age) for field in plan.updated for age in range(plan.history(field))]


def _fetched(plan: GpuStreamingContext, field: str, age: int, now: ir.Expr) -> ir.Expr:
    """The row of a version that the band starts from which an advance fetches."""
    lag = plan.pipeline.lag.at(-1 - age, plan.stage_of(field))
    return ir.sub(ir.add(ir.Var("begin"), now), ir.Int(lag))


def _moving(plan: GpuStreamingContext, start: str, field: str, age: int) -> ir.Var:
    """A pointer to the thread's first cell of the row that is fetched or stored next, inside the grid."""
    pointer = ir.Pointer(plan.site.dtype, const=start == "from")
    return ir.Var(_name(start, plan.site.number(field), age), pointer)


def _starts(plan: GpuStreamingContext) -> Iterator[ir.Stmt]:
    """Where the first rows lie that are fetched and stored."""
    first = (0,) * len(plan.inner)
    for field, age in _firsts(plan):
        row = _fetched(plan, field, age, ir.Int(0))
        for start, version, place in (("from", SOURCE, row), ("into", DEST, ir.Var("low0"))):
            line = ir.add(plan.memory(field, version, ir.Int(age)), _line(plan, place, first, edge=False))
            yield ir.Mutable(_moving(plan, start, field, age), ir.add(line, _at(plan.site.rank - 1)))


def _beside(plan: GpuStreamingContext, start: str, field: str, age: int, cell: Cell) -> ir.Expr:
    """The thread's first cell of the line that one of its cells lies in, of a row that is fetched or stored."""
    line: ir.Expr = _moving(plan, start, field, age)
    for axis in plan.inner[:-1]:
        line = ir.add(line, ir.mul(stride(axis), cell[axis - 1])) if cell[axis - 1] else line
    return ir.aligned(line, plan.vector * plan.site.problem.itemsize) if plan.vector > 1 else line


def _fetch(
    plan: GpuStreamingContext, field: str, age: int, now: ir.Expr, *, edge: bool, start: str = "ahead"
) -> tuple[ir.Stmt, ...]:
    """Begin to bring the row of a version that the band starts from; rows beyond the grid are its last ones."""
    site = plan.site
    row = _fetched(plan, field, age, now)
    lets: dict[str, ir.Stmt] = {}
    loads: list[ir.Stmt] = []
    for number, cell in enumerate(_cells(plan)):
        line = ir.Var(_name("line", cell[:-1]) if cell[:-1] else "line", ir.const_pointer(site.dtype))
        base = _beside(plan, "from", field, age, cell)
        value: ir.Expr = ir.Load(line, ir.Int(cell[-1]), site.dtype)
        if edge:
            base = ir.add(plan.memory(field, SOURCE, ir.Int(age)), _line(plan, row, cell, edge=False))
            base = ir.add(base, _at(site.rank - 1))
            value = ir.select(_in_grid(plan, cell), value, literal(0.0, site.dtype))
        lets.setdefault(line.name, ir.Let(line, base))
        loads.append(ir.Store(_ahead(plan, field, age, start), ir.Int(number), value, site.dtype))
    return (ir.Scope((*_afresh(plan, edge=edge), *lets.values(), *loads)),)


def _in_grid(plan: GpuStreamingContext, cell: Cell) -> ir.Expr:
    """Whether a thread's cell lies in the grid along the axes that threads share."""
    tests: list[ir.Expr] = []
    for axis in plan.inner:
        at = ir.add(_at(axis), cell[axis - 1])
        tests += [ir.ge(at, 0), ir.lt(at, extent(axis))]
    return conjunction(tests)


def _go_on(plan: GpuStreamingContext, field: str, age: int, now: ir.Expr) -> ir.Stmt:
    """Move on to the next row to fetch; of rows beyond the grid it is the last one again."""
    pointer, row = _moving(plan, "from", field, age), _fetched(plan, field, age, now)
    more = ir.and_(ir.ge(row, 0), ir.lt(row, ir.sub(extent(0), 1)))
    return ir.Assign(pointer, ir.add(pointer, ir.select(more, stride(0), ir.wide(ir.Int(0)))))


def _keep(plan: GpuStreamingContext, number: int, field: str, age: int) -> Iterator[ir.Stmt]:
    """Put what was fetched in its place."""
    slot = (number - plan.pipeline.lag.at(-1 - age, plan.stage_of(field))) % plan.rims.rows
    ahead = _ahead(plan, field, age)
    values: dict[Cell, ir.Expr] = {
        cell: ir.Load(ahead, ir.Int(place), plan.site.dtype) for place, cell in enumerate(_cells(plan))
    }
    yield from _put(plan, field, -age, slot, values)


def _unit(plan: GpuStreamingContext, number: int, step: int, stage: int, *, edge: bool) -> tuple[ir.Stmt, ...]:
    """One row of one stage of a level: all cells are computed, then put in their places."""
    lag = plan.pipeline.lag.at(step, stage)
    slot = (number - lag) % plan.rims.rows
    body: list[ir.Stmt] = [ir.Let(ROW, ir.sub(ir.add(ir.Var("begin"), NOW), ir.Int(lag)))]
    others: dict[tuple[str, int, int, tuple[Cell, Cell]], ir.Var] = {}
    work: list[ir.Stmt] = []
    puts: list[ir.Stmt] = []
    for statement in plan.statements(stage):
        field = statement.field
        kept = _kept(plan, statement, step, slot, edge=edge)
        for cell in _cells(plan):
            read = _reader(plan, (slot, step, stage), cell, others, edge=edge)
            if plan.sums:
                lowered, value = _shares(plan, slot, step, cell, read)
            else:
                lowered, value = _lowered(plan, statement, step, cell, read)
            work += [*lowered, _new(plan, field, cell, value, kept(cell))]
        puts += _finished(plan, statement, step, slot, edge=edge)
    return (*_afresh(plan, edge=edge), *body, *_others(plan, others), *work, *puts)


def _lowered(
    plan: GpuStreamingContext, statement: Statement, step: int, cell: Cell, read: Callable[[Read], ir.Expr]
) -> tuple[tuple[ir.Stmt, ...], ir.Expr]:
    """A statement's value at a thread's cell, its operations in their order."""
    prefix = _name(f"t{plan.site.number(statement.field)}_", cell) + "_"
    at = [_clamped(ROW, 0), *(_clamped(ir.add(_at(axis), cell[axis - 1]), axis) for axis in plan.inner)]
    return plan.site.lower(statement, read, prefix, at=at, step=ir.add(BASE, step))


def _named(plan: GpuStreamingContext, field: str, cell: Cell) -> ir.Var:
    """The new value of a thread's cell."""
    return ir.Var(_name(f"new{plan.site.number(field)}_", cell), plan.site.dtype)


def _new(
    plan: GpuStreamingContext, field: str, cell: Cell, value: ir.Expr, kept: tuple[ir.Expr, ir.Expr] | None
) -> ir.Stmt:
    """Name the new value of a thread's cell; where it is not updated, of a test and the value before, that one."""
    return ir.Let(_named(plan, field, cell), value if kept is None else ir.select(kept[0], value, kept[1]))


def _kept(
    plan: GpuStreamingContext, statement: Statement, step: int, slot: int, *, edge: bool
) -> Callable[[Cell], tuple[ir.Expr, ir.Expr] | None]:
    """Of a cell, whether it is updated and its value before; None where all are that count."""
    free = _free(plan, statement) if edge else None

    def kept(cell: Cell) -> tuple[ir.Expr, ir.Expr] | None:
        before = ir.Load(_own(plan, statement.field, step, cell), ir.Int(slot), plan.site.dtype)
        return None if free is None else (free(cell), before)

    return kept


def _finished(
    plan: GpuStreamingContext, statement: Statement, step: int, slot: int, *, edge: bool
) -> Iterator[ir.Stmt]:
    """Put a row of new values in its place, and write what the next band starts from."""
    field = statement.field
    if plan.kept(field, step + 1):
        values: dict[Cell, ir.Expr] = {cell: _named(plan, field, cell) for cell in _cells(plan)}
        yield from _put(plan, field, step + 1, slot, values)
    yield from _write_back(plan, step, statement, edge=edge)


class _Parts:
    """One row of one level of a program of one statement, in two parts.

    Before: ``new = a * own[oldest] + b * own[middle] + … + c * own[newest]``. After::

        part = a * own[oldest] + b * own[middle] + …
        own[oldest] = …                                  the newest row of the level before, in the oldest's place
        new = part + c * own[oldest]

    What is no weighted sum, or keeps its operations in their order, takes values of the oldest row by name.
    """

    def __init__(self, plan: GpuStreamingContext, number: int, step: int, *, edge: bool) -> None:
        lag = plan.pipeline.lag.at(step, 0)
        self.plan, self.step, self.edge = plan, step, edge
        self.slot = (number - lag) % plan.rims.rows
        self.row = ir.Let(ROW, ir.sub(ir.add(ir.Var("begin"), NOW), ir.Int(lag)))
        self.statement = plan.statements(0)[0]
        self.others: Others = {}
        self.held: Held = {}

    def take(self) -> Iterator[ir.Stmt]:
        """What is known before the newest row: of every cell, the sum of it, or values by name."""
        plan, site, field = self.plan, self.plan.site, self.statement.field
        parts: list[ir.Stmt] = []
        for cell in _cells(plan):
            read = self._read(cell)
            if plan.weights is None:
                for each in self.statement.reads:
                    if each.field in plan.updated and not self._newest(each):
                        read(each)
                continue
            share: ir.Expr | None = None
            for each, weight in sorted(plan.weights.items(), key=lambda item: item[0].offset):
                if not self._newest(each):
                    term = ir.mul(literal(weight, site.dtype), read(each))
                    share = term if share is None else ir.add(share, term)
            name = ir.Var(_name(f"part{self.step}_", cell), site.dtype)
            parts.append(ir.Let(name, literal(0.0, site.dtype) if share is None else share))
        yield from _others(plan, self.others)
        for (cell, row), kept in self.held.items():
            yield ir.Let(kept, ir.Load(_own(plan, field, self.step, cell), ir.Int(row), site.dtype))
        yield from parts

    def _read(self, cell: Cell) -> Callable[[Read], ir.Expr]:
        return _reader(self.plan, (self.slot, self.step, 0), cell, self.others, edge=self.edge, held=self.held)

    def _newest(self, read: Read) -> bool:
        """Whether a read is of the row that the level before computes in the same advance."""
        plan = self.plan
        return read.field in plan.updated and age_of(plan.pipeline, 0, 0, read.level, read.offset[0]) == 0

    def finish(self) -> tuple[ir.Stmt, ...]:
        """Complete the values and put them in their places."""
        plan, site, statement = self.plan, self.plan.site, self.statement
        kept = _kept(plan, statement, self.step, self.slot, edge=self.edge)
        work: list[ir.Stmt] = [*_afresh(plan, edge=self.edge), self.row]
        for cell in _cells(plan):
            read = self._read(cell)
            if plan.weights is None:
                lowered, value = _lowered(plan, statement, self.step, cell, read)
                work += lowered
            else:
                value = ir.Var(_name(f"part{self.step}_", cell), site.dtype)
                for each, weight in plan.weights.items():
                    if self._newest(each):
                        value = ir.add(value, ir.mul(literal(weight, site.dtype), read(each)))
            work.append(_new(plan, statement.field, cell, value, kept(cell)))
        return (*work, *_finished(plan, statement, self.step, self.slot, edge=self.edge))


def _shares(
    plan: GpuStreamingContext, slot: int, step: int, cell: Cell, read: Callable[[Read], ir.Expr]
) -> tuple[tuple[ir.Stmt, ...], ir.Expr]:
    """Add the newest row's shares to the results that read it, the last of which they complete: that one's value.

    Before: every result reads three rows, two of them again. After, for reads straight above each other::

        value = sum[a] + (w * row[0] + …)
        sum[b] = sum[b] + (v * row[0] + …)
        sum[c] = u * row[0] + …
    """
    site, total = plan.site, _total(plan, step, cell)
    first, *_, last = plan.rims.planes
    stores: list[ir.Stmt] = []
    value: ir.Expr = literal(0.0, site.dtype)
    for plane in reversed(plan.rims.planes):
        place = ir.Int((slot + last - plane) % plan.rims.rows)
        share: ir.Expr | None = None if plane == first else ir.Load(total, place, site.dtype)
        for each, weight in plan.sums:
            if each.offset[0] == plane:
                newest = read(Read(each.field, each.level, (last, *each.offset[1:])))
                term = ir.mul(literal(weight, site.dtype), newest)
                share = term if share is None else ir.add(share, term)
        if share is None:
            continue
        if plane == last:
            value = share
        else:
            stores.append(ir.Store(total, place, share, site.dtype))
    return tuple(stores), value


def _free(plan: GpuStreamingContext, statement: Statement) -> Callable[[Cell], ir.Expr] | None:
    """Whether a cell of the row is updated; None where all are that count."""
    bounds = plan.site.problem.margins(statement)
    if not any(map(any, bounds)):
        return None

    def test(cell: Cell) -> ir.Expr:
        tests: list[ir.Expr] = []
        places = [ROW, *(ir.add(_at(axis), cell[axis - 1]) for axis in plan.inner)]
        for axis, (place, (low, high)) in enumerate(zip(places, bounds, strict=True)):
            tests += [ir.ge(place, low)] if low else []
            tests += [ir.lt(place, ir.sub(extent(axis), high))] if high else []
        return conjunction(tests)

    return test


Others = dict[tuple[str, int, int, tuple[Cell, Cell]], ir.Var]
"""Values of other threads that a unit reads, by field, version, slot, and thread and cell; with their names."""
Held = dict[tuple[Cell, int], ir.Var]
"""A thread's own values that a unit takes before others come into their places, by cell and slot; with their names."""


def _reader(
    plan: GpuStreamingContext,
    unit: tuple[int, int, int],
    cell: Cell,
    others: Others,
    *,
    edge: bool,
    held: Held | None = None,
) -> Callable[[Read], ir.Expr]:
    site = plan.site
    slot, step, stage = unit

    def read(node: Read) -> ir.Expr:
        if node.field not in plan.updated:
            return _constant(plan, node, (step, stage), cell, edge=edge)
        version, row = step + node.level, (slot + node.offset[0]) % plan.rims.rows
        place = tuple(a + b for a, b in zip(cell, node.offset[1:], strict=True))
        key = split(place, plan.rims.cells)
        age = age_of(plan.pipeline, stage, plan.stage_of(node.field), node.level, node.offset[0])
        if not any(key[0]):
            if held is not None and age == plan.rims.rows:
                return held.setdefault((key[1], row), ir.Var(f"held{step}_{len(held)}", site.dtype))
            return ir.Load(_own(plan, node.field, version, key[1]), ir.Int(row), site.dtype)
        if age > plan.rims.ages[site.number(node.field)][key][0]:
            return ir.Load(_other(plan, node.field, version, key), ir.Int(row), site.dtype)
        return others.setdefault((node.field, version, row, key), ir.Var(f"near{step}_{len(others)}", site.dtype))

    return read


def _others(plan: GpuStreamingContext, others: Others) -> Iterator[ir.Stmt]:
    """Bring the values of other threads that a unit is the first to read, and keep those that are needed again."""
    for (field, version, row, key), name in others.items():
        place = plan.rims.near[plan.site.number(field)][key]
        yield ir.Let(name, ir.Load(*_on_chip(plan, field, version, row, place, key[0]), plan.site.dtype))
        if len(plan.rims.ages[plan.site.number(field)][key]) > 1 and not plan.sums:
            yield ir.Store(_other(plan, field, version, key), ir.Int(row), name, plan.site.dtype)


def _constant(plan: GpuStreamingContext, node: Read, unit: tuple[int, int], cell: Cell, *, edge: bool) -> ir.Expr:
    """A value of a field that is never updated, from memory; what lies beyond the grid counts for no cell."""
    site = plan.site
    row = ir.sub(ir.add(ir.Var("begin"), NOW), ir.Int(plan.pipeline.lag.at(*unit)))
    moved = tuple(a + b for a, b in zip(cell, node.offset[1:], strict=True))
    line = _line(plan, ir.add(row, node.offset[0]), moved, edge=edge or any(node.offset[1:-1]))
    column = _column(plan, moved[-1], edge=edge or node.offset[-1] != 0)
    return ir.Load(ir.add(site.version(node.field, ir.Int(0)), line), column, site.dtype)


def _write_back(plan: GpuStreamingContext, step: int, statement: Statement, *, edge: bool) -> Iterator[ir.Stmt]:
    """Write what the next band starts from, for the tile's own cells."""
    site, field, age = plan.site, statement.field, plan.levels - 1 - step
    if age >= plan.history(field):
        return
    tests: list[ir.Expr] = [ir.ge(ROW, ir.Var("low0")), ir.lt(ROW, ir.Var("high0"))]
    cells_of = plan.rims.cells
    even = [axis for axis in plan.inner if plan.together(axis) == cells_of[axis - 1] and not edge]
    for axis in even:  # a thread's cells along it are all the tile's own, or none
        first, cells = plan.low[axis] // cells_of[axis - 1], cells_of[axis - 1]
        thread = ir.Var(f"i{axis}")
        tests += [ir.ge(thread, first), ir.lt(thread, ir.Int(first + plan.space[axis] // cells))]
    stores: dict[Cell, list[ir.Stmt]] = {}
    lets: dict[str, ir.Stmt] = {}
    for cell in _cells(plan):
        line = ir.Var(_name("out", cell[:-1]) if cell[:-1] else "out", ir.pointer(site.dtype))
        base = _beside(plan, "into", field, age, cell)
        if edge:
            base = ir.add(plan.memory(field, DEST, ir.Int(age)), _line(plan, ROW, cell, edge=False))
            base = ir.add(base, _at(site.rank - 1))
        lets.setdefault(line.name, ir.Let(line, base))
        name = ir.Var(_name(f"new{site.number(field)}_", cell), site.dtype)
        store: ir.Stmt = ir.Store(line, ir.Int(cell[-1]), name, site.dtype)
        together = [1 if edge else plan.together(axis) for axis in plan.inner]
        part = tuple(place // count * count for place, count in zip(cell, together, strict=True))
        stores.setdefault(part, []).append(store)
    whole: list[ir.Stmt] = []
    for part, each in stores.items():
        own: list[ir.Expr] = []
        for axis in plan.inner:
            if axis not in even:
                at = ir.add(_at(axis), part[axis - 1])
                own += [ir.ge(at, ir.Var(f"low{axis}")), ir.lt(at, ir.Var(f"high{axis}"))]
        whole += [ir.If(conjunction(own), tuple(each))] if own else each
    if not edge:
        pointer = _moving(plan, "into", field, age)
        whole.append(ir.Assign(pointer, ir.add(pointer, stride(0))))
    yield ir.If(conjunction(tests), (*_afresh(plan, edge=edge), *lets.values(), *whole))
