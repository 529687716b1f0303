"""What the steady loop of a streaming kernel computes: a row of a stage of a level, of all cells of a thread.

In one piece, in two (:class:`Parts`), or as shares of a row in the results that read it.
"""

from collections.abc import Callable, Iterator

from tilewright.codegen import ir
from tilewright.codegen.gpu.points import pointed
from tilewright.codegen.gpu.streaming.memory import clamped, constant, write_back
from tilewright.codegen.gpu.streaming.plan import BASE, GpuStreamingContext, own_tests
from tilewright.codegen.gpu.streaming.rooms import (
    NOW,
    ROW,
    afresh,
    chip_place,
    first_at,
    joined,
    other_rows,
    own_rows,
    put,
    thread_cells,
    total_of,
)
from tilewright.codegen.gpu.sweep import conjunction
from tilewright.codegen.sites import extent, literal
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming.rims import Cell, age_of, split

Others = dict[tuple[str, int, int, tuple[Cell, Cell]], ir.Var]
"""Values of other threads that a unit reads, by field, version, slot, and thread and cell; with their names."""
Held = dict[tuple[Cell, int], ir.Var]
"""A thread's own values that a unit takes before others come into their places, by cell and slot; with their names."""


def compute_row(plan: GpuStreamingContext, number: int, step: int, stage: int, *, edge: bool) -> tuple[ir.Stmt, ...]:
    """One row of one stage of a level: all cells are computed, then put in their places."""
    lag = plan.pipeline.lag.at(step, stage)
    slot = (number - lag) % plan.rims.rows
    body: list[ir.Stmt] = [ir.Let(ROW, ir.Var("begin") + NOW - ir.Int(lag))]
    others: dict[tuple[str, int, int, tuple[Cell, Cell]], ir.Var] = {}
    work: list[ir.Stmt] = []
    puts: list[ir.Stmt] = []
    for statement in plan.statements(stage):
        field = statement.field
        kept = _kept(plan, statement, step, slot, edge=edge)
        for cell in thread_cells(plan):
            read = _reader(plan, (slot, step, stage), cell, others, edge=edge)
            if plan.sums:
                lowered, value = _shares(plan, slot, step, cell, read)
            else:
                lowered, value = _lowered(plan, statement, step, cell, read)
            work += [*lowered, _new(plan, field, (step, cell), value, kept(cell))]
        puts += _finished(plan, statement, step, slot, edge=edge)
    return (*afresh(plan, edge=edge), *body, *_others(plan, others), *work, *puts)


def _lowered(
    plan: GpuStreamingContext, statement: Statement, step: int, cell: Cell, read: Callable[[Read], ir.Expr]
) -> tuple[tuple[ir.Stmt, ...], ir.Expr]:
    """A statement's value at a thread's cell, its operations in their order."""
    prefix = joined(f"t{plan.site.number(statement.field)}_", cell) + "_"
    at = [clamped(place, axis) for axis, place in enumerate(_at(plan, cell))]
    return plan.site.lower(statement, read, prefix, at=at, step=BASE + step)


def _at(plan: GpuStreamingContext, cell: Cell) -> list[ir.Expr]:
    """Indices of a thread's cell in the grid, perhaps outside it."""
    return [ROW, *((first_at(axis) + cell[axis - 1]) for axis in plan.inner)]


def _named(plan: GpuStreamingContext, field: str, cell: Cell) -> ir.Var:
    """The new value of a thread's cell."""
    return ir.Var(joined(f"new{plan.site.number(field)}_", cell), plan.site.dtype)


def _new(
    plan: GpuStreamingContext,
    field: str,
    unit: tuple[int, Cell],
    value: ir.Expr,
    kept: tuple[ir.Expr, ir.Expr] | None,
) -> ir.Stmt:
    """Name the new value of a thread's cell at a step; where it is not updated, by a test the value before."""
    (step, cell), at = unit, _at(plan, unit[1])
    inside = tuple(clamped(place, axis) for axis, place in enumerate(at))
    value = pointed(plan.site, field, value, inside, BASE + step, conjunction(own_tests(at)))
    return ir.Let(_named(plan, field, cell), value if kept is None else ir.select(kept[0], value, kept[1]))


def _kept(
    plan: GpuStreamingContext, statement: Statement, step: int, slot: int, *, edge: bool
) -> Callable[[Cell], tuple[ir.Expr, ir.Expr] | None]:
    """Of a cell, whether it is updated and its value before; None where all are that count."""
    free = _free(plan, statement) if edge else None

    def kept(cell: Cell) -> tuple[ir.Expr, ir.Expr] | None:
        before = ir.Load(own_rows(plan, statement.field, step, cell), ir.Int(slot), plan.site.dtype)
        return None if free is None else (free(cell), before)

    return kept


