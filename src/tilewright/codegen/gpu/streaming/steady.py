"""The steady kernel of streaming tiles for GPUs: threads own contiguous cells, and only their rims go to the chip.

Every advance computes a row of every level. Where all that a level reads was computed in an earlier advance, the last
level is first: a row's place in registers is free when the level that reads it last is done. Where a level reads its
own column of the row that the level before computes in the same advance, as stars do, the first level is first, and
each takes what it needs of the oldest row before the newest comes into its place: as the weighted sum of all that is
known by then, to which the newest row is added (:class:`Row`).

Levels, a thread's cells and a multiple of the rows in use are written out, so that registers rotate by their names and
every place on chip is a number next to the thread's own. There is one barrier per advance. Before a level has rows it
computes on zeros, and nothing of it is stored.

Three forms. *Ends*: a cell that is not updated keeps its value by a select, a read that leaves the grid is by selects
that of the cell which stands for it, and a row is stored where it is the tile's own. *Sides*: between the first and the
last advance that need any of this along axis 0, rows are not tested. *Steady*: there, in tiles that lie inside the grid
along the axes that threads share, all that is asked is which cells of a thread are the tile's own, and no advance
changes that. The next rows of the band's first versions are fetched at the start of an advance; they
come into their places at its end, or in the next one where that reads them at once.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable

from tilewright.codegen import ir
from tilewright.codegen.boundary import beyond, literal, outside
from tilewright.codegen.gpu.site import Kernel, NewCell, Reader, global_index, unpack
from tilewright.codegen.gpu.streaming.advance import (
    MASK_BITS,
    NOW,
    OWN,
    PLACE,
    ROW,
    Advance,
    Rooms,
    clamped,
    first_at,
    joined,
    marked,
    new_value,
)
from tilewright.codegen.gpu.streaming.tile import ADVANCE, ADVANCES, BASE, BEGIN, StreamTile, own_tests
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.boundaries import stand_ins
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.rims import Cell, split


def updated(number: int) -> str:
    """Name of the mask of cells that are updated, by the number of the margins of what updates them."""
    return f"free{number}_"


Near = tuple[str, int, int, tuple[Cell, Cell]]  # a value of another thread: field, version, slot, and thread and cell


class Row:
    """One row of a stage of a step, in an advance.

    Where its program has one statement and is ``taken`` apart, in two parts. Before:
    ``new = a * own[oldest] + b * own[middle] + … + c * own[newest]``. After::

        part = a * own[oldest] + b * own[middle] + …     take
        own[oldest] = …                                  the newest row of the level before, in the oldest's place
        new = part + c * own[oldest]                     finish

    What is no weighted sum, or keeps its operations in their order, takes values of the oldest row by name.
    """

    def __init__(self, advance: Advance, step: int, stage: int) -> None:
        self.advance, self.rooms, self.tile = advance, advance.rooms, advance.tile
        self.b, self.site, self.axes = advance.b, advance.site, advance.axes
        self.step, self.stage = step, stage
        self.lag = self.tile.pipeline.lag.at(step, stage)
        self.slot = (advance.number - self.lag) % self.tile.rims.rows
        self.near: dict[Near, ir.Var] = {}  # values of other threads that it reads, by name
        self.held: dict[tuple[Cell, int], ir.Var] = {}  # values taken before others come into their places
        # Whether a sum is known but for its newest row, which at an end of axis 0 may be read in place of the oldest.
        self.split = self.tile.weights is not None and not (advance.ends and self.tile.growth.turned)

    def compute(self) -> None:
        """Compute all cells in one piece, then put them in their places."""
        statements, work = self.tile.stages[self.stage], ir.Builder()
        for statement in statements:
            for cell in self.tile.cells:
                read = self._reader(cell)
                shares = self.tile.sums
                value = self._shares(work, cell, read) if shares else self._lowered(work, statement, cell, read)
                self._name(work, statement, cell, value)
        self._begin()
        self._bring_near()
        self.b.emit(*work.statements())
        for statement in statements:
            self._finish(statement)

    def take(self) -> None:
        """Take what is known before the newest row: of every cell, the sum of it, or values by name."""
        b, tile, statement, parts = self.b, self.tile, self.tile.stages[0][0], ir.Builder()
        for cell in tile.cells:
            read = self._reader(cell, held=True)
            if not self.split:
                for each in statement.reads:
                    if each.field in tile.updated:
                        read(each)
                continue
            weights = sorted((tile.weights or {}).items(), key=lambda item: item[0].offset)
            terms = self._terms([each for each in weights if not self._newest(each[0])], read)
            parts.let(joined(f"part{self.step}_", cell), ir.total(terms or [literal(0.0, self.site.dtype)]))
        self._bring_near()
        for (cell, row), name in self.held.items():
            b.let(name.name, self.rooms.own(statement.field, self.step, cell)[row])
        b.emit(*parts.statements())

    def finish(self) -> None:
        """Complete the values and put them in their places."""
        tile, statement = self.tile, self.tile.stages[0][0]
        self._begin()
        for cell in tile.cells:
            read = self._reader(cell, held=True)
            if not self.split:
                value = self._lowered(self.b, statement, cell, read)
            else:
                part = ir.Var(joined(f"part{self.step}_", cell), self.site.dtype)
                newest = [each for each in (tile.weights or {}).items() if self._newest(each[0])]
                value = ir.total([part, *self._terms(newest, read)])
            self._name(self.b, statement, cell, value)
        self._finish(statement)

    def _begin(self) -> None:
        self.advance.afresh()
        self.b.let(ROW.name, BEGIN + NOW - self.lag)

    def _lowered(self, b: ir.Builder, statement: Statement, cell: Cell, read: Reader) -> ir.Expr:
        prefix = joined(f"t{self.site.number(statement.field)}_", cell) + "_"
        return self.site.lower(b, statement, read, self._new(cell), prefix)

    def _terms(self, weights: Iterable[tuple[Read, float]], read: Reader) -> list[ir.Expr]:
        return [literal(weight, self.site.dtype) * read(each) for each, weight in weights]

    def _shares(self, b: ir.Builder, cell: Cell, read: Reader) -> ir.Expr:
        """Add the newest row's shares to the results that read it, the last of which they complete: that one's value.

        Before: every result reads three rows, two of them again. After, for reads straight above each other::

            value = sum[a] + (w * row[0] + …)
            sum[b] = sum[b] + (v * row[0] + …)
            sum[c] = u * row[0] + …
        """
        total, rims = self.rooms.total(self.step, cell), self.tile.rims
        first, *_, last = rims.planes
        value: ir.Expr = literal(0.0, self.site.dtype)
        for plane in reversed(rims.planes):
            place = total[(self.slot + last - plane) % rims.rows]
            newest = [
                (Read(each.field, each.level, (last, *each.offset[1:])), weight)
                for each, weight in self.tile.sums
                if each.offset[0] == plane
            ]
            terms = [*([] if plane == first else [place]), *self._terms(newest, read)]
            if plane == last and terms:
                value = ir.total(terms)
            elif terms:
                b.set(place, ir.total(terms))
        return value

    def _name(self, b: ir.Builder, statement: Statement, cell: Cell, value: ir.Expr) -> None:
        """Name the new value of a thread's cell; where it is not updated, by a test the value before."""
        site, field, at = self.site, statement.field, self._at(cell)
        value = site.pointed(field, value, self._new(cell))
        (low, high), *inner = site.problem.margins(statement)
        free: list[ir.Expr] = []
        if self.advance.ends:
            free += [at[0] >= low] if low else []
            free += [at[0] < extent(0) - high] if high else []
        if self.advance.sides and any(map(any, inner)):
            free.append(marked(updated(self.tile.margins.index(tuple(inner))), self.tile.cells.index(cell)))
        if free:  # a value within a select would be computed behind a branch
            value = b.let(joined(f"value{site.number(field)}_", cell), value)
        before = self.rooms.own(field, self.step, cell)[self.slot]
        b.let(new_value(site, field, cell).name, ir.select(ir.every(free), value, before) if free else value)

    def _finish(self, statement: Statement) -> None:
        """Put a row of new values in its place, and write what the next band starts from."""
        field, version = statement.field, self.step + 1
        if version in self.tile.versions(field):
            values: dict[Cell, ir.Expr] = {cell: new_value(self.site, field, cell) for cell in self.tile.cells}
            self.rooms.put(self.b, field, version, self.slot, values)
        self.advance.write_back(self.step, statement)

    def _at(self, cell: Cell) -> list[ir.Expr]:
        """Indices of a thread's cell in the grid, perhaps outside it."""
        return [ROW, *(first_at(axis) + cell[axis - 1] for axis in self.tile.inner)]

    def _new(self, cell: Cell) -> NewCell:
        at = self._at(cell)
        inside = tuple(clamped(place, axis) for axis, place in enumerate(at))
        return NewCell(inside, BASE + self.step, ir.every(own_tests(at)))

    def _newest(self, read: Read) -> bool:
        """Whether a read is of the row that the level before computes in the same advance."""
        return read.field in self.tile.updated and self.tile.age(self.stage, read) == 0

    def _reader(self, cell: Cell, *, held: bool = False) -> Reader:
        """Where reads beside a thread's cell come from; those of the oldest row may be ``held``."""
        tile, rooms, rims = self.tile, self.rooms, self.tile.rims

        def read(node: Read) -> ir.Expr:
            if node.field not in tile.updated:
                return self._constant(node, cell)
            return self._bounded(node, cell, load, tile.site.rank)

        def load(node: Read) -> ir.Expr:
            version, row = self.step + node.level, (self.slot + node.offset[0]) % rims.rows
            key = split(tuple(a + b for a, b in zip(cell, node.offset[1:], strict=True)), rims.cells)
            age = tile.age(self.stage, node)
            if not any(key[0]):
                if held and age == rims.rows:
                    name = ir.Var(f"held{self.step}_{len(self.held)}", self.site.dtype)
                    return self.held.setdefault((key[1], row), name)
                return rooms.own(node.field, version, key[1])[row]
            if age > rims.ages[self.site.number(node.field)][key][0]:
                return rooms.other(node.field, version, key)[row]
            name = ir.Var(f"near{self.step}_{len(self.near)}", self.site.dtype)
            return self.near.setdefault((node.field, version, row, key), name)

        return read

    def _constant(self, node: Read, cell: Cell) -> ir.Expr:
        """A value of a field that is never updated."""
        sides = self.site.problem.sides(node.field)
        if not any(node.offset[axis] and outside(sides[axis]) for axis in self.axes):
            return self.advance.constant(node, self.lag, cell)

        def load(at: tuple[ir.Expr, ...]) -> ir.Expr:
            return self.site.field(node.field)[global_index(tuple(clamped(x, axis) for axis, x in enumerate(at)))]

        return self.site.guarded(node, tuple(self._at(cell)), load)

    def _bounded(self, node: Read, cell: Cell, load: Reader, axes: int) -> ir.Expr:
        """A read as it is written, or of the cell that stands for its own beyond the grid along the first ``axes``.

        As :func:`tilewright.codegen.boundary.bounded` has it, by the places from which a read leaves the grid::

            at1 + 3 == n1 - 1 ? own[3] : own[4]
        """
        if axes == 0:
            return load(node)
        axis, offset, value = axes - 1, node.offset[axes - 1], self._bounded(node, cell, load, axes - 1)
        if axis not in self.axes:
            return value
        pair, low, place = self.site.problem.sides(node.field)[axis], offset < 0, self._at(cell)[axis]
        if offset and pair[not low].kind == "constant":
            leaves = beyond(place + offset, extent(axis), low=low)
            value = ir.select(leaves, literal(pair[not low].value, self.site.dtype), value)
        for before, other in enumerate(stand_ins(pair, offset)):
            moved = Read(node.field, node.level, (*node.offset[:axis], other, *node.offset[axes:]))
            test = place.equals(before if low else extent(axis) - (1 + before))
            value = ir.select(test, self._bounded(moved, cell, load, axis), value)
        return value

    def _bring_near(self) -> None:
        """Bring the values of other threads that it is the first to read, and keep those that are needed again."""
        rims = self.tile.rims
        for (field, version, row, key), name in self.near.items():
            number = self.site.number(field)
            self.b.let(name.name, self.rooms.chip(field, version, row, rims.near[number][key], key[0]))
            if len(rims.ages[number][key]) > 1 and not self.tile.sums:
                self.b.set(self.rooms.other(field, version, key)[row], name)


