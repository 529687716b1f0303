"""How a streaming kernel reads rows of the grid and writes them."""

from tilewright.codegen.ir import Call, Expr, For, Function, If, Int, Let, Op, Stmt, Var, add, mul, select, sub
from tilewright.codegen.pipeline import (
    EDGE,
    GX,
    GY,
    PITCH,
    VECTORS,
    X0,
    X1,
    N,
    Plan,
    lanes,
    row_width,
    sizes,
    slab_at,
    slabs,
)
from tilewright.codegen.sites import stride
from tilewright.tilings.pipeline import line_cells

FROM_CALLER, TO_CALLER = Var("from_caller"), Var("to_caller")
"""Whether a band reads the caller's arrays, and whether it writes the caller's results."""
LIFTED_IN, LIFTED_OUT = Var("lifted_in"), Var("lifted_out")
"""Whether the rows that a band reads, or writes, lie lifted in memory: where tiles are as wide as the grid."""
BOUNDS = (Var("ya"), Var("yb"), Var("za"), Var("zb"), X0, X1)
"""A tile's own cells: along axis 0, along the middle axis in 3D, along the innermost axis."""


def fetch_function(plan: Plan) -> Function:
    """The cells of a row as one piece: in place, or copied where they would lie before the first cell of all.

    Cells outside the grid may hold anything, but nothing outside the array is read.
    """
    spare, line = Var("spare", f"pointer:{plan.site.dtype}"), Var("line", f"array:{plan.site.dtype}")
    base = Var("base", line.type)
    low, high, whole, cells, start = Var("low"), Var("high"), Var("whole"), Var("cells"), Var("start")
    fits = Op("le", (add(start, row_width(plan)), cells))
    body = (
        Let(low, Op("max", (GX, Int(0)))),
        Let(high, Op("min", (add(GX, row_width(plan)), N))),
        Let(start, add(sub(line, base), GX)),
        Let(whole, Op("and", (Op("ge", (start, Int(0))), fits))),
        If(
            Op("eq", (whole, Int(0))),
            (Call(f"copy:{plan.site.dtype}", (add(spare, sub(low, GX)), add(line, low), sub(high, low))),),
        ),
    )
    return Function(
        name=plan.name("fetch"),
        params=(spare, base, line, GX, N, cells),
        body=body,
        result=select(whole, add(line, GX), spare),
        result_type=f"array:{plan.site.dtype}",
        about="The cells of a row of memory, copied where some of them would lie outside the array.",
    )


def global_row(plan: Plan, base: Expr, y: Expr, z: Expr) -> Expr:
    """A row of the grid; axis 0 is ``y``, and ``z`` the middle axis in 3D."""
    if plan.site.rank == 1:
        return base
    row = add(base, Op("mul", (y, stride(0))))
    return add(row, Op("mul", (z, stride(1)))) if plan.rank == 3 else row


def load_function(plan: Plan, field: int) -> Function:
    """A function that brings the rows of one advance in."""
    new = slabs(plan, field, "out", write=True)
    base, spare = Var("base", f"array:{plan.site.dtype}"), Var("spare", f"pointer:{plan.site.dtype}")
    line, cells = Var("line"), Var("cells")
    whole = Op("mul", (Var("n0"), stride(0))) if plan.site.rank > 1 else N
    body: list[Stmt] = [Let(Var("V"), lanes(plan)), *sizes(plan), Let(cells, whole)]
    for r in range(plan.rows):
        row = add(slab_at(plan, new, r), Op("mul", (line, PITCH)) if plan.rank == 3 else Int(0))
        start = global_row(plan, base, add(Var("y0"), r), add(GY, line))
        whole_row = Call(plan.name("fetch"), (spare, base, start, GX, N, cells))
        fill: tuple[Stmt, ...] = (
            If(LIFTED_IN, (Call(f"copy:{plan.site.dtype}", (row, start, row_width(plan))),)),
            If(Op("eq", (LIFTED_IN, Int(0))), (Call(f"lift:{plan.site.dtype}", (row, whole_row, VECTORS)),)),
            Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE)),
        )
        if plan.rank == 3:
            low, high = Op("max", (Int(0), sub(Int(0), GY))), Op("min", (Int(plan.lines), sub(Var("n1"), GY)))
            fill = (For(var=line, low=low, high=high, body=fill),)
        inside = Op("and", (Op("ge", (add(Var("y0"), r), Int(0))), Op("lt", (add(Var("y0"), r), Var("n0")))))
        body.append(If(inside, fill))
    return Function(
        name=plan.name(f"load_{field}"),
        params=(*outer(plan), *new.params[:2], base, spare, Var("y0"), GX, GY, N, EDGE, LIFTED_IN),
        body=tuple(body),
        about=f"Reads the rows of one advance from memory ({plan.fields[field]}).",
    )


