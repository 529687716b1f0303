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
compute, so that of work and bytes the longer one counts. A band's tiles run in waves of as many blocks as are resident;
the last wave may be partial. Where C_iter of these tiles was measured
on the machine it bounds the arithmetic of a cell from below, as in every model here. This is our own, its counts those
of machine code for sm_90; no GPU has confirmed it yet. What it leaves out: clock changes, the code's way through the
instruction cache, bands shorter than a tiling's levels, and that tiles at edges of the axes that threads share test
every cell.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import MOST_REGISTERS, REGISTER_UNIT, WARP, WARP_UNIT, WORD
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.gpu.code import body
from tilewright.costs.gpu.terms import CompiledCounts
from tilewright.costs.hardware import Hardware
from tilewright.costs.setting import Setting
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.block import BlockGrowth

END_SLOTS, ADVANCE_SLOTS = 2.0, 14.0
"""Further instructions per cell of a row that is loaded and stored, one each, and per advance: the barrier, pointers
and places on chip, of which machine code for sm_90 has 11 to 33."""
BARRIER_CYCLES, SHARED_CYCLES = 250.0, 25.0
"""Cycles of an advance in which a warp waits for the others of its block, and for an access to shared memory. The first
is what the simulation of machine code (:mod:`tilewright.costs.machine_code.simulation`) shows between two rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTiles:
    """Tiles of n tilings, each of shape (n,).

    Attributes:
        levels: Steps of a band.
        bands: Bands.
        rows: Advances of a tile.
        row: Cells of a loaded row or plane.
        turns: Cells of a thread in it.
        threads: Threads.
        tiles: Tiles of a band.
        own: A tile's own cells.
        loaded: Cells that it loads per version.
        chip_bytes: Shared memory.
        held: Registers that a thread's rows take.
        reads: Reads of a kernel that is written out.
        words: Values that a thread reads and stores on chip per advance.
        moves: Instructions for that.
        points: Cells that a tile computes over its levels.
    """

    levels: Ints
    bands: Ints
    rows: Floats
    row: Ints
    turns: Ints
    threads: Ints
    tiles: Ints
    own: Floats
    loaded: Floats
    chip_bytes: Ints
    held: Ints
    reads: Ints
    words: Ints
    moves: Ints
    points: Floats


def iteration_seconds(setting: Setting, gpu: Hardware) -> float:
    """Return C_iter of these tiles: what a cell takes of one lane where nothing but its own instructions counts."""
    foot = _footing(setting)
    issue = _cell_slots(setting, foot, gpu) / gpu.schedulers * setting.vector_width / WARP
    return max(issue, body(foot.program).arithmetic * _double(setting, gpu) * foot.stages) / gpu.clock


def _double(setting: Setting, gpu: Hardware) -> float:
    """For how many times as long an operation occupies its pipe as one of float32 does."""
    return gpu.double_cost if setting.itemsize > WORD else 1.0


def _cell_slots(setting: Setting, foot: BlockGrowth, gpu: Hardware) -> float:
    """Instructions of a cell and level besides what threads hand to each other."""
    cell = body(foot.program).arithmetic + 3.0 * foot.constant_reads
    if setting.blocked.source == "measured":
        known = setting.blocked.value * gpu.clock * gpu.schedulers / (setting.vector_width / WARP)
        cell = max(cell, known)
    return cell


def evaluate(sizes: TileSizes, setting: Setting, gpu: Hardware, compiled: CompiledCounts | None = None) -> Breakdown:
    """Evaluate the model.

    Args:
        sizes: Levels, tile sizes and threads; shape (n,).
        setting: The problem on a GPU.
        gpu: The GPU's numbers.
        compiled: What a compiler says of the code, in place of estimates.

    Returns:
        Every quantity, of shape (n,): a wavefront is a band, a tile one tile of it.
    """
    foot = _footing(setting)
    block = blocks_of(sizes, setting, foot)
    resident = _resident(block, setting, gpu, compiled)
    queue = ceil_div(block.tiles, gpu.sm_count)
    together = np.minimum(np.maximum(resident, 1), queue)
    turns, rest = np.floor(queue / together), queue % together
    parts = _Cycles(block=block, setting=setting, foot=foot, gpu=gpu)
    full, last = parts.all(together), parts.all(rest)
    prism = (turns * full + last) / gpu.clock / np.maximum(queue, 1)
    sync = block.bands * gpu.launch_seconds
    scale = setting.itemsize / WORD
    words_in = block.loaded * (foot.versions + foot.constants) * scale
    words_out = block.own * foot.versions * scale
    seconds = sync + block.bands * (turns * full + last) / gpu.clock
    fits = (resident > 0) & (block.own > 0) & (block.reads <= foot.most_reads)
    io = parts.dram(np.ones_like(queue)) / gpu.clock
    return Breakdown(
        wavefronts=block.bands,
        tiles_per_wavefront=block.tiles,
        tiles_per_prism=np.ones_like(block.bands),
        tile_points=np.minimum(block.points, 2.0**62).astype(np.int64),
        input_words=words_in,
        output_words=words_out,
        shared_bytes=block.chip_bytes,
        tiles_per_sm=resident,
        io_seconds=io,
        compute_seconds=np.maximum(parts.issue(np.ones_like(queue)), parts.access(np.ones_like(queue))) / gpu.clock,
        prism_seconds=prism,
        dram_bytes=parts.bytes() * block.tiles * block.bands,
        sync_seconds=sync,
        seconds=np.where(fits, seconds, np.inf),
        shared_words=parts.words() * block.tiles * block.bands,
    )


def _footing(setting: Setting) -> BlockGrowth:
    if setting.block is None:
        raise UsageError("the cost of streaming tiles is known in 2D and 3D, and where such tiles are legal")
    return setting.block


def blocks_of(sizes: TileSizes, setting: Setting, foot: BlockGrowth) -> StreamTiles:
    """Count what the tiles are.

    Raises:
        UsageError: If threads are missing.
    """
    rank = len(setting.shape)
    if len(sizes.threads) != rank:
        raise UsageError("streaming tiles on a GPU have threads per axis", "write it like threads=1x256")
    levels = np.minimum(foot.whole(sizes.time), max(1, setting.steps))
    grown = [base + rate * levels for base, rate in zip(foot.halo_base, foot.halo_rate, strict=True)]
    extents = [size + more for size, more in zip(sizes.space, grown, strict=True)]
    turns, row, threads, own, tiles = (np.ones_like(levels) for _ in range(5))
    points = np.zeros(len(levels))
    for axis in range(1, rank):
        turns = turns * ceil_div(extents[axis], sizes.threads[axis])
        row, threads = row * extents[axis], threads * sizes.threads[axis]
    for size, extent in zip(sizes.space, setting.shape, strict=True):
        tiles, own = tiles * ceil_div(extent + 0 * size, size), own * np.minimum(size, extent)
    for left in range(int(levels.max(initial=1))):
        cells = np.ones(len(levels))
        for size, base, rate in zip(sizes.space, foot.halo_base, foot.halo_rate, strict=True):
            cells = cells * (size + base + rate * left)
        points = points + cells * (left < levels)
    inner = zip(extents[1:], sizes.threads[1:], strict=True)
    held = _held(foot, levels, tuple(ceil_div(extent, count) for extent, count in inner), sizes.threads[1:])
    first = np.minimum(sizes.space[0], setting.shape[0])
    return StreamTiles(
        levels=levels,
        bands=ceil_div(max(1, setting.steps) + 0 * levels, levels),
        rows=1.0 * first + grown[0] / 2 + foot.lag_base + foot.lag_rate * levels,
        row=row,
        turns=turns,
        threads=threads,
        tiles=tiles,
        own=1.0 * own,
        loaded=1.0 * row * (first + grown[0]),
        chip_bytes=held.chip * setting.itemsize,
        held=(held.registers + turns * foot.versions) * setting.itemsize // WORD,
        reads=foot.written(levels, held.rows, turns),
        words=held.words,
        moves=held.moves,
        points=points,
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """What blocks keep, each of shape (n,).

    Rows in use, values in a thread's registers and on chip, and per advance: values that a thread reads and publishes
    there, and the instructions for it.
    """

    rows: Ints
    registers: Ints
    chip: Ints
    words: Ints
    moves: Ints


def _held(foot: BlockGrowth, levels: Ints, cells: tuple[Ints, ...], threads: tuple[Ints, ...]) -> _Held:
    unique, places = np.unique(np.stack([levels, *cells]), axis=1, return_inverse=True)
    found, rims = [], []
    for time, *own in unique.T.tolist():
        each, kept = foot.rims(tuple(own)), foot.kept(time)
        rims.append(each)
        registers = sum(n * held for n, held in zip(kept, each.held, strict=True)) + each.passing
        counts = [(n, field) for field, n in enumerate(kept) if n]
        words = sum(n * (len(each.ages[field]) + each.values_published(field)) for n, field in counts)
        moves = sum(n * (each.loads(field) + len(each.published[field])) for n, field in counts)
        rows = [n * each.chip_rows * bool(each.near[field]) for field, n in enumerate(kept)]
        groups = [each.values_published(field) for field in range(len(kept))]
        found.append((each.rows, registers, words, moves, *each.reach, *rows, *groups))
    rank = len(cells)
    table = np.array(found, dtype=np.int64).reshape(len(found), 4 + rank + 2 * len(foot.program.fields))
    columns = table[places.ravel()].T
    pitch, chip = np.ones_like(levels), np.zeros_like(levels)
    for count, reach in zip(threads, columns[4 : 4 + rank], strict=True):
        pitch = pitch * (count + 2 * reach)
    fields = len(foot.program.fields)
    each_rows, each_groups = columns[4 + rank : 4 + rank + fields], columns[4 + rank + fields :]
    for rows, groups in zip(each_rows, each_groups, strict=True):
        chip = chip + rows * (ceil_div(groups * pitch, foot.lanes) * foot.lanes)
    return _Held(columns[0], columns[1], chip, columns[2], columns[3])


def _resident(block: StreamTiles, setting: Setting, gpu: Hardware, compiled: CompiledCounts | None) -> Ints:
    """Blocks that are resident together on a multiprocessor; 0 where not even one fits."""
    asked: Ints = (
        stream_block.OTHER_REGISTERS + stream_block.CELL_REGISTERS[len(setting.shape)] * block.turns + block.held
    )
    used: Ints = np.minimum(MOST_REGISTERS, -(-asked // 8) * 8)
    chip = block.chip_bytes
    warps = ceil_div(ceil_div(block.threads, WARP), WARP_UNIT) * WARP_UNIT
    most: Ints = gpu.registers // np.maximum(warps * WARP, 1) // REGISTER_UNIT * REGISTER_UNIT
    spills = asked > np.minimum(stream_block.MOST_REGISTERS, most)
    if compiled is not None:
        used, chip, spills = -(-compiled.registers // 8) * 8, compiled.shared_bytes, np.zeros_like(spills)
    # The compiler keeps to what one block may have.
    used = np.maximum(REGISTER_UNIT, np.minimum(used, most))
    found = np.minimum(gpu.max_blocks, gpu.max_threads // (ceil_div(block.threads, WARP) * WARP))
    held: Ints = gpu.registers // (used * WARP) // WARP_UNIT * WARP_UNIT
    found = np.minimum(found, held // np.maximum(ceil_div(block.threads, WARP), 1))
    found = np.minimum(found, gpu.shared_bytes // (chip + gpu.block_reserve))
    return np.where((chip <= setting.block_bytes) & ~spills, found, 0).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cycles:
    """Cycles of a multiprocessor for so many blocks together, one tile each."""

    block: StreamTiles
    setting: Setting
    foot: BlockGrowth
    gpu: Hardware

    def all(self, together: Ints | Floats) -> Floats:
        """All parts combined; 0 for no block."""
        some = np.maximum(np.asarray(together), 1)
        busy, alone = self.work(some), self.alone()
        each = busy / some
        time = np.maximum(alone, busy + each * (1.0 - each / alone))
        return np.where(np.asarray(together) > 0, np.maximum(time, self.dram(some)), 0.0)

    def work(self, together: Ints | Floats) -> Floats:
        """Of the busiest scheduler, or of the path to shared memory."""
        return np.asarray(np.maximum(self.issue(together), self.access(together)))

    def alone(self) -> Floats:
        """Of one block: what it has to do and the waits at its barriers, and no advance sooner than its row comes."""
        waits = self.block.rows * (BARRIER_CYCLES + SHARED_CYCLES)
        found = np.maximum(self.latency(), self.work(np.ones_like(self.block.tiles)) + waits)
        return np.asarray(np.maximum(found, self.block.rows * self.gpu.fetch_latency))

    def _slots(self, of_cell: float) -> Floats:
        """Instructions of a thread per advance, with so many per cell and level."""
        block = self.block
        return np.asarray(block.levels * block.turns * of_cell + block.moves + END_SLOTS * self._ends() + ADVANCE_SLOTS)

    def _ends(self) -> Ints:
        """Cells that a thread loads, and that it stores, per advance."""
        return np.asarray(self.block.turns * self.foot.versions)

    def _warps(self, together: Ints | Floats) -> Floats:
        """Warps of a scheduler, over all advances: they stay with it, so that the one with the most is the last."""
        warps = np.asarray(together) * ceil_div(self.block.threads, WARP)
        return np.asarray(np.ceil(warps / self.gpu.schedulers) * self.block.rows)

    def issue(self, together: Ints | Floats) -> Floats:
        """Of a scheduler, and of its lanes, which the arithmetic alone occupies."""
        cells = self.block.levels * self.block.turns * self.foot.stages
        cycles = WARP * self.gpu.schedulers / self.setting.vector_width * _double(self.setting, self.gpu)
        lanes = cells * body(self.foot.program).arithmetic * cycles
        slots = self._slots(_cell_slots(self.setting, self.foot, self.gpu))
        return np.asarray(self._warps(together) * np.maximum(slots, lanes))

    def access(self, together: Ints | Floats) -> Floats:
        """Of the path to shared memory, by which rows from and to memory go as well."""
        each = (self.block.words + 2 * self._ends()) * (self.setting.itemsize / WORD)
        return np.asarray(together * self.block.rows * ceil_div(self.block.threads, WARP) * each)

    def words(self) -> Floats:
        """4-byte words between on-chip memory and registers per tile: those of the path to shared memory."""
        each = (self.block.words + 2 * self._ends()) * (self.setting.itemsize / WORD)
        return np.asarray(self.block.rows * self.block.threads * each)

    def latency(self) -> Floats:
        """Of one warp alone: its own instructions and a barrier per advance."""
        cell = _cell_slots(self.setting, self.foot, self.gpu)
        cell += body(self.foot.program).arithmetic * (_double(self.setting, self.gpu) - 1.0)
        return np.asarray(self.block.rows * (self._slots(cell) + BARRIER_CYCLES + SHARED_CYCLES))

    def bytes(self) -> Floats:
        """Between DRAM and chip per tile; halos in full, as a bound by machine code counts them."""
        foot, block = self.foot, self.block
        read = block.loaded * (foot.versions + foot.constants)
        return np.asarray((read + block.own * foot.versions) * self.setting.itemsize)

    def dram(self, together: Ints | Floats) -> Floats:
        """Of a multiprocessor's share of the bandwidth that is sustained."""
        sharers = np.minimum(self.block.tiles, self.gpu.sm_count)
        per_byte = sharers * self.gpu.clock * self.setting.byte_seconds
        return np.asarray(together * self.bytes() * per_byte)
