"""The steady kernel of streaming tiles for GPUs: threads own contiguous cells, and only their rims go to the chip.

Every advance computes a row of every level. Where all that a level reads was computed in an earlier advance, the last
level is first: a row's place in registers is free when the level that reads it last is done. Where a level reads its
own column of the row that the level before computes in the same advance, as stars do, the first level is first, and
each takes what it needs of the oldest row before the newest comes into its place: as the weighted sum of all that is
known by then, to which the newest row is added (:class:`~tilewright.codegen.gpu.streaming.row.Row`).

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
from collections.abc import Callable

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import Kernel, unpack
from tilewright.codegen.gpu.streaming.advance import Advance, first_at
from tilewright.codegen.gpu.streaming.rooms import PLACE, Rooms
from tilewright.codegen.gpu.streaming.row import Row
from tilewright.codegen.gpu.streaming.tile import ADVANCE, ADVANCES, BEGIN, StreamTile
from tilewright.codegen.sites import extent
from tilewright.schedules.streaming.rims import Cell, split


class SteadyKernel:
    """The kernel of whole bands in whole tiles."""

    def __init__(self, tile: StreamTile) -> None:
        self.tile, self.rooms = tile, Rooms(tile)

    def kernel(self, number: int) -> Kernel:
        """Make the kernel."""
        b, entry = self.tile.begin(number, self.rooms.values, "the steady loop")
        self._place(b, ir.THREAD, ir.GROUP)
        with b.when(self.tile.whole_test("low")):
            b.emit(*self._body())
        return b.function(), entry

    def _place(self, b: ir.Builder, thread: ir.Expr, group: ir.Expr) -> None:
        """Name where a thread and its block's tile lie."""
        tile = self.tile
        tile.name_threads(b, thread)
        counts = [ir.Int(0), *(ir.Var(f"tiles{axis}") for axis in tile.inner)]
        tiles = unpack(b, group, tile.site.axes("tile"), counts)
        for axis, (place, size) in enumerate(zip(tiles, tile.space, strict=True)):
            tile.name_bounds(b, axis, place * size, extent(axis))

    def _body(self) -> tuple[ir.Stmt, ...]:
        """Clear rooms, then advance: at the grid's edges and the tile's ends with tests, between them without.

        The loop with tests is in the text once, and is gone through before the one without and after it. Both name the
        thread's and the tile's place anew, or the names would take registers in all of the kernel.
        """
        b = self.b = ir.Builder()
        self.rooms.clear(b)
        with b.loop("part", 0, 2, unroll=1) as part:
            thread = b.let("thread", ir.op(ir.Operator.OPAQUE, ir.THREAD))
            group = b.let("group", ir.op(ir.Operator.OPAQUE, ir.GROUP))
            self._place(b, thread, group)
            self.tile.name_advances(b)
            self._first_cell()
            first, last = self._ends()
            before = part.equals(0)
            until = b.let("until", ir.select(before, first, ADVANCES))
            if self.tile.rims.forward:
                with b.when(before):
                    for field, age in self.tile.first_versions:
                        Advance(self.rooms, b, 0, edge=True).fetch(field, age, ir.Int(0))
            self._loop(part * last, until, edge=True)
            Advance(self.rooms, b, 0, edge=False).start_rows(until)
            self._loop(until, last, edge=False)
        return b.statements()

    def _first_cell(self) -> None:
        """Name the thread's first cell, and its place among the threads' places on chip."""
        tile, rims = self.tile, self.tile.rims
        place: ir.Expr = ir.Int(0)
        for axis, reach, count, cells in zip(tile.inner, rims.reach, tile.threads, rims.cells, strict=True):
            thread = ir.Var(f"i{axis}")
            place = place * count + (thread + reach)
            self.b.mutable(first_at(axis).name, ir.Var(f"origin{axis}") + thread * cells)
        self.b.let(PLACE.name, place)

    def _ends(self) -> tuple[ir.Expr, ir.Expr]:
        """The first advance that needs no test, a multiple of those written out, and that whole rounds later.

        Both are 0 where there is no such round, or the tile lies at an edge of an axis that threads share.
        """
        b, count = self.b, self.tile.schedule.advances
        low, high = self._between()
        begin = b.let("free", (low + (count - 1)) / count * count)
        rounds = b.let("rounds", ir.largest(high - begin, 0) / count)
        inside = b.let("inside", self.tile.inner_test() & (rounds > 0))
        first = b.let("first", ir.select(inside, begin, 0))
        return first, b.let("last", ir.select(inside, begin + rounds * count, 0))

    def _between(self) -> tuple[ir.Expr, ir.Expr]:
        """The first advance, and the one behind the last, in which no row needs a test.

        All rows that are stored are the tile's own, all that are computed may be updated, and all that are fetched lie
        in the grid.
        """
        tile, end = self.tile, extent(0)
        lows: list[tuple[ir.Expr, int]] = []
        highs: list[tuple[ir.Expr, int]] = []
        for step, stage in tile.units:
            lag = tile.pipeline.lag.at(step, stage)
            for statement in tile.stages[stage]:
                low, high = tile.site.problem.margins(statement)[0]
                lows.append((ir.Int(low), lag))
                highs.append((end - high, lag))
                if tile.levels - 1 - step < tile.history(statement.field):
                    lows.append((ir.Var("low0"), lag))
                    highs.append((ir.Var("high0"), lag))
        for field, age in tile.first_versions:
            lag = tile.first_lag(field, age) - tile.rims.forward
            lows.append((ir.Int(0), lag))
            highs.append((end, lag))
        return _furthest(lows, ir.largest, max), _furthest(highs, ir.smallest, min)

    def _loop(self, low: ir.Expr, high: ir.Expr, *, edge: bool) -> None:
        # Tests and addresses need registers, too.
        count = self.tile.rims.rows if edge else self.tile.schedule.advances
        with self.b.loop(ADVANCE.name, low, high, count, unroll=1):
            for number in range(count):
                with self.b.scope():
                    self._advance(Advance(self.rooms, self.b, number, edge=edge))

    def _advance(self, advance: Advance) -> None:
        """Compute a row of every level."""
        tile, b = self.tile, self.b
        advance.begin()
        if not tile.sums:
            self._keep_unread(advance.number)
        if tile.rims.taken:
            before = None  # the row of the level before
            for step in range(tile.levels):
                row = Row(advance, step, 0)
                row.take()
                self._finish(advance, before)
                before = row
            self._finish(advance, before)
        else:
            units = tile.units if tile.rims.forward else reversed(tile.units)
            if tile.rims.forward:
                advance.keep()
            for step, stage in units:
                with b.scope():
                    Row(advance, step, stage).compute()
            if not tile.rims.forward:
                advance.keep()
        advance.end()

    def _finish(self, advance: Advance, row: Row | None) -> None:
        """Put the rows that a level reads next in their places: those fetched, or of the level before."""
        if row is None:
            advance.keep()
        else:
            with self.b.scope():
                row.finish()

    def _keep_unread(self, number: int) -> None:
        """Keep other threads' values that are read later, where no level of the band reads them when they are youngest.

        A value comes off the chip at the youngest age at which any step reads it; of the versions that a band starts
        from, the step that would do so may lie before the band, and of those that it ends with behind it.
        """
        tile, rims = self.tile, self.tile.rims
        for (field, version, key), ages in sorted(self._ages_read().items()):
            place = tile.site.number(field)
            youngest = rims.ages[place][key][0]
            if youngest in ages:
                continue
            slot = (number - tile.pipeline.lag.at(version - 1, tile.stage_of(field)) - youngest) % rims.rows
            value = self.rooms.chip(field, version, slot, rims.near[place][key], key[0])
            self.b.set(self.rooms.other(field, version, key)[slot], value)

    def _ages_read(self) -> dict[tuple[str, int, tuple[Cell, Cell]], set[int]]:
        """The ages at which a band reads other threads' cells, by field, version, and thread and cell."""
        tile, found = self.tile, dict[tuple[str, int, tuple[Cell, Cell]], set[int]]()
        for step, stage in tile.units:
            for statement, cell in itertools.product(tile.stages[stage], tile.cells):
                for read in statement.reads:
                    key = split(tuple(a + b for a, b in zip(cell, read.offset[1:], strict=True)), tile.rims.cells)
                    if read.field in tile.updated and any(key[0]):
                        found.setdefault((read.field, step + read.level, key), set()).add(tile.age(stage, read))
        return found


def _furthest(
    rows: list[tuple[ir.Expr, int]], of: Callable[[ir.Expr, ir.Expr], ir.Expr], of_lags: Callable[[list[int]], int]
) -> ir.Expr:
    """The greatest or least advance in which rows so far behind are at places."""
    places = dict.fromkeys(place for place, _ in rows)
    lags = [of_lags([lag for at, lag in rows if at == place]) for place in places]
    return functools.reduce(of, [place + lag - BEGIN for place, lag in zip(places, lags, strict=True)])
