"""Streaming tiles of a GPU's thread block: the same pipeline, a row (2D) or plane (3D) at a time, all levels at once.

A tiling of the streaming family that names its ``threads`` is one for a block. It differs from a processor's in three
ways:

- an advance ends with a barrier, so that a unit runs one cell further behind (``pause``) than its reads of other
  threads' cells need; what a column reads of itself, straight ahead, the same advance has computed;
- an advance is one cell of axis 0, along which no two threads lie;
- tiles start at multiples of their sizes, and bands are as long as the tiling says; what is left of the steps is
  computed one by one, without tiles.

The kernels keep ``2 * history`` versions of a field that is updated, slots 0, 1, … in a ring. Versions that follow
each other lie in slots that do, in any of them; a band must not write a slot that it reads.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright.base import constants
from tilewright.base.errors import UsageError
from tilewright.base.facts import fact
from tilewright.base.intmath import ceil_div, round_up
from tilewright.base.units import format_shape
from tilewright.programs.stencil.boundaries import stand_ins
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.schedules.family import Tiling
from tilewright.schedules.streaming.levels import LevelPipeline, of_problem
from tilewright.schedules.streaming.passage import Passage, rows_passing
from tilewright.schedules.streaming.rims import Rims, rims

Ints = NDArray[np.int64]
Integers = TypeVar("Integers", int, Ints)
PAUSE = 1  # cells by which a unit runs behind what its reads of other threads' cells need: those of an advance
VECTOR_BYTES = 16  # bytes that an instruction of a thread moves at most
_HEIGHTS = {2: (7, 5, 3, 1), 3: (2, 1)}
_ROWS = {2: (512, 256), 3: (128, 32, 32)}
"""Own rows of a tile, and what it loads of the other axes, where the tiling does not say."""
_MOST_THREADS = 512  # threads that a block has at most where the tiling does not say
_CELLS = {2: ((4,), (2,), (1,)), 3: ((2, 2), (1, 2), (1, 1))}
"""Cells of a thread per axis that threads share, where the tiling does not say: the first that fit into registers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A band of steps."""

    levels: int  # its steps
    source: int  # slot of the version that it starts from; older ones lie in the slots before
    target: int  # slot of the version that it ends with


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGrowth:
    """What the streaming tiles of a program in thread blocks have in common, whatever their sizes."""

    program: Program
    pipeline: LevelPipeline
    # per statement, its reads and those of the cells that stand for theirs beyond edges of the grid that are not fixed
    reads: tuple[tuple[Read, ...], ...]
    turned: bool  # whether a read along axis 0 may leave the grid
    # selects per cell for reads that leave the grid along any axis, and along those that threads share
    selects: tuple[int, int]
    # per axis, cells that a tile loads beyond its own on both sides, besides those per level
    halo_base: tuple[int, ...]
    halo_rate: tuple[int, ...]  # the same per level
    low_base: tuple[int, ...]  # the cells of these that lie below, besides those per level
    low_rate: tuple[int, ...]  # the same per level
    rows_base: int  # advances of a tile of a band besides one per own row, and besides those per level
    rows_rate: int  # the same per level
    stored_rows: int  # rows between the first and the last of the rows that an advance stores
    # per field, versions that are kept on the way, besides one per level if it is updated
    kept_base: tuple[int, ...]
    versions: int  # those that a band starts from and ends with, over the fields that are updated
    most_versions: int  # the most of one field
    constants: int  # fields that are never updated
    moving_reads: int  # reads per cell of fields that are updated
    constant_reads: int  # reads per cell of fields that are never updated
    stores: int  # statements
    stages: int  # of a step
    most_reads: int  # reads up to which a kernel is written out
    lanes: int  # values that one instruction of a thread moves at most
    itemsize: int  # bytes per value

    def grown(self, levels: int) -> tuple[int, ...]:
        """Return the cells per axis that a tile loads beyond its own, on both sides."""
        return tuple(base + rate * levels for base, rate in zip(self.halo_base, self.halo_rate, strict=True))

    @property
    def edge_registers(self) -> int:
        """Further registers of a thread where reads leave the grid."""
        return constants.STREAM_EDGE_REGISTERS * bool(self.selects[0])

    def rims(self, cells: tuple[int, ...]) -> Rims:
        """Return what threads hand to each other that own so many cells per shared axis."""
        result = rims(self.program, self.reads, self.pipeline, cells, self.lanes)
        return replace(result, sums=()) if self.turned else result  # a row at an end would add to results twice

    def kept(self, levels: int) -> tuple[int, ...]:
        """Return the versions of every field that are kept on the way in bands of so many levels."""
        updated = self.program.updated
        return tuple(
            base + levels if field in updated else 0
            for field, base in zip(self.program.fields, self.kept_base, strict=True)
        )

    def low(self, axis: int, levels: Ints, size: Ints, cells: Ints, threads: Ints) -> Ints:
        """Return the cells that a tile of ``size`` own cells loads below these, along an axis that threads share.

        More than it needs, where its threads have cells to spare: as many as let its own cells begin with a thread's
        first one, or with the first of those that an instruction moves.
        """
        least = self.low_base[axis] + self.low_rate[axis] * levels
        extent = size + self.halo_base[axis] + self.halo_rate[axis] * levels
        aligned, moved = -least % cells, -least % np.gcd(cells, self.lanes)
        spare = np.where(extent + moved <= cells * threads, moved, 0)
        return np.asarray(least + np.where(extent + aligned <= cells * threads, aligned, spare))

    def moved(self, levels: Ints, size: Ints, cells: Ints, threads: Ints) -> Ints:
        """Return the values along the last axis that threads load and store together, from a multiple of them on."""
        low = self.low(-1, levels, size, cells, threads)
        return np.gcd(np.gcd(low, size), np.gcd(cells, self.lanes))

    def passage(
        self, levels: Ints, space: tuple[Ints, ...], cells: tuple[Ints, ...], threads: tuple[Ints, ...], rows: Ints
    ) -> Passage:
        """Return how rows pass through the chip, by what tiles and threads own per shared axis, and the rows in use."""
        moved = self.moved(levels, space[-1], cells[-1], threads[-1])
        lines, block = (math.prod(axes, start=np.ones_like(levels)) for axes in (space[:-1], threads))
        # Threads put vectors on chip that lie so many of them apart. An even number would meet in banks unless vectors
        # change places, and threads then take vectors no longer than those.
        apart = cells[-1] // moved
        vector = np.where(apart % 2 == 0, moved, np.gcd(self.lanes, space[-1]))
        banks = constants.WARP * constants.WORD // (self.itemsize * vector)
        return Passage(
            needed=(apart > 1).astype(np.int64),
            lines=lines,
            length=space[-1],
            vector=vector,
            threads=block,
            rows=rows_passing(rows),
            banks=banks,
            swizzle=np.gcd(apart, banks),
        )

    def written(self, levels: Integers, rows: Integers, cells: Integers) -> Integers:
        """Return the reads of a kernel in which levels, rows in use and a thread's cells are written out."""
        return levels * cells * rows * (self.moving_reads + self.constant_reads)


