"""The fixed surroundings of a streaming kernel: sizes, places of rows in a thread's memory, names.

Memory of a thread, per field: *persistent* slabs, which outlive an advance (two sets per version, used in turn), and
*passing* slabs, which only the next versions of the same advance read (one set per version in use). A slab is a row in
2D and a plane in 3D; rows are lifted (see :func:`tilewright.codegen.print.c_prelude.lift_helpers`).
"""

from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.codegen.layouts import Packed
from tilewright.codegen.sites import Site, packed_layout
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.expression import Placed
from tilewright.schedules.catalogue import complete
from tilewright.schedules.streaming.levels import LevelPipeline, line_cells, of_problem
from tilewright.schedules.tiling import Tiling

GX, GY, N, X0, X1 = ir.Var("gx"), ir.Var("gy"), ir.Var("n"), ir.Var("x0"), ir.Var("x1")
LINE = ir.Var("line")
PITCH, SLAB, VECTORS, EDGE = ir.Var("pitch"), ir.Var("slab"), ir.Var("vectors"), ir.Var("edge")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamingContext:
    """What the parts of a streaming kernel share; axes count as in :mod:`tilewright.schedules.streaming.levels`."""

    site: Site
    pipeline: LevelPipeline
    levels: int  # most steps of a band
    rows: int  # cells of axis 0 per advance
    space: tuple[int, ...]  # tile sizes per axis
    halo: tuple[tuple[int, int], ...]  # per axis, cells that a tile holds beyond its own, below and above
    width: int  # cells of a lifted row, a multiple of a cache line
    variant: str = ""  # end of the names of the stages' functions, where these are written for some tiles alone

    @property
    def rank(self) -> int:
        """Number of axes, at least 2."""
        return len(self.space)

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field."""
        return self.site.problem.program.fields

    @property
    def reach(self) -> tuple[int, int]:
        """How far reads extend along the innermost axis, below and above."""
        return self.site.problem.program.reach[-1]

    @property
    def sides(self) -> int:
        """Versions in each of the two sets of slots that bands read and write in turn."""
        return max(self.pipeline.history)

    @property
    def lines(self) -> int:
        """Rows of a slab: 1 in 2D."""
        return self.space[1] + sum(self.halo[1]) if self.rank == 3 else 1

    @property
    def widest(self) -> int:
        """Cells of a row that may be touched where it is transposed: squares of lanes, where vectors are longest."""
        unit = line_cells(self.site.problem)
        return max(self.width, unit * unit)

    def passing(self, field: int) -> int:
        """Passing slabs of one version."""
        return self.rows - self.pipeline.keep[field]

    def persistent_sets(self, field: int) -> int:
        """Versions with persistent slabs: those a band starts from and those it computes."""
        return self.pipeline.history[field] + self.levels

    def slabs(self, field: int) -> int:
        """Slabs of a field in all."""
        kept = 2 * self.persistent_sets(field) * self.pipeline.keep[field]
        return kept + self.pipeline.versions[field] * self.passing(field)

    @property
    def scratch_bytes(self) -> int:
        """Upper bound on a thread's memory, for any vector length."""
        slab = self.lines * (self.widest * self.site.problem.itemsize + (sum(self.reach) + 2) * CACHE_LINE)
        total = sum(self.slabs(field) for field in range(len(self.fields))) * slab
        rows = 2 + len(self.lifted)
        return round_up(total + rows * self.widest * self.site.problem.itemsize + 64 * CACHE_LINE, 4096)

    @property
    def lifted(self) -> tuple[Placed, ...]:
        """What depends on the place along the innermost axis alone: a tile has a lifted row of each."""
        return tuple(node for node in self.site.problem.program.placed if node.axis == self.site.rank - 1)

    @property
    def margin(self) -> int:
        """Cells beyond the ends of an axis of which a tile computes something, or holds something."""
        return self.widest + self.rows + max(map(max, self.halo)) + max(map(max, self.site.problem.program.reach))

    def boundary(self, field: int, axis: int) -> tuple[Boundary, Boundary]:
        """The sides of a field along an axis."""
        sides = self.site.problem.boundaries[field]
        at = axis - (self.rank - len(sides))
        return sides[at] if at >= 0 else (Boundary(), Boundary())

    def frame(self, field: int, axis: int) -> tuple[int, int]:
        """Cells at both ends of an axis that keep their values."""
        problem, at = self.site.problem, axis - (self.rank - self.site.rank)
        found = (problem.margins(each)[at] for each in problem.program.statements if each.field == self.fields[field])
        return next(found, (0, 0)) if at >= 0 else (0, 0)

    def lag(self, producer: int, consumer: int, steps: int) -> int:
        """How far a consumer runs behind what it reads, on axis 0."""
        return self.pipeline.lag.at(steps, consumer) - self.pipeline.lag.offsets[producer]

    def part(self, field: int) -> Packed | None:
        """What is found in memory of a field that lives in a subdomain; a tile holds it whole."""
        name = self.fields[field]
        return packed_layout(self.site, name) if name in dict(self.site.storage.subdomains) else None

    def name(self, part: str) -> str:
        """Name of a function."""
        return f"{self.site.prefix}_{part}"


