"""One pass over a grid on disk as a sweep: rows stream through memory, and no cell is read or computed twice.

A sweep computes tiles that lean through time (:class:`tilewright.schedules.family.Parts`): while its front is at a
row's first step, it ends as many rows behind as all steps of the pass lean. These rows are in memory, those to come are
read ahead, those that are done are written behind. All of the grid has its place in a range of addresses; memory is
taken by the rows that are there alone, and goes back to the system once they have been taken out.
"""

import functools
import heapq
import itertools
import mmap
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

import numpy as np

from tilewright import driver
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.time import copy_seconds, run_seconds
from tilewright.costs.transfers import Passes, candidates
from tilewright.distributed.compute import Computer
from tilewright.distributed.streams import Buffers, Levels, Rows, Transfers, streamed
from tilewright.distributed.windows import Range
from tilewright.machines.machine import Machine
from tilewright.planner import plans
from tilewright.programs.stencil.forms import wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.kernels import CpuKernel
from tilewright.runtime.memory import HUGE_PAGE, Array, Workspace, ask_for_huge_pages, copy_jobs, layout, spread
from tilewright.runtime.session import Inputs, Session
from tilewright.runtime.store.hosts import host
from tilewright.schedules import catalogue
from tilewright.schedules.code import CpuSchedule
from tilewright.schedules.family import Family, Parts
from tilewright.schedules.tiling import Tiling, as_tiling
from tilewright.tuning.choice import computed_form
from tilewright.tuning.ranking import evaluated
from tilewright.tuning.spaces import space
from tilewright.tuning.stencil import on_machine

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # on Linux, that a range of addresses may be larger than memory
_MOST_TRIED = 4096  # tilings, the fastest first, of which one has to fit into memory
_MOST_FITTING = 8  # of these, tilings that fit and are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a sweep does before the next tiles."""

    put: tuple[Range, ...]  # ranges of rows that are put in, each no more than a turn's
    parts: Range  # that are computed
    finish: tuple[Range, ...]  # ranges of rows that are taken out


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How a grid on disk is swept."""

    passes: Passes  # their ``rows`` are those that are in memory at most
    tiling: Tiling  # complete
    parts: int  # computed at a time, as many as give each thread a tile at least


def applies(problem: Problem, computer: Computer) -> bool:
    """Whether a problem can be swept: compiled, of two versions at most, without anything that ties far cells."""
    return (
        not problem.regions
        and not problem.points
        and available()
        and computer.target.backend == "c"
        and problem.program.rank > 1
        and problem.steps > 1
        and not wrapped_axes(problem)
        and max(problem.program.analysis.copies) <= 2
        and computed_form(problem, host()) is problem  # tiles keep the versions of the problem's own fields
        and bool(_families(problem, computer))
    )


def _families(problem: Problem, computer: Computer) -> tuple[Family, ...]:
    tiling = as_tiling(computer.tiling)
    named = space.families(problem, cpu=True) if tiling is None else (tiling.family,)
    return tuple(each for each in named if each.sweeps)


def plan(problem: Problem, memory: int, machine: Machine, computer: Computer, steps: int | None = None) -> Swept | None:
    """Choose the tiles and steps of a pass of the least expected time; None where no sweep is possible or fits."""
    if not applies(problem, computer):
        return None
    case, extent = streamed(problem, machine), problem.shape[0]
    ranked: dict[int, Iterator[tuple[float, float, Tiling]]] = {}

    def ascending(count: int) -> Iterator[tuple[float, Tiling]]:
        """Yield the seconds that a pass of so many steps takes, copies included, with a tiling, the fastest first."""
        like = 1 << (count.bit_length() - 1)  # a few predictions stand for all: the time per step hardly changes
        tilings = ranked.get(like) or _tilings(replace(problem, steps=like), machine, computer)
        ranked[like], again = itertools.tee(tilings)
        for seconds, copied, tiling in itertools.islice(again, _MOST_TRIED):
            yield seconds * count / like + copied, tiling

    best: Swept | None = None
    for count in [steps] if steps else sorted(candidates(problem.steps, 1), reverse=True):
        expected = functools.partial(case.passes, steps=count)
        if best is not None and expected(0.0, rows=0, slabs=extent).seconds >= best.passes.seconds:
            break
        part, fitting = replace(problem, steps=count), 0
        for seconds, tiling in ascending(count):
            least = expected(seconds, rows=0, slabs=extent).seconds
            if fitting == _MOST_FITTING or (best is not None and least >= best.passes.seconds):
                break
            cut = catalogue.sweep(part, tiling)
            if cut is None:
                continue
            parts = computer.threads
            if taken(part, cut, parts) > memory:
                continue
            fitting += 1
            passes = expected(seconds, rows=_rows(part, cut, parts), slabs=ceil_div(cut.count, parts))
            if best is None or passes.seconds < best.passes.seconds:
                best = Swept(passes=passes, tiling=tiling, parts=parts)
    return best


def _tilings(problem: Problem, machine: Machine, computer: Computer) -> Iterator[tuple[float, float, Tiling]]:
    """Yield what the models expect of computing and of copies by tilings that may sweep, the fastest first."""
    workload = on_machine(problem, machine)
    setting, copied, request = workload.setting, copy_seconds(workload.setting), as_tiling(computer.tiling)
    if request is not None:
        tiling, costs = workload.costs(catalogue.complete(problem, request))
        yield float(costs.seconds), copied, tiling
        return

    def ascending(family: Family) -> Iterator[tuple[float, float, Tiling]]:
        sizes, costs = evaluated(setting, family, "exact")
        every = run_seconds(family, costs.seconds, setting, copies=False)
        for index in np.argsort(every, kind="stable").tolist():
            if not np.isfinite(every[index]):
                return
            yield float(every[index]), copied, catalogue.complete(problem, space.tiling_at(family, sizes, index))

    yield from heapq.merge(*map(ascending, _families(problem, computer)), key=itemgetter(0))


def taken(problem: Problem, cut: Parts, parts: int) -> int:
    """Return the bytes of memory that a sweep takes, ``parts`` of it at a time."""
    size = sweep_bytes(problem, problem.program.analysis.copies, _rows(problem, cut, parts))
    return size + Buffers.bytes(problem, _turn(problem, cut, parts)) + HUGE_PAGE


def _turn(problem: Problem, cut: Parts, parts: int) -> int:
    """Rows that are put in, and taken out, at a time at most."""
    return min(problem.shape[0], parts * cut.pitch)


def _rows(problem: Problem, cut: Parts, parts: int) -> int:
    """Rows that are in memory at most: from where a stage's first part has not been to where its last one ends."""
    return min(problem.shape[0], cut.begins(parts) - cut.ends(0))


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