def ahead_function(plan: Plan, field: int) -> Function:
    """A function that asks for a share of the rows that the next advance loads, before they are needed; in 2D."""
    base, y0, x = Var("base", f"array:{plan.site.dtype}"), Var("y0"), Var("x")
    part, shares = Var("part"), Var("shares")
    low, high = (add(GX, Op("div", (mul(Op("add", (part, Int(k))), row_width(plan)), shares))) for k in (0, 1))
    body: list[Stmt] = []
    for r in range(plan.rows):
        ask = Call(f"prefetch:{plan.site.dtype}", (add(global_row(plan, base, add(y0, r), Int(0)), x),))
        loop = For(var=x, low=low, high=high, step=Int(line_cells(plan.site.problem)), body=(ask,))
        inside = Op("and", (Op("ge", (add(y0, r), Int(0))), Op("lt", (add(y0, r), Var("n0")))))
        body.append(If(inside, (loop,)))
    return Function(
        name=plan.name(f"ahead_{field}"),
        params=(*outer(plan), base, y0, GX, part, shares),
        body=tuple(body),
        about=f"Asks for the rows that the next advance reads ({plan.fields[field]}).",
    )


def outer(plan: Plan, strides: str = "s") -> tuple[Var, ...]:
    """Extents and strides of the outer axes.

    Args:
        plan: The kernel's plan.
        strides: First letter of the strides' names: ``s`` between bands, ``p`` of the caller's arrays, ``i`` and ``o``
            where this band reads and writes.
    """
    names = (Var("n0"), Var("n1"))
    return (*names, *(Var(f"{strides}{axis}") for axis in range(plan.site.rank - 1)))


def strides_in(plan: Plan, field: int) -> str:
    """First letter of the names of the strides with which a field is read; one that does not change is the caller's."""
    return "i" if plan.fields[field] in plan.site.problem.program.updated else "p"


def store_function(plan: Plan, field: int) -> Function:
    """A function that writes the tile's own cells of one advance to the grid."""
    new = slabs(plan, field, "out", write=True)
    base, spare = Var("base", f"pointer:{plan.site.dtype}"), Var("spare", f"pointer:{plan.site.dtype}")
    line, y0, count = Var("line"), Var("y0"), Var("count")
    body: list[Stmt] = [Let(Var("V"), lanes(plan)), *sizes(plan)]
    for r in range(plan.rows):
        y = add(y0, r)
        row = add(slab_at(plan, new, r), Op("mul", (sub(line, GY), PITCH)) if plan.rank == 3 else Int(0))
        target = add(global_row(plan, base, y, line), X0)
        lower = Call(f"lower:{plan.site.dtype}", (spare, row, VECTORS))
        line_out = Call(f"stream:{plan.site.dtype}", (target, add(spare, sub(X0, GX)), count))
        write: tuple[Stmt, ...] = (
            If(LIFTED_OUT, (Call(f"stream:{plan.site.dtype}", (target, row, row_width(plan))),)),
            If(Op("eq", (LIFTED_OUT, Int(0))), (lower, line_out)),
        )
        if plan.rank == 3:
            write = (For(var=line, low=Var("za"), high=Var("zb"), body=write),)
        body.append(If(Op("and", (Op("ge", (y, Var("ya"))), Op("lt", (y, Var("yb"))))), write))
    return Function(
        name=plan.name(f"store_{field}"),
        params=(*outer(plan), *new.params[:2], base, spare, y0, *BOUNDS, GX, GY, count, LIFTED_OUT),
        body=tuple(body),
        about=f"Writes a tile's own cells of the rows of one advance to memory ({plan.fields[field]}).",
    )
