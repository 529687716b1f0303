"""The ends of the outer axes in a streaming kernel: slabs and rows that keep their values or lie outside the grid."""

from tilewright.codegen.ir import Call, Expr, For, Function, If, Int, Let, Op, Stmt, Var, add, sub
from tilewright.codegen.pipeline import (
    EDGE,
    GX,
    GY,
    PITCH,
    SLAB,
    N,
    Plan,
    Slabs,
    lanes,
    sizes,
    slab_at,
    slab_somewhere,
    slabs,
)
from tilewright.codegen.sites import literal
from tilewright.programs.problem import Boundary

FRESH, Y0, ROWS0, ROWS1 = Var("fresh"), Var("y0"), Var("n0"), Var("n1")


def has_borders(plan: Plan, field: int) -> bool:
    """Whether anything on an outer axis keeps its values or is read outside."""
    return any(sum(plan.frame(field, axis)) + sum(plan.pipeline.ghosts[field][axis]) for axis in range(plan.rank - 1))


def border_params(plan: Plan, field: int) -> tuple[Var, ...]:
    """Parameters of :func:`border_function`: the new version, the one before, and where the tile lies."""
    new, old = slabs(plan, field, "out", write=True), slabs(plan, field, "now")
    return (*new.params, *old.params, Y0, FRESH, ROWS0, ROWS1, N, GX, GY, EDGE)


def near_border(plan: Plan, field: int) -> Expr:
    """Whether :func:`border_function` has anything to do for the rows that start at ``y0``."""
    low = max(plan.frame(field, 0)[0], int(plan.pipeline.ghosts[field][0][0] > 0))
    high = plan.frame(field, 0)[1]
    first = Op("lt", (sub(Y0, plan.pipeline.keep[field]), Int(low)))
    last = Op("gt", (add(Y0, plan.rows), sub(ROWS0, high)))
    test: Expr = Op("or", (first, last))
    if plan.rank == 3:
        test = Op("or", (test, Op("or", _near_lines(plan, field))))
    return test


def _near_lines(plan: Plan, field: int) -> tuple[Expr, Expr]:
    low, high = plan.frame(field, 1)
    some = sum(plan.pipeline.ghosts[field][1]) > 0
    return Op("lt", (GY, Int(max(low, int(some))))), Op("gt", (add(GY, plan.lines), sub(ROWS1, high)))


def border_function(plan: Plan, field: int) -> Function:
    """A function that finishes the slabs of one advance along the outer axes."""
    new, old = slabs(plan, field, "out", write=True), slabs(plan, field, "now")
    stage = plan.pipeline.stage_of[field]
    back = plan.lag(stage, stage, 1)
    body: list[Stmt] = [Let(Var("V"), lanes(plan)), *sizes(plan)]
    low, high = plan.frame(field, 0)
    for r in range(plan.rows):
        y = add(Y0, r)
        slab, before = slab_at(plan, new, r), slab_at(plan, old, r - back)
        inside = Op("and", (Op("ge", (y, Int(0))), Op("lt", (y, ROWS0))))
        if low or high:
            outer = Op("or", (Op("lt", (y, Int(low))), Op("ge", (y, sub(ROWS0, high)))))
            keep = Op("and", (Op("eq", (FRESH, Int(0))), Op("and", (inside, outer))))
            body.append(If(keep, (_copy_slab(plan, slab, before),)))
        if plan.rank == 3 and _lines_matter(plan, field):
            body.append(If(inside, (Call(plan.name(f"brim_{field}"), (slab, before, FRESH, ROWS1, N, GX, GY, EDGE)),)))
    body += _ghost_slabs(plan, field, new)
    return Function(
        name=plan.name(f"border_{field}"),
        params=border_params(plan, field),
        body=tuple(body),
        about="Rows that keep their values, and rows outside the grid.",
    )


def _lines_matter(plan: Plan, field: int) -> bool:
    return sum(plan.frame(field, 1)) + sum(plan.pipeline.ghosts[field][1]) > 0


def _ghost_slabs(plan: Plan, field: int, new: Slabs) -> list[Stmt]:
    low, high = plan.pipeline.ghosts[field][0]
    sides = plan.boundary(field, 0)
    body: list[Stmt] = []
    for j in range(1, low + 1):
        inside = {"nearest": 0, "reflect": j - 1, "mirror": j}.get(sides[0].kind, 0)
        body.append(_ghost_slab(plan, field, new, (Int(-j), Int(inside)), sides[0]))
    for j in range(high):
        back = {"nearest": 1, "reflect": j + 1, "mirror": j + 2}.get(sides[1].kind, 1)
        body.append(_ghost_slab(plan, field, new, (add(ROWS0, j), sub(ROWS0, back)), sides[1]))
    return body


