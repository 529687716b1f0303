"""What tiles ask of their kernel: updates per round of its steady loop, useful shares, blocks and bytes.

Known of ``none``, whose kernels have no loop, and of streaming tiles in thread blocks, whose steady loop advances by as
many rows as a ring has. Other families have loops inside loops; no bound by machine code is given for them.
"""

import math

from tilewright.base.intmath import ceil_div
from tilewright.costs.machine_code.bound import LaunchWork
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block


def round_updates(problem: Problem, schedule: GpuSchedule) -> float | None:
    """Return the updates of cells that a thread computes in a round of its kernel's steady path; None where unknown."""
    tiling = schedule.tiling
    analysis = problem.program.analysis
    if tiling.family.untiled and len(analysis.stages) == 1 and not analysis.sweep:
        return float(schedule.column)
    if tiling.family.streams and schedule.written:
        tile = stream_block.tile_of(problem, tiling)
        return float(tile.levels * schedule.advances * tile.thread_cells)
    return None


def work(problem: Problem, schedule: GpuSchedule) -> LaunchWork | None:
    """Return what a grid asks of the kernel of a tiling; None where :func:`round_updates` is.

    Bytes are what a tile loads and stores, halos included, though part of them is still in L2 from its neighbours.
    """
    updates = round_updates(problem, schedule)
    if updates is None:
        return None
    program, shape = problem.program, problem.shape
    versions = sum(program.history(field) for field in program.updated)
    constants = len(program.fields) - len(program.updated)
    if schedule.tiling.family.untiled:
        groups = math.prod(ceil_div(n, size) for n, size in zip(shape, schedule.cells, strict=True))
        moved = versions + constants + len(program.updated)
        useful = math.prod(shape) / (groups * math.prod(schedule.cells))
        return LaunchWork(updates=updates, useful=useful, tiles=groups, dram_bytes=float(moved * problem.itemsize))
    tiling = schedule.tiling
    tile = stream_block.tile_of(problem, tiling)
    tiles = math.prod(ceil_div(n, size) for n, size in zip(shape, tiling.space, strict=True))
    rows = min(tiling.space[0], shape[0]) + tile.growth.pipeline.extra_rows(tile.levels)
    computed = rows * math.prod(schedule.threads) * tile.thread_cells
    loaded = math.prod(tile.loaded)
    cells = math.prod(shape)
    moved = (tiles * loaded * (versions + constants) + cells * versions) * problem.itemsize
    useful = cells / (tiles * computed)
    return LaunchWork(updates=updates, useful=useful, tiles=tiles, dram_bytes=moved / (cells * tile.levels))
