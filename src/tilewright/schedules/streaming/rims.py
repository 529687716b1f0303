"""Streaming tiles of threads that own contiguous cells: what threads hand to each other, and how long rows live.

A thread owns a box of neighbouring cells of the row or plane that its block loads. It keeps them in registers; only
the cells that another thread reads, the *rim*, go to shared memory, of every version and for a few rows. The *age* of a
read is the number of advances since its row was computed. A thread reads a neighbour's cell from shared memory at the
youngest age at which any of its own needs it, and keeps it where it needs it again. A row is published an advance
before it is first read. Cells of a line that a thread reads of the same other one lie side by side there, as many as
one instruction moves.

Where a row reads its own column of a row that the same advance computes, age 0, the units of an advance run first to
last. With one statement and one version, a unit takes what it reads of the oldest row before a new one comes into its
place, so that a row more is not kept.

In 3D, where a value is a weighted sum over a box and a thread would keep as many cells of others as it has, it keeps
none: a plane adds its share to every result that reads it while it is at hand, at the youngest age (partial sums along
the stream, as AN5D's associative stencils).
"""

import itertools
import math
from dataclasses import dataclass

from tilewright.base.facts import fact
from tilewright.base.intmath import round_up
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.weights import box_sum
from tilewright.schedules.streaming.levels import LevelPipeline

Cell = tuple[int, ...]  # indices along the axes that threads share
Group = tuple[Cell, ...]  # cells of a thread that lie side by side on chip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rims:
    """What threads with a box of cells each hand over."""

    cells: Cell  # of a thread, per shared axis
    rows: int  # rows of a version that are in use at a time: multiples of them are written out
    # per field, the cells of a thread that others read, in groups; larger groups first
    published: tuple[tuple[Group, ...], ...]
    # per field, where a thread reads a cell of another one: the group, and the place in it
    near: tuple[dict[tuple[Cell, Cell], tuple[int, int]], ...]
    # per field, the ages at which a thread reads a cell of another one: the distance in threads, and the cell
    ages: tuple[dict[tuple[Cell, Cell], tuple[int, ...]], ...]
    reach: Cell  # threads, per shared axis, up to which others read a thread's cells
    delay: int  # advances between a row's and its publication
    chip_rows: int  # rows of a version on chip, a divisor of ``rows``
    lanes: int  # values that one instruction moves at most, a power of two
    forward: bool  # whether the units of an advance run first to last, since some read what it computes
    taken: bool  # whether a unit takes what it reads of the oldest row before a new one comes into its place
    # weights of the reads where a row adds its share to several results at once; else empty
    sums: tuple[tuple[Read, float], ...] = ()

    @property
    def planes(self) -> tuple[int, ...]:
        """Offsets along axis 0 of the rows that a partial sum adds up, ascending."""
        return tuple(sorted({read.offset[0] for read, _ in self.sums}))

    @property
    def held(self) -> tuple[int, ...]:
        """Per field, the values that a thread keeps in registers of a version: rows, or partial sums."""
        own = math.prod(self.cells)
        if self.sums:
            return (own * (self.planes[-1] - self.planes[0] + 1),) * len(self.ages)
        return tuple(self.rows * (own + more) for more in self.again)

    @property
    def passing(self) -> int:
        """Values that a thread has at hand for partial sums: those of other threads, and the results it completes."""
        return sum(map(len, self.ages)) + math.prod(self.cells) if self.sums else 0

    @property
    def again(self) -> tuple[int, ...]:
        """Per field, the values of other threads that a thread keeps since it reads them again, per row."""
        return tuple(sum(len(ages) > 1 for ages in field.values()) for field in self.ages)

    def values(self, versions: tuple[int, ...], threads: Cell) -> int:
        """Values on chip: of so many versions per field, for so many threads per shared axis."""
        return sum(
            count * self.chip_rows * self.row(field, threads)
            for field, count in enumerate(versions)
            if self.near[field]
        )

    def row(self, field: int, threads: Cell) -> int:
        """Places on chip of a row of a field, a multiple of what one instruction moves."""
        return round_up(self.values_published(field) * self.pitch(threads), self.lanes)

    def values_published(self, field: int) -> int:
        """Values of a row of a field that a thread publishes: a cell counts once per group that it is in."""
        return sum(map(len, self.published[field]))

    def loads(self, field: int) -> int:
        """Instructions by which a thread reads others' cells of a version, per advance."""
        return len({(thread, self.near[field][thread, cell][0]) for thread, cell in self.near[field]})

    def pitch(self, threads: Cell) -> int:
        """Places on chip of one cell of every thread, those of threads beyond the ends included.

        Lines of threads follow each other without a gap, so that a warp's places lie side by side: beyond the end of a
        line lies the next one, which only cells of the halo read there.
        """
        *outer, last = zip(threads, self.reach, strict=True)
        result = last[0]
        for count, reach in outer:
            result *= count + 2 * reach
        return result + 2 * last[1]


