"""The fixed surroundings of a streaming kernel for GPUs: levels, rings on chip, names, and where cells lie."""

import itertools
import math
from dataclasses import dataclass

from tilewright.base.intmath import ceil_div, round_up
from tilewright.codegen import ir
from tilewright.codegen.gpu_site import GpuSite
from tilewright.programs.stencil import Statement
from tilewright.tilings import stream_block
from tilewright.tilings.gpu_schedule import GpuSchedule
from tilewright.tilings.pipeline import Growth, Pipeline

LEVELS, SOURCE, DEST = ir.Var("levels"), ir.Var("source"), ir.Var("target")
"""Numbers of a launch: steps of its band, slots of the versions that it starts from and ends with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the parts of a streaming kernel share.

    Attributes:
        site: The kernel's surroundings.
        schedule: The tiling, and what it leaves open.
        pipeline: Lags and growth.
        levels: Steps of a whole band.
        low: Cells that a tile of a whole band loads below its own, per axis.
        extent: Cells that it loads, per axis.
        depth: Rows of a ring.
        rings: Versions of each field that have a ring; 0 for fields that are read from memory.
        starts: Where a field's rings start on chip.
    """

    site: GpuSite
    schedule: GpuSchedule
    pipeline: Pipeline
    levels: int
    low: tuple[int, ...]
    extent: tuple[int, ...]
    depth: int
    rings: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def threads(self) -> tuple[int, ...]:
        """Threads per axis."""
        return self.schedule.threads

    @property
    def space(self) -> tuple[int, ...]:
        """Sizes of a tile."""
        return self.schedule.tiling.space

    @property
    def plane(self) -> int:
        """Values of one row of a ring."""
        return math.prod(self.extent[1:])

    @property
    def values(self) -> int:
        """Values on chip."""
        return sum(self.rings) * self.depth * self.plane

    @property
    def updated(self) -> tuple[str, ...]:
        """The fields that have rings."""
        return self.site.problem.program.updated

    @property
    def inner(self) -> range:
        """The axes that threads share."""
        return range(1, self.site.rank)

    @property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """The cells of a thread in a row, by turns per inner axis."""
        turns = [ceil_div(self.extent[axis], self.threads[axis]) for axis in self.inner]
        return tuple(itertools.product(*map(range, turns)))

    @property
    def columns(self) -> bool:
        """Whether threads keep the values of their own columns in registers."""
        return self.schedule.columns == "registers"

    def history(self, field: str) -> int:
        """Versions that a band starts from."""
        return self.pipeline.history[self.site.number(field)]

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
        return ir.sub(ir.Var("low0"), grown(below, left, stage)), ir.add(ir.Var("high0"), grown(above, left, stage))

    def span(self, axis: int, left: int, stage: int) -> tuple[int, int]:
        """Cells of an inner axis that it computes, counted from the first loaded one."""
        below, above = self.pipeline.below[axis], self.pipeline.above[axis]
        first = self.low[axis] - below.at(left, stage)
        return first, self.low[axis] + self.space[axis] + above.at(left, stage)

    def ring(self, field: str, version: ir.Expr) -> ir.Expr:
        """Index on chip of the first value of a version's ring."""
        number = self.site.number(field)
        slot = ir.add(version, self.history(field) - 1)
        return ir.add(ir.mul(slot, self.depth * self.plane), self.starts[number])

    def kept(self, field: str, version: int) -> bool:
        """Whether a version of a whole band has a ring."""
        return version + self.history(field) - 1 < self.rings[self.site.number(field)]

    def slot(self, row: ir.Expr) -> ir.Expr:
        """Row of a ring that holds a row of axis 0."""
        lag = self.pipeline.lag
        most = lag.period * self.levels + max(lag.offsets) + self.depth
        moved = ir.add(ir.sub(row, ir.Var("begin")), round_up(most, self.depth))
        return ir.mod(moved, self.depth)

    def memory(self, field: str, version: ir.Var, age: ir.Expr) -> ir.Expr:
        """Pointer to cell zero of the version ``age`` steps before one of the launch's."""
        copies = self.site.copies(field)
        if copies == 1:
            return self.site.version(field, ir.Int(0))
        return self.site.version(field, ir.mod(ir.add(ir.sub(version, age), copies), copies))


def grown(growth: Growth, steps: ir.Expr, stage: int) -> ir.Expr:
    """Return :meth:`Growth.at` as an expression."""
    return ir.add(ir.mul(steps, growth.period), growth.offsets[stage])


def make_plan(site: GpuSite, schedule: GpuSchedule) -> Plan:
    """Lay a streaming kernel out."""
    problem, tiling = site.problem, schedule.tiling
    levels = stream_block.whole_levels(tiling.time, stream_block.history(problem))
    pipeline = stream_block.of_block(problem)
    found = stream_block.rings(problem, levels)
    low, _ = stream_block.halo(pipeline, levels)
    extent = stream_block.loaded(problem, tiling.time, tiling.space)
    rings, depth = tuple(versions for versions, _ in found), max(rows for _, rows in found)
    plane = math.prod(extent[1:])
    return Plan(
        site=site,
        schedule=schedule,
        pipeline=pipeline,
        levels=levels,
        low=low,
        extent=extent,
        depth=depth,
        rings=rings,
        starts=tuple(sum(rings[:field]) * depth * plane for field in range(len(rings))),
    )
