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

The price of a run is that of what it launches (:func:`launched`): of every band the tiles in the steady loop, those at
edges in that with tests along the axes that threads share, and the first and last advances of all in that with tests of
rows, too; blocks are dealt out in order, those at edges first. Steps that make up
no band are swept.

Where C_iter of these tiles was measured on the machine it bounds the arithmetic of a cell from below, as in every model
here. This is our own, its counts those of machine code for sm_90; no GPU has confirmed it yet. What it leaves out:
clock changes, and the code's way through the instruction cache.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base import constants
from tilewright.costs.arrays import Floats, Ints, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.facts import Facts
from tilewright.costs.gpu.blocks import sweep
from tilewright.costs.gpu.terms import CompiledCounts, arithmetic_slots, double_cost
from tilewright.costs.rates import Rates
from tilewright.costs.work.streaming import StreamTiles, TileGrid, footing
from tilewright.costs.work.tiles import on_gpu
from tilewright.machines.numbers import Numbers

ADVANCE_SLOTS, PASS_SLOTS = 20.0, {2: 2.0, 3: 7.0}
"""Further instructions per advance: the barrier, pointers and places on chip, of which machine code for sm_90 has 11 to
33; and by rank those of a vector that passes through the chip, up to 5 of them for its address."""
END_TESTS, SIDE_TESTS, SELECT_SLOTS = {2: 2.7, 3: 3.2}, {2: 1.3, 3: 1.8}, 1.0
"""Further instructions per cell and level in the loops with tests of rows and of other places, by rank and per word of
a value, and for each select of a read that leaves the grid, of which machine code for sm_90 has 0.6 to 1.3."""
END_MOVES, SIDE_MOVES = {2: 11.5, 3: 7.7}, {2: 2.2, 3: 3.0}
"""Further instructions there per cell of a row that is loaded and stored. Both are the least squares of 25 kernels for
sm_90, seven programs in both types, most of whose sums they meet within a quarter; bands of one or two levels have up
to twice as many."""
BARRIER_CYCLES, SHARED_CYCLES = 250.0, 25.0
"""Cycles of an advance in which a warp waits for the others of its block, and for an access to shared memory. The first
is what the simulation of machine code (:mod:`tilewright.costs.machine_code.bound`) shows between two rounds."""
IN_TURN = 0.15
"""Share of what takes less of a block, its instructions or its accesses, that the other does not hide: between two
barriers rims are read, cells computed, and rims published. With it 33 of 38 kernels (14 programs, both types) are
predicted no faster than their machine code allows, and the others by at most 13 %."""
PARTS = ("arithmetic", "on-chip memory", "latency", "transfers")
"""What the cycles of blocks are for: issuing instructions, and beyond that the path to shared memory, the last block's
waits, and DRAM. They add up."""
_TURNS = 6
"""Blocks of a place up to which they are dealt out one after the other; beyond, the mean of their times is near."""


def iteration_seconds(facts: Facts, rates: Rates) -> float:
    """Return C_iter of these tiles: what a cell takes of one lane where nothing but its own instructions counts."""
    foot, gpu = footing(facts), rates.numbers
    issue = _cell_slots(facts, rates) / gpu.schedulers * rates.vector_width / constants.WARP
    return max(issue, arithmetic_slots(facts) * double_cost(facts, gpu) * foot.stages) / gpu.clock


def _cell_slots(facts: Facts, rates: Rates) -> float:
    """Instructions of a cell and level besides what threads hand to each other."""
    foot, gpu = footing(facts), rates.numbers
    cell = arithmetic_slots(facts) + 3.0 * foot.constant_reads
    if rates.blocked.source == "measured":
        cell = max(cell, rates.blocked.value * gpu.clock * gpu.schedulers / (rates.vector_width / constants.WARP))
    return cell


