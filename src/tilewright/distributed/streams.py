"""Rows of a grid on disk under way through memory: read ahead and written behind, by a thread each."""

import ctypes
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from tilewright.costs.transfers import Streamed
from tilewright.distributed import disk
from tilewright.distributed.disk import Array, RowArray
from tilewright.distributed.windows import Range, pieces
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.memory import allocate

Levels = Mapping[str, Sequence[RowArray]]
"""By field its levels on disk, newest first; missing older ones of what is read are those of the oldest given."""
Rows = dict[str, list[Array]]  # by field some rows of its levels, newest first


def streamed(problem: Problem, machine: Machine) -> Streamed:
    """Return what passes over a problem's grid on disk move."""
    row = problem.cells // problem.shape[0] * problem.itemsize
    read, written = (
        row * sum(map(problem.program.history, fields)) for fields in (problem.program.fields, problem.program.updated)
    )
    bandwidths = machine.disk_read_bandwidth.value, machine.disk_write_bandwidth.value
    steps = max(1, problem.steps)
    return Streamed(extent=problem.shape[0], steps=steps, read_bytes=read, write_bytes=written, bandwidths=bandwidths)


class Buffers:
    """Memory for rows that are read and rows that are written, each level where it suits its file."""

    def __init__(self, problem: Problem, rows: int, places: int = 1) -> None:
        """Take it for so many rows of each kind, once where rows are copied to be computed, else twice (``places``)."""
        self._inner, self._dtype, self.places = problem.shape[1:], problem.dtype, places
        count, size = self._levels(problem, rows, places)
        # One piece: each of its own would be rounded up to whole huge pages.
        parts = iter(allocate(count * size).reshape(count, size))
        program = problem.program
        self._read, self._written = (
            [{field: [next(parts) for _ in range(program.history(field))] for field in fields} for _ in range(places)]
            for fields in (program.fields, program.updated)
        )

    @staticmethod
    def _levels(problem: Problem, rows: int, places: int) -> tuple[int, int]:
        program, size = problem.program, rows * math.prod(problem.shape[1:]) * problem.itemsize
        return places * sum(map(program.history, (*program.fields, *program.updated))), disk.buffer_bytes(size)

    @classmethod
    def bytes(cls, problem: Problem, rows: int, places: int = 1) -> int:
        """Return what it takes."""
        return math.prod(cls._levels(problem, rows, places))

    def read(self, number: int, rows: Range, source: Levels) -> Rows:
        """Return where some rows are read into, the ``number``-th to be read."""
        views = self._cut(self._read[number % self.places], rows, source)
        return {
            field: [*levels, *levels[-1:] * (len(self._read[0][field]) - len(levels))]
            for field, levels in views.items()
        }

    def written(self, number: int, rows: Range, target: Levels) -> Rows:
        """Return from where some rows are written, the ``number``-th to be."""
        return self._cut(self._written[number % self.places], rows, target)

    def _cut(self, memory: Mapping[str, Sequence[Array]], rows: Range, files: Levels) -> Rows:
        low, high = rows
        shape = (high - low, *self._inner)
        return {
            field: [
                disk.placed(a, file, low, shape, self._dtype) for a, file in zip(levels, files[field], strict=False)
            ]
            for field, levels in memory.items()
        }


class Transfers:
    """One pass over a grid on disk, within which both threads run."""

    def __init__(
        self,
        coming: Sequence[Range],  # rows to be read, in turn; on a grid that wraps they may begin below 0
        extent: int,  # rows of the grid
        source: Levels,
        target: Levels,  # of every updated field as many as are wanted
        buffers: Buffers,
    ) -> None:
        self._coming, self._extent, self._buffers = coming, extent, buffers
        self._source, self._target = source, target
        self._ahead: list[Future[Rows]] = []
        self._behind: list[Future[None]] = []
        self._held: Rows = {}

    def __enter__(self) -> Self:
        self._reader, self._writer = disk.thread(), disk.thread()
        self.read_ahead()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._reader.shutdown()
        self._writer.shutdown()
        for future in self._behind if kind is None else ():
            future.result()

    def read_ahead(self) -> None:
        """Read the next rows, if there are any."""
        if len(self._ahead) < len(self._coming):
            self._ahead.append(self._reader.submit(self._load, len(self._ahead)))

    def arrived(self) -> Rows:
        """Wait for the rows that were asked for last."""
        return self._ahead[-1].result()

    def write_behind(self) -> None:
        """Wait until there is a place for results."""
        if len(self._behind) >= self._buffers.places:
            self._behind[-self._buffers.places].result()

    def results(self, rows: Range) -> Rows:
        """Return where the next results are put, once there is a place."""
        return self._buffers.written(len(self._behind), rows, self._target)

    def write(self, low: int, results: Rows) -> None:
        """Write results from a row on."""
        self._behind.append(self._writer.submit(self._store, low, results))

    def _load(self, number: int) -> Rows:
        rows, before = self._coming[number], self._held
        self._held = self._buffers.read(number, rows, self._source)
        for field, levels in self._held.items():
            for age, (file, values) in enumerate(zip(self._source[field], levels, strict=False)):
                overlap = (self._coming[number - 1], before[field][age]) if number else None
                _read(file, rows, self._extent, values, overlap)
        return self._held

    def _store(self, low: int, results: Rows) -> None:
        for field, levels in results.items():
            for file, values in zip(self._target[field], levels, strict=True):
                file.write(low, values)


def _read(file: RowArray, rows: Range, extent: int, target: Array, before: tuple[Range, Array] | None) -> None:
    """Read some rows but those that memory holds from the rows before them."""
    first = rows[0]
    if before is not None and before[0][0] <= first < before[0][1]:
        shared = min(before[0][1], rows[1]) - first
        at = first - before[0][0]
        overlap = before[1][at : at + shared]
        # The same memory perhaps, at another place: NumPy would copy the rows to a third one.
        ctypes.memmove(target.ctypes.data, overlap.ctypes.data, overlap.nbytes)
        first += shared
    for (low, high), at in pieces((first, rows[1]), extent):
        start = first - rows[0] + at
        file.read(low, high, target[start : start + high - low])
