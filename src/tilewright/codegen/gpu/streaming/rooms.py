"""Where the steady loop of a streaming kernel keeps values: a thread's registers, the chip, and their names.

A row's place in registers is a number of its array's name, since as many advances as rows are in use are written out; a
place on chip is a number next to the thread's own.
"""

import math
from collections.abc import Mapping

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal
from tilewright.codegen.gpu.streaming.tile import StreamTile
from tilewright.schedules.streaming.rims import Cell

PLACE = ir.Var("place")
"""A thread's place among the threads' places on chip."""


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
        self.values = tile.rims.values(tile.kept_versions, tile.threads)  # of all of them

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
        if self.values:
            count = math.prod(tile.schedule.threads)
            with b.loop("place_on_chip", ir.THREAD, self.values, count, unroll=1) as place:
                b.set(self.site.shared[place], zero)
            b.barrier()

    def _fill(self, b: ir.Builder, name: ir.Var, value: ir.Expr) -> None:
        for row in range(self.rims.rows):
            b.set(name[row], value)

    def chip(self, field: str, version: int, slot: int, place: tuple[int, int], thread: Cell) -> ir.Expr:
        """The value on chip of a thread, so many threads away: by its group and its place in it."""
        (group, lane), rims, number = place, self.rims, self.site.number(field)
        kept = self._kept(field, version) * rims.chip_rows + slot % rims.chip_rows
        groups = rims.published[number]
        first = self.starts[number] + kept * rims.row(number, self.tile.threads)
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
