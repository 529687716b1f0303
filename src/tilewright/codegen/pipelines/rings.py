"""What a thread of a streamed group keeps in its memory: a ring of rows per grid, and rows for constant borders."""

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.programs.pipelines.problem import PipelineProblem
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.schedules.pipelines.rows import RowPlan, RowTile, pitch


class Rings:
    """The rings of one kernel."""

    def __init__(self, problem: PipelineProblem, plan: RowPlan, tile: RowTile, rows: int, entry: str) -> None:
        """Lay the memory of a thread out."""
        self.problem, self.plan, self.tile, self.rows, self.entry = problem, plan, tile, rows, entry
        self.rank = problem.pipeline.rank
        self.start: dict[str, int] = {}
        place = 0
        for grid in plan.grids:
            self.start[grid.name] = place
            place = round_up(place + self.slab(grid.name) * grid.depth * problem.itemsize(grid.name), CACHE_LINE)
        self.fill: dict[tuple[str, Boundary], int] = {}
        for grid in plan.grids:
            for side in (s for pair in problem.sides(grid.name)[:-1] for s in pair):
                if side.kind == "constant":
                    self.fill[grid.name, side] = place
                    place = round_up(place + self.pitch(grid.name) * problem.itemsize(grid.name), CACHE_LINE)
        self.scratch = round_up(place + 2 * CACHE_LINE, 4096) + CACHE_LINE

    def pitch(self, grid: str) -> int:
        """Elements from one row of a ring to the next."""
        return pitch(self.problem, self.plan.grid(grid), self.tile.width)

    def lines(self, grid: str) -> int:
        """Rows of a plane in 3D; 1 in 2D."""
        return self.tile.lines + sum(self.plan.grid(grid).halo[1]) if self.rank == 3 else 1

    def slab(self, grid: str) -> int:
        """Elements from one entry of a ring to the next: a row, or a plane in 3D."""
        return self.pitch(grid) * self.lines(grid)

    def depth(self, grid: str) -> int:
        """Entries of a ring."""
        return self.plan.grid(grid).depth

    def kind(self, grid: str) -> ir.Element:
        """Type of a grid's elements."""
        return ir.element(self.problem.dtype(grid))

    def wraps(self, grid: str, axis: int) -> bool:
        """Whether a grid is periodic along an axis."""
        return self.problem.sides(grid)[axis][0].kind == "wrap"

    def is_read(self, grid: str) -> bool:
        """Whether anything in the group reads a grid."""
        return grid in self.plan.group.inputs or grid in self.plan.group.inner

    def has_ends(self, grid: str) -> bool:
        """Whether rows hold cells outside the picture."""
        return self.is_read(grid) and sum(self.plan.grid(grid).halo[-1]) > 0
