"""Dask arrays: a run becomes tasks on chunks that overlap by what t steps reach; nothing is computed at once.

It is what ``dask.array.map_overlap(depth=reach * t)`` does, with several fields and levels in one task and the grid's
own boundaries in the chunks at its ends. Dask's scheduler runs the chunks; a chunk is computed by one thread.
"""

import functools
import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.units import format_shape
from tilewright.costs.transfers import Exchange, Link, exchanges
from tilewright.distributed.compute import Computer, expected_seconds, share
from tilewright.distributed.windows import check_cut, depths, part, window
from tilewright.driver import prepare
from tilewright.machines.machine import Machine
from tilewright.plan import Target
from tilewright.programs.stencil.forms import wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.kernels import Kernel
from tilewright.runtime.memory import Array
from tilewright.runtime.points import PointData
from tilewright.schedules.tiling import Tiling

LOGGER = logging.getLogger("tilewright")
_TASK_SECONDS = 1e-3
"""What a chunk and its halo cost the scheduler: "each task takes about 1 ms", says Dask's list of best practices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a chunk needs to be computed, besides its values."""

    problem: Problem  # what is computed on the whole grid, for the steps of this task
    computer: Computer
    bounds: tuple[tuple[int, ...], ...]  # per axis, where chunks start in the grid, and where the last one ends
    lead: tuple[int, ...]  # per axis, cells by which chunks are extended before their windows begin
    done: int  # steps of earlier tasks
    points: PointData | None = None  # sources


def run(
    problem: Problem,
    arrays: Mapping[str, Sequence[Any]],  # Dask's, newest first; missing older levels are those of the oldest given
    chunks: tuple[tuple[int, ...], ...],  # sizes per axis; thinner ones than one step reaches are joined
    machine: Machine,  # for the choice of t
    computer: Computer,
    points: PointData | None = None,
) -> dict[str, tuple[Any, ...]]:
    """Describe a run as tasks; returns per updated field the Dask arrays of every level that a next run needs."""
    import dask.array as da

    chunks = _chunks(problem, chunks)
    cut = tuple(axis for axis, sizes in enumerate(chunks) if len(sizes) > 1)
    check_cut(problem, cut)
    steps = _steps(problem, chunks, machine, computer)
    LOGGER.info(
        "%s %s, %d steps, %s on a Dask array of %s chunks: tasks of %d steps",
        problem.program.name, format_shape(problem.shape), problem.steps, problem.dtype,
        format_shape(tuple(map(len, chunks))), steps,
    )  # fmt: skip
    program = problem.program
    state = {
        name: [
            arrays[name][min(age, len(arrays[name]) - 1)].rechunk(chunks).astype(problem.dtype)
            for age in range(program.history(name))
        ]
        for name in program.fields
    }
    wrapped = set(wrapped_axes(problem))
    names = [(name, age) for name in program.updated for age in range(program.history(name))]
    kind = {axis: "periodic" if axis in wrapped else "none" for axis in cut}
    # No step at all, too, gives the cells that a fixed boundary holds one value on every level.
    for start in range(0, max(1, problem.steps), steps):
        now = min(steps, problem.steps - start)
        pairs = depths(problem, max(1, now))
        around = {axis: max(pairs[axis]) if axis in wrapped else pairs[axis] for axis in cut}  # Dask wraps as far
        extended = [
            da.overlap.overlap(each, around, kind) if cut else each for levels in state.values() for each in levels
        ]
        task = Task(
            problem=replace(problem, steps=now),
            computer=replace(computer, threads=1, make=_kernel),
            bounds=tuple(tuple(itertools.accumulate(sizes, initial=0)) for sizes in chunks),
            lead=tuple(max(pair) - pair[0] if kind.get(axis) == "periodic" else 0 for axis, pair in enumerate(pairs)),
            done=start,
            points=points,
        )
        result = da.map_blocks(
            _advance,
            *extended,
            dtype=problem.dtype,
            chunks=((len(names),), *chunks),
            new_axis=0,
            task=task,
            meta=np.empty((0,) * (1 + len(problem.shape)), problem.dtype),
        )
        for number, (name, age) in enumerate(names):
            state[name][age] = result[number]
    return {name: tuple(state[name]) for name in program.updated}


def _chunks(problem: Problem, chunks: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Join chunks that are thinner than one step reaches."""
    from dask.array.overlap import ensure_minimum_chunksize

    joined = []
    for sizes, pair in zip(chunks, depths(problem, 1), strict=True):
        joined.append(sizes if len(sizes) == 1 else ensure_minimum_chunksize(max(1, *pair), sizes))
    return tuple(joined)


def _steps(problem: Problem, chunks: tuple[tuple[int, ...], ...], machine: Machine, computer: Computer) -> int:
    """Choose the steps of a task: tasks and copies of chunks are to them what messages are to ranks."""
    cut = [len(sizes) > 1 for sizes in chunks]
    largest = tuple(max(sizes) for sizes in chunks)
    fitting = 1
    for count in itertools.takewhile(lambda each: each <= problem.steps, itertools.count(1)):
        pairs = zip(depths(problem, count), chunks, cut, strict=True)
        if not all(max(pair) <= min(sizes) for pair, sizes, is_cut in pairs if is_cut):
            break
        fitting = count
    if not any(cut):
        return max(1, problem.steps)

    def counted(count: int) -> tuple[Exchange, tuple[int, ...]]:
        pairs = zip(largest, depths(problem, count), cut, strict=True)
        window = tuple(size + sum(pair) * is_cut for size, pair, is_cut in pairs)
        return Exchange(messages=1, cells=int(np.prod(window, dtype=np.int64)), window=window), largest

    node = share(machine, 1)

    def seconds(shape: tuple[int, ...], count: int) -> float:
        return expected_seconds(part(problem, shape, count, [(True, True)] * len(shape)), node, computer.target.backend)

    levels = problem.itemsize * sum(map(problem.program.history, problem.program.fields))
    # Dask copies a chunk when it is extended, and once more when parts are joined.
    copies = Link(latency=_TASK_SECONDS, bandwidth=node.dram_bandwidth.value / 4)
    best = exchanges(fitting, levels, copies, counted, seconds)
    return min(fitting, best.steps)


def _advance(*blocks: Array, task: Task, block_info: Mapping[int, Mapping[str, Any]] | None = None) -> Array:
    assert block_info is not None  # noqa: S101  (Dask gives it to whoever has the argument)
    locations = zip(task.bounds, block_info[0]["chunk-location"], strict=True)
    box = tuple((bounds[place], bounds[place + 1]) for bounds, place in locations)
    own = window(task.problem, box, max(1, task.problem.steps))
    problem, program = replace(own.problem, steps=task.problem.steps), task.problem.program
    cells = tuple(slice(lead, lead + extent) for lead, extent in zip(task.lead, problem.shape, strict=True))
    source = iter(blocks)
    arrays = {name: [np.asarray(next(source))[cells] for _ in range(program.history(name))] for name in program.fields}
    levels = [(name, range(program.history(name))) for name in program.updated]
    results = {name: [np.empty(problem.shape, problem.dtype) for _ in ages] for name, ages in levels}
    points = None if task.points is None else task.points.within(own.span)
    replace(task.computer).run(problem, arrays, results, task.done, points)  # one of its own: tasks run side by side
    return np.stack([each[own.inner] for grids in results.values() for each in grids])


@functools.lru_cache(maxsize=64)
def _kernel(
    problem: Problem, target: Target, tiling: Tiling | str | None, *, strict: bool, copies: bool = True
) -> Kernel:
    return prepare(problem, target, tiling, strict=strict, copies=copies)
