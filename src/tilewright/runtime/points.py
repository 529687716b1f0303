"""Sources and receivers of a run: what kernels add to cells and what they record, as tables of some steps each."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.intmath import ceil_div
from tilewright.codegen.rows import sums_source
from tilewright.programs.stencil.forms import Extended
from tilewright.programs.stencil.points import PIECE, Index, Weights, inside, renumbered
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
        cells = np.concatenate([part.cut(numbers.reshape(self._shape)).ravel() for part in self._parts.values()])
        moves = updated.ravel()[cells]
        return moves, cells[moves]

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


Look = Callable[[str, Index], Array]
"""What a field's newest version is at some cells, in row-major order of the grid, when a run begins."""
MOST_BYTES = 2**26  # bytes of the tables of one call of a kernel
_MANY = 2**20  # products of sums with weights from which on compiled code is worth its compilation
_COMPILED = ("float32", "float64")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sources:
    """What is added to a field."""

    field: str  # name of an updated field
    weights: Weights  # cells of the points; what no statement updates is left out
    values: Array  # per step and point what is added, times the weights; shape (steps, points)
    scaled: tuple[tuple[str, "Sources"], ...] = ()  # those of them that a field scales, without the scale; its name

    def without_held(self, problem: Problem) -> "Sources":
        """Return them without the cells that no statement of a problem on the weights' grid updates."""
        return replace(self, weights=self.weights.some(updated_entries(problem, self.field, self.weights)))

    def added(self, first: int, steps: int, dtype: str) -> Array:
        """Return what is added to the cells in some steps; shape (cells, steps)."""
        return self.weights.inject(self.values[first : first + steps].T).astype(dtype)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Receivers:
    """What is recorded of a field."""

    field: str  # name of a field
    weights: Weights  # cells of the points
    every: int = 1  # steps from one record to the next
    columns: Index | None = None  # where the weights' cells lie in a table of cells, which is recorded to as it is

    def rows(self, steps: int) -> int:
        """How many rows a trace of so many steps has."""
        return steps // self.every

    def without_held(self, problem: Problem, look: Look) -> "Receivers":
        """Return them without the cells that no statement updates, whose values are among the constants then."""
        moves = updated_entries(problem, self.field, self.weights)
        rest = self.weights.some(~moves)
        values = look(self.field, rest.cells).astype(problem.dtype)
        return replace(self, weights=replace(self.weights.some(moves), constant=rest.read(values[:, np.newaxis])[:, 0]))

    def write(self, gathered: Array, first: int, trace: Array, *, begin: int = 0, threads: int = 1) -> None:
        """Write what was recorded, (cells, steps) after ``first`` steps, to a trace from ``begin`` on."""
        due = slice(self.rows(first), self.rows(first + gathered.shape[1]))
        if due.start < due.stop:
            recorded = gathered[:, (due.start + 1) * self.every - 1 - first :: self.every]
            rows = slice(due.start - self.rows(begin), due.stop - self.rows(begin))
            if self.columns is None:
                trace[rows] = read(self.weights, recorded, threads).T
            else:
                trace[rows, self.columns] = recorded.T


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointData:
    """The sources and receivers of a run; of each at most one per field."""

    sources: tuple[Sources, ...] = ()
    receivers: tuple[Receivers, ...] = ()
    faces: tuple[FaceSums, ...] = ()  # sums over the steps near the sides of the grid
    threads: int = 1  # of the sums of what is recorded

    def fields(self, problem: Problem) -> PointFields:
        """What a kernel needs to know of them."""
        updated = problem.program.updated
        recorded = [each for each in self.receivers if each.field in updated]
        weights = [each.weights for each in self.sources] + [each.weights for each in recorded]
        return PointFields(
            sources=tuple(sorted({each.field for each in self.sources}, key=updated.index)),
            receivers=tuple(sorted({each.field for each in recorded}, key=updated.index)),
            cells=sum(len(each.cells) for each in weights),
            faces=tuple((each.field, each.widths) for each in self.faces),
        )

    def on(self, problem: Problem) -> Problem:
        """Return a problem whose kernel knows of them."""
        return replace(problem, points=self.fields(problem))

    def within(self, span: Sequence[Span], receivers: tuple[Receivers, ...] = ()) -> "PointData":
        """Return the sources whose cells a part of the grid holds, with receivers of its own."""
        sources = tuple(replace(each, weights=each.weights.within(span)) for each in self.sources)
        return replace(self, sources=sources, receivers=receivers)

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


def read(weights: Weights, table: Array, threads: int) -> Array:
    """Return what :meth:`Weights.read` does, in C where there is much to read: the same bits as NumPy's."""
    many = weights.weight.size * table.shape[1] >= _MANY and weights.weight.dtype == np.float64
    function = if_compiled(sums_source, table.dtype.name) if many and table.dtype.name in _COMPILED else None
    if function is None:
        return weights.read(table)
    rows, first = packed(table), packed(weights.constant, np.float64)
    result = np.empty((weights.points, rows.shape[1]))
    indices, numbers = addresses((weights.starts, weights.column)), addresses((weights.weight, first, result))
    function((rows,), (threads, rows.shape[1], weights.points), indices, numbers)
    return result


