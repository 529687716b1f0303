"""Sources and receivers in kernels: what is added to new values, and what of them is recorded, box by box.

The cells of all points lie in tables, one per field with sources and one per field with receivers, in row-major order;
a *row table* says where each row's cells start, so that rows and planes without any cost one look-up. In 1D, where the
grid is one row, pieces of :data:`PIECE` cells take the place of rows.

    points[2 i]         table i: the first cell of each row, and the end
    points[2 i + 1]     table i: the place of each cell along its row
    constant[… + i]     table i: numbers of each cell, step by step, which sources add, or into which receivers write
"""

from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.faces import sum_box
from tilewright.codegen.sites import Site, extent, own_memory, stride, unpack
from tilewright.programs.stencil.points import PIECE
from tilewright.programs.stencil.problem import Problem

FIRST, LAST, _K = ir.Var("first"), ir.Var("last"), ir.Var("k")
AT = ir.Var("at")
_STEPS = ir.Var("steps")
ROWS = ir.Var("rows", ir.const_pointer(ir.INDEX))
_CELLS = ir.Var("cells", ir.const_pointer(ir.INDEX))

Pair = tuple[ir.Expr, ir.Expr]


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
    place = ir.Int(own_memory(site) + 1 + table)
    base = ir.Load(site.params[3], place, ir.const_pointer(site.dtype))
    lets = (
        ir.Let(_STEPS, ir.Load(site.params[1], ir.Int(0), ir.INDEX)),
        ir.Let(ROWS, ir.Load(site.params[4], ir.Int(2 * table), ROWS.type)),
        ir.Let(_CELLS, ir.Load(site.params[4], ir.Int(2 * table + 1), _CELLS.type)),
        ir.Let(numbers, ir.writable(base) + step),
    )
    return lets, numbers


def cells_between(low: ir.Expr, high: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Name the first and the last cell of a range of rows."""
    return (ir.Let(FIRST, ir.Load(ROWS, low, ir.INDEX)), ir.Let(LAST, ir.Load(ROWS, high, ir.INDEX)))


def each_cell(site: Site, span: Pair, target: tuple[ir.Expr, ir.Expr], numbers: ir.Var, *, records: bool) -> ir.Stmt:
    """Go through the cells of some rows; ``span`` bounds their places, ``target`` is the row and the index in it."""
    row, index = target
    value = ir.Load(row, index, site.dtype)
    column = _K * _STEPS
    number = ir.Load(numbers, column, site.dtype)
    act = (
        ir.Store(numbers, column, value, site.dtype)
        if records
        else ir.Store(row, index, ir.op(ir.Operator.ADD, value, number), site.dtype)
    )
    inside = (AT >= span[0]) & (AT < span[1])
    body = (ir.Let(AT, ir.Load(_CELLS, _K, ir.INDEX)), ir.If(inside, (act,)))
    return ir.For(var=_K, low=FIRST, high=LAST, body=body)


def points_function(site: Site, field: str, step: ir.Var) -> ir.Function:
    """A function ``points(…, t, low0, high0, …)`` for a box whose new values are computed."""
    given = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
    body: list[ir.Stmt] = [*unpack(site), ir.Let(ir.Var("target", ir.pointer(site.dtype)), site.slot(field, 1, step))]
    for table, records in tables(site.problem, field):
        box: list[Pair] = []
        lets, numbers = open_table(site, table, step)
        inner: list[ir.Stmt] = [*lets]
        for axis, (low, high) in enumerate(given):
            a, b = ir.Var(f"a{axis}"), ir.Var(f"b{axis}")
            inner += [ir.Let(a, ir.largest(low, ir.Int(0))), ir.Let(b, ir.smallest(high, extent(axis)))]
            box.append((a, b))
        some: ir.Expr = box[0][0] < box[0][1]
        for pair in box[1:]:
            some = some & (pair[0] < pair[1])
        inner.append(ir.If(some, _in_box(site, box, numbers, records=records)))
        body.append(ir.Scope(tuple(inner)))
    if field in dict(site.problem.points.faces):
        body.append(sum_box(site, field, given))
    params = (*site.params, step, *(var for pair in given for var in pair))
    return ir.Function(name=function_name(site, field), params=params, body=tuple(body), kind="apart")


def _in_box(site: Site, box: Sequence[Pair], numbers: ir.Var, *, records: bool) -> tuple[ir.Stmt, ...]:
    target = ir.Var("target", ir.pointer(site.dtype))
    if site.rank == 1:
        a, b = box[0]
        return (*cells_between(*pieces(a, b)), each_cell(site, box[0], (target, AT), numbers, records=records))
    axis = site.rank - 2
    row = ir.Var("row")
    outer = [ir.Var(f"x{each}") for each in range(axis)]
    before: ir.Expr = ir.Int(0)
    start: ir.Expr = target + row * stride(axis)
    for each, var in enumerate(outer):
        before = (before + var) * extent(each + 1)
        start = start + var * stride(each)
    line = ir.Var("line", target.type)
    cells = (
        *cells_between(before + row, before + row + 1),
        ir.Let(line, start),
        each_cell(site, box[-1], (line, AT), numbers, records=records),
    )
    low, high = box[axis]
    rows = ir.For(var=row, low=low, high=high, body=cells)
    nest: tuple[ir.Stmt, ...] = (
        *cells_between(before + low, before + high),
        ir.If(FIRST < LAST, (rows,)),
    )
    for var, (first, last) in reversed(list(zip(outer, box, strict=False))):
        nest = (ir.For(var=var, low=first, high=last, body=nest),)
    return nest


def pieces(low: ir.Expr, high: ir.Expr) -> Pair:
    """The pieces of a row that a range of cells, not an empty one, has a part in."""
    return low / PIECE, (high - 1) / PIECE + 1
