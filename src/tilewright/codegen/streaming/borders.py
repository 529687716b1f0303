"""The ends of the outer axes in a streaming kernel: slabs and rows that keep their values or lie outside the grid."""

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal, mirrored
from tilewright.codegen.streaming.layout import (
    EDGE,
    GX,
    GY,
    PITCH,
    SLAB,
    N,
    Slabs,
    StreamingContext,
    lanes,
    sizes,
    slab_at,
    slab_somewhere,
    slabs,
)
from tilewright.programs.stencil.boundaries import Boundary

FRESH, Y0, ROWS0, ROWS1 = ir.Var("fresh"), ir.Var("y0"), ir.Var("n0"), ir.Var("n1")


def has_borders(plan: StreamingContext, field: int) -> bool:
    """Whether anything on an outer axis keeps its values or is read outside."""
    return any(sum(plan.frame(field, axis)) + sum(plan.pipeline.ghosts[field][axis]) for axis in range(plan.rank - 1))


def border_params(plan: StreamingContext, field: int) -> tuple[ir.Var, ...]:
    """Parameters of :func:`border_function`: the new version, the one before, and where the tile lies."""
    new, old = slabs(plan, field, "out", write=True), slabs(plan, field, "now")
    return (*new.params, *old.params, Y0, FRESH, ROWS0, ROWS1, N, GX, GY, EDGE)


def near_border(plan: StreamingContext, field: int) -> ir.Expr:
    """Whether :func:`border_function` has anything to do for the rows that start at ``y0``."""
    low = max(plan.frame(field, 0)[0], int(plan.pipeline.ghosts[field][0][0] > 0))
    high = plan.frame(field, 0)[1]
    first = Y0 - plan.pipeline.keep[field] < low
    last = Y0 + plan.rows > ROWS0 - high
    test: ir.Expr = first | last
    if plan.rank == 3:
        left, right = _near_lines(plan, field)
        test = test | (left | right)
    return test


def _near_lines(plan: StreamingContext, field: int) -> tuple[ir.Expr, ir.Expr]:
    low, high = plan.frame(field, 1)
    some = sum(plan.pipeline.ghosts[field][1]) > 0
    return GY < max(low, int(some)), GY + plan.lines > ROWS1 - high


def border_function(plan: StreamingContext, field: int) -> ir.Function:
    """A function that finishes the slabs of one advance along the outer axes."""
    new, old = slabs(plan, field, "out", write=True), slabs(plan, field, "now")
    stage = plan.pipeline.stage_of[field]
    back = plan.lag(stage, stage, 1)
    body: list[ir.Stmt] = [ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)]
    low, high = plan.frame(field, 0)
    for r in range(plan.rows):
        y = Y0 + r
        slab, before = slab_at(plan, new, r), slab_at(plan, old, r - back)
        inside = (y >= 0) & (y < ROWS0)
        if low or high:
            outer = (y < low) | (y >= ROWS0 - high)
            keep = FRESH.equals(0) & (inside & outer)
            body.append(ir.If(keep, (_copy_slab(plan, slab, before),)))
        if plan.rank == 3 and _lines_matter(plan, field):
            body.append(
                ir.If(inside, (ir.Call(plan.name(f"brim_{field}"), (slab, before, FRESH, ROWS1, N, GX, GY, EDGE)),))
            )
    body += _ghost_slabs(plan, field, new)
    return ir.Function(
        name=plan.name(f"border_{field}"),
        params=border_params(plan, field),
        body=tuple(body),
        about="Rows that keep their values, and rows outside the grid.",
    )


def _lines_matter(plan: StreamingContext, field: int) -> bool:
    return sum(plan.frame(field, 1)) + sum(plan.pipeline.ghosts[field][1]) > 0


def _ghost_slabs(plan: StreamingContext, field: int, new: Slabs) -> list[ir.Stmt]:
    low, high = plan.pipeline.ghosts[field][0]
    sides = plan.boundary(field, 0)
    body: list[ir.Stmt] = []
    for j in range(1, low + 1):
        inside = mirrored(sides[0].kind, j) or 0
        body.append(_ghost_slab(plan, field, new, (ir.Int(-j), ir.Int(inside)), sides[0]))
    for j in range(high):
        back = (mirrored(sides[1].kind, j + 1) or 0) + 1
        body.append(_ghost_slab(plan, field, new, (ROWS0 + j, ROWS0 - back), sides[1]))
    return body


