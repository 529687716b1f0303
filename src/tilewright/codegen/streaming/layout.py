"""What the parts of a streaming kernel share: sizes of its tiles, places of rows in a thread's memory, names.

Memory of a thread, per field: *persistent* slabs, which outlive an advance (two sets per version, used in turn), and
*passing* slabs, which only the next versions of the same advance read (one set per version in use). A slab is a row in
2D and a plane in 3D; rows are lifted (see :func:`tilewright.codegen.print.c_prelude.lift_helpers`). Axes count as in
:mod:`tilewright.schedules.streaming.levels`: a program in 1D runs as one in 2D with a single row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.codegen.layouts import Layout
from tilewright.codegen.sites import Site
from tilewright.codegen.streaming import names as v
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.expression import Placed, placed
from tilewright.schedules.catalogue import complete
from tilewright.schedules.streaming.levels import line_cells, of_problem
from tilewright.schedules.tiling import Tiling

Span = tuple[ir.Operand, ir.Operand]  # the first of some cells, and their end


class StreamLayout:
    """Sizes of a kernel's tiles and of what a thread holds of them."""

    def __init__(self, site: Site, tiling: Tiling, variant: str = "") -> None:
        self.site, self.dtype = site, site.dtype
        self.variant = variant  # end of the stages' names, where these are written for some tiles alone
        self.tiling, self.pipeline = complete(site.problem, tiling), of_problem(site.problem)
        self.levels = self.tiling.time  # most steps of a band
        self.rows = self.tiling.rows or 1  # cells of axis 0 per advance
        self.space = self.tiling.space if site.rank > 1 else (1, *self.tiling.space)  # tile sizes per axis
        self.rank = len(self.space)  # number of axes, at least 2
        self.sides = max(self.pipeline.history)  # versions in each of the two sets of slots that bands use in turn
        # per axis, cells that a tile holds beyond its own, below and above
        self.halo = tuple((self._beyond(axis, 0), self._beyond(axis, 1)) for axis in range(self.rank))
        self.reach = site.problem.program.reach[-1]  # how far reads extend along the innermost axis, below and above
        self.line_cells = line_cells(site.problem)  # cells of a cache line
        # cells of a lifted row, a multiple of a cache line
        self.width = round_up(round_up(self.space[-1], self.line_cells) + sum(self.halo[-1]), self.line_cells)
        # cells of a row that may be touched where it is transposed: squares of lanes, where vectors are longest
        self.widest = max(self.width, self.line_cells**2)
        self.lines = self.space[1] + sum(self.halo[1]) if self.rank == 3 else 1  # rows of a slab
        # what depends on the place along the innermost axis alone: a tile has a lifted row of each
        self.lifted = tuple(node for node in site.problem.program.placed if node.axis == site.rank - 1)
        self.spare = ir.Var("spare", ir.pointer(site.dtype))  # memory for two rows as they lie in the grid
        self.before = ir.op(ir.Operator.MUL, self.reach[0], v.V)  # elements of a row before its first vector
        self.fields = tuple(StreamField(self, number) for number in range(len(site.problem.program.fields)))
        self.stages = tuple(StreamStage(self, number) for number in range(len(self.pipeline.stages)))

    def _beyond(self, axis: int, side: int) -> int:
        growth = (self.pipeline.below, self.pipeline.above)[side][axis]
        computed = (growth.at(self.levels + self.sides - 1, stage) for stage in range(len(self.pipeline.stages)))
        return max(*computed, *(ghosts[axis][side] for ghosts in self.pipeline.ghosts))

    @property
    def scratch_bytes(self) -> int:
        """Upper bound on a thread's memory, for any vector length."""
        itemsize, slabs = self.site.problem.itemsize, sum(field.slabs for field in self.fields)
        slab = self.lines * (self.widest * itemsize + (sum(self.reach) + 2) * CACHE_LINE)
        rows = 2 + len(self.lifted)
        return round_up(slabs * slab + rows * self.widest * itemsize + 64 * CACHE_LINE, 4096)

    @property
    def margin(self) -> int:
        """Cells beyond the ends of an axis of which a tile computes something, or holds something."""
        return self.widest + self.rows + max(map(max, self.halo)) + max(map(max, self.site.problem.program.reach))

    def lag(self, producer: int, consumer: int, steps: int) -> int:
        """How far a consumer runs behind what it reads, on axis 0."""
        return self.pipeline.lag.at(steps, consumer) - self.pipeline.lag.offsets[producer]

    def axis_of(self, axis: int) -> int:
        """The axis of the kernel that is one of the program's."""
        return axis + self.rank - self.site.rank

    def places_at(self, places: Mapping[Placed, ir.Var], moves: Sequence[ir.Expr]) -> dict[str, ir.Operand]:
        """Tables of what depends on the place alone, moved along their axes."""
        return {var.name: var + moves[self.axis_of(node.axis)] for node, var in places.items()}

    def name(self, part: str) -> str:
        """Name of a function."""
        return f"{self.site.prefix}_{part}"

    def name_sizes(self, b: ir.Builder, last: ir.Var = v.SLAB) -> None:
        """Name the sizes of rows that a function needs, which are those up to ``last``."""
        lanes = ir.Lanes(self.dtype)
        pitch = ((v.VECTORS + sum(self.reach)) | 1) * lanes
        for var, value in (
            (v.V, lanes),
            (v.VECTORS, ir.Int(self.width) / lanes),
            (v.PITCH, pitch),
            (v.SLAB, v.PITCH * self.lines),
        ):
            b.let(var.name, value)
            if var == last:
                return

    def over_rows(self, b: ir.Builder, rows: Span, lines: Span, work: Callable[[int, ir.Expr], None]) -> None:
        """Do something for every row of the advance between two, in 3D for some ``lines`` of its slab."""
        for r in range(self.rows):
            y = v.Y0 + r
            with b.when((y >= rows[0]) & (y < rows[1])):
                if self.rank == 2:
                    work(r, y)
                else:
                    with b.loop(v.LINE.name, *lines):
                        work(r, y)


