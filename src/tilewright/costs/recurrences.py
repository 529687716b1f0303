"""The cost of a recurrence: a sweep whose cells need new values of the same sweep, as the code computes them in order.

On a CPU one thread goes through the grid, cell by cell, so that an iteration yields one value and no vector. Where a
cell needs one before it in its row, it waits until that has been computed: the operations on the way from the value
that it reads to its own, one after the other. On a GPU the planes of cells that do not need each other are a launch
each (:func:`tilewright.programs.stencil.dependences.plane_weights`).
"""

import math

import numpy as np

from tilewright.base.constants import WORD
from tilewright.base.errors import UsageError
from tilewright.costs import traffic
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.setting import Setting
from tilewright.programs.stencil.dependences import plane_weights

SECTOR = 32
"""Bytes that a GPU moves for a value whose neighbours in memory no other thread of its warp wants."""


def check_order(setting: Setting) -> None:
    """Refuse a recurrence of which a GPU computes one cell after the other."""
    program = setting.problem.program
    if not setting.cpu and program.rank == 1 and program.analysis.sweep:
        raise UsageError(
            f"every cell of {program.name!r} needs the one before it ({program.analysis.sweep[0].cause}): a GPU has no "
            "parallel order of them, and no model of it",
            "ask for a CPU, such as host",
        )


def evaluate(setting: Setting) -> Breakdown:
    """Evaluate the time of a recurrence's sweeps; a wavefront is a sweep, or a launch on a GPU."""
    moved = traffic.untiled_bytes(setting)
    launches, compute, io_seconds = _on_cpu(setting, moved) if setting.cpu else _on_gpu(setting, moved)
    sync = setting.steps * launches * (0.0 if setting.cpu else setting.launch_seconds)
    longest = max(compute, io_seconds)
    written = setting.cells * setting.itemsize * (setting.writes if setting.cpu else setting.updated)

    def one(value: float) -> Floats:
        return np.full(1, float(value))

    def number(value: int) -> Ints:
        return np.full(1, value, dtype=np.int64)

    return Breakdown(
        wavefronts=number(setting.steps * launches),
        tiles_per_wavefront=number(1),
        tiles_per_prism=number(1),
        tile_points=number(setting.cells // launches),
        input_words=one((moved - written) / WORD / launches),
        output_words=one(written / WORD / launches),
        shared_bytes=number(0),
        tiles_per_sm=number(1),
        io_seconds=one(io_seconds / launches),
        compute_seconds=one(compute / launches),
        prism_seconds=one(longest / launches),
        dram_bytes=one(1.0 * moved * setting.steps),
        sync_seconds=one(sync),
        seconds=one(setting.steps * longest + sync),
    )


def _on_cpu(setting: Setting, moved: int) -> tuple[int, float, float]:
    """Sweeps of a step, and seconds in which one thread computes and moves it."""
    spans = zip(*map(setting.problem.update_box, setting.problem.program.statements), strict=True)
    cells = math.prod(max(high for _, high in axis) - min(low for low, _ in axis) for axis in spans)
    compute = cells * setting.serial_seconds
    compute += cells / setting.shape[-1] * setting.stages * setting.swept_row_seconds
    return setting.stages, compute, moved * setting.core_byte_seconds


def _on_gpu(setting: Setting, moved: int) -> tuple[int, float, float]:
    """Launches of a step, and seconds in which a GPU computes and moves it.

    Cells of a plane lie apart in memory, so that each of their values is a sector of its own between L2 and chip; every
    launch lasts a load from memory at least. In 1D one thread waits for every cell.
    """
    gpu, program = setting.gpu, setting.problem.program
    if gpu is None:
        raise UsageError("a recurrence on a GPU needs the machine's numbers")
    recurrent = len({dependence.stage for dependence in program.analysis.sweep})
    if len(setting.shape) == 1:
        return setting.stages, setting.cells * gpu.fetch_latency / gpu.clock, moved * setting.byte_seconds
    weights = plane_weights(program)
    planes = 1 + sum(w * (n - 1) for w, n in zip(weights, setting.shape, strict=True))
    launches = recurrent * planes + setting.stages - recurrent
    vectors = setting.cells / (setting.sm_count * setting.vector_width)
    compute = vectors * setting.swept.value + launches * gpu.fetch_latency / gpu.clock
    sectors = SECTOR * setting.cells * (setting.reads + setting.writes) / gpu.l2_bandwidth
    return launches, compute, max(moved * setting.byte_seconds, sectors)
