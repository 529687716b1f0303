"""One advance of the steady loop of a streaming kernel: what moves between memory, a thread's rooms and the chip.

Without tests of rows pointers to those that are fetched and stored move on with them, and a cell is stored where it is
the tile's own, which no advance changes. With tests what would be loaded from beyond the grid is loaded from the place
in it that is nearest, and bits say which cells count.

*Rooms* are a thread's registers and its places on chip. A row's place in registers is a number of its array's name,
since as many advances as rows are in use are written out; a place on chip is a number next to the thread's own.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import nullcontext

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal
from tilewright.codegen.gpu.site import GpuSite, row_index, stride
from tilewright.codegen.gpu.streaming.tile import ADVANCE, BEGIN, DEST, SOURCE, StreamTile
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming.passage import Passage
from tilewright.schedules.streaming.rims import Cell

MASK_BITS = 31  # cells of a thread that a number has a bit for
OWN = "mine"  # name of the mask of cells that are the tile's own
PLACE = ir.Var("place")  # a thread's place among the threads' places on chip
STRIP, COLUMN = ir.Var("strip"), ir.Var("column")  # where a thread stores a vector that has passed through the chip


def joined(start: str, *parts: int | Cell) -> str:
    """A name with numbers at its end."""
    flat = [str(part) for each in parts for part in (each if isinstance(each, tuple) else (each,))]
    return start + "_".join(flat)


class Rooms:
    """The rooms of a tile; every register is an array by the number of a row, or of a cell that is fetched."""

    def __init__(self, tile: StreamTile) -> None:
        self.tile, self.site, self.rims = tile, tile.site, tile.rims
        alone = (
            tuple(count if i == field else 0 for i, count in enumerate(tile.kept_versions))
            for field in range(len(tile.kept_versions))
        )
        sizes = [tile.rims.values(versions, tile.threads) for versions in alone]
        self.starts = [sum(sizes[:field]) for field in range(len(sizes))]  # where a field's rims start on chip
        self.masks: list[ir.Expr] = []  # bits per cell of a thread, see :func:`marked`

    def _register(self, name: str) -> ir.Var:
        return ir.Var(name, ir.private_pointer(self.site.dtype))

    def _kept(self, field: str, version: int) -> int:
        """Number of a version among those that are kept."""
        return version + self.tile.history(field) - 1

    def own(self, field: str, version: int, cell: Cell) -> ir.Var:
        """The rows of one cell of a thread."""
        return self._register(joined(f"own{self.site.number(field)}_", self._kept(field, version), cell))

    def other(self, field: str, version: int, key: tuple[Cell, Cell]) -> ir.Var:
        """The rows of another thread's cell that are needed again."""
        number = self.site.number(field)
        place = list(self.rims.ages[number]).index(key)
        return self._register(joined(f"rim{number}_", self._kept(field, version), place))

    def total(self, step: int, cell: Cell) -> ir.Var:
        """The partial sums of one cell of a step's results."""
        return self._register(joined("sum", step, cell))

    def ahead(self, field: str, age: int, start: str = "ahead") -> ir.Var:
        """What a thread fetches of a version that the band starts from, until it comes into its place."""
        return self._register(f"{start}{self.site.number(field)}_{age}")

    def clear(self, b: ir.Builder) -> None:
        """Begin with zeros, so that a level may compute before it has rows."""
        tile, zero = self.tile, literal(0.0, self.site.dtype)
        for field in tile.updated:
            ages = self.rims.ages[self.site.number(field)]
            again = [key for key in ages if len(ages[key]) > 1 and not tile.sums]
            if tile.sums:
                totals = [self.total(step, cell) for step in range(tile.levels) for cell in tile.cells]
                for name in totals:
                    b.emit(ir.Array(name, self.rims.rows))
                for name in totals:
                    self._fill(b, name, zero)
            for version in tile.versions(field):
                names = [self.own(field, version, cell) for cell in tile.cells]
                for name in [*names, *(self.other(field, version, key) for key in again)]:
                    b.emit(ir.Array(name, self.rims.rows))
                    self._fill(b, name, zero)
            for age in range(tile.history(field)):
                b.emit(ir.Array(self.ahead(field, age), len(tile.cells)))
        if tile.rim_values:
            count = math.prod(tile.schedule.threads)
            with b.loop("place_on_chip", ir.THREAD, tile.rim_values, count, unroll=1) as place:
                b.set(self.site.shared[place], zero)
            b.barrier()

    def _fill(self, b: ir.Builder, name: ir.Var, value: ir.Expr) -> None:
        for row in range(self.rims.rows):
            b.set(name[row], value)

    def chip(self, field: str, version: int, slot: int, place: tuple[int, int], thread: Cell) -> ir.Expr:
        """The value on chip of a thread, so many threads away: by its group and its place in it."""
        (group, lane), rims, number = place, self.rims, self.site.number(field)
        row = self._kept(field, version) * rims.chip_rows + slot % rims.chip_rows
        groups = rims.published[number]
        first = self.starts[number] + row * rims.row(number, self.tile.threads)
        first += rims.pitch(self.tile.threads) * sum(map(len, groups[:group]))
        size, step = len(groups[group]), 0
        for distance, count in zip(thread, self.tile.threads, strict=True):
            step = step * count + distance
        if size == 1:
            return self.site.shared[PLACE + (first + step)]
        start = self.site.shared + (PLACE * size + (first + step * size))
        return ir.aligned(start, size * self.site.problem.itemsize)[lane]

    def put(self, b: ir.Builder, field: str, version: int, slot: int, values: Mapping[Cell, ir.Expr]) -> None:
        """Keep the values of a thread's cells, and publish a row that others read from the next advance on."""
        for cell, value in values.items():
            b.set(self.own(field, version, cell)[slot], value)
        row = (slot - self.rims.delay) % self.rims.rows
        for number, group in enumerate(self.rims.published[self.site.number(field)]):
            for lane, cell in enumerate(group):
                value = self.own(field, version, cell)[row] if self.rims.delay else values[cell]
                b.set(self.chip(field, version, row, (number, lane), (0,) * len(cell)), value)


