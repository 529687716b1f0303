"""The cost of streaming tiles on a GPU: issue slots, shared memory, latency, DRAM, and how well waves fill the device.

A block advances along axis 0 row by row; per advance it computes a row of every level of the band and meets at one
barrier. In the time of a tile the blocks that are resident together on a multiprocessor

- *issue*: per cell and level the arithmetic and its share of the rims that threads hand to each other on chip; per row,
  its loads and stores, and the barrier. Warps stay with a scheduler, and that with the most of them is the last,
- *access* shared memory: every read of a neighbour's cell and every one that is published, and the rows that come from
  memory and go there by the same path, 32 words per cycle,
- wait: every advance ends with a barrier, and needs a row that was asked for an advance before,
- move bytes between DRAM and chip: the tile with its whole halo, and its results.

Of blocks that share a scheduler the oldest goes first, and others fill what it leaves: together they are busy until the
last one runs alone, part of whose waiting nothing fills. A single block waits in full. Rows are fetched while advances
compute, so that of work and bytes the longer one counts.

The price of a run is that of what it launches (:func:`_run`): of every band the whole tiles in the steady loop, those
at ``fixed`` edges and the first and last advances of all in the loop with tests, those at other edges and bands of
other lengths in the general kernel (:mod:`tilewright.costs.gpu.general`); blocks are dealt out in order.

Where C_iter of these tiles was measured on the machine it bounds the arithmetic of a cell from below, as in every model
here. This is our own, its counts those of machine code for sm_90; no GPU has confirmed it yet. What it leaves out:
clock changes, and the code's way through the instruction cache.
"""

from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.constants import SAFE_REGISTERS, STREAM_CELL_REGISTERS, STREAM_REGISTERS, WARP, WORD
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.facts import Facts
from tilewright.costs.gpu import launch
from tilewright.costs.gpu.general import general_blocks
from tilewright.costs.gpu.terms import CompiledCounts, double_cost
from tilewright.costs.rates import Rates
from tilewright.costs.work.stream_blocks import StreamTiles, band_lengths, footing
from tilewright.costs.work.threads import body

END_SLOTS, ADVANCE_SLOTS = 2.0, 14.0
"""Further instructions per cell of a row that is loaded and stored, one each, and per advance: the barrier, pointers
and places on chip, of which machine code for sm_90 has 11 to 33."""
TESTED_SLOTS = {2: 5.0, 3: 10.0}
"""Further instructions per cell and level in the loop with tests, by rank and per word of a value: machine code for
sm_90 has 4.4 to 5.1 of them in 2D and 8 to 12 in 3D, in float64 up to twice as many."""
BARRIER_CYCLES, SHARED_CYCLES = 250.0, 25.0
"""Cycles of an advance in which a warp waits for the others of its block, and for an access to shared memory. The first
is what the simulation of machine code (:mod:`tilewright.costs.machine_code.simulation`) shows between two rounds."""


def iteration_seconds(facts: Facts, rates: Rates) -> float:
    """Return C_iter of these tiles: what a cell takes of one lane where nothing but its own instructions counts."""
    foot, gpu = footing(facts), rates.numbers
    issue = _cell_slots(facts, rates) / gpu.schedulers * rates.vector_width / WARP
    return max(issue, body(foot.program).arithmetic * double_cost(facts, gpu) * foot.stages) / gpu.clock


def _cell_slots(facts: Facts, rates: Rates) -> float:
    """Instructions of a cell and level besides what threads hand to each other."""
    foot, gpu = footing(facts), rates.numbers
    cell = body(foot.program).arithmetic + 3.0 * foot.constant_reads
    if rates.blocked.source == "measured":
        cell = max(cell, rates.blocked.value * gpu.clock * gpu.schedulers / (rates.vector_width / WARP))
    return cell


