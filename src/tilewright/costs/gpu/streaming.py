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

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.constants import SAFE_REGISTERS, STREAM_CELL_REGISTERS, STREAM_REGISTERS, WARP, WORD
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.gpu import launch
from tilewright.costs.gpu.code import body
from tilewright.costs.gpu.general import footing, general_blocks
from tilewright.costs.gpu.terms import CompiledCounts
from tilewright.costs.hardware import Hardware
from tilewright.costs.setting import Setting
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.block import BlockGrowth

END_SLOTS, ADVANCE_SLOTS = 2.0, 14.0
"""Further instructions per cell of a row that is loaded and stored, one each, and per advance: the barrier, pointers
and places on chip, of which machine code for sm_90 has 11 to 33."""
TESTED_SLOTS = {2: 5.0, 3: 10.0}
"""Further instructions per cell and level in the loop with tests, by rank and per word of a value: machine code for
sm_90 has 4.4 to 5.1 of them in 2D and 8 to 12 in 3D, in float64 up to twice as many."""
BARRIER_CYCLES, SHARED_CYCLES = 250.0, 25.0
"""Cycles of an advance in which a warp waits for the others of its block, and for an access to shared memory. The first
is what the simulation of machine code (:mod:`tilewright.costs.machine_code.simulation`) shows between two rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTiles:
    """Tiles of n tilings, each of shape (n,)."""

    levels: Ints  # steps of a whole band
    rows: Floats  # advances of a tile
    tested: Floats  # those of a tile in the middle of the grid that are computed in the loop with tests
    row: Ints  # cells of a loaded row or plane
    turns: Ints  # cells of a thread in it
    threads: Ints
    tiles: Ints  # tiles of a band
    steady: launch.TileGrid  # those of whole bands that the steady kernel computes; its middle ones lie inside the grid
    parts: tuple[Ints, ...]  # sizes of the general kernel's tiles, per axis
    part_bytes: Ints  # shared memory of a block of that kernel
    own: Floats  # a tile's own cells
    loaded: Floats  # cells that it loads per version
    chip_bytes: Ints  # shared memory
    held: Ints  # registers that a thread's rows take
    reads: Ints  # reads of a kernel that is written out
    words: Ints  # values that a thread reads and stores on chip per advance
    moves: Ints  # instructions for that
    points: Floats  # cells that a tile computes over its levels


def iteration_seconds(setting: Setting, gpu: Hardware) -> float:
    """Return C_iter of these tiles: what a cell takes of one lane where nothing but its own instructions counts."""
    foot = footing(setting)
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
    """Evaluate the model; a wavefront is a band, a tile one tile of it."""
    foot = footing(setting)
    block = blocks_of(sizes, setting, foot)
    run = _run(sizes, setting, gpu, (block, _resident(block, setting, gpu, compiled)))
    parts = _Cycles(block=block, setting=setting, foot=foot, gpu=gpu, tested=block.tested)
    one = np.ones_like(block.tiles)
    scale = setting.itemsize / WORD
    sync = run.launches * gpu.launch_seconds
    written = block.reads <= foot.most_reads  # else the general kernel is the only one
    fits = ((run.resident > 0) | ~written) & (block.part_bytes <= setting.block_bytes) & (block.own > 0)
    return Breakdown(
        wavefronts=run.bands,
        tiles_per_wavefront=block.tiles,
        tiles_per_prism=one,
        tile_points=np.minimum(block.points, 2.0**62).astype(np.int64),
        input_words=block.loaded * (foot.versions + foot.constants) * scale,
        output_words=block.own * foot.versions * scale,
        shared_bytes=block.chip_bytes,
        tiles_per_sm=run.resident,
        io_seconds=parts.dram(one) / gpu.clock,
        compute_seconds=parts.work(one) / gpu.clock,
        prism_seconds=run.tile_seconds,
        dram_bytes=run.moved,
        sync_seconds=sync,
        seconds=np.where(fits, sync + run.seconds, np.inf),
        shared_words=parts.words() * block.tiles * run.bands,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What runs launch, each of shape (n,)."""

    bands: Ints
    launches: Ints
    resident: Ints  # blocks of the steady kernel that a multiprocessor holds
    tile_seconds: Floats  # mean time of a tile in the middle of the grid
    seconds: Floats  # seconds of all launches, without what it takes to start them
    moved: Floats  # bytes between DRAM and chip


