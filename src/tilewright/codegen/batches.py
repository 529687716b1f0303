"""Many grids of one shape, one thread for each: what is done to every grid, as a list of copies and calls.

Small grids leave a team of threads nothing to share but waiting for each other; grids of a batch need not meet at all.
A worker copies a grid into memory of its own, calls the kernel, and copies the results out, so that a grid stays in the
worker's caches. The list is made at run time: it depends on strides and steps.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tilewright.codegen import ir

HEAD = ("workers", "count", "length", "pointers")
"""Numbers before the list: workers, grids, entries of the list, and pointers of a worker to constants."""


class CallEntry(NamedTuple):
    """The kernel is called; a place is one among ``field`` or ``size`` of the batch."""

    field: int  # place of the kernel's own pointers
    field_per_worker: int
    size: int  # place of the kernel's own sizes


class CopyEntry(NamedTuple):
    """A box of up to three axes is copied; numbers count elements, places are those of pointers among ``field``."""

    to: int
    to_per_worker: int
    to_first: int
    to_per_grid: int
    source: int
    source_per_worker: int
    source_first: int
    source_per_grid: int
    planes: int
    rows: int
    cells: int
    to_plane: int
    to_row: int
    to_cell: int
    source_plane: int
    source_row: int
    source_cell: int


Entry = CallEntry | CopyEntry
_NUMBERS = 1 + len(CopyEntry._fields)


def list_length(entries: int) -> int:
    """Return how many numbers a list of so many entries takes, with those before it."""
    return len(HEAD) + entries * _NUMBERS


def listed(entries: Iterable[Entry]) -> list[int]:
    """Return a list as numbers: of every entry whether it is a call, and what it holds.

    >>> listed([CallEntry(5, 6, 7)])[:5]
    [1, 5, 6, 7, 0]
    """
    every = ([int(isinstance(entry, CallEntry)), *entry] for entry in entries)
    return [number for numbers in every for number in (*numbers, *[0] * (_NUMBERS - len(numbers)))]


def _found(kind: type[Entry], row: ir.Expr) -> Mapping[str, ir.Expr]:
    return {name: row[place] for place, name in enumerate(kind._fields, 1)}


def batch_name(entry: str) -> str:
    """Return the name of the function that calls a kernel grid by grid."""
    return f"{entry}_batch"


def batch_function(entry: str, params: Sequence[ir.Var]) -> ir.Function:
    """Write ``entry_batch(field, size, scalar, constant)``, which shares the grids among the workers.

    ``size`` holds the numbers of :data:`HEAD`, then the list.
    """
    b = ir.Builder(batch_name(entry), kind="entry")
    b.params(*params)
    field, size, scalar, constant = params
    workers, count, length, pointers = (b.let(name, size[place]) for place, name in enumerate(HEAD))
    with b.parallel(workers), b.loop("worker", 0, workers, share="static") as worker:
        begin, end = b.let("begin", worker * count / workers), b.let("end", (worker + 1) * count / workers)
        with b.loop("grid", begin, end) as grid, b.when(ir.WANTED), b.loop("number", 0, length) as number:
            row = b.let("row", size + (number * _NUMBERS + len(HEAD)))
            with b.when(row[0].differs(0)):
                call = _found(CallEntry, row)
                own = field + (call["field"] + worker * call["field_per_worker"])
                b.call(entry, own, size + call["size"], scalar, constant + worker * pointers)
            with b.otherwise():
                _copy(b, _found(CopyEntry, row), field, (worker, grid))
    return b.function()


def _copy(b: ir.Builder, copy: Mapping[str, ir.Expr], field: ir.Var, turn: tuple[ir.Expr, ir.Expr]) -> None:
    """Copy row by row; rows that lie cell by cell in both arrays become vectors."""
    worker, grid = turn

    def start(array: str) -> ir.Expr:
        pointer = field[copy[array] + worker * copy[f"{array}_per_worker"]]
        return pointer + (copy[f"{array}_first"] + grid * copy[f"{array}_per_grid"])

    to, source = b.let("target", start("to")), b.let("source", start("source"))
    far, near = b.let("target_step", copy["to_cell"]), b.let("source_step", copy["source_cell"])
    with b.loop("outer", 0, copy["planes"]) as plane, b.loop("middle", 0, copy["rows"]) as row:
        into = b.let("into", to + (plane * copy["to_plane"] + row * copy["to_row"]))
        values = b.let("start", source + (plane * copy["source_plane"] + row * copy["source_row"]))
        with b.when(far.equals(1) & near.equals(1)), b.loop("at", 0, copy["cells"], independent=True) as at:
            b.set(into[at], values[at])
        with b.otherwise(), b.loop("at", 0, copy["cells"]) as at:
            b.set(into[at * far], values[at * near])
