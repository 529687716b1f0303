"""The new values of neighbouring rows of a box, vector by vector: those inside, and those at the ends of the grid.

A vector that starts one cell further than a cache line lies in two of them, and its load takes longer than a shuffle.
Where registers hold whole cache lines, a row that is read at several places is loaded once per vector instead, one
vector ahead; what lies beside the vector's place is put together from it and from the vectors before and after it,
which stay in registers (stream shift: Eichenberger et al., PLDI 2004). Vectors at the ends of a row, where the one
before or after it is not whole, are loaded as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.codegen import ir
from tilewright.codegen.boxes.loops import LoopSum
from tilewright.codegen.boxes.rows import BEGIN, END, START, STOP, BoxStatement, RowPointers, beside, vector_beyond
from tilewright.codegen.sites import Site, extent
from tilewright.codegen.sums import write_sums
from tilewright.codegen.sums.registers import RegisterBlock
from tilewright.codegen.tapes import in_any_order
from tilewright.programs.stencil.expression import Placed, Read
from tilewright.programs.stencil.weights import Apart, apart
from tilewright.schedules.code import Place, RowCode

_FROM, _LENGTH = ir.Var("beside_from"), ir.Var("beside_length")

Load = Callable[[Read, ir.Var], ir.Expr]  # the vector of a read, given the read's row


@dataclass(frozen=True, slots=True)
class Carried:
    """A row that is read elsewhere than at its centre alone, and on which sides of it."""

    row: ir.Var
    low: bool
    high: bool


def carried_rows(of: BoxStatement, rows: RowPointers, block: RowCode) -> tuple[Carried, ...]:
    """The rows read elsewhere than at their centre alone, if neighbours of these rows of results come by shuffles."""
    if block.neighbours != "shuffles":
        return ()
    offsets: dict[ir.Var, set[int]] = {}
    for read in of.statement.reads:
        for shift in range(block.rows):
            offsets.setdefault(rows.of(read, shift), set()).add(read.offset[-1])
    return tuple(Carried(row, min(at) < 0, max(at) > 0) for row, at in offsets.items() if at != {0})


def are_long(of: BoxStatement, length: ir.Expr) -> ir.Expr:
    """Whether rows of boxes so long are for this: where registers hold cache lines, and most vectors are whole."""
    return ir.VECTOR_BYTES.equals(CACHE_LINE) & (length >= of.lanes * of.code.shuffled)


def name_bounds(b: ir.Builder, of: BoxStatement) -> None:
    """Name where such vectors begin in a row, and how many cells they are."""
    # Vectors begin at multiples of their length, perhaps before the first cell, and the row's first has none before it.
    late = BEGIN < ir.largest(START, of.lanes)
    b.let(_FROM.name, ir.select(late, BEGIN + of.lanes, BEGIN))
    room = ir.smallest(ir.smallest(END, STOP), extent(of.site.rank - 1) - of.lanes) - _FROM
    b.let(_LENGTH.name, ir.largest(room, 0) / of.lanes * of.lanes)


def _others(b: ir.Builder, end: ir.Expr, write: Callable[[ir.Expr, ir.Expr], None]) -> None:
    """The vectors of a row up to ``end`` before and behind them; all where there are none of them."""
    parts = ir.select(ir.Int(0) < _LENGTH, ir.Int(1), 0) + 1
    with b.loop("part", 0, parts) as part:
        low = b.let("low", ir.select(part.equals(0), BEGIN, _FROM + _LENGTH))
        high = b.let("high", ir.select(part + 1 < parts, _FROM, end))
        write(low, high)


def _neighbour_loop(
    b: ir.Builder, of: BoxStatement, rows: tuple[Carried, ...], write: Callable[[ir.Expr, Load], None]
) -> None:
    """The loop over vectors that are put together; ``write`` writes the results at a place, given how to load."""
    kind, lanes = of.kind, of.lanes
    near = {
        each.row: tuple(ir.Var(f"{each.row.name}_{side}", kind) for side in ("low", "here", "high")) for each in rows
    }
    with b.when(ir.Int(0) < _LENGTH):
        for each in rows:
            low, here, _ = near[each.row]
            if each.low:
                b.mutable(low.name, each.row.vector(_FROM - lanes))
            if each.high:
                b.mutable(here.name, each.row.vector(_FROM))
        with b.loop("j", _FROM, _FROM + _LENGTH, lanes) as j:
            for each in rows:
                _, here, high = near[each.row]
                if each.high:
                    b.let(high.name, each.row.vector(j + lanes))
                else:
                    b.let(here.name, each.row.vector(j))

            def load(node: Read, row: ir.Var) -> ir.Expr:
                offset = node.offset[-1]
                if row not in near:
                    return row.vector(j + offset)
                low, here, high = near[row]
                return here if offset == 0 else beside(here, low if offset < 0 else high, offset, kind)

            write(j, load)
            for each in rows:
                low, here, high = near[each.row]
                if each.low:
                    b.set(low, here)
                if each.high:
                    b.set(here, high)


AHEAD = ir.Var("ahead")  # whether lines are asked for ahead
_WHOLE = ir.Var("whole_vectors")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Neighbouring rows that are computed together, and what they read of which vectors are put together."""

    b: ir.Builder
    of: BoxStatement
    rows: RowPointers
    carried: tuple[Carried, ...]
    block: int

    @property
    def code(self) -> RowCode:
        """How these rows are written."""
        return self.of.code.of(self.block)

    @property
    def sum(self) -> LoopSum:
        """The statement as a sum in a loop, where it is written so."""
        return LoopSum(self.of)

    def find(self) -> None:
        """Find the rows that are read."""
        if self.code.loops:
            self.sum.find(self.b, self.block)
            return
        if self.of.places:
            self.of.name_inside(self.b, len(self.of.places) - 1, self.block)
        self.b.emit(*self.rows.lets)

    def inside(self) -> None:
        """The vectors from ``begin`` to ``end``, which read nothing outside; neighbours put together where it pays."""
        b = self.b
        end: ir.Expr = END
        if self.of.in_place:
            end = b.let(_WHOLE.name, BEGIN + ir.largest(END - BEGIN, 0) / self.of.lanes * self.of.lanes)
        if self.carried:
            _neighbour_loop(b, self.of, self.carried, self._asking)
            _others(b, end, self._plain)
        else:
            self._plain(BEGIN, end)
        if self.of.in_place:
            with b.when(_WHOLE < END):
                j = b.let("j", ir.smallest(_WHOLE, STOP - self.of.lanes))
                self._vector(j, done=_WHOLE - j)

    def _plain(self, begin: ir.Expr, end: ir.Expr) -> None:
        """Some of these vectors, loaded from where they are read."""
        b, lanes = self.b, self.of.lanes
        if self.of.in_place:
            with b.loop("j", begin, end, lanes) as j:
                self._asking(j)
            return
        # Only the first vector may start later than its turn, so that the loop needs no register for that.
        with b.scope():
            j = b.mutable("j", ir.largest(START, ir.smallest(begin, STOP - lanes)))
            with b.loop("i", begin, end, lanes) as i:
                self._asking(j)
                b.set(j, ir.smallest(i + lanes, STOP - lanes))

    def _asking(self, place: ir.Expr, load: Load | None = None) -> None:
        """One vector of every row, and lines of the rows ahead: the hardware loses track of rows in turn."""
        code = self.of.code
        if code.asked is not None:
            written = () if self.of.in_place else tuple(self.of.target(shift) for shift in range(self.block))
            further = place + code.distance // self.of.site.problem.itemsize
            with self.b.when(AHEAD.differs(0)):
                for row in (*self._foremost(), *written):
                    self.b.intrinsic("prefetch_near", self.of.site.dtype, row + further)
        self._vector(place, load=load)

    def _foremost(self) -> tuple[ir.Var, ...]:
        """Of every version the rows that a sweep has not read before."""
        foremost: list[ir.Var] = []
        for version in dict.fromkeys(key[:2] for key in self.rows.names):
            reads = [read for read in self.of.statement.reads if (read.field, read.level) == version]
            last = max(reads, key=lambda read: read.offset[:-1])
            foremost += (self.rows.of(last, shift) for shift in range(self.block))
        return tuple(foremost)

    def end(self, *, low_side: bool) -> None:
        """The vector at one end of the grid."""
        b, of = self.b, self.of
        j = b.let("j", ir.Int(0) if low_side else extent(of.site.rank - 1) - of.lanes)
        done: ir.Expr | None = None
        if not low_side and of.in_place:
            done = ir.select(_WHOLE < END, ir.smallest(_WHOLE + of.lanes, STOP), _WHOLE) - j
        if self.code.copied:
            copies = self.sum.copied_end(b, self.rows, low_side=low_side)
            self.sum.call(b, self.block, (copies, ir.Int(0), j), done)
            return

        def load(node: Read, row: ir.Var) -> ir.Expr:
            offset = node.offset[-1]
            outside = offset < 0 if low_side else offset > 0
            return vector_beyond(of, node.field, row, offset) if outside else row.vector(j + offset)

        if self.code.loops:
            for row, start in self.sum.found(self.rows).items():
                b.let(row.name, start)
        self._by_reads(j, load, done)

    def _vector(self, place: ir.Expr, *, load: Load | None = None, done: ir.Expr | None = None) -> None:
        """One vector of every row; lanes below ``done`` keep their values."""
        if self.code.loops:
            self.sum.call(self.b, self.block, (self.sum.starts, place, place), done)
        else:
            self._by_reads(place, load, done)

    def _by_reads(self, place: ir.Expr, load: Load | None, done: ir.Expr | None) -> None:
        for shift, value in enumerate(self._values(place, load)):
            target = self.of.target(shift).vector(place)
            self.b.set(target, value if done is None else ir.op(ir.Operator.KEEP, target, value, done))

    def _values(self, place: ir.Expr, load: Load | None) -> Sequence[ir.Expr]:
        """Write one vector of the new values; ``load``: the vector of a read, where not simply at its place."""
        code = self.code
        (forms,) = code.sums if load is None else code.assembled
        split = apart(self.of.statement) if forms else Apart(self.of.statement.tape, ())
        places = [(shift, 0) for shift in range(code.rows)]
        reads = _InRows(self.of.site, self.rows, place, load)
        registers = RegisterBlock(reads, places, letter="l", axis=self.rows.axis, held=True, placed=reads.placed)
        for at in places:
            for read in (read for terms in split.sums for read in terms):
                registers.load(read, at)
        sums = write_sums(registers, split, forms, lambda number: f"s{number}")
        tape = in_any_order(split.tape, self.of.site)
        new = registers.values(tape, lambda at: f"t{at[0]}_", sums, in_turn=code.in_turn)
        self.b.emit(*(registers.kept() if code.kept else registers.body))
        return [new[at] for at in places]


class _InRows:
    """Where the vectors of neighbouring rows come from."""

    def __init__(self, site: Site, rows: RowPointers, place: ir.Expr, load: Load | None) -> None:
        self.site, self.dtype, self.rows, self.place, self.load = site, site.dtype, rows, place, load
        self.order = {row: number for number, row in enumerate(rows.names.values())}

    def key(self, read: Read, at: Place) -> tuple[int, int]:
        return self.order[self.rows.of(read, at[0])], read.offset[-1]

    def placed(self, node: Placed, at: Place) -> ir.Expr:
        table = self.site.place_name(node)
        if node.axis == self.site.rank - 1:
            return table.vector(self.place)
        return table[ir.Var(f"x{node.axis}") + (at[0] if node.axis == self.rows.axis else 0)]

    def vector(self, read: Read, at: Place) -> ir.Expr:
        row = self.rows.of(read, at[0])
        return row.vector(self.place + read.offset[-1]) if self.load is None else self.load(read, row)