def _run(sizes: TileSizes, setting: Setting, gpu: Hardware, tiled: tuple[StreamTiles, Ints]) -> _Run:
    """Price all launches of a run, as :func:`tilewright.codegen.gpu.streaming.kernels.stream_launches` makes them."""
    foot, (block, resident) = footing(setting), tiled
    fast = _Cycles(block=block, setting=setting, foot=foot, gpu=gpu, tested=block.tested)
    slow = replace(fast, tested=block.rows)
    queue = np.maximum(ceil_div(block.steady.all, gpu.sm_count), 1)
    together = np.minimum(np.maximum(resident, 1), queue)
    quick = launch.in_waves(block.steady.all, resident, gpu, fast.all) / gpu.clock
    turns = np.maximum(ceil_div(block.steady.all, together * gpu.sm_count), 1)
    dealt = launch.makespan(block.steady, together * gpu.sm_count, slow.all(together) / fast.all(together))
    steady = quick * dealt / turns
    bands = launches = np.zeros_like(block.levels)
    seconds, moved = np.zeros(len(bands)), np.zeros(len(bands))
    for band, count in _lengths(block.levels, setting.steps, foot.most_versions):
        here = (band == block.levels) & (block.reads <= foot.most_reads)
        tiles = block.tiles - np.where(here, block.steady.all, 0)
        bands = bands + count
        seconds = seconds + count * np.where(here, steady, 0.0)
        moved = moved + count * np.where(here, block.steady.all * fast.bytes(), 0.0)
        launches = launches + count * (1 + here * bool(foot.bent))
        if tiles.any():
            each = general_blocks((sizes, block.parts), block.levels, band, setting, gpu)
            left = count * tiles > 0
            seconds = seconds + count * np.where(left, each.seconds(tiles * each.count, setting, gpu), 0.0)
            moved = moved + count * tiles * each.count * each.moved
    return _Run(
        bands=bands,
        launches=launches,
        resident=resident,
        tile_seconds=quick / queue,
        seconds=seconds,
        moved=moved,
    )


