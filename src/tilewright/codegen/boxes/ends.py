"""Rows are split where reads reach beyond the grid: a middle of whole vectors, and ends.

Before: for x = a … b: y[x] = f(u[x - r], …), with a test of every read
After:  vectors from begin to end, which read nothing outside; at an end of the grid, at_low and at_high, a vector whose
        lanes outside are filled; what is left cell by cell

Index-set splitting (Wolfe); Halide: loop partitioning; TVM: ``LoopPartition``; PPCG: separation of full and partial
tiles. Vectors begin at multiples of their length (peeling for alignment), and the last one overlaps the one before, so
that no scalar remainder is left.
"""

from tilewright.codegen import ir
from tilewright.codegen.sites import Pair, Site, extent
from tilewright.programs.stencil.dependences import overwrites_its_input
from tilewright.programs.stencil.program import Statement

AT_LOW, AT_HIGH, BEGIN, END = ir.Var("at_low"), ir.Var("at_high"), ir.Var("begin"), ir.Var("end")
START, STOP = ir.Var("start"), ir.Var("stop")


def row_reach(statement: Statement) -> tuple[int, int]:
    """How far reads extend below and above a cell along the innermost axis."""
    offsets = [read.offset[-1] for read in statement.reads]
    return max(0, -min(offsets, default=0)), max(0, *offsets) if offsets else 0


def vectors_at_ends(site: Site, statement: Statement) -> tuple[bool, bool]:
    """Whether the low and the high ends of the grid's rows are vectors: cells that are updated and read outside."""
    left, right = row_reach(statement)
    whole = site.code(statement).end_vectors and site.problem.spans(statement)[-1] == (0, 0)
    return whole and left > 0, whole and right > 0


def split_row(b: ir.Builder, site: Site, statement: Statement, row: Pair) -> None:
    """The part of a row whose every read is inside, empty where it is shorter than a vector, and what loops go over.

    Rows start at cache lines: vectors that start at multiples of their length store without crossing one.
    """
    size, lanes, (left, right) = extent(site.rank - 1), ir.Lanes(site.dtype), row_reach(statement)
    first, last = b.let("first", ir.largest(row[0], left)), b.let("last", ir.smallest(row[1], size - right))
    enough = last - first >= lanes
    b.let(START.name, ir.select(enough, first, row[1]))
    b.let(STOP.name, ir.select(enough, last, row[1]))
    in_place = overwrites_its_input(site.problem.program, statement)
    begin: ir.Expr = START if in_place else ir.select(enough, first - first % lanes, row[1])
    end: ir.Expr = STOP
    at_low, at_high = vectors_at_ends(site, statement)
    # Lanes outside are filled from the first and the last vector of a row, so no read may reach beyond these.
    some = (START < STOP) & (ir.Int(max(left, right)) < lanes)
    if at_low:
        b.let(AT_LOW.name, ir.select(some & (row[0].equals(0) & START.equals(left)), ir.Int(1), 0))
        begin = ir.select(AT_LOW.differs(0), lanes, begin)
    if at_high:
        b.let(AT_HIGH.name, ir.select(some & (row[1].equals(size) & STOP.equals(size - right)), ir.Int(1), 0))
        end = ir.select(AT_HIGH.differs(0), size - lanes, end)
    b.let(BEGIN.name, begin)
    b.let(END.name, end)
