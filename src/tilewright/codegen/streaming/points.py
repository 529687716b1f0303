"""Sources and receivers of streaming tiles, whose rows are lifted: see :mod:`tilewright.codegen.print.c_lift`."""

from tilewright.codegen import ir
from tilewright.codegen.points import (
    AT,
    FIRST,
    LAST,
    ROWS,
    cells_between,
    each_cell,
    function_name,
    open_table,
    pieces,
    tables,
)
from tilewright.codegen.streaming.copies import BOUNDS
from tilewright.codegen.streaming.layout import (
    EDGE,
    GX,
    GY,
    PITCH,
    X0,
    X1,
    N,
    StreamingContext,
    lanes,
    place,
    row_width,
    sizes,
    slab_at,
    slabs,
)

Y0 = ir.Var("y0")


def near_rows(plan: StreamingContext, field: int, y0: ir.Expr) -> ir.Expr:
    """Whether any cell with sources or receivers lies in the rows, or planes, of the advance that starts at ``y0``."""
    site = plan.site
    if site.rank == 1:
        return ir.Int(1)
    end = ir.Var("n0")
    ends = [ir.smallest(ir.largest(at, 0), end) for at in (y0, ir.add(y0, plan.rows))]
    low, high = (ir.mul(at, ir.Var("n1")) if site.rank == 3 else at for at in ends)
    found: ir.Expr | None = None
    for table, _ in tables(site.problem, plan.fields[field]):
        rows = ir.Load(site.params[4], ir.Int(2 * table), ROWS.type)
        some = ir.lt(ir.Load(rows, low, ir.INDEX), ir.Load(rows, high, ir.INDEX))
        found = some if found is None else ir.or_(found, some)
    return found or ir.Int(0)


def stream_params(plan: StreamingContext, field: int) -> tuple[ir.Var, ...]:
    """Parameters of :func:`stream_function`: the new version, its step, and where the tile lies."""
    new = slabs(plan, field, "out", write=True)
    shared = (plan.site.params[1], *plan.site.params[3:], ir.Var("t"), *new.params[:2])
    return (*shared, Y0, ir.Var("n0"), ir.Var("n1"), N, GX, GY, EDGE, *BOUNDS)


def stream_function(plan: StreamingContext, field: int) -> ir.Function:
    """A function that adds the sources of a field to the rows of one advance, and records its tile's own cells."""
    site, name = plan.site, plan.fields[field]
    new = slabs(plan, field, "out", write=True)
    body: list[ir.Stmt] = [ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)]
    for table, records in tables(site.problem, name):
        lets, numbers = open_table(site, table, ir.Var("t"))
        inner: list[ir.Stmt] = [*lets]
        for r in range(plan.rows):
            y = ir.add(Y0, r)
            low, high = (BOUNDS[0], BOUNDS[1]) if records else (ir.Int(0), ir.Var("n0"))
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
    plan: StreamingContext, field: int, slab: tuple[ir.Expr, ir.Expr], numbers: ir.Var, *, records: bool
) -> tuple[ir.Stmt, ...]:
    site, (start, y) = plan.site, slab
    end = ir.add(GX, row_width(plan))
    span = (X0, X1) if records else (ir.largest(GX, 0), ir.smallest(end, N))
    row = ir.Var("row_out", ir.pointer(site.dtype))
    cells = each_cell(site, span, (row, place(ir.sub(AT, GX))), numbers, records=records)
    ends = ir.Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE))
    each: tuple[ir.Stmt, ...] = (cells,) if records else (cells, ends)
    if plan.rank == 2:
        rows = pieces(*span) if site.rank == 1 else (y, ir.add(y, 1))
        return (*cells_between(*rows), ir.If(ir.lt(FIRST, LAST), (ir.Let(row, start), *each)))
    line = ir.Var("line")
    low, high = (
        (BOUNDS[2], BOUNDS[3]) if records else (ir.largest(GY, 0), ir.smallest(ir.add(GY, plan.lines), ir.Var("n1")))
    )
    base = ir.mul(y, ir.Var("n1"))
    touched = (
        *cells_between(ir.add(base, line), ir.add(ir.add(base, line), 1)),
        ir.If(
            ir.lt(FIRST, LAST),
            (ir.Let(row, ir.add(start, ir.mul(ir.sub(line, GY), PITCH))), *each),
        ),
    )
    lines = ir.For(var=line, low=low, high=high, body=touched)
    return (*cells_between(ir.add(base, low), ir.add(base, high)), ir.If(ir.lt(FIRST, LAST), (lines,)))