def make_plan(site: Site, tiling: Tiling) -> StreamingContext:
    """Lay a streaming kernel out."""
    problem = site.problem
    whole = complete(problem, tiling)
    pipeline = of_problem(problem)
    space = whole.space if site.rank > 1 else (1, *whole.space)
    halo = []
    steps = whole.time + max(pipeline.history) - 1
    for axis in range(len(space)):
        low = max(pipeline.below[axis].at(steps, stage) for stage in range(len(pipeline.stages)))
        high = max(pipeline.above[axis].at(steps, stage) for stage in range(len(pipeline.stages)))
        halo.append(
            (max(low, *(g[axis][0] for g in pipeline.ghosts)), max(high, *(g[axis][1] for g in pipeline.ghosts)))
        )
    unit = line_cells(problem)
    width = round_up(round_up(space[-1], unit) + sum(halo[-1]), unit)
    return StreamingContext(
        site=site,
        pipeline=pipeline,
        levels=whole.time,
        rows=whole.rows or 1,
        space=space,
        halo=tuple(halo),
        width=width,
    )


def lanes(plan: StreamingContext) -> ir.Lanes:
    """Lanes of a vector."""
    return ir.Lanes(plan.site.dtype)


def row_width(plan: StreamingContext) -> ir.Expr:
    """Cells of a lifted row."""
    return ir.Int(plan.width)


def sizes(plan: StreamingContext) -> tuple[ir.Stmt, ...]:
    """Name the sizes of rows: vectors of a row, distance of rows (an odd number of vectors), distance of slabs."""
    vectors = row_width(plan) / lanes(plan)
    whole = VECTORS + sum(plan.reach) | 1
    lets: list[ir.Stmt] = [ir.Let(VECTORS, vectors), ir.Let(PITCH, whole * lanes(plan))]
    return (*lets, ir.Let(SLAB, PITCH * plan.lines))


def place(relative: ir.Expr) -> ir.Expr:
    """Where a cell lies in a lifted row, by its distance from the row's first cell."""
    return mul_vector(relative % VECTORS) + relative / VECTORS


def mul_vector(number: ir.Expr) -> ir.Expr:
    """A number of vectors, in elements."""
    return ir.op(ir.Operator.MUL, number, ir.Var("V"))


@dataclass(frozen=True, slots=True)
class Slabs:
    """Names of the three parts of one version of a field."""

    field: int
    passing: ir.Var
    fresh: ir.Var
    older: ir.Var

    @property
    def params(self) -> tuple[ir.Var, ir.Var, ir.Var]:
        """The names, as parameters or arguments."""
        return (self.passing, self.fresh, self.older)


def slabs(plan: StreamingContext, field: int, tag: str, *, write: bool = False) -> Slabs:
    """Name one version of a field."""
    kind = ir.Pointer(plan.site.dtype, const=not write)
    name = f"{plan.fields[field]}_{tag}"
    return Slabs(field, ir.Var(f"{name}_passing", kind), ir.Var(f"{name}_fresh", kind), ir.Var(f"{name}_older", kind))


def slab_at(plan: StreamingContext, version: Slabs, position: int) -> ir.Expr:
    """The slab at a position known now: 0 is the first of this advance, negative ones are of the one before."""
    keep, passing = plan.pipeline.keep[version.field], plan.passing(version.field)
    if position < 0:
        return version.older + SLAB * (position + keep)
    if position < passing:
        return version.passing + SLAB * position
    return version.fresh + SLAB * (position - passing)


def slab_somewhere(plan: StreamingContext, version: Slabs, position: ir.Expr) -> ir.Expr:
    """The slab at a position known when the kernel runs."""
    keep, passing = plan.pipeline.keep[version.field], plan.passing(version.field)
    old = version.older + ir.op(ir.Operator.MUL, position + keep, SLAB)
    new = version.passing + ir.op(ir.Operator.MUL, position, SLAB)
    if keep:
        kept = version.fresh + ir.op(ir.Operator.MUL, position - passing, SLAB)
        new = ir.select(position < passing, new, kept) if passing else kept
        return ir.select(position < 0, old, new)
    return new


def parts(extent: ir.Expr, size: int, unit: int) -> ir.Expr:
    """Number of tiles along an axis; cut as by :func:`tilewright.schedules.families.streaming.geometry`."""
    units = extent if unit == 1 else ir.ceildiv(extent, unit)
    return ir.ceildiv(units, max(1, size // unit))


def cut(extent: ir.Expr, count: ir.Expr, index: ir.Expr, unit: int) -> ir.Expr:
    """Start of a tile along an axis."""
    units = extent if unit == 1 else ir.ceildiv(extent, unit)
    start = ir.op(ir.Operator.MUL, units, index) / count * unit
    return start if unit == 1 else ir.smallest(start, extent)
