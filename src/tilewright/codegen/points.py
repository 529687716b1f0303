"""Sources and receivers in kernels: what is added to new values, and what of them is recorded, box by box.

The cells of all points lie in tables, one per field with sources and one per field with receivers, in row-major order;
a *row table* says where each row's cells start, so that rows and planes without any cost one look-up. In 1D, where the
grid is one row, pieces of :data:`PIECE` cells take the place of rows.

    points[2 i]         table i: the first cell of each row, and the end
    points[2 i + 1]     table i: the place of each cell along its row
    constant[… + i]     table i: numbers of each cell, step by step, which sources add, or into which receivers write

New values near the sides of a grid are summed over the steps (*faces*), where a kernel has them in its caches: a
gradient needs them of the steps that it takes back, where cells along the sides keep their values. A field's sums lie
one axis behind the other, and the cells at the second end of an axis behind those at the first. Every cell is added to
by the tile that owns it, in the order of the steps.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.layouts import Layout, stride
from tilewright.codegen.sites import POINTS, SIZE, Pair, Site, extent
from tilewright.programs.stencil.points import PIECE
from tilewright.programs.stencil.problem import Problem


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
        address = self.start
        for axis, (place, distance) in enumerate(zip(places, self.strides, strict=True)):
            moved = place - (self.high - self.low) if last and axis == self.axis else place
            address += ir.op(ir.Operator.MUL, moved, distance)
        return address


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


FIRST, LAST, _STEPS = ir.Var("first"), ir.Var("last"), ir.Var("steps")
ROWS = ir.Var("rows", ir.const_pointer(ir.INDEX))
_CELLS = ir.Var("cells", ir.const_pointer(ir.INDEX))


def function_name(prefix: str, problem: Problem, field: str) -> str:
    """Name of the function that adds the sources of a field and records its cells."""
    return f"{prefix}_points_{problem.program.fields.index(field)}"


def touches(problem: Problem, field: str) -> bool:
    """Whether a field has sources or receivers, or is summed near the sides of the grid."""
    points = problem.points
    return field in (*points.sources, *points.receivers, *dict(points.faces))


def tables(problem: Problem, field: str) -> list[tuple[int, bool]]:
    """Numbers of a field's tables, the sources' first, and whether each is of receivers."""
    points = problem.points
    numbers = [(points.sources.index(field), False)] if field in points.sources else []
    if field in points.receivers:
        numbers.append((len(points.sources) + points.receivers.index(field), True))
    return numbers


def open_table(b: ir.Builder, site: Site, table: int, step: ir.Expr) -> ir.Expr:
    """Name the parts of a table; returns where the numbers of a step start."""
    b.let(_STEPS.name, SIZE[0])
    b.let(ROWS.name, POINTS[2 * table])
    b.let(_CELLS.name, POINTS[2 * table + 1])
    return b.let("numbers", ir.writable(site.constant[site.own_memory + 1 + table]) + step)


def name_cells(b: ir.Builder, low: ir.Expr, high: ir.Expr) -> None:
    """Name the first and the last cell of a range of rows."""
    b.emit(ir.Let(FIRST, ROWS[low]), ir.Let(LAST, ROWS[high]))  # loops inside name theirs anew


def row_number(outer: Sequence[ir.Expr]) -> ir.Expr:
    """Number of a row of the grid, by its places along the outer axes."""
    number, *others = outer
    for axis, place in enumerate(others, 1):
        number = number * extent(axis) + place
    return number


def each_cell(
    b: ir.Builder, span: Pair, value: Callable[[ir.Expr], ir.Load], numbers: ir.Expr, *, records: bool
) -> None:
    """Go through the cells of some rows; ``span`` bounds their places, ``value`` is where a place's value lies."""
    with b.loop("k", FIRST, LAST) as k:
        at, number = b.let("at", _CELLS[k]), numbers[k * _STEPS]
        with b.when((at >= span[0]) & (at < span[1])):
            if records:
                b.set(number, value(at))
            else:
                b.set(value(at), ir.op(ir.Operator.ADD, value(at), number))


def points_function(site: Site, field: str, step: ir.Var) -> ir.Function:
    """A function ``points(…, t, low0, high0, …)`` for a box whose new values are computed."""
    b = ir.Builder(function_name(site.prefix, site.problem, field), kind="apart")
    b.params(*site.params, step)
    bounds = [(b.param(f"low{axis}"), b.param(f"high{axis}")) for axis in range(site.rank)]
    site.name_sizes(b)
    b.let("target", site.layout(field).version(1, step))
    for table, records in tables(site.problem, field):
        with b.scope():
            numbers = open_table(b, site, table, step)
            box = [
                (b.let(f"a{axis}", ir.largest(low, 0)), b.let(f"b{axis}", ir.smallest(high, extent(axis))))
                for axis, (low, high) in enumerate(bounds)
            ]
            with b.when(ir.every(low < high for low, high in box)):
                _in_box(b, site, box, numbers, records=records)
    if field in dict(site.problem.points.faces):
        sum_box(b, site, field, bounds)
    return b.function()


def _in_box(b: ir.Builder, site: Site, box: Sequence[Pair], numbers: ir.Expr, *, records: bool) -> None:
    target = ir.Var("target", ir.pointer(site.dtype))
    if site.rank == 1:
        name_cells(b, *pieces(*box[0]))
        each_cell(b, box[0], lambda at: target[at], numbers, records=records)
        return
    *outer, (low, high), span = box
    with b.nest([f"x{axis}" for axis in range(len(outer))], outer) as places:
        name_cells(b, row_number((*places, low)), row_number((*places, high)))
        with b.when(FIRST < LAST), b.loop("row", low, high) as row:
            number = row_number((*places, row))
            name_cells(b, number, number + 1)
            line = b.let("line", Layout(base=target).row(target + row * stride(len(outer)), places))
            each_cell(b, span, lambda at: line[at], numbers, records=records)


def pieces(low: ir.Expr, high: ir.Expr) -> Pair:
    """The pieces of a row that a range of cells, not an empty one, has a part in."""
    return low / PIECE, (high - 1) / PIECE + 1
