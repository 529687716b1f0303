"""The steady loop of a streaming kernel for GPUs: threads own contiguous cells, and only their rims go to the chip.

Every advance computes a row of every level. Where all that a level reads was computed in an earlier advance, the last
level is first: a row's place in registers is free when the level that reads it last is done. Where a level reads its
own column of the row that the level before computes in the same advance, as stars do, the first level is first, and
each takes what it needs of the oldest row before the newest comes into its place: as the weighted sum of all that is
known by then, to which the newest row is added (:class:`Parts`).

Levels, a thread's cells and a multiple of the rows in use are written out, so that registers rotate by their names and
every place on chip is a number next to the thread's own. There is one barrier per advance. Before a level has rows it
computes on zeros, and nothing of it is stored.

Two forms. *Tested*: at the grid's ``fixed`` edges a cell that is not updated keeps its value by a select, and a row is
stored where it is the tile's own. *Steady*: between the first and the last advance that need any of this, in tiles that
lie inside the grid along the axes that threads share, all that is asked is which cells of a thread are the tile's own,
and no advance changes that. The next rows of the band's first versions are fetched at the start of an advance; they
come into their places at its end, or in the next one where that reads them at once.
"""

import functools
import itertools
from collections.abc import Callable, Iterator

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import stride
from tilewright.codegen.gpu.streaming.memory import fetch, go_on, keep, starts
from tilewright.codegen.gpu.streaming.plan import LEVELS, GpuStreamingContext
from tilewright.codegen.gpu.streaming.rooms import (
    ADVANCE,
    NOW,
    PLACE,
    ahead_of,
    chip_place,
    clear_chip,
    clear_rooms,
    first_at,
    first_versions,
    other_rows,
    thread_cells,
)
from tilewright.codegen.gpu.streaming.values import Parts, compute_row
from tilewright.codegen.gpu.sweep import conjunction
from tilewright.codegen.sites import extent
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.rims import Cell, age_of, split


def whole_test(plan: GpuStreamingContext, low: str) -> ir.Expr:
    """Whether this is a whole band, inside the grid where an edge is not ``fixed``; ``low`` begins its cells' names."""
    bent = stream_block.bent(plan.site.problem)
    return conjunction([LEVELS.equals(plan.levels), *(test for axis in bent for test in _within(plan, axis, low))])


def inner_test(plan: GpuStreamingContext) -> ir.Expr:
    """Whether every cell that counts is updated and all loads lie in the grid, along the axes that threads share."""
    tests = [test for axis in plan.inner for test in _within(plan, axis, "low")]
    if plan.vector > 1:
        tests.append((stride(plan.site.rank - 2) % plan.vector).equals(0))
    return conjunction(tests)


def _within(plan: GpuStreamingContext, axis: int, name: str) -> list[ir.Expr]:
    """Tests of whether all that a tile loads along an axis lies in the grid."""
    low = ir.Var(f"{name}{axis}")
    covered = plan.extent[axis] if axis == 0 else plan.covered[axis - 1]
    return [
        low >= plan.low[axis],
        low + (covered - plan.low[axis]) <= extent(axis),
    ]


