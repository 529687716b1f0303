"""Streaming tiles of threads that own contiguous cells: what threads hand to each other, and how long rows live.

A thread owns a box of neighbouring cells of the row or plane that its block loads. It keeps them in registers; only
the cells that another thread reads, the *rim*, go to shared memory, of every version and for as many rows as advances
are written out. The *age* of a read is the number of advances since its row was computed. A thread reads a neighbour's
cell from shared memory at the youngest age at which any of its own needs it, and keeps it where it needs it again.

In 3D, where a value is a weighted sum over a box and a thread would keep as many cells of others as it has, it keeps
none: a plane adds its share to every result that reads it while it is at hand, at the youngest age (partial sums along
the stream, as AN5D's associative stencils).
"""

import functools
import itertools
import math
from dataclasses import dataclass

from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.weights import box_sum
from tilewright.schedules.streaming.levels import LevelPipeline

Cell = tuple[int, ...]
"""Indices along the axes that threads share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rims:
    """What threads with a box of cells each hand over.

    Attributes:
        cells: Cells of a thread per shared axis.
        rows: Rows of a version that are in use at a time: as many advances are written out.
        published: Per field, the cells of a thread that others read.
        ages: Per field, the ages at which a thread reads a cell of another one: the distance in threads, and the cell.
        reach: Threads, per shared axis, up to which others read a thread's cells.
        sums: Weights of the reads where a row adds its share to several results at once; else empty.
    """

    cells: Cell
    rows: int
    published: tuple[tuple[Cell, ...], ...]
    ages: tuple[dict[tuple[Cell, Cell], tuple[int, ...]], ...]
    reach: Cell
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
        each = self.pitch(threads)
        return sum(count * self.rows * len(rim) * each for count, rim in zip(versions, self.published, strict=True))

    def pitch(self, threads: Cell) -> int:
        """Places on chip of one cell of every thread, those of threads beyond the ends included."""
        result = 1
        for count, reach in zip(threads, self.reach, strict=True):
            result *= count + 2 * reach
        return result


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


@functools.lru_cache(maxsize=1024)
def rims(program: Program, pipeline: LevelPipeline, cells: Cell) -> Rims:
    """Return what threads hand over that own ``cells`` each, in streaming tiles with a pipeline."""
    fields = program.fields
    boxes = tuple(itertools.product(*map(range, cells)))
    own = (0,) * len(cells)
    found: list[dict[tuple[Cell, Cell], set[int]]] = [{} for _ in fields]
    oldest = 1
    for stage, numbers in enumerate(pipeline.stages):
        for statement in (program.statements[number] for number in numbers):
            kept = fields.index(statement.field)
            oldest = max(oldest, age_of(pipeline, stage, pipeline.stage_of[kept], 0, 0))
            for read in statement.reads:
                if read.field not in program.updated:
                    continue
                field = fields.index(read.field)
                age = age_of(pipeline, stage, pipeline.stage_of[field], read.level, read.offset[0])
                oldest = max(oldest, age)
                for cell in boxes:
                    thread, place = split(tuple(a + b for a, b in zip(cell, read.offset[1:], strict=True)), cells)
                    if thread != own:
                        found[field].setdefault((thread, place), set()).add(age)
    first = [min(ages) for field in found for ages in field.values()]
    threads = [thread for field in found for thread, _ in field]
    again = sum(len(ages) > 1 for field in found for ages in field.values())
    return Rims(
        sums=_sums(program) if len(cells) > 1 and again >= len(boxes) else (),
        cells=cells,
        rows=max([oldest, *(age + 1 for age in first)]),
        published=tuple(tuple(sorted({place for _, place in field})) for field in found),
        ages=tuple({key: tuple(sorted(field[key])) for key in sorted(field)} for field in found),
        reach=tuple(max((abs(thread[axis]) for thread in threads), default=0) for axis in range(len(cells))),
    )


def _sums(program: Program) -> tuple[tuple[Read, float], ...]:
    """The weights of a program whose only statement is a sum over a box of its own last version; else nothing."""
    if len(program.statements) > 1:
        return ()
    statement = program.statements[0]
    weights = box_sum(statement) or {}
    if any(read.level or read.field != statement.field for read in weights):
        return ()
    return tuple(sorted(weights.items(), key=lambda item: item[0].offset))
