"""The fixed surroundings of a streaming kernel for GPUs: levels, what a tile loads, and names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import linear_sum
from tilewright.schedules.schedule import GpuSchedule
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.levels import LevelGrowth, LevelPipeline
from tilewright.schedules.streaming.rims import Rims

BASE = ir.Var("base")
"""The step with which a band starts: a number of launches whose kernels look up what is a step's."""
LEVELS, SOURCE, DEST = ir.Var("levels"), ir.Var("source"), ir.Var("target")
"""Numbers of a launch: steps of its band, slots of the versions that it starts from and ends with."""


def own_tests(at: Sequence[ir.Expr]) -> tuple[ir.Expr, ...]:
    """Tests of whether a cell, by its indices in the grid, is one of the tile's own."""
    ends = [(place, ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis, place in enumerate(at)]
    return tuple(test for place, low, high in ends for test in (place >= low, place < high))


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuStreamingContext:
    """Everything that the parts of a streaming kernel share."""

    site: GpuSite
    schedule: GpuSchedule  # the tiling, and what it leaves open
    pipeline: LevelPipeline  # lags and growth
    levels: int  # steps of a whole band
    space: tuple[int, ...]  # own cells of a block per axis
    # cells that a tile of a whole band loads below its own, per axis; on inner axes perhaps more than it needs
    low: tuple[int, ...]
    extent: tuple[int, ...]  # cells that it loads, per axis
    # versions of each field kept on the way; 0 for fields that are read from memory
    kept_versions: tuple[int, ...]
    rims: Rims  # what threads hand to each other

    @property
    def threads(self) -> tuple[int, ...]:
        """Threads per axis."""
        return self.schedule.threads

    @property
    def covered(self) -> tuple[int, ...]:
        """Cells that the threads own together, per inner axis: those of the extent, and more."""
        return tuple(count * cells for count, cells in zip(self.threads[1:], self.rims.cells, strict=True))

    @property
    def vector(self) -> int:
        """Values along the last axis that threads load and store together, always from a multiple of them on."""
        return math.gcd(self.rims.lanes, self.rims.cells[-1], self.low[-1], self.space[-1])

    def together(self, axis: int) -> int:
        """Cells of a thread along an inner axis all of which are a tile's own, or none."""
        cells = self.rims.cells[axis - 1]
        if self.low[axis] % cells == 0 and self.space[axis] % cells == 0:
            return cells
        return self.vector if axis == self.site.rank - 1 else 1

    @property
    def sums(self) -> tuple[tuple[Read, float], ...]:
        """Weights of what rows add to several results each; nothing where the order of operations is kept."""
        return () if self.site.strict else self.rims.sums

    @property
    def weights(self) -> dict[Read, float] | None:
        """Weights of a program's only value, where its newest row is added to a sum of all others; else None."""
        if not self.rims.taken or self.site.strict or self.site.dtype.is_integer:
            return None
        return linear_sum(self.site.problem.program.statements[0].tape)

    @property
    def values(self) -> int:
        """Values on chip of the steady loop."""
        return self.rims.values(self.kept_versions, self.threads[1:])

    @property
    def starts(self) -> tuple[int, ...]:
        """Where a field's rims start on chip."""
        each = [
            self.rims.values(
                tuple(count if i == field else 0 for i, count in enumerate(self.kept_versions)), self.threads[1:]
            )
            for field in range(len(self.kept_versions))
        ]
        return tuple(sum(each[:field]) for field in range(len(each)))

    @property
    def updated(self) -> tuple[str, ...]:
        """The fields that a block keeps."""
        return self.site.problem.program.updated

    @property
    def inner(self) -> range:
        """The axes that threads share."""
        return range(1, self.site.rank)

    def history(self, field: str) -> int:
        """Versions that a band starts from."""
        return self.pipeline.history[self.site.number(field)]

    def versions(self, field: str) -> range:
        """Versions of a whole band that are kept on the way."""
        first = 1 - self.history(field)
        return range(first, first + self.kept_versions[self.site.number(field)])

    def kept(self, field: str, version: int) -> bool:
        """Whether a version of a whole band is kept."""
        return version in self.versions(field)

    def stage_of(self, field: str) -> int:
        """The stage that computes a field."""
        return self.pipeline.stage_of[self.site.number(field)]

    def statements(self, stage: int) -> tuple[Statement, ...]:
        """The statements of a stage."""
        return tuple(self.site.problem.program.statements[i] for i in self.pipeline.stages[stage])

    def lag(self, step: ir.Expr, stage: int) -> ir.Expr:
        """Rows by which a unit runs behind."""
        return grown(self.pipeline.lag, step, stage)

    def span0(self, left: ir.Expr, stage: int) -> tuple[ir.Expr, ir.Expr]:
        """Rows of axis 0 that a unit with ``left`` steps to come computes, cut by no grid."""
        below, above = self.pipeline.below[0], self.pipeline.above[0]
        return ir.Var("low0") - grown(below, left, stage), ir.Var("high0") + grown(above, left, stage)

    def memory(self, field: str, version: ir.Var, age: ir.Expr) -> ir.Expr:
        """Pointer to cell zero of the version ``age`` steps before one of the launch's."""
        copies = self.site.copies(field)
        if copies == 1:
            return self.site.version(field, ir.Int(0))
        return self.site.version(field, (version - age + copies) % copies)


def grown(growth: LevelGrowth, steps: ir.Expr, stage: int) -> ir.Expr:
    """Return :meth:`LevelGrowth.at` as an expression."""
    return steps * growth.period + growth.offsets[stage]


def make_plan(
    site: GpuSite,
    schedule: GpuSchedule,
    pipeline: LevelPipeline,
    space: tuple[int, ...],  # own cells of a block per axis
    low: tuple[int, ...] = (),  # cells that it loads below its own, per inner axis; empty: as many as it needs
) -> GpuStreamingContext:
    """Lay a streaming kernel out."""
    problem, tiling = site.problem, schedule.tiling
    levels = stream_block.whole_levels(tiling.time, stream_block.history(problem))
    extent = stream_block.loaded(problem, tiling.time, space)
    cells = tuple(ceil_div(size, count) for size, count in zip(extent[1:], schedule.threads[1:], strict=True))
    halo, _ = stream_block.halo(pipeline, levels)
    return GpuStreamingContext(
        site=site,
        schedule=schedule,
        pipeline=pipeline,
        levels=levels,
        space=space,
        low=(halo[0], *(low or halo[1:])),
        extent=extent,
        kept_versions=tuple(versions for versions, _ in stream_block.rings(problem, levels)),
        rims=stream_block.rims_of(problem, cells),
    )
