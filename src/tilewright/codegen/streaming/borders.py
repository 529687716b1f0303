"""The ends of the axes in a streaming kernel: cells that keep their values, and cells outside the grid.

Every new row is finished at its ends, in 3D every plane at its first and last rows, and every advance at its slabs.
"""

import functools
from collections.abc import Iterator

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal
from tilewright.codegen.streaming import names as v
from tilewright.codegen.streaming.layout import Span, StreamField
from tilewright.programs.stencil.boundaries import Boundary, mirrored


class Borders:
    """The functions that finish new rows of a field."""

    def __init__(self, field: StreamField) -> None:
        self.field, self.layout, self.dtype = field, field.layout, field.layout.dtype
        self.pointer = ir.pointer(self.dtype)

    @property
    def outer(self) -> bool:
        """Whether anything on an outer axis keeps its values or is read outside."""
        return any(self.field.border(axis) for axis in range(self.layout.rank - 1))

    def near_slabs(self) -> ir.Expr:
        """Whether :attr:`slabs` may have anything to do for the rows that start at ``y0``."""
        field, layout = self.field, self.layout
        (low, high), ghosts = field.frame(0), field.ghosts(0)
        near = (v.Y0 - field.keep < max(low, int(ghosts[0] > 0))) | (v.Y0 + layout.rows > v.N0 - high)
        if layout.rank == 2:
            return near
        low, high = field.frame(1)
        ghosted = sum(field.ghosts(1)) > 0
        return near | ((v.GY < max(low, int(ghosted))) | (v.GY + layout.lines > v.N1 - high))

    def _builder(self, part: str, about: str, *, kind: str = "local") -> ir.Builder:
        return ir.Builder(self.layout.name(f"{part}_{self.field.number}"), kind=kind, about=about)

    def _ghosts(self, axis: int) -> Iterator[tuple[Boundary, bool, int, int | None]]:
        """Cells outside that are read: side, whether it is the low one, how far outside, what inside stands for it."""
        for side, low, count in zip(self.field.boundary(axis), (True, False), self.field.ghosts(axis), strict=True):
            for beyond in range(1, count + 1):
                yield side, low, beyond, mirrored(side.kind, beyond)

    def _outer_ghosts(self, axis: int, end: ir.Var) -> Iterator[tuple[Boundary, bool, ir.Expr, ir.Expr]]:
        """Rows or slabs outside the grid: the side, whether it is the low one, where, and which one stands for it."""
        for side, low, beyond, inside in self._ghosts(axis):
            if low:
                yield side, low, ir.Int(-beyond), ir.Int(inside or 0)
            else:
                yield side, low, end + (beyond - 1), end - ((inside or 0) + 1)

    @functools.cached_property
    def ends(self) -> ir.Function:
        """Finishes the ends of a row."""
        layout, field = self.layout, self.field
        about = "Ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors."
        b = self._builder("ends", about, kind="inline")
        row, old = b.param("row", self.pointer), b.param("old", ir.const_pointer(self.dtype))
        b.params(v.GX, v.N, v.EDGE)
        layout.name_sizes(b, v.VECTORS)
        axis = layout.rank - 1
        low, high = field.frame(axis)
        with b.when(v.EDGE):
            if low:
                with b.when(v.GX <= 0), b.loop("x", 0, low) as x:
                    b.set(row[v.in_row(x - v.GX)], old[v.in_row(x - v.GX)])
            if high:
                with b.when(v.N - v.GX <= layout.width), b.loop("x", ir.largest(v.N - high, v.GX), v.N) as x:
                    b.set(row[v.in_row(x - v.GX)], old[v.in_row(x - v.GX)])
            for side, below, beyond, inside in self._ghosts(axis):
                cell = ir.Int(-beyond) - v.GX if below else v.N + (beyond - 1) - v.GX
                value: ir.Expr = literal(side.value, self.dtype)
                if inside is not None:
                    start = ir.Int(inside) - v.GX if below else ir.largest(v.N - v.GX - (inside + 1), 0)
                    value = row[v.in_row(start)]
                with b.when(v.GX <= -beyond if below else cell < layout.width):
                    b.set(row[v.in_row(cell)], value)
        b.intrinsic("wrap", self.dtype, row, v.VECTORS, *layout.reach)  # anew the shifted vectors beside a lifted row
        return b.function()

    @functools.cached_property
    def brim(self) -> ir.Function:
        """Finishes the first and the last rows of a plane; in 3D."""
        layout, (low, high) = self.layout, self.field.frame(1)
        about = "First and last rows of a plane: those that keep their values, and those outside the grid."
        b = self._builder("brim", about)
        plane, old = b.param("plane", self.pointer), b.param("old", ir.const_pointer(self.dtype))
        b.params(v.FRESH, v.N1, v.N, v.GX, v.GY, v.EDGE)
        layout.name_sizes(b, v.PITCH)

        def row(start: ir.Expr, y: ir.Expr) -> ir.Expr:
            return start + (y - v.GY) * v.PITCH

        spans: list[Span] = [(ir.largest(0, v.GY), low)] if low else []
        spans += [(ir.largest(v.N1 - high, v.GY), ir.smallest(v.N1, v.GY + layout.lines))] if high else []
        with b.when(v.FRESH.equals(0)):
            for first, end in spans:
                with b.loop("line", first, end) as line:
                    self._copy(b, row(plane, line), row(old, line), v.PITCH)
        for side, below, to, start in self._outer_ghosts(1, v.N1):
            with b.when(v.GY <= to if below else to - v.GY < layout.lines):
                if side.kind == "constant":
                    self._fill(b, row(plane, to), side, v.PITCH)
                    v.call(b, self.ends, row=row(plane, to), old=row(plane, to))
                else:
                    self._copy(b, row(plane, to), row(plane, start if below else ir.largest(start, v.GY)), v.PITCH)
        return b.function()

    @functools.cached_property
    def slabs(self) -> ir.Function:
        """Finishes the slabs of one advance along the outer axes."""
        layout, field = self.layout, self.field
        new, old, (low, high) = field.out, field.version("now"), field.frame(0)
        b = self._builder("border", "Rows that keep their values, and rows outside the grid.")
        b.params(*new.params, *old.params, v.Y0, v.FRESH, v.N0, v.N1, v.N, v.GX, v.GY, v.EDGE)
        layout.name_sizes(b)
        back = layout.lag(field.stage, field.stage, 1)  # rows by which the version before is ahead
        for r in range(layout.rows):
            y, slab, before = v.Y0 + r, new.at(r), old.at(r - back)
            inside = (y >= 0) & (y < v.N0)
            if low or high:
                with b.when(v.FRESH.equals(0) & (inside & ((y < low) | (y >= v.N0 - high)))):
                    self._copy(b, slab, before, v.SLAB)
            if layout.rank == 3 and field.border(1):
                with b.when(inside):
                    v.call(b, self.brim, plane=slab, old=before)
        for side, _, row, inner in self._outer_ghosts(0, v.N0):
            if side.kind == "constant":
                with b.when(self._held(row)):
                    slab = b.let("slab_out", new.somewhere(b.let("to", row - v.Y0)), self.pointer)
                    self._fill_slab(b, slab, side)
            else:
                with b.when(self._held(row) & self._held(inner)):
                    to, start = b.let("to", row - v.Y0), b.let("from", inner - v.Y0)
                    self._copy(b, new.somewhere(to), new.somewhere(start), v.SLAB)
        return b.function()

    def _held(self, row: ir.Expr) -> ir.Expr:
        """Whether the tile holds the slab of a row."""
        return (row - v.Y0 >= -self.field.keep) & (row - v.Y0 < self.layout.rows)

    def _fill_slab(self, b: ir.Builder, slab: ir.Expr, side: Boundary) -> None:
        """Fill a slab outside the grid, and what lies outside along the other axes."""
        self._fill(b, slab, side, v.SLAB)
        if sum(self.field.ghosts(self.layout.rank - 1)):
            with b.loop("line", 0, self.layout.lines) as line:
                v.call(b, self.ends, row=slab + line * v.PITCH, old=slab + line * v.PITCH)
        if self.layout.rank == 3 and self.field.border(1):
            v.call(b, self.brim, plane=slab, old=slab, fresh=1)

    def _copy(self, b: ir.Builder, to: ir.Expr, start: ir.Expr, cells: ir.Expr) -> None:
        b.intrinsic("copy", self.dtype, to - self.layout.before, start - self.layout.before, cells)

    def _fill(self, b: ir.Builder, to: ir.Expr, side: Boundary, cells: ir.Expr) -> None:
        b.intrinsic("fill", self.dtype, to - self.layout.before, literal(side.value, self.dtype), cells)
