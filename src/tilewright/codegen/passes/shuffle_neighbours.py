"""Neighbours along a row put together from vectors at hand, in place of loads that cross cache lines.

A vector that starts one cell further than a cache line lies in two of them, and its load takes longer than a shuffle.
Where registers hold whole cache lines, a row that is read at several places is loaded once per vector instead, one
vector ahead; what lies beside the vector's place is put together from it and from the vectors before and after it,
which stay in registers. Vectors at the ends of a row, where the one before or after it is not whole, are loaded as they
are.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.codegen import ir
from tilewright.codegen.sites import RowPointers, Site, extent
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.code import RowCode

_FROM, _LENGTH = ir.Var("beside_from"), ir.Var("beside_length")

Writer = Callable[[ir.Var, Callable[[Read, ir.Var], ir.Expr]], tuple[ir.Stmt, ...]]
"""Writes one vector of the results at a place, given how to load."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A row read at several places, and on which sides of the centre."""

    row: ir.Var
    low: bool
    high: bool


def beside(own: ir.Expr, other: ir.Expr, offset: int, kind: ir.Vector) -> ir.Shift:
    """A vector, read some cells lower or higher: what it lacks comes from the end of another."""
    return ir.Shift(own=own, other=other, low=offset < 0, distance=abs(offset), type=kind)


def carried(statement: Statement, rows: RowPointers, block: RowCode) -> tuple[Carried, ...]:
    """The rows read at several places, if the neighbours of these rows of results come by shuffles."""
    if block.neighbours != "shuffles":
        return ()
    offsets: dict[ir.Var, set[int]] = {}
    for read in statement.reads:
        for shift in range(block.rows):
            offsets.setdefault(rows.of(read, shift), set()).add(read.offset[-1])
    return tuple(Carried(row, min(at) < 0, max(at) > 0) for row, at in offsets.items() if at != {0})


def long(site: Site, statement: Statement, length: ir.Expr) -> ir.Expr:
    """Whether rows of boxes so long are for this: where registers hold cache lines, and most vectors are whole."""
    least = ir.Lanes(site.dtype) * site.code(statement).shuffled
    return ir.VECTOR_BYTES.equals(CACHE_LINE) & (length >= least)


def bounds(site: Site, begin: tuple[ir.Expr, ir.Expr], end: tuple[ir.Expr, ir.Expr]) -> tuple[ir.Stmt, ...]:
    """Name where such vectors begin in a row, and how many cells they are."""
    # begin: of vectors, and the first cell, which may come later; end: of vectors, and of cells, which may come earlier
    lanes = ir.Lanes(site.dtype)
    late = begin[0] < ir.largest(begin[1], lanes)
    room = ir.smallest(ir.smallest(*end), extent(site.rank - 1) - lanes) - _FROM
    return (
        ir.Let(_FROM, ir.select(late, begin[0] + lanes, begin[0])),
        ir.Let(_LENGTH, ir.largest(room, ir.Int(0)) / lanes * lanes),
    )


def others(begin: ir.Expr, end: ir.Expr, write: Callable[[ir.Expr, ir.Expr], tuple[ir.Stmt, ...]]) -> ir.Stmt:
    """The vectors of a row before and behind them; all of its vectors where it does not pay."""
    part, parts, low, high = (
        ir.Var("part"),
        ir.select(ir.Int(0) < _LENGTH, ir.Int(1), ir.Int(0)) + 1,
        ir.Var("low"),
        ir.Var("high"),
    )
    ends = (
        ir.Let(low, ir.select(part.equals(0), begin, _FROM + _LENGTH)),
        ir.Let(high, ir.select(part + 1 < parts, _FROM, end)),
    )
    return ir.For(var=part, low=ir.Int(0), high=parts, body=(*ends, *write(low, high)))


def loop(site: Site, rows: tuple[Carried, ...], write: Writer) -> ir.Stmt:
    """The loop over vectors that are put together."""
    kind, j, lanes = ir.vector(site.dtype), ir.Var("j"), ir.Lanes(site.dtype)
    start: list[ir.Stmt] = []
    body: list[ir.Stmt] = []
    moves: list[ir.Stmt] = []
    near: dict[ir.Var, tuple[ir.Var, ir.Var, ir.Var]] = {}
    for each in rows:
        low, here, high = (ir.Var(f"{each.row.name}_{side}", kind) for side in ("low", "here", "high"))
        near[each.row] = low, here, high
        if each.low:
            start.append(ir.Mutable(low, ir.Load(each.row, _FROM - lanes, kind)))
            moves.append(ir.Assign(low, here))
        if each.high:
            start.append(ir.Mutable(here, ir.Load(each.row, _FROM, kind)))
            body.append(ir.Let(high, ir.Load(each.row, j + lanes, kind)))
            moves.append(ir.Assign(here, high))
        else:
            body.append(ir.Let(here, ir.Load(each.row, j, kind)))

    def load(node: Read, row: ir.Var) -> ir.Expr:
        offset = node.offset[-1]
        if row not in near:
            return ir.Load(row, j + offset, kind)
        low, here, high = near[row]
        return here if offset == 0 else beside(here, low if offset < 0 else high, offset, kind)

    every = ir.For(var=j, low=_FROM, high=_FROM + _LENGTH, step=lanes, body=(*body, *write(j, load), *moves))
    return ir.If(ir.Int(0) < _LENGTH, (*start, every))
