"""Neighbours along a row put together from vectors at hand, in place of loads that cross cache lines.

A vector that starts one cell further than a cache line lies in two of them, and its load takes longer than a shuffle.
Where registers hold whole cache lines, a row that is read at several places is loaded once per vector instead, one
vector ahead; what lies beside the vector's place is put together from it and from the vectors before and after it,
which stay in registers (stream shift: Eichenberger et al., PLDI 2004). Vectors at the ends of a row, where the one
before or after it is not whole, are loaded as they are.

A kernel asks :func:`long` which of two functions computes a box; in the one for long rows :func:`name_bounds` names the
span of such vectors in a row, :func:`loop` computes these and :func:`others` what lies before and behind them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.codegen import ir
from tilewright.codegen.boxes.ends import BEGIN, END, START, STOP, beside
from tilewright.codegen.boxes.rows import BoxStatement, RowPointers
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.expression import Read
from tilewright.schedules.code import RowCode

_FROM, _LENGTH = ir.Var("beside_from"), ir.Var("beside_length")

Load = Callable[[Read, ir.Var], ir.Expr]
"""The vector of a read, given the read's row."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A row that is read elsewhere than at its centre alone, and on which sides of it."""

    row: ir.Var
    low: bool
    high: bool


def carried(of: BoxStatement, rows: RowPointers, block: RowCode) -> tuple[Carried, ...]:
    """The rows read elsewhere than at their centre alone, if neighbours of these rows of results come by shuffles."""
    if block.neighbours != "shuffles":
        return ()
    offsets: dict[ir.Var, set[int]] = {}
    for read in of.statement.reads:
        for shift in range(block.rows):
            offsets.setdefault(rows.of(read, shift), set()).add(read.offset[-1])
    return tuple(Carried(row, min(at) < 0, max(at) > 0) for row, at in offsets.items() if at != {0})


def long(of: BoxStatement, length: ir.Expr) -> ir.Expr:
    """Whether rows of boxes so long are for this: where registers hold cache lines, and most vectors are whole."""
    return ir.VECTOR_BYTES.equals(CACHE_LINE) & (length >= of.lanes * of.code.shuffled)


def name_bounds(b: ir.Builder, of: BoxStatement) -> None:
    """Name where such vectors begin in a row, and how many cells they are."""
    # Vectors begin at multiples of their length, perhaps before the first cell, and the row's first has none before it.
    late = BEGIN < ir.largest(START, of.lanes)
    b.let(_FROM.name, ir.select(late, BEGIN + of.lanes, BEGIN))
    room = ir.smallest(ir.smallest(END, STOP), extent(of.site.rank - 1) - of.lanes) - _FROM
    b.let(_LENGTH.name, ir.largest(room, 0) / of.lanes * of.lanes)


def others(b: ir.Builder, end: ir.Expr, write: Callable[[ir.Expr, ir.Expr], None]) -> None:
    """The vectors of a row up to ``end`` before and behind them; all where there are none of them."""
    parts = ir.select(ir.Int(0) < _LENGTH, ir.Int(1), 0) + 1
    with b.loop("part", 0, parts) as part:
        low = b.let("low", ir.select(part.equals(0), BEGIN, _FROM + _LENGTH))
        high = b.let("high", ir.select(part + 1 < parts, _FROM, end))
        write(low, high)


def loop(b: ir.Builder, of: BoxStatement, rows: tuple[Carried, ...], write: Callable[[ir.Expr, Load], None]) -> None:
    """The loop over vectors that are put together; ``write`` writes the results at a place, given how to load."""
    kind, lanes = of.kind, of.lanes
    near = {
        each.row: tuple(ir.Var(f"{each.row.name}_{side}", kind) for side in ("low", "here", "high")) for each in rows
    }
    with b.when(ir.Int(0) < _LENGTH):
        for each in rows:
            low, here, _ = near[each.row]
            if each.low:
                b.mutable(low.name, each.row.vector(_FROM - lanes))
            if each.high:
                b.mutable(here.name, each.row.vector(_FROM))
        with b.loop("j", _FROM, _FROM + _LENGTH, lanes) as j:
            for each in rows:
                _, here, high = near[each.row]
                if each.high:
                    b.let(high.name, each.row.vector(j + lanes))
                else:
                    b.let(here.name, each.row.vector(j))

            def load(node: Read, row: ir.Var) -> ir.Expr:
                offset = node.offset[-1]
                if row not in near:
                    return row.vector(j + offset)
                low, here, high = near[row]
                return here if offset == 0 else beside(here, low if offset < 0 else high, offset, kind)

            write(j, load)
            for each in rows:
                low, here, high = near[each.row]
                if each.low:
                    b.set(low, here)
                if each.high:
                    b.set(here, high)
