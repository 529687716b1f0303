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
from tilewright.codegen.ir import (
    Assign,
    Expr,
    For,
    If,
    Int,
    Let,
    Load,
    Mutable,
    Op,
    Stmt,
    Var,
    add,
    below,
    largest,
    mul,
    select,
    smallest,
    sub,
)
from tilewright.codegen.sites import Rows, Site, extent
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement
from tilewright.tilings.body import Block

_FROM, _LENGTH = Var("beside_from"), Var("beside_length")

Writer = Callable[[Var, Callable[[Read, Var], Expr]], tuple[Stmt, ...]]
"""Writes one vector of the results at a place, given how to load."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A row read at several places, and on which sides of the centre."""

    row: Var
    low: bool
    high: bool


def beside(own: Expr, other: Expr, offset: int, kind: str) -> Op:
    """A vector, read some cells lower or higher: what it lacks comes from the end of another."""
    return Op(f"beside_{'low' if offset < 0 else 'high'}_{abs(offset)}", (own, other), kind)


def carried(statement: Statement, rows: Rows, block: Block) -> tuple[Carried, ...]:
    """The rows read at several places, if the neighbours of these rows of results come by shuffles.

    Args:
        statement: The statement.
        rows: The rows that it reads.
        block: The rows of results, and how they are written.
    """
    if block.neighbours != "shuffles":
        return ()
    offsets: dict[Var, set[int]] = {}
    for read in statement.reads:
        for shift in range(block.rows):
            offsets.setdefault(rows.of(read, shift), set()).add(read.offset[-1])
    return tuple(Carried(row, min(at) < 0, max(at) > 0) for row, at in offsets.items() if at != {0})


def long(site: Site, statement: Statement, length: Expr) -> Expr:
    """Whether rows of boxes so long are for this: where registers hold cache lines, and most vectors are whole."""
    least = mul(Var(f"LANES:{site.dtype}"), site.code(statement).shuffled)
    return Op("and", (Op("eq", (Var("TW_BYTES"), Int(CACHE_LINE))), Op("ge", (length, least))))


def bounds(site: Site, begin: tuple[Expr, Expr], end: tuple[Expr, Expr]) -> tuple[Stmt, ...]:
    """Name where such vectors begin in a row, and how many cells they are.

    Args:
        site: The kernel's surroundings.
        begin: Where vectors begin, and the first cell, which may come later.
        end: Where vectors end, and what is behind the last cell, which may come earlier.
    """
    lanes = Var(f"LANES:{site.dtype}")
    late = below(begin[0], largest(begin[1], lanes))
    room = sub(smallest(smallest(*end), sub(extent(site.rank - 1), lanes)), _FROM)
    return (
        Let(_FROM, select(late, add(begin[0], lanes), begin[0])),
        Let(_LENGTH, mul(Op("div", (largest(room, Int(0)), lanes)), lanes)),
    )


def others(begin: Expr, end: Expr, write: Callable[[Expr, Expr], tuple[Stmt, ...]]) -> Stmt:
    """The vectors of a row before and behind them; all of its vectors where it does not pay."""
    part, parts, low, high = (
        Var("part"),
        add(select(below(Int(0), _LENGTH), Int(1), Int(0)), 1),
        Var("low"),
        Var("high"),
    )
    ends = (
        Let(low, select(Op("eq", (part, Int(0))), begin, add(_FROM, _LENGTH))),
        Let(high, select(below(add(part, 1), parts), _FROM, end)),
    )
    return For(var=part, low=Int(0), high=parts, body=(*ends, *write(low, high)))


def loop(site: Site, rows: tuple[Carried, ...], write: Writer) -> Stmt:
    """The loop over vectors that are put together."""
    kind, j, lanes = f"vector:{site.dtype}", Var("j"), Var(f"LANES:{site.dtype}")
    start: list[Stmt] = []
    body: list[Stmt] = []
    moves: list[Stmt] = []
    near: dict[Var, tuple[Var, Var, Var]] = {}
    for each in rows:
        low, here, high = (Var(f"{each.row.name}_{side}", kind) for side in ("low", "here", "high"))
        near[each.row] = low, here, high
        if each.low:
            start.append(Mutable(low, Load(each.row, sub(_FROM, lanes), kind)))
            moves.append(Assign(low, here))
        if each.high:
            start.append(Mutable(here, Load(each.row, _FROM, kind)))
            body.append(Let(high, Load(each.row, add(j, lanes), kind)))
            moves.append(Assign(here, high))
        else:
            body.append(Let(here, Load(each.row, j, kind)))

    def load(node: Read, row: Var) -> Expr:
        offset = node.offset[-1]
        if row not in near:
            return Load(row, add(j, offset), kind)
        low, here, high = near[row]
        return here if offset == 0 else beside(here, low if offset < 0 else high, offset, kind)

    every = For(var=j, low=_FROM, high=add(_FROM, _LENGTH), step=lanes, body=(*body, *write(j, load), *moves))
    return If(below(Int(0), _LENGTH), (*start, every))
