"""Weighted sums over boxes, for sweeps and tiles of boxes, as loops over the reads along the rows.

Written read by read, a box of 343 or 729 reads is text that gcc works on for seconds, once for blocks of rows, once for
single ones, and again for both ends. What is done at one offset along the rows is the same for all but for the weights:
it stands in a loop that takes them from a table, as in streaming kernels
(:mod:`tilewright.codegen.passes.write_sums.loop`), in a function that is told where rows start. These places are found
in loops, too: a box is complete, whatever lies outside the grid. At the ends of the grid's rows the function reads
copies of the rows' first or last cells, with what lies beyond them.
"""

import math
from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.passes.write_sums.loop import write_lines
from tilewright.codegen.sites import RowPointers, Site, extent, inside, or_constants, stride, version_name
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import box_sum, boxes
from tilewright.schedules.code import RowCode
from tilewright.schedules.sums import Near, nears

_PLACE, _INTO, _DONE, _STRIDE = ir.Var("place"), ir.Var("into"), ir.Var("done"), ir.Var("stride")


def near_reads(site: Site, statement: Statement) -> tuple[Near, ...]:
    """The reads of a statement by their offset along the rows, where it is a sum in a loop over them; else none."""
    terms = box_sum(statement) if site.code(statement).block.loops else None
    return () if terms is None else nears(terms)


def rows_type(site: Site) -> ir.Pointer:
    """Type of where a row starts."""
    return ir.const_pointer(site.dtype)


def row_starts(site: Site, *, const: bool = False) -> ir.Var:
    """The array of where rows start, in the order of :class:`RowPointers`."""
    return ir.Var("rows", ir.Pointer(rows_type(site), const=const))


def found_rows(starts: ir.Var, rows: RowPointers) -> dict[ir.Var, ir.Expr]:
    """What :func:`find_rows` has stored for every row, by its name."""
    kind = ir.pointee(starts)
    loads = (ir.Load(starts, ir.Int(number), kind) for number in range(len(rows.names)))
    return dict(zip(rows.names.values(), loads, strict=True))


def find_rows(site: Site, statement: Statement, places: Sequence[ir.Expr], block: int) -> tuple[ir.Stmt, ...]:
    """Find where all rows start that some neighbouring rows of results read: fills :func:`row_starts`."""
    loops: list[ir.Stmt] = []
    done = 0
    for level, (*outer, last) in boxes(statement).items():
        box = [*outer, range(last.start, last.stop + block - 1)]
        loops.append(_find_box(site, (statement.reads[0].field, level), places, box, done))
        done += math.prod(map(len, box))
    return (ir.Array(row_starts(site), done), *loops)


def _find_box(
    site: Site, version: tuple[str, int], places: Sequence[ir.Expr], box: Sequence[range], first: int
) -> ir.Stmt:
    """Find the rows of one version of a field; ``first`` others are stored before."""
    (field, _), kind, axes = version, rows_type(site), range(len(box))
    turns, at = [ir.Var(f"d{axis}") for axis in axes], [ir.Var(f"at{axis}") for axis in axes]
    within = [ir.Var(f"from{axis}", kind) for axis in axes]
    number: ir.Expr = ir.Int(0)
    for turn, span in zip(turns, box, strict=True):
        number = number * len(span) + turn
    start = or_constants(site, field, at, within[-1])
    nest: tuple[ir.Stmt, ...] = (ir.Store(row_starts(site), number + first, start, kind),)
    for axis in reversed(axes):
        stands_for = inside(at[axis], extent(axis), site.problem.sides(field)[axis])
        here = (
            ir.Let(at[axis], places[axis] + box[axis].start + turns[axis]),
            ir.Let(
                within[axis],
                (within[axis - 1] if axis else version_name(site, *version)) + stands_for * stride(axis),
            ),
        )
        nest = (ir.For(var=turns[axis], low=ir.Int(0), high=ir.Int(len(box[axis])), body=(*here, *nest)),)
    return nest[0]


def sum_function(
    name: str, site: Site, near: Sequence[Near], rows: RowPointers, block: RowCode, *, keeps: bool
) -> ir.Function:
    """A function ``sum(rows, to, stride, place, into[, done])`` for a vector of rows; lanes below ``done`` stay."""
    kind, to = ir.vector(site.dtype), ir.Var("to", ir.pointer(site.dtype))
    where = row_starts(site, const=True)
    starts = found_rows(where, rows)

    def fetch(read: Read, line: int, at: ir.Expr) -> ir.Expr:
        return ir.Load(starts[rows.of(read, line)], at, kind)

    body, values = write_lines(kind, near, block, _PLACE, fetch)
    stores = []
    for line, value in enumerate(values):
        at = _INTO + _STRIDE * line
        kept = ir.op(ir.Operator.KEEP, ir.Load(to, at, kind), value, _DONE) if keeps else value
        stores.append(ir.Store(to, at, kept, kind))
    params = (where, to, _STRIDE, _PLACE, _INTO, *((_DONE,) if keeps else ()))
    return ir.Function(name=name, params=params, body=(*body, *stores), kind="apart")
