"""Sums over the steps of new values near the sides of a grid, where a kernel has them in its caches.

What a gradient needs of the steps that it takes back, where cells along the sides keep their values: what those are
worth is linear in such sums. A field's sums lie one axis behind the other, and the cells at the second end of an axis
behind those at the first. Every cell is added to by the tile that owns it, in the order of the steps.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.layouts import Layout
from tilewright.codegen.sites import Pair, Site, extent


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
            moved = place - (self.high - self.low) if last and axis == self.axis else place
            found += ir.op(ir.Operator.MUL, moved, distance)
        return found


def faces_of(b: ir.Builder, site: Site, field: str, extents: Sequence[ir.Expr]) -> list[Face]:
    """Name where the sums of a field near the sides of a grid of some extents lie, axis by axis."""
    points = site.problem.points
    number = [name for name, _ in points.faces].index(field)
    base = site.constant[site.own_memory + 1 + len(points.sources) + len(points.receivers) + number]
    at: ir.Expr = b.let("sums", ir.writable(base))
    faces = []
    for axis, (below, above) in enumerate(dict(points.faces)[field]):
        if not below + above:
            continue
        low = b.let(f"face_low{axis}", ir.smallest(extents[axis], below))
        high = b.let(f"face_high{axis}", ir.largest(low, extents[axis] - above))
        start = b.let(f"face{axis}", at)
        total: ir.Expr = ir.Int(1)
        strides = []
        for other in reversed(range(site.rank)):
            strides.append(b.let(f"face{axis}_by{other}", total))
            cells = low + (extents[axis] - high) if other == axis else extents[other]
            total = ir.op(ir.Operator.MUL, strides[-1], cells)
        at = start + total
        faces.append(Face(axis=axis, low=low, high=high, start=start, strides=tuple(reversed(strides))))
    return faces


def add_to(b: ir.Builder, sums: ir.Expr, value: ir.Expr) -> None:
    """Add a cell's new value to its sum."""
    b.set(sums[0], ir.op(ir.Operator.ADD, sums[0], value))


def sum_box(b: ir.Builder, site: Site, field: str, box: Sequence[Pair]) -> None:
    """Add the new values of a box in the grid's memory to the sums of their cells."""
    statement = next(each for each in site.problem.program.statements if each.field == field)
    bounds = site.bounds(statement)
    with b.scope():
        faces = faces_of(b, site, field, [extent(axis) for axis in range(site.rank)])
        own = [
            (b.let(f"first{axis}", ir.largest(low, least)), b.let(f"end{axis}", ir.smallest(high, end)))
            for axis, ((low, high), (least, end)) in enumerate(zip(box, bounds, strict=True))
        ]
        names, target = [f"at{axis}" for axis in range(site.rank)], ir.Var("target", ir.pointer(site.dtype))
        for face, last in itertools.product(faces, (False, True)):
            spans = [face.span(pair, last=last) if axis == face.axis else pair for axis, pair in enumerate(own)]
            with b.nest(names, spans) as places:
                row = Layout(base=target).row(target, places[:-1])
                add_to(b, face.sum_at(places, last=last), (row + places[-1])[0])