def stages(problem: Problem, cut: Parts, parts: int) -> Iterator[Stage]:
    """Cut a sweep into stages of ``parts`` parts each."""
    extent, turn = problem.shape[0], _turn(problem, cut, parts)
    front = rear = 0
    for begin in range(0, cut.count, parts):
        end = min(cut.count, begin + parts)
        rear_next, need = min(extent, cut.ends(end)), min(extent, cut.begins(end))
        if end == cut.count:
            rear_next = need = extent
        yield Stage(put=_ranges(front, need, turn), parts=(begin, end), finish=_ranges(rear, rear_next, turn))
        front, rear = max(front, need), max(rear, rear_next)


def _ranges(low: int, high: int, most: int) -> tuple[Range, ...]:
    return tuple((first, min(high, first + most)) for first in range(low, high, most))


def _cut(problem: Problem, tiling: Tiling) -> Parts:
    cut = catalogue.sweep(problem, tiling)
    assert cut is not None  # noqa: S101  (the plan has found that it sweeps)
    return cut


class _Addresses(Workspace):
    """A range of addresses without memory."""

    def take(self, size: int) -> Array:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        self.pages = mmap.mmap(-1, size + HUGE_PAGE, flags=flags)
        ask_for_huge_pages(self.pages)
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

    def put(self, low: int, levels: Rows) -> None:
        """Put some rows in, from the row ``low`` on."""
        high = low + len(next(iter(levels.values()))[0])
        pairs = []
        for field, age, part, source in self._static.copies_in:
            versions = levels[field]
            values, target = versions[min(source, len(versions) - 1)], self._slot(field, age)
            first, last = (low, high) if part is None else (max(low, part[0].start), min(high, part[0].stop))
            if first < last:
                inner = () if part is None else part[1:]
                pairs.append((target[(slice(first, last), *inner)], values[(slice(first - low, last - low), *inner)]))
        self._share(pairs)

    def advance_parts(self, begin: int, end: int) -> None:
        """Advance some parts of the sweep by all steps of the problem."""
        self._call(self.problem.steps, (begin, end))
        self._version = 0

    def finish(self, low: int, high: int, levels: Rows) -> None:
        """Copy some rows out that no part needs any more, and forget those before them as well."""
        self._version = self.problem.steps % 2
        pairs = [
            (target, self._slot(field, age)[low:high])
            for field, each in levels.items()
            for age, target in enumerate(each)
        ]
        self._version = 0
        self._share(pairs)
        row = self._layout.strides[0] * self._layout.itemsize
        for offset, each, copies in zip(self._offsets, self._static.layouts, self._compiled.layout.copies, strict=True):
            for version in range(copies):
                start = offset + version * each.slot * each.itemsize
                ends = ((start + rows * row) // HUGE_PAGE * HUGE_PAGE for rows in (self._gone, high))
                self._place.forget(*(max(round_up(start, HUGE_PAGE), end) for end in ends))
        self._gone = high

    def _share(self, pairs: Sequence[tuple[Array, Array]]) -> None:
        spread([job for pair in pairs for job in copy_jobs(*pair, self._threads)], self._threads)


class Sweeper:
    """Makes the passes of a run."""

    def __init__(self, problem: Problem, swept: Swept, computer: Computer) -> None:
        self._problem, self._swept, self._computer = problem, swept, computer
        plan = plans(problem, computer.target, swept.tiling, strict=computer.strict)[0]
        assert isinstance(plan.schedule, CpuSchedule)  # noqa: S101  (a sweep is made for a processor)
        self._kernel = driver.make(replace(plan, schedule=replace(plan.schedule, swept=True)))
        cut = _cut(replace(problem, steps=swept.passes.steps), swept.tiling)
        self._buffers = Buffers(problem, _turn(problem, cut, swept.parts))

    def stream(self, steps: int, source: Levels, target: Levels, start: int) -> None:
        """Make one pass, after ``start`` steps."""
        assert isinstance(self._kernel, CpuKernel)  # noqa: S101  (a sweep is made for a processor)
        problem, computer = replace(self._problem, steps=steps), self._computer
        inputs = Inputs(arrays={}, scalars=computer.scalars, first=start)
        state = Sweep(self._kernel.compiled, problem, inputs, computer.threads)
        every = list(stages(problem, _cut(problem, self._swept.tiling), self._swept.parts))
        coming = [each for stage in every for each in stage.put]
        with Transfers(coming, problem.shape[0], source, target, self._buffers) as files:
            for stage in every:
                for low, _ in stage.put:
                    state.put(low, files.arrived())
                    files.read_ahead()
                state.advance_parts(*stage.parts)
                for low, high in stage.finish:
                    files.write_behind()
                    levels = files.results((low, high))
                    state.finish(low, high, levels)
                    files.write(low, levels)
        state.close()