def steady_body(plan: GpuStreamingContext, place: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Clear rooms and chip, then advance: at the grid's edges and the tile's ends with tests, between them without.

    The loop with tests is in the text once, and is gone through before the one without and after it. Every loop names
    the thread's and the tile's ``place`` anew, or the names would take registers in all of them.
    """
    part, until, last = ir.Var("part"), ir.Var("until"), ir.Var("last")
    before = part.equals(0)
    body = (
        *place,
        *_places(plan),
        *_ends(plan),
        ir.Let(until, ir.select(before, ir.Var("first"), ir.Var("advances"))),
        *([ir.If(before, tuple(_fetched_first(plan)))] if plan.rims.forward else []),
        _loop(plan, part * last, until, edge=True),
        *starts(plan, until),
        _loop(plan, until, last, edge=False),
    )
    around = ir.For(var=part, low=ir.Int(0), high=ir.Int(2), body=body, unroll=1)
    return (*clear_rooms(plan), *clear_chip(plan), around)


def _ends(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """The first advance that needs no test, a multiple of those that are written out, and so many whole rounds later.

    Both are 0 where there is no such round, or the tile lies at an edge of an axis that threads share.
    """
    count, begin, rounds = plan.schedule.advances, ir.Var("free"), ir.Var("rounds")
    low, high = _between(plan)
    whole = conjunction([inner_test(plan), rounds > 0])
    return (
        ir.Let(begin, (low + (count - 1)) / count * count),
        ir.Let(rounds, ir.largest(high - begin, ir.Int(0)) / count),
        ir.Let(ir.Var("inside"), whole),
        ir.Let(ir.Var("first"), ir.select(ir.Var("inside"), begin, ir.Int(0))),
        ir.Let(ir.Var("last"), ir.select(ir.Var("inside"), begin + rounds * count, ir.Int(0))),
    )


def _between(plan: GpuStreamingContext) -> tuple[ir.Expr, ir.Expr]:
    """The first advance, and the one behind the last, in which no row needs a test.

    All rows that are stored are the tile's own, all that are computed may be updated, and all that are fetched lie in
    the grid.
    """
    lows: list[tuple[ir.Expr, int]] = []
    highs: list[tuple[ir.Expr, int]] = []
    for step, stage in itertools.product(range(plan.levels), range(len(plan.pipeline.stages))):
        lag = plan.pipeline.lag.at(step, stage)
        for statement in plan.statements(stage):
            low, high = plan.site.problem.margins(statement)[0]
            lows.append((ir.Int(low), lag))
            highs.append((extent(0) - high, lag))
            if plan.levels - 1 - step < plan.history(statement.field):
                lows.append((ir.Var("low0"), lag))
                highs.append((ir.Var("high0"), lag))
    for field, age in first_versions(plan):
        lag = plan.pipeline.lag.at(-1 - age, plan.stage_of(field)) - plan.rims.forward
        lows.append((ir.Int(0), lag))
        highs.append((extent(0), lag))
    return _furthest(lows, ir.largest, max), _furthest(highs, ir.smallest, min)


def _furthest(
    rows: list[tuple[ir.Expr, int]], of: Callable[[ir.Expr, ir.Expr], ir.Expr], of_lags: Callable[[list[int]], int]
) -> ir.Expr:
    """The greatest or least advance in which rows so far behind are at places."""
    places = dict.fromkeys(place for place, _ in rows)
    lags = [of_lags([lag for at, lag in rows if at == place]) for place in places]
    advances = [(place + lag - ir.Var("begin")) for place, lag in zip(places, lags, strict=True)]
    return functools.reduce(of, advances)


def _loop(plan: GpuStreamingContext, low: ir.Expr, high: ir.Expr, *, edge: bool) -> ir.Stmt:
    count = plan.rims.rows if edge else plan.schedule.advances  # tests and addresses need registers, too
    body = tuple(ir.Scope(_advance(plan, number, edge=edge)) for number in range(count))
    return ir.For(var=ADVANCE, low=low, high=high, step=ir.Int(count), body=body, unroll=1)


def _fetched_first(plan: GpuStreamingContext) -> list[ir.Stmt]:
    """Fetch the rows that the first advance reads at once."""
    return [each for field, age in first_versions(plan) for each in fetch(plan, field, age, ir.Int(0), edge=True)]


def _places(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """The thread's first cell, and its place among the threads' places on chip."""
    place: ir.Expr = ir.Int(0)
    lets: list[ir.Stmt] = []
    for axis, reach, count, cells in zip(plan.inner, plan.rims.reach, plan.threads[1:], plan.rims.cells, strict=True):
        thread = ir.Var(f"i{axis}")
        place = place * count + (thread + reach)
        lets.append(ir.Mutable(first_at(axis), ir.Var(f"origin{axis}") + thread * cells))
    return (*lets, ir.Let(PLACE, place))


def _advance(plan: GpuStreamingContext, number: int, *, edge: bool) -> tuple[ir.Stmt, ...]:
    """The ``number``-th advance of those that are written out."""
    firsts, forward = first_versions(plan), plan.rims.forward
    after = (NOW + 1) if forward else NOW
    fetches: list[ir.Stmt] = []
    for field, age in firsts:
        fetches += [ir.Array(ahead_of(plan, field, age, "next"), len(list(thread_cells(plan))))] if forward else []
        fetches += fetch(plan, field, age, after, edge=edge, start="next" if forward else "ahead")
    keeps = [part for field, age in firsts for part in keep(plan, number, field, age)]
    units = list(itertools.product(range(plan.levels), range(len(plan.pipeline.stages))))
    if plan.rims.taken:
        work = _taken(plan, number, keeps, edge=edge)
    elif forward:
        work = [*keeps, *(ir.Scope(compute_row(plan, number, *unit, edge=edge)) for unit in units)]
    else:
        work = [*(ir.Scope(compute_row(plan, number, *unit, edge=edge)) for unit in reversed(units)), *keeps]
    moves: list[ir.Stmt] = [] if edge else [go_on(plan, "from", field, age) for field, age in firsts]
    if forward:
        for field, age in firsts:
            for place in map(ir.Int, range(len(list(thread_cells(plan))))):
                value = ir.Load(ahead_of(plan, field, age, "next"), place, plan.site.dtype)
                moves.append(ir.Store(ahead_of(plan, field, age), place, value, plan.site.dtype))
    unread = () if plan.sums else _unread(plan, number)
    return (ir.Let(NOW, ADVANCE + number), *fetches, *unread, *work, *moves, ir.Barrier(memory=False))


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
        place = chip_place(plan, field, version, slot, plan.rims.near[plan.site.number(field)][key], key[0])
        yield ir.Store(other_rows(plan, field, version, key), ir.Int(slot), ir.Load(*place, dtype), dtype)


def _read_at(plan: GpuStreamingContext) -> dict[tuple[str, int, tuple[Cell, Cell]], set[int]]:
    """The ages at which a band reads other threads' cells, by field, version, and thread and cell."""
    found: dict[tuple[str, int, tuple[Cell, Cell]], set[int]] = {}
    for step, stage in itertools.product(range(plan.levels), range(len(plan.pipeline.stages))):
        for statement, cell in itertools.product(plan.statements(stage), thread_cells(plan)):
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
        parts = Parts(plan, number, step, edge=edge)
        work += [*parts.take(), *before]
        before = (ir.Scope(parts.finish()),)
    return [*work, *before]
