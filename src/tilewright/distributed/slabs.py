"""One pass over a grid on disk: slabs stream through memory, many steps each.

Slabs are read ahead and written behind by a thread each, while the one between is computed.
"""

import ctypes
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from tilewright.base.errors import ArrayError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.base.units import format_over
from tilewright.costs.transfers.disk import Passes, Streamed, passes, sweep
from tilewright.distributed import disk
from tilewright.distributed.compute import Computer, Turns, copied_seconds, expected_seconds, session_bytes
from tilewright.distributed.disk import Array, RowArray
from tilewright.distributed.points import GridPoints, WindowPoints
from tilewright.distributed.windows import Window, depths, pieces, window
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.boundaries import FIXED
from tilewright.programs.stencil.periodic import extend, wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.memory import HUGE_PAGE, allocate

_BLOCK = 16
"""Steps of a block on a periodic grid that estimates of memory count with."""
_ROW_PADDING = 1.15
"""Memory of a field over its values: ends of rows and of versions."""

Levels = Mapping[str, Sequence[RowArray]]


def plan(  # noqa: PLR0913
    problem: Problem,
    memory: int,
    machine: Machine,
    computer: Computer,
    steps: int | None = None,  # per pass, if an earlier part of the run has decided
    points: GridPoints | None = None,
    *,
    within: float = math.inf,  # seconds; for a run that takes no less, no kernel is made and None is returned
) -> Passes | None:
    """Choose slabs and the steps of a pass by the model of :mod:`tilewright.costs.transfers.disk`."""
    wraps = 0 in wrapped_axes(problem)
    row = problem.cells // problem.shape[0] * problem.itemsize
    read, kept = (
        row * sum(map(problem.program.history, names)) for names in (problem.program.fields, problem.program.updated)
    )
    copied = computer.copies(problem)
    places, expected = (1, copied_seconds) if copied else (2, expected_seconds)
    case = Streamed(
        extent=problem.shape[0],
        steps=max(1, problem.steps),
        read_bytes=read,
        write_bytes=kept,
        held_bytes=places * (read + kept) + row * _session_rows(problem),
        memory=memory,
        # Levels are then where they were; else they are moved for a last step of its own.
        unit=max(map(problem.program.history, problem.program.updated)),
    )
    bandwidths = machine.disk_read_bandwidth.value, machine.disk_write_bandwidth.value
    once = sweep(case, bandwidths, case.steps, 0.0, rows=0, turns=1).disk_seconds
    known: dict[tuple[int, int], float] = {}

    def seconds(rows: int, count: int) -> float:
        if ceil_div(case.steps, count) * once >= within:
            return math.inf  # the disk alone takes as long
        like = 1 << (count.bit_length() - 1)  # a few predictions stand for all: the time per step hardly changes
        if (rows, like) not in known:
            part = replace(problem, shape=(rows, *problem.shape[1:]), steps=like)
            known[rows, like] = expected(part, machine, computer.target.backend)
        return known[rows, like] * count / like

    while True:
        chosen = passes(case, bandwidths, lambda count: depths(problem, count)[0], seconds, wraps=wraps, fixed=steps)
        if chosen is None:
            rows = min(problem.shape[0], sum(depths(problem, steps or min(case.steps, case.unit))[0]) + 1)
            least = rows * case.held_bytes + memory - case.memory
            wanted, there = format_over(math.ceil(least), memory)
            raise ArrayError(
                f"a slab of this run needs {wanted} of memory, and has {there}",
                "slabs are cut along the first axis: put the longest one there",
            )
        if chosen.seconds >= within:
            return None
        shapes = {each.problem.boundaries: each.problem for each in slabs(problem, chosen, chosen.steps)}
        last = problem.steps - chosen.steps * (chosen.count - 1)
        sessions = [
            session_bytes(computer.kernel(each, copies=not copied), replace(each, steps=count), computer.threads)
            for each in shapes.values()
            for count in {chosen.steps, last}
        ]
        needed = _taken(Buffers.bytes(problem, chosen.rows, places)) + max(map(_taken, sessions))
        needed += 0 if points is None else points.bytes(chosen.steps)
        if needed <= memory:
            return chosen
        # Some of it, as what every thread has, does not shrink with the rows.
        case = replace(case, memory=case.memory - max(needed - memory, memory // 100 + 1))


def _session_rows(problem: Problem) -> float:
    """Rows that a run in memory keeps per row of its window, by the program alone."""
    around = 1.0
    inner = replace(problem, boundaries=tuple(((FIXED, FIXED), *sides[1:]) for sides in problem.boundaries))
    extended = extend(inner, _BLOCK)
    if extended is not None:
        around = math.prod(extended.problem.shape[1:]) / math.prod(problem.shape[1:])
    return _ROW_PADDING * around * sum(problem.program.analysis.copies)


def _taken(size: int) -> int:
    """Return what an allocation takes, which for large ones is whole huge pages."""
    return size if size < HUGE_PAGE else round_up(size, HUGE_PAGE)


def slabs(problem: Problem, chosen: Passes, steps: int) -> list[Window]:
    """Cut a grid into slabs with windows of equally many rows, but perhaps the last, for at most ``chosen.steps``."""
    extent, found = problem.shape[0], []
    others = tuple((0, size) for size in problem.shape[1:])
    if chosen.rows >= extent:
        return [window(problem, ((0, extent), *others), steps)]
    below, above = depths(problem, chosen.steps)[0]
    wraps = 0 in wrapped_axes(problem)
    low = 0
    while low < extent:
        inner = chosen.rows - above - (below if wraps else min(low, below))
        high = extent if not wraps and low - min(low, below) + chosen.rows >= extent else min(extent, low + inner)
        each = window(problem, ((low, high), *others), chosen.steps)
        found.append(replace(each, problem=replace(each.problem, steps=steps)))
        low = high
    return found


class Buffers:
    """Memory for windows that are read and windows that are written, each level where it suits its file."""

    def __init__(self, problem: Problem, rows: int, places: int) -> None:
        """Take it for ``places`` windows of each kind: one where windows are copied to be computed, else two."""
        self._shape, self._dtype = (rows, *problem.shape[1:]), problem.dtype
        self.places = places
        count, size = self._levels(problem, rows, places)
        # One piece: each of its own would be rounded up to whole huge pages.
        parts = iter(allocate(count * size).reshape(count, size))

        def make(fields: Sequence[str]) -> dict[str, list[Array]]:
            return {field: [next(parts) for _ in range(problem.program.history(field))] for field in fields}

        self._read = [make(problem.program.fields) for _ in range(places)]
        self._written = [make(problem.program.updated) for _ in range(places)]

    @staticmethod
    def _levels(problem: Problem, rows: int, places: int) -> tuple[int, int]:
        program, size = problem.program, rows * math.prod(problem.shape[1:]) * problem.itemsize
        return places * sum(map(program.history, (*program.fields, *program.updated))), disk.buffer_bytes(size)

    @classmethod
    def bytes(cls, problem: Problem, rows: int, places: int) -> int:
        """Return what windows of so many rows take."""
        return math.prod(cls._levels(problem, rows, places))

    def read(self, number: int, each: Window, source: Levels) -> dict[str, list[Array]]:
        """Return where the levels of a window are read into."""
        return {
            field: self._cut(
                levels, each, [source[field][min(age, len(source[field]) - 1)] for age in range(len(levels))]
            )
            for field, levels in self._read[number % self.places].items()
        }

    def written(self, number: int, each: Window, target: Levels) -> dict[str, list[Array]]:
        """Return where those levels of a window are computed that are written."""
        return {
            field: self._cut(levels, each, target[field])
            for field, levels in self._written[number % self.places].items()
        }

    def _cut(self, levels: Sequence[Array], each: Window, files: Sequence[RowArray]) -> list[Array]:
        shape = (each.problem.shape[0], *self._shape[1:])
        low = each.span[0][0]
        return [disk.placed(a, rows, low, shape, self._dtype) for a, rows in zip(levels, files, strict=False)]


def stream(  # noqa: PLR0913
    windows: Sequence[Window],
    extent: int,  # rows of the grid
    source: Levels,  # newest first; missing older ones are those of the oldest given
    target: Levels,  # of every updated field as many as are wanted
    buffers: Buffers,
    computer: Computer,
    *,
    done: int = 0,  # steps of earlier passes
    points: GridPoints | None = None,
) -> None:
    """Make one pass: read, compute and write all slabs, three at a time."""
    table = {} if points is None else points.table(done, windows[0].problem.steps)
    with disk.thread() as reader, disk.thread() as writer:
        files = _Transfers(windows, extent, source, target, buffers, reader, writer)
        files.read_ahead()
        for number, each in enumerate(windows):
            arrays = files.ahead[number].result()
            turns = None
            if buffers.places == 1:
                turns = Turns(read=files.read_ahead, wait=files.write_behind, rows=each.inner[0])
            else:
                files.read_ahead()
                files.write_behind()
            results = buffers.written(number, each, target)
            own = None if points is None else points.window(each.span, each.box)
            computed(computer, each, arrays, results, done, own, table, turns)
            files.write(results)
        files.finish()
    if points is not None:
        points.finish(table, done)


class _Transfers:
    """Windows that are read ahead and written behind, each by a thread."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        windows: Sequence[Window],
        extent: int,
        source: Levels,
        target: Levels,
        buffers: Buffers,
        reader: ThreadPoolExecutor,
        writer: ThreadPoolExecutor,
    ) -> None:
        self.ahead: list[Future[dict[str, list[Array]]]] = []
        self._behind: list[Future[None]] = []
        self._windows, self._extent = windows, extent
        self._source, self._target, self._buffers = source, target, buffers
        self._reader, self._writer = reader, writer
        self._held: dict[str, list[Array]] = {}

    def read_ahead(self) -> None:
        """Read the next window, if there is one."""
        if len(self.ahead) < len(self._windows):
            self.ahead.append(self._reader.submit(self._load, len(self.ahead)))

    def write_behind(self) -> None:
        """Wait until there is a place for results."""
        if len(self._behind) >= self._buffers.places:
            self._behind[-self._buffers.places].result()

    def write(self, results: Mapping[str, Sequence[Array]]) -> None:
        """Write the results of the next window."""
        self._behind.append(self._writer.submit(self._store, self._windows[len(self._behind)], results))

    def finish(self) -> None:
        """Wait for all results."""
        for future in self._behind:
            future.result()

    def _load(self, number: int) -> dict[str, list[Array]]:
        each, before = self._windows[number], self._held
        self._held = self._buffers.read(number, each, self._source)
        for field, levels in self._held.items():
            rows = self._source[field]
            for age, values in enumerate(levels):
                known = (self._windows[number - 1].span[0], before[field][age]) if number else None
                _read(rows[min(age, len(rows) - 1)], each.span[0], self._extent, values, known)
        return self._held

    def _store(self, each: Window, results: Mapping[str, Sequence[Array]]) -> None:
        for field, levels in results.items():
            for rows, values in zip(self._target[field], levels, strict=True):
                rows.write(each.box[0][0], values[each.inner[0]])


def computed(  # noqa: PLR0913, PLR0917
    computer: Computer,
    each: Window,
    arrays: Mapping[str, Sequence[Array]],
    results: Mapping[str, Sequence[Array]],
    done: int,
    points: WindowPoints | None,
    table: Mapping[str, Array],
    turns: Turns | None = None,
) -> None:
    """Compute a window, and put what it records into a table of all windows, see :meth:`Computer.run`."""
    data = None if points is None else points.data
    recorded = computer.run(each.problem, arrays, results, done, data, turns=turns)
    if points is not None:
        points.put(recorded, table)


def _read(
    rows: RowArray, span: tuple[int, int], extent: int, target: Array, before: tuple[tuple[int, int], Array] | None
) -> None:
    """Read the rows of a window, those that the window before it holds from there."""
    first = span[0]
    if before is not None and before[0][0] <= first < before[0][1]:
        shared = min(before[0][1], span[1]) - first
        at = first - before[0][0]
        kept = before[1][at : at + shared]
        # The same memory perhaps, at another place: NumPy would copy the rows to a third one.
        ctypes.memmove(target.ctypes.data, kept.ctypes.data, kept.nbytes)
        first += shared
    for (low, high), at in pieces((first, span[1]), extent):
        start = first - span[0] + at
        rows.read(low, high, target[start : start + high - low])
