"""Grids larger than memory: rows are put in, swept through all steps a few tiles at a time, and taken out again.

A sweep computes parts of a grid that lean through time (:class:`tilewright.schedules.family.Parts`), each for all steps
as soon as its rows are there, so that nothing is computed twice, and only the rows between the first and the
last step are needed at once. All of the grid has its place in a range of addresses; memory is taken by the rows that
are there alone, and goes back to the system once they have been taken out.
"""

import mmap
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from tilewright.base.intmath import round_up
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.memory import HUGE_PAGE, Array, Workspace, copy_jobs, layout, spread
from tilewright.runtime.session import Inputs, Session

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
"""On Linux, that a range of addresses may be larger than memory."""
Levels = Mapping[str, Sequence[Array]]


def available() -> bool:
    """Whether the system has ranges of addresses whose memory comes and goes, larger than memory."""
    if sys.platform != "linux" or not hasattr(mmap, "MADV_DONTNEED"):
        return False
    with suppress(OSError):
        return Path("/proc/sys/vm/overcommit_memory").read_text(encoding="ascii").strip() != "2"
    return True


def sweep_bytes(problem: Problem, copies: Sequence[int], rows: int) -> int:
    """Return the most bytes that a sweep takes while so many rows of all versions (``copies``, by field) are there."""
    plan = layout(problem.shape, problem.itemsize)
    # Rows begin and end somewhere in a huge page, and the first one, which a version shares with another, stays.
    size = min(rows, problem.shape[0]) * plan.strides[0] * plan.itemsize
    return sum(copies) * (round_up(size, HUGE_PAGE) + 2 * HUGE_PAGE)


class _Addresses(Workspace):
    """A range of addresses without memory."""

    def take(self, size: int) -> Array:
        """Return bytes at the start of a huge page, all 0."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        self.pages = mmap.mmap(-1, size + HUGE_PAGE, flags=flags)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):
                self.pages.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(self.pages, dtype=np.uint8)
        self.start = -raw.ctypes.data % HUGE_PAGE
        return raw[self.start : self.start + size]

    def give(self, buffer: Array) -> None:
        """Do nothing: the memory goes with the range."""

    def forget(self, low: int, high: int) -> None:
        """Give the memory of some bytes back to the system; the ends of the range are at huge pages."""
        if low < high:
            self.pages.madvise(mmap.MADV_DONTNEED, self.start + low, high - low)


class Sweep(Session):
    """A problem of which some rows are in memory, advanced by all steps, some parts at a time."""

    def __init__(self, compiled: CompiledKernel, problem: Problem, inputs: Inputs, threads: int) -> None:
        """Take addresses for the whole grid, for a kernel of two versions at most; :meth:`put` brings the arrays."""
        self._place = _Addresses()
        super().__init__(compiled, problem, inputs, threads, workspace=self._place)
        self._gone = 0

    def _check(self, size: int) -> None:
        """Do nothing: memory holds some rows only."""

    def _fill(self, inputs: Inputs) -> None:
        """Do nothing: rows are put in one after the other."""

    def put(self, low: int, levels: Levels) -> None:
        """Put some rows in, from the row ``low`` on."""
        high = low + len(next(iter(levels.values()))[0])
        pairs = []
        for field, age, part, source in self._static.copies_in:
            given = levels[field]
            values, target = given[min(source, len(given) - 1)], self._slot(field, age)
            first, last = (low, high) if part is None else (max(low, part[0].start), min(high, part[0].stop))
            if first < last:
                inner = () if part is None else part[1:]
                pairs.append((target[(slice(first, last), *inner)], values[(slice(first - low, last - low), *inner)]))
        self._share(pairs)

    def advance_parts(self, begin: int, end: int) -> None:
        """Advance some parts of the sweep by all steps of the problem."""
        self._call(self.problem.steps, (begin, end))
        self._version = 0

    def finish(self, low: int, high: int, levels: Levels) -> None:
        """Copy some rows out that no part needs any more, and forget those before them as well."""
        self._version = self.problem.steps % 2
        pairs = [
            (target, self._slot(field, age)[low:high])
            for field, each in levels.items()
            for age, target in enumerate(each)
        ]
        self._version = 0
        self._share(pairs)
        row = self._plan.strides[0] * self._plan.itemsize
        for offset, plan, copies in zip(self._offsets, self._static.plans, self._compiled.layout.copies, strict=True):
            for version in range(copies):
                start = offset + version * plan.slot * plan.itemsize
                ends = ((start + rows * row) // HUGE_PAGE * HUGE_PAGE for rows in (self._gone, high))
                self._place.forget(*(max(round_up(start, HUGE_PAGE), end) for end in ends))
        self._gone = high

    def _share(self, pairs: Sequence[tuple[Array, Array]]) -> None:
        spread([job for pair in pairs for job in copy_jobs(*pair, self._threads)], self._threads)
