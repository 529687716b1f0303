"""Dask arrays: a run becomes tasks on chunks that overlap by what t steps reach; nothing is computed at once.

It is what ``dask.array.map_overlap(depth=reach * t)`` does, with several fields and levels in one task and the grid's
own boundaries in the chunks at its ends. Dask's scheduler runs the chunks; a chunk is computed by one thread.
"""

import functools
import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.units import format_shape
from tilewright.costs.transfers.network import Exchange, Link, exchanges
from tilewright.distributed.compute import Computer, expected_seconds, share
from tilewright.distributed.points import added
from tilewright.distributed.windows import check_cut, depths, part, placed
from tilewright.driver import prepare
from tilewright.machines.machine import Machine
from tilewright.plan import Target
from tilewright.programs.stencil.periodic import wrapped_axes
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

    problem: Problem  # what is computed on the whole grid
    steps: int  # of this task
    # by axis that is cut, the cells below and above that a chunk is extended by
    around: Mapping[int, tuple[int, int]]
    wrapped: tuple[int, ...]  # axes on which the grid wraps
    target: Target
    tiling: Tiling | str | None  # None for the planner's choice
    strict: bool  # bit-equal to the untiled order of operations
    scalars: Mapping[str, Any]  # values by name
    done: int  # steps of earlier tasks
    starts: tuple[tuple[int, ...], ...]  # per axis, where chunks start in the grid
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
    # No step at all, too, gives the cells that a fixed boundary holds one value on every level.
    for done in range(0, max(1, problem.steps), steps):
        now = min(steps, problem.steps - done)
        around = {
            axis: pair if axis not in wrapped else (max(pair), max(pair))
            for axis, pair in enumerate(depths(problem, max(1, now)))
            if axis in cut
        }
        depth = {axis: around[axis][0] if axis in wrapped else around[axis] for axis in cut}
        kind = {axis: "periodic" if axis in wrapped else "none" for axis in cut}
        if cut:
            extended = [da.overlap.overlap(each, depth, kind) for levels in state.values() for each in levels]
        else:
            extended = [each for levels in state.values() for each in levels]
        task = Task(
            problem=problem,
            steps=now,
            done=done,
            starts=tuple(tuple(itertools.accumulate(sizes[:-1], initial=0)) for sizes in chunks),
            around=around,
            wrapped=tuple(sorted(wrapped)),
            target=computer.target,
            tiling=computer.tiling,
            strict=computer.strict,
            scalars=dict(computer.scalars),
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

    found = []
    for sizes, pair in zip(chunks, depths(problem, 1), strict=True):
        found.append(sizes if len(sizes) == 1 else ensure_minimum_chunksize(max(1, *pair), sizes))
    return tuple(found)


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

    one = share(machine, 1)

    def seconds(shape: tuple[int, ...], count: int) -> float:
        return expected_seconds(part(problem, shape, count, [(True, True)] * len(shape)), one, computer.target.backend)

    levels = problem.itemsize * sum(map(problem.program.history, problem.program.fields))
    # Dask copies a chunk when it is extended, and once more when parts are joined.
    copies = Link(latency=_TASK_SECONDS, bandwidth=one.dram_bandwidth.value / 4)
    best = exchanges(fitting, levels, copies, counted, seconds)
    return min(fitting, best.steps)


def _advance(*blocks: Array, task: Task, block_info: Mapping[int, Mapping[str, Any]] | None = None) -> Array:
    """Compute one chunk, in a task of Dask's."""
    assert block_info is not None  # noqa: S101  (Dask gives it to whoever has the argument)
    place, count = block_info[0]["chunk-location"], block_info[0]["num-chunks"]
    ends, inner = [], []
    for axis, extent in enumerate(blocks[0].shape):
        periodic = axis in task.around and axis in task.wrapped
        first, last = (not periodic and place[axis] == 0, not periodic and place[axis] == count[axis] - 1)
        below, above = task.around.get(axis, (0, 0))
        ends.append((first or axis not in task.around, last or axis not in task.around))
        inner.append(slice(0 if first else below, extent if last else extent - above))
    program = task.problem.program
    starts = [first[number] - cut.start for first, number, cut in zip(task.starts, place, inner, strict=True)]
    own = placed(part(task.problem, blocks[0].shape, task.steps, ends), task.problem, starts)
    given = iter(blocks)
    arrays = {name: [np.asarray(next(given)) for _ in range(program.history(name))] for name in program.fields}
    results = {name: [np.empty(own.shape, own.dtype) for _ in range(program.history(name))] for name in program.updated}
    computer = Computer(
        target=task.target,
        threads=1,
        tiling=task.tiling,
        strict=task.strict,
        scalars=task.scalars,
        make=_prepared,
    )
    points = None
    if task.points is not None:
        span = tuple((start, start + extent) for start, extent in zip(starts, own.shape, strict=True))
        points = PointData(sources=added(task.points, task.problem, span))
    computer.run(own, arrays, results, task.done, points)
    return np.stack([each[tuple(inner)] for levels in results.values() for each in levels])


@functools.lru_cache(maxsize=64)
def _prepared(
    problem: Problem, target: Target, tiling: Tiling | str | None, *, strict: bool, copies: bool = True
) -> Kernel:
    """Return a chunk's kernel; most chunks are of one shape."""
    return prepare(problem, target, tiling, strict=strict, copies=copies)
