"""One pass over a grid on disk: slabs stream through memory, many steps each.

Slabs are read ahead and written behind by a thread each, while the one between is computed.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.base.intmath import round_up
from tilewright.base.units import format_bytes
from tilewright.costs.transfers.disk import Passes, Streamed, passes
from tilewright.distributed import disk
from tilewright.distributed.compute import Computer, expected_seconds, session_bytes
from tilewright.distributed.disk import Array, RowArray
from tilewright.distributed.points import GridPoints, WindowPoints
from tilewright.distributed.windows import Window, depths, pieces, window
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.boundaries import FIXED
from tilewright.programs.stencil.dependences import analyse
from tilewright.programs.stencil.periodic import extend, wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.memory import HUGE_PAGE, allocate

_BLOCK = 16
"""Steps of a block on a periodic grid that estimates of memory count with."""
_ROW_PADDING = 1.15
"""Memory of a field over its values: ends of rows and of versions."""

Levels = Mapping[str, Sequence[RowArray]]


def plan(
    problem: Problem,
    memory: int,
    machine: Machine,
    computer: Computer,
    steps: int | None = None,
    points: GridPoints | None = None,
) -> Passes:
    """Choose slabs and the steps of a pass by the model of :mod:`tilewright.costs.transfers.disk`.

    Args:
        problem: What is computed on the whole grid.
        memory: Bytes that the run may use.
        machine: The processor, and the disk's bandwidths.
        computer: What computes it.
        steps: Steps per pass that an earlier part of the run has decided.
        points: Sources and receivers, if any.

    Raises:
        ArrayError: If memory holds no slab of a single step.
    """
    wraps = 0 in wrapped_axes(problem)
    row = problem.cells // problem.shape[0] * problem.itemsize
    read, kept = (
        row * sum(map(problem.program.history, names)) for names in (problem.program.fields, problem.program.updated)
    )
    case = Streamed(
        extent=problem.shape[0],
        steps=max(1, problem.steps),
        read_bytes=read,
        write_bytes=kept,
        held_bytes=2 * read + 2 * kept + row * _session_rows(problem),
        memory=memory,
    )
    known: dict[tuple[int, int], float] = {}

    def seconds(rows: int, count: int) -> float:
        like = 1 << (count.bit_length() - 1)  # a few predictions stand for all: the time per step hardly changes
        if (rows, like) not in known:
            part = replace(problem, shape=(rows, *problem.shape[1:]), steps=like)
            known[rows, like] = expected_seconds(part, machine, computer.target.backend)
        return known[rows, like] * count / like

    bandwidths = machine.disk_read_bandwidth.value, machine.disk_write_bandwidth.value
    while True:
        chosen = passes(case, bandwidths, lambda count: depths(problem, count)[0], seconds, wraps=wraps, fixed=steps)
        if chosen is None:
            rows = min(problem.shape[0], sum(depths(problem, steps or 1)[0]) + 1)
            least = rows * case.held_bytes + memory - case.memory
            raise ArrayError(
                f"a slab of this run needs {format_bytes(least)} of memory, and has {format_bytes(memory)}",
                "slabs are cut along the first axis: put the longest one there",
            )
        shapes = {each.problem.boundaries: each.problem for each in slabs(problem, chosen, chosen.steps)}
        sessions = [session_bytes(computer.kernel(each), each, computer.threads) for each in shapes.values()]
        needed = _taken(Buffers.bytes(problem, chosen.rows)) + max(map(_taken, sessions))
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
    return _ROW_PADDING * around * sum(analyse(problem.program).copies)


def _taken(size: int) -> int:
    """Return what an allocation takes, which for large ones is whole huge pages."""
    return size if size < HUGE_PAGE else round_up(size, HUGE_PAGE)


def slabs(problem: Problem, chosen: Passes, steps: int) -> list[Window]:
    """Cut a grid into slabs whose windows have equally many rows, but perhaps the last one.

    Args:
        problem: What is computed on the whole grid.
        chosen: Rows of a window, and the steps that it is large enough for.
        steps: Steps that it is to run, at most as many.
    """
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
    """Memory for two windows that are read and two that are written, each level where it suits its file."""

    def __init__(self, problem: Problem, rows: int) -> None:
        """Take it.

        Args:
            problem: What is computed on the whole grid.
            rows: Rows of a window.
        """
        self._shape, self._dtype = (rows, *problem.shape[1:]), problem.dtype
        count, size = self._levels(problem, rows)
        # One piece: each of its own would be rounded up to whole huge pages.
        parts = iter(allocate(count * size).reshape(count, size))

        def make(fields: Sequence[str]) -> dict[str, list[Array]]:
            return {field: [next(parts) for _ in range(problem.program.history(field))] for field in fields}

        self._read = [make(problem.program.fields) for _ in range(2)]
        self._written = [make(problem.program.updated) for _ in range(2)]

    @staticmethod
    def _levels(problem: Problem, rows: int) -> tuple[int, int]:
        program, size = problem.program, rows * math.prod(problem.shape[1:]) * problem.itemsize
        return 2 * sum(map(program.history, (*program.fields, *program.updated))), disk.buffer_bytes(size)

    @classmethod
    def bytes(cls, problem: Problem, rows: int) -> int:
        """Return what windows of so many rows take."""
        return math.prod(cls._levels(problem, rows))

    def read(self, number: int, each: Window, source: Levels) -> dict[str, list[Array]]:
        """Return where the levels of a window are read into, in turn one of two places."""
        return {
            field: self._cut(
                levels, each, [source[field][min(age, len(source[field]) - 1)] for age in range(len(levels))]
            )
            for field, levels in self._read[number % 2].items()
        }

    def written(self, number: int, each: Window, target: Levels) -> dict[str, list[Array]]:
        """Return where those levels of a window are computed that are written."""
        return {field: self._cut(levels, each, target[field]) for field, levels in self._written[number % 2].items()}

    def _cut(self, levels: Sequence[Array], each: Window, files: Sequence[RowArray]) -> list[Array]:
        shape = (each.problem.shape[0], *self._shape[1:])
        low = each.span[0][0]
        return [disk.placed(a, rows, low, shape, self._dtype) for a, rows in zip(levels, files, strict=False)]


def stream(  # noqa: PLR0913
    windows: Sequence[Window],
    extent: int,
    source: Levels,
    target: Levels,
    buffers: Buffers,
    computer: Computer,
    *,
    done: int = 0,
    points: GridPoints | None = None,
) -> None:
    """Make one pass: read, compute and write all slabs, three at a time.

    Args:
        windows: The slabs.
        extent: Rows of the grid.
        source: Per field its levels, newest first; missing older ones are those of the oldest given.
        target: Per updated field what its levels are written into, as many as are wanted.
        buffers: Memory.
        computer: What computes them.
        done: Steps of earlier passes.
        points: Sources and receivers, if any.
    """
    table = {} if points is None else points.table(done, windows[0].problem.steps)
    loaded: list[dict[str, list[Array]]] = []

    def load(number: int) -> dict[str, list[Array]]:
        before = (windows[number - 1].span[0], loaded[-1]) if number else None
        held = buffers.read(number, windows[number], source)
        for field, levels in held.items():
            for age, values in enumerate(levels):
                known = None if before is None else (before[0], before[1][field][age])
                rows = source[field]
                _read(rows[min(age, len(rows) - 1)], windows[number].span[0], extent, values, known)
        loaded[:] = [held]
        return held

    def store(number: int, results: Mapping[str, Sequence[Array]]) -> None:
        each = windows[number]
        for field, levels in results.items():
            for rows, values in zip(target[field], levels, strict=True):
                rows.write(each.box[0][0], values[each.inner[0]])

    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
        ahead = reader.submit(load, 0)
        behind: list[Future[None]] = []
        for number, each in enumerate(windows):
            arrays = ahead.result()
            if number + 1 < len(windows):
                ahead = reader.submit(load, number + 1)
            if number >= 2:
                behind[number - 2].result()
            results = buffers.written(number, each, target)
            own = None if points is None else points.window(each.span, each.box)
            computed(computer, each, arrays, results, done, own, table)
            behind.append(writer.submit(store, number, results))
        for future in behind:
            future.result()
    if points is not None:
        points.finish(table, done)


def computed(  # noqa: PLR0913, PLR0917
    computer: Computer,
    each: Window,
    arrays: Mapping[str, Sequence[Array]],
    results: Mapping[str, Sequence[Array]],
    done: int,
    points: WindowPoints | None,
    table: Mapping[str, Array],
) -> None:
    """Compute a window, and put what it records into a table of all windows, see :meth:`Computer.run`."""
    if points is None:
        computer.run(each.problem, arrays, results, done)
    else:
        points.put(computer.run(each.problem, arrays, results, done, points.data), table)


def _read(
    rows: RowArray, span: tuple[int, int], extent: int, target: Array, before: tuple[tuple[int, int], Array] | None
) -> None:
    """Read the rows of a window, those that the window before it holds from there."""
    first = span[0]
    if before is not None and before[0][0] <= first < before[0][1]:
        shared = min(before[0][1], span[1]) - first
        at = first - before[0][0]
        np.copyto(target[:shared], before[1][at : at + shared])
        first += shared
    for (low, high), at in pieces((first, span[1]), extent):
        start = first - span[0] + at
        rows.read(low, high, target[start : start + high - low])
