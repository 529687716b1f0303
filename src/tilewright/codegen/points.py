"""Sources and receivers in kernels: what is added to new values, and what of them is recorded, box by box.

The cells of all points lie in tables, one per field with sources and one per field with receivers, in row-major order;
a *row table* says where each row's cells start, so that rows and planes without any cost one look-up. In 1D, where the
grid is one row, pieces of :data:`PIECE` cells take the place of rows.

    points[2 i]         table i: the first cell of each row, and the end
    points[2 i + 1]     table i: the place of each cell along its row
    constant[… + i]     table i: numbers of each cell, step by step, which sources add, or into which receivers write
"""

import functools
import operator
from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.faces import sum_box
from tilewright.codegen.layouts import stride
from tilewright.codegen.sites import POINTS, SIZE, Pair, Site, extent, own_memory, unpack
from tilewright.programs.stencil.points import PIECE
from tilewright.programs.stencil.problem import Problem

FIRST, LAST, AT = ir.Var("first"), ir.Var("last"), ir.Var("at")
ROWS = ir.Var("rows", ir.const_pointer(ir.INDEX))
_CELLS = ir.Var("cells", ir.const_pointer(ir.INDEX))
_K, _STEPS = ir.Var("k"), ir.Var("steps")


def function_name(site: Site, field: str) -> str:
    """Name of the function that adds the sources of a field and records its cells."""
    return f"{site.prefix}_points_{site.problem.program.fields.index(field)}"


def touches(problem: Problem, field: str) -> bool:
    """Whether a field has sources or receivers, or is summed near the sides of the grid."""
    points = problem.points
    return field in (*points.sources, *points.receivers, *dict(points.faces))


def tables(problem: Problem, field: str) -> list[tuple[int, bool]]:
    """Numbers of a field's tables, the sources' first, and whether each is of receivers."""
    points = problem.points
    found = [(points.sources.index(field), False)] if field in points.sources else []
    if field in points.receivers:
        found.append((len(points.sources) + points.receivers.index(field), True))
    return found


def open_table(site: Site, table: int, step: ir.Expr) -> tuple[tuple[ir.Stmt, ...], ir.Var]:
    """Name the parts of a table, and where the numbers of a step start."""
    numbers = ir.Var("numbers", ir.pointer(site.dtype))
    lets = (
        ir.Let(_STEPS, SIZE[0]),
        ir.Let(ROWS, POINTS[2 * table]),
        ir.Let(_CELLS, POINTS[2 * table + 1]),
        ir.Let(numbers, ir.writable(site.constant[own_memory(site) + 1 + table]) + step),
    )
    return lets, numbers


def cells_between(low: ir.Expr, high: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Name the first and the last cell of a range of rows."""
    return (ir.Let(FIRST, ROWS[low]), ir.Let(LAST, ROWS[high]))


def each_cell(site: Site, span: Pair, target: tuple[ir.Expr, ir.Expr], numbers: ir.Var, *, records: bool) -> ir.Stmt:
    """Go through the cells of some rows; ``span`` bounds their places, ``target`` is the row and the index in it."""
    row, index = target
    column = _K * _STEPS
    act = (
        ir.Store(numbers, column, row[index], site.dtype)
        if records
        else ir.Store(row, index, ir.op(ir.Operator.ADD, row[index], numbers[column]), site.dtype)
    )
    body = (ir.Let(AT, _CELLS[_K]), ir.If((AT >= span[0]) & (AT < span[1]), (act,)))
    return ir.For(var=_K, low=FIRST, high=LAST, body=body)


def points_function(site: Site, field: str, step: ir.Var) -> ir.Function:
    """A function ``points(…, t, low0, high0, …)`` for a box whose new values are computed."""
    b = ir.Builder(function_name(site, field), kind="apart")
    b.params(*site.params, step)
    given = [(b.param(f"low{axis}"), b.param(f"high{axis}")) for axis in range(site.rank)]
    b.emit(*unpack(site))
    b.let("target", site.layout(field).version(1, step))
    for table, records in tables(site.problem, field):
        with b.scope():
            lets, numbers = open_table(site, table, step)
            b.emit(*lets)
            box = [
                (b.let(f"a{axis}", ir.largest(low, 0)), b.let(f"b{axis}", ir.smallest(high, extent(axis))))
                for axis, (low, high) in enumerate(given)
            ]
            with b.when(functools.reduce(operator.and_, (low < high for low, high in box))):
                _in_box(b, site, box, numbers, records=records)
    if field in dict(site.problem.points.faces):
        sum_box(b, site, field, given)
    return b.function()


def _in_box(b: ir.Builder, site: Site, box: Sequence[Pair], numbers: ir.Var, *, records: bool) -> None:
    target = ir.Var("target", ir.pointer(site.dtype))
    if site.rank == 1:
        b.emit(*cells_between(*pieces(*box[0])))
        b.emit(each_cell(site, box[0], (target, AT), numbers, records=records))
        return
    *outer, (low, high), span = box
    with b.nest([f"x{axis}" for axis in range(len(outer))], outer) as places:
        before: ir.Expr = ir.Int(0)
        for axis, place in enumerate(places, 1):
            before = (before + place) * extent(axis)
        b.emit(*cells_between(before + low, before + high))
        with b.when(FIRST < LAST), b.loop("row", low, high) as row:
            b.emit(*cells_between(before + row, before + row + 1))
            start = target + row * stride(len(outer))
            for axis, place in enumerate(places):
                start += place * stride(axis)
            b.emit(each_cell(site, span, (b.let("line", start), AT), numbers, records=records))


def pieces(low: ir.Expr, high: ir.Expr) -> Pair:
    """The pieces of a row that a range of cells, not an empty one, has a part in."""
    return low / PIECE, (high - 1) / PIECE + 1