def evaluate(block: StreamTiles, facts: Facts, rates: Rates, compiled: CompiledCounts | None = None) -> Breakdown:
    """Evaluate the model; a wavefront is a band, a tile one tile of it."""
    foot, gpu = footing(facts), rates.numbers
    run = launched(block, _resident(block, facts, rates, compiled), facts, rates)
    parts = stream_cycles(block, facts, rates, edge=False)
    single = np.ones_like(block.tiles)
    scale = facts.itemsize / constants.WORD
    fits = (run.resident > 0) & (block.reads <= foot.most_reads) & (block.own > 0)
    seconds = np.where(fits, run.seconds, np.inf)
    return Breakdown(
        wavefronts=run.bands,
        tiles_per_wavefront=block.tiles,
        tiles_per_prism=single,
        tile_points=np.minimum(block.points, 2.0**62).astype(np.int64),
        input_words=block.loaded * (foot.versions + foot.constants) * scale,
        output_words=block.own * foot.versions * scale,
        shared_bytes=block.chip_bytes,
        tiles_per_sm=run.resident,
        io_seconds=parts.dram / gpu.clock,
        compute_seconds=parts.work(single) / gpu.clock,
        prism_seconds=run.tile_seconds,
        dram_bytes=run.moved,
        terms=dict(zip(PARTS, seconds, strict=True)) | {"synchronisation": run.launches * gpu.launch_seconds},
        shared_words=block.rows
        * block.threads
        * chip_words(block, facts)
        * block.tiles
        * (facts.steps // block.levels),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRun:
    """What runs launch, each of shape (n,)."""

    bands: Ints  # bands of a tiling's levels, and single steps
    launches: Ints
    resident: Ints  # blocks of the steady kernel that a multiprocessor holds
    tile_seconds: Floats  # mean time of a tile in the middle of the grid
    seconds: Floats  # seconds of all launches by part, without what it takes to start them; shape (4, n)
    moved: Floats  # bytes between DRAM and chip


def launched(block: StreamTiles, resident: Ints, facts: Facts, rates: Rates) -> StreamRun:
    """Price all launches of a run, as :func:`tilewright.codegen.gpu.streaming.kernels.stream_launches` makes them."""
    foot, gpu = footing(facts), rates.numbers
    fast, slow = (stream_cycles(block, facts, rates, edge=edge) for edge in (False, True))
    queue = np.maximum(ceil_div(block.grid.all, gpu.sm_count), 1)
    together = np.minimum(np.maximum(resident, 1), queue)
    mean = np.minimum(together, block.grid.all / np.clip(block.grid.all, 1, gpu.sm_count))
    quick = in_waves(block.grid.all, resident, gpu, fast.cycles) / gpu.clock
    turns = np.maximum(ceil_div(block.grid.all, together * gpu.sm_count), 1)
    slower = np.maximum(slow.cycles(together, mean).sum(axis=0) / fast.cycles(together, mean).sum(axis=0), 1.0)
    dealt = makespan(block.grid, together * gpu.sm_count, slower)
    steady = quick * (dealt / turns)
    bands, rest = facts.steps // block.levels, facts.steps % block.levels
    seconds = 1.0 * bands * steady
    moved = bands * block.tiles * tile_bytes(block, facts)
    if rest.any():
        step = sweep(on_gpu(facts), replace(facts, steps=1), rates)
        seconds[0] += rest * step.terms["arithmetic"]
        seconds[-1] += rest * step.terms["transfers"]
        moved = moved + rest * step.dram_bytes
    return StreamRun(
        bands=bands + rest,
        launches=bands + rest * foot.stages,
        resident=resident,
        tile_seconds=quick.sum(axis=0) / queue,
        seconds=seconds,
        moved=moved,
    )


def _resident(block: StreamTiles, facts: Facts, rates: Rates, compiled: CompiledCounts | None) -> Ints:
    """Blocks that are resident together on a multiprocessor; 0 where not even one fits."""
    needed: Ints = (
        constants.STREAM_REGISTERS + constants.STREAM_CELL_REGISTERS[len(facts.shape)] * block.turns + block.held
    ) + footing(facts).edge_registers
    registers, chip = needed, block.chip_bytes
    spills = needed > np.minimum(constants.SAFE_REGISTERS, most_registers(block.threads, rates.numbers))
    if compiled is not None:
        registers, chip, spills = compiled.registers, compiled.shared_bytes, np.zeros_like(spills)
    blocks = resident(block.threads, registers, chip, rates.numbers)
    return np.where((chip <= rates.block_bytes) & ~spills, blocks, 0).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCycles:
    """Cycles of a multiprocessor for blocks of n tilings, one tile each; every array has shape (n,)."""

    rows: Floats  # advances of a tile
    warps: Ints  # warps of a block
    schedulers: float
    instructions: Floats  # of a warp per advance, or the cycles in which its arithmetic occupies the lanes if more
    access: Floats  # cycles of a block on the path to shared memory, by which rows from and to memory go as well
    alone: Floats  # cycles of one block: its work and its waits at barriers, no advance sooner than its row comes
    dram: Floats  # cycles in which a block's bytes pass at a multiprocessor's share of what DRAM, or L2, sustains

    def issue(self, together: Ints | Floats) -> Floats:
        """Return those of a scheduler: warps stay with it, so that the one with the most is the last."""
        return np.asarray(np.ceil(together * self.warps / self.schedulers) * self.rows * self.instructions)

    def work(self, together: Ints | Floats) -> Floats:
        """Return those of the busiest scheduler, or of the path to shared memory; one block hides little of either."""
        alone = np.minimum(self.issue(np.ones_like(self.warps)), self.access)
        return np.maximum(self.issue(together), together * self.access) + IN_TURN * alone

    def cycles(self, together: Ints | Floats, mean: Ints | Floats) -> Floats:
        """Return all parts combined, of the busiest multiprocessor; shape (4, n), 0 for no block.

        It has ``together`` blocks, and those that have any, which share the bandwidth, have ``mean`` of them.
        """
        some = np.maximum(np.asarray(together), 1)
        issue, work = self.issue(some), self.work(some)
        # Of few warps a scheduler has one or none: blocks on others do not make that one's work shorter.
        each = np.maximum(work / some, np.maximum(self.issue(np.ones_like(self.warps)), self.access))
        return combined(together, (self.alone, each), (issue, work), mean * self.dram)


def stream_cycles(block: StreamTiles, facts: Facts, rates: Rates, *, edge: bool) -> StreamCycles:
    """Return what tiles take of a multiprocessor in the middle of the grid, or at its edges."""
    foot, gpu, double = footing(facts), rates.numbers, double_cost(facts, rates.numbers)
    arithmetic, cell = arithmetic_slots(facts), _cell_slots(facts, rates)
    cells, warps = block.levels * block.turns, ceil_div(block.threads, constants.WARP)
    rank, wide, share = len(facts.shape), facts.itemsize // constants.WORD, block.tested / np.maximum(block.rows, 1)
    ends, sides = (
        slots[rank] * wide * foot.stages + SELECT_SLOTS * selects
        for slots, selects in zip((END_TESTS, SIDE_TESTS), foot.selects, strict=True)
    )
    tests = share * ends + (1.0 - share) * sides * edge
    aside = (share * END_MOVES[rank] + (1.0 - share) * SIDE_MOVES[rank] * edge) * block.turns
    passed = 0.0 if edge else block.passes * PASS_SLOTS[rank] * block.stores
    moves = block.moves + foot.versions * (2 * block.loads + passed + aside) + ADVANCE_SLOTS
    lanes = cells * foot.stages * arithmetic * (constants.WARP * gpu.schedulers / rates.vector_width * double)
    waits = block.rows * (BARRIER_CYCLES + SHARED_CYCLES)
    # A warp alone waits for each of its instructions, and for its arithmetic as long as that occupies the pipe.
    latency = block.rows * (cells * (cell + arithmetic * (double - 1.0) + tests) + moves) + waits
    sharers = np.minimum(block.tiles, gpu.sm_count)
    by_memory = tile_bytes(block, facts) * rates.byte_seconds
    by_cache = tile_bytes(block, facts, block.requests) / gpu.l2_bandwidth
    cycles = StreamCycles(
        rows=block.rows,
        warps=warps,
        schedulers=gpu.schedulers,
        instructions=np.maximum(cells * (cell + tests) + moves, lanes),
        access=block.rows * warps * _accesses(block, facts, edge=edge),
        alone=latency,
        dram=np.maximum(by_memory, by_cache) * sharers * gpu.clock,
    )
    work = cycles.work(np.ones_like(block.tiles)) + waits
    return replace(cycles, alone=np.maximum(np.maximum(latency, work), block.rows * gpu.fetch_latency))


def chip_words(block: StreamTiles, facts: Facts) -> Floats:
    """Return the 4-byte words of a thread per advance on the path to shared memory."""
    ends = 2 * block.turns + _passed(block)  # cells that it loads, that it stores, and that pass between
    return np.asarray((block.words + footing(facts).versions * ends) * (facts.itemsize / constants.WORD))


def _passed(block: StreamTiles) -> Ints:
    """Values that a thread puts on chip and takes from there on their way to memory, per advance and version."""
    return block.passes * (block.turns + block.stores * block.apart)


def _accesses(block: StreamTiles, facts: Facts, *, edge: bool) -> Floats:
    """Return the cycles of a warp per advance on the path to shared memory, by which rows of memory pass as well.

    No two lanes of an access to rims meet in a bank, since a warp's places lie side by side; rows that pass through the
    chip are taken to meet in none. Accesses to memory lie in as many lines of 128 bytes as neighbouring threads' values
    lie words apart. Nothing passes at edges.
    """
    wide = facts.itemsize // constants.WORD
    beside, apart = (np.minimum(values * wide, constants.WARP) for values in (block.beside, block.apart))
    moved = 2 * block.loads * beside if edge else block.loads * beside + block.stores * apart + _passed(block) * wide
    return np.asarray(block.words * wide + footing(facts).versions * moved)


def tile_bytes(block: StreamTiles, facts: Facts, requests: Floats | float = 1.0) -> Floats:
    """Return the bytes between DRAM and chip per tile, or of its requests to L2: so many write a sector.

    Halos count in full, as a bound by machine code counts them.
    """
    foot = footing(facts)
    read = block.loaded * (foot.versions + foot.constants)
    return np.asarray((read + block.own * foot.versions * requests) * facts.itemsize)


def most_registers(threads: Ints, gpu: Numbers) -> Ints:
    """Return the registers that a thread may have if one block is to fit; shape (n,)."""
    warps = ceil_div(ceil_div(threads, constants.WARP), constants.WARP_UNIT) * constants.WARP_UNIT
    return np.asarray(
        gpu.registers // np.maximum(warps * constants.WARP, 1) // constants.REGISTER_UNIT * constants.REGISTER_UNIT
    )


def resident(threads: Ints, registers: Ints, chip_bytes: Ints, gpu: Numbers) -> Ints:
    """Return the blocks that a multiprocessor holds at once, by the rules of CUDA's occupancy calculator."""
    whole = -(-registers // constants.REGISTER_UNIT) * constants.REGISTER_UNIT
    granted = np.maximum(np.minimum(whole, most_registers(threads, gpu)), constants.REGISTER_UNIT)
    warps = np.maximum(ceil_div(threads, constants.WARP), 1)
    by_registers = gpu.registers // (granted * constants.WARP) // constants.WARP_UNIT * constants.WARP_UNIT // warps
    by_threads = np.minimum(np.minimum(gpu.max_blocks, gpu.max_threads // (warps * constants.WARP)), by_registers)
    return np.asarray(np.minimum(by_threads, gpu.shared_bytes // np.maximum(chip_bytes + gpu.block_reserve_bytes, 1)))


def combined(together: Ints | Floats, one: tuple[Floats, Floats], busy: tuple[Floats, Floats], dram: Floats) -> Floats:
    """Return the cycles of blocks that are resident together, one tile each, by :data:`PARTS`; 0 for no block."""
    # Of blocks that share a scheduler the oldest goes first, and others fill what it leaves: together they are busy
    # until the last one runs alone, part of whose waiting nothing fills. ``one`` is the cycles of one block, alone and
    # without its waits; of all blocks ``busy`` is those of their instructions and of these or shared memory, ``dram``
    # those of DRAM.
    (alone, each), (issue, work) = one, busy
    time = np.maximum(alone, work + each * (1.0 - each / alone))
    work = np.minimum(work, time)  # of blocks whose schedulers are busier than one of them alone takes
    issue = np.minimum(issue, work)
    parts = np.stack([issue, work - issue, time - work, np.maximum(time, dram) - time])
    return np.where(np.asarray(together) > 0, parts, 0.0)


def in_waves(blocks: Ints, places: Ints, gpu: Numbers, cycles: Callable[[Ints, Floats], Floats]) -> Floats:
    """Return the cycles of launches of equal blocks, of which so many have a place on a multiprocessor.

    ``cycles`` are those of a wave, by its blocks on the busiest multiprocessor and on one in the mean.
    """
    together = np.maximum(np.minimum(places, ceil_div(blocks, gpu.sm_count)), 1)
    whole, rest = np.divmod(blocks, together * gpu.sm_count)
    last = cycles(ceil_div(rest, gpu.sm_count), rest / np.clip(blocks, 1, gpu.sm_count))
    return np.asarray(whole * cycles(together, 1.0 * together) + last)


def makespan(grid: TileGrid, places: Ints, slow: Floats) -> Floats:
    """Return when the last block of every launch ends, in units of a tile in the middle; one at an edge takes ``slow``.

    >>> one = tuple(np.array([each]) for each in (4, 3))
    >>> grid = TileGrid(counts=one, first=(np.array([0]), np.array([1])), inside=(np.array([4]), np.array([1])))
    >>> [makespan(grid, np.array([places]), np.array([2.0])).tolist() for places in (12, 6)]
    [[2.0], [4.0]]
    """
    total, turns = grid.all, ceil_div(grid.all, places)
    edges = total - grid.middle
    mean = 1.0 + (slow - 1.0) * edges / np.maximum(total, 1)
    ends = np.where(edges > 0, np.minimum(turns * mean + slow - 1.0, turns * slow), 1.0 * turns)
    few = np.flatnonzero((turns <= _TURNS) & (edges > 0) & (edges < total))
    if len(few):
        most = int(np.ceil(ends[few] + slow[few]).max())
        ends[few] = _one_by_one(_taken(grid, few), places[few], slow[few], (most, int(turns[few].max())))
    return ends


def _taken(grid: TileGrid, index: Ints) -> TileGrid:
    parts = (tuple(axis[index] for axis in axes) for axes in (grid.counts, grid.first, grid.inside))
    counts, first, inside = parts
    return TileGrid(counts=counts, first=first, inside=inside)


def _one_by_one(grid: TileGrid, places: Ints, slow: Floats, most: tuple[int, int]) -> Floats:
    """Deal blocks out: places are told apart by how many tiles in the middle and at edges they had, ``most`` each."""
    middle, late = (each.ravel() for each in np.indices((most[0] + 1, most[1] + 1)))
    rows, total = np.arange(len(places)), grid.all
    ends = middle + late * slow[:, None]
    waiting = np.zeros(ends.shape, dtype=np.int64)
    waiting[:, 0] = places
    done, middle_before = np.zeros_like(total), np.zeros_like(total)
    while (done < total).any():
        first = np.where(waiting > 0, ends, np.inf).argmin(axis=1)
        count = np.minimum(waiting[rows, first], total - done)
        done = done + count
        middle_now = np.where(done == total, grid.middle, grid.before(np.minimum(done, total - 1)))
        quick, middle_before = middle_now - middle_before, middle_now
        waiting[rows, first] -= count
        waiting[rows, np.minimum(first + most[1] + 1, len(middle) - 1)] += quick
        waiting[rows, np.minimum(first + 1, len(middle) - 1)] += count - quick
    return np.asarray(np.where(waiting > 0, ends, 0.0).max(axis=1))
