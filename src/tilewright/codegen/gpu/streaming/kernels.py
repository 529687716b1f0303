"""GPU kernels of streaming tiles (N.5D): a group streams along axis 0, all time levels of a band one behind the other.

A group owns a tile that overlaps its neighbours on every axis but the first. It advances along axis 0 by a row (2D) or
a plane (3D) at a time: brings the next one of the band's first versions, computes one of every level, and writes one of
the last. Whatever a level reads of other threads was computed in an earlier advance, so that one barrier after an
advance is enough. Fields that are never updated are read from memory.

The steady kernel (:mod:`tilewright.codegen.gpu.streaming.steady`) computes bands, in tiles where no read leaves the
grid but at ``fixed`` edges. The general one computes the tiles at other edges in smaller tiles, cell by cell with
tests, and all of them where a steady one would be too long. Steps that make up no band are swept
(:mod:`tilewright.codegen.gpu.sweep`). The general kernel advances row by row, level by level; every version
of a field that a band passes has a ring of rows on chip, and all indices are computed where they are needed.

Source: Matsumura et al., "AN5D: automated stencil framework for high-degree temporal blocking on GPUs" (CGO 2020), for
the scheme; a single barrier per advance is ours. Threads that own cells side by side: Zhang et al., "Revisiting
temporal blocking stencil optimizations" (EBISU, ICS 2023).
"""

import math
from collections.abc import Iterator

from tilewright.base.intmath import ceil_div, round_up
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import Cell, GpuSite, Kernel, Launch, NewCell, dated, global_index, in_turn, unpack
from tilewright.codegen.gpu.streaming.steady import SteadyKernel
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
from tilewright.codegen.gpu.sweep import sweep_kernels, sweep_launches
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block


def kept(problem: Problem) -> tuple[int, ...]:
    """Return the versions that are kept of every field: two sets that a band reads and writes in turn."""
    program, ring = problem.program, 2 * stream_block.block_growth(problem).most_versions
    return tuple(ring if field in program.updated else 1 for field in program.fields)


def stream_kernels(site: GpuSite, schedule: GpuSchedule) -> tuple[Kernel, ...]:
    """Make the kernels of a streaming tiling.

    The steady one, where everything may be written out; the general one, where tiles need it; and those of a sweep.
    """
    problem, space = site.problem, schedule.tiling.space
    block = stream_block.tile_of(problem, schedule.tiling)
    tile = StreamTile(site, schedule, block.growth.pipeline, space, block.low)
    kernels = [SteadyKernel(tile).kernel(0)] if schedule.written else []
    if _general(problem, schedule):
        part = StreamTile(site, schedule, block.growth.general, block.parts)
        kernels.append(GeneralKernel(tile, part).kernel(len(kernels)))
    if schedule.rest:
        kernels += sweep_kernels(site, schedule.rest, len(kernels), BASE if dated(problem) else None)
    return tuple(kernels)


def stream_launches(problem: Problem, schedule: GpuSchedule, steps: int, slot: int) -> Iterator[Launch]:
    """Yield the launches of every band, for some steps that start with the version in a slot."""
    tiling, steady, general = schedule.tiling, int(schedule.written), int(_general(problem, schedule))
    tiles = [ceil_div(n, size) for n, size in zip(problem.shape, tiling.space, strict=True)]
    block = stream_block.tile_of(problem, tiling)
    parts = math.prod(ceil_div(size, part) for size, part in zip(tiling.space, block.parts, strict=True))
    step = 0
    for band in stream_block.bands(steps, tiling.time, block.growth.most_versions, slot):
        base = [step] if dated(problem) else []
        if band.levels == tiling.time:
            numbers = (band.levels, band.source, band.target, *tiles[1:], *base)
            if steady:
                yield Launch(0, math.prod(tiles), numbers)
            if general:
                yield Launch(steady, parts * math.prod(tiles), numbers)
        elif schedule.rest:
            for each in sweep_launches(problem, schedule.rest, 1):
                yield Launch(steady + general + each.kernel, each.groups, (band.source, *base))
        step += band.levels


def _general(problem: Problem, schedule: GpuSchedule) -> bool:
    """Whether some tiles need the general kernel."""
    return not schedule.written or bool(stream_block.block_growth(problem).bent)


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
        b, entry = tile.begin(number, values, "any edge")
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
