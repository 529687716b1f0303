"""Sums over the steps of new values near the sides of a grid, where a kernel has them in its caches.

What a gradient needs of the steps that it takes back, where cells along the sides keep their values: what those are
worth is linear in such sums. A field's sums lie one axis behind the other, and the cells at the second end of an axis
behind those at the first. Every cell is added to by the tile that owns it, in the order of the steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.sites import Site, box_bounds, extent, own_memory, stride

Pair = tuple[ir.Expr, ir.Expr]


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """Cells at both ends of an axis and where their sums lie: those of the second end behind those of the first."""

    axis: int
    low: ir.Expr  # end of the cells at the first end
    high: ir.Expr  # start of those at the other one
    start: ir.Expr  # the sum of the first cell
    strides: tuple[ir.Expr, ...]  # distances of the sums of neighbours

    def span(self, cells: Pair, *, last: bool) -> Pair:
        """Cut cells along the axis to those of one end."""
        return (ir.largest(cells[0], self.high), cells[1]) if last else (cells[0], ir.smallest(cells[1], self.low))

    def sum_at(self, places: Sequence[ir.Expr], *, last: bool) -> ir.Expr:
        """Where the sum of a cell of one end lies."""
        found = self.start
        for axis, (place, distance) in enumerate(zip(places, self.strides, strict=True)):
            moved = (place - (self.high - self.low)) if last and axis == self.axis else place
            found = found + ir.op(ir.Operator.MUL, moved, distance)
        return found


def faces_of(site: Site, field: str, extents: Sequence[ir.Expr]) -> tuple[list[ir.Stmt], list[Face]]:
    """Name where the sums of a field near the sides of a grid of some extents lie, axis by axis."""
    points = site.problem.points
    number = [name for name, _ in points.faces].index(field)
    place = own_memory(site) + 1 + len(points.sources) + len(points.receivers) + number
    base = ir.Load(site.params[3], ir.Int(place), ir.const_pointer(site.dtype))
    at: ir.Expr = ir.Var("sums", ir.pointer(site.dtype))
    lets: list[ir.Stmt] = [ir.Let(ir.Var("sums", ir.pointer(site.dtype)), ir.writable(base))]
    faces = []
    for axis, (below, above) in enumerate(dict(points.faces)[field]):
        if not below + above:
            continue
        low, high = ir.Var(f"face_low{axis}"), ir.Var(f"face_high{axis}")
        start = ir.Var(f"face{axis}", ir.pointer(site.dtype))
        lets += [
            ir.Let(low, ir.smallest(extents[axis], below)),
            ir.Let(high, ir.largest(low, extents[axis] - above)),
            ir.Let(start, at),
        ]
        total: ir.Expr = ir.Int(1)
        strides = []
        for other in reversed(range(site.rank)):
            distance = ir.Var(f"face{axis}_by{other}")
            lets.append(ir.Let(distance, total))
            strides.append(distance)
            cells = (low + (extents[axis] - high)) if other == axis else extents[other]
            total = ir.op(ir.Operator.MUL, distance, cells)
        at = start + total
        faces.append(Face(axis=axis, low=low, high=high, start=start, strides=tuple(reversed(strides))))
    return lets, faces


def add_to(site: Site, sums: ir.Expr, row: ir.Expr, index: ir.Expr) -> ir.Stmt:
    """Add a cell's new value to its sum."""
    value = ir.op(ir.Operator.ADD, ir.Load(sums, ir.Int(0), site.dtype), ir.Load(row, index, site.dtype))
    return ir.Store(sums, ir.Int(0), value, site.dtype)


def sum_box(site: Site, field: str, box: Sequence[Pair]) -> ir.Stmt:
    """Add the new values of a box in the grid's memory, or a tile's own, to the sums of their cells."""
    statement = next(each for each in site.problem.program.statements if each.field == field)
    lets, faces = faces_of(site, field, [extent(axis) for axis in range(site.rank)])
    names = [(ir.Var(f"first{axis}"), ir.Var(f"end{axis}")) for axis in range(site.rank)]
    for (first, end), (low, high), ends in zip(names, box, box_bounds(site, statement), strict=True):
        lets += [ir.Let(first, ir.largest(low, ends[0])), ir.Let(end, ir.smallest(high, ends[1]))]
    places = [ir.Var(f"at{axis}") for axis in range(site.rank)]
    value: ir.Expr = ir.Var("target", ir.pointer(site.dtype))
    for axis, place in enumerate(places):
        value = value + (place * stride(axis) if axis < site.rank - 1 else place)
    found: list[ir.Stmt] = []
    for face in faces:
        for last in (False, True):
            spans = [face.span(pair, last=last) if axis == face.axis else pair for axis, pair in enumerate(names)]
            nest: tuple[ir.Stmt, ...] = (add_to(site, face.sum_at(places, last=last), value, ir.Int(0)),)
            for place, span in reversed(list(zip(places, spans, strict=True))):
                nest = (ir.For(var=place, low=span[0], high=span[1], body=nest),)
            found += nest
    return ir.Scope((*lets, *found))
