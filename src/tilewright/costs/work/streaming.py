"""Streaming tiles, in the caches of a CPU's core and in the thread blocks of a GPU.

On a CPU a tile of a band of L levels computes ``rows + halo`` rows of ``width + halo`` cells per level; the slabs that
outlive an advance stay in caches, and how far apart rows are used again says in which.

On a GPU the counts are those of the kernels (:mod:`tilewright.codegen.gpu.streaming`): of every band the whole tiles in
the steady loop, those at edges in that with tests along the axes that threads share, and the first and last advances of
all in that with tests of rows, too.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import CACHE_LINE, SECTOR, WARP, WORD
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.reuse import Uses
from tilewright.costs.work.tiles import product
from tilewright.schedules.families.streaming import odd_side
from tilewright.schedules.streaming.block import BlockGrowth
from tilewright.schedules.streaming.passage import Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWork:
    """Tiles of n tilings; every array has shape (n,)."""

    uses: Uses  # rows that a level uses in an advance
    rows: int  # cells of axis 0 per advance
    bands: Ints
    tiles: Ints  # tiles of a band
    depth: Ints  # levels of a tile
    lines: Floats  # rows of cells that a tile computes per level, on average
    width: Ints  # cells of such a row, in whole cache lines
    advances: Floats  # advances of a level
    side: Ints  # rows of a slab
    footprint_bytes: Floats  # of the slabs that a tile keeps
    points: Floats  # cells that a tile computes over its levels
    met: Floats  # share of the tiles whose rows meet an end of the program's middle
    turned: Floats  # share of the bands in which rows are transposed
    read_values: Floats  # values that a tile reads
    written_values: Floats


def tiles(sizes: TileSizes, facts: Facts) -> StreamWork:
    """Return what tiles are on a CPU."""
    if facts.stream is None or facts.reuse is None:
        raise UsageError("the cost of streaming tiles is known for CPUs and where such tiles are legal")
    rank, steps, growth, uses = len(sizes.space), max(1, facts.steps), facts.stream.growth, facts.reuse
    shape, space, levels = facts.shape, sizes.space, sizes.time
    if rank == 1:
        shape, space = (1, *shape), (np.ones_like(levels), *space)
    bands = ceil_div(steps + 0 * levels, levels)
    bands = bands + (bands - odd_side(steps, facts.history)) % 2
    depth = np.minimum(levels, ceil_div(steps + 0 * bands, bands))
    cuts = [ceil_div(extent + 0 * size, size) for extent, size in zip(shape, space, strict=True)]
    sides = [ceil_div(extent + 0 * count, count) for extent, count in zip(shape, cuts, strict=True)]
    grown = [grow * (count > 1) for grow, count in zip(growth, cuts, strict=True)]  # no neighbour, no halo
    past = facts.levels / max(1, facts.fields) - 1.0  # versions that a step reads besides the newest
    unit = max(1, CACHE_LINE // facts.itemsize)
    width = ceil_div((space[-1] + growth[-1] * (levels + past)).astype(np.int64), unit) * unit
    outer = [side + 0.5 * grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)]
    lines = product(outer)
    slab = space[1] + growth[1] * levels if rank == 3 else np.ones_like(levels)
    held = product([side + grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)])
    written = facts.levels - (facts.levels - facts.fields) / bands  # the last band leaves the newest versions
    turned = np.where(cuts[-1] == 1, np.minimum(1.0, 1.0 / bands), 1.0) if rank > 1 else np.ones(len(levels))
    return StreamWork(
        uses=uses,
        rows=facts.stream.rows,
        bands=bands,
        tiles=np.prod(np.stack(cuts), axis=0),
        depth=depth,
        lines=lines,
        width=width,
        advances=(outer[0] / facts.stream.rows + (rank > 1)) * (outer[1] if rank == 3 else 1.0),
        side=slab,
        footprint_bytes=1.0 * width * facts.itemsize * slab * (uses.slabs + uses.slabs_per_level * levels),
        points=depth * lines * (sides[-1] + 0.5 * growth[-1] * depth),
        met=np.minimum(1.0, facts.divisions.row_ends / cuts[-1]),
        turned=turned,
        read_values=held * width * (facts.levels + facts.constants),
        written_values=product(sides) * written,
    )


def footing(facts: Facts) -> BlockGrowth:
    """Return how a problem's streaming tiles grow."""
    if facts.block is None:
        raise UsageError("the cost of streaming tiles is known in 2D and 3D, and where such tiles are legal")
    return facts.block


