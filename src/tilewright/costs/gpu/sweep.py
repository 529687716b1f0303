"""The time of no time tiling on a GPU: every step sweeps the grid, bound by arithmetic or memory (a roofline).

Of a recurrence the planes of cells that do not need each other are a launch each. Their cells lie apart in memory, so
that each of their values is a sector of its own between L2 and chip; every launch lasts a load from memory at least.
"""

from tilewright.base.constants import WORD
from tilewright.base.intmath import ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.facts import Facts
from tilewright.costs.rates import Rates
from tilewright.costs.work.sweep import SweepWork

SECTOR = 32
"""Bytes that a GPU moves for a value whose neighbours in memory no other thread of its warp wants."""


def evaluate(work: SweepWork, facts: Facts, rates: Rates) -> Breakdown:
    """Evaluate one sweep per stage and step; a wavefront is a sweep or a launch, a tile an SM's part of it."""
    # A recurrence's launches are one tile each, a sweep's parts are side by side.
    launches, parts = (work.launches, 1) if work.serial else (facts.stages, rates.sm_count)
    each = facts.cells // launches if work.serial else ceil_div(facts.cells, parts)
    compute = 1.0 * ceil_div(each, rates.vector_width) * rates.swept.value
    io_seconds, share = work.once_bytes * rates.byte_seconds, 1
    if work.serial:
        share, wait = launches, rates.numbers.fetch_latency / rates.numbers.clock
        compute = work.serial_cells * wait
        if not work.serial_cells:
            vectors = facts.cells / (rates.sm_count * rates.vector_width)
            compute = vectors * rates.swept.value + launches * wait
            sectors = SECTOR * facts.cells * (facts.reads + facts.writes) / rates.numbers.l2_bandwidth
            io_seconds = max(io_seconds, sectors)
    longest, steps = max(compute, io_seconds), facts.steps
    return Breakdown.of_one(
        wavefronts=steps * launches,
        tiles_per_wavefront=parts,
        tile_points=each,
        input_words=(work.once_bytes - work.written_bytes) / WORD / max(share, parts),
        output_words=work.written_bytes / WORD / max(share, parts),
        io_seconds=io_seconds / share,
        compute_seconds=compute / share,
        prism_seconds=longest / share,
        dram_bytes=1.0 * work.once_bytes * steps,
        terms={
            "arithmetic": steps * compute,
            "transfers": steps * (longest - compute),
            "synchronisation": steps * launches * rates.launch_seconds,
        },
    )
