"""Sources and receivers in kernels: what is added to new values, and what of them is recorded, box by box.

The cells of all points lie in tables, one per field with sources and one per field with receivers, in row-major order;
a *row table* says where each row's cells start, so that rows and planes without any cost one look-up. In 1D, where the
grid is one row, pieces of :data:`PIECE` cells take the place of rows.

    points[2 i]         table i: the first cell of each row, and the end
    points[2 i + 1]     table i: the place of each cell along its row
    constant[… + i]     table i: numbers of each cell, step by step, which sources add, or into which receivers write

Every cell that a tile computes, its neighbours' included, is added to; only its own are recorded.
"""

from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.pipeline import (
    EDGE,
    GX,
    GY,
    PITCH,
    X0,
    X1,
    N,
    Plan,
    lanes,
    place,
    row_width,
    sizes,
    slab_at,
    slabs,
)
from tilewright.codegen.sites import Site, constants, extent, stride, unpack
from tilewright.programs.points import PIECE

_FIRST, _LAST, _K = ir.Var("first"), ir.Var("last"), ir.Var("k")
_AT = ir.Var("at")
_STEPS = ir.Var("steps")
_ROWS = ir.Var("rows", ir.const_pointer(ir.INDEX))
_CELLS = ir.Var("cells", ir.const_pointer(ir.INDEX))

Pair = tuple[ir.Expr, ir.Expr]


def function_name(site: Site, field: str) -> str:
    """Name of the function that adds the sources of a field and records its cells."""
    return f"{site.prefix}_points_{site.problem.program.fields.index(field)}"


def touches(site: Site, field: str) -> bool:
    """Whether a field has sources or receivers."""
    return field in (*site.problem.points.sources, *site.problem.points.receivers)


def _tables(site: Site, field: str) -> list[tuple[int, bool]]:
    """Numbers of a field's tables, the sources' first, and whether each is of receivers."""
    points = site.problem.points
    found = [(points.sources.index(field), False)] if field in points.sources else []
    if field in points.receivers:
        found.append((len(points.sources) + points.receivers.index(field), True))
    return found


def _open(site: Site, table: int, step: ir.Expr) -> tuple[tuple[ir.Stmt, ...], ir.Var]:
    """Name the parts of a table, and where the numbers of a step start."""
    numbers = ir.Var("numbers", ir.pointer(site.dtype))
    place = ir.Int(len(constants(site.problem)) + 1 + table)
    base = ir.Load(site.params[3], place, ir.const_pointer(site.dtype))
    lets = (
        ir.Let(_STEPS, ir.Load(site.params[1], ir.Int(0), ir.INDEX)),
        ir.Let(_ROWS, ir.Load(site.params[4], ir.Int(2 * table), _ROWS.type)),
        ir.Let(_CELLS, ir.Load(site.params[4], ir.Int(2 * table + 1), _CELLS.type)),
        ir.Let(numbers, ir.add(ir.writable(base), step)),
    )
    return lets, numbers


