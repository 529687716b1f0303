"""Trees without tiles: every step sweeps the grid once, each thread its part, stages close behind one another."""

import math
from dataclasses import replace

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir, points
from tilewright.codegen.boxes.statements import box_call, cells_name
from tilewright.codegen.lower.index import index
from tilewright.codegen.sites import Site, box_bounds, extent, stride
from tilewright.programs.stencil.program import Program
from tilewright.schedules.tree.nodes import Loop

BLOCK = 2**18
"""Cells after which a thread asks whether the results are still wanted: at a microsecond each a fourth of a second."""
_STRETCH_STEPS = 64
"""Steps after which it asks at the latest: asking in each costs up to 3 % of the shortest ones."""
_THREADS, _PART, _PARTS = ir.Var("threads"), ir.Var("part"), ir.Var("parts")
_SINCE, _STRETCH = ir.Var("since"), ir.Var("stretch")
_FIRST, _LAST, _BEGIN, _PIECE_ROWS, _LOW, _HIGH = (
    ir.Var("first"),
    ir.Var("last"),
    ir.Var("begin"),
    ir.Var("piece"),
    ir.Var("low"),
    ir.Var("high"),
)


def sweeps(site: Site, steps: Loop) -> tuple[ir.Stmt, ...]:
    """Write the loops of a tree without tiles, whose outermost axis the threads share.

    A thread goes through the statements piece by piece, so that what they have in common is still in its cache. A
    stage follows the one that it needs at the distance of dependent rows. So many rows at both ends of the part, whose
    neighbours are another thread's or beyond the other end of the grid, it leaves until all threads have met; of a
    part that is one piece it leaves all.
    """
    program = site.problem.program
    stages = program.stages
    step = ir.Var(steps.name)
    lets = (
        ir.Let(_PARTS, ir.smallest(_units(site), _THREADS)),
        ir.Let(_PIECE_ROWS, _block_rows(site) if len(program.statements) == 1 else _piece_rows(site)),
        ir.Let(_STRETCH, _stretch_steps(site)),
    )
    if len(program.statements) == 1:
        return _steps(steps, lets, [_shared(site, _blocks(site, step))])
    several = _PIECE_ROWS < _LAST - _FIRST
    piece: tuple[ir.Stmt, ...] = (ir.Let(_HIGH, ir.smallest(_LOW + _PIECE_ROWS, _LAST)),)
    gaps: tuple[ir.Stmt, ...] = ()
    left = []
    for number, (rows, stage) in enumerate(zip(stage_distances(program), stages, strict=True)):
        if not rows:
            piece += _stage(site, stage, step, _LOW, _HIGH)
            continue
        behind = ir.Var(f"behind{number}")
        gap = ir.Let(behind, ir.select(several, ir.Int(rows), extent(0)))
        gaps += (gap,)
        begin, end = _FIRST + behind, _LAST - behind
        piece += _stage(site, stage, step, ir.largest(_LOW - behind, begin), _HIGH - behind)
        edges = (
            *_stage(site, stage, step, _FIRST, ir.smallest(begin, _LAST)),
            *_stage(site, stage, step, ir.largest(begin, end), _LAST),
        )
        left.append(_shared(site, (gap, *edges)))
    return _steps(steps, lets, [_shared(site, (*gaps, _asking(_FIRST, _LAST, _PIECE_ROWS, piece))), *left])


def _asking(low: ir.Expr, high: ir.Expr, rows: ir.Expr, piece: tuple[ir.Stmt, ...]) -> ir.For:
    """A loop over pieces of so many rows; before each but the first the thread asks whether it goes on."""
    goes_on = ir.Op(ir.Operator.EITHER, (_LOW.equals(low), ir.WANTED), ir.Native("int"))
    return ir.For(var=_LOW, low=low, high=high, step=rows, body=(ir.If(goes_on, piece),))