def updated_entries(problem: Problem, field: str, weights: Weights) -> npt.NDArray[np.bool_]:
    """Return which entries are of cells that a problem's statements update in a field."""
    updated = np.zeros(len(weights.cells), dtype=bool)
    for statement in problem.program.statements:
        if statement.field == field:
            updated |= inside(weights.cells, problem.shape, problem.update_box(statement))
    return updated[weights.column]


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
        self._traces, self._begin, self._threads = traces, begin, data.threads
        self._dtype, self._faces = problem.dtype, data.faces
        fields, grid, sources, span = problem.points, problem, data.sources, [(0, n) for n in problem.shape]
        if halo is not None:
            grid = halo.problem
            span = [(-low, n + high) for n, (low, high) in zip(problem.shape, halo.around, strict=True)]
            sources = data.within(span).sources
        receivers = [each.without_held(problem, look) for each in data.receivers]
        self.adding = [each.without_held(grid) for field in fields.sources for each in sources if each.field == field]
        self.recording = [each for field in fields.receivers for each in receivers if each.field == field]
        self._still = [each for each in receivers if each.field not in fields.receivers]
        self.most = max(1, MOST_BYTES // max(1, bytes_of(problem)))  # most steps of a call
        cells = [each.weights.cells for each in self.adding]
        cells += [renumbered(each.weights.cells, problem.shape, span) for each in self.recording]
        self._columns = sum(map(len, cells))
        self.arrays = [array for each in cells for array in row_table(each, grid.shape)]
        """Of every table where its rows' cells start, and their places."""
        self._pointers = addresses(self.arrays)
        self.numbers: list[Array] = []
        """Of every table the numbers of a call, those of sources first; shapes (cells, steps)."""
        self._memory, self._room = memory, 0
        self._kept: list[Array] = []

    def before(self, first: int, steps: int) -> tuple[list[int], tuple[int, ...]]:
        """Make the tables for ``steps`` steps (at most :attr:`most`) after ``first``; none if the kernel has none.

        Returns the addresses of their numbers, and that of the array of their cells.
        """
        if not self.arrays and not self._faces:
            return [], ()
        check_memory(steps * self._columns * np.dtype(self._dtype).itemsize)
        self.numbers = [each.added(first, steps, self._dtype) for each in self.adding]
        self.numbers += [
            room[: len(each.weights.cells) * steps].reshape(len(each.weights.cells), steps)
            for each, room in zip(self.recording, self._rooms(steps), strict=True)
        ]
        numbers = (*self.numbers, *(each.sums for each in self._faces))
        return [each.ctypes.data for each in numbers], (self._pointers.ctypes.data,)

    def _rooms(self, steps: int) -> list[Array]:
        """Memory for what is recorded, from call to call: a page that is new costs more than a cell's value."""
        if steps > self._room:
            self._room, self._kept = steps, []
            lend, dtype = self._memory.lend_grid, self._dtype
            self._kept = [lend((len(each.weights.cells) * steps,), dtype) for each in self.recording]
        return self._kept

    def after(self, first: int, steps: int) -> None:
        """Write what receivers recorded in a call."""
        nothing = np.empty((0, steps), self._dtype)
        gathered = [*self.numbers[len(self.adding) :], *[nothing] * len(self._still)]
        for receivers, values in zip((*self.recording, *self._still), gathered, strict=True):
            self._write(receivers, values, first)

    def added(self, first: int) -> dict[str, tuple[tuple[Index, ...], Array]]:
        """Return what is added in one step, for NumPy: by field the indices of cells, and a number for each."""
        return {each.field: (each.weights.places, each.added(first, 1, self._dtype)[:, 0]) for each in self.adding}

    def record(self, look: Look, first: int) -> None:
        """Write what receivers record in one step, from what the newest versions are at some cells."""
        for each in (*self.recording, *self._still):
            self._write(each, look(each.field, each.weights.cells)[:, np.newaxis], first)
        for face in self._faces:
            face.add(look)

    def _write(self, receivers: Receivers, gathered: Array, first: int) -> None:
        if self._traces is not None:
            trace = self._traces[receivers.field]
            receivers.write(gathered, first, trace, begin=self._begin, threads=self._threads)


def row_table(cells: Index, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return where each row's cells, ascending in row-major order, start, and each cell's place along its row.

    >>> starts, places = row_table(np.array([1, 6, 7]), (2, 4))
    >>> starts.tolist(), places.tolist()
    ([0, 1, 3], [1, 2, 3])
    """
    length = shape[-1] if len(shape) > 1 else PIECE
    count = math.prod(shape[:-1]) if len(shape) > 1 else ceil_div(shape[0], PIECE)
    starts = np.searchsorted(cells, np.arange(count + 1, dtype=np.int64) * length).astype(np.int64)
    return starts, np.ascontiguousarray(cells % shape[-1], dtype=np.int64)