def _span(low: ir.Expr, high: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Name the first and the last cell of a range of rows."""
    return (ir.Let(_FIRST, ir.Load(_ROWS, low, ir.INDEX)), ir.Let(_LAST, ir.Load(_ROWS, high, ir.INDEX)))


def _each(site: Site, span: Pair, target: tuple[ir.Expr, ir.Expr], numbers: ir.Var, *, records: bool) -> ir.Stmt:
    """Go through the cells of some rows; ``span`` bounds their places, ``target`` is the row and the index in it."""
    row, index = target
    value = ir.Load(row, index, site.dtype)
    column = ir.mul(_K, _STEPS)
    number = ir.Load(numbers, column, site.dtype)
    act = (
        ir.Store(numbers, column, value, site.dtype)
        if records
        else ir.Store(row, index, ir.op(ir.Operator.ADD, value, number), site.dtype)
    )
    inside = ir.and_(ir.ge(_AT, span[0]), ir.lt(_AT, span[1]))
    body = (ir.Let(_AT, ir.Load(_CELLS, _K, ir.INDEX)), ir.If(inside, (act,)))
    return ir.For(var=_K, low=_FIRST, high=_LAST, body=body)


def points_function(site: Site, field: str, step: ir.Var, *, own: bool) -> ir.Function:
    """A function ``points(…, t, low0, high0, …)`` for a box whose new values are computed.

    Args:
        site: The kernel's surroundings.
        field: A field with sources or receivers.
        step: The time step.
        own: Whether tiles compute cells of others: then only those are recorded that the sizes end with.
    """
    given = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
    body: list[ir.Stmt] = [*unpack(site), ir.Let(ir.Var("target", ir.pointer(site.dtype)), site.slot(field, 1, step))]
    for table, records in _tables(site, field):
        box: list[Pair] = []
        lets, numbers = _open(site, table, step)
        inner: list[ir.Stmt] = [*lets]
        for axis, (low, high) in enumerate(given):
            least, end = (ir.Int(0), extent(axis)) if not (own and records) else own_cells(site, axis)
            a, b = ir.Var(f"a{axis}"), ir.Var(f"b{axis}")
            inner += [ir.Let(a, ir.largest(low, least)), ir.Let(b, ir.smallest(high, end))]
            box.append((a, b))
        some: ir.Expr = ir.lt(*box[0])
        for pair in box[1:]:
            some = ir.and_(some, ir.lt(*pair))
        inner.append(ir.If(some, _in_box(site, box, numbers, records=records)))
        body.append(ir.Scope(tuple(inner)))
    params = (*site.params, step, *(var for pair in given for var in pair))
    return ir.Function(name=function_name(site, field), params=params, body=tuple(body), kind="apart")


def own_place(site: Site) -> int:
    """Index in a tile's sizes at which the bounds of its own cells start."""
    return 2 + 2 * site.rank


def own_cells(site: Site, axis: int) -> Pair:
    """Bounds of a tile's own cells, where it computes others, too."""
    low, high = (ir.Load(site.params[1], ir.Int(own_place(site) + 2 * axis + side), ir.INDEX) for side in (0, 1))
    return low, high


def _in_box(site: Site, box: Sequence[Pair], numbers: ir.Var, *, records: bool) -> tuple[ir.Stmt, ...]:
    target = ir.Var("target", ir.pointer(site.dtype))
    if site.rank == 1:
        a, b = box[0]
        return (*_span(*_pieces(a, b)), _each(site, box[0], (target, _AT), numbers, records=records))
    axis = site.rank - 2
    row = ir.Var("row")
    outer = ir.Var("x0")
    before: ir.Expr = ir.mul(outer, extent(1)) if axis else ir.Int(0)
    start: ir.Expr = ir.add(target, ir.mul(row, stride(axis)))
    if axis:
        start = ir.add(start, ir.mul(outer, stride(0)))
    line = ir.Var("line", target.type)
    each = (
        *_span(ir.add(before, row), ir.add(ir.add(before, row), 1)),
        ir.Let(line, start),
        _each(site, box[-1], (line, _AT), numbers, records=records),
    )
    low, high = box[axis]
    rows = ir.For(var=row, low=low, high=high, body=each)
    nest: tuple[ir.Stmt, ...] = (
        *_span(ir.add(before, low), ir.add(before, high)),
        ir.If(ir.lt(_FIRST, _LAST), (rows,)),
    )
    return (ir.For(var=outer, low=box[0][0], high=box[0][1], body=nest),) if axis else nest


def _pieces(low: ir.Expr, high: ir.Expr) -> Pair:
    """The pieces of a row that a range of cells, not an empty one, has a part in."""
    return ir.div(low, PIECE), ir.add(ir.div(ir.sub(high, 1), PIECE), 1)


# Streaming tiles: the rows of one advance are lifted, see tilewright.codegen.print.c_lift

Y0 = ir.Var("y0")
_OWN = (ir.Var("ya"), ir.Var("yb"), ir.Var("za"), ir.Var("zb"), X0, X1)


def near_rows(plan: Plan, field: int, y0: ir.Expr) -> ir.Expr:
    """Whether any cell with sources or receivers lies in the rows, or planes, of the advance that starts at ``y0``."""
    site = plan.site
    if site.rank == 1:
        return ir.Int(1)
    end = ir.Var("n0")
    ends = [ir.smallest(ir.largest(at, 0), end) for at in (y0, ir.add(y0, plan.rows))]
    low, high = (ir.mul(at, ir.Var("n1")) if site.rank == 3 else at for at in ends)
    found: ir.Expr | None = None
    for table, _ in _tables(site, plan.fields[field]):
        rows = ir.Load(site.params[4], ir.Int(2 * table), _ROWS.type)
        some = ir.lt(ir.Load(rows, low, ir.INDEX), ir.Load(rows, high, ir.INDEX))
        found = some if found is None else ir.or_(found, some)
    return found or ir.Int(0)


def stream_params(plan: Plan, field: int) -> tuple[ir.Var, ...]:
    """Parameters of :func:`stream_function`: the new version, its step, and where the tile lies."""
    new = slabs(plan, field, "out", write=True)
    shared = (plan.site.params[1], *plan.site.params[3:], ir.Var("t"), *new.params[:2])
    return (*shared, Y0, ir.Var("n0"), ir.Var("n1"), N, GX, GY, EDGE, *_OWN)


def stream_function(plan: Plan, field: int) -> ir.Function:
    """A function that adds the sources of a field to the rows of one advance, and records its tile's own cells."""
    site, name = plan.site, plan.fields[field]
    new = slabs(plan, field, "out", write=True)
    body: list[ir.Stmt] = [ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)]
    for table, records in _tables(site, name):
        lets, numbers = _open(site, table, ir.Var("t"))
        inner: list[ir.Stmt] = [*lets]
        for r in range(plan.rows):
            y = ir.add(Y0, r)
            low, high = (_OWN[0], _OWN[1]) if records else (ir.Int(0), ir.Var("n0"))
            here = ir.and_(ir.ge(y, low), ir.lt(y, high))
            inner.append(ir.If(here, _in_slab(plan, field, (slab_at(plan, new, r), y), numbers, records=records)))
        body.append(ir.Scope(tuple(inner)))
    return ir.Function(
        name=function_name(site, name),
        params=stream_params(plan, field),
        body=tuple(body),
        kind="apart",
        about=f"Adds the sources of {name} to the rows of one advance, and records the tile's own cells.",
    )