def _blocks(site: Site, step: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Write the only statement over a thread's part, in blocks.

    Rows that are computed together are the same ones as without blocks: these are counted from the first row that the
    statement updates. The first block has the rows before that, too, of which receivers record.
    """
    lets: tuple[ir.Stmt, ...] = ()
    start: ir.Expr = _FIRST
    low: ir.Expr = _LOW
    margin = box_bounds(site, site.problem.program.statements[0])[0][0]
    if site.rank > 1 and margin != ir.Int(0):
        lets = (ir.Let(_BEGIN, ir.smallest(ir.largest(_FIRST, margin), _LAST - 1)),)
        start, low = _BEGIN, ir.select(_BEGIN < _LOW, _LOW, _FIRST)
    block = _stage(site, (0,), step, low, ir.smallest(_LOW + _PIECE_ROWS, _LAST))
    return (*lets, _asking(start, _LAST, _PIECE_ROWS, block))


def cell_by_cell(site: Site, steps: Loop) -> tuple[ir.Stmt, ...]:
    """Write the same tree for a program with a recurrence: one thread, in lexicographic order."""
    body: list[ir.Stmt] = []
    for stage in site.problem.program.stages:
        for number in stage:
            bounds = box_bounds(site, site.problem.program.statements[number])
            places = tuple(ir.Var(f"x{axis}") for axis in range(site.rank - 1))
            nest = _row(site, number, ir.Var(steps.name), places, bounds[-1])
            for axis in range(site.rank - 2, -1, -1):
                inside = nest if axis else (ir.If(ir.WANTED, nest),)
                nest = (ir.For(var=places[axis], low=bounds[axis][0], high=bounds[axis][1], body=inside),)
            body += nest
    return (_over(steps, body),)


def _row(
    site: Site, number: int, step: ir.Expr, places: tuple[ir.Var, ...], bounds: tuple[ir.Expr, ir.Expr]
) -> tuple[ir.Stmt, ...]:
    """One row of a recurrence; where there are points, cell by cell, since the next cells read what is added."""
    field = site.problem.program.statements[number].field
    if not points.touches(site.problem, field):
        call = ir.Call(cells_name(site, number), (*site.params, step, *places, *bounds))
        if places:
            return (call,)
        part = (_LOW, ir.smallest(_LOW + ir.Int(BLOCK), bounds[1]))
        call = ir.Call(cells_name(site, number), (*site.params, step, *part))
        return (_asking(*bounds, ir.Int(BLOCK), (call,)),)
    x = ir.Var("x")
    spans = [end for at in (*places, x) for end in (at, at + 1)]
    calls = (
        ir.Call(cells_name(site, number), (*site.params, step, *places, x, x + 1)),
        ir.Call(points.function_name(site, field), (*site.params, step, *spans)),
    )
    return (ir.For(var=x, low=bounds[0], high=bounds[1], body=calls),)


def stage_distances(program: Program) -> tuple[int, ...]:
    """Rows by which each stage of a step follows the first: no computation closer to it depends on it, or it on that.

    Boundaries bend no read further from its cell than it is written, but for ``wrap``: what it takes to the other end
    of the grid is among the rows that wait at the ends of parts.
    """
    analysis = program.analysis
    copies = dict(zip(program.fields, analysis.copies, strict=True))
    stage_of = {program.statements[number].field: s for s, stage in enumerate(analysis.stages) for number in stage}
    # in 1D, where rows are cells, a cache line: no two threads write to one
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


def _steps(steps: Loop, lets: tuple[ir.Stmt, ...], loops: list[ir.Stmt]) -> tuple[ir.Stmt, ...]:
    """All steps by one team of threads, which asks between stretches of them whether it goes on.

    In a loop that asks, GCC also asks anew in every iteration how many threads there are.
    """
    every = _over(steps, loops)
    # compilers know by the 0 that no step has a negative number: its remainders are cheaper
    first, end = ir.largest(_SINCE, 0), ir.smallest(_SINCE + _STRETCH, every.high)
    stretch = replace(every, low=first, high=end, brief=True)
    return (*lets, ir.Parallel(_THREADS, (replace(every, var=_SINCE, step=_STRETCH, body=(stretch,)),)))


def _over(steps: Loop, body: list[ir.Stmt]) -> ir.For:
    return ir.For(var=ir.Var(steps.name), low=index(steps.low, {}), high=index(steps.high, {}), body=tuple(body))


def _stretch_steps(site: Site) -> ir.Expr:
    cells = extent(0) if site.rank == 1 else (extent(0) * stride(0))
    return ir.largest(1, ir.smallest(ir.Int(BLOCK) / cells, _STRETCH_STEPS))


def _shared(site: Site, body: tuple[ir.Stmt, ...]) -> ir.For:
    """A loop over the threads' parts of the outermost axis."""
    first, last = ((_units(site) * number / _PARTS) for number in (_PART, _PART + 1))
    ends = (ir.Let(_FIRST, first), ir.Let(_LAST, last))
    if site.rank == 1:
        ends = (
            ir.Let(_FIRST, first * site.body.part),
            ir.Let(_LAST, ir.smallest(last * site.body.part, extent(0))),
        )
    return ir.For(var=_PART, low=ir.Int(0), high=_PARTS, body=(*ends, *body), share="static")


def _units(site: Site) -> ir.Expr:
    """What threads share: rows, or blocks of cells in 1D."""
    return ir.ceildiv(extent(0), site.body.part) if site.rank == 1 else extent(0)


def _block_rows(site: Site) -> ir.Expr:
    """Rows of a block: several times those that a statement computes together."""
    if site.rank == 1:
        return ir.Int(BLOCK)
    together = ir.Int(math.lcm(*(max(1, each.block.rows) for each in site.body.boxes)))
    return together * ir.largest(1, ir.Int(BLOCK) / (together * stride(0)))


def _piece_rows(site: Site) -> ir.Expr:
    """Rows of a piece, at least those that a statement computes together."""
    values = site.body.piece
    if site.rank == 1:
        return ir.Int(values)
    together = max(each.block.rows for each in site.body.boxes)
    return ir.largest(ir.Int(together if site.rank == 2 else 1), ir.Int(values) / stride(0))


def _stage(site: Site, statements: tuple[int, ...], step: ir.Expr, low: ir.Expr, high: ir.Expr) -> tuple[ir.Call, ...]:
    """The statements of a stage over rows of the grid."""
    ranges = [(low, high), *((ir.Int(0), extent(axis)) for axis in range(1, site.rank))]
    return tuple(box_call(site, number, step, ranges) for number in statements)
