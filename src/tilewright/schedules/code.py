"""Schedules: a tiling, which is the order of execution, and how a kernel's code is written where that leaves it open.

Nothing here decides or holds a threshold: :mod:`tilewright.tuning.spaces` decides, or whoever writes other values. The
code of a kernel on a CPU is a :class:`KernelCode`, whose loops are made of :class:`RowCode`; thread blocks of GPUs,
tables, products of matrices and diagonals have values of their own.
"""

import itertools
from dataclasses import dataclass

from tilewright.base.constants import WIDEST_VECTOR
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.family import Tiling

FORMS = ("outputs", "inputs", "columns", "winograd", "loop")
"""Ways to write a weighted sum: output by output, input by input, column by column, from fewer products, in a loop."""
NEIGHBOURS = ("loads", "shuffles")
"""Where vectors come from that start beside a multiple of their length: memory, or vectors in registers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """How a weighted sum of reads is written for the results that are computed together."""

    # ``inputs``: every vector is added to all results that read it at once
    # ``columns``: reads that differ along one axis alone go together, so that weights stay in registers
    # ``winograd``: two results along axis 0 at a time, from fewer products (F(2, 3))
    # ``loop``: a loop over the places along the rows, which takes the weights from a table
    form: str
    accumulators: int = 1  # partial sums that every result is made of
    weights: int = 0  # most weights that are held in registers: of a column, or of a place along the rows
    loaded: bool = False  # whether weights are loaded into registers by themselves, not as an operand of every product
    # with ``winograd``, whether all places along the rows are written alike, in one loop: columns that are none at
    # another place are taken read by read
    alike: bool = False

    def __str__(self) -> str:
        return f"{self.form}/{self.accumulators}" if self.accumulators > 1 else self.form


Place = tuple[int, int]
"""A row of a block: along the axis of blocked rows, and along the middle axis in 3D where that is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Neighbouring rows of results that are computed together."""

    # along which rows are neighbours: 0 in streaming tiles and in 1D; in boxes the last axis but one, or, of planes
    # that follow each other, the last but two
    axis: int
    rows: int  # how many along it
    lines: int = 1  # in streaming tiles in 3D, rows of each plane along the middle axis

    @property
    def count(self) -> int:
        """Number of results."""
        return self.rows * self.lines

    @property
    def places(self) -> tuple[Place, ...]:
        """Row and line of every result."""
        return tuple(itertools.product(range(self.rows), range(self.lines)))

    def vector(self, read: Read, place: Place) -> tuple[object, ...]:
        """What the reads of one vector have in common."""
        at = list(read.offset)
        at[self.axis] += place[0]
        if self.lines > 1:
            at[1] += place[1]
        return (read.field, read.level, *at)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCode(Block):
    """How such rows are written: of a statement over boxes, or of a stage of a streaming tile."""

    # per value (that of the statement, or of every field that the stage produces), how each weighted sum is written, in
    # the order of :func:`tilewright.programs.stencil.weights.apart`; none of a value that is computed output by output,
    # operation by operation
    sums: tuple[tuple[Sum, ...], ...]
    neighbours: str = "loads"  # one of :data:`NEIGHBOURS`
    # as ``sums`` where vectors are put together from others: by shuffles, and at the ends of the grid's rows
    assembled: tuple[tuple[Sum, ...], ...] = ()
    kept: bool = True  # whether vectors that several rows read are kept in registers from their first use to the last
    copied: bool = False  # whether a vector at an end of the grid's rows reads copies of the ends, in the form ``loop``
    # whether the operations of all rows are written in turn, not row after row: chains overlap where operations keep
    # their order, but a value that is no weighted sum then holds more others than fit into 16 registers
    in_turn: bool = True
    pairs: bool = False  # whether short sums count as weighted sums, too, where two results at a time save products
    # whether what sums over boxes with one weight have in common for cells of a row is added up once and carried on in
    # registers (:mod:`tilewright.codegen.sums.carry`)
    carried: bool = False

    @property
    def loops(self) -> bool:
        """Whether the value is one sum in the form ``loop``."""
        return any(each.form == "loop" for some in self.sums for each in some)

    @property
    def forms(self) -> str:
        """How the sums are written, for people."""
        return ", ".join(dict.fromkeys("+".join(map(str, some)) or "outputs" for some in self.sums))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCode:
    """How a statement is computed over boxes of cells: parts of a sweep, or of a tile."""

    block: RowCode  # rows that are computed together
    rest: RowCode  # single rows, what blocks leave
    cached: int | None = None  # bytes of a field up to which there are blocks; None for fields of any size
    # bytes of a field from which on lines are asked for before they are needed; None for never
    asked: int | None = None
    distance: int = 0  # bytes along a row by which they are asked for ahead
    short: int = 1  # rows together where rows are too short for neighbours by shuffles
    shuffled: int = 0  # vectors of a row from which on neighbours come by shuffles
    end_vectors: bool = True  # whether the ends of the grid's rows are vectors, not single cells
    single: bool = False  # whether all is computed cell by cell
    # of a recurrence, the rows that are computed in turn, cell by cell, so that the chains of their cells overlap: each
    # so many cells behind the one before it
    chains: int = 1
    behind: int = 0

    def of(self, rows: int) -> RowCode:
        """How so many rows are written: those of :attr:`block`, or one."""
        return self.block if rows == self.block.rows else self.rest

    def __str__(self) -> str:
        block = self.block
        if self.chains > 1:
            return f"{self.chains} rows cell by cell, each {self.behind} behind the one before it"
        unit = "row" if block.axis == self.rest.axis else "plane"
        return f"{block.rows} {unit}{'s' * (block.rows > 1)}, neighbours by {block.neighbours}, sums by {block.forms}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCode:
    """How a stage of a streaming tile is computed, for one number of vector registers."""

    blocks: tuple[RowCode, ...]  # what is computed together; the first one as a rule, others for what it leaves
    # in 3D, the planes of an advance that each call of a function computes; empty where one loop computes all of an
    # advance
    planes: tuple[int, ...] = ()
    # whether compilers are told that nothing else changes what a row reads, so that vectors stay in registers from one
    # place to the next
    distinct: bool = False

    @property
    def lines(self) -> int:
        """Rows of a plane that are computed together."""
        return self.blocks[0].lines

    def of(self, rows: int, lines: int) -> RowCode:
        """How so many rows, of so many lines each, are written."""
        return next(each for each in self.blocks if (each.rows, each.lines) == (rows, lines))

    def __str__(self) -> str:
        block = self.blocks[0]
        return f"{block.rows}x{block.lines} rows, sums by {block.forms}{' carried on' * block.carried}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How a stage of a streaming tile is computed, for processors with many and with few vector registers."""

    many: StageCode  # with 32 registers
    few: StageCode  # with 16

    def __str__(self) -> str:
        many, few = str(self.many), str(self.few)
        return many if many == few else f"{many} (with 16 registers {few})"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCode:
    """How a kernel on a CPU is written."""

    # per statement, how it is computed over boxes, then the same of the programs of the regions' middle
    # (:mod:`tilewright.programs.stencil.regions`); empty for streaming tilings
    boxes: tuple[BoxCode, ...] = ()
    # per stage of a streaming tiling, how it is computed, then the same of the regions; empty for others
    stages: tuple[Stage, ...] = ()
    ends_apart: bool = False  # whether the ends of a streaming tile's rows are finished by a function apart, not inline
    chain: int  # most terms of a sum that are added one after the other; longer sums are made of several
    grouped: int  # fewest terms of a sum of plain reads that are grouped by rows, which neighbouring results share
    piece: int  # cells of a piece of a sweep that goes through several statements
    part: int  # in 1D, the cells by which the parts of threads in a sweep grow
    # where every state is kept, the bytes of a field's states from which on these are written past the caches, beside
    # the versions that steps read; None where they are these versions
    streamed: int | None = None

    def __str__(self) -> str:
        return "; ".join(dict.fromkeys(map(str, (*self.boxes, *self.stages))))


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSchedule:
    """A tiling for a processor with every choice made (:mod:`tilewright.tuning.spaces.cpu_schedule`)."""

    tiling: Tiling  # the order of computation, and what was asked for of the code
    body: KernelCode  # how the code is written
    storage: Storage = PLAIN  # where the fields' versions and cells lie
    batch: bool = False  # whether there are many grids, each of which one thread computes
    # whether a call computes some parts of a sweep alone (:class:`tilewright.schedules.family.Parts`); the first one
    # and their end follow the distance between slots in ``size``
    swept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSchedule:
    """A tiling for a GPU with every choice made; :mod:`tilewright.tuning.spaces.gpu_schedule` makes those left open."""

    tiling: Tiling  # the completed tiling as it was asked for or chosen, which comments in the text show
    threads: tuple[int, ...]  # threads per axis of a thread block
    plane_threads: int  # threads of a block that computes a plane of a recurrence, a line of cells each
    copy_threads: int  # threads of a block that refreshes the periodic copies around a grid, a cell each
    # per statement, the cells along axis 0 that a thread computes together: of a prism, or where time is not tiled
    rows: tuple[int, ...] = ()
    pieces: int = 1  # of a prism, the most pieces in which a version of a field is loaded; more are loaded as one
    # of a prism, the unroll factor of the loops that bring whole tiles on chip and write them back
    copy_unroll: int = 1
    advances: int = 1  # of a streaming tile, the advances that are written out: a multiple of the rows in use
    rest: "GpuSchedule | None" = None  # of a streaming tile, how steps that make up no band are computed, one by one

    @property
    def column(self) -> int:
        """Cells along axis 0 that a thread computes where time is not tiled."""
        return max(self.rows, default=1)

    @property
    def cells(self) -> tuple[int, ...]:
        """Cells per axis that a block computes where time is not tiled."""
        return (self.threads[0] * self.column, *self.threads[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocking:
    """Register and cache blocking of the micro-kernel of products of matrices."""

    rows: int  # rows of A per call
    vectors: int  # vectors per row of a panel
    depth: int  # rows of a panel that are used before the next panel's turn

    def panel(self, itemsize: int) -> int:
        """Return the most columns that a panel of values of so many bytes has: where registers are the widest."""
        return self.vectors * WIDEST_VECTOR // itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrolling:
    """How the loops over rows of diagonals are unrolled."""

    vectors: int  # vectors of rows per iteration
    depth: int  # diagonals per pass
    block: int  # rows that are finished before the next, where there are several passes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBlock:
    """How a GPU's group of threads cuts products of matrices."""

    tile: tuple[int, int]  # X and Y, the block of the intermediate on chip
    cells: tuple[int, int]  # ROWS and COLUMNS that one thread computes; they divide the tile
    depth: int  # Z, the depth of the staged slices

    @property
    def threads(self) -> int:
        """Threads per group."""
        return self.tile[0] // self.cells[0] * (self.tile[1] // self.cells[1])

    def groups(self, fusion: str, sizes: tuple[int, int, int, int]) -> int:
        """Return how many groups to start, in one dimension, for matrices of sizes P0 … P3."""
        extent, size = (sizes[0], self.tile[0]) if fusion == "left" else (sizes[3], self.tile[1])
        return -(-extent // size)


def planes_together(statement: Statement) -> bool:
    """Whether the rows that a tile in 3D computes together are those of two planes, not of one.

    A star reads one row of each of several planes for a row of results, together more than L1 holds from one plane of a
    tile to the next. So these come from L2 for every plane that reads them, and for every other one where two planes
    are computed together: of radius r, r + 1 lines for a result in place of 2 r + 1. Rows read at several places, as
    those of a cube, gain more from rows of their own plane.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> [planes_together(program(name).statements[0]) for name in ("star3d4r", "heat3d", "j3d27pt", "j2d5pt")]
    [True, False, False, False]
    """
    rank = len(statement.reads[0].offset) if statement.reads else 0
    if rank < 3 or shares_rows(statement):
        return False
    planes = {(read.field, read.level, read.offset[rank - 3]) for read in statement.reads}
    return len(planes) > len({plane[:2] for plane in planes})


def shares_rows(statement: Statement) -> bool:
    """Whether several rows are read at several places each."""
    outer = [(read.field, read.level, read.offset[:-1]) for read in statement.reads]
    return sum(outer.count(row) > 1 for row in set(outer)) > 1
