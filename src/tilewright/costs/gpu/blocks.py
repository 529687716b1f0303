"""The time of whole tiles on a GPU: Prajapati et al., PPoPP 2017, section 4, corrected, for the work of any family.

A block transfers its words and computes row by row, k tiles share an SM, and wavefronts follow each other. k tiles of N
blocks each take ``min(m', c) + k N max(m', c)`` for k > 1, which is (12) for N = 1, while one tile at a time overlaps
nothing. What differs from the printed form besides is exact geometry, see :mod:`tilewright.costs.work.hexagonal`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.constants import SECTOR, WARP, WORD
from tilewright.base.intmath import ceil_div
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.facts import Facts
from tilewright.costs.rates import Rates
from tilewright.costs.work.threads import body
from tilewright.costs.work.tiles import BlockWork, SweepWork

WARPS_IN_STEP = 1.45
"""Cycles of the path to shared memory over those of the accesses, of warps that begin a row together: the simulation of
machine code (:mod:`tilewright.costs.machine_code.bound`) shows 1.2 to 1.45 for sm_90."""


def evaluate(work: BlockWork, k: Ints, facts: Facts, rates: Rates) -> Breakdown:
    """Evaluate the corrected model; ``k`` are the tiles that share an SM, 0 for as many as fit."""
    io_seconds, compute = io(work, facts, rates), computation(work, facts, rates)
    k = resident(k, shared_bytes(work, facts), rates)
    together = prism_seconds(io_seconds, compute, k, work.count)
    turns = work.fronts.turns(np.maximum(k, 1) * rates.sm_count)
    # Of what the tiles of an SM compute, one after the other, the barriers are between rows.
    blocks = turns * np.maximum(k, 1) * work.count
    barriers = blocks * work.meetings * rates.barrier_seconds
    computed = blocks * compute
    return whole_tiles(
        work,
        facts,
        tiles_per_sm=k,
        io_seconds=io_seconds,
        compute_seconds=compute,
        prism_seconds=together,
        terms={
            "arithmetic": computed - barriers,
            "barriers": barriers,
            "transfers": np.where(k > 0, turns * together - computed, np.inf),
            "synchronisation": work.fronts.count * rates.launch_seconds,
        },
    )


def whole_tiles(work: BlockWork, facts: Facts, **times: Any) -> Breakdown:  # noqa: ANN401  (of each field's own type)
    """Return what whole tiles move and keep, with ``times`` that say what they take."""
    scale = facts.itemsize / WORD
    read, written = work.input_values * scale, work.output_values * scale
    return Breakdown(
        wavefronts=work.fronts.count,
        tiles_per_wavefront=work.width,
        tiles_per_prism=work.count,
        tile_points=np.minimum(work.points / facts.stages, 2.0**62).astype(np.int64),
        input_words=read,
        output_words=written,
        shared_bytes=shared_bytes(work, facts),
        dram_bytes=1.0 * (read + written) * WORD * work.count * work.tiles,
        **times,
    )


def in_lines(facts: Facts, rates: Rates) -> Rates:
    """Return rates at which no cell of a hexagon in 1D takes less than its accesses on chip do, by machine code."""
    # A row waits once for what its cells read, and for their arithmetic. What was measured holds all of that.
    gpu, cell, each = rates.numbers, body(facts.problem.program), rates.c_iter
    if each.source == "measured":
        return rates
    accesses = (cell.reads + cell.stores) * facts.itemsize / WORD * (rates.vector_width / WARP)
    share = max(1.0, WARPS_IN_STEP * accesses / gpu.clock / each.value)
    low, high = (None if end is None else share * end for end in (each.low, each.high))
    wait = (gpu.load_latency + cell.arithmetic * gpu.pipeline_cycles) / gpu.clock
    return replace(
        rates,
        c_iter=replace(each, value=share * each.value, low=low, high=high),
        barrier_seconds=rates.barrier_seconds + wait,
    )


def io(work: BlockWork, facts: Facts, rates: Rates) -> Floats:
    """Return m' of a block."""
    words = (work.input_values + work.output_values) * facts.itemsize / WORD
    return np.asarray(words * rates.word_seconds + 2 * rates.barrier_seconds)


def computation(work: BlockWork, facts: Facts, rates: Rates) -> Floats:
    """Return c of a block."""
    iteration = (rates.c_iter if work.printed else rates.other).value / facts.stages
    return np.asarray(work.vectors(rates.vector_width) * iteration + work.meetings * rates.barrier_seconds)


def shared_bytes(work: BlockWork, facts: Facts) -> Ints:
    """Return what a block keeps on chip, M_tile."""
    return np.asarray(np.minimum(1.0 * work.shared_values * facts.itemsize, 2.0**62), dtype=np.int64)


def resident(k: Ints, shared: Ints, rates: Rates) -> Ints:
    """Return the tiles per SM: as asked, else as many as fit (11), (31); 0 where one, or what was asked, does not."""
    fits = np.minimum(rates.shared_bytes // np.maximum(shared, 1), rates.max_tiles)
    fits = np.where(shared <= rates.block_bytes, fits, 0)
    return np.where(k > 0, np.where(k <= fits, k, 0), fits)


def prism_seconds(io_seconds: Floats, compute: Floats, k: Ints, count: Ints) -> Floats:
    """Return the time of k prisms of N tiles each, together on one SM."""
    # One prism alone: (m' + c) N. More of them overlap transfers with computation all along, but for the first transfer
    # or the last computation: m' + c + (k N - 1) max(m', c).
    longer, shorter = np.maximum(io_seconds, compute), np.minimum(io_seconds, compute)
    return np.where(k > 1, shorter + k * count * longer, (io_seconds + compute) * count)


def sweep(work: SweepWork, facts: Facts, rates: Rates) -> Breakdown:
    """Evaluate no time tiling: a sweep per stage and step, bound by arithmetic or memory (a roofline)."""
    # A wavefront is a sweep or a launch, a tile an SM's part of it. Of a recurrence the planes of cells that do not
    # need each other are a launch each. Their cells lie apart in memory, so that each of their values is a sector of
    # its own between L2 and chip; every launch lasts a load from memory at least.
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
