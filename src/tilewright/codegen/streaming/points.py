"""Sources and receivers of streaming tiles, whose rows are lifted.

See :func:`tilewright.codegen.print.c_prelude.lift_helpers`.
"""

import itertools
from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.faces import Face, add_to, faces_of
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
from tilewright.codegen.sites import Pair
from tilewright.codegen.streaming.copies import BOUNDS
from tilewright.codegen.streaming.layout import (
    EDGE,
    GX,
    GY,
    PITCH,
    VECTORS,
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
from tilewright.programs.stencil.problem import Span

Y0 = ir.Var("y0")


def spare(plan: StreamingContext) -> ir.Var:
    """Memory for two rows as they lie in the grid."""
    return ir.Var("spare", ir.pointer(plan.site.dtype))


def near_rows(plan: StreamingContext, field: int, y0: ir.Expr) -> ir.Expr:
    """Whether any cell with sources or receivers lies in the rows, or planes, of the advance that starts at ``y0``."""
    site = plan.site
    if site.rank == 1:
        return ir.Int(1)
    end = ir.Var("n0")
    ends = [ir.smallest(ir.largest(at, 0), end) for at in (y0, y0 + plan.rows)]
    low, high = ((at * ir.Var("n1")) if site.rank == 3 else at for at in ends)
    found: ir.Expr | None = None
    for table, _ in tables(site.problem, plan.fields[field]):
        rows = ir.Load(site.params[4], ir.Int(2 * table), ROWS.type)
        some = ir.Load(rows, low, ir.INDEX) < ir.Load(rows, high, ir.INDEX)
        found = some if found is None else (found | some)
    widths = dict(site.problem.points.faces).get(plan.fields[field])
    if widths is not None:
        near = _near_sides(plan, widths, y0)
        found = near if found is None else (found | near)
    return found or ir.Int(0)


def _near_sides(plan: StreamingContext, widths: Sequence[Span], y0: ir.Expr) -> ir.Expr:
    """Whether the tile has cells near the sides of the grid in the rows, or planes, of the advance."""
    ends = ((y0, y0 + plan.rows), BOUNDS[2:4], (X0, X1))
    extents = (ir.Var("n0"), ir.Var("n1"), N)
    near: ir.Expr = ir.Int(0)
    for axis, (low, high) in enumerate(widths, 3 - len(widths)):
        at = 0 if axis == 3 - len(widths) and len(widths) > 1 else axis
        below, above = ends[at][0] < low, ends[at][1] > extents[at] - high
        near = (near | (below | above)) if low + high else near
    own = (ends[0][1] > BOUNDS[0]) & (y0 < BOUNDS[1])
    return own & near


def stream_params(plan: StreamingContext, field: int) -> tuple[ir.Var, ...]:
    """Parameters of :func:`stream_function`: the new version, its step, and where the tile lies."""
    new = slabs(plan, field, "out", write=True)
    shared = (plan.site.params[1], *plan.site.params[3:], ir.Var("t"), *new.params[:2])
    if plan.fields[field] in dict(plan.site.problem.points.faces):
        shared = (*shared, spare(plan))
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
            y = Y0 + r
            low, high = (BOUNDS[0], BOUNDS[1]) if records else (ir.Int(0), ir.Var("n0"))
            here = (y >= low) & (y < high)
            inner.append(ir.If(here, _in_slab(plan, field, (slab_at(plan, new, r), y), numbers, records=records)))
        body.append(ir.Scope(tuple(inner)))
    if name in dict(site.problem.points.faces):
        body.append(_sum_rows(plan, field))
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
    end = GX + row_width(plan)
    span = (X0, X1) if records else (ir.largest(GX, 0), ir.smallest(end, N))
    row = ir.Var("row_out", ir.pointer(site.dtype))
    cells = each_cell(site, span, (row, place(AT - GX)), numbers, records=records)
    ends = ir.Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE))
    each: tuple[ir.Stmt, ...] = (cells,) if records else (cells, ends)
    if plan.rank == 2:
        rows = pieces(*span) if site.rank == 1 else (y, y + 1)
        return (*cells_between(*rows), ir.If(FIRST < LAST, (ir.Let(row, start), *each)))
    line = ir.Var("line")
    low, high = (BOUNDS[2], BOUNDS[3]) if records else (ir.largest(GY, 0), ir.smallest(GY + plan.lines, ir.Var("n1")))
    base = y * ir.Var("n1")
    touched = (
        *cells_between(base + line, base + line + 1),
        ir.If(
            FIRST < LAST,
            (ir.Let(row, start + (line - GY) * PITCH), *each),
        ),
    )
    lines = ir.For(var=line, low=low, high=high, body=touched)
    return (*cells_between(base + low, base + high), ir.If(FIRST < LAST, (lines,)))


def _sum_rows(plan: StreamingContext, field: int) -> ir.Stmt:
    """Add the tile's own new values near the sides of the grid to the sums of their cells."""
    skip = plan.rank - plan.site.rank
    extents = [*(ir.Var(f"n{axis}") for axis in range(plan.rank - 1)), N]
    lets, faces = faces_of(plan.site, plan.fields[field], extents[skip:])
    own: list[Pair] = []
    for axis, (low, high) in enumerate(zip(BOUNDS[::2], BOUNDS[1::2], strict=True)):
        if plan.rank == 2 and axis == 1:
            continue
        first, end = ir.Var(f"first{len(own)}"), ir.Var(f"end{len(own)}")
        below, above = plan.frame(field, len(own))
        lets.append(ir.Let(first, ir.largest(low, below)))
        lets.append(ir.Let(end, ir.smallest(high, extents[len(own)] - above)))
        own.append((first, end))
    body = [_of_face(plan, field, own, face, last=last) for face in faces for last in (False, True)]
    return ir.Scope((*lets, *itertools.chain.from_iterable(body)))


def _of_face(plan: StreamingContext, field: int, own: list[Pair], face: Face, *, last: bool) -> list[ir.Stmt]:
    """The rows of one advance at one end of an axis; whole rows are brought into the grid's order."""
    axis, new = face.axis + plan.rank - plan.site.rank, slabs(plan, field, "out", write=True)
    spans = [face.span(pair, last=last) if number == axis else pair for number, pair in enumerate(own)]
    x, line, at = ir.Var("x"), ir.Var("line"), ir.Var("at")
    found: list[ir.Stmt] = []
    for r in range(plan.rows):
        y, row = Y0 + r, slab_at(plan, new, r)
        places = [y, line, x] if plan.rank == 3 else [y, x]
        row = (row + (line - GY) * PITCH) if plan.rank == 3 else row
        sums = face.sum_at(places[plan.rank - plan.site.rank :], last=last)
        if axis == plan.rank - 1:
            work: tuple[ir.Stmt, ...] = (add_to(plan.site, sums, row, at),)
        else:
            lower = ir.Intrinsic("lower", (spare(plan), row, VECTORS), plan.site.dtype)
            each = add_to(plan.site, sums, spare(plan), x - GX)
            work = (lower, ir.For(var=x, low=spans[-1][0], high=spans[-1][1], body=(each,)))
        if plan.rank == 3:
            work = (ir.For(var=line, low=spans[1][0], high=spans[1][1], body=work),)
        found.append(ir.If((y >= spans[0][0]) & (y < spans[0][1]), work))
    if axis < plan.rank - 1:
        return found
    inner = (ir.Let(at, place(x - GX)), *found)
    return [ir.For(var=x, low=spans[-1][0], high=spans[-1][1], body=inner)]
