"""The time of no time tiling on a CPU: every step sweeps the grid, bound by arithmetic, caches or memory (a roofline).

A sweep reads a line of the grid once per row or plane that the stencil reaches, from the nearest cache that holds what
it touches in between: the layer conditions of Stengel, Treibig, Hager and Wellein (ICS 2015), here with a share of
misses in place of a sharp limit. A recurrence is swept by one thread, cell by cell, so that an iteration yields one
value and no vector; a cell that needs one before it in its row waits until that has been computed, beside cells of
other rows.
"""

import numpy as np

from tilewright.base.constants import WORD
from tilewright.base.intmath import ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.cpu.boxes import missed_inside, off_chip, overlapped, share_missed
from tilewright.costs.facts import Facts
from tilewright.costs.rates import CpuRates
from tilewright.costs.reuse import lost_at_random
from tilewright.costs.work.tiles import SweepWork

_PIECE_ROWS = 2  # rows over which the statements of a step follow each other, where rows are wide


def evaluate(work: SweepWork, facts: Facts, rates: CpuRates) -> Breakdown:
    """Evaluate one sweep per stage and step; a wavefront is a sweep, a tile a core's part of it."""
    if work.serial:
        return _serial(work, facts, rates)
    moved = _step_bytes(work, facts, rates)
    each = ceil_div(facts.cells, rates.sm_count)
    lines = each / facts.shape[-1]
    vectors = lines * ceil_div(facts.shape[-1], rates.vector_width)
    iteration = float(overlapped(rates.swept.value, _line_seconds(facts, rates), rates.numbers))
    arithmetic = vectors * rates.swept.value
    # A core computes one box per statement.
    starts = lines * facts.stages * rates.swept_row_seconds + facts.writes * rates.swept_box_seconds
    compute = vectors * iteration + starts
    io_seconds, felt = _from_afar(moved, facts, rates)
    longest = max(compute + felt, io_seconds)
    sweeps, steps, dram = facts.steps * facts.stages, facts.steps, 1.0 * moved * facts.steps
    return Breakdown.of_one(
        wavefronts=sweeps,
        tiles_per_wavefront=rates.sm_count,
        tile_points=each,
        input_words=(moved - work.written_bytes) / WORD / rates.sm_count,
        output_words=work.written_bytes / WORD / rates.sm_count,
        io_seconds=io_seconds,
        compute_seconds=compute,
        prism_seconds=longest,
        dram_bytes=dram if off_chip(facts, rates) else min(2.0 * facts.data_bytes, dram),
        terms={
            "arithmetic": steps * arithmetic,
            "starts": steps * starts,
            "transfers": steps * (longest - arithmetic - starts),
            "synchronisation": sweeps * rates.launch_seconds,
        },
    )


def _serial(work: SweepWork, facts: Facts, rates: CpuRates) -> Breakdown:
    """The sweeps of a recurrence; a wavefront is a sweep."""
    together = work.serial_cells - work.alone_cells
    arithmetic = together * rates.serial_seconds + work.alone_cells * rates.alone_seconds
    starts = work.serial_cells / facts.shape[-1] * facts.stages * rates.swept_row_seconds
    io_seconds = work.once_bytes * rates.core_byte_seconds
    longest = max(arithmetic + starts, io_seconds)
    return Breakdown.of_one(
        wavefronts=facts.steps * work.launches,
        tiles_per_wavefront=1,
        tile_points=facts.cells // work.launches,
        input_words=(work.once_bytes - work.written_bytes) / WORD / work.launches,
        output_words=work.written_bytes / WORD / work.launches,
        io_seconds=io_seconds / work.launches,
        compute_seconds=(arithmetic + starts) / work.launches,
        prism_seconds=longest / work.launches,
        dram_bytes=1.0 * work.once_bytes * facts.steps,
        terms={
            "arithmetic": facts.steps * arithmetic,
            "starts": facts.steps * starts,
            "transfers": facts.steps * (longest - arithmetic - starts),
            "synchronisation": 0.0,
        },
    )


def _from_afar(moved: float, facts: Facts, rates: CpuRates) -> tuple[float, float]:
    """Seconds of a step's bytes that come from beyond L2, and how much of them the arithmetic does not hide."""
    # Lines from L2 are among those of the vectors. Of those from L3 a part is felt, of those from memory all: a core
    # has too few under way to hide how long they take.
    share, numbers = facts.data_bytes / rates.sm_count, rates.numbers
    inside = float(missed_inside(np.array(share), rates))
    room = numbers.l3_reuse_fraction * rates.outer_bytes
    outside = lost_at_random(share / room, int(numbers.l3_ways)) if room else inside
    outside = min(inside, outside)
    near = moved * (inside - outside) * rates.outer_byte_seconds / rates.sm_count
    far = moved * outside * rates.byte_seconds
    return near + far, numbers.l3_exposed_fraction * near + far


def _line_seconds(facts: Facts, rates: CpuRates) -> float:
    """Seconds in which the lines of one vector of results are fetched; what goes back to a cache takes another way."""
    usable = rates.numbers.cache_fraction
    near = fetched_again(rates.l1_bytes * usable, facts) + facts.reads + facts.fetches
    far = fetched_again(rates.shared_bytes * usable, facts) if rates.outer_bytes else 0.0
    seconds = near * rates.cache_byte_seconds + far * rates.outer_byte_seconds
    return seconds * rates.vector_width * facts.itemsize


def _step_bytes(work: SweepWork, facts: Facts, rates: CpuRates) -> int:
    """Bytes of a step from beyond L2, or from memory where no cache holds the grid, and back."""
    # Statements follow each other over pieces of a few rows, which wide rows do not leave in L2; and what is in no
    # cache is fetched again by every row or plane that reads it.
    room = rates.shared_bytes * rates.numbers.cache_fraction
    rows = _PIECE_ROWS + 2 * (facts.stages - 1) * facts.slopes[0]
    apart = float(share_missed(np.array(rows * facts.data_bytes // facts.shape[0]), room))
    again = apart * (facts.swept_bytes - work.once_bytes)
    if off_chip(facts, rates):
        room = max(room, rates.outer_bytes * rates.numbers.l3_tile_fraction)
        again += fetched_again(room, facts) * facts.cells * facts.itemsize
    return work.once_bytes + int(again)


def fetched_again(room: float, facts: Facts) -> float:
    """Return the values per cell that a sweep fetches once more from beyond a cache with so much room per core."""
    # A cell is read first in the foremost of the rows or planes that a result reads, and again in every other one.
    row = facts.shape[-1] * facts.itemsize * facts.levels
    reach = [sum(side) for side in facts.sides[:-1]]
    windows = [(sum(reach) + 1) * row]
    if len(reach) == 2:  # in 3D planes first
        windows.insert(0, (reach[0] + 1) * facts.shape[1] * row)
    shares = (float(share_missed(np.array(window), room)) for window in windows)
    return sum(further * share for further, share in zip(facts.further, shares, strict=False))
