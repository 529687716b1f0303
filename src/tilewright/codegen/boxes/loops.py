"""Weighted sums over boxes, for sweeps and tiles of boxes, as loops over the reads along the rows.

Written read by read, a box of 343 or 729 reads is text that gcc works on for seconds, once for blocks of rows, once for
single ones, and again for both ends. What is done at one offset along the rows is the same for all but for the weights:
it stands in a loop that takes them from a table, as in streaming kernels
(:mod:`tilewright.codegen.sums.loop`), in a function that is told where rows start. These places are found in loops,
too: a box is complete, whatever lies outside the grid. At the ends of the grid's rows the function reads copies of the
rows' first or last cells, with what lies beyond them.
"""

import math
from collections.abc import Iterable, Sequence

from tilewright.codegen import ir
from tilewright.codegen.boundary import inside, literal
from tilewright.codegen.boxes.ends import row_reach, vectors_at_ends
from tilewright.codegen.boxes.neighbours import beside
from tilewright.codegen.boxes.rows import RowPointers, or_constants, version_name
from tilewright.codegen.layouts import stride
from tilewright.codegen.sites import Site, extent
from tilewright.codegen.sums.loop import write_lines
from tilewright.programs.stencil.dependences import overwrites_its_input
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import box_sum, boxes
from tilewright.schedules.sums import Near, nears


def near_reads(site: Site, statement: Statement) -> tuple[Near, ...]:
    """The reads of a statement by their offset along the rows, where it is a sum in a loop over them; else none."""
    terms = box_sum(statement) if site.code(statement).block.loops else None
    return () if terms is None else nears(terms)


def starts_type(site: Site, *, const: bool = False) -> ir.Pointer:
    """Type of an array of where rows start."""
    return ir.Pointer(ir.const_pointer(site.dtype), const=const)


def row_starts(site: Site) -> ir.Var:
    """The array of where rows start, in the order of :class:`RowPointers`."""
    return ir.Var("rows", starts_type(site))


def found_rows(starts: ir.Expr, rows: RowPointers) -> dict[ir.Var, ir.Expr]:
    """What :func:`find_rows` has stored for every row, by its name."""
    return {name: starts[number] for number, name in enumerate(rows.names.values())}


def find_rows(b: ir.Builder, site: Site, statement: Statement, places: Sequence[ir.Expr], block: int) -> None:
    """Find where all rows start that some neighbouring rows of results read: fills :func:`row_starts`."""
    every = {
        level: [*outer, range(last.start, last.stop + block - 1)] for level, (*outer, last) in boxes(statement).items()
    }
    first = 0
    b.array(row_starts(site).name, starts_type(site), sum(math.prod(map(len, box)) for box in every.values()))
    for level, box in every.items():
        version = (statement.reads[0].field, level)
        _find_box(b, site, version, list(zip(places, box, strict=True)), first)
        first += math.prod(map(len, box))


def _find_box(
    b: ir.Builder,
    site: Site,
    version: tuple[str, int],
    box: Sequence[tuple[ir.Expr, range]],  # per outer axis the place of the results, and the offsets
    first: int,  # rows that are stored before
) -> None:
    """Find the rows of one version of a field."""
    field, sides = version[0], site.problem.sides(version[0])

    def rows(at: tuple[ir.Expr, ...], number: ir.Expr, row: ir.Expr) -> None:
        axis = len(at)
        if axis == len(box):
            b.set(row_starts(site)[number + first], or_constants(site, field, at, row))
            return
        place, span = box[axis]
        with b.loop(f"d{axis}", 0, len(span)) as turn:
            here = b.let(f"at{axis}", place + span.start + turn)
            start = row + inside(here, extent(axis), sides[axis]) * stride(axis)
            rows((*at, here), number * len(span) + turn, b.let(f"from{axis}", start))

    rows((), ir.Int(0), version_name(site, *version))


def sum_name(site: Site, statement: Statement, lines: int) -> str:
    """Name of the function for so many rows of results."""
    return f"{_name(site, statement)}_of_{lines}"


