"""The two ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors."""

from tilewright.codegen.ir import Call, Expr, For, Function, If, Int, Let, Load, Op, Stmt, Store, Var, add, sub
from tilewright.codegen.pipeline import EDGE, GX, VECTORS, N, Plan, lanes, place, row_width, sizes
from tilewright.codegen.sites import literal


def ends_function(plan: Plan, field: int) -> Function:
    """A function that finishes a row: cells that keep their values, cells outside the grid, shifted vectors."""
    row, old = Var("row", f"pointer:{plan.site.dtype}"), Var("old", f"array:{plan.site.dtype}")
    edits = (*_kept(plan, field, row, old), *row_ghosts(plan, field, row))
    below, above = plan.reach
    wrap = Call(f"wrap:{plan.site.dtype}", (row, VECTORS, Int(below), Int(above)))
    return Function(
        name=plan.name(f"ends_{field}"),
        params=(row, old, GX, N, EDGE),
        body=(Let(Var("V"), lanes(plan)), sizes(plan)[0], *((If(EDGE, edits),) if edits else ()), wrap),
        kind="inline",
        about="Ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors.",
    )


def _kept(plan: Plan, field: int, row: Var, old: Var) -> tuple[Stmt, ...]:
    low, high = plan.frame(field, plan.rank - 1)
    dtype, x = plan.site.dtype, Var("x")
    at = place(sub(x, GX))
    copy = (Store(row, at, Load(old, at, dtype), dtype),)
    stmts: list[Stmt] = []
    if low:
        stmts.append(If(Op("le", (GX, Int(0))), (For(var=x, low=Int(0), high=Int(low), body=copy),)))
    if high:
        end = sub(N, GX)
        loop = For(var=x, low=Op("max", (sub(N, high), GX)), high=N, body=copy)
        stmts.append(If(Op("le", (end, row_width(plan))), (loop,)))
    return tuple(stmts)


def row_ghosts(plan: Plan, field: int, row: Var) -> tuple[Stmt, ...]:
    """Cells outside the grid along the innermost axis, where the row holds them."""
    axis, dtype = plan.rank - 1, plan.site.dtype
    low, high = plan.pipeline.ghosts[field][axis]
    sides = plan.boundary(field, axis)
    stmts: list[Stmt] = []
    for j in range(1, low + 1):
        inside = {"nearest": 0, "reflect": j - 1, "mirror": j}.get(sides[0].kind)
        value: Expr = (
            literal(sides[0].value, dtype) if inside is None else Load(row, place(sub(Int(inside), GX)), dtype)
        )
        store = Store(row, place(sub(Int(-j), GX)), value, dtype)
        stmts.append(If(Op("le", (GX, Int(-j))), (store,)))
    for j in range(high):
        back = {"nearest": 1, "reflect": j + 1, "mirror": j + 2}.get(sides[1].kind)
        where = Op("max", (sub(sub(N, GX), back or 0), Int(0)))
        value = literal(sides[1].value, dtype) if back is None else Load(row, place(where), dtype)
        store = Store(row, place(sub(add(N, j), GX)), value, dtype)
        stmts.append(If(Op("lt", (sub(add(N, j), GX), row_width(plan))), (store,)))
    return tuple(stmts)
