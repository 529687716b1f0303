"""One pass over a grid on disk as a sweep: rows stream through memory, and no cell is read or computed twice.

A sweep computes tiles that lean through time (:class:`tilewright.schedules.family.Parts`): while its front is at a
row's first step, it ends as many rows behind as all steps of the pass lean. These rows are in memory, those to come are
read ahead, those that are done are written behind.
"""

import functools
import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from tilewright import driver
from tilewright.base.intmath import ceil_div
from tilewright.costs.time import copy_seconds, run_seconds
from tilewright.costs.transfers import Passes, candidates
from tilewright.distributed.compute import Computer
from tilewright.distributed.streams import Buffers, Levels, Transfers, streamed
from tilewright.distributed.windows import Range
from tilewright.machines.machine import Machine
from tilewright.planner import plans
from tilewright.programs.stencil.periodic import wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime import sweep as runtime
from tilewright.runtime.kernels import CpuKernel
from tilewright.runtime.memory import HUGE_PAGE
from tilewright.runtime.session import Inputs
from tilewright.schedules import catalogue
from tilewright.schedules.code import CpuSchedule
from tilewright.schedules.family import Family, Parts
from tilewright.schedules.tiling import Tiling, as_tiling
from tilewright.tuning.ranking import evaluated
from tilewright.tuning.spaces import space
from tilewright.tuning.stencil import on_machine

_MOST_TRIED = 4096
"""Tilings, the fastest first, of which one has to fit into memory."""
_MOST_FITTING = 8
"""Of these, tilings that fit and are compared."""


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
        and runtime.available()
        and computer.target.backend == "c"
        and problem.program.rank > 1
        and problem.steps > 1
        and not wrapped_axes(problem)
        and max(problem.program.analysis.copies) <= 2
        and bool(_families(problem, computer))
    )


def _families(problem: Problem, computer: Computer) -> tuple[Family, ...]:
    """Families that may sweep over a problem."""
    asked = as_tiling(computer.tiling)
    named = space.families(problem, cpu=True) if asked is None else (asked.family,)
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
        known = ranked.get(like) or _tilings(replace(problem, steps=like), machine, computer)
        ranked[like], again = itertools.tee(known)
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
    setting, copied, asked = workload.setting, copy_seconds(workload.setting), as_tiling(computer.tiling)
    if asked is not None:
        tiling, costs = workload.costs(catalogue.complete(problem, asked))
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
    held = runtime.sweep_bytes(problem, problem.program.analysis.copies, _rows(problem, cut, parts))
    return held + Buffers.bytes(problem, _turn(problem, cut, parts)) + HUGE_PAGE


def _turn(problem: Problem, cut: Parts, parts: int) -> int:
    """Rows that are put in, and taken out, at a time at most."""
    return min(problem.shape[0], parts * cut.pitch)


def _rows(problem: Problem, cut: Parts, parts: int) -> int:
    """Rows that are in memory at most: from where a stage's first part has not been to where its last one ends."""
    return min(problem.shape[0], cut.begins(parts) - cut.ends(0))


def stages(problem: Problem, cut: Parts, parts: int) -> Iterator[Stage]:
    """Cut a sweep into stages of ``parts`` parts each."""
    extent, turn = problem.shape[0], _turn(problem, cut, parts)
    there = gone = 0
    for begin in range(0, cut.count, parts):
        end = min(cut.count, begin + parts)
        gone_next, need = min(extent, cut.ends(end)), min(extent, cut.begins(end))
        if end == cut.count:
            gone_next = need = extent
        yield Stage(put=_ranges(there, need, turn), parts=(begin, end), finish=_ranges(gone, gone_next, turn))
        there, gone = max(there, need), max(gone, gone_next)


def _ranges(low: int, high: int, most: int) -> tuple[Range, ...]:
    return tuple((first, min(high, first + most)) for first in range(low, high, most))


def _cut(problem: Problem, tiling: Tiling) -> Parts:
    cut = catalogue.sweep(problem, tiling)
    assert cut is not None  # noqa: S101  (the plan has found that it sweeps)
    return cut


class Sweeper:
    """Makes the passes of a run."""

    def __init__(self, problem: Problem, swept: Swept, computer: Computer) -> None:
        """Compile the kernel and take memory for rows under way."""
        self._problem, self._swept, self._computer = problem, swept, computer
        plan = plans(problem, computer.target, swept.tiling, strict=computer.strict)[0]
        assert isinstance(plan.schedule, CpuSchedule)  # noqa: S101  (a sweep is made for a processor)
        self._kernel = driver.make(replace(plan, schedule=replace(plan.schedule, swept=True)))
        cut = _cut(replace(problem, steps=swept.passes.steps), swept.tiling)
        self._buffers = Buffers(problem, _turn(problem, cut, swept.parts))

    def stream(self, steps: int, source: Levels, target: Levels, done: int) -> None:
        """Make one pass, after ``done`` steps."""
        assert isinstance(self._kernel, CpuKernel)  # noqa: S101  (a sweep is made for a processor)
        problem, computer = replace(self._problem, steps=steps), self._computer
        inputs = Inputs(arrays={}, scalars=computer.scalars, first=done)
        state = runtime.Sweep(self._kernel.compiled, problem, inputs, computer.threads)
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