def _finished(
    plan: GpuStreamingContext, statement: Statement, step: int, slot: int, *, edge: bool
) -> Iterator[ir.Stmt]:
    """Put a row of new values in its place, and write what the next band starts from."""
    field = statement.field
    if plan.kept(field, step + 1):
        values: dict[Cell, ir.Expr] = {cell: _named(plan, field, cell) for cell in thread_cells(plan)}
        yield from put(plan, field, step + 1, slot, values)
    yield from write_back(plan, step, statement, edge=edge)


class Parts:
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
        self.row = ir.Let(ROW, ir.Var("begin") + NOW - ir.Int(lag))
        self.statement = plan.statements(0)[0]
        self.others: Others = {}
        self.held: Held = {}

    def take(self) -> Iterator[ir.Stmt]:
        """What is known before the newest row: of every cell, the sum of it, or values by name."""
        plan, site, field = self.plan, self.plan.site, self.statement.field
        parts: list[ir.Stmt] = []
        for cell in thread_cells(plan):
            read = self._read(cell)
            if plan.weights is None:
                for each in self.statement.reads:
                    if each.field in plan.updated and not self._newest(each):
                        read(each)
                continue
            share: ir.Expr | None = None
            for each, weight in sorted(plan.weights.items(), key=lambda item: item[0].offset):
                if not self._newest(each):
                    term = literal(weight, site.dtype) * read(each)
                    share = term if share is None else (share + term)
            name = ir.Var(joined(f"part{self.step}_", cell), site.dtype)
            parts.append(ir.Let(name, literal(0.0, site.dtype) if share is None else share))
        yield from _others(plan, self.others)
        for (cell, row), kept in self.held.items():
            yield ir.Let(kept, ir.Load(own_rows(plan, field, self.step, cell), ir.Int(row), site.dtype))
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
        work: list[ir.Stmt] = [*afresh(plan, edge=self.edge), self.row]
        for cell in thread_cells(plan):
            read = self._read(cell)
            if plan.weights is None:
                lowered, value = _lowered(plan, statement, self.step, cell, read)
                work += lowered
            else:
                value = ir.Var(joined(f"part{self.step}_", cell), site.dtype)
                for each, weight in plan.weights.items():
                    if self._newest(each):
                        value = value + literal(weight, site.dtype) * read(each)
            work.append(_new(plan, statement.field, (self.step, cell), value, kept(cell)))
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
    site, total = plan.site, total_of(plan, step, cell)
    first, *_, last = plan.rims.planes
    stores: list[ir.Stmt] = []
    value: ir.Expr = literal(0.0, site.dtype)
    for plane in reversed(plan.rims.planes):
        place = ir.Int((slot + last - plane) % plan.rims.rows)
        share: ir.Expr | None = None if plane == first else ir.Load(total, place, site.dtype)
        for each, weight in plan.sums:
            if each.offset[0] == plane:
                newest = read(Read(each.field, each.level, (last, *each.offset[1:])))
                term = literal(weight, site.dtype) * newest
                share = term if share is None else (share + term)
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
        for axis, (place, (low, high)) in enumerate(zip(_at(plan, cell), bounds, strict=True)):
            tests += [place >= low] if low else []
            tests += [place < extent(axis) - high] if high else []
        return conjunction(tests)

    return test


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
            return constant(plan, node, (step, stage), cell, edge=edge)
        version, row = step + node.level, (slot + node.offset[0]) % plan.rims.rows
        place = tuple(a + b for a, b in zip(cell, node.offset[1:], strict=True))
        key = split(place, plan.rims.cells)
        age = age_of(plan.pipeline, stage, plan.stage_of(node.field), node.level, node.offset[0])
        if not any(key[0]):
            if held is not None and age == plan.rims.rows:
                return held.setdefault((key[1], row), ir.Var(f"held{step}_{len(held)}", site.dtype))
            return ir.Load(own_rows(plan, node.field, version, key[1]), ir.Int(row), site.dtype)
        if age > plan.rims.ages[site.number(node.field)][key][0]:
            return ir.Load(other_rows(plan, node.field, version, key), ir.Int(row), site.dtype)
        return others.setdefault((node.field, version, row, key), ir.Var(f"near{step}_{len(others)}", site.dtype))

    return read


def _others(plan: GpuStreamingContext, others: Others) -> Iterator[ir.Stmt]:
    """Bring the values of other threads that a unit is the first to read, and keep those that are needed again."""
    for (field, version, row, key), name in others.items():
        place = plan.rims.near[plan.site.number(field)][key]
        yield ir.Let(name, ir.Load(*chip_place(plan, field, version, row, place, key[0]), plan.site.dtype))
        if len(plan.rims.ages[plan.site.number(field)][key]) > 1 and not plan.sums:
            yield ir.Store(other_rows(plan, field, version, key), ir.Int(row), name, plan.site.dtype)
