"""Pipelines on this CPU: groups compiled, cached and called one after the other."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.runtime.call import CompiledFunction, functions, scratch
from tilewright.runtime.memory import Array, Workspace, check_memory
from tilewright.workloads.pipelines.fusions import Fusion
from tilewright.workloads.pipelines.lower.group import GroupLayout, emit_group
from tilewright.workloads.pipelines.problem import PipelineProblem
from tilewright.workloads.pipelines.rows import RowTile

_STREAM_BYTES = 2**25
"""Arrays above this size do not stay in a cache, so they are written past it."""
_BAND_CELLS = 2**22
"""Cells of a band after which a thread asks whether the results are still wanted; bands of fewer cost more halos."""
_THREADED_CELLS = 2**15
"""Cells below which a second thread costs more than it brings."""


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
    steps = []
    for group, tile in zip(fusion, tiles, strict=True):
        source = emit_group(problem, group, tile, strict=strict)
        (compiled,) = functions(source)
        steps.append(Step(layout=source.layout, compiled=compiled, tile=tile))
    return tuple(steps)


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
        used = [arrays[grid] for grid in (*step.layout.inputs, *step.layout.outputs)]
        size = [count, _band(problem, step.tile, count), int(_streams(step, arrays)), *problem.shape]
        for array in used:
            size += [stride // array.itemsize for stride in array.strides[:-1]]
        check_memory(step.layout.scratch * count)
        work = workspace.take(step.layout.scratch * count)
        step.compiled(used, size, work, values)
        workspace.give(work)


def _streams(step: Step, arrays: Mapping[str, Array]) -> bool:
    return sum(arrays[grid].nbytes for grid in step.layout.outputs) >= _STREAM_BYTES


def _band(problem: PipelineProblem, tile: RowTile, threads: int) -> int:
    """Rows of a band: what the tile says, or the grid's rows over the threads, in bands of at most so many cells."""
    if tile.band:
        return min(tile.band, problem.shape[0])
    rows = -(-problem.shape[0] // threads)
    across = (min(tile.width, problem.shape[-1]), *(min(tile.lines, extent) for extent in problem.shape[1:-1]))
    return -(-rows // -(-rows * math.prod(across) // _BAND_CELLS))


def new_grid(problem: PipelineProblem, grid: str) -> Array:
    """Allocate a grid: contiguous, aligned to a cache line, its content arbitrary."""
    memory = scratch(problem.cells * problem.itemsize(grid))
    return memory.view(problem.dtype(grid)).reshape(problem.shape)
