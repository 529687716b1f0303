"""Streaming tiles of a GPU's thread block: the same pipeline, a row (2D) or plane (3D) at a time, all levels at once.

A tiling of the streaming family that names its ``threads`` is one for a block. It differs from a processor's in three
ways:

- all units of an advance run at the same time, between two barriers, so that a unit runs one cell further behind
  (``pause``) than its reads need;
- an advance is one cell of axis 0, along which no two threads lie;
- tiles start at multiples of their sizes, and bands are as long as the tiling says, the last ones aside.

The kernels keep ``2 * history`` versions of a field that is updated, slots 0, 1, … in a ring. A band that starts at
version ``b`` must not write a slot that it reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tilewright.base.constants import MAX_BLOCK_THREADS, STATIC_SHARED, WARP
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_shape
from tilewright.programs.problem import Problem
from tilewright.programs.stencil import Program
from tilewright.tilings.pipeline import Growth, Pipeline, of_problem
from tilewright.tilings.tiling import Tiling

Ints = NDArray[np.int64]
PAUSE = 1
"""Cells by which a unit runs behind what its reads need: those of an advance."""
MOST_READS = 2000
"""Reads up to which a kernel of a tile is written out; beyond, it is slow to compile and to run."""
_HEIGHTS = {2: (7, 5, 3, 1), 3: (2, 1)}
_ROWS = {2: (512, 256), 3: (128, 32, 32)}
"""Own rows of a tile, and what it loads of the other axes, where the tiling does not say."""
_CELLS = {2: 256, 3: 512}
"""Threads of a block where the tiling does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A band of steps.

    Attributes:
        levels: Its steps.
        source: Slot of the version that it starts from; older ones lie in the slots before.
        target: Slot of the version that it ends with.
    """

    levels: int
    source: int
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Footing:
    """What a cost model needs to know of a program's streaming tiles in thread blocks, whatever their sizes.

    Attributes:
        program: The program.
        halo_base: Cells that a tile loads beyond its own on both sides, per axis, besides those per level.
        halo_rate: The same per level.
        lag_base: Rows by which the last level runs behind the first row that is loaded, besides those per level.
        lag_rate: The same per level.
        depth: Rows of a ring.
        ring_base: Rings on chip besides those per level.
        ring_fields: Rings per level.
        versions: Versions that a band starts from and ends with, over the fields that are updated.
        most_versions: The most of one field.
        constants: Fields that are never updated.
        shared_reads: Reads per cell of neighbours that lie in another thread's column.
        column_reads: Reads per cell along axis 0.
        constant_reads: Reads per cell of fields that are never updated.
        stores: Statements.
        stages: Stages of a step.
        most_reads: Reads up to which a kernel is written out.
    """

    program: Program
    halo_base: tuple[int, ...]
    halo_rate: tuple[int, ...]
    lag_base: int
    lag_rate: int
    depth: int
    ring_base: int
    ring_fields: int
    versions: int
    most_versions: int
    constants: int
    shared_reads: int
    column_reads: int
    constant_reads: int
    stores: int
    stages: int
    most_reads: int

    def whole(self, time: Ints) -> Ints:
        """Return :func:`whole_levels` of arrays."""
        versions = self.most_versions
        if versions == 1:
            return time
        ring = 2 * versions
        return np.where(time <= versions, time, versions + (time - versions) // ring * ring)

    def written(self, levels: Ints, cells: Ints) -> Ints:
        """Return :func:`written_reads` of arrays of levels and cells of a thread."""
        reads = self.shared_reads + self.column_reads + self.constant_reads
        return np.asarray(levels * cells * self.depth * reads)


def footing(problem: Problem) -> Footing:
    """Return how the streaming tiles of a problem in thread blocks grow, and what their cells read."""
    program, pipeline = problem.program, of_block(problem)
    low, high = zip(*(halo(pipeline, levels) for levels in (1, 2)), strict=True)
    each = [tuple(a + b for a, b in zip(low[i], high[i], strict=True)) for i in (0, 1)]
    reads = [read for statement in program.statements for read in statement.reads]
    moving = [read for read in reads if read.field in program.updated]
    first = [-pipeline.lag.at(-program.history(f), pipeline.stage_of[i]) for i, f in enumerate(program.fields)]
    kept = rings(problem, 1)
    updated = len(program.updated)
    return Footing(
        program=program,
        halo_base=tuple(2 * a - b for a, b in zip(*each, strict=True)),
        halo_rate=tuple(b - a for a, b in zip(*each, strict=True)),
        lag_base=max(pipeline.lag.offsets) + max(first) - pipeline.lag.period,
        lag_rate=pipeline.lag.period,
        depth=max(rows for _, rows in kept),
        ring_base=sum(versions for versions, _ in kept) - updated,
        ring_fields=updated,
        versions=sum(program.history(field) for field in program.updated),
        most_versions=history(problem),
        constants=len(program.fields) - updated,
        shared_reads=sum(any(read.offset[1:]) for read in moving),
        column_reads=sum(not any(read.offset[1:]) for read in moving),
        constant_reads=len(reads) - len(moving),
        stores=len(program.statements),
        stages=len(pipeline.stages),
        most_reads=MOST_READS,
    )


def of_block(problem: Problem) -> Pipeline:
    """Return the pipeline of a problem in a thread block."""
    return of_problem(problem, PAUSE)


def history(problem: Problem) -> int:
    """Return the most versions that a step of a problem starts from, over the fields that it updates."""
    return max(problem.program.history(field) for field in problem.program.updated)


def whole_levels(most: int, versions: int) -> int:
    """Return the length of a whole band of at most so many steps.

    >>> whole_levels(8, 1), whole_levels(8, 2), whole_levels(1, 2)
    (8, 6, 1)
    """
    if versions == 1 or most <= versions:
        return most
    ring = 2 * versions
    return versions + (most - versions) // ring * ring


def bands(steps: int, most: int, versions: int) -> Iterator[Band]:
    """Yield the bands of some steps that start at version 0 in slot 0; version ``steps`` ends up in its own slot.

    With one version the bands alternate between two slots, and their number has the parity of the steps. With several,
    a band is at most as long as the history, or longer by a multiple of the ring, less the history: then the versions
    that it writes lie opposite those that it reads.

    >>> [band.levels for band in bands(10, 4, 1)], [band.levels for band in bands(9, 4, 1)]
    ([4, 4, 1, 1], [4, 3, 2])
    >>> [(band.levels, band.source, band.target) for band in bands(9, 6, 2)]
    [(6, 0, 2), (2, 2, 0), (1, 0, 1)]
    """
    if versions == 1:
        for number, levels in enumerate(_alternating(steps, most)):
            yield Band(levels=levels, source=number % 2, target=(number + 1) % 2)
        return
    slot, ring = 0, 2 * versions
    while steps:
        levels = whole_levels(min(most, steps), versions)
        yield Band(levels=levels, source=slot, target=(slot + levels) % ring)
        slot, steps = (slot + levels) % ring, steps - levels


def _alternating(steps: int, most: int) -> Iterator[int]:
    """Lengths of bands whose number is odd where the steps are; all but the last three are whole."""
    count = ceil_div(steps, most)
    count += (count - steps) % 2
    while count:
        levels = min(most, steps - (count - 1))
        if count <= 2:
            levels = ceil_div(steps, count)
        yield levels
        steps, count = steps - levels, count - 1


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the steps of a band and the sizes of a tiling with threads.

    Raises:
        UsageError: If a key does not apply or a value is out of its range.
    """
    rank = problem.program.rank
    if rank not in _ROWS:
        raise UsageError(
            f"streaming tiles of thread blocks are for 2D and 3D programs, {problem.program.name!r} is {rank}D",
            "use hexagonal on a GPU, or leave threads out",
        )
    time, space = default_sizes(problem)
    example = f"write it like streaming:t={time},s={format_shape(space)},threads={'1x' * (rank - 1)}{_CELLS[rank]}"
    for key, value in {"sub": tiling.sub, "rows": tiling.rows, "variant": tiling.variant != "fixed"}.items():
        if value:
            raise UsageError(f"a streaming tiling with threads has no {key}, got {str(tiling)!r}", example)
    if len(tiling.threads) != rank or tiling.threads[0] != 1:
        raise UsageError(
            f"threads of a streaming tiling are given per axis, {rank} here, the first one 1, got {tiling}", example
        )
    count = 1
    for each in tiling.threads:
        count *= each
    if count > MAX_BLOCK_THREADS:
        raise UsageError(f"a thread block has at most {MAX_BLOCK_THREADS} threads, got {tiling}", example)
    time = time if tiling.time == 1 and not tiling.space else tiling.time
    return replace(tiling, time=time, space=tiling.space or space)