def beyond_name(site: Site, statement: Statement, *, low_side: bool) -> str:
    """Name of the function that copies an end of a row."""
    return f"{_name(site, statement)}_{'low' if low_side else 'high'}"


def _name(site: Site, statement: Statement) -> str:
    return f"{site.prefix}_sum_{site.problem.program.statements.index(statement)}"


def sum_functions(
    site: Site, statement: Statement, blocks: Iterable[tuple[int, RowPointers]]
) -> tuple[ir.Function, ...]:
    """What boxes of a large sum call: for every number of rows that are computed together, and for the rows' ends."""
    near = near_reads(site, statement)
    if not near:
        return ()
    sums = [_sum_function(site, statement, near, rows, lines) for lines, rows in blocks]
    sides = zip((True, False), vectors_at_ends(site, statement), strict=True)
    return (*sums, *(_beyond_function(site, statement, low_side=low_side) for low_side, asked in sides if asked))


def _sum_function(site: Site, statement: Statement, near: Sequence[Near], rows: RowPointers, lines: int) -> ir.Function:
    """A function ``sum(rows, to, stride, place, into[, done])`` for a vector of rows; lanes below ``done`` stay."""
    keeps = overwrites_its_input(site.problem.program, statement)
    kind, block = ir.vector(site.dtype), site.code(statement).of(lines)
    b = ir.Builder(sum_name(site, statement, lines), kind="apart")
    where = b.param("rows", starts_type(site, const=True))
    to, apart = b.param("to", ir.pointer(site.dtype)), b.param("stride", ir.INDEX)
    place, into = b.param("place", ir.INDEX), b.param("into", ir.INDEX)
    done = b.param("done", ir.INDEX) if keeps else None
    starts = found_rows(where, rows)
    values = write_lines(b, kind, near, block, place, lambda read, line, at: starts[rows.of(read, line)].vector(at))
    for line, value in enumerate(values):
        at = into + apart * line
        kept = value if done is None else ir.op(ir.Operator.KEEP, to.vector(at), value, done)
        b.set(to.vector(at), kept)
    return b.function()


def _beyond_function(site: Site, statement: Statement, *, low_side: bool) -> ir.Function:
    """A function ``beyond(row, to, n)`` that copies what a vector at an end of a row reads, with what lies beyond it.

    The row's own first, or last, vector is copied to ``to[0]``.
    """
    (left, right), size, field = row_reach(statement), extent(site.rank - 1), statement.reads[0].field
    b = ir.Builder(beyond_name(site, statement, low_side=low_side))
    row, to = b.param("row", ir.const_pointer(site.dtype)), b.param("to", ir.pointer(site.dtype))
    b.params(size)
    first: ir.Expr = ir.Int(0) if low_side else size - ir.Lanes(site.dtype)
    low = vector_beyond(site, field, row, -left) if low_side else row.vector(first - left)
    high = row.vector(first + right) if low_side else vector_beyond(site, field, row, right)
    for at, value in ((-left, low), (right, high), (0, row.vector(first))):
        b.set(to.vector(at), value)
    return b.function()


def vector_beyond(site: Site, field: str, row: ir.Expr, offset: int) -> ir.Expr:
    """The vector that starts so many cells before a row's first one, or after its last one."""
    kind, low_side = ir.vector(site.dtype), offset < 0
    ends: tuple[ir.Expr, ir.Expr] = (ir.Int(0), extent(site.rank - 1) - ir.Lanes(site.dtype))
    own, far = (row.vector(end) for end in (ends if low_side else ends[::-1]))
    side = site.problem.sides(field)[-1][0 if low_side else 1]
    if side.kind == "constant":
        return beside(own, ir.splat(literal(side.value, site.dtype), kind), offset, kind)
    if side.kind == "wrap":
        return beside(own, far, offset, kind)
    return ir.Shift(own=own, other=own, low=low_side, distance=abs(offset), boundary=side.kind, type=kind)