class StreamField:
    """A field of a streaming kernel."""

    def __init__(self, layout: StreamLayout, number: int) -> None:
        problem, pipeline = layout.site.problem, layout.pipeline
        self.layout, self.number, self.name = layout, number, problem.program.fields[number]
        # what gives it new values; None of one that is only handed on
        self.statement = next((each for each in problem.program.statements if each.field == self.name), None)
        self.updated = self.statement is not None
        self.stage = pipeline.stage_of[number]  # the one that produces it
        self.history = pipeline.history[number]  # versions that a band starts from and that it leaves behind
        self.keep = pipeline.keep[number]  # persistent slabs of a set
        self.passing = layout.rows - self.keep  # passing slabs of one version
        self.versions = pipeline.versions[number]  # most that are in use at a time
        # in all: persistent ones of every version that a band starts from or computes, and passing ones
        self.slabs = 2 * (self.history + layout.levels) * self.keep + self.versions * self.passing
        # what is found in memory of a field that lives in a subdomain; a tile holds it whole
        packed = self.name in dict(layout.site.storage.subdomains)
        self.part = layout.site.packed_layout(self.name) if packed else None
        # where bands keep its versions: two sets of slots, which they read and write in turn
        self.stored = self.part or Layout(base=layout.site.field[number])

    def ghosts(self, axis: int) -> tuple[int, int]:
        """Cells outside the grid that are read below and above."""
        return self.layout.pipeline.ghosts[self.number][axis]

    def boundary(self, axis: int) -> tuple[Boundary, Boundary]:
        """The sides along an axis."""
        sides = self.layout.site.problem.boundaries[self.number]
        at = axis - (self.layout.rank - len(sides))
        return sides[at] if at >= 0 else (Boundary(), Boundary())

    def frame(self, axis: int) -> tuple[int, int]:
        """Cells at both ends of an axis that keep their values."""
        at = axis - (self.layout.rank - self.layout.site.rank)
        return self.layout.site.problem.margins(self.statement)[at] if self.statement and at >= 0 else (0, 0)

    def border(self, axis: int) -> int:
        """Cells along an axis that keep their values or lie outside the grid."""
        return sum(self.frame(axis)) + sum(self.ghosts(axis))

    def version(self, tag: str) -> "Slabs":
        """Name one version; only the one that is computed, or loaded, is written."""
        kind, name = ir.Pointer(self.layout.dtype, const=tag != "out"), f"{self.name}_{tag}"
        return Slabs(self, *(ir.Var(f"{name}_{part}", kind) for part in ("passing", "fresh", "older")))

    @property
    def out(self) -> "Slabs":
        """The version that is computed, or loaded."""
        return self.version("out")


@dataclass(frozen=True, slots=True)
class Slabs:
    """Names of the three parts of one version of a field."""

    field: StreamField
    passing: ir.Var
    fresh: ir.Var
    older: ir.Var

    @property
    def params(self) -> tuple[ir.Var, ir.Var, ir.Var]:
        """The names, as parameters or arguments."""
        return (self.passing, self.fresh, self.older)

    def at(self, position: int) -> ir.Expr:
        """The slab at a position known now: 0 is the first of this advance, negative ones are of the one before."""
        if position < 0:
            return self.older + v.SLAB * (position + self.field.keep)
        passing = self.field.passing
        return self.passing + v.SLAB * position if position < passing else self.fresh + v.SLAB * (position - passing)

    def somewhere(self, position: ir.Expr) -> ir.Expr:
        """The slab at a position known when the kernel runs."""
        keep, passing = self.field.keep, self.field.passing
        new = self.passing + ir.op(ir.Operator.MUL, position, v.SLAB)
        if not keep:
            return new
        persistent = self.fresh + ir.op(ir.Operator.MUL, position - passing, v.SLAB)
        new = ir.select(position < passing, new, persistent) if passing else persistent
        return ir.select(position < 0, self.older + ir.op(ir.Operator.MUL, position + keep, v.SLAB), new)


class StreamStage:
    """A stage of a step: statements whose results do not wait for each other."""

    def __init__(self, layout: StreamLayout, number: int) -> None:
        program = layout.site.problem.program
        self.layout, self.number = layout, number
        self.statements = tuple(program.statements[each] for each in layout.pipeline.stages[number])
        # fields that it produces: updated ones, and in stage 0 those that are only handed on
        self.outputs = tuple(field for field in layout.fields if field.stage == number)
        # versions (number of the field, level) that it reads; its own fields' newest ones among them
        reads = {(program.fields.index(read.field), read.level) for each in self.statements for read in each.reads}
        self.sources = tuple(sorted(reads | {(field.number, 0) for field in self.outputs}))
        # what it computes with that depends on the cell's place alone
        self.places = placed(*(each.tape for each in self.statements))
        # its fields and their versions, by age, of which every advance loads rows of the grid
        whole = (field for field in self.outputs if field.part is None)
        self.loaded = tuple((field, age) for field in whole for age in range(field.history))

    def source(self, number: int, level: int) -> Slabs:
        """Names of a version that it reads."""
        return self.layout.fields[number].version(level_tag(level))


def level_tag(level: int) -> str:
    """Name of a time level."""
    return {1: "new", 0: "now", -1: "prev", -2: "prev2"}[level]
