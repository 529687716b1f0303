"""How the code of a kernel on a CPU is written where the order of execution, its tiling, leaves that open.

A body decides nothing and holds no threshold: :mod:`tilewright.tuning.spaces.bodies` decides, or whoever writes another
body.
"""

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBlock:
    """Neighbouring rows of results that are computed together."""

    rows: int  # how many, along the last axis but one; 1 in 1D
    planes: bool = False  # whether they are rows of planes that follow each other instead, along the last axis but two
    neighbours: str = "loads"  # one of :data:`NEIGHBOURS`
    # how each weighted sum is written, in the order of :func:`tilewright.programs.stencil.weights.apart`; none where
    # values are computed output by output, operation by operation
    sums: tuple[Sum, ...] = ()
    # the same where vectors are put together from others: by shuffles, and at the ends of the grid's rows
    assembled: tuple[Sum, ...] = ()
    kept: bool = True  # whether vectors that several rows read are kept in registers from their first use to the last
    copied: bool = False  # whether a vector at an end of the grid's rows reads copies of the ends, in the form ``loop``
    # whether the operations of all rows are written in turn, not row after row: chains overlap where operations keep
    # their order, but a value that is no weighted sum then holds more others than fit into 16 registers
    in_turn: bool = True

    @property
    def loops(self) -> bool:
        """Whether the value is one sum in the form ``loop``."""
        return any(each.form == "loop" for each in self.sums)

    def axis(self, rank: int) -> int:
        """The axis, of so many, along which the rows are neighbours; 0 in 1D."""
        return rank - 3 if self.planes else max(rank - 2, 0)

    def __str__(self) -> str:
        sums = "+".join(map(str, self.sums)) or "outputs"
        what = "plane" if self.planes else "row"
        return f"{self.rows} {what}{'s' * (self.rows > 1)}, neighbours by {self.neighbours}, sums by {sums}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCode:
    """How a statement is computed over boxes of cells: parts of a sweep, or of a tile."""

    block: RowBlock  # rows that are computed together
    rest: RowBlock  # single rows, what blocks leave
    cached: int | None = None  # bytes of a field up to which there are blocks; None for fields of any size
    # bytes of a field from which on lines are asked for before they are needed; None for never
    asked: int | None = None
    distance: int = 0  # bytes along a row by which they are asked for ahead
    short: int = 1  # rows together where rows are too short for neighbours by shuffles
    shuffled: int = 0  # vectors of a row from which on neighbours come by shuffles
    end_vectors: bool = True  # whether the ends of the grid's rows are vectors, not single cells
    single: bool = False  # whether all is computed cell by cell

    def of(self, rows: int) -> RowBlock:
        """How so many rows are written: those of :attr:`block`, or one."""
        return self.block if rows == self.block.rows else self.rest


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBlock:
    """Rows of results of a streaming tile that are computed together."""

    planes: int  # how many along axis 0
    lines: int  # how many along the middle axis; 1 in 2D
    # per field that the stage produces, how each weighted sum of its value is written; none where it is computed output
    # by output
    sums: tuple[tuple[Sum, ...], ...]

    def __str__(self) -> str:
        sums = dict.fromkeys("+".join(map(str, each)) or "outputs" for each in self.sums)
        return f"{self.planes}x{self.lines} rows, sums by {', '.join(sums)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCode:
    """How a stage of a streaming tile is computed, for one number of vector registers."""

    blocks: tuple[StreamBlock, ...]  # what is computed together; the first one as a rule, others for what it leaves
    # in 3D, the planes of an advance that each call of a function computes; empty where one loop computes all of an
    # advance
    planes: tuple[int, ...] = ()
    pairs: bool = False  # whether short sums count as weighted sums, too, where two results at a time save products
    # whether compilers are told that nothing else changes what a row reads, so that vectors stay in registers from one
    # place to the next
    distinct: bool = False
    # whether what sums over boxes with one weight have in common for cells of a row is added up once and carried on in
    # registers (:mod:`tilewright.codegen.sums.carry`)
    carried: bool = False
    in_turn: bool = True  # as in :class:`RowBlock`

    @property
    def lines(self) -> int:
        """Rows of a plane that are computed together."""
        return self.blocks[0].lines

    def of(self, planes: int, lines: int) -> StreamBlock:
        """How so many rows are written."""
        return next(each for each in self.blocks if (each.planes, each.lines) == (planes, lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How a stage of a streaming tile is computed, for processors with many and with few vector registers."""

    many: StageCode  # with 32 registers
    few: StageCode  # with 16

    def __str__(self) -> str:
        many, few = (f"{each.blocks[0]}{' carried on' * each.carried}" for each in (self.many, self.few))
        return many if many == few else f"{many} (with 16 registers {few})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How a kernel's code is written."""

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
        return "; ".join(dict.fromkeys(map(str, (*(each.block for each in self.boxes), *self.stages))))
