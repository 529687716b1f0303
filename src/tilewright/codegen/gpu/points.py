"""Sources and receivers in GPU kernels: what is added to a new value, and whether it is recorded, cell by cell.

The tables are those of :mod:`tilewright.codegen.points`, behind one another, in whole numbers of 32 bits::

    points[0], points[1]    steps of the table of numbers, and the first of them, as the run counts steps
    points[2 + 3 i …]       where table i's rows and its places along rows start in ``points``, and its numbers
    numbers                 of every cell of every table a number per step: what sources add, what receivers record

A value passes through a function where it is new, before anything reads it, so that every schedule that computes a cell
adds to it; those that compute cells of other groups, too, say which ones are theirs to record.
"""

from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite
from tilewright.codegen.points import function_name, tables, touches

_HEAD = ("steps", "first step")
_PARTS = ("rows", "places", "numbers")


def head(steps: int, first: int, parts: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return what ``points`` starts with; ``parts``: where a table's rows and its places start in it, its numbers."""
    return [steps, first, *(place for each in parts for place in each)]


def point_functions(site: GpuSite) -> tuple[ir.Function, ...]:
    """Make a function ``points(points, numbers, row, at, now, own, value)`` per field with sources or receivers."""
    return tuple(_function(site, field) for field in site.problem.program.updated if touches(site.problem, field))


def _function(site: GpuSite, field: str) -> ir.Function:
    b = ir.Builder(function_name(site.prefix, site.problem, field), kind="inline")
    points, numbers = site.points, site.numbers
    b.params(points, numbers)
    row, at, now = (b.param(name) for name in ("row", "at", "now"))
    own, value = b.param("own", ir.BOOL), b.param("value", site.dtype)
    result = b.mutable("result", value)
    for table, records in tables(site.problem, field):
        rows, places, begin = (points[len(_HEAD) + len(_PARTS) * table + part] for part in range(len(_PARTS)))
        with b.scope():
            first = b.let("rows", rows) + row
            low, high = b.mutable("low", points[first]), b.let("high", points[first + 1])
            with b.when(own & (low < high) if records else low < high):
                start = b.let("places", places)
                # By halving to the first cell of the row that is not before this one.
                end = b.mutable("end", high)
                with b.loop_while(low < end):
                    middle = b.let("middle", low + (end - low) / 2)
                    with b.when(points[start + middle] < at):
                        b.set(low, middle + 1)
                    with b.otherwise():
                        b.set(end, middle)
                number = b.let("begin", begin) + (low * points[0] + (now - points[1]))
                with b.when(low < high), b.when(points[start + low].equals(at)):
                    if records:
                        b.set(numbers[number], result)
                    else:
                        b.set(result, ir.op(ir.Operator.ADD, result, numbers[number]))
    return b.function(result)