@dataclass(frozen=True, slots=True, kw_only=True)
class TileGrid:
    """Tiles of n launches, numbered with the last axis fastest; along every axis those at edges come first.

    In 3D the tiles that are at an edge of the first axis have the first numbers, and of the others the second axis is
    the slowest: all tiles at edges come first.
    """

    counts: tuple[Ints, ...]  # tiles per axis, outermost first, each of shape (n,)
    first: tuple[Ints, ...]  # the first of them that lies in the middle, per axis
    inside: tuple[Ints, ...]  # how many lie there, per axis; 0 where none does

    @property
    def all(self) -> Ints:
        """All tiles; shape (n,)."""
        return np.asarray(np.prod(self.counts, axis=0))

    @property
    def middle(self) -> Ints:
        """Those in the middle along every axis; shape (n,)."""
        return np.asarray(np.prod(self.inside, axis=0))

    def before(self, number: Ints) -> Ints:
        """Return how many in the middle come before one of the tiles; shape (n,)."""
        counts, firsts, insides = self.counts, self.first, self.inside
        rest = number
        if len(counts) > 2:
            begin, (outer, *others) = np.where(insides[0] > 0, firsts[0], 0), counts
            rest = np.maximum(number - begin * np.prod(others, axis=0), 0)
            counts = (counts[1], outer - begin, *counts[2:])
            firsts, insides = (firsts[1], firsts[0] - begin, *firsts[2:]), (insides[1], insides[0], *insides[2:])
        total, among = np.zeros_like(number), np.ones_like(number)
        size, each = np.prod(counts, axis=0), self.middle
        for count, first, inside in zip(counts, firsts, insides, strict=True):
            size, each = size // count, np.where(inside > 0, each // np.maximum(inside, 1), 0)
            place, rest = rest // size, rest % size
            total = total + among * np.clip(place - first, 0, inside) * each
            among = among * ((place >= first) & (place < first + inside))
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTiles:
    """Tiles of n tilings, each of shape (n,)."""

    levels: Ints  # steps of a band
    rows: Floats  # advances of a tile
    tested: Floats  # those of a tile in the middle of the grid that are computed in the loop with tests of rows
    row: Ints  # cells of a loaded row or plane
    turns: Ints  # cells of a thread in it
    threads: Ints
    tiles: Ints  # tiles of a band
    grid: TileGrid  # the same along axes; the middle ones lie inside the grid along those that threads share
    own: Floats  # a tile's own cells
    loaded: Floats  # cells that it loads per version
    chip_bytes: Ints  # shared memory
    held: Ints  # registers that a thread's rows take
    reads: Ints  # reads of a kernel that is written out
    words: Ints  # values of rims that a thread reads and stores on chip per advance
    moves: Ints  # instructions for that, but for rows that pass through the chip
    loads: Ints  # instructions by which a thread loads a row of a version
    beside: Ints  # cells of a thread along the last axis
    stores: Ints  # instructions by which a thread stores a row of a version
    apart: Ints  # values between the first ones of neighbouring threads in them
    passes: Ints  # 1 where rows pass through the chip on their way to memory, else 0
    requests: Floats  # of threads to write a sector of a row, in the mean
    points: Floats  # cells that a tile computes over its levels


