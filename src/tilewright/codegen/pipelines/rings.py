"""What a thread of a streamed group keeps in its memory: a ring of rows per grid, and rows for constant borders.

Every method returns C text, or a size that C text is made of.
"""

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen.boundary import map_name
from tilewright.codegen.print import c
from tilewright.codegen.print.elements import C_ELEMENTS
from tilewright.programs.pipeline_problem import PipelineProblem
from tilewright.programs.problem import Boundary
from tilewright.tilings.rows import RowPlan, RowTile, pitch


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
        self.fill: dict[tuple[str, float], int] = {}
        for grid in plan.grids:
            for side in (s for pair in problem.sides(grid.name)[:-1] for s in pair):
                if side.kind == "constant":
                    self.fill[grid.name, side.value] = place
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

    def ctype(self, grid: str) -> str:
        """C type of a grid's elements."""
        return C_ELEMENTS[self.problem.dtype(grid)]

    def wraps(self, grid: str, axis: int) -> bool:
        """Whether a grid is periodic along an axis."""
        return self.problem.sides(grid)[axis][0].kind == "wrap"

    def is_read(self, grid: str) -> bool:
        """Whether anything in the group reads a grid."""
        return grid in self.plan.group.inputs or grid in self.plan.group.inner

    def has_ends(self, grid: str) -> bool:
        """Whether rows hold cells outside the picture."""
        return self.is_read(grid) and sum(self.plan.grid(grid).halo[-1]) > 0

    def literal(self, grid: str, value: float) -> str:
        """A number of the type of a grid."""
        return c.c_literal(value, self.problem.dtype(grid))

    def ends(self, grid: str) -> str:
        """Cells of a row before the first and after the last of the picture; the row starts at column ``a``."""
        low, high = self.problem.sides(grid)[-1]

        def cell(side: Boundary) -> str:
            if side.kind == "constant":
                return self.literal(grid, side.value)
            return f"row[{map_name(side.kind)}(x, n) - a]"

        return (
            f"static void {self.entry}_ends_{grid}({self.ctype(grid)} *row, int64_t a, int64_t b, int64_t n) {{\n"
            f"  for (int64_t x = a; x < tw_min(b, 0); ++x) row[x - a] = {cell(low)};\n"
            f"  for (int64_t x = tw_max(a, n); x < b; ++x) row[x - a] = {cell(high)};\n}}\n"
        )

    def inside(self, grid: str, axis: int, name: str) -> str:
        """Statements that map an index on an outer axis, or return the row of constants."""
        if self.wraps(grid, axis):
            return ""
        low, high = self.problem.sides(grid)[axis]

        def side(which: Boundary) -> str:
            if which.kind == "constant":
                return f"return ({self.ctype(grid)} *)(own + {self.fill[grid, which.value]});"
            return f"{name} = {map_name(which.kind)}({name}, n{axis});"

        return f"  if ({name} < 0) {side(low)}\n  else if ({name} >= n{axis}) {side(high)}\n"

    def row(self, grid: str) -> str:
        """The row of a ring that any row stands for, at its first column."""
        depth, kind = self.plan.grid(grid).depth, self.ctype(grid)
        extra = ", int64_t l, int64_t n1, int64_t l0" if self.rank == 3 else ""
        body = self.inside(grid, 0, "y")
        at = f"tw_floormod(y, {depth}) * {self.slab(grid)}"
        if self.rank == 3:
            body = self.inside(grid, 1, "l") + body  # the innermost constant axis decides a corner
            at += f" + (l - l0 + {self.plan.grid(grid).halo[1][0]}) * {self.pitch(grid)}"
        return (
            f"static inline {kind} *{self.entry}_row_{grid}(char *own, int64_t y, int64_t n0{extra}) {{\n{body}"
            f"  return ({kind} *)(own + {self.start[grid]}) + {at};\n}}\n"
        )

    def fetch(self, grid: str) -> str:
        """Copy columns a to b of a row of an input into its ring, with what lies outside the picture."""
        kind = self.ctype(grid)
        mapped = self.wraps(grid, -1)
        body = (
            "  for (int64_t x = a; x < b; ++x) to[x - a] = from[tw_map_wrap(x, n)];\n"
            if mapped
            else "  const int64_t low = tw_max(a, 0), high = tw_min(b, n);\n"
            f"  if (high > low) memcpy(to + (low - a), from + low, (size_t)(high - low) * sizeof({kind}));\n"
            + (f"  {self.entry}_ends_{grid}(to, a, b, n);\n" if self.has_ends(grid) else "")
        )
        return (
            f"static void {self.entry}_fetch_{grid}({kind} *to, const {kind} *from, int64_t a, int64_t b, int64_t n) "
            f"{{\n{body}}}\n"
        )

    def filled(self, grid: str, value: float) -> str:
        """Fill the row that stands for rows outside."""
        kind, place = self.ctype(grid), self.fill[grid, value]
        return (
            f"for (int64_t i = 0; i < {self.pitch(grid)}; ++i) "
            f"(({kind} *)(own + {place}))[i] = {self.literal(grid, value)};"
        )

    def corners(self, grid: str, value: float) -> str:
        """Fill that row for a strip, where other constants stand before and after it: the innermost axis decides."""
        halo, kind = self.plan.grid(grid).halo[-1], self.ctype(grid)
        row, n = f"(({kind} *)(own + {self.fill[grid, value]}))", f"n{self.rank - 1}"
        text = ""
        for test, side, width in zip((f"x0 + i < {halo[0]}", f"x0 + i >= {n} + {halo[0]}"),
                                     self.problem.sides(grid)[-1], halo, strict=True):  # fmt: skip
            if width and side.kind == "constant" and side.value != value:
                text += (
                    f"      for (int64_t i = 0; i < {self.pitch(grid)}; ++i) "
                    f"if ({test}) {row}[i] = {self.literal(grid, side.value)};\n"
                )
        return f"      {self.filled(grid, value)}\n{text}" if text else ""
