"""A streaming kernel's tile for GPUs: its levels, what it loads, where it lies, and which tiles need no test."""

import functools
import itertools
import math
from collections.abc import Sequence

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite, dated, unpack
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.weights import linear_sum
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.levels import LevelGrowth
from tilewright.schedules.streaming.rims import age_of

BASE = ir.Var("base")  # the step with which a band starts: a number of launches whose kernels look up what is a step's
SOURCE, DEST = ir.Var("source"), ir.Var("target")
"""Numbers of a launch: slots of the versions that its band starts from and ends with."""
BEGIN, ADVANCES, ADVANCE = ir.Var("begin"), ir.Var("advances"), ir.Var("k")
"""The first row of axis 0 at which a tile starts, its advances, one per row, and the number of one."""


def own_tests(at: Sequence[ir.Expr]) -> list[ir.Expr]:
    """Tests of whether a cell, by its indices in the grid, is one of the tile's own."""
    ends = [(place, ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis, place in enumerate(at)]
    return [test for place, low, high in ends for test in (place >= low, place < high)]


class StreamTile:
    """A tile of a streaming kernel."""

    def __init__(
        self,
        site: GpuSite,
        schedule: GpuSchedule,
    ) -> None:
        program = site.problem.program
        block = stream_block.tile_of(site.problem, schedule.tiling)
        space = block.space
        self.site, self.schedule, self.growth, self.pipeline = site, schedule, block.growth, block.growth.pipeline
        self.space = space  # own cells per axis
        self.levels = block.levels  # steps of a band
        self.inner = range(1, site.rank)  # the axes that threads share
        self.threads = schedule.threads[1:]  # per inner axis
        self.updated = program.updated  # the fields that a block keeps
        self.stages = site.stages
        self.units = list(itertools.product(range(self.levels), range(len(self.stages))))  # steps and stages in order
        self.extent = block.loaded  # cells that it loads, per axis
        # Cells that it loads below its own, per axis; on inner axes perhaps more than it needs.
        self.low = (self.pipeline.halo(self.levels)[0][0], *block.low)
        # Versions of each field kept on the way; 0 for fields that are read from memory.
        self.kept_versions = block.growth.kept(self.levels)
        # The versions that a band starts from, by field and age.
        self.first_versions = [(field, age) for field in self.updated for age in range(self.history(field))]
        # Those of them that it computes for the next band.
        self.last_versions = [(field, age) for field, age in self.first_versions if age < self.levels]
        cells = block.cells
        self.rims = rims = block.rims  # what threads hand to each other
        # A thread's cells and lines of cells, as their distances to its first one, and the cells of all threads.
        self.cells = list(itertools.product(*map(range, cells)))
        # Cells below and above along these axes that statements do not update.
        self.margins = list(dict.fromkeys(site.problem.margins(each)[1:] for each in program.statements))
        self.lines = list(itertools.product(*map(range, cells[:-1])))
        self.covered = [count * size for count, size in zip(self.threads, cells, strict=True)]
        # Values along the last axis that threads load and store together, always from a multiple of them on, and how
        # rows pass through the chip where a thread has more of them.
        self.vector, self.passage = block.vector, block.passage if block.passage.needed else None
        self.rows_passing = int(block.passage.rows) if block.passage.needed else 1
        self.chip_values = block.chip_values
        self.rim_values = block.rim_values  # behind them lie rows that pass through the chip
        # Weights of what rows add to several results each; nothing where the order of operations is kept.
        self.sums = () if site.strict else rims.sums
        # Weights of a program's only value, where its newest row is added to a sum of all others; else None.
        ordered = not rims.taken or site.strict or site.dtype.is_integer
        self.weights = None if ordered else linear_sum(program.statements[0].tape)

    def together(self, axis: int) -> int:
        """Cells of a thread along an inner axis all of which are a tile's own, or none."""
        cells = self.rims.cells[axis - 1]
        if self.low[axis] % cells == 0 and self.space[axis] % cells == 0:
            return cells
        return self.vector if axis == self.site.rank - 1 else 1

    def history(self, field: str) -> int:
        """Versions that a band starts from."""
        return self.pipeline.history[self.site.number(field)]

    def versions(self, field: str) -> range:
        """Versions of a whole band that are kept on the way."""
        first = 1 - self.history(field)
        return range(first, first + self.kept_versions[self.site.number(field)])

    def stage_of(self, field: str) -> int:
        """The stage that computes a field."""
        return self.pipeline.stage_of[self.site.number(field)]

    def first_lag(self, field: str, age: int) -> int:
        """Rows by which a version that the band starts from comes behind."""
        return self.pipeline.lag.at(-1 - age, self.stage_of(field))

    def age(self, stage: int, read: Read) -> int:
        """Advances since the row was computed that a stage reads."""
        return age_of(self.pipeline, stage, self.stage_of(read.field), read.level, read.offset[0])

    def lag(self, step: ir.Expr, stage: int) -> ir.Expr:
        """Rows by which a unit runs behind."""
        return _grown(self.pipeline.lag, step, stage)

    def span(self, axis: int, left: ir.Expr, stage: int) -> tuple[ir.Expr, ir.Expr]:
        """Cells of an axis that a unit with ``left`` steps to come computes, cut by no grid."""
        below, above = self.pipeline.below[axis], self.pipeline.above[axis]
        low, high = ir.Var(f"low{axis}"), ir.Var(f"high{axis}")
        return low - _grown(below, left, stage), high + _grown(above, left, stage)

    def memory(self, field: str, version: ir.Var, age: ir.Expr | int) -> ir.Expr:
        """Pointer to cell zero of the version ``age`` steps before one of the launch's."""
        layout = self.site.layout(field)
        return layout.version(0, version - age + layout.copies)

    # The kernel's text.

    def begin(self, number: int, values: int) -> tuple[ir.Builder, EntryPoint]:
        """Begin a kernel."""
        tiles = (f"tiles{axis}" for axis in range(self.site.rank))
        base = [BASE.name] if dated(self.site.problem) else []
        numbers = (SOURCE.name, DEST.name, *tiles, *base)
        b, entry = self.site.begin(number, math.prod(self.schedule.threads), numbers, values)
        b.comment(f"streaming tiles, {self.schedule.tiling}: {self.levels} levels")
        b.comment(f"Strides of rows and slots are multiples of {self.growth.lanes} values.")
        return b, entry

    def name_threads(self, b: ir.Builder, thread: ir.Expr) -> None:
        """Name a thread's place in its block."""
        unpack(b, thread, [f"i{axis}" for axis in self.inner], self.threads)

    def name_bounds(self, b: ir.Builder, axis: int, low: ir.Expr, end: ir.Expr) -> None:
        """Name a block's own cells along an axis, and the first one that it loads."""
        first = b.let(f"low{axis}", low)
        b.let(f"high{axis}", ir.smallest(first + self.space[axis], end))
        if axis:
            b.let(f"origin{axis}", first - self.low[axis])

    def name_advances(self, b: ir.Builder) -> None:
        """Name the first row of axis 0 at which a tile starts, and the number of advances."""
        starts, ends = [], []
        for field, age in self.first_versions:
            low = self.span(0, ir.Int(self.levels + age), self.stage_of(field))[0]
            starts.append(ir.largest(low, 0) + self.first_lag(field, age))
        for stage in range(len(self.pipeline.stages)):
            high = ir.smallest(self.span(0, ir.Int(0), stage)[1], extent(0))
            ends.append(high + self.lag(ir.Int(self.levels - 1), stage))
        begin = b.let(BEGIN.name, functools.reduce(ir.smallest, starts))
        b.let(ADVANCES.name, functools.reduce(ir.largest, ends) - begin)

    def sides(self, axis: int) -> ir.Expr:
        """How many tiles along an inner axis load beyond the grid."""
        # As :func:`tilewright.costs.work.streaming._grid` counts them.
        count, low, size = ir.Var(f"tiles{axis}"), self.low[axis], self.space[axis]
        below = ceil_div(low, size)
        inside = (extent(axis) - (self.covered[axis - 1] - low)) / size + (1 - below)
        return count - ir.largest(0, ir.smallest(inside, count - below))

    def inner_test(self) -> ir.Expr:
        """Whether every cell that counts is updated and all loads lie in the grid, along the inner axes."""
        return ir.every(test for axis in self.inner for test in self._within(axis))

    def _within(self, axis: int) -> tuple[ir.Expr, ir.Expr]:
        """Whether all that a tile loads along an axis lies in the grid."""
        low = ir.Var(f"low{axis}")
        return low >= self.low[axis], low + (self.covered[axis - 1] - self.low[axis]) <= extent(axis)


def _grown(growth: LevelGrowth, steps: ir.Expr, stage: int) -> ir.Expr:
    """:meth:`LevelGrowth.at` as an expression."""
    return steps * growth.period + growth.offsets[stage]
