"""Large weighted sums over boxes in 3D, for sweeps and hexagonal tiles: loops over the reads along the rows.

Written read by read, a box of 343 or 729 reads is text that gcc works on for seconds, once for blocks of rows, once for
single ones, and again for both ends. What is done at one offset along the rows is the same for all but for the weights:
it stands in a loop that takes them from a table, as in streaming kernels (:mod:`tilewright.codegen.row_boxes`), in a
function that is told where rows start. At the ends of the grid's rows it reads copies of the rows' first or last cells,
with what lies beyond them.
"""

from collections.abc import Callable, Sequence

from tilewright.codegen.ir import (
    Assign,
    Call,
    Expr,
    For,
    Function,
    Int,
    Let,
    Load,
    Mutable,
    Op,
    Real,
    Stmt,
    Store,
    Table,
    Var,
    add,
    mul,
)
from tilewright.codegen.row_boxes import Near, nears, runs
from tilewright.codegen.row_values import sums_in_turn
from tilewright.codegen.sites import Rows, Site
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement
from tilewright.programs.weights import apart

_MANY = 100
"""Reads from which on text is worth saving."""

ROWS = "rows"
"""Name of the array of where rows start."""
_PLACE, _INTO, _DONE, _STRIDE = Var("place"), Var("into"), Var("done"), Var("stride")

Fetch = Callable[[Read, int, Expr], Expr]
"""The value of a read for a line of a block, from a place along the rows that its offset is already part of."""


def large_sum(site: Site, statement: Statement) -> tuple[Near, ...]:
    """The reads of a statement by their offset along the rows, if it is a large sum over one field; else none."""
    if site.keeps_order or site.rank != 3 or len(statement.reads) < _MANY:
        return ()
    found = apart(statement.tape)
    whole = len(found.tape) == len(found.sums) == 1 and len({read.field for read in statement.reads}) == 1
    return nears((), found.sums[0]) if whole else ()


def add_up(
    kind: str, near: Sequence[Near], lines: int, place: Expr, fetch: Fetch
) -> tuple[tuple[Stmt, ...], tuple[Expr, ...]]:
    """Write the sum for neighbouring rows.

    Args:
        kind: Type of a value: an element type, or vectors of it.
        near: The reads.
        lines: Rows of results.
        place: Index of the first cell in its row.
        fetch: Writes the load of a read.

    Returns:
        The operations, and the new value of each row.
    """
    dtype = kind.rpartition(":")[2]
    factors = Var("factors", f"array:{dtype}")
    ways = sums_in_turn(sum(len(each.rest) for each in near), lines)
    sums = [[Var(f"s{line}_{way}", kind) for way in range(ways)] for line in range(lines)]
    zero: Expr = Real(0.0, dtype)
    zero = zero if kind == dtype else Op("splat", (zero,), kind)
    body: list[Stmt] = [Table(factors, tuple(factor for each in near for factor in each.factors))]
    body += [Mutable(var, zero) for line in sums for var in line]
    start = 0
    for number, run in enumerate(runs(near)):
        near_by, at, weights = Var(f"near{number}"), Var("at"), Var("w", f"array:{dtype}")
        first = add(factors, start)
        inner: list[Stmt] = [
            Let(at, add(add(place, run[0].offset), near_by)),
            Let(weights, Call(f"again:{dtype}", (add(first, mul(near_by, len(run[0].factors))),))),
            *_at_one_offset(run[0], sums, fetch, at, weights),
        ]
        body.append(For(var=near_by, low=Int(0), high=Int(len(run)), body=tuple(inner)))
        start += sum(len(each.factors) for each in run)
    results: list[Expr] = []
    for first, *others in sums:
        total: Expr = first
        for other in others:
            total = Op("add", (total, other), kind)
        results.append(total)
    return tuple(body), tuple(results)


def _at_one_offset(near: Near, sums: Sequence[Sequence[Var]], fetch: Fetch, at: Var, weights: Var) -> list[Stmt]:
    """Every value is loaded once and added to all lines that read it."""
    body: list[Stmt] = []
    loaded: dict[tuple[int, int, int], Var] = {}
    uses = sorted(
        ((read.level, read.offset[0], read.offset[1] + line), line, number, read)
        for number, (read, _) in enumerate(near.rest)
        for line in range(len(sums))
    )
    turns = [0] * len(sums)
    for key, line, number, read in uses:
        kind = sums[0][0].type
        if key not in loaded:
            loaded[key] = Var(f"l{len(loaded)}", kind)
            value = fetch(read, line, at)
            body.append(Let(loaded[key], Op("hold", (value,), kind) if len(sums) > 1 else value))
        into = sums[line][turns[line] % len(sums[line])]
        turns[line] += 1
        product = Op("mul", (Load(weights, Int(number), weights.type.rpartition(":")[2]), loaded[key]), kind)
        body.append(Assign(into, Op("add", (into, product), kind)))
    return body


def sum_function(name: str, site: Site, near: Sequence[Near], rows: Rows, lines: int, *, keeps: bool) -> Function:
    """A function ``sum(rows, to, stride, place, into[, done])`` that computes one vector of neighbouring rows.

    Args:
        name: Its name.
        site: The kernel's surroundings.
        near: The reads.
        rows: The rows that are read; ``rows`` points to where they start, in this order.
        lines: Rows of results; the first starts at ``to``, the next ``stride`` elements further.
        keeps: Whether lanes below ``done`` keep their values.
    """
    kind, pointer = f"vector:{site.dtype}", f"array:{site.dtype}"
    starts, to = Var(ROWS, f"array:{pointer}"), Var("to", f"pointer:{site.dtype}")
    order = {row: Int(number) for number, row in enumerate(rows.names.values())}

    def fetch(read: Read, line: int, at: Expr) -> Expr:
        return Load(Load(starts, order[rows.of(read, line)], pointer), at, kind)

    body, values = add_up(kind, near, lines, _PLACE, fetch)
    stores = []
    for line, value in enumerate(values):
        at = add(_INTO, mul(_STRIDE, line))
        kept = Op("keep", (Load(to, at, kind), value, _DONE), kind) if keeps else value
        stores.append(Store(to, at, kept, kind))
    params = (starts, to, _STRIDE, _PLACE, _INTO, *((_DONE,) if keeps else ()))
    return Function(name=name, params=params, body=(*body, *stores), kind="apart")
