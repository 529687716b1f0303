"""The fixed surroundings of a streaming kernel: sizes, places of rows in a thread's memory, names.

Memory of a thread, per field: *persistent* slabs, which outlive an advance (two sets per version, used in turn), and
*passing* slabs, which only the next versions of the same advance read (one set per version in use). A slab is a row in
2D and a plane in 3D; rows are lifted (see :mod:`tilewright.codegen.c_lift`).
"""

from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen.ir import Expr, Int, Let, Op, Stmt, Var, add, mul, select, sub
from tilewright.codegen.sites import Site, box_bounds
from tilewright.programs.problem import Boundary
from tilewright.tilings.catalogue import complete
from tilewright.tilings.pipeline import Pipeline, line_cells, of_problem
from tilewright.tilings.tiling import Tiling

GX, GY, N, X0, X1 = Var("gx"), Var("gy"), Var("n"), Var("x0"), Var("x1")
PITCH, SLAB, VECTORS, EDGE = Var("pitch"), Var("slab"), Var("vectors"), Var("edge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the parts of a streaming kernel share; axes count as in :mod:`tilewright.tilings.pipeline`.

    Attributes:
        site: The kernel's surroundings.
        pipeline: The pipeline.
        levels: Most steps of a band.
        rows: Cells of axis 0 per advance.
        space: Tile sizes per axis.
        halo: Per axis, cells that a tile holds beyond its own, below and above.
        width: Cells of a lifted row that are needed, a multiple of a cache line; see :func:`row_width`.
    """

    site: Site
    pipeline: Pipeline
    levels: int
    rows: int
    space: tuple[int, ...]
    halo: tuple[tuple[int, int], ...]
    width: int

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
        """Cells of a lifted row where vectors are longest: as many vectors as lanes, for the transposition."""
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
        return round_up(total + 2 * self.widest * self.site.problem.itemsize + 64 * CACHE_LINE, 4096)

    def boundary(self, field: int, axis: int) -> tuple[Boundary, Boundary]:
        """The sides of a field along an axis."""
        sides = self.site.problem.boundaries[field]
        at = axis - (self.rank - len(sides))
        return sides[at] if at >= 0 else (Boundary(), Boundary())

    def frame(self, field: int, axis: int) -> tuple[int, int]:
        """Cells at both ends of an axis that keep their values."""
        for statement in self.site.problem.program.statements:
            if statement.field == self.fields[field]:
                at = axis - (self.rank - self.site.rank)
                if at < 0:
                    return (0, 0)
                low, high = box_bounds(self.site, statement)[at]
                above = high.args[1].value if isinstance(high, Op) and isinstance(high.args[1], Int) else 0
                return (low.value if isinstance(low, Int) else 0, above)
        return (0, 0)

    def lag(self, producer: int, consumer: int, steps: int) -> int:
        """How far a consumer runs behind what it reads, on axis 0."""
        return self.pipeline.lag.at(steps, consumer) - self.pipeline.lag.offsets[producer]

    def name(self, part: str) -> str:
        """Name of a function."""
        return f"{self.site.prefix}_{part}"


def make_plan(site: Site, tiling: Tiling) -> Plan:
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
    return Plan(
        site=site,
        pipeline=pipeline,
        levels=whole.time,
        rows=whole.rows or 1,
        space=space,
        halo=tuple(halo),
        width=width,
    )


def lanes(plan: Plan) -> Var:
    """Lanes of a vector."""
    return Var(f"LANES:{plan.site.dtype}")


def row_width(plan: Plan) -> Expr:
    """Cells of a lifted row: what is needed, but as many vectors as they have lanes."""
    if plan.width == plan.widest:
        return Int(plan.width)
    return Op("max", (Int(plan.width), Op("mul", (lanes(plan), lanes(plan)))))


def sizes(plan: Plan) -> tuple[Stmt, ...]:
    """Name the sizes of rows: vectors of a row, distance of rows (an odd number of vectors), distance of slabs."""
    vectors = Op("div", (row_width(plan), lanes(plan)))
    whole = Op("or", (add(VECTORS, sum(plan.reach)), Int(1)))
    lets: list[Stmt] = [Let(VECTORS, vectors), Let(PITCH, mul(whole, lanes(plan)))]
    return (*lets, Let(SLAB, mul(PITCH, plan.lines)))


def place(relative: Expr) -> Expr:
    """Where a cell lies in a lifted row, by its distance from the row's first cell."""
    return add(mul_vector(Op("mod", (relative, VECTORS))), Op("div", (relative, VECTORS)))


def mul_vector(number: Expr) -> Expr:
    """A number of vectors, in elements."""
    return Op("mul", (number, Var("V")))


@dataclass(frozen=True, slots=True)
class Slabs:
    """Names of the three parts of one version of a field."""

    field: int
    passing: Var
    fresh: Var
    older: Var

    @property
    def params(self) -> tuple[Var, Var, Var]:
        """The names, as parameters or arguments."""
        return (self.passing, self.fresh, self.older)


def slabs(plan: Plan, field: int, tag: str, *, write: bool = False) -> Slabs:
    """Name one version of a field."""
    kind = f"{'pointer' if write else 'array'}:{plan.site.dtype}"
    name = f"{plan.fields[field]}_{tag}"
    return Slabs(field, Var(f"{name}_passing", kind), Var(f"{name}_fresh", kind), Var(f"{name}_older", kind))


def slab_at(plan: Plan, version: Slabs, position: int) -> Expr:
    """The slab at a position known now: 0 is the first of this advance, negative ones are of the one before."""
    keep, passing = plan.pipeline.keep[version.field], plan.passing(version.field)
    if position < 0:
        return add(version.older, mul(SLAB, position + keep))
    if position < passing:
        return add(version.passing, mul(SLAB, position))
    return add(version.fresh, mul(SLAB, position - passing))


def slab_somewhere(plan: Plan, version: Slabs, position: Expr) -> Expr:
    """The slab at a position known when the kernel runs."""
    keep, passing = plan.pipeline.keep[version.field], plan.passing(version.field)
    old = add(version.older, Op("mul", (add(position, keep), SLAB)))
    new = add(version.passing, Op("mul", (position, SLAB)))
    if keep:
        kept = add(version.fresh, Op("mul", (sub(position, passing), SLAB)))
        new = select(Op("lt", (position, Int(passing))), new, kept) if passing else kept
        return select(Op("lt", (position, Int(0))), old, new)
    return new


def parts(extent: Expr, size: int, unit: int) -> Expr:
    """Number of tiles along an axis; the same as ``tilings.streaming``."""
    units = extent if unit == 1 else Op("ceildiv", (extent, Int(unit)))
    return Op("ceildiv", (units, Int(max(1, size // unit))))


def cut(extent: Expr, count: Expr, index: Expr, unit: int) -> Expr:
    """Start of a tile along an axis."""
    units = extent if unit == 1 else Op("ceildiv", (extent, Int(unit)))
    start = mul(Op("div", (Op("mul", (units, index)), count)), unit)
    return start if unit == 1 else Op("min", (start, extent))
