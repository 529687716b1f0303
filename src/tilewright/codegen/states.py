"""States that a band of a gradient keeps: a box of each is written to memory as soon as it is computed.

Steps read and write as few versions in turn as they need, which stay in the caches; behind these lie the states, which
are written past the caches: a line that is only overwritten is not fetched before (non-temporal stores). Of a row that
is not cut whole lines are written, its ends included, which no step changes: a line of which a part is written is
fetched after all, and every later store waits for it. The first state is where it is kept from the beginning.
"""

from collections.abc import Sequence

from tilewright.base.constants import CACHE_LINE
from tilewright.codegen import ir
from tilewright.codegen.sites import Site, box_bounds, extent, stride, unpack

_PAST, _CELLS, _FIRST, _LAST = ir.Var("past"), ir.Var("cells"), ir.Var("first"), ir.Var("last")


def state_function(site: Site, number: int, step: ir.Var) -> ir.Function:
    """A function ``state(…, t, low0, high0, …)`` that copies what a statement has computed of a box."""
    statement = site.problem.program.statements[number]
    kind, size = ir.pointer(site.dtype), site.problem.itemsize
    given = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
    box = [(ir.Var(f"a{axis}"), ir.Var(f"b{axis}")) for axis in range(site.rank)]
    bounds = box_bounds(site, statement)
    target, state = ir.Var("target", kind), ir.Var("state", kind)
    lets: list[ir.Stmt] = [*unpack(site)]
    for (low, high), (least, end), (a, b) in zip(given, bounds, box, strict=True):
        lets += [ir.Let(a, ir.largest(low, least)), ir.Let(b, ir.smallest(high, end))]
    cells = (extent(0) * stride(0)) if site.rank > 1 else extent(0)
    lets += [
        ir.Let(target, site.slot(statement.field, 1, step)),
        ir.Let(state, site.state(statement.field, step)),
        ir.Let(_CELLS, cells * (site.storage.kept * size)),
        ir.Let(_PAST, _CELLS > (site.body.streamed or 0)),
        *_row(site, box[-1], bounds[-1]),
    ]
    places = [ir.Var(f"x{axis}") for axis in range(site.rank - 1)]
    offset: ir.Expr = _FIRST
    for axis, place in enumerate(places):
        offset = offset + place * stride(axis)
    row = (state + offset, target + offset, (_LAST - _FIRST) * size, _PAST)
    nest: tuple[ir.Stmt, ...] = (ir.Intrinsic("put", row, site.dtype),)
    for place, (a, b) in reversed(list(zip(places, box, strict=False))):
        nest = (ir.For(var=place, low=a, high=b, body=nest),)
    params = (*site.params, step, *(end for pair in given for end in pair))
    body = (*lets, ir.If(box[-1][0] < box[-1][1], (*nest, ir.Intrinsic("fence", (), site.dtype))))
    return ir.Function(name=f"{site.prefix}_state_{number}", params=params, body=body, kind="apart")


def _row(site: Site, cells: tuple[ir.Var, ir.Var], bounds: Sequence[ir.Expr]) -> tuple[ir.Stmt, ...]:
    """Name the cells of a row that are written: all of its lines where it is not cut, what is behind it included."""
    (a, b), (least, end), size = cells, bounds, extent(site.rank - 1)
    line = CACHE_LINE // site.problem.itemsize
    whole = a.equals(least) & b.equals(end)
    if site.rank == 1:  # behind the only row lies the next version
        return (ir.Let(_FIRST, a), ir.Let(_LAST, b))
    lines = ir.ceildiv(size, line) * line
    return (ir.Let(_FIRST, ir.select(whole, ir.Int(0), a)), ir.Let(_LAST, ir.select(whole, lines, b)))
