"""What the general kernel of streaming tiles takes: bands of any length, and tiles at edges that are not ``fixed``.

A tile is cut into parts that need little memory on chip (:meth:`BlockGrowth.parts`), a block each. Per advance every
warp goes through all levels, whether it has cells or not; the cells of a row are dealt to threads in turn, and every
one of them computes where it lies. A row that is loaded is waited for. The counts of instructions are those of machine
code for sm_90; no GPU has confirmed what follows from them.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import WARP, WORD
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.gpu import launch
from tilewright.costs.gpu.terms import double_cost
from tilewright.costs.rates import Rates
from tilewright.costs.work.stream_blocks import footing
from tilewright.costs.work.threads import body

LEVEL_SLOTS, ADVANCE_SLOTS = {2: 70.0, 3: 96.0}, 100.0
"""Instructions of a warp per level of an advance, by rank, and per advance, that no cell needs."""
READ_SLOTS, RESULT_SLOTS, BEND_SLOTS, LOAD_SLOTS = 1.0, 26.0, 6.0, 9.0
"""Instructions per cell and read on chip, besides per result, per read that a boundary bends (4 to 6 where it takes the
nearest cell, 9 where it mirrors), and per value loaded."""
REGISTERS = 64
"""Registers of a thread."""
CHAIN, ISSUE = 3.3, 1.2
"""Cycles per instruction of a warp that has a scheduler to itself, and of a scheduler that has many warps: by the
simulation of machine code (:mod:`tilewright.costs.machine_code.simulation`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralBlocks:
    """Blocks of the general kernel for one length of a band, each attribute of shape (n,)."""

    count: Ints  # blocks per tile
    threads: Ints
    chip_bytes: Ints  # shared memory
    slots: Floats  # instructions of all warps of a block
    longest: Floats  # instructions of the warp that has most
    lanes: Floats  # cycles of a scheduler in which the arithmetic of a block occupies its lanes
    words: Floats  # words between a block's threads and the chip, in wavefronts of a warp
    fetches: Floats  # loads from memory that follow each other
    moved: Floats  # bytes between DRAM and chip

    def cycles(self, together: Ints, rates: Rates) -> Floats:
        """Return the cycles of so many together on a multiprocessor, by part; shape (4, n)."""
        gpu = rates.numbers
        alone = self.longest * CHAIN + self.fetches * gpu.fetch_latency
        issue = np.maximum(ISSUE * self.slots, self.lanes) / gpu.schedulers
        busy = np.maximum(issue, self.words)
        dram = self.moved * gpu.sm_count * gpu.clock * rates.byte_seconds
        return launch.combined(together, alone, (together * issue, together * busy), together * dram)

    def seconds(self, blocks: Ints, rates: Rates) -> Floats:
        """Return the seconds of a launch with so many at work, by part; shape (4, n), 0 where there are none."""
        gpu = rates.numbers
        places = launch.resident(self.threads, np.full_like(self.threads, REGISTERS), self.chip_bytes, gpu)
        cycles = launch.in_waves(blocks, places, gpu, lambda together: self.cycles(together, rates))
        return np.where(places > 0, cycles / gpu.clock, np.inf)


def general_blocks(
    tiles: tuple[TileSizes, tuple[Ints, ...]], levels: Ints, band: Ints, facts: Facts, rates: Rates
) -> GeneralBlocks:
    """Count what blocks do in bands of ``band`` levels, by a text for whole bands of ``levels``."""
    sizes, parts = tiles  # parts: sizes of what tiles are cut into
    foot, gpu = footing(facts), rates.numbers
    count, own, plane = (np.ones_like(levels) for _ in range(3))
    for axis in range(1, len(parts)):
        count = count * ceil_div(sizes.space[axis], parts[axis])
        own = own * np.minimum(parts[axis], facts.shape[axis])
        plane = plane * (parts[axis] + foot.halo_base[axis] + foot.halo_rate[axis] * levels)
    threads = np.asarray(np.prod(sizes.threads, axis=0))
    warps = ceil_div(threads, WARP)
    first = np.minimum(sizes.space[0], facts.shape[0])
    advances = first + foot.parts_base + foot.parts_rate * band
    words, one = facts.itemsize / WORD, body(foot.program)
    reads = foot.moving_reads + foot.constant_reads
    cell = one.arithmetic + foot.stores * RESULT_SLOTS + reads * READ_SLOTS + foot.bent_reads * BEND_SLOTS
    updates = np.zeros(len(levels))
    for left in range(int(band.max(initial=0))):
        turns = _warp_turns(tiles, facts, left + 0 * levels)
        rows = first + foot.halo_base[0] + foot.halo_rate[0] * left
        updates = updates + np.where(left < band, rows * turns, 0)
    loads = 1.0 * _warp_turns(tiles, facts, levels) * foot.versions
    loads = loads * (first + foot.halo_base[0] + foot.halo_rate[0] * band)
    idle = advances * (ADVANCE_SLOTS + band * foot.stages * LEVEL_SLOTS[len(parts)])
    work = updates * cell + loads * LOAD_SLOTS
    busiest = np.minimum(warps, np.maximum(1, updates / np.maximum(advances * band, 1)))
    lanes = updates * one.arithmetic * double_cost(facts, gpu) * WARP * gpu.schedulers / rates.vector_width
    moved = plane * (first + foot.halo_base[0] + foot.halo_rate[0] * band) * (foot.versions + foot.constants)
    return GeneralBlocks(
        count=count,
        threads=threads,
        chip_bytes=foot.part_values(levels, parts) * facts.itemsize,
        slots=warps * idle + work,
        longest=idle + work / busiest,
        lanes=lanes,
        words=(updates * (reads + foot.stores) + 2.0 * loads) * words,
        fetches=advances * np.ceil(loads / np.maximum(warps * advances, 1)),
        moved=(moved + 1.0 * own * first * foot.versions) * facts.itemsize,
    )


def _warp_turns(tiles: tuple[TileSizes, tuple[Ints, ...]], facts: Facts, left: Ints) -> Ints:
    """Times that warps go through the cells of a row or plane with so many levels to come, over all warps of a block.

    Cells go to threads in turn along every axis; in the last turn of the outermost of these some warps have none, and
    in 2D of the only one.
    """
    (sizes, parts), foot = tiles, footing(facts)
    extents = [
        np.minimum(part + base + rate * left, extent)
        for part, base, rate, extent in zip(parts, foot.halo_base, foot.halo_rate, facts.shape, strict=True)
    ][1:]
    threads = sizes.threads[1:]
    beside = np.ones_like(left)
    row = np.ones_like(left)
    for extent, count in zip(extents[1:], threads[1:], strict=True):
        beside, row = beside * ceil_div(extent, count), row * count
    whole, rest = extents[0] // threads[0], extents[0] % threads[0]
    return np.asarray(beside * (whole * ceil_div(threads[0] * row, WARP) + ceil_div(rest * row, WARP)))