def _ghost_slab(
    plan: StreamingContext, field: int, new: Slabs, rows: tuple[ir.Expr, ir.Expr], side: Boundary
) -> ir.Stmt:
    """Fill one slab outside the grid where it and its source are at hand."""
    keep = plan.pipeline.keep[field]
    to, start = ir.Var("to"), ir.Var("from")

    def held(position: ir.Expr) -> ir.Expr:
        return (position >= -keep) & (position < plan.rows)

    slab = ir.Var("slab_out", ir.pointer(plan.site.dtype))
    lets: tuple[ir.Stmt, ...] = (ir.Let(to, rows[0] - Y0), ir.Let(start, rows[1] - Y0))
    if side.kind != "constant":
        copy = _copy_slab(plan, slab_somewhere(plan, new, to), slab_somewhere(plan, new, start))
        return ir.If(held(rows[0] - Y0) & held(rows[1] - Y0), (*lets, copy))
    value = literal(side.value, plan.site.dtype)
    fill: list[ir.Stmt] = [
        *lets[:1],
        ir.Let(slab, slab_somewhere(plan, new, to)),
        ir.Intrinsic("fill", (slab - _before(plan), value, SLAB), plan.site.dtype),
    ]
    if sum(plan.pipeline.ghosts[field][plan.rank - 1]):
        line = ir.Var("line")
        row = slab + line * PITCH
        fill.append(
            ir.For(
                var=line,
                low=ir.Int(0),
                high=ir.Int(plan.lines),
                body=(ir.Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE)),),
            )
        )
    if plan.rank == 3 and _lines_matter(plan, field):
        fill.append(ir.Call(plan.name(f"brim_{field}"), (slab, slab, ir.Int(1), ROWS1, N, GX, GY, EDGE)))
    return ir.If(held(rows[0] - Y0), tuple(fill))


def _before(plan: StreamingContext) -> ir.Expr:
    """Elements of a row before its first vector."""
    return ir.op(ir.Operator.MUL, ir.Int(plan.reach[0]), ir.Var("V"))


def _copy_slab(plan: StreamingContext, to: ir.Expr, start: ir.Expr) -> ir.Stmt:
    return ir.Intrinsic("copy", (to - _before(plan), start - _before(plan), SLAB), plan.site.dtype)


def brim_function(plan: StreamingContext, field: int) -> ir.Function:
    """A function that finishes the rows at the ends of a plane: those that keep their values, those outside."""
    plane, old = ir.Var("plane", ir.pointer(plan.site.dtype)), ir.Var("old", ir.const_pointer(plan.site.dtype))
    low, high = plan.frame(field, 1)
    line = ir.Var("line")

    def at(base: ir.Expr, y: ir.Expr) -> ir.Expr:
        return base + (y - GY) * PITCH

    keep = (
        ir.Intrinsic(
            "copy",
            (at(plane, line) - _before(plan), at(old, line) - _before(plan), PITCH),
            plan.site.dtype,
        ),
    )
    last = ir.smallest(ROWS1, GY + plan.lines)
    body: list[ir.Stmt] = [ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)[:2]]
    kept: list[ir.Stmt] = []
    if low:
        kept.append(ir.For(var=line, low=ir.largest(0, GY), high=ir.Int(low), body=keep))
    if high:
        kept.append(ir.For(var=line, low=ir.largest(ROWS1 - high, GY), high=last, body=keep))
    if kept:
        body.append(ir.If(FRESH.equals(0), tuple(kept)))
    ghosts_low, ghosts_high = plan.pipeline.ghosts[field][1]
    sides = plan.boundary(field, 1)
    for j in range(1, ghosts_low + 1):
        inside = mirrored(sides[0].kind, j) or 0
        fill = _ghost_line(plan, field, (at(plane, ir.Int(-j)), at(plane, ir.Int(inside))), sides[0])
        body.append(ir.If(GY <= -j, fill))
    for j in range(ghosts_high):
        back = (mirrored(sides[1].kind, j + 1) or 0) + 1
        here, there = ROWS1 + j, ir.largest(ROWS1 - back, GY)
        fill = _ghost_line(plan, field, (at(plane, here), at(plane, there)), sides[1])
        body.append(ir.If(here - GY < plan.lines, fill))
    return ir.Function(
        name=plan.name(f"brim_{field}"),
        params=(plane, old, FRESH, ROWS1, N, GX, GY, EDGE),
        body=tuple(body),
        about="First and last rows of a plane: those that keep their values, and those outside the grid.",
    )


def _ghost_line(
    plan: StreamingContext, field: int, rows: tuple[ir.Expr, ir.Expr], side: Boundary
) -> tuple[ir.Stmt, ...]:
    start = rows[0] - _before(plan)
    if side.kind != "constant":
        return (ir.Intrinsic("copy", (start, rows[1] - _before(plan), PITCH), plan.site.dtype),)
    fill = ir.Intrinsic("fill", (start, literal(side.value, plan.site.dtype), PITCH), plan.site.dtype)
    return (fill, ir.Call(plan.name(f"ends_{field}"), (rows[0], rows[0], GX, N, EDGE)))