def threads_for(problem: Problem, tiling: Tiling) -> Tiling:
    """Return a streaming tiling with threads: those given, or about a cell of the loaded row or plane for each."""
    rank = problem.program.rank
    if tiling.threads or rank not in _ROWS:
        return tiling
    time, space = (tiling.time, tiling.space) if tiling.space else default_sizes(problem)
    row = loaded(problem, time, space)
    inner = min(_CELLS[rank] if rank == 2 else WARP, ceil_div(row[-1], WARP) * WARP)
    outer = tuple(max(1, min(_CELLS[rank] // inner, extent)) for extent in row[1:-1])
    return replace(tiling, threads=(1, *outer, inner), rows=None)


def default_sizes(problem: Problem) -> tuple[int, tuple[int, ...]]:
    """Return levels and sizes of a tile where nothing else is asked for: the most levels that are not too many."""
    rank, chosen = problem.program.rank, (1, _ROWS[problem.program.rank])
    for time in reversed(_HEIGHTS[rank]):
        low, high = halo(of_block(problem), whole_levels(time, history(problem)))
        grown = [a + b for a, b in zip(low, high, strict=True)]
        space = tuple(max(1, row - more) for row, more in zip(_ROWS[rank][1:], grown[1:], strict=True))
        tiling = Tiling(family="streaming", time=time, space=(_ROWS[rank][0], *space))
        wide = all(2 * more <= row for row, more in zip(_ROWS[rank][1:], grown[1:], strict=True))
        small = _bytes(problem, time, tiling.space) <= STATIC_SHARED
        short = written_reads(problem, threads_for(problem, tiling)) <= MOST_READS
        if time == _HEIGHTS[rank][-1] or (wide and small and short):
            chosen = time, tiling.space
    return chosen[0], _narrowed(problem, *chosen)


def _narrowed(problem: Problem, time: int, space: tuple[int, ...]) -> tuple[int, ...]:
    """Halve the loaded cells along axis 1 until the tile fits on the chip: wide reaches in double precision."""
    low, high = halo(of_block(problem), whole_levels(time, history(problem)))
    while space[1] > 1 and _bytes(problem, time, space) > STATIC_SHARED:
        more = low[1] + high[1]
        space = (space[0], max(1, (space[1] + more) // 2 - more), *space[2:])
    return space


def _bytes(problem: Problem, time: int, space: tuple[int, ...]) -> int:
    """Bytes on chip of a tile."""
    return chip_values(problem, Tiling(family="streaming", time=time, space=space)) * problem.itemsize


def chip_values(problem: Problem, tiling: Tiling) -> int:
    """Return the values that a block keeps on chip."""
    plane = 1
    for extent in loaded(problem, tiling.time, tiling.space)[1:]:
        plane *= extent
    levels = whole_levels(tiling.time, history(problem))
    return sum(versions * rows for versions, rows in rings(problem, levels)) * plane


def thread_cells(problem: Problem, tiling: Tiling) -> int:
    """Return the cells of a thread in a row or plane that a tile loads."""
    row = loaded(problem, tiling.time, tiling.space)
    cells = 1
    for extent, count in zip(row[1:], tiling.threads[1:], strict=True):
        cells *= ceil_div(extent, count)
    return cells


def column_values(problem: Problem, tiling: Tiling) -> int:
    """Return the values that a thread's own columns have on chip."""
    kept = rings(problem, whole_levels(tiling.time, history(problem)))
    return sum(versions for versions, _ in kept) * max(rows for _, rows in kept) * thread_cells(problem, tiling)


def written_reads(problem: Problem, tiling: Tiling) -> int:
    """Return the reads of a kernel in which levels, a thread's cells and a ring's rows are written out."""
    levels = whole_levels(tiling.time, history(problem))
    depth = max(rows for _, rows in rings(problem, levels))
    reads = sum(len(statement.reads) for statement in problem.program.statements)
    return levels * depth * thread_cells(problem, tiling) * reads


def loaded(problem: Problem, time: int, space: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cells per axis that a tile of a whole band loads, its neighbours' cells included."""
    levels = whole_levels(time, history(problem))
    low, high = halo(of_block(problem), levels)
    return tuple(size + a + b for size, a, b in zip(space, low, high, strict=True))


def halo(pipeline: Pipeline, levels: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cells that a tile of some levels loads below and above its own, per axis."""
    pairs = zip(pipeline.history, pipeline.stage_of, strict=True)
    ages = [(levels + age, stage) for versions, stage in pairs for age in range(versions)]

    def most(sides: tuple[Growth, ...]) -> tuple[int, ...]:
        return tuple(max(side.at(left, stage) for left, stage in ages) for side in sides)

    return most(pipeline.below), most(pipeline.above)


def extra_rows(problem: Problem, levels: int) -> int:
    """Return the advances of a tile of a whole band besides one per own row: its halo, and the lag of its levels."""
    pipeline = of_block(problem)
    lag, below, above = pipeline.lag, pipeline.below[0], pipeline.above[0]
    versions = zip(pipeline.history, pipeline.stage_of, strict=True)
    first = [lag.at(-1 - age, stage) - below.at(levels + age, stage) for kept, stage in versions for age in range(kept)]
    last = [lag.at(levels - 1, stage) + above.at(0, stage) for stage in range(len(pipeline.stages))]
    return max(last) - min(first)


def rings(problem: Problem, levels: int) -> tuple[tuple[int, int], ...]:
    """Return per field the versions that a block keeps on chip, and the cells of axis 0 of each.

    Fields that are never updated are read from memory, (0, 0). The version that a band ends with is kept only where a
    later stage of its step reads it.
    """
    program, pipeline = problem.program, of_block(problem)
    depth = max(pipeline.keep[program.fields.index(field)] for field in program.updated) + 1
    found = []
    for field, versions in zip(program.fields, pipeline.history, strict=True):
        if field not in program.updated:
            found.append((0, 0))
            continue
        again = any(read.field == field and read.level == 1 for s in program.statements for read in s.reads)
        found.append((versions + levels - (not again), depth))
    return tuple(found)
