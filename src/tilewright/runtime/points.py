"""Sources and receivers of a run: what kernels add to cells and what they record, as tables of some steps each."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.intmath import ceil_div
from tilewright.codegen.rows import sums_source
from tilewright.programs.stencil import points
from tilewright.programs.stencil.periodic import Extended
from tilewright.programs.stencil.points import Index, Sums, Weights, numbered
from tilewright.programs.stencil.problem import PointFields, Problem, Span
from tilewright.programs.stencil.storage import Subdomain
from tilewright.runtime.call import addresses, if_compiled, packed
from tilewright.runtime.memory import Array, Workspace, check_memory


class FaceSums:
    """Sums of what a statement makes of a field's cells near the sides, from zero on."""

    def __init__(self, problem: Problem, field: str, widths: tuple[Span, ...]) -> None:
        # widths: cells at both ends of every axis
        self.field, self.widths, self._shape = field, widths, problem.shape
        statement = next(each for each in problem.program.statements if each.field == field)
        self._box = tuple(slice(*span) for span in problem.update_box(statement))
        self._parts = {axis: Subdomain(axis, *pair) for axis, pair in enumerate(widths) if any(pair)}
        # axis by axis, those at the second end of an axis behind those at the first
        self.sums: Array = np.zeros(sum(math.prod(each.shape(problem.shape)) for each in self._parts.values()))
        self.sums = self.sums.astype(problem.dtype)

    def add(self, look: Callable[[str, npt.NDArray[np.int64]], Array]) -> None:
        """Add new values, of which cells are asked by their numbers in the grid."""
        moves, cells = self._cells
        self.sums[moves] += look(self.field, cells)

    @functools.cached_property
    def _cells(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Which sums are of cells that are updated, and the numbers of these in the grid."""
        numbers, updated = np.arange(math.prod(self._shape)), np.zeros(self._shape, dtype=bool)
        updated[self._box] = True
        found = np.concatenate([part.cut(numbers.reshape(self._shape)).ravel() for part in self._parts.values()])
        moves = updated.ravel()[found]
        return moves, found[moves]

    def at_end(self, axis: int, *, last: bool) -> npt.NDArray[Any]:
        """Return the sums of the cells at one end of an axis, a view that is the grid's shape along the others.

        Where both ends have cells in common these are summed once, with those of the first end.
        """
        start = 0
        for each, part in self._parts.items():
            shape = part.shape(self._shape)
            if each == axis:
                sums = self.sums[start : start + math.prod(shape)].reshape(shape)
                count = min(self.widths[axis][last], self._shape[axis])
                cells = slice(shape[axis] - count, None) if last else slice(count)
                return sums[(slice(None),) * axis + (cells,)]
            start += math.prod(shape)
        raise KeyError(axis)


Summing = Callable[[Sums, Array, Array], Array]
"""What takes sums: of their terms, a table and what they start from."""
Look = Callable[[str, Index], Array]
"""What a field's newest version is at some cells, in row-major order of the grid, when a run begins."""
MOST_BYTES = 2**26
"""Bytes of the tables of one call of a kernel."""
_MANY = 2**20
"""Products of sums with weights from which on compiled code is worth its compilation."""
_COMPILED = ("float32", "float64")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sources:
    """What is added to a field."""

    field: str  # name of an updated field
    weights: Weights  # cells of the points; what no statement updates is left out
    values: Array  # per step and point what is added, times the weights; shape (steps, points)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Receivers:
    """What is recorded of a field."""

    field: str  # name of a field
    weights: Weights  # cells of the points
    every: int = 1  # steps from one record to the next

    def rows(self, steps: int) -> int:
        """How many rows a trace of so many steps has."""
        return steps // self.every


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointData:
    """The sources and receivers of a run; of each at most one per field."""

    sources: tuple[Sources, ...] = ()
    receivers: tuple[Receivers, ...] = ()
    faces: tuple[FaceSums, ...] = ()  # sums over the steps near the sides of the grid
    summing: Summing = Sums.of  # what takes the sums of what is recorded

    def fields(self, problem: Problem) -> PointFields:
        """What a kernel needs to know of them."""
        updated = problem.program.updated
        recorded = [each for each in self.receivers if each.field in updated]
        weights = [each.weights for each in self.sources] + [each.weights for each in recorded]
        return PointFields(
            sources=tuple(sorted({each.field for each in self.sources}, key=updated.index)),
            receivers=tuple(sorted({each.field for each in recorded}, key=updated.index)),
            cells=sum(len(each.cells()) for each in weights),
            faces=tuple((each.field, each.widths) for each in self.faces),
        )

    def on(self, problem: Problem) -> Problem:
        """Return a problem whose kernel knows of them."""
        return replace(problem, points=self.fields(problem))

    def traces(self, problem: Problem) -> dict[str, Array]:
        """Return arrays for what receivers record; shapes (steps // every, points)."""
        return {
            each.field: np.zeros((each.rows(problem.steps), each.weights.points), problem.dtype)
            for each in self.receivers
        }

    def done(self, traces: Mapping[str, Array], steps: int) -> dict[str, Array]:
        """Return the rows of traces that were recorded in so many steps."""
        return {each.field: traces[each.field][: each.rows(steps)] for each in self.receivers}


def bytes_of(problem: Problem) -> int:
    """Return the bytes of the tables of one step."""
    return problem.points.cells * problem.itemsize


class Adding:
    """The sources of one field on the grid that a kernel computes on."""

    def __init__(self, sources: Sources, dtype: str) -> None:
        weights = sources.weights
        self.field, self._values, self._dtype = sources.field, sources.values, dtype
        self.cells, places = numbered(weights.cell)
        self._sums = Sums(places, weights.point, weights.weight, len(self.cells))

    def numbers(self, first: int, steps: int) -> Array:
        """Return what is added to the cells in some steps; shape (cells, steps)."""
        added: Array = self._sums.of(self._values[first : first + steps].T).astype(self._dtype)
        return added


class Recording:
    """The receivers of one field: which cells are recorded, and what their values make."""

    def __init__(self, receivers: Receivers, problem: Problem, look: Look, summing: Summing) -> None:
        weights = receivers.weights
        self.field, self.every = receivers.field, receivers.every
        moves = updated_cells(problem, self.field, weights.cell)
        self.cells, where = numbered(weights.cell[moves])
        self._summing = summing
        kind = np.promote_types(problem.dtype, np.float64) if problem.rounds else problem.dtype
        weight = weights.weight.astype(kind)
        self._sums = Sums(weights.point[moves], where, weight[moves], weights.points)
        held = ~moves
        values = look(self.field, weights.cell[held]).astype(problem.dtype)
        still = Sums(weights.point[held], np.arange(len(values)), weight[held], weights.points)
        self._still = still.of(values[:, np.newaxis], weights.constant)[:, 0]

    def write(self, gathered: Array, first: int, trace: Array, begin: int = 0) -> None:
        """Write what was recorded, (cells, steps) after ``first`` steps, to a trace from ``begin`` on."""
        due = np.arange(first // self.every, (first + gathered.shape[1]) // self.every)
        if len(due):
            recorded = gathered[:, (due[0] + 1) * self.every - 1 - first :: self.every]
            trace[due - begin // self.every] = self.sums(recorded)

    def sums(self, recorded: Array) -> Array:
        """Return what the receivers make of values of the cells, (rows, points) of (cells, rows)."""
        return self._summing(self._sums, recorded, self._still).T


def sums(terms: Sums, table: Array, start: Array, threads: int) -> Array:
    """Return what :meth:`Sums.of` does, in C where there are many: the same bits as NumPy's."""
    many = terms.weight.size * table.shape[1] >= _MANY and terms.weight.dtype == np.float64
    function = if_compiled(sums_source, table.dtype.name) if many and table.dtype.name in _COMPILED else None
    if function is None:
        return terms.of(table, start)
    rows, first = packed(table), packed(start, np.float64)
    result = np.empty((terms.count, rows.shape[1]))
    places, numbers = addresses((terms.starts, terms.source)), addresses((terms.weight, first, result))
    function((rows,), (threads, rows.shape[1], terms.count), places, numbers)
    return result


def updated_cells(problem: Problem, field: str, cells: Index) -> Array:
    """Return which cells, in row-major order, a problem's statements update in a field."""
    places = np.unravel_index(cells, problem.shape)
    boxes = [problem.update_box(statement) for statement in problem.program.statements if statement.field == field]
    updated = np.zeros(len(cells), dtype=bool)
    for box in boxes:
        updated |= np.logical_and.reduce([(p >= a) & (p < b) for p, (a, b) in zip(places, box, strict=True)])
    return updated


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """What a call of a kernel is handed."""

    points: int  # of the array of tables
    numbers: tuple[int, ...]  # of the tables of numbers


class PointTables:
    """The tables of :mod:`tilewright.codegen.points` for one run."""

    def __init__(  # noqa: PLR0913
        self,
        data: PointData,
        problem: Problem,  # the problem proper
        look: Look,  # what fields are at some cells when the run begins
        traces: Mapping[str, Array] | None,  # for what is recorded; None where nothing wants it
        memory: Workspace,  # where what is recorded lies
        halo: Extended | None = None,
        *,
        begin: int = 0,  # steps before those of the traces' first rows
    ) -> None:
        self._traces, self._problem, self._begin = traces, problem, begin
        grid, around = (problem, ((0, 0),) * len(problem.shape)) if halo is None else (halo.problem, halo.around)
        fields = problem.points

        self.adding = [
            Adding(next(each for each in data.sources if each.field == field), problem.dtype)
            for field in fields.sources
        ]
        self.recording = [
            Recording(each, problem, look, data.summing)
            for field in fields.receivers
            for each in data.receivers
            if each.field == field
        ]
        self._still = [
            Recording(each, problem, look, data.summing)
            for each in data.receivers
            if each.field not in fields.receivers
        ]
        columns = [len(each.cells) for each in self.adding] + [len(each.cells) for each in self.recording]
        self.most = max(1, MOST_BYTES // max(1, bytes_of(problem)))
        """Most steps of a call."""
        self._dtype, self._columns, self._faces = problem.dtype, columns, data.faces
        self.arrays: list[Array] = []
        """Of every table where its rows' cells start, and their places."""
        self._which: list[Index] = []
        for adding in self.adding:
            cells, which = points.around(adding.cells, problem.shape, around)
            moved = updated_cells(grid, adding.field, cells)
            self.arrays += row_table(cells[moved], grid.shape)
            self._which.append(which[moved])
        for recording in self.recording:
            places = np.unravel_index(recording.cells, problem.shape)
            shifted = tuple(place + low for place, (low, _) in zip(places, around, strict=True))
            cells = np.ravel_multi_index(shifted, grid.shape).astype(np.int64)
            self.arrays += row_table(cells, grid.shape)
        self._pointers = addresses(self.arrays)
        self.numbers: list[Array] = []
        """Of every table the numbers of a call, those of sources first; shapes (cells, steps)."""
        self._memory, self._room = memory, 0
        self._kept: list[Array] = []

    def before(self, first: int, steps: int) -> Addresses | None:
        """Make the tables for ``steps`` steps (at most :attr:`most`) after ``first``; None if the kernel has none."""
        if not self._columns and not self._faces:
            return None
        check_memory(steps * sum(self._columns) * np.dtype(self._dtype).itemsize)
        self.numbers = [
            np.ascontiguousarray(each.numbers(first, steps)[which])
            for each, which in zip(self.adding, self._which, strict=True)
        ]
        self.numbers += [
            room[: len(each.cells) * steps].reshape(len(each.cells), steps)
            for each, room in zip(self.recording, self._rooms(steps), strict=True)
        ]
        numbers = (*self.numbers, *(each.sums for each in self._faces))
        return Addresses(points=self._pointers.ctypes.data, numbers=tuple(each.ctypes.data for each in numbers))

    def _rooms(self, steps: int) -> list[Array]:
        """Memory for what is recorded, from call to call: a page that is new costs more than a cell's value."""
        if steps > self._room:
            self._room, self._kept = steps, []
            self._kept = [self._memory.lend_grid((len(each.cells) * steps,), self._dtype) for each in self.recording]
        return self._kept

    def after(self, first: int, steps: int) -> None:
        """Write what receivers recorded in a call."""
        for recording, gathered in zip(self.recording, self.numbers[len(self.adding) :], strict=True):
            self._write(recording, gathered, first)
        for recording in self._still:
            self._write(recording, np.empty((0, steps), self._dtype), first)

    def added(self, first: int) -> dict[str, tuple[tuple[Index, ...], Array]]:
        """Return what is added in one step, for NumPy: by field the indices of cells, and a number for each."""
        found = {}
        for each in self.adding:
            moves = updated_cells(self._problem, each.field, each.cells)
            places = np.unravel_index(each.cells[moves], self._problem.shape)
            found[each.field] = (tuple(places), each.numbers(first, 1)[moves, 0])
        return found

    def record(self, look: Look, first: int) -> None:
        """Write what receivers record in one step, from what the newest versions are at some cells."""
        for each in (*self.recording, *self._still):
            self._write(each, look(each.field, each.cells)[:, np.newaxis], first)
        for face in self._faces:
            face.add(look)

    def _write(self, recording: Recording, gathered: Array, first: int) -> None:
        if self._traces is not None:
            recording.write(gathered, first, self._traces[recording.field], self._begin)


def row_table(cells: Index, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return where each row's cells, ascending in row-major order, start, and each cell's place along its row.

    >>> starts, places = row_table(np.array([1, 6, 7]), (2, 4))
    >>> starts.tolist(), places.tolist()
    ([0, 1, 3], [1, 2, 3])
    """
    length = shape[-1] if len(shape) > 1 else points.PIECE
    count = math.prod(shape[:-1]) if len(shape) > 1 else ceil_div(shape[0], points.PIECE)
    starts = np.searchsorted(cells, np.arange(count + 1, dtype=np.int64) * length).astype(np.int64)
    return starts, np.ascontiguousarray(cells % shape[-1], dtype=np.int64)
