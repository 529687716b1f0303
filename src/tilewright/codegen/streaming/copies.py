"""How a streaming kernel reads rows of the grid and writes them."""

from tilewright.codegen import ir
from tilewright.codegen.layouts import Packed, stride
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
    row_width,
    sizes,
    slab_at,
    slabs,
)
from tilewright.schedules.streaming.levels import line_cells

FROM_CALLER, TO_CALLER = ir.Var("from_caller"), ir.Var("to_caller")
"""Whether a band reads the caller's arrays, and whether it writes the caller's results."""
LIFTED_IN, LIFTED_OUT = ir.Var("lifted_in"), ir.Var("lifted_out")
"""Whether the rows that a band reads, or writes, lie lifted in memory: where tiles are as wide as the grid."""
BOUNDS = (ir.Var("ya"), ir.Var("yb"), ir.Var("za"), ir.Var("zb"), X0, X1)
"""A tile's own cells: along axis 0, along the middle axis in 3D, along the innermost axis."""


def fetch_function(plan: StreamingContext) -> ir.Function:
    """The cells of a row as one piece: in place, or copied where they would lie before the first cell of all.

    Cells outside the grid may hold anything, but nothing outside the array is read.
    """
    spare, line = ir.Var("spare", ir.pointer(plan.site.dtype)), ir.Var("line", ir.const_pointer(plan.site.dtype))
    base = ir.Var("base", line.type)
    low, high, whole, cells, start = ir.Var("low"), ir.Var("high"), ir.Var("whole"), ir.Var("cells"), ir.Var("start")
    # Of rows of fewer vectors than lanes up to a vector behind their end is read.
    behind = line_cells(plan.site.problem) if plan.width < plan.widest else 0
    fits = start + (plan.width + behind) <= cells
    body = (
        ir.Let(low, ir.largest(GX, 0)),
        ir.Let(high, ir.smallest(GX + row_width(plan), N)),
        ir.Let(start, line - base + GX),
        ir.Let(whole, (start >= 0) & fits),
        ir.If(
            whole.equals(0),
            (ir.Intrinsic("copy", (spare + (low - GX), line + low, high - low), plan.site.dtype),),
        ),
    )
    return ir.Function(
        name=plan.name("fetch"),
        params=(spare, base, line, GX, N, cells),
        body=body,
        result=ir.select(whole, line + GX, spare),
        result_type=ir.const_pointer(plan.site.dtype),
        about="The cells of a row of memory, copied where some of them would lie outside the array.",
    )


def global_row(plan: StreamingContext, base: ir.Expr, y: ir.Expr, z: ir.Expr) -> ir.Expr:
    """A row of the grid; axis 0 is ``y``, and ``z`` the middle axis in 3D."""
    if plan.site.rank == 1:
        return base
    row = base + ir.op(ir.Operator.MUL, y, stride(0))
    return (row + ir.op(ir.Operator.MUL, z, stride(1))) if plan.rank == 3 else row


def load_function(plan: StreamingContext, field: int) -> ir.Function:
    """A function that brings the rows of one advance in."""
    new = slabs(plan, field, "out", write=True)
    base, spare = ir.Var("base", ir.const_pointer(plan.site.dtype)), ir.Var("spare", ir.pointer(plan.site.dtype))
    line, cells = ir.Var("line"), ir.Var("cells")
    whole = (ir.Var("n0") * stride(0)) if plan.site.rank > 1 else N
    part = plan.part(field)
    if part is not None:
        return _load_part(plan, field, part)
    body: list[ir.Stmt] = [ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan), ir.Let(cells, whole)]
    for r in range(plan.rows):
        row = slab_at(plan, new, r) + (line * PITCH if plan.rank == 3 else ir.Int(0))
        start = global_row(plan, base, ir.Var("y0") + r, GY + line)
        whole_row = ir.Call(plan.name("fetch"), (spare, base, start, GX, N, cells), base.type)
        fill: tuple[ir.Stmt, ...] = (
            ir.If(LIFTED_IN, (ir.Intrinsic("copy", (row, start, row_width(plan)), plan.site.dtype),)),
            ir.If(LIFTED_IN.equals(0), (ir.Intrinsic("lift", (row, whole_row, VECTORS), plan.site.dtype),)),
            ir.Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE)),
        )
        if plan.rank == 3:
            low, high = ir.largest(0, ir.Int(0) - GY), ir.smallest(ir.Int(plan.lines), ir.Var("n1") - GY)
            fill = (ir.For(var=line, low=low, high=high, body=fill),)
        inside = (ir.Var("y0") + r >= 0) & (ir.Var("y0") + r < ir.Var("n0"))
        body.append(ir.If(inside, fill))
    return ir.Function(
        name=plan.name(f"load_{field}"),
        params=(*outer(plan), *new.params[:2], base, spare, ir.Var("y0"), GX, GY, N, EDGE, LIFTED_IN),
        body=tuple(body),
        about=f"Reads the rows of one advance from memory ({plan.fields[field]}).",
    )