def blocks(sizes: TileSizes, facts: Facts) -> StreamTiles:
    """Count what the tiles are."""
    foot = footing(facts)
    rank = len(facts.shape)
    if len(sizes.threads) != rank:
        raise UsageError("streaming tiles on a GPU have threads per axis", "write it like threads=1x256")
    levels = sizes.time
    grown = [base + rate * levels for base, rate in zip(foot.halo_base, foot.halo_rate, strict=True)]
    extents = [size + more for size, more in zip(sizes.space, grown, strict=True)]
    turns, row, threads, own, tiles = (np.ones_like(levels) for _ in range(5))
    points = np.zeros(len(levels))
    for axis in range(1, rank):
        turns = turns * ceil_div(extents[axis], sizes.threads[axis])
        row, threads = row * extents[axis], threads * sizes.threads[axis]
    for size, extent in zip(sizes.space, facts.shape, strict=True):
        tiles, own = tiles * ceil_div(extent + 0 * size, size), own * np.minimum(size, extent)
    for left in range(int(levels.max(initial=1))):
        cells = np.ones(len(levels))
        for size, base, rate in zip(sizes.space, foot.halo_base, foot.halo_rate, strict=True):
            cells = cells * (size + base + rate * left)
        points = points + cells * (left < levels)
    inner = zip(extents[1:], sizes.threads[1:], strict=True)
    of_thread = tuple(ceil_div(extent, count) for extent, count in inner)
    last = (levels, sizes.space[-1], of_thread[-1], sizes.threads[-1])
    held = _held(foot, levels, of_thread, sizes.threads[1:])
    passage = foot.passage(levels, sizes.space[1:], of_thread, sizes.threads[1:], held.rows)
    moved = foot.moved(*last)
    first = np.minimum(sizes.space[0], facts.shape[0])
    rows = 1.0 * first + foot.rows_base + foot.rows_rate * levels
    untested = np.maximum(first - foot.stored_rows - held.rows + 1 - passage.needed, 0)
    return StreamTiles(
        levels=levels,
        rows=rows,
        tested=rows - untested,
        row=row,
        turns=turns,
        threads=threads,
        tiles=tiles,
        grid=_grid(sizes, facts, foot, of_thread),
        own=1.0 * own,
        loaded=1.0 * row * (first + grown[0]),
        chip_bytes=(held.chip + passage.rows * passage.values * foot.versions) * facts.itemsize,
        held=(held.registers + turns * foot.versions) * facts.itemsize // WORD,
        reads=foot.written(levels, held.rows, turns),
        words=held.words,
        moves=held.moves,
        loads=turns // moved,
        beside=of_thread[-1],
        stores=np.where(passage.needed, passage.turns, turns // moved),
        apart=np.where(passage.needed, passage.vector, of_thread[-1]),
        passes=passage.needed,
        requests=write_requests(foot, passage, *last) / np.where(passage.needed, passage.vector, moved),
        points=points,
    )


def write_requests(foot: BlockGrowth, passage: Passage, levels: Ints, size: Ints, cells: Ints, threads: Ints) -> Floats:
    """Return how often threads ask for a sector of a row that they write value by value, in the mean; shape (n,).

    They have ``cells`` values of a line each, of which vectors of v values make 1/v as many requests, or take vectors
    beside those of their neighbours where the row passes through the chip.
    """
    # An instruction stores the p-th vector of every thread of a warp, c values apart. It asks for n sectors where c are
    # a sector S or more, else for all S-th parts of a run of threads, and for one more where a run ends in the middle
    # of one: of a line of s values the c / v instructions ask for (min(c, S) / v) s / S sectors, and at ends for
    # (S - max(c, g)) / S each, if lines begin at multiples of g. A warp ends within a line that has more threads than
    # it, or where it has several lines, at multiples of some threads; both lie so many values away from the line's
    # first, whose neighbours in the same sector it separates.
    sector = SECTOR // foot.itemsize
    passes, low = passage.needed > 0, foot.low(-1, levels, size, cells, threads)
    unit = np.gcd(threads, WARP) if foot.program.rank > 2 else WARP + 0 * threads
    warps = ((low + size - 1) // cells // unit - low // cells // unit) * unit / WARP
    warps, unit = np.where(passes, passage.borders, warps), np.where(passes, passage.unit, unit)
    cells, low = np.where(passes, passage.vector, cells), np.where(passes, 0, low)
    near = np.minimum(cells, sector)
    at_line = np.maximum(near, np.gcd(size, sector))
    step = np.gcd(np.gcd(size, cells * unit), sector)
    at_warp = np.where(low % step < near, np.maximum(near, step), 0)
    return np.asarray(near * (1.0 + (sector - at_line + warps * (sector - at_warp)) / size))


def _grid(sizes: TileSizes, facts: Facts, foot: BlockGrowth, cells: tuple[Ints, ...]) -> TileGrid:
    """The tiles: in the middle are those that pass ``inner_test`` of :mod:`tilewright.codegen.gpu.streaming.tile`."""
    # All that these load lies in the grid along the axes that threads share. Whatever the extents are, rows start in
    # memory where vectors may (:func:`tilewright.runtime.devices.gpu.memory_shape`). Axis 0 is the fastest.
    axes: list[tuple[Ints, Ints, Ints]] = []
    for axis, (size, extent) in enumerate(zip(sizes.space, facts.shape, strict=True)):
        count = ceil_div(extent + 0 * size, size)
        first, among = 0 * count, count
        if axis:
            own, threads = cells[axis - 1], sizes.threads[axis]
            low, covered = foot.low(axis, sizes.time, size, own, threads), own * threads
            below = np.minimum(ceil_div(low, size), count)
            among = np.clip((extent - covered + low) // size + 1 - below, 0, count - below)
            first = count - among
        axes.append((count, first, among))
    counts, firsts, inside = zip(*axes[1:], axes[0], strict=True)
    return TileGrid(counts=counts, first=firsts, inside=inside)


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
    unique, offsets = np.unique(np.stack([levels, *cells]), axis=1, return_inverse=True)
    values, rims = [], []
    for time, *own in unique.T.tolist():
        each, levels_kept = foot.rims(tuple(own)), foot.kept(time)
        rims.append(each)
        registers = sum(n * held for n, held in zip(levels_kept, each.held, strict=True)) + each.passing
        counts = [(n, field) for field, n in enumerate(levels_kept) if n]
        words = sum(n * (len(each.ages[field]) + each.values_published(field)) for n, field in counts)
        moves = sum(n * (each.loads(field) + len(each.published[field])) for n, field in counts)
        rows = [n * each.chip_rows * bool(each.near[field]) for field, n in enumerate(levels_kept)]
        groups = [each.values_published(field) for field in range(len(levels_kept))]
        values.append((each.rows, registers, words, moves, *each.reach, *rows, *groups))
    rank = len(cells)
    table = np.array(values, dtype=np.int64).reshape(len(values), 4 + rank + 2 * len(foot.program.fields))
    columns = table[offsets.ravel()].T
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
