"""Untiled time in code: every step sweeps the grid once, each thread its part, stages close behind one another."""

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen.ir import (
    Call,
    Expr,
    For,
    Int,
    Let,
    Op,
    Parallel,
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
from tilewright.codegen.sites import Site, extent, stride
from tilewright.codegen.statements import box_call
from tilewright.programs.dependences import analyse
from tilewright.programs.stencil import Program

_T, _THREADS, _PART, _PARTS = Var("t"), Var("threads"), Var("part"), Var("parts")
_FIRST, _LAST, _PIECE_ROWS, _LOW, _HIGH = Var("first"), Var("last"), Var("piece"), Var("low"), Var("high")


def sweeps(site: Site) -> tuple[Stmt, ...]:
    """Write the loops of an untiled program, whose outermost axis the threads share.

    A thread goes through the statements piece by piece, so that what they have in common is still in its cache. A
    stage follows the one that it needs at the distance of dependent rows. So many rows at both ends of the part, whose
    neighbours are another thread's or beyond the other end of the grid, it leaves until all threads have met; of a
    part that is one piece it leaves all.
    """
    program = site.problem.program
    stages = analyse(program).stages
    lets: list[Stmt] = [Let(_PARTS, smallest(_units(site), _THREADS))]
    if len(program.statements) == 1:
        return _steps(lets, [_shared(site, _stage(site, stages[0], _FIRST, _LAST))])
    lets.append(Let(_PIECE_ROWS, _piece_rows(site)))
    several = below(_PIECE_ROWS, sub(_LAST, _FIRST))
    piece: tuple[Stmt, ...] = (Let(_HIGH, smallest(add(_LOW, _PIECE_ROWS), _LAST)),)
    gaps: tuple[Stmt, ...] = ()
    left = []
    for number, (rows, stage) in enumerate(zip(stage_distances(program), stages, strict=True)):
        if not rows:
            piece += _stage(site, stage, _LOW, _HIGH)
            continue
        behind = Var(f"behind{number}")
        gap = Let(behind, select(several, Int(rows), extent(0)))
        gaps += (gap,)
        begin, end = add(_FIRST, behind), sub(_LAST, behind)
        piece += _stage(site, stage, largest(sub(_LOW, behind), begin), sub(_HIGH, behind))
        edges = (*_stage(site, stage, _FIRST, smallest(begin, _LAST)), *_stage(site, stage, largest(begin, end), _LAST))
        left.append(_shared(site, (gap, *edges)))
    pieces = For(var=_LOW, low=_FIRST, high=_LAST, step=_PIECE_ROWS, body=piece)
    return _steps(lets, [_shared(site, (*gaps, pieces)), *left])


def stage_distances(program: Program) -> tuple[int, ...]:
    """Rows by which each stage of a step follows the first: no computation closer to it depends on it, or it on that.

    Boundaries bend no read further from its cell than it is written, but for ``wrap``: what it takes to the other end
    of the grid is among the rows that wait at the ends of parts.

    Args:
        program: The program.

    Returns:
        One number per stage, the first 0. In 1D, where rows are cells, multiples of so many as a cache line has bytes:
        no two threads write to one line.
    """
    analysis = analyse(program)
    copies = dict(zip(program.fields, analysis.copies, strict=True))
    stage_of = {program.statements[number].field: s for s, stage in enumerate(analysis.stages) for number in stage}
    unit = CACHE_LINE if program.rank == 1 else 1
    result = [0] * len(analysis.stages)
    for last in range(1, len(result)):
        for statement, read in ((each, read) for each in program.statements for read in each.reads):
            first, then = stage_of.get(read.field, 0), stage_of[statement.field]
            if read.level != 1:  # what is overwritten is read before
                first, then = (then, first) if read.level == 1 - copies[read.field] else (0, 0)
            if first < then == last:
                result[last] = max(result[last], result[first] + round_up(abs(read.offset[0]), unit))
    return tuple(result)


def _steps(lets: list[Stmt], loops: list[Stmt]) -> tuple[Stmt, ...]:
    """All steps by one team of threads."""
    return (*lets, Parallel(_THREADS, (For(var=_T, low=Int(0), high=Var("steps"), body=tuple(loops)),)))


def _shared(site: Site, body: tuple[Stmt, ...]) -> For:
    """A loop over the threads' parts of the outermost axis."""
    first, last = (Op("div", (mul(_units(site), number), _PARTS)) for number in (_PART, add(_PART, 1)))
    ends = (Let(_FIRST, first), Let(_LAST, last))
    if site.rank == 1:
        ends = (Let(_FIRST, mul(first, site.body.part)), Let(_LAST, smallest(mul(last, site.body.part), extent(0))))
    return For(var=_PART, low=Int(0), high=_PARTS, body=(*ends, *body), share="static")


def _units(site: Site) -> Expr:
    """What threads share: rows, or blocks of cells in 1D."""
    return Op("ceildiv", (extent(0), Int(site.body.part))) if site.rank == 1 else extent(0)


def _piece_rows(site: Site) -> Expr:
    """Rows of a piece, at least those that a statement computes together."""
    values = site.body.piece
    if site.rank == 1:
        return Int(values)
    together = max(each.block.rows for each in site.body.boxes)
    return largest(Int(together if site.rank == 2 else 1), Op("div", (Int(values), stride(0))))


def _stage(site: Site, statements: tuple[int, ...], low: Expr, high: Expr) -> tuple[Call, ...]:
    """The statements of a stage over rows of the grid."""
    ranges = [(low, high), *((Int(0), extent(axis)) for axis in range(1, site.rank))]
    return tuple(box_call(site, number, _T, ranges) for number in statements)