def _grid_places(plan: StreamingContext, y: ir.Expr, z: ir.Expr) -> tuple[ir.Expr, ...]:
    """The places of a row along the outer axes of the program."""
    return (y, z)[: plan.site.rank - 1]


def _load_part(plan: StreamingContext, field: int, part: Packed) -> ir.Function:
    """The same for a field that lives in a subdomain: elsewhere its rows are 0."""
    new = slabs(plan, field, "out", write=True)
    base, spare = ir.Var("base", ir.const_pointer(plan.site.dtype)), ir.Var("spare", ir.pointer(plan.site.dtype))
    line, cells, zero = ir.Var("line"), ir.Var("cells"), ir.Real(0.0, plan.site.dtype)
    extents = [ir.Var("n0"), ir.Var("n1")][: plan.site.rank - 1]
    stored = [(n - part.left) if axis == part.axis else n for axis, n in enumerate([*extents, N])]
    whole = (stored[0] * part.strides[0]) if plan.site.rank > 1 else stored[0]
    body: list[ir.Stmt] = [*part.lets, ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan), ir.Let(cells, whole)]
    for r in range(plan.rows):
        y, z = ir.Var("y0") + r, GY + line
        row = slab_at(plan, new, r) + (line * PITCH if plan.rank == 3 else ir.Int(0))
        places = _grid_places(plan, y, z)
        start = part.row(base, places)

        def piece(a: ir.Expr, b: ir.Expr, moved: ir.Expr, start: ir.Expr = start) -> tuple[ir.Stmt, ...]:
            ends = (spare + (a - GX), start + (a - moved), b - a)
            return (ir.Intrinsic("copy", ends, plan.site.dtype),)

        if part.axis == plan.site.rank - 1:
            low, high = ir.largest(GX, 0), ir.smallest(GX + row_width(plan), N)
            fill: tuple[ir.Stmt, ...] = (
                ir.Intrinsic("fill", (spare, zero, row_width(plan)), plan.site.dtype),
                *part.pieces(low, high, piece),
                ir.Intrinsic("lift", (row, spare, VECTORS), plan.site.dtype),
            )
        else:
            found = ir.Call(plan.name("fetch"), (spare, base, start, GX, N, cells), base.type)
            nothing = ir.Intrinsic("fill", (row, zero, row_width(plan)), plan.site.dtype)
            lift = ir.Intrinsic("lift", (row, found, VECTORS), plan.site.dtype)
            fill = (ir.If(part.outside(places[part.axis]), (nothing,), (lift,)),)
        fill = (*fill, ir.Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE)))
        if plan.rank == 3:
            first, last = (
                ir.largest(0, ir.Int(0) - GY),
                ir.smallest(ir.Int(plan.lines), ir.Var("n1") - GY),
            )
            fill = (ir.For(var=line, low=first, high=last, body=fill),)
        body.append(ir.If((y >= 0) & (y < ir.Var("n0")), fill))
    return ir.Function(
        name=plan.name(f"load_{field}"),
        params=(
            plan.site.params[3],
            ir.Var("n0"),
            ir.Var("n1"),
            *new.params[:2],
            base,
            spare,
            ir.Var("y0"),
            GX,
            GY,
            N,
            EDGE,
        ),
        body=tuple(body),
        about=f"Reads the rows of one advance from memory ({plan.fields[field]}).",
    )


def ahead_function(plan: StreamingContext, field: int) -> ir.Function:
    """A function that asks for a share of the rows that the next advance loads, before they are needed; in 2D."""
    base, y0, x = ir.Var("base", ir.const_pointer(plan.site.dtype)), ir.Var("y0"), ir.Var("x")
    part, shares = ir.Var("part"), ir.Var("shares")
    low, high = ((GX + ir.op(ir.Operator.ADD, part, k) * row_width(plan) / shares) for k in (0, 1))
    body: list[ir.Stmt] = []
    for r in range(plan.rows):
        ask = ir.Intrinsic("prefetch", (global_row(plan, base, y0 + r, ir.Int(0)) + x,), plan.site.dtype)
        loop = ir.For(var=x, low=low, high=high, step=ir.Int(line_cells(plan.site.problem)), body=(ask,))
        inside = (y0 + r >= 0) & (y0 + r < ir.Var("n0"))
        body.append(ir.If(inside, (loop,)))
    return ir.Function(
        name=plan.name(f"ahead_{field}"),
        params=(*outer(plan), base, y0, GX, part, shares),
        body=tuple(body),
        about=f"Asks for the rows that the next advance reads ({plan.fields[field]}).",
    )