NOW, ROW = ir.Var("now"), ir.Var("row")


def first_at(axis: int) -> ir.Var:
    """Index in the grid of a thread's first cell."""
    return ir.Var(f"at{axis}")


def marked(mask: str, number: int) -> ir.Expr:
    """Whether a mask marks one of a thread's cells, by its number."""
    word, bit = divmod(number, MASK_BITS)
    return (ir.Var(joined(mask, word)) & (1 << bit)) > 0


def clamped(place: ir.Expr, axis: int, vector: int = 1) -> ir.Expr:
    """A place along an axis where vectors start, or the one of the grid that is nearest to it."""
    last = (extent(axis) - 1) / vector * vector if vector > 1 else extent(axis) - 1
    return ir.largest(0, ir.smallest(place, last))


class Advance:
    """The ``number``-th advance of those that are written out, in which places along some axes are tested."""

    def __init__(self, rooms: Rooms, b: ir.Builder, number: int, axes: tuple[int, ...]) -> None:
        self.rooms, self.tile, self.site = rooms, rooms.tile, rooms.site
        self.b, self.number, self.axes = b, number, axes
        self.ends, self.sides = 0 in axes, bool(axes)  # tests of rows, and of cells along the axes that threads share

    def begin(self) -> None:
        """Name the advance, and begin to fetch the rows of the versions that the band starts from."""
        b, forward = self.b, self.tile.rims.forward
        b.let(NOW.name, ADVANCE + self.number)
        for field, age in self.tile.first_versions:
            if forward:
                ahead = self.rooms.ahead(field, age, "next")
                b.emit(ir.Array(ahead, len(self.tile.cells)))
            self.fetch(field, age, NOW + 1 if forward else NOW, "next" if forward else "ahead")

    def keep(self) -> None:
        """Put what was fetched in its place."""
        for field, age in self.tile.first_versions:
            slot = (self.number - self.tile.first_lag(field, age)) % self.tile.rims.rows
            ahead = self.rooms.ahead(field, age)
            values = {cell: ahead[place] for place, cell in enumerate(self.tile.cells)}
            self.rooms.put(self.b, field, -age, slot, values)

    def end(self) -> None:
        """Move on to the next rows that are fetched."""
        for field, age in self.tile.first_versions:
            if not self.ends:
                self._go_on("from", field, age)
        if self.tile.rims.forward:
            for field, age in self.tile.first_versions:
                for place in range(len(self.tile.cells)):
                    self.b.set(self.rooms.ahead(field, age)[place], self.rooms.ahead(field, age, "next")[place])
        self.b.barrier()

    def afresh(self) -> None:
        """Hide from the compiler where cells lie: with tests it would keep each and address in registers."""
        for axis in self.tile.inner:
            if self.sides:
                self.b.set(first_at(axis), ir.op(ir.Operator.OPAQUE, first_at(axis)))
        if self.sides:
            for mask in self.rooms.masks:
                self.b.set(mask, ir.op(ir.Operator.OPAQUE, mask))

    # Rows in memory.

    def start_rows(self, now: ir.Expr) -> None:
        """Point at the rows that are fetched and stored first in the loop without tests."""
        tile, first = self.tile, (0,) * len(self.tile.inner)
        for field, age in tile.first_versions:
            fetched = self._fetched(field, age, now + 1 if tile.rims.forward else now)
            stored = BEGIN + now - tile.pipeline.lag.at(tile.levels - 1 - age, tile.stage_of(field))
            for start, version, row in (("from", SOURCE, fetched), ("into", DEST, stored)):
                pointer = self._moving(start, field, age)
                self.b.mutable(pointer.name, self._at_row(version, field, age, row, first), pointer.type)

    def fetch(self, field: str, age: int, now: ir.Expr, start: str = "ahead") -> None:
        """Begin to bring the row of a version that the band starts from; beyond the grid that of a place near by."""
        row, vector = self._fetched(field, age, now), self.tile.vector
        with self.b.scope():
            self.afresh()
            lines, ahead = self._lines("line", ("from", SOURCE), field, age, row), self.rooms.ahead(field, age, start)
            for number, cell in enumerate(self.tile.cells):
                if cell[-1] % vector:
                    continue
                line, place = lines[cell[:-1]], cell[-1]
                moved = self._moved(self.site.rank - 1, place, vector) if self.sides else place
                if vector == 1:
                    self.b.set(ahead[number], line[moved])
                else:
                    self.b.intrinsic(f"fetch{vector}", self.site.dtype, ahead + number, line + moved)

    def write_back(self, step: int, statement: Statement) -> None:
        """Write what the next band starts from, for the tile's own cells."""
        b, tile, field = self.b, self.tile, statement.field
        age = tile.levels - 1 - step
        if age >= tile.history(field):
            return
        parts: dict[Cell, list[Cell]] = {}  # cells all of which are the tile's own, or none
        together = [1] * (len(tile.inner) - 1) + [tile.vector] if self.sides else list(map(tile.together, tile.inner))
        for cell in tile.cells:
            part = tuple(place // count * count for place, count in zip(cell, together, strict=True))
            parts.setdefault(part, []).append(cell)
        around = b.when((ROW >= ir.Var("low0")) & (ROW < ir.Var("high0"))) if self.ends else b.scope()
        with around:
            self.afresh()
            passes = tile.passage and not self.sides
            lines = {} if passes else self._lines("out", ("into", DEST), field, age, ROW)
            for part, cells in parts.items():
                tests = self._own(part)
                with b.when(ir.every(tests)) if tests else nullcontext():
                    for cell in cells:
                        if cell[-1] % tile.vector == 0:
                            self._store(field, age, cell, lines)
        if lines and not self.ends:
            self._go_on("into", field, age)

    def _store(self, field: str, age: int, cell: Cell, lines: Mapping[Cell, ir.Expr]) -> None:
        """Store the values of the vector that a cell is the first of: in lines, and on chip."""
        tile, vector = self.tile, self.tile.vector
        values = [new_value(self.site, field, (*cell[:-1], cell[-1] + lane)) for lane in range(vector)]
        targets = {"store": lines[cell[:-1]] + cell[-1]} if lines else {}
        if tile.passage and (self.ends or not lines):
            at = [first_at(axis) - ir.Var(f"low{axis}") + beside for axis, beside in zip(tile.inner, cell, strict=True)]
            line = at[0] if len(at) > 1 else 0
            targets["stage"] = self._passing(tile.passage, field, age, self.number, line, at[-1])
        for how, target in targets.items():
            if vector == 1:
                self.b.set(target[0], values[0])
            else:
                self.b.intrinsic(f"{how}{vector}", self.site.dtype, target, *values)

    def _own(self, part: Cell) -> list[ir.Expr]:
        """Tests of whether a thread's cells are the tile's own: without tests no advance changes them."""
        if self.sides:
            return [marked(OWN, self.tile.cells.index(part))]
        even, uneven = list[ir.Expr](), list[ir.Expr]()
        for axis, place, cells in zip(self.tile.inner, part, self.tile.rims.cells, strict=True):
            if self.tile.together(axis) == cells:  # all of a thread's along the axis, or none
                first, count = self.tile.low[axis] // cells, self.tile.space[axis] // cells
                even += [ir.Var(f"i{axis}") >= first, ir.Var(f"i{axis}") < first + count]
            else:
                at = first_at(axis) + place
                uneven += [at >= ir.Var(f"low{axis}"), at < ir.Var(f"high{axis}")]
        return even + uneven

    # Rows on their way through the chip.

    def start_passing(self) -> None:
        """Name the thread's line and cell of the first round in which threads store side by side, and point at it."""
        tile, b, passage = self.tile, self.b, self.tile.passage
        if passage is None:
            return
        strip = b.let(STRIP.name, ir.Var("thread") / int(passage.columns))
        column = b.let(COLUMN.name, ir.Var("thread") % int(passage.columns) * int(passage.vector))
        *outer, last = (ir.Var(f"low{axis}") - first_at(axis) for axis in tile.inner)
        for field, age in tile.last_versions:
            pointer: ir.Expr = self._moving("into", field, age)
            for axis, line in enumerate(outer, start=1):
                pointer = pointer + stride(axis) * ir.wide(line + strip)
            b.set(self._moving("into", field, age), pointer - stride(0) + (last + column))  # behind by an advance

    def store_passed(self) -> Iterator[None]:
        """Store the rows that came onto the chip in the advance before, in as many pieces as a thread has vectors.

        Threads take vectors beside those of their neighbours. Work stands between the pieces: the path to the chip and
        to memory is not crowded at once.
        """
        tile, b, passage = self.tile, self.b, self.tile.passage
        if passage is None or self.sides:
            return
        vector, lines, abreast = int(passage.vector), int(passage.lines), int(passage.abreast)
        for field, age in tile.last_versions:
            into = self._moving("into", field, age)
            for line, each in passage.rounds():
                column, tests = each * vector, list[ir.Expr]()
                if int(passage.threads) > abreast * int(passage.columns) or line + abreast > lines:
                    tests.append(STRIP < min(abreast, lines - line))
                if column + int(passage.columns) * vector > int(passage.length):
                    tests.append(COLUMN < int(passage.length) - column)
                taken = STRIP + line if lines > 1 else 0
                source = self._passing(passage, field, age, self.number - 1, taken, COLUMN + column)
                target = (into + stride(1) * line if line else into) + column
                with b.when(ir.every(tests)) if tests else nullcontext():
                    if vector == 1:
                        b.set(target[0], source[0])
                    else:
                        b.intrinsic(f"pass{vector}", self.site.dtype, target, source)
                yield
            self._go_on("into", field, age)

    def _passing(
        self, passage: Passage, field: str, age: int, number: int, line: ir.Operand, column: ir.Expr
    ) -> ir.Expr:
        """The place on chip of one of a tile's own cells of the row that an advance stores."""
        first = self.tile.last_versions.index((field, age)) * int(passage.rows) + number % int(passage.rows)
        place, swapped = column + int(passage.length) * line, (int(passage.swizzle) - 1) * int(passage.vector)
        if swapped:
            place = ir.op(ir.Operator.XOR, place, (place >> int(passage.banks).bit_length() - 1) & swapped)
        return self.site.shared + (self.tile.rim_values + first * int(passage.values)) + place

    def constant(self, node: Read, lag: int, cell: Cell) -> ir.Expr:
        """A value of a field that is never updated, from memory; what lies beyond the grid counts for no cell."""
        row = BEGIN + NOW - lag + node.offset[0]
        moved = tuple(a + b for a, b in zip(cell, node.offset[1:], strict=True))
        last = self.site.rank - 1
        column = first_at(last) + moved[-1]
        line = self._line(row, moved, clamp=self.sides or any(node.offset[1:-1]))
        beside = clamped(column, last) if self.sides or node.offset[-1] else column
        return (self.site.field(node.field) + line)[beside]

    def _lines(self, name: str, where: tuple[str, ir.Var], field: str, age: int, row: ir.Expr) -> dict[Cell, ir.Expr]:
        """Name the thread's first cell of each of its lines, of a row that is fetched or stored."""
        (start, version), clamps = where, self.sides and where[0] == "from"
        pointers = {}
        for line in self.tile.lines:
            if self.ends:
                pointer = self._at_row(version, field, age, row, (*line, 0), clamp=clamps)
            else:
                pointer = self._moving(start, field, age)
                for axis, place in zip(self.tile.inner, line, strict=False):
                    pointer = pointer + stride(axis) * (self._moved(axis, place) if clamps else place)
            pointers[line] = self.b.let(joined(name, line), pointer, ir.Pointer(self.site.dtype, const=start == "from"))
        return pointers

    def _moved(self, axis: int, place: int, vector: int = 1) -> ir.Expr:
        """Cells along an axis from a thread's first one to that ``place`` behind it, or the nearest one of the grid."""
        return clamped(first_at(axis) + place, axis, vector) - first_at(axis)

    def _at_row(
        self, version: ir.Var, field: str, age: int, row: ir.Expr, cell: Cell, *, clamp: bool = False
    ) -> ir.Expr:
        """The first cell of the line of a row that one of a thread's cells lies in."""
        line = self.tile.memory(field, version, age) + self._line(row, cell, clamp=clamp)
        return line + first_at(self.site.rank - 1)

    def _line(self, row: ir.Expr, cell: Cell, *, clamp: bool) -> ir.Expr:
        """Offset of the line of cells of a row that one of a thread's cells lies in."""
        places = [(axis, first_at(axis) + cell[axis - 1]) for axis in self.tile.inner[:-1]]
        return row_index([clamped(row, 0), *(clamped(at, axis) if clamp else at for axis, at in places)])

    def _fetched(self, field: str, age: int, now: ir.Expr) -> ir.Expr:
        """The row of a version that the band starts from which an advance fetches."""
        return BEGIN + now - self.tile.first_lag(field, age)

    def _moving(self, start: str, field: str, age: int) -> ir.Var:
        """A pointer to the thread's first cell of the row that is fetched or stored next, inside the grid."""
        pointer = ir.Pointer(self.site.dtype, const=start == "from")
        return ir.Var(joined(start, self.site.number(field), age), pointer)

    def _go_on(self, start: str, field: str, age: int) -> None:
        pointer = self._moving(start, field, age)
        self.b.set(pointer, pointer + stride(0))


def new_value(site: GpuSite, field: str, cell: Cell) -> ir.Var:
    """The new value of a thread's cell."""
    return ir.Var(joined(f"new{site.number(field)}_", cell), site.dtype)
