"""The two ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors."""

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal, mirrored
from tilewright.codegen.streaming.layout import EDGE, GX, VECTORS, N, StreamingContext, lanes, place, row_width, sizes


def ends_function(plan: StreamingContext, field: int) -> ir.Function:
    """A function that finishes a row: cells that keep their values, cells outside the grid, shifted vectors."""
    row, old = ir.Var("row", ir.pointer(plan.site.dtype)), ir.Var("old", ir.const_pointer(plan.site.dtype))
    edits = (*_kept(plan, field, row, old), *row_ghosts(plan, field, row))
    below, above = plan.reach
    wrap = ir.Intrinsic("wrap", (row, VECTORS, ir.Int(below), ir.Int(above)), plan.site.dtype)
    return ir.Function(
        name=plan.name(f"ends_{field}"),
        params=(row, old, GX, N, EDGE),
        body=(ir.Let(ir.Var("V"), lanes(plan)), sizes(plan)[0], *((ir.If(EDGE, edits),) if edits else ()), wrap),
        kind="inline",
        about="Ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors.",
    )


def _kept(plan: StreamingContext, field: int, row: ir.Var, old: ir.Var) -> tuple[ir.Stmt, ...]:
    low, high = plan.frame(field, plan.rank - 1)
    dtype, x = plan.site.dtype, ir.Var("x")
    at = place(x - GX)
    copy = (ir.Store(row, at, ir.Load(old, at, dtype), dtype),)
    stmts: list[ir.Stmt] = []
    if low:
        stmts.append(ir.If(GX <= 0, (ir.For(var=x, low=ir.Int(0), high=ir.Int(low), body=copy),)))
    if high:
        end = N - GX
        loop = ir.For(var=x, low=ir.largest(N - high, GX), high=N, body=copy)
        stmts.append(ir.If(end <= row_width(plan), (loop,)))
    return tuple(stmts)


def row_ghosts(plan: StreamingContext, field: int, row: ir.Var) -> tuple[ir.Stmt, ...]:
    """Cells outside the grid along the innermost axis, where the row holds them."""
    axis, dtype = plan.rank - 1, plan.site.dtype
    low, high = plan.pipeline.ghosts[field][axis]
    sides = plan.boundary(field, axis)
    stmts: list[ir.Stmt] = []
    for j in range(1, low + 1):
        inside = mirrored(sides[0].kind, j)
        value: ir.Expr = (
            literal(sides[0].value, dtype) if inside is None else ir.Load(row, place(ir.Int(inside) - GX), dtype)
        )
        store = ir.Store(row, place(ir.Int(-j) - GX), value, dtype)
        stmts.append(ir.If(GX <= -j, (store,)))
    for j in range(high):
        back = mirrored(sides[1].kind, j + 1)
        where = ir.largest(N - GX - (0 if back is None else back + 1), 0)
        value = literal(sides[1].value, dtype) if back is None else ir.Load(row, place(where), dtype)
        store = ir.Store(row, place(N + j - GX), value, dtype)
        stmts.append(ir.If(N + j - GX < row_width(plan), (store,)))
    return tuple(stmts)