def outer(plan: StreamingContext, strides: str = "s") -> tuple[ir.Var, ...]:
    """Extents and strides of the outer axes: between bands (s), of the caller's arrays (p), or of this band (i, o)."""
    names = (ir.Var("n0"), ir.Var("n1"))
    return (*names, *(ir.Var(f"{strides}{axis}") for axis in range(plan.site.rank - 1)))


def strides_in(plan: StreamingContext, field: int) -> str:
    """First letter of the names of the strides with which a field is read; one that does not change is the caller's."""
    return "i" if plan.fields[field] in plan.site.problem.program.updated else "p"


def store_function(plan: StreamingContext, field: int) -> ir.Function:
    """A function that writes the tile's own cells of one advance to the grid."""
    new = slabs(plan, field, "out", write=True)
    base, spare = ir.Var("base", ir.pointer(plan.site.dtype)), ir.Var("spare", ir.pointer(plan.site.dtype))
    line, y0, count = ir.Var("line"), ir.Var("y0"), ir.Var("count")
    part = plan.part(field)
    if part is not None:
        return _store_part(plan, field, part)
    body: list[ir.Stmt] = [ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)]
    for r in range(plan.rows):
        y = y0 + r
        row = slab_at(plan, new, r) + ((line - GY) * PITCH if plan.rank == 3 else ir.Int(0))
        target = global_row(plan, base, y, line) + X0
        lower = ir.Intrinsic("lower", (spare, row, VECTORS), plan.site.dtype)
        line_out = ir.Intrinsic("stream", (target, spare + (X0 - GX), count), plan.site.dtype)
        write: tuple[ir.Stmt, ...] = (
            ir.If(LIFTED_OUT, (ir.Intrinsic("stream", (target, row, row_width(plan)), plan.site.dtype),)),
            ir.If(LIFTED_OUT.equals(0), (lower, line_out)),
        )
        if plan.rank == 3:
            write = (ir.For(var=line, low=ir.Var("za"), high=ir.Var("zb"), body=write),)
        body.append(ir.If((y >= ir.Var("ya")) & (y < ir.Var("yb")), write))
    return ir.Function(
        name=plan.name(f"store_{field}"),
        params=(*outer(plan), *new.params[:2], base, spare, y0, *BOUNDS, GX, GY, count, LIFTED_OUT),
        body=tuple(body),
        about=f"Writes a tile's own cells of the rows of one advance to memory ({plan.fields[field]}).",
    )


def _store_part(plan: StreamingContext, field: int, part: Packed) -> ir.Function:
    """The same for a field that lives in a subdomain: what is outside is not kept."""
    new = slabs(plan, field, "out", write=True)
    base, spare = ir.Var("base", ir.pointer(plan.site.dtype)), ir.Var("spare", ir.pointer(plan.site.dtype))
    line, y0 = ir.Var("line"), ir.Var("y0")
    body: list[ir.Stmt] = [*part.lets, ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)]
    for r in range(plan.rows):
        y = y0 + r
        row = slab_at(plan, new, r) + ((line - GY) * PITCH if plan.rank == 3 else ir.Int(0))
        places = _grid_places(plan, y, line)
        start = part.row(base, places)

        def piece(a: ir.Expr, b: ir.Expr, moved: ir.Expr, start: ir.Expr = start) -> tuple[ir.Stmt, ...]:
            ends = (start + (a - moved), spare + (a - GX), b - a)
            return (ir.Intrinsic("stream", ends, plan.site.dtype),)

        lower = ir.Intrinsic("lower", (spare, row, VECTORS), plan.site.dtype)
        if part.axis == plan.site.rank - 1:
            write: tuple[ir.Stmt, ...] = (lower, *part.pieces(BOUNDS[4], BOUNDS[5], piece))
        else:
            write = (ir.If(part.outside(places[part.axis]).equals(0), (lower, *piece(*BOUNDS[4:], ir.Int(0)))),)
        if plan.rank == 3:
            write = (ir.For(var=line, low=ir.Var("za"), high=ir.Var("zb"), body=write),)
        body.append(ir.If((y >= ir.Var("ya")) & (y < ir.Var("yb")), write))
    return ir.Function(
        name=plan.name(f"store_{field}"),
        params=(plan.site.params[3], ir.Var("n0"), ir.Var("n1"), *new.params[:2], base, spare, y0, *BOUNDS, GX, GY),
        body=tuple(body),
        about=f"Writes a tile's own cells of the rows of one advance to memory ({plan.fields[field]}).",
    )
