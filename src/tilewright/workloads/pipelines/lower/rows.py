"""What a thread of a streamed group keeps in its memory, and how rows come there.

A ring of rows per grid, and rows that stand for constants beyond the picture; functions bring rows of inputs into the
rings, make cells beyond the ends of rows, and say which row of a ring any row of the picture stands for.
"""

import functools
from collections.abc import Callable, Sequence

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.codegen.boundary import map_functions, map_name
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.workloads.pipelines.problem import PipelineProblem
from tilewright.workloads.pipelines.rows import RowPlan, RowTile, pitch

_BYTE = ir.element("uint8")


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


class RowFunctions:
    """Functions on rows, per grid."""

    def __init__(self, rings: Rings) -> None:
        """Make them."""
        self.rings = rings
        problem, grids = rings.problem, [grid.name for grid in rings.plan.grids]
        kinds = [side.kind for grid in grids for axis in problem.sides(grid) for side in axis]
        self.maps = {each.name: each for each in map_functions(kinds)}  # of indices
        # ``(row, a, b, n)``: make cells of a row, which starts at column a and ends before b, beyond the picture
        self.ends = {grid: self._ends(grid) for grid in grids if rings.has_ends(grid)}
        # ``(own, y, n0)``, in 3D ``(own, y, n0, l, n1, l0)``: the row of a ring that any row stands for
        self.row = {grid: self._row(grid) for grid in grids if rings.is_read(grid)}
        # ``(to, from, a, b, n)``: copy columns a to b of a row of an input, with what lies beyond the picture
        self.fetch = {grid: self._fetch(grid) for grid in rings.plan.group.inputs}
        # callees first
        self.functions = (*self.maps.values(), *self.ends.values(), *self.row.values(), *self.fetch.values())

    def ring(self, own: ir.Expr, grid: str) -> ir.Expr:
        """The first row of a grid's ring."""
        return (own + self.rings.start[grid]).to(ir.pointer(self.rings.kind(grid)))

    def filled(self, own: ir.Expr, grid: str, side: Boundary) -> ir.Expr:
        """The row that stands for rows beyond a constant side."""
        return (own + self.rings.fill[grid, side]).to(ir.pointer(self.rings.kind(grid)))

    def number(self, grid: str, value: complex) -> ir.Expr:
        """A constant of a grid's type."""
        return ir.Real(value, self.rings.kind(grid))

    def _ends(self, grid: str) -> ir.Function:
        b = ir.Builder(f"{self.rings.entry}_ends_{grid}")
        row = b.param("row", ir.pointer(self.rings.kind(grid)))
        start, stop, n = (b.param(name, ir.INDEX) for name in ("a", "b", "n"))
        low, high = self.rings.problem.sides(grid)[-1]

        def cell(side: Boundary, x: ir.Expr) -> ir.Expr:
            if side.kind == "constant":
                return self.number(grid, side.value)
            return row[b.call(self.maps[map_name(side.kind)], x, n) - start]

        with b.loop("x", start, ir.smallest(stop, 0)) as x:
            b.set(row[x - start], cell(low, x))
        with b.loop("x", ir.largest(start, n), stop) as x:
            b.set(row[x - start], cell(high, x))
        return b.function()

    def _row(self, grid: str) -> ir.Function:
        rings = self.rings
        b = ir.Builder(f"{rings.entry}_row_{grid}", kind="inline")
        own = b.param("own", ir.pointer(_BYTE))
        places = [(b.param("y", ir.INDEX), b.param("n0", ir.INDEX))]
        first = None
        if rings.rank == 3:
            places.append((b.param("l", ir.INDEX), b.param("n1", ir.INDEX)))
            first = b.param("l0", ir.INDEX)
        found = b.mutable("found", self.ring(own, grid))
        outside: list[list[tuple[ir.Expr, Boundary]]] = []
        inside: list[ir.Expr] = []
        for axis, (place, n) in enumerate(places):
            mapped, own_sides = place, []
            if not rings.wraps(grid, axis):
                for test, side in zip((place < 0, place >= n), rings.problem.sides(grid)[axis], strict=True):
                    if side.kind == "constant":
                        own_sides.append((test, side))
                    else:
                        mapped = ir.select(test, b.call(self.maps[map_name(side.kind)], place, n), mapped)
            inside.append(mapped)
            outside.append(own_sides)
        constants = [each for sides in reversed(outside) for each in sides]  # the innermost axis decides a corner

        def in_ring() -> None:
            at = ir.floormod(inside[0], rings.depth(grid)) * rings.slab(grid)
            if first is not None:
                at = at + (inside[1] - first + rings.plan.grid(grid).halo[1][0]) * rings.pitch(grid)
            b.set(found, found + at)

        filled = [(test, functools.partial(b.set, found, self.filled(own, grid, side))) for test, side in constants]
        choose(b, filled, in_ring)
        return b.function(found)

    def _fetch(self, grid: str) -> ir.Function:
        kind = self.rings.kind(grid)
        b = ir.Builder(f"{self.rings.entry}_fetch_{grid}", vectorized=True)
        to, source = b.param("to", ir.pointer(kind)), b.param("from", ir.const_pointer(kind))
        start, stop, n = (b.param(name, ir.INDEX) for name in ("a", "b", "n"))
        if self.rings.wraps(grid, -1):
            with b.loop("x", start, stop) as x:
                b.set(to[x - start], source[b.call(self.maps[map_name("wrap")], x, n)])
            return b.function()
        with b.loop("x", ir.largest(start, 0), ir.smallest(stop, n), independent=True) as x:
            b.set(to[x - start], source[x])
        if grid in self.ends:
            b.call(self.ends[grid], to, start, stop, n)
        return b.function()

    def fill(self, b: ir.Builder, own: ir.Expr, grid: str, side: Boundary) -> None:
        """Fill the row that stands for rows outside."""
        row = self.filled(own, grid, side)
        with b.loop("i", 0, self.rings.pitch(grid)) as i:
            b.set(row[i], self.number(grid, side.value))

    def has_corners(self, grid: str, side: Boundary) -> bool:
        """Whether other constants stand before or behind that row."""
        return bool(self._corners(grid, side))

    def _corners(self, grid: str, side: Boundary) -> list[tuple[int, complex]]:
        """The sides, 0 and 1, with other constants."""
        halo, sides = self.rings.plan.grid(grid).halo[-1], self.rings.problem.sides(grid)[-1]
        return [
            (number, other.value)
            for number, (other, width) in enumerate(zip(sides, halo, strict=True))
            if width and other.kind == "constant" and other != side
        ]

    def corners(self, b: ir.Builder, own: ir.Expr, grid: str, side: Boundary, x0: ir.Expr, n: ir.Expr) -> None:
        """Put those into that row for a strip: the innermost axis decides."""
        left = self.rings.plan.grid(grid).halo[-1][0]
        row = self.filled(own, grid, side)
        for number, other in self._corners(grid, side):
            with b.loop("i", 0, self.rings.pitch(grid)) as i:
                beyond = x0 + i < left if number == 0 else x0 + i >= n + left
                with b.when(beyond):
                    b.set(row[i], self.number(grid, other))


def choose(b: ir.Builder, cases: Sequence[tuple[ir.Expr, Callable[[], None]]], otherwise: Callable[[], None]) -> None:
    """Write the first case whose condition holds, and what is done where none does."""
    if not cases:
        otherwise()
        return
    (test, write), *others = cases
    with b.when(test):
        write()
    with b.otherwise():
        choose(b, others, otherwise)
