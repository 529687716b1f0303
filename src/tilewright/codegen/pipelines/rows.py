"""How rows come into the rings of a streamed group, and which row of a ring any row of the picture stands for."""

from tilewright.codegen import ir
from tilewright.codegen.boundary import map_functions, map_name
from tilewright.codegen.pipelines.rings import Rings
from tilewright.programs.stencil.boundaries import Boundary

_BYTE = ir.element("uint8")


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

        def rest(number: int) -> None:
            if number < len(constants):
                test, side = constants[number]
                with b.when(test):
                    b.set(found, self.filled(own, grid, side))
                with b.otherwise():
                    rest(number + 1)
                return
            at = ir.floormod(inside[0], rings.depth(grid)) * rings.slab(grid)
            if first is not None:
                at = at + (inside[1] - first + rings.plan.grid(grid).halo[1][0]) * rings.pitch(grid)
            b.set(found, found + at)

        rest(0)
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
