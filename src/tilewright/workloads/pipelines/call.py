"""Pipelines on this CPU: planned, compiled and cached, and called one group after the other; or by NumPy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from tilewright.runtime.call import CompiledFunction, functions, or_by_numpy
from tilewright.runtime.memory import Array, Workspace, check_memory
from tilewright.runtime.session import SHARED
from tilewright.runtime.store.hosts import host
from tilewright.workloads.pipelines.fusions import Fusion, parse
from tilewright.workloads.pipelines.lower.group import GroupLayout, emit_group
from tilewright.workloads.pipelines.problem import PipelineProblem, compute
from tilewright.workloads.pipelines.rows import RowTile
from tilewright.workloads.pipelines.search import FusionCandidate, Strips, best_choices, search

_KEEP = 2**26
_workspace = Workspace(keep=_KEEP)
_STREAM_BYTES = 2**25  # arrays above this size do not stay in a cache, so they are written past it
_BAND_CELLS = 2**22
"""Cells of a band after which a thread asks whether the results are still wanted; bands of fewer cost more halos."""
_THREADED_CELLS = 2**15  # cells below which a second thread costs more than it brings


def run(
    problem: PipelineProblem,
    arrays: Sequence[Array],
    values: Sequence[float],
    into: Sequence[Array | None],  # where outputs are to lie, None for new grids
    *,
    fusion: str | None,  # the fusion that is asked for; None for the model's choice
    strict: bool,
    backend: str,
    threads: int,
) -> list[Array]:
    """Return the outputs of a pipeline, from its inputs and scalars."""
    program, steps = problem.pipeline, None
    if backend != "numpy":
        steps = or_by_numpy(partial(_compiled_steps, problem, fusion, strict), fallback=backend == "auto")
    if steps is None:
        grids = compute(problem, arrays, dict(zip(program.scalars, values, strict=True)))
    else:
        grids = dict(zip(program.inputs, arrays, strict=True))
        given = {grid: each for grid, each in zip(program.outputs, into, strict=True) if each is not None}
        written = [grid for step in steps for grid in step.layout.outputs]
        grids |= {grid: given[grid] if grid in given else new_grid(problem, grid) for grid in written}
        execute(problem, steps, grids, values, threads, _workspace)
    return [grids[grid] for grid in program.outputs]


@lru_cache(maxsize=256)
def plan_on_host(problem: PipelineProblem, fusion: str | None) -> FusionCandidate:
    """Return the fusion to run here, with its tiles: what is asked for, or the model's first choice."""
    strips = Strips(problem=problem, machine=host())
    if fusion is not None:
        return best_choices(strips, parse(problem.pipeline, fusion))
    candidates, _ = search(replace(strips, coarse=True))
    return best_choices(strips, candidates[0].fusion)


@lru_cache(maxsize=128)
def _compiled_steps(problem: PipelineProblem, fusion: str | None, strict: bool) -> tuple["Step", ...]:
    plan = plan_on_host(problem, fusion)
    return compile_pipeline(problem, plan.fusion, plan.tiles, strict=strict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One compiled group."""

    layout: GroupLayout  # what its arguments hold
    compiled: CompiledFunction
    tile: RowTile


def compile_pipeline(
    problem: PipelineProblem, fusion: Fusion, tiles: Sequence[RowTile], *, strict: bool = False
) -> tuple[Step, ...]:
    """Compile the groups of a fusion, in one unit each, or load them from the cache."""
    sources = [emit_group(problem, group, tile, strict=strict) for group, tile in zip(fusion, tiles, strict=True)]
    return tuple(
        Step(layout=source.layout, compiled=functions(source)[0], tile=tile)
        for source, tile in zip(sources, tiles, strict=True)
    )


def execute(
    problem: PipelineProblem,
    steps: Sequence[Step],
    arrays: Mapping[str, Array],  # whole cells along the last axis, any outer strides
    scalars: Sequence[float],
    threads: int,
    workspace: Workspace,  # for the threads' memory
) -> None:
    """Run compiled groups."""
    values = np.array([*scalars, 0.0], dtype=np.float64)
    for step in steps:
        count = step.compiled.team(threads, worth=problem.cells >= _THREADED_CELLS)
        grids = [arrays[grid] for grid in (*step.layout.inputs, *step.layout.outputs)]
        streams = sum(arrays[grid].nbytes for grid in step.layout.outputs) >= _STREAM_BYTES
        size = [count, _band(problem, step.tile, count), int(streams), *problem.shape]
        for array in grids:
            size += [stride // array.itemsize for stride in array.strides[:-1]]
        check_memory(step.layout.scratch * count)
        work = workspace.take(step.layout.scratch * count)
        step.compiled(grids, size, work, values)
        workspace.give(work)


def _band(problem: PipelineProblem, tile: RowTile, threads: int) -> int:
    """Rows of a band: what the tile says, or the grid's rows over the threads, in bands of at most so many cells."""
    if tile.band:
        return min(tile.band, problem.shape[0])
    rows = -(-problem.shape[0] // threads)
    across = (min(tile.width, problem.shape[-1]), *(min(tile.lines, extent) for extent in problem.shape[1:-1]))
    return -(-rows // -(-rows * math.prod(across) // _BAND_CELLS))


def new_grid(problem: PipelineProblem, grid: str) -> Array:
    """Take memory for a grid: contiguous, aligned to a cache line, its content arbitrary."""
    check_memory(problem.cells * problem.itemsize(grid))
    return SHARED.lend_grid(problem.shape, problem.dtype(grid))