def evaluate(
    block: StreamTiles, sizes: TileSizes, facts: Facts, rates: Rates, compiled: CompiledCounts | None = None
) -> Breakdown:
    """Evaluate the model; a wavefront is a band, a tile one tile of it."""
    foot, gpu = footing(facts), rates.numbers
    run = launched(block, _resident(block, facts, rates, compiled), sizes, facts, rates)
    parts = stream_cycles(block, block.tested, facts, rates)
    one = np.ones_like(block.tiles)
    scale = facts.itemsize / WORD
    written = block.reads <= foot.most_reads  # else the general kernel is the only one
    fits = ((run.resident > 0) | ~written) & (block.part_bytes <= rates.block_bytes) & (block.own > 0)
    seconds = np.where(fits, run.seconds, np.inf)
    return Breakdown(
        wavefronts=run.bands,
        tiles_per_wavefront=block.tiles,
        tiles_per_prism=one,
        tile_points=np.minimum(block.points, 2.0**62).astype(np.int64),
        input_words=block.loaded * (foot.versions + foot.constants) * scale,
        output_words=block.own * foot.versions * scale,
        shared_bytes=block.chip_bytes,
        tiles_per_sm=run.resident,
        io_seconds=parts.dram / gpu.clock,
        compute_seconds=parts.work(one) / gpu.clock,
        prism_seconds=run.tile_seconds,
        dram_bytes=run.moved,
        terms={
            **dict(zip(launch.PARTS, seconds, strict=True)),
            "synchronisation": run.launches * gpu.launch_seconds,
        },
        shared_words=block.rows * block.threads * chip_words(block, facts) * block.tiles * run.bands,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRun:
    """What runs launch, each of shape (n,)."""

    bands: Ints
    launches: Ints
    resident: Ints  # blocks of the steady kernel that a multiprocessor holds
    tile_seconds: Floats  # mean time of a tile in the middle of the grid
    seconds: Floats  # seconds of all launches by part, without what it takes to start them; shape (4, n)
    moved: Floats  # bytes between DRAM and chip


def launched(block: StreamTiles, resident: Ints, sizes: TileSizes, facts: Facts, rates: Rates) -> StreamRun:
    """Price all launches of a run, as :func:`tilewright.codegen.gpu.streaming.kernels.stream_launches` makes them."""
    foot, gpu = footing(facts), rates.numbers
    fast, slow = (stream_cycles(block, tested, facts, rates) for tested in (block.tested, block.rows))
    queue = np.maximum(ceil_div(block.steady.all, gpu.sm_count), 1)
    together = np.minimum(np.maximum(resident, 1), queue)
    quick = launch.in_waves(block.steady.all, resident, gpu, fast.cycles) / gpu.clock
    turns = np.maximum(ceil_div(block.steady.all, together * gpu.sm_count), 1)
    slower = slow.cycles(together).sum(axis=0) / fast.cycles(together).sum(axis=0)
    dealt = launch.makespan(block.steady, together * gpu.sm_count, slower)
    steady = quick * (dealt / turns)
    bands = launches = np.zeros_like(block.levels)
    seconds, moved = np.zeros(steady.shape), np.zeros(len(bands))
    for band, count in band_lengths(block.levels, facts.steps, foot.most_versions):
        here = (band == block.levels) & (block.reads <= foot.most_reads)
        tiles = block.tiles - np.where(here, block.steady.all, 0)
        bands = bands + count
        seconds = seconds + count * np.where(here, steady, 0.0)
        moved = moved + count * np.where(here, block.steady.all * tile_bytes(block, facts), 0.0)
        launches = launches + count * (1 + here * bool(foot.bent))
        if tiles.any():
            each = general_blocks((sizes, block.parts), block.levels, band, facts, rates)
            left = count * tiles > 0
            seconds = seconds + count * np.where(left, each.seconds(tiles * each.count, rates), 0.0)
            moved = moved + count * tiles * each.count * each.moved
    return StreamRun(
        bands=bands,
        launches=launches,
        resident=resident,
        tile_seconds=quick.sum(axis=0) / queue,
        seconds=seconds,
        moved=moved,
    )


def _resident(block: StreamTiles, facts: Facts, rates: Rates, compiled: CompiledCounts | None) -> Ints:
    """Blocks that are resident together on a multiprocessor; 0 where not even one fits."""
    asked: Ints = STREAM_REGISTERS + STREAM_CELL_REGISTERS[len(facts.shape)] * block.turns + block.held
    used, chip = asked, block.chip_bytes
    spills = asked > np.minimum(SAFE_REGISTERS, launch.most_registers(block.threads, rates.numbers))
    if compiled is not None:
        used, chip, spills = compiled.registers, compiled.shared_bytes, np.zeros_like(spills)
    found = launch.resident(block.threads, used, chip, rates.numbers)
    return np.where((chip <= rates.block_bytes) & ~spills, found, 0).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCycles:
    """Cycles of a multiprocessor for blocks of n tilings, one tile each; every array has shape (n,)."""

    rows: Floats  # advances of a tile
    warps: Ints  # warps of a block
    schedulers: float
    instructions: Floats  # of a warp per advance, or the cycles in which its arithmetic occupies the lanes if more
    access: Floats  # cycles of a block on the path to shared memory, by which rows from and to memory go as well
    alone: Floats  # cycles of one block: its work and its waits at barriers, no advance sooner than its row comes
    dram: Floats  # cycles in which a block's bytes pass at a multiprocessor's share of the bandwidth that is sustained

    def issue(self, together: Ints | Floats) -> Floats:
        """Return those of a scheduler: warps stay with it, so that the one with the most is the last."""
        return np.asarray(np.ceil(together * self.warps / self.schedulers) * self.rows * self.instructions)

    def work(self, together: Ints | Floats) -> Floats:
        """Return those of the busiest scheduler, or of the path to shared memory."""
        return np.maximum(self.issue(together), together * self.access)

    def cycles(self, together: Ints | Floats) -> Floats:
        """Return all parts combined; shape (4, n), 0 for no block."""
        some = np.maximum(np.asarray(together), 1)
        return launch.combined(together, self.alone, (self.issue(some), self.work(some)), some * self.dram)


def stream_cycles(block: StreamTiles, tested: Floats, facts: Facts, rates: Rates) -> StreamCycles:
    """Return what tiles take of a multiprocessor that compute so many of their advances in the loop with tests."""
    foot, gpu, double = footing(facts), rates.numbers, double_cost(facts, rates.numbers)
    arithmetic, cell = body(foot.program).arithmetic, _cell_slots(facts, rates)
    cells, warps = block.levels * block.turns, ceil_div(block.threads, WARP)
    tests = TESTED_SLOTS[len(facts.shape)] * (facts.itemsize // WORD) * foot.stages * tested / np.maximum(block.rows, 1)
    ends = block.moves + END_SLOTS * block.turns * foot.versions + ADVANCE_SLOTS
    lanes = cells * foot.stages * arithmetic * (WARP * gpu.schedulers / rates.vector_width * double)
    waits = block.rows * (BARRIER_CYCLES + SHARED_CYCLES)
    # A warp alone waits for each of its instructions, and for its arithmetic as long as that occupies the pipe.
    latency = block.rows * (cells * (cell + arithmetic * (double - 1.0) + tests) + ends) + waits
    sharers = np.minimum(block.tiles, gpu.sm_count)
    found = StreamCycles(
        rows=block.rows,
        warps=warps,
        schedulers=gpu.schedulers,
        instructions=np.maximum(cells * (cell + tests) + ends, lanes),
        access=block.rows * warps * chip_words(block, facts),
        alone=latency,
        dram=tile_bytes(block, facts) * sharers * gpu.clock * rates.byte_seconds,
    )
    work = found.work(np.ones_like(block.tiles)) + waits
    return replace(found, alone=np.maximum(np.maximum(latency, work), block.rows * gpu.fetch_latency))


def chip_words(block: StreamTiles, facts: Facts) -> Floats:
    """Return the 4-byte words of a thread per advance on the path to shared memory."""
    ends = 2 * block.turns * footing(facts).versions  # cells that it loads, and that it stores
    return np.asarray((block.words + ends) * (facts.itemsize / WORD))


def tile_bytes(block: StreamTiles, facts: Facts) -> Floats:
    """Return the bytes between DRAM and chip per tile; halos in full, as a bound by machine code counts them."""
    foot = footing(facts)
    read = block.loaded * (foot.versions + foot.constants)
    return np.asarray((read + block.own * foot.versions) * facts.itemsize)
