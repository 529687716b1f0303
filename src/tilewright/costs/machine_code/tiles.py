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
        levels = stream_block.whole_levels(tiling.time, stream_block.history(problem))
        return float(levels * schedule.advances * stream_block.thread_cells(problem, tiling))
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
    levels = stream_block.whole_levels(tiling.time, stream_block.history(problem))
    tiles = math.prod(ceil_div(n, size) for n, size in zip(shape, tiling.space, strict=True))
    rows = min(tiling.space[0], shape[0]) + stream_block.extra_rows(problem, levels)
    computed = rows * math.prod(schedule.threads) * stream_block.thread_cells(problem, tiling)
    loaded = math.prod(stream_block.loaded(problem, tiling.time, tiling.space))
    cells = math.prod(shape)
    moved = (tiles * loaded * (versions + constants) + cells * versions) * problem.itemsize
    return LaunchWork(
        updates=updates, useful=cells / (tiles * computed), tiles=tiles, dram_bytes=moved / (cells * levels)
    )
