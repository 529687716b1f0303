"""What the steady loop of a streaming kernel computes: a row of a stage of a level, of all cells of a thread.

In one piece, in two, or as shares of a row in the results that read it.
"""

from collections.abc import Callable, Iterable

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal
from tilewright.codegen.gpu.site import NewCell
from tilewright.codegen.gpu.streaming.advance import NOW, ROW, Advance, clamped, first_at, new_value
from tilewright.codegen.gpu.streaming.rooms import joined
from tilewright.codegen.gpu.streaming.tile import BASE, BEGIN, own_tests
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming.rims import Cell, split

Near = tuple[str, int, int, tuple[Cell, Cell]]
"""A value of another thread: field, version, slot, and thread and cell."""


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
        self.b, self.site, self.edge = advance.b, advance.site, advance.edge
        self.step, self.stage = step, stage
        self.lag = self.tile.pipeline.lag.at(step, stage)
        self.slot = (advance.number - self.lag) % self.tile.rims.rows
        self.near: dict[Near, ir.Var] = {}  # values of other threads that it reads, by name
        self.held: dict[tuple[Cell, int], ir.Var] = {}  # values taken before others come into their places

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
            if tile.weights is None:
                for each in statement.reads:
                    if each.field in tile.updated and not self._newest(each):
                        read(each)
                continue
            weights = sorted(tile.weights.items(), key=lambda item: item[0].offset)
            known = self._terms([each for each in weights if not self._newest(each[0])], read)
            parts.let(joined(f"part{self.step}_", cell), ir.total(known or [literal(0.0, self.site.dtype)]))
        self._bring_near()
        for (cell, row), kept in self.held.items():
            b.let(kept.name, self.rooms.own(statement.field, self.step, cell)[row])
        b.emit(*parts.statements())

    def finish(self) -> None:
        """Complete the values and put them in their places."""
        tile, statement = self.tile, self.tile.stages[0][0]
        self._begin()
        for cell in tile.cells:
            read = self._reader(cell, held=True)
            if tile.weights is None:
                value = self._lowered(self.b, statement, cell, read)
            else:
                part = ir.Var(joined(f"part{self.step}_", cell), self.site.dtype)
                newest = [each for each in tile.weights.items() if self._newest(each[0])]
                value = ir.total([part, *self._terms(newest, read)])
            self._name(self.b, statement, cell, value)
        self._finish(statement)

    def _begin(self) -> None:
        self.advance.afresh()
        self.b.let(ROW.name, BEGIN + NOW - self.lag)

    def _lowered(self, b: ir.Builder, statement: Statement, cell: Cell, read: Callable[[Read], ir.Expr]) -> ir.Expr:
        """A statement's value at a thread's cell, its operations in their order."""
        prefix = joined(f"t{self.site.number(statement.field)}_", cell) + "_"
        return self.site.lower(b, statement, read, self._new(cell), prefix)

    def _terms(self, weights: Iterable[tuple[Read, float]], read: Callable[[Read], ir.Expr]) -> list[ir.Expr]:
        return [literal(weight, self.site.dtype) * read(each) for each, weight in weights]

    def _shares(self, b: ir.Builder, cell: Cell, read: Callable[[Read], ir.Expr]) -> ir.Expr:
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
        margins = enumerate(zip(at, site.problem.margins(statement), strict=True))
        free: list[ir.Expr] = []
        for axis, (place, (low, high)) in margins if self.edge else ():
            free += [place >= low] if low else []
            free += [place < extent(axis) - high] if high else []
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

    def _reader(self, cell: Cell, *, held: bool = False) -> Callable[[Read], ir.Expr]:
        """Where reads beside a thread's cell come from; those of the oldest row may be ``held``."""
        tile, rooms, rims = self.tile, self.rooms, self.tile.rims

        def read(node: Read) -> ir.Expr:
            if node.field not in tile.updated:
                return self.advance.constant(node, self.lag, cell)
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

    def _bring_near(self) -> None:
        """Bring the values of other threads that it is the first to read, and keep those that are needed again."""
        rims = self.tile.rims
        for (field, version, row, key), name in self.near.items():
            number = self.site.number(field)
            self.b.let(name.name, self.rooms.chip(field, version, row, rims.near[number][key], key[0]))
            if len(rims.ages[number][key]) > 1 and not self.tile.sums:
                self.b.set(self.rooms.other(field, version, key)[row], name)
