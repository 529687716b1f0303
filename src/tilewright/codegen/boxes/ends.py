"""Rows are split where reads reach beyond the grid: a middle of whole vectors, and ends.

Before: for x = a … b: y[x] = f(u[x - r], …), with a test of every read
After:  vectors from begin to end, which read nothing outside; at an end of the grid, at_low and at_high, a vector whose
        lanes outside are filled; what is left cell by cell

Index-set splitting (Wolfe); Halide: loop partitioning; TVM: ``LoopPartition``; PPCG: separation of full and partial
tiles. Vectors begin at multiples of their length (peeling for alignment), and the last one overlaps the one before, so
that no scalar remainder is left.
"""

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal
from tilewright.codegen.boxes.rows import BoxStatement
from tilewright.codegen.sites import Pair, extent

AT_LOW, AT_HIGH, BEGIN, END = ir.Var("at_low"), ir.Var("at_high"), ir.Var("begin"), ir.Var("end")
START, STOP = ir.Var("start"), ir.Var("stop")
"""Of a row: the cells that read nothing outside are those from ``start`` to ``stop``; loops over vectors go from
``begin`` to ``end``; ``at_low`` and ``at_high`` say whether its ends are vectors, too."""


def split_row(b: ir.Builder, of: BoxStatement, row: Pair) -> None:
    """The part of a row whose every read is inside, empty where it is shorter than a vector, and what loops go over.

    Rows start at cache lines: vectors that start at multiples of their length store without crossing one.
    """
    size, (left, right), (at_low, at_high) = extent(of.site.rank - 1), of.reach, of.vectors_at_ends
    first, last = b.let("first", ir.largest(row[0], left)), b.let("last", ir.smallest(row[1], size - right))
    enough = last - first >= of.lanes
    b.let(START.name, ir.select(enough, first, row[1]))
    b.let(STOP.name, ir.select(enough, last, row[1]))
    begin: ir.Expr = START if of.in_place else ir.select(enough, first - first % of.lanes, row[1])
    end: ir.Expr = STOP
    # Lanes outside are filled from the first and the last vector of a row, so no read may reach beyond these.
    some = (START < STOP) & (ir.Int(max(left, right)) < of.lanes)
    if at_low:
        b.let(AT_LOW.name, ir.select(some & (row[0].equals(0) & START.equals(left)), ir.Int(1), 0))
        begin = ir.select(AT_LOW.differs(0), of.lanes, begin)
    if at_high:
        b.let(AT_HIGH.name, ir.select(some & (row[1].equals(size) & STOP.equals(size - right)), ir.Int(1), 0))
        end = ir.select(AT_HIGH.differs(0), size - of.lanes, end)
    b.let(BEGIN.name, begin)
    b.let(END.name, end)


def beside(own: ir.Expr, other: ir.Expr, offset: int, kind: ir.Vector) -> ir.Shift:
    """A vector, read some cells lower or higher: what it lacks comes from the end of another."""
    return ir.Shift(own=own, other=other, low=offset < 0, distance=abs(offset), type=kind)


def vector_beyond(of: BoxStatement, field: str, row: ir.Expr, offset: int) -> ir.Expr:
    """The vector that starts so many cells before a row's first one, or after its last one."""
    low_side, first, last = offset < 0, row.vector(0), row.vector(extent(of.site.rank - 1) - of.lanes)
    own, far = (first, last) if low_side else (last, first)
    side = of.site.problem.sides(field)[-1][0 if low_side else 1]
    if side.kind == "constant":
        return beside(own, ir.splat(literal(side.value, of.site.dtype), of.kind), offset, of.kind)
    if side.kind == "wrap":
        return beside(own, far, offset, of.kind)
    return ir.Shift(own=own, other=own, low=low_side, distance=abs(offset), boundary=side.kind, type=of.kind)