def _in_slab(
    plan: Plan, field: int, slab: tuple[ir.Expr, ir.Expr], numbers: ir.Var, *, records: bool
) -> tuple[ir.Stmt, ...]:
    site, (start, y) = plan.site, slab
    end = ir.add(GX, row_width(plan))
    span = (X0, X1) if records else (ir.largest(GX, 0), ir.smallest(end, N))
    row = ir.Var("row_out", ir.pointer(site.dtype))
    cells = _each(site, span, (row, place(ir.sub(_AT, GX))), numbers, records=records)
    ends = ir.Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE))
    each: tuple[ir.Stmt, ...] = (cells,) if records else (cells, ends)
    if plan.rank == 2:
        rows = _pieces(*span) if site.rank == 1 else (y, ir.add(y, 1))
        return (*_span(*rows), ir.If(ir.lt(_FIRST, _LAST), (ir.Let(row, start), *each)))
    line = ir.Var("line")
    low, high = (
        (_OWN[2], _OWN[3]) if records else (ir.largest(GY, 0), ir.smallest(ir.add(GY, plan.lines), ir.Var("n1")))
    )
    base = ir.mul(y, ir.Var("n1"))
    touched = (
        *_span(ir.add(base, line), ir.add(ir.add(base, line), 1)),
        ir.If(
            ir.lt(_FIRST, _LAST),
            (ir.Let(row, ir.add(start, ir.mul(ir.sub(line, GY), PITCH))), *each),
        ),
    )
    lines = ir.For(var=line, low=low, high=high, body=touched)
    return (*_span(ir.add(base, low), ir.add(base, high)), ir.If(ir.lt(_FIRST, _LAST), (lines,)))
