"""The general kernel of streaming tiles for GPUs: bands of any length, every boundary, tested cell by cell.

A block computes a part of one of those tiles that the steady kernel does not. It advances row by row, level by level;
every version of a field that a band passes has a ring of rows on chip, and all indices are computed where they are
needed.
"""

import math

from tilewright.base.intmath import ceil_div, round_up
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import Cell, Kernel, NewCell, global_index, in_turn, unpack
from tilewright.codegen.gpu.streaming.tile import (
    ADVANCE,
    ADVANCES,
    BASE,
    BEGIN,
    DEST,
    LEVELS,
    SOURCE,
    StreamTile,
    own_tests,
)
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming import block as stream_block

_STEP, _FRONT = ir.Var("t"), ir.Var("front")
Span = tuple[ir.Expr, ir.Expr]


class GeneralKernel:
    """The kernel of the parts of tiles."""

    def __init__(self, whole: StreamTile, part: StreamTile) -> None:
        self.whole, self.tile, self.site, self.here = whole, part, part.site, part.site.places
        self.depth = stream_block.block_growth(self.site.problem).ring  # rows of a ring
        self.plane = math.prod(part.extent[1:])  # values of one of them

    def kernel(self, number: int) -> Kernel:
        """Make the kernel."""
        tile, whole = self.tile, self.whole
        values = sum(tile.kept_versions) * self.depth * self.plane
        b, entry = tile.begin(number, values, "any band, any edge")
        tile.name_threads(b, ir.THREAD)
        each = [ceil_div(size, part) for size, part in zip(whole.space, tile.space, strict=True)]
        counts: list[ir.Operand] = [0, *(ir.Var(f"tiles{axis}") * each[axis] for axis in tile.inner)]
        parts = unpack(b, ir.GROUP, self.site.axes("part"), counts)
        for axis, (part, size) in enumerate(zip(parts, tile.space, strict=True)):
            start = b.let(f"start{axis}", part / each[axis] * whole.space[axis])
            end = ir.smallest(start + whole.space[axis], extent(axis))
            tile.name_bounds(b, axis, start + part % each[axis] * size, end)
        self.b = ir.Builder()
        self._advances()
        body = self.b.statements()
        if whole.schedule.written:  # the steady kernel computes whole tiles of whole bands
            body = (ir.If(whole.whole_test("start"), (), body),)
        b.emit(*body)
        return b.function(), entry

    def _advances(self) -> None:
        b = self.b
        self.tile.name_advances(b)
        with b.loop(ADVANCE.name, 0, ADVANCES, unroll=1):
            b.let(_FRONT.name, BEGIN + ADVANCE)
            self._load()
            with b.loop(_STEP.name, 0, LEVELS, unroll=1):
                for stage in range(len(self.tile.stages)):
                    self._unit(stage)
            b.barrier()

    def _load(self) -> None:
        """Bring a row of every version that the band starts from."""
        b, tile, here = self.b, self.tile, self.here
        origins = {axis: ir.Var(f"origin{axis}") for axis in tile.inner}
        spans: list[Span] = [(origin, origin + tile.extent[axis]) for axis, origin in origins.items()]
        for field, age in tile.first_versions:
            with b.scope():
                b.let(here[0].name, _FRONT - tile.first_lag(field, age))
                with (
                    b.when(self._inside(tile.span(0, LEVELS + age, tile.stage_of(field)))),
                    in_turn(b, spans, tile.threads, 1),
                ):
                    value = tile.memory(field, SOURCE, age)[global_index(here)]
                    b.set(self._on_chip(field, ir.Int(-age), here), value)

    def _unit(self, stage: int) -> None:
        """One stage of the step ``t``."""
        b, tile = self.b, self.tile
        with b.scope():
            left = b.let("left", LEVELS - 1 - _STEP)
            b.let(self.here[0].name, _FRONT - tile.lag(_STEP, stage))
            spans = [tile.span(axis, left, stage) for axis in tile.inner]
            with b.when(self._inside(tile.span(0, left, stage))), in_turn(b, spans, tile.threads, 1):
                for statement in tile.stages[stage]:
                    self._cell(statement)

    def _inside(self, span: Span) -> ir.Expr:
        """Whether the row lies in a range and in the grid."""
        row = self.here[0]
        return (row >= ir.largest(span[0], 0)) & (row < ir.smallest(span[1], extent(0)))

    def _cell(self, statement: Statement) -> None:
        """One cell: computed where it is updated, else taken over from the version before."""
        b, site, tile, here, field = self.b, self.site, self.tile, self.here, statement.field
        target, own = self._on_chip(field, _STEP + 1, here), own_tests(here)
        age = LEVELS - (_STEP + 1)
        has_ring = _STEP + tile.history(field) < tile.kept_versions[site.number(field)]
        with b.when(site.in_bounds(statement, here)), b.scope():
            cell = NewCell(here, BASE + _STEP, ir.every(own))
            new = b.let("value", site.value(b, statement, self._read, cell))
            with b.when(has_ring):
                b.set(target, new)
            with b.when(ir.every([age < tile.history(field), *own])):
                b.set(tile.memory(field, DEST, age)[global_index(here)], new)
        with b.otherwise(), b.when(has_ring):
            b.set(target, self._on_chip(field, _STEP, here))

    def _read(self, node: Read) -> ir.Expr:
        def load(cell: Cell) -> ir.Expr:
            if node.field not in self.tile.updated:
                return self.site.field(node.field)[global_index(cell)]
            return self._on_chip(node.field, _STEP + node.level, cell)

        return self.site.guarded(node, self.here, load)

    def _on_chip(self, field: str, version: ir.Expr, cell: Cell) -> ir.Expr:
        """A cell in the ring of a version, by its indices in the grid."""
        tile, depth, lag = self.tile, self.depth, self.tile.pipeline.lag
        most = lag.period * tile.levels + max(lag.offsets) + depth
        index = (cell[0] - BEGIN + round_up(most, depth)) % depth
        for axis in tile.inner:
            index = index * tile.extent[axis] + (cell[axis] - ir.Var(f"origin{axis}"))
        each = depth * self.plane
        start = sum(tile.kept_versions[: self.site.number(field)]) * each
        return self.site.shared[(version + (tile.history(field) - 1)) * each + start + index]
