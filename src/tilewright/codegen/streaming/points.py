"""Sources and receivers of streaming tiles, whose rows are lifted.

See :func:`tilewright.codegen.print.c_prelude.lift_helpers`.
"""

import functools
import operator

from tilewright.codegen import ir, points
from tilewright.codegen.points import Face
from tilewright.codegen.sites import POINTS, SIZE, Pair
from tilewright.codegen.streaming import names as v
from tilewright.codegen.streaming.layout import StreamField


class StreamPoints:
    """The function that adds the sources of a field to the rows of one advance, and records its tile's own cells."""

    def __init__(self, field: StreamField, ends: ir.Function) -> None:
        self.field, self.layout, self.site, self.ends = field, field.layout, field.layout.site, ends
        self.widths = dict(self.site.problem.points.faces).get(field.name)  # cells near the sides that are summed

    @property
    def present(self) -> bool:
        """Whether there is anything to add or to record."""
        return points.touches(self.site.problem, self.field.name)

    def near(self) -> ir.Expr:
        """Whether any cell with sources or receivers lies in the rows, or planes, of the advance."""
        site = self.site
        if site.rank == 1:
            return ir.Int(1)
        low, high = (ir.smallest(ir.largest(at, 0), v.N0) for at in (v.Y0, v.Y0 + self.layout.rows))
        if site.rank == 3:
            low, high = low * v.N1, high * v.N1
        starts = [POINTS[2 * table] for table, _ in points.tables(site.problem, self.field.name)]
        tests = [rows[low] < rows[high] for rows in starts] + ([self._near_sides()] if self.widths else [])
        return functools.reduce(operator.or_, tests)

    def _near_sides(self) -> ir.Expr:
        """Whether the tile has cells near the sides of the grid in the rows, or planes, of the advance."""
        end = v.Y0 + self.layout.rows
        spans = [(v.Y0, end, v.N0), *([(v.ZA, v.ZB, v.N1)] if self.layout.rank == 3 else []), (v.X0, v.X1, v.N)]
        near: ir.Expr = ir.Int(0)
        for (first, last, extent), (low, high) in zip(spans, self.widths or (), strict=True):
            if low + high:
                near = near | ((first < low) | (last > extent - high))
        return ((end > v.YA) & (v.Y0 < v.YB)) & near

    @functools.cached_property
    def function(self) -> ir.Function:
        """Adds sources to the rows of one advance, and records cells."""
        layout, site, new = self.layout, self.site, self.field.out
        about = f"Adds the sources of {self.field.name} to the rows of one advance, and records the tile's own cells."
        b = ir.Builder(points.function_name(site.prefix, site.problem, self.field.name), kind="apart", about=about)
        b.params(SIZE, site.constant, POINTS, v.T, new.passing, new.fresh)
        b.params(*([layout.spare] if self.widths else []))
        b.params(v.Y0, v.N0, v.N1, v.N, v.GX, v.GY, v.EDGE, *v.BOUNDS)
        layout.name_sizes(b)
        for table, records in points.tables(site.problem, self.field.name):
            with b.scope():
                numbers = points.open_table(b, site, table, v.T)
                for r in range(layout.rows):
                    y = v.Y0 + r
                    with b.when((y >= v.YA) & (y < v.YB) if records else (y >= 0) & (y < v.N0)):
                        self._in_slab(b, new.at(r), y, numbers, records=records)
        if self.widths:
            with b.scope():
                self._sum_rows(b)
        return b.function()

    def _in_slab(self, b: ir.Builder, slab: ir.Expr, y: ir.Expr, numbers: ir.Expr, *, records: bool) -> None:
        """Go through the cells of a slab: those of its rows that the tile holds, or owns."""
        layout, site = self.layout, self.site
        span = (v.X0, v.X1) if records else (ir.largest(v.GX, 0), ir.smallest(v.GX + layout.width, v.N))

        def each(start: ir.Expr) -> None:
            with b.when(points.FIRST < points.LAST):
                row = b.let("row_out", start, ir.pointer(site.dtype))
                points.each_cell(b, span, lambda at: row[v.in_row(at - v.GX)], numbers, records=records)
                if not records:
                    v.call(b, self.ends, row=row, old=row)

        if layout.rank == 2:
            points.name_cells(b, *(points.pieces(*span) if site.rank == 1 else (y, y + 1)))
            each(slab)
            return
        low, high = (v.ZA, v.ZB) if records else (ir.largest(v.GY, 0), ir.smallest(v.GY + layout.lines, v.N1))
        base = y * v.N1
        points.name_cells(b, base + low, base + high)
        with b.when(points.FIRST < points.LAST), b.loop("line", low, high) as line:
            points.name_cells(b, base + line, base + line + 1)
            each(slab + (line - v.GY) * v.PITCH)

    def _sum_rows(self, b: ir.Builder) -> None:
        """Add the tile's own new values near the sides of the grid to the sums of their cells."""
        layout, field = self.layout, self.field
        extents = [v.N0, *([v.N1] if layout.rank == 3 else []), v.N]
        faces = points.faces_of(b, self.site, field.name, extents[layout.rank - self.site.rank :])
        bounds = [(v.YA, v.YB), *([(v.ZA, v.ZB)] if layout.rank == 3 else []), (v.X0, v.X1)]
        own: list[Pair] = []
        for axis, ((low, high), extent) in enumerate(zip(bounds, extents, strict=True)):
            below, above = field.frame(axis)
            first = b.let(f"first{axis}", ir.largest(low, below))
            own.append((first, b.let(f"end{axis}", ir.smallest(high, extent - above))))
        for face in faces:
            for last in (False, True):
                self._of_face(b, own, face, last=last)

    def _of_face(self, b: ir.Builder, own: list[Pair], face: Face, *, last: bool) -> None:
        """The rows of one advance at one end of an axis; whole rows are brought into the grid's order."""
        layout, site, axis = self.layout, self.site, self.layout.axis_of(face.axis)
        spans = [face.span(pair, last=last) if number == axis else pair for number, pair in enumerate(own)]

        span = spans[-1]

        def add(y: ir.Expr, x: ir.Expr, row: ir.Expr, index: ir.Expr) -> None:
            places = (y, v.LINE, x) if layout.rank == 3 else (y, x)
            points.add_to(b, face.sum_at(places[layout.rank - site.rank :], last=last), row[index])

        def row_at(r: int) -> ir.Expr:
            return self.field.out.at(r) + ((v.LINE - v.GY) * v.PITCH if layout.rank == 3 else 0)

        if axis == layout.rank - 1:
            with b.loop("x", *span) as x:
                at = b.let("at", v.in_row(x - v.GX))
                layout.over_rows(b, spans[0], spans[1], lambda r, y: add(y, x, row_at(r), at))
            return

        def whole(r: int, y: ir.Expr) -> None:
            b.intrinsic("lower", site.dtype, layout.spare, row_at(r), v.VECTORS)
            with b.loop("x", *span) as x:
                add(y, x, layout.spare, x - v.GX)

        layout.over_rows(b, spans[0], spans[1], whole)