class SteadyKernel:
    """The kernel of a band."""

    def __init__(self, tile: StreamTile) -> None:
        self.tile, self.rooms = tile, Rooms(tile)

    def kernel(self, number: int) -> Kernel:
        """Make the kernel."""
        b, entry = self.tile.begin(number, self.tile.chip_values)
        b.emit(*self._body())
        return b.function(), entry

    def _place(self, b: ir.Builder, thread: ir.Expr, group: ir.Expr) -> None:
        """Name where a thread and its block's tile lie."""
        tile = self.tile
        tile.name_threads(b, thread)
        # Those at the grid's sides, which take longest, come first: along the axes that threads share from outside in,
        # in 3D of the first of these in all of the other, then of the other.
        counts = {axis: ir.Var(f"tiles{axis}") for axis in (*tile.inner, 0)}
        places = unpack(b, group, [f"turn{axis}" for axis in counts], list(counts.values()))
        turns = dict(zip(counts, places, strict=True))
        if len(tile.inner) > 1:
            sides = b.let("sides", tile.sides(1))
            ahead = b.let("ahead", sides * counts[2] * counts[0])
            rest = {2: counts[2], 1: ir.largest(counts[1] - sides, 1), 0: counts[0]}
            later = unpack(b, group - ahead, [f"later{axis}" for axis in rest], list(rest.values()))
            for axis, turn in zip(rest, later, strict=True):
                behind = turn + sides if axis == 1 else turn
                turns[axis] = b.let(f"in_turn{axis}", ir.select(group < ahead, turns[axis], behind))
        tiles = [turns[0]]
        for axis in tile.inner:
            turn, count = turns[axis], counts[axis]
            last = (turn % 2).equals(1)
            tiles.append(b.let(f"tile{axis}", ir.select(last, count - (1 + turn / 2), turn / 2)))
        for axis, (place, size) in enumerate(zip(tiles, tile.space, strict=True)):
            tile.name_bounds(b, axis, place * size, extent(axis))

    def _body(self) -> tuple[ir.Stmt, ...]:
        """Clear rooms, then advance: at the tile's ends with tests of rows, between them without.

        The loop for the ends is in the text once, and is gone through before the others and after them. All name the
        thread's and the tile's place anew, or the names would take registers in all of the kernel.
        """
        b, every = ir.Builder(), tuple(range(self.tile.site.rank))
        self.b = b
        self.rooms.clear(b)
        with b.loop("part", 0, 2, unroll=1) as part:
            thread = b.let("thread", ir.op(ir.Operator.OPAQUE, ir.THREAD))
            group = b.let("group", ir.op(ir.Operator.OPAQUE, ir.GROUP))
            self._place(b, thread, group)
            self.tile.name_advances(b)
            self._first_cell()
            self._masks()
            first, last = self._ends()
            before = part.equals(0)
            until = b.let("until", ir.select(before, first, ADVANCES))
            if self.tile.rims.forward:
                with b.when(before):
                    for field, age in self.tile.first_versions:
                        Advance(self.rooms, b, 0, every).fetch(field, age, ir.Int(0))
            self._loop(part * last, until, every)
            Advance(self.rooms, b, 0, ()).start_rows(until)
            with b.when(self.tile.inner_test()):
                if self.tile.passage:
                    b.barrier(memory=True)  # the last row of the loop before is stored once more, by other threads
                Advance(self.rooms, b, 0, ()).start_passing()
                self._loop(until, last, ())
                with b.when(until < last):
                    _drain(Advance(self.rooms, b, 0, ()).store_passed())
            with b.otherwise():
                self._loop(until, last, every[1:])
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

    def _masks(self) -> None:
        """Name which of the thread's cells are updated, and which are the tile's own: no advance changes that."""
        tile = self.tile
        spans: dict[str, list[tuple[int, ir.Expr, ir.Expr]]] = {
            OWN: [(axis, ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in tile.inner]
        }
        for number, margins in enumerate(tile.margins):
            if any(map(any, margins)):
                ends = zip(tile.inner, margins, strict=True)
                spans[updated(number)] = [(axis, ir.Int(low), extent(axis) - high) for axis, (low, high) in ends]

        def bit(number: int, cell: Cell, sides: list[tuple[int, ir.Expr, ir.Expr]]) -> ir.Expr:
            at = [(first_at(axis) + cell[axis - 1], low, high) for axis, low, high in sides]
            tests = [test for place, low, high in at for test in (place >= low, place < high)]
            return ir.select(ir.every(tests), ir.Int(1 << number), 0)

        self.rooms.masks.clear()
        for name, sides in spans.items():
            bits = [bit(number % MASK_BITS, cell, sides) for number, cell in enumerate(tile.cells)]
            for word, first in enumerate(range(0, len(bits), MASK_BITS)):
                total = ir.total(bits[first : first + MASK_BITS])
                self.rooms.masks.append(self.b.mutable(joined(name, word), total))

    def _ends(self) -> tuple[ir.Expr, ir.Expr]:
        """The first advance that needs no test of rows, a multiple of those written out, and that whole rounds later.

        Both are 0 where there is no such round.
        """
        b, count = self.b, self.tile.schedule.advances
        low, high = self._between()
        begin = b.let("free", (low + (count - 1)) / count * count)
        rounds = b.let("rounds", ir.largest(high - begin, 0) / count)
        first = b.let("first", ir.select(rounds > 0, begin, 0))
        return first, b.let("last", ir.select(rounds > 0, begin + rounds * count, 0))

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
                reach = [0, *(read.offset[0] for read in statement.reads)]
                low, high = -min(reach), max(reach)
                lows.append((ir.Int(low), lag))
                highs.append((end - high, lag))
                if tile.levels - 1 - step < tile.history(statement.field):
                    # The row before is stored again where it has passed through the chip.
                    lows.append((ir.Var("low0"), lag + (tile.passage is not None)))
                    highs.append((ir.Var("high0"), lag))
        for field, age in tile.first_versions:
            lag = tile.first_lag(field, age) - tile.rims.forward
            lows.append((ir.Int(0), lag))
            highs.append((end, lag))
        return _furthest(lows, ir.largest, max), _furthest(highs, ir.smallest, min)

    def _loop(self, low: ir.Expr, high: ir.Expr, axes: tuple[int, ...]) -> None:
        # Tests and addresses need registers, too.
        count = self.tile.schedule.advances
        if axes:
            count = math.lcm(self.tile.rims.rows, self.tile.rows_passing if 0 in axes else 1)
        with self.b.loop(ADVANCE.name, low, high, count, unroll=1):
            for number in range(count):
                with self.b.scope():
                    self._advance(Advance(self.rooms, self.b, number, axes))

    def _advance(self, advance: Advance) -> None:
        tile, b = self.tile, self.b
        advance.begin()
        stored = advance.store_passed()
        if not tile.sums:
            self._keep_unread(advance)
        if tile.rims.taken:
            before = None  # the row of the level before
            for step in range(tile.levels):
                row = Row(advance, step, 0)
                row.take()
                self._finish(advance, before)
                next(stored, None)
                before = row
            self._finish(advance, before)
        else:
            units = tile.units if tile.rims.forward else reversed(tile.units)
            if tile.rims.forward:
                advance.keep()
            for step, stage in units:
                # With tests a level's text stands behind a branch that is always taken: compilers would spread what it
                # needs over the levels before it, and run out of registers.
                with b.when(extent(0) > 0) if advance.sides else b.scope():
                    Row(advance, step, stage).compute()
                next(stored, None)
            if not tile.rims.forward:
                advance.keep()
        _drain(stored)
        advance.end()

    def _finish(self, advance: Advance, row: Row | None) -> None:
        """Put the rows that a level reads next in their places: those fetched, or of the level before."""
        if row is None:
            advance.keep()
        else:
            with self.b.scope():
                row.finish()

    def _keep_unread(self, advance: Advance) -> None:
        """Keep other threads' values that are read later, where no level of the band reads them when they are youngest.

        A value comes off the chip at the youngest age at which any step reads it; of the versions that a band starts
        from, the step that would do so may lie before the band, and of those that it ends with behind it.
        """
        tile, rims = self.tile, self.tile.rims
        for (field, version, key), ages in sorted(self._ages_read(advance.axes).items()):
            place = tile.site.number(field)
            youngest = rims.ages[place][key][0]
            if youngest in ages:
                continue
            slot = (advance.number - tile.pipeline.lag.at(version - 1, tile.stage_of(field)) - youngest) % rims.rows
            value = self.rooms.chip(field, version, slot, rims.near[place][key], key[0])
            self.b.set(self.rooms.other(field, version, key)[slot], value)

    def _ages_read(self, axes: tuple[int, ...]) -> dict[tuple[str, int, tuple[Cell, Cell]], set[int]]:
        """The ages at which a band reads other threads' cells, by field, version, and thread and cell."""
        tile, ages = self.tile, dict[tuple[str, int, tuple[Cell, Cell]], set[int]]()
        for step, stage in tile.units:
            for statement, cell in itertools.product(tile.stages[stage], tile.cells):
                for read in stream_block.with_stand_ins(tile.site.problem, statement.reads, axes):
                    key = split(tuple(a + b for a, b in zip(cell, read.offset[1:], strict=True)), tile.rims.cells)
                    if read.field in tile.updated and any(key[0]):
                        ages.setdefault((read.field, step + read.level, key), set()).add(tile.age(stage, read))
        return ages


def _drain(pieces: Iterable[None]) -> None:
    """Let all pieces of a text be written that are not yet."""
    for _ in pieces:
        pass


def _furthest(
    rows: list[tuple[ir.Expr, int]], of: Callable[[ir.Expr, ir.Expr], ir.Expr], of_lags: Callable[[list[int]], int]
) -> ir.Expr:
    """The greatest or least advance in which rows so far behind are at places."""
    places = dict.fromkeys(place for place, _ in rows)
    lags = [of_lags([lag for at, lag in rows if at == place]) for place in places]
    return functools.reduce(of, [place + lag - BEGIN for place, lag in zip(places, lags, strict=True)])
