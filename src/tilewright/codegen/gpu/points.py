"""Sources and receivers in GPU kernels: what is added to a new value, and whether it is recorded, cell by cell.

The tables are those of :mod:`tilewright.codegen.points`, behind one another, in whole numbers of 32 bits::

    points[0], points[1]    steps of the table of numbers, and the first of them, as the run counts steps
    points[2 + 3 i …]       where table i's rows and its places along rows start in ``points``, and its numbers
    numbers                 of every cell of every table a number per step: what sources add, what receivers record

A value passes through a function where it is new, before anything reads it, so that every schedule that computes a cell
adds to it; those that compute cells of other groups, too, say which ones are theirs to record.
"""

from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import FIRST, GpuSite
from tilewright.codegen.points import pieces, tables, touches
from tilewright.codegen.sites import extent

_HEAD = ("steps", "first step")
_PARTS = ("rows", "places", "numbers")

_ROW, _AT, _NOW, _VALUE = ir.Var("row"), ir.Var("at"), ir.Var("now"), ir.Var("value")
_OWN = ir.Var("own", ir.BOOL)
OWN = ir.Real(True, ir.BOOL)


def point_functions(site: GpuSite) -> tuple[ir.Function, ...]:
    """Make a function ``points(points, numbers, row, at, now, own, value)`` per field with sources or receivers."""
    fields = [field for field in site.problem.program.updated if touches(site.problem, field)]
    return tuple(_function(site, field) for field in fields)


def head(steps: int, first: int, parts: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return what ``points`` starts with; ``parts``: where a table's rows and its places start in it, its numbers."""
    return [steps, first, *(place for each in parts for place in each)]


def _name(site: GpuSite, field: str) -> str:
    return f"{site.prefix}_points_{site.number(field)}"


def pointed(
    site: GpuSite,
    field: str,
    value: ir.Expr,  # computed where this is, which is to stand in one place
    at: tuple[ir.Expr, ...],  # the cell's indices in the grid, inside it
    step: ir.Expr,  # counted from the start of the launches that belong together
    own: ir.Expr = OWN,  # whether it is this group that records the cell
) -> ir.Expr:
    """Return a new value with what sources add to it; receivers record it."""
    if not touches(site.problem, field):
        return value
    row: ir.Expr = pieces(at[0], at[0] + 1)[0] if site.rank == 1 else at[0]
    for axis in range(1, site.rank - 1):
        row = row * extent(axis) + at[axis]
    given = (site.points, site.numbers, row, at[-1], FIRST + step, own, value)
    return ir.Call(_name(site, field), given, site.dtype)


def _function(site: GpuSite, field: str) -> ir.Function:
    value, result = ir.Var(_VALUE.name, site.dtype), ir.Var("result", site.dtype)
    body: list[ir.Stmt] = [ir.Mutable(result, value)]
    for table, records in tables(site.problem, field):
        low, high = ir.Var("low"), ir.Var("high")
        rows, places, begin = (
            ir.Load(site.points, ir.Int(len(_HEAD) + len(_PARTS) * table + part), ir.INDEX)
            for part in range(len(_PARTS))
        )
        first = ir.Var("rows") + _ROW
        body.append(
            ir.Scope(
                (
                    ir.Let(ir.Var("rows"), rows),
                    ir.Mutable(low, ir.Load(site.points, first, ir.INDEX)),
                    ir.Let(high, ir.Load(site.points, first + 1, ir.INDEX)),
                    ir.If(
                        (_OWN & (low < high)) if records else (low < high),
                        (
                            ir.Let(ir.Var("places"), places),
                            *_found(site, low, high),
                            ir.Let(ir.Var("begin"), begin),
                            *_at_cell(site, (low, high), result, records=records),
                        ),
                    ),
                )
            )
        )
    params = (site.points, site.numbers, _ROW, _AT, _NOW, _OWN, value)
    return ir.Function(
        name=_name(site, field),
        params=params,
        body=tuple(body),
        result=result,
        result_type=site.dtype,
        kind="inline",
    )


def _place(site: GpuSite, cell: ir.Expr) -> ir.Expr:
    return ir.Load(site.points, ir.Var("places") + cell, ir.INDEX)


def _found(site: GpuSite, low: ir.Var, high: ir.Var) -> tuple[ir.Stmt, ...]:
    """Bring ``low`` to the first cell of its row that is not before this one, by halving."""
    end, middle = ir.Var("end"), ir.Var("middle")
    halve = ir.If(_place(site, middle) < _AT, (ir.Assign(low, middle + 1),), (ir.Assign(end, middle),))
    search = ir.While(low < end, (ir.Let(middle, low + (end - low) / 2), halve))
    return (ir.Mutable(end, high), search)


def _at_cell(site: GpuSite, span: tuple[ir.Var, ir.Var], result: ir.Var, *, records: bool) -> tuple[ir.Stmt, ...]:
    low, high = span
    now = _NOW - ir.Load(site.points, ir.Int(1), ir.INDEX)
    column = low * ir.Load(site.points, ir.Int(0), ir.INDEX)
    number = ir.Var("begin") + (column + now)
    act: ir.Stmt = (
        ir.Store(site.numbers, number, result, site.dtype)
        if records
        else ir.Assign(result, ir.op(ir.Operator.ADD, result, ir.Load(site.numbers, number, site.dtype)))
    )
    return (ir.If(low < high, (ir.If(_place(site, low).equals(_AT), (act,)),)),)