def _ghost_slab(plan: Plan, field: int, new: Slabs, rows: tuple[Expr, Expr], side: Boundary) -> Stmt:
    """Fill one slab outside the grid where it and its source are at hand."""
    keep = plan.pipeline.keep[field]
    to, start = Var("to"), Var("from")

    def held(position: Expr) -> Expr:
        return Op("and", (Op("ge", (position, Int(-keep))), Op("lt", (position, Int(plan.rows)))))

    slab = Var("slab_out", f"pointer:{plan.site.dtype}")
    lets: tuple[Stmt, ...] = (Let(to, sub(rows[0], Y0)), Let(start, sub(rows[1], Y0)))
    if side.kind != "constant":
        copy = _copy_slab(plan, slab_somewhere(plan, new, to), slab_somewhere(plan, new, start))
        return If(Op("and", (held(sub(rows[0], Y0)), held(sub(rows[1], Y0)))), (*lets, copy))
    value = literal(side.value, plan.site.dtype)
    fill: list[Stmt] = [
        *lets[:1],
        Let(slab, slab_somewhere(plan, new, to)),
        Call(f"fill:{plan.site.dtype}", (sub(slab, _before(plan)), value, SLAB)),
    ]
    if sum(plan.pipeline.ghosts[field][plan.rank - 1]):
        line = Var("line")
        row = add(slab, Op("mul", (line, PITCH)))
        fill.append(
            For(
                var=line,
                low=Int(0),
                high=Int(plan.lines),
                body=(Call(plan.name(f"ends_{field}"), (row, row, GX, N, EDGE)),),
            )
        )
    if plan.rank == 3 and _lines_matter(plan, field):
        fill.append(Call(plan.name(f"brim_{field}"), (slab, slab, Int(1), ROWS1, N, GX, GY, EDGE)))
    return If(held(sub(rows[0], Y0)), tuple(fill))


def _before(plan: Plan) -> Expr:
    """Elements of a row before its first vector."""
    return Op("mul", (Int(plan.reach[0]), Var("V")))


def _copy_slab(plan: Plan, to: Expr, start: Expr) -> Stmt:
    return Call(f"copy:{plan.site.dtype}", (sub(to, _before(plan)), sub(start, _before(plan)), SLAB))


def brim_function(plan: Plan, field: int) -> Function:
    """A function that finishes the rows at the ends of a plane: those that keep their values, those outside."""
    plane, old = Var("plane", f"pointer:{plan.site.dtype}"), Var("old", f"array:{plan.site.dtype}")
    low, high = plan.frame(field, 1)
    line = Var("line")

    def at(base: Expr, y: Expr) -> Expr:
        return add(base, Op("mul", (sub(y, GY), PITCH)))

    keep = (
        Call(
            f"copy:{plan.site.dtype}", (sub(at(plane, line), _before(plan)), sub(at(old, line), _before(plan)), PITCH)
        ),
    )
    last = Op("min", (ROWS1, add(GY, plan.lines)))
    body: list[Stmt] = [Let(Var("V"), lanes(plan)), *sizes(plan)[:2]]
    kept: list[Stmt] = []
    if low:
        kept.append(For(var=line, low=Op("max", (Int(0), GY)), high=Int(low), body=keep))
    if high:
        kept.append(For(var=line, low=Op("max", (sub(ROWS1, high), GY)), high=last, body=keep))
    if kept:
        body.append(If(Op("eq", (FRESH, Int(0))), tuple(kept)))
    ghosts_low, ghosts_high = plan.pipeline.ghosts[field][1]
    sides = plan.boundary(field, 1)
    for j in range(1, ghosts_low + 1):
        inside = {"nearest": 0, "reflect": j - 1, "mirror": j}.get(sides[0].kind, 0)
        fill = _ghost_line(plan, field, (at(plane, Int(-j)), at(plane, Int(inside))), sides[0])
        body.append(If(Op("le", (GY, Int(-j))), fill))
    for j in range(ghosts_high):
        back = {"nearest": 1, "reflect": j + 1, "mirror": j + 2}.get(sides[1].kind, 1)
        here, there = add(ROWS1, j), Op("max", (sub(ROWS1, back), GY))
        fill = _ghost_line(plan, field, (at(plane, here), at(plane, there)), sides[1])
        body.append(If(Op("lt", (sub(here, GY), Int(plan.lines))), fill))
    return Function(
        name=plan.name(f"brim_{field}"),
        params=(plane, old, FRESH, ROWS1, N, GX, GY, EDGE),
        body=tuple(body),
        about="First and last rows of a plane: those that keep their values, and those outside the grid.",
    )


def _ghost_line(plan: Plan, field: int, rows: tuple[Expr, Expr], side: Boundary) -> tuple[Stmt, ...]:
    start = sub(rows[0], _before(plan))
    if side.kind != "constant":
        return (Call(f"copy:{plan.site.dtype}", (start, sub(rows[1], _before(plan)), PITCH)),)
    fill = Call(f"fill:{plan.site.dtype}", (start, literal(side.value, plan.site.dtype), PITCH))
    return (fill, Call(plan.name(f"ends_{field}"), (rows[0], rows[0], GX, N, EDGE)))
