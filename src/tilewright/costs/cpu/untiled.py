"""The cost of no time tiling: every step sweeps the grid, bound by arithmetic, caches or memory (a roofline).

On a CPU a sweep reads a line of the grid once per row or plane that the stencil reaches, from the nearest cache that
holds what it touches in between: the layer conditions of Stengel, Treibig, Hager and Wellein (ICS 2015), here with a
share of misses in place of a sharp limit.
"""

import numpy as np

from tilewright.base.constants import WORD
from tilewright.costs import recurrences, traffic
from tilewright.costs.arrays import ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.cpu.hexagonal import overlapped
from tilewright.costs.cpu.levels import data_bytes, missed_inside, off_chip, share_missed
from tilewright.costs.reuse import lost_at_random
from tilewright.costs.setting import Setting

_PIECE_ROWS = 2
"""Rows over which the statements of a step follow each other, where rows are wide."""


def evaluate(setting: Setting) -> Breakdown:
    """Evaluate the roofline of one sweep per stage and step; a wavefront is a sweep, a tile a core's part of it."""
    if setting.problem.program.analysis.sweep:
        return recurrences.evaluate(setting)
    cells = np.array([setting.cells], dtype=np.int64)
    moved = _step_bytes(setting)
    resident = setting.cpu and not off_chip(setting)
    each = ceil_div(cells, setting.sm_count)
    lines = each / setting.shape[-1] if setting.cpu else 0 * each
    whole = ceil_div(np.array([setting.shape[-1]]), setting.vector_width)
    vectors = lines * whole if setting.cpu else 1.0 * ceil_div(each, setting.vector_width)
    iteration = np.full(1, setting.swept.value)
    if setting.cpu:
        iteration = overlapped(setting.swept.value, np.full(1, _line_seconds(setting)), setting)
    compute = vectors * iteration + lines * setting.stages * setting.swept_row_seconds
    if setting.cpu:
        compute = compute + setting.writes * setting.swept_box_seconds  # a core computes one box per statement
    io_seconds, felt = _from_afar(moved, setting) if setting.cpu else (moved * setting.byte_seconds, 0.0)
    sweeps = np.array([setting.steps * setting.stages], dtype=np.int64)
    sync = sweeps * setting.launch_seconds
    compulsory = 2.0 * data_bytes(setting)
    longest = np.maximum(compute + felt, np.full(1, io_seconds))
    written = setting.cells * setting.itemsize * (setting.writes if setting.cpu else setting.updated)
    return Breakdown(
        wavefronts=sweeps,
        tiles_per_wavefront=np.full(1, setting.sm_count, dtype=np.int64),
        tiles_per_prism=np.ones(1, dtype=np.int64),
        tile_points=each,
        input_words=np.full(1, (moved - written) / WORD / setting.sm_count),
        output_words=np.full(1, written / WORD / setting.sm_count),
        shared_bytes=np.zeros(1, dtype=np.int64),
        tiles_per_sm=np.ones(1, dtype=np.int64),
        io_seconds=np.full(1, io_seconds),
        compute_seconds=compute,
        prism_seconds=longest,
        dram_bytes=np.full(
            1, min(compulsory, 1.0 * moved * setting.steps) if resident else 1.0 * moved * setting.steps
        ),
        sync_seconds=sync,
        seconds=setting.steps * longest + sync,
    )


def _from_afar(moved: float, setting: Setting) -> tuple[float, float]:
    """Seconds of a step's bytes that come from beyond L2, and how much of them the arithmetic does not hide.

    Lines from L2 are among those of the vectors. Of those from L3 a part is felt, of those from memory all: a core has
    too few under way to hide how long they take.
    """
    share, known = data_bytes(setting) / setting.sm_count, setting.coefficients
    inside = float(missed_inside(np.array(share), setting))
    room = known.l3_reuse_fraction * setting.outer_bytes
    outside = lost_at_random(share / room, int(known.l3_ways)) if room else inside
    outside = min(inside, outside)
    near = moved * (inside - outside) * setting.outer_byte_seconds / setting.sm_count
    far = moved * outside * setting.byte_seconds
    return near + far, known.l3_exposed_fraction * near + far


def _line_seconds(setting: Setting) -> float:
    """Seconds in which the lines of one vector of results are fetched; what goes back to a cache takes another way."""
    usable = setting.coefficients.cache_fraction
    near = fetched_again(setting.l1_bytes * usable, setting) + setting.reads + setting.fetches
    far = fetched_again(setting.shared_bytes * usable, setting) if setting.outer_bytes else 0.0
    seconds = near * setting.cache_byte_seconds + far * setting.outer_byte_seconds
    return seconds * setting.vector_width * setting.itemsize


def _step_bytes(setting: Setting) -> int:
    """Bytes of a step from beyond L2, or from memory where no cache holds the grid, and back.

    On a CPU statements follow each other over pieces of a few rows, which wide rows do not leave in L2; and what is in
    no cache is fetched again by every row or plane that reads it.
    """
    once = traffic.untiled_bytes(setting)
    if not setting.cpu:
        return once
    room = setting.shared_bytes * setting.coefficients.cache_fraction
    rows = _PIECE_ROWS + 2 * (setting.stages - 1) * setting.slopes[0]
    apart = float(share_missed(np.array(rows * data_bytes(setting) // setting.shape[0]), room))
    again = apart * (traffic.swept_bytes(setting) - once)
    if off_chip(setting):
        room = max(room, setting.outer_bytes * setting.coefficients.l3_tile_fraction)
        again += fetched_again(room, setting) * setting.cells * setting.itemsize
    return once + int(again)


def fetched_again(room: float, setting: Setting) -> float:
    """Values per cell that a sweep fetches once more from beyond a cache with so much room per core.

    A cell is read first in the foremost of the rows or planes that a result reads, and again in every other one.
    """
    row = setting.shape[-1] * setting.itemsize * setting.levels
    reach = [sum(side) for side in setting.sides[:-1]]
    windows = [(sum(reach) + 1) * row]
    if len(reach) == 2:  # in 3D planes first
        windows.insert(0, (reach[0] + 1) * setting.shape[1] * row)
    shares = (float(share_missed(np.array(window), room)) for window in windows)
    return sum(further * share for further, share in zip(setting.further, shares, strict=False))