def _lengths(levels: Ints, steps: int, versions: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield lengths of the bands of some steps, and how many a run has, both of shape (n,)."""
    times, places = np.unique(levels, return_inverse=True)
    found = [stream_block.lengths(steps, time, versions) for time in times.tolist()]
    for number in range(max(map(len, found), default=0)):
        pairs = np.array([each[number] if number < len(each) else (0, 0) for each in found], dtype=np.int64)
        yield pairs[places, 0], pairs[places, 1]


def blocks_of(sizes: TileSizes, setting: Setting, foot: BlockGrowth) -> StreamTiles:
    """Count what the tiles are."""
    rank = len(setting.shape)
    if len(sizes.threads) != rank:
        raise UsageError("streaming tiles on a GPU have threads per axis", "write it like threads=1x256")
    levels = foot.whole(sizes.time)
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
    of_thread = tuple(ceil_div(extent, count) for extent, count in inner)
    held = _held(foot, levels, of_thread, sizes.threads[1:])
    first = np.minimum(sizes.space[0], setting.shape[0])
    rows = 1.0 * first + foot.rows_base + foot.rows_rate * levels
    parts = foot.parts(levels, sizes.space)
    untested = np.maximum(first - foot.stored_rows - held.rows + 1, 0)
    return StreamTiles(
        levels=levels,
        rows=rows,
        tested=rows - untested,
        row=row,
        turns=turns,
        threads=threads,
        tiles=tiles,
        steady=_steady(sizes, setting, foot, of_thread),
        parts=parts,
        part_bytes=foot.part_values(levels, parts) * setting.itemsize,
        own=1.0 * own,
        loaded=1.0 * row * (first + grown[0]),
        chip_bytes=held.chip * setting.itemsize,
        held=(held.registers + turns * foot.versions) * setting.itemsize // WORD,
        reads=foot.written(levels, held.rows, turns),
        words=held.words,
        moves=held.moves,
        points=points,
    )


def _steady(sizes: TileSizes, setting: Setting, foot: BlockGrowth, cells: tuple[Ints, ...]) -> launch.TileGrid:
    """The tiles that the steady kernel computes, by :func:`tilewright.codegen.gpu.streaming.steady.whole_test`.

    In the middle are those that pass its ``inner_test``: all that they load lies in the grid. Whatever the extents are,
    rows start in memory where vectors may (:func:`tilewright.runtime.devices.gpu.memory_shape`).
    """
    levels = foot.whole(sizes.time)
    axes: list[tuple[Ints, Ints, Ints]] = []
    for axis, (size, extent) in enumerate(zip(sizes.space, setting.shape, strict=True)):
        count = ceil_div(extent + 0 * size, size)
        first, among = 0 * count, count
        if axis:
            own, threads = cells[axis - 1], sizes.threads[axis]
            low, covered = foot.low(axis, levels, size, own, threads), own * threads
        else:
            low = foot.low_base[0] + foot.low_rate[0] * levels
            covered = size + foot.halo_base[0] + foot.halo_rate[0] * levels
        if axis or axis in foot.bent:
            first = np.minimum(ceil_div(low, size), count)
            among = np.clip((extent - covered + low) // size + 1 - first, 0, count - first)
        if axis in foot.bent:
            count, first = among, 0 * count
        axes.append((count, first, among))
    counts, firsts, inside = zip(*axes, strict=True)
    return launch.TileGrid(counts=counts, first=firsts, inside=inside)


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
    reaches, chip = columns[4 : 4 + rank], np.zeros_like(levels)
    pitch = threads[-1]
    for count, reach in zip(threads[:-1], reaches[:-1], strict=True):
        pitch = pitch * (count + 2 * reach)
    pitch = pitch + 2 * reaches[-1]
    fields = len(foot.program.fields)
    each_rows, each_groups = columns[4 + rank : 4 + rank + fields], columns[4 + rank + fields :]
    for rows, groups in zip(each_rows, each_groups, strict=True):
        chip = chip + rows * (ceil_div(groups * pitch, foot.lanes) * foot.lanes)
    return _Held(columns[0], columns[1], chip, columns[2], columns[3])


def _resident(block: StreamTiles, setting: Setting, gpu: Hardware, compiled: CompiledCounts | None) -> Ints:
    """Blocks that are resident together on a multiprocessor; 0 where not even one fits."""
    asked: Ints = STREAM_REGISTERS + STREAM_CELL_REGISTERS[len(setting.shape)] * block.turns + block.held
    used, chip = asked, block.chip_bytes
    spills = asked > np.minimum(SAFE_REGISTERS, launch.most_registers(block.threads, gpu))
    if compiled is not None:
        used, chip, spills = compiled.registers, compiled.shared_bytes, np.zeros_like(spills)
    found = launch.resident(block.threads, used, chip, gpu)
    return np.where((chip <= setting.block_bytes) & ~spills, found, 0).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cycles:
    """Cycles of a multiprocessor for so many blocks together, one tile each, so many advances of it with tests."""

    block: StreamTiles
    setting: Setting
    foot: BlockGrowth
    gpu: Hardware
    tested: Floats

    def all(self, together: Ints | Floats) -> Floats:
        """All parts combined; 0 for no block."""
        some = np.maximum(np.asarray(together), 1)
        return launch.combined(together, self.alone(), self.work(some), self.dram(some))

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
        tests = TESTED_SLOTS[len(self.setting.shape)] * (self.setting.itemsize // WORD) * self.foot.stages
        cell = of_cell + tests * self.tested / np.maximum(block.rows, 1)
        return np.asarray(block.levels * block.turns * cell + block.moves + END_SLOTS * self._ends() + ADVANCE_SLOTS)

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