@fact
def block_growth(problem: Problem) -> BlockGrowth:
    """Return how the streaming tiles of a problem in thread blocks grow, and what their cells read."""
    program = problem.program
    pipeline = of_problem(problem, PAUSE, columns=True)
    low, high = pipeline.halo(0)
    reads = [read for statement in program.statements for read in statement.reads]
    moving = [read for read in reads if read.field in program.updated]
    later = {read.field for read in moving if read.level == 1}
    history = {field: program.history(field) for field in program.updated}
    stages = {field: stage for field, stage in zip(program.fields, pipeline.stage_of, strict=True) if field in history}
    stored = [pipeline.lag.at(-age, stages[field]) for field, kept in history.items() for age in range(kept)]
    return BlockGrowth(
        program=program,
        pipeline=pipeline,
        reads=tuple(with_stand_ins(problem, statement.reads, range(program.rank)) for statement in program.statements),
        turned=any(
            read.offset[0] and problem.sides(read.field)[0][read.offset[0] > 0].kind != "fixed" for read in reads
        ),
        selects=(
            sum(_selects(problem, read, range(program.rank)) for read in reads),
            sum(_selects(problem, read, range(1, program.rank)) for read in reads),
        ),
        halo_base=tuple(a + b for a, b in zip(low, high, strict=True)),
        halo_rate=tuple(a.period + b.period for a, b in zip(pipeline.below, pipeline.above, strict=True)),
        low_base=low,
        low_rate=tuple(each.period for each in pipeline.below),
        rows_base=pipeline.extra_rows(0),
        rows_rate=pipeline.lag.period + pipeline.below[0].period,
        stored_rows=max(stored) - min(stored),
        # The version that a band ends with is kept only where a later stage of its step reads it.
        kept_base=tuple(history[field] - (field not in later) if field in history else 0 for field in program.fields),
        versions=sum(history.values()),
        most_versions=max(history.values()),
        constants=len(program.fields) - len(history),
        moving_reads=len(moving),
        constant_reads=len(reads) - len(moving),
        stores=len(program.statements),
        stages=len(pipeline.stages),
        most_reads=constants.MOST_WRITTEN,
        lanes=max(1, VECTOR_BYTES // problem.itemsize),
        itemsize=problem.itemsize,
    )


def with_stand_ins(problem: Problem, reads: Iterable[Read], axes: Iterable[int]) -> tuple[Read, ...]:
    """Return reads, and those of the cells that stand for theirs where they leave the grid along some axes."""
    result = list(reads)
    for axis in axes:
        result += [
            Read(read.field, read.level, (*read.offset[:axis], other, *read.offset[axis + 1 :]))
            for read in result
            for other in stand_ins(problem.sides(read.field)[axis], read.offset[axis])
        ]
    return tuple(dict.fromkeys(result))


def _selects(problem: Problem, read: Read, axes: Iterable[int]) -> int:
    """Selects by which a cell at an edge finds what a read yields that may leave the grid along some axes."""
    count = 1
    for axis in axes:
        pair, offset = problem.sides(read.field)[axis], read.offset[axis]
        constant = bool(offset) and pair[offset > 0].kind == "constant"
        count = count * (1 + len(stand_ins(pair, offset))) + constant
    return count - 1


@dataclass(frozen=True, kw_only=True)
class BlockTile:
    """A tile of a thread block: what it loads, and what its threads own, keep and read."""

    growth: BlockGrowth  # what does not depend on its sizes
    levels: int  # of a band
    space: tuple[int, ...]  # own cells per axis
    threads: tuple[int, ...]  # per axis, along the first one 1

    @cached_property
    def loaded(self) -> tuple[int, ...]:
        """Cells per axis that it loads, its neighbours' cells included."""
        return tuple(size + more for size, more in zip(self.space, self.growth.grown(self.levels), strict=True))

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """Cells of a thread, which lie side by side, per axis that threads share."""
        return tuple(ceil_div(extent, count) for extent, count in zip(self.loaded[1:], self.threads[1:], strict=True))

    @cached_property
    def thread_cells(self) -> int:
        """Cells of a thread in a row or plane that the tile loads."""
        return math.prod(self.cells)

    @cached_property
    def rims(self) -> Rims:
        """What its threads hand to each other."""
        return self.growth.rims(self.cells)

    @property
    def low(self) -> tuple[int, ...]:
        """Cells that it loads below its own per axis that threads share, see :meth:`BlockGrowth.low`."""
        shared = zip(self.space[1:], self.cells, self.threads[1:], strict=True)
        each = (map(np.array, axis) for axis in shared)
        return tuple(int(self.growth.low(axis, np.array(self.levels), *n)) for axis, n in enumerate(each, start=1))

    @property
    def vector(self) -> int:
        """Values along the last axis that its threads load and store together, see :meth:`BlockGrowth.moved`."""
        each = (np.array(sizes[-1]) for sizes in (self.space, self.cells, self.threads))
        return int(self.growth.moved(np.array(self.levels), *each))

    @property
    def written_reads(self) -> int:
        """Reads of its kernel, if levels, a thread's cells and the rows in use are written out."""
        return self.growth.written(self.levels, self.rims.rows, self.thread_cells)

    @property
    def written(self) -> bool:
        """Whether these are few enough."""
        return self.written_reads <= self.growth.most_reads

    @cached_property
    def passage(self) -> Passage:
        """Whether and how its rows pass through the chip on their way to memory."""
        shared = (self.space[1:], self.cells, self.threads[1:])
        space, cells, threads = (tuple(map(np.array, sizes)) for sizes in shared)
        return self.growth.passage(np.array(self.levels), space, cells, threads, np.array(self.rims.rows))

    @property
    def rim_values(self) -> int:
        """Values that it keeps on chip for its threads to read, a multiple of what an instruction moves."""
        return self.rims.values(self.growth.kept(self.levels), self.threads[1:])

    @property
    def chip_values(self) -> int:
        """Values that it keeps on chip."""
        return self.rim_values + int(self.passage.rows * self.passage.values) * self.growth.versions

    @property
    def held_values(self) -> int:
        """Values that a thread keeps in registers: its rows, what it keeps of others, and what it fetches."""
        kept = zip(self.growth.kept(self.levels), self.rims.held, strict=True)
        return sum(n * each for n, each in kept) + self.thread_cells * self.growth.versions + self.rims.passing

    @property
    def in_registers(self) -> bool:
        """Whether what a thread keeps should fit into its registers."""
        words = self.held_values * self.growth.itemsize // constants.WORD + self.growth.edge_registers
        registers = (
            words + constants.STREAM_REGISTERS + constants.STREAM_CELL_REGISTERS[len(self.space)] * self.thread_cells
        )
        warps = round_up(ceil_div(math.prod(self.threads), constants.WARP), constants.WARP_UNIT)
        return registers <= min(
            constants.SAFE_REGISTERS,
            constants.REGISTERS // (warps * constants.WARP) // constants.REGISTER_UNIT * constants.REGISTER_UNIT,
        )


def tile_of(problem: Problem, tiling: Tiling) -> BlockTile:
    """Return the tile of a completed tiling with threads."""
    growth = block_growth(problem)
    return BlockTile(growth=growth, levels=tiling.time, space=tiling.space, threads=tiling.threads)


def bands(steps: int, levels: int, versions: int, slot: int = 0) -> Iterator[Band]:
    """Yield the bands of some steps that start with the version in a slot; see :func:`lengths`.

    What a band writes lies opposite what it reads, or just behind it where it leaves some of that to the next one.

    >>> [(band.levels, band.source, band.target) for band in bands(10, 4, 1)]
    [(4, 0, 1), (4, 1, 0), (1, 0, 1), (1, 1, 0)]
    >>> [(band.levels, band.source, band.target) for band in bands(7, 3, 2)]
    [(3, 0, 2), (3, 2, 0), (1, 0, 1)]
    """
    for each, count in lengths(steps, levels):
        for _ in range(count):
            target = (slot + min(each, versions)) % (2 * versions)
            yield Band(levels=each, source=slot, target=target)
            slot = target


def lengths(steps: int, levels: int) -> tuple[tuple[int, int], ...]:
    """Return the bands of some steps as pairs of a length and how many follow each other: whole ones, and single steps.

    >>> lengths(100, 20), lengths(30, 14), lengths(1, 20), lengths(3, 1)
    (((20, 5),), ((14, 2), (1, 2)), ((1, 1),), ((1, 3),))
    """
    count, rest = divmod(steps, levels)
    return tuple((length, number) for length, number in ((levels, count), (1, rest)) if number)


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the steps of a band and the sizes of a tiling with threads."""
    rank = problem.program.rank
    if rank not in _ROWS:
        raise UsageError(
            f"streaming tiles of thread blocks are for 2D and 3D programs, {problem.program.name!r} is {rank}D",
            "use hexagonal on a GPU, or leave threads out",
        )
    time, space = default_sizes(problem)
    example = f"write it like streaming:t={time},s={format_shape(space)},threads={'1x' * (rank - 1)}64"
    for key, value in {"sub": tiling.sub, "rows": tiling.rows}.items():
        if value:
            raise UsageError(f"a streaming tiling with threads has no {key}, got {str(tiling)!r}", example)
    if len(tiling.threads) != rank or tiling.threads[0] != 1:
        raise UsageError(
            f"threads of a streaming tiling are given per axis, {rank} here, the first one 1, got {tiling}", example
        )
    if math.prod(tiling.threads) > constants.MAX_BLOCK_THREADS:
        raise UsageError(f"a thread block has at most {constants.MAX_BLOCK_THREADS} threads, got {tiling}", example)
    time = time if tiling.time == 1 and not tiling.space else tiling.time
    return replace(tiling, time=time, space=tiling.space or space)


def threads_for(problem: Problem, tiling: Tiling) -> Tiling:
    """Return a streaming tiling with threads: those given, or as many as have a few cells of the loaded row each."""
    if tiling.threads or problem.program.rank not in _ROWS:
        return tiling
    time, space = (tiling.time, tiling.space) if tiling.space else default_sizes(problem)
    return replace(tiling, threads=_threaded(problem, time, space).threads, rows=None)


def _threaded(problem: Problem, time: int, space: tuple[int, ...]) -> BlockTile:
    """The tile whose threads have as many cells as fit into registers."""
    rank, growth = problem.program.rank, block_growth(problem)
    row = [size + more for size, more in zip(space, growth.grown(time), strict=True)]
    for cells in _CELLS[rank]:
        counts = [ceil_div(extent, count) for extent, count in zip(row[1:], cells, strict=True)]
        if rank == 2:
            counts[-1] = round_up(counts[-1], constants.WARP)
        inner = min(counts[-1], _MOST_THREADS)
        outer = tuple(max(1, min(_MOST_THREADS // inner, count)) for count in counts[:-1])
        tile = BlockTile(growth=growth, levels=time, space=space, threads=(1, *outer, inner))
        if tile.in_registers and tile.written:
            break
    return tile


def default_sizes(problem: Problem) -> tuple[int, tuple[int, ...]]:
    """Return levels and sizes of a tile where nothing else is asked for: the most levels that are not too many."""
    rank, growth = problem.program.rank, block_growth(problem)
    rows = _ROWS[rank]
    for time in reversed(_HEIGHTS[rank]):
        grown = growth.grown(time)[1:]
        space = (rows[0], *(max(1, row - more) for row, more in zip(rows[1:], grown, strict=True)))
        tile = _threaded(problem, time, space)
        wide = all(2 * more <= row for row, more in zip(rows[1:], grown, strict=True))
        if time == _HEIGHTS[rank][-1] or (wide and _fits(tile)):
            chosen = time, space
    return chosen[0], _narrowed(problem, *chosen)


def _narrowed(problem: Problem, time: int, space: tuple[int, ...]) -> tuple[int, ...]:
    """Halve the loaded cells along axis 1 until the tile fits on the chip and into registers: of wide reaches."""
    growth = block_growth(problem)
    more = growth.grown(time)[1]
    while space[1] > 1 and not _fits(_threaded(problem, time, space)):
        space = (space[0], max(1, (space[1] + more) // 2 - more), *space[2:])
    return space


def _fits(tile: BlockTile) -> bool:
    return tile.in_registers and tile.written and tile.chip_values * tile.growth.itemsize <= constants.STATIC_SHARED