def split(cell: Cell, cells: Cell) -> tuple[Cell, Cell]:
    """Return which thread owns a cell that is counted from a thread's first one, and which of its cells it is.

    >>> split((-1, 9), (4, 4))
    ((-1, 2), (3, 1))
    """
    pairs = [divmod(place, count) for place, count in zip(cell, cells, strict=True)]
    return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def age_of(pipeline: LevelPipeline, consumer: int, producer: int, level: int, offset: int) -> int:
    """Advances since a row was computed that a stage reads, ``offset`` rows beside its own and of a version's level."""
    return pipeline.lag.at(1 - level, consumer) - pipeline.lag.offsets[producer] - offset


@fact
def rims(
    program: Program, reads: tuple[tuple[Read, ...], ...], pipeline: LevelPipeline, cells: Cell, lanes: int
) -> Rims:
    """Return what threads hand over that own ``cells`` each, for these reads per statement."""
    fields = program.fields
    boxes = tuple(itertools.product(*map(range, cells)))
    own = (0,) * len(cells)
    read_ages: list[dict[tuple[Cell, Cell], set[int]]] = [{} for _ in fields]
    youngest = oldest = kept_age = 1
    for stage, numbers in enumerate(pipeline.stages):
        for number in numbers:
            target = fields.index(program.statements[number].field)
            kept_age = max(kept_age, age_of(pipeline, stage, pipeline.stage_of[target], 0, 0))
            for read in reads[number]:
                if read.field not in program.updated:
                    continue
                field = fields.index(read.field)
                age = age_of(pipeline, stage, pipeline.stage_of[field], read.level, read.offset[0])
                youngest, oldest = min(youngest, age), max(oldest, age)
                for cell in boxes:
                    thread, place = split(tuple(a + b for a, b in zip(cell, read.offset[1:], strict=True)), cells)
                    if thread != own:
                        read_ages[field].setdefault((thread, place), set()).add(age)
    first = [min(ages) for field in read_ages for ages in field.values()]
    threads = [thread for field in read_ages for thread, _ in field]
    again = sum(len(ages) > 1 for field in read_ages for ages in field.values())
    forward = youngest < 1
    single = len(reads) == 1 and all(read.level == 0 for read in reads[0])
    taken = forward and single and oldest > 1
    rows = max([oldest + (forward and not taken), kept_age + forward, *(age + 1 for age in first)])
    delay = max(0, min(first, default=1) - 1)
    needed = max(first, default=0) - delay + 1
    groups = [_groups(field, cells, lanes) for field in read_ages]
    return Rims(
        sums=_sums(program) if len(cells) > 1 and again >= len(boxes) else (),
        cells=cells,
        rows=rows,
        published=tuple(published for published, _ in groups),
        near=tuple(near for _, near in groups),
        ages=tuple({key: tuple(sorted(field[key])) for key in sorted(field)} for field in read_ages),
        reach=tuple(max((abs(thread[axis]) for thread in threads), default=0) for axis in range(len(cells))),
        delay=delay,
        chip_rows=next(count for count in range(needed, rows + 1) if rows % count == 0),
        lanes=lanes,
        forward=forward,
        taken=taken,
    )


def _groups(
    field: dict[tuple[Cell, Cell], set[int]], cells: Cell, lanes: int
) -> tuple[tuple[Group, ...], dict[tuple[Cell, Cell], tuple[int, int]]]:
    """Cells that lie side by side on chip: of a line, all of which a thread reads of the same other one at once."""
    chosen: dict[tuple[Cell, Cell], Group] = {}
    for thread, cell in sorted(field):
        size = math.gcd(lanes, cells[-1])
        while (thread, cell) not in chosen:
            start = cell[-1] // size * size
            block = tuple((*cell[:-1], start + lane) for lane in range(size))
            ages = {min(field.get((thread, each), {-1})) for each in block}
            if len(ages) == 1 and ages != {-1}:
                chosen |= dict.fromkeys(((thread, each) for each in block), block)
            size //= 2
    published = tuple(sorted(set(chosen.values()), key=lambda group: (-len(group), group)))
    near = {key: (published.index(group), group.index(key[1])) for key, group in chosen.items()}
    return published, near


def _sums(program: Program) -> tuple[tuple[Read, float], ...]:
    """The weights of a program whose only statement is a sum over a box of its own last version; else nothing."""
    if len(program.statements) > 1:
        return ()
    statement = program.statements[0]
    weights = box_sum(statement) or {}
    if any(read.level or read.field != statement.field for read in weights):
        return ()
    return tuple(sorted(weights.items(), key=lambda item: item[0].offset))
