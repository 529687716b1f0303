"""A tile of an alignment's table on 8, 16 or 32 bits: scores of a column of tiles, and the row scan.

A score is kept as its distance from the type's lowest value, so that an addition that saturates there is the local
alignment's maximum with zero, for nothing. On 32 bits nothing saturates: the lowest value is 0 and is written out.
"""

from dataclasses import dataclass, fields

from tilewright.base.constants import ALIGNMENT_LANES
from tilewright.codegen import ir

BITS = (8, 16, 32)
BYTE, SCORE, FLAG = (ir.element(name) for name in ("uint8", "int32", "int64"))
ARRAYS = ir.const_pointer(ir.pointer(BYTE))
INDICES = ir.const_pointer(ir.INDEX)
READY, MOST, PROFILED = 0, 1, 2
"""A column's state: the bits that H and V are kept on, the largest H on the lower edge, and per number of bits whether
its profile is made."""
STATE = PROFILED + len(BITS)
_LOWEST = {8: -128, 16: -32768, 32: 0}
_CHECKED = 64  # rows after which saturation is looked for
_CARRIED = 4  # vectors after which a gap that is carried on is looked at
_TABLE = 256


@dataclass(slots=True, kw_only=True)
class TileColumn:
    """What a thread keeps of the column of tiles that it walks down; the first parameters of functions, in order."""

    mine: ir.Expr  # the thread's memory
    state: ir.Expr  # see :data:`READY`
    y: ir.Expr  # the column's letters
    matrix: ir.Expr  # scores of letters
    span: ir.Expr  # columns that there is memory for
    width: ir.Expr  # columns
    letters: ir.Expr  # of the alphabet, how many
    tall: ir.Expr  # rows of a tile
    gap_open: ir.Expr  # cost of a gap's first letter
    gap_extend: ir.Expr  # cost of every further one
    lowest: ir.Expr  # the score of columns that fill up a tile
    largest: ir.Expr  # the largest score of two letters

    @property
    def arguments(self) -> tuple[ir.Expr, ...]:
        """What a function is given for it, see :func:`column_params`."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def plain(self, which: int) -> ir.Expr:
        """H (0) or V (1) as 32-bit numbers."""
        return (self.mine + self.span * (4 * (4 + which))).to(ir.pointer(SCORE))

    def kept(self, which: int, kind: ir.Element) -> ir.Expr:
        """H (0) and V (1), and what they were before the tile (2, 3), in the order of lanes."""
        return (self.mine + self.span * (4 * which)).to(ir.pointer(kind))

    def profile(self, bits: int) -> ir.Expr:
        """The scores of every letter against the columns."""
        before = {8: 0, 16: 1, 32: 3}[bits]
        return (self.mine + self.span * 24 + self.letters * self.span * before).to(ir.pointer(_element(bits)))

    @property
    def edge(self) -> ir.Expr:
        """The vertical edges of a tile: H and E on its left, and on its right."""
        return self.mine + self.span * 24 + self.letters * self.span * 7

    @property
    def codes(self) -> ir.Expr:
        """The letters of the columns in the order of lanes."""
        return self.edge + (self.tall * 16 + 63) / 64 * 64


def column_params(b: ir.Builder) -> TileColumn:
    """Add a column to the parameters of a function."""
    pointers = {
        "mine": ir.pointer(BYTE),
        "state": ir.pointer(ir.INDEX),
        "y": ir.const_pointer(BYTE),
        "matrix": ir.const_pointer(SCORE),
    }
    return TileColumn(
        **{each.name: b.param(each.name, pointers.get(each.name, ir.INDEX)) for each in fields(TileColumn)}
    )


def _element(bits: int) -> ir.Element:
    return ir.element(f"int{bits}")


def levels() -> tuple["BitWidthFunctions", ...]:
    """Make the functions for every number of bits."""
    return tuple(BitWidthFunctions(bits) for bits in BITS)


class BitWidthFunctions:
    """The functions that compute on so many bits."""

    def __init__(self, bits: int) -> None:
        """Make them."""
        self.bits, self.kind = bits, _element(bits)
        self.register = ir.vector(self.kind)
        self.low, self.high = _LOWEST[bits], self.kind.range[1]
        self.profile, self.pack, self.unpack = self._profile(), self._pack(), self._unpack()
        self.fall = self._fall()
        self.carry = self._carry()
        self.tile = self._tile()
        # all but :meth:`attempt`, callees first
        self.functions = (self.profile, self.pack, self.unpack, self.fall, self.carry, self.tile)

    def builder(self, name: str, *, kind: str = "local", distinct: bool = False) -> ir.Builder:
        """Start a function."""
        return ir.Builder(f"tw_{name}{self.bits}", kind=kind, distinct=distinct)

    # Operations on scores

    def add(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        """A sum that is at least 0 and at most what the type holds."""
        return a.apply(ir.Operator.ADDS, self.register, b) if self.bits < BITS[-1] else ir.largest(a + b, self.zero)

    def sub(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        """A difference that is at least 0."""
        return a.apply(ir.Operator.SUBS, self.register, b) if self.bits < BITS[-1] else ir.largest(a - b, self.zero)

    @property
    def zero(self) -> ir.Expr:
        """A vector of zeros."""
        return ir.splat(0, self.register)

    def above(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        """Whether any score is larger than that of another vector in its place."""
        return a.apply(ir.Operator.ANY_GT, self.register, b)

    def moved(self, vector: ir.Expr, lanes: int, first: ir.Operand) -> ir.Expr:
        """A vector's numbers some lanes up, behind others that are all the same."""
        other = ir.splat(first, self.register)
        return ir.Shift(own=vector, other=other, low=True, distance=lanes, type=self.register)

    def vectors(self, width: ir.Expr) -> ir.Expr:
        """How many vectors hold so many columns."""
        return (width + ir.Lanes(self.kind) - 1) / ir.Lanes(self.kind)

    # Functions

    def _profile(self) -> ir.Function:
        """The scores of every letter against the tile's columns; columns beyond the table get the lowest score."""
        b = self.builder("profile")
        at = column_params(b)
        k = b.let("k", self.vectors(at.width))
        lanes, codes = b.let("lanes", ir.Lanes(self.kind)), b.let("codes", at.codes)
        with b.loop("lane", 0, lanes) as lane, b.loop("v", 0, k) as v:
            j = b.let("j", lane * k + v)
            with b.when(j < at.width):
                b.set(codes[v * lanes + lane], at.y[j])
            with b.otherwise():
                b.set(codes[v * lanes + lane], at.letters.to(BYTE))
        profile = b.let("profile", at.profile(self.bits))
        score = b.array("score", ir.pointer(self.kind), _TABLE)
        with b.loop("a", 0, at.letters) as a:
            with b.loop("c", 0, at.letters) as other:
                b.set(score[other], at.matrix[a * at.letters + other].to(self.kind))
            b.set(score[at.letters], at.lowest.to(self.kind))
            b.intrinsic("translate", self.kind, profile + a * k * lanes, codes, score, at.letters + 1, k * lanes)
        return b.function()

    def _pack(self) -> ir.Function:
        """Scores of 32 bits in the order of lanes."""
        b = self.builder("pack")
        to, source = b.param("to", ir.pointer(self.kind)), b.param("from", ir.const_pointer(SCORE))
        width = b.param("width", ir.INDEX)
        k, lanes = b.let("k", self.vectors(width)), b.let("lanes", ir.Lanes(self.kind))
        with b.loop("lane", 0, lanes) as lane, b.loop("v", 0, k) as v:
            j, score = b.let("j", lane * k + v), b.mutable("score", self.low)
            with b.when(j < width):
                b.set(score, source[j].to(ir.INDEX) + self.low)
            b.set(to[v * lanes + lane], score.to(self.kind))
        return b.function()

    def _unpack(self) -> ir.Function:
        """The same the other way round."""
        b = self.builder("unpack")
        to, source = b.param("to", ir.pointer(SCORE)), b.param("from", ir.const_pointer(self.kind))
        width = b.param("width", ir.INDEX)
        k, lanes = b.let("k", self.vectors(width)), b.let("lanes", ir.Lanes(self.kind))
        with b.loop("lane", 0, lanes) as lane, b.loop("v", 0, ir.smallest(k, width - lane * k)) as v:
            b.set(to[lane * k + v], (source[v * lanes + lane].to(ir.INDEX) - self.low).to(SCORE))
        return b.function()

    def _fall(self) -> ir.Function:
        """A score less what a longer gap costs, which may be more than the type's highest number."""
        b = self.builder("fall", kind="inline")
        x, fall = b.param("x", self.register), b.param("fall", ir.INDEX)
        first = b.let("first", ir.smallest(fall, self.high))
        less = b.mutable("less", self.sub(x, ir.splat(first.to(self.kind), self.register)))
        with b.when(fall > first):
            b.set(less, self.sub(less, ir.splat((fall - first).to(self.kind), self.register)))
        return b.function(less)

    def _carry(self) -> ir.Function:
        """Gaps that come into the lanes, each lane's own among them.

        In log2(lanes) steps, fewer once the gap costs more than any score.
        """
        b = self.builder("carry", kind="inline")
        x, cost = b.param("x", self.register), b.param("cost", ir.INDEX)
        gaps, fall = b.mutable("found", x), b.mutable("fall", cost)
        lanes = 1
        while lanes * self.kind.bytes < ALIGNMENT_LANES:  # bytes of the widest vectors
            inside = lanes * self.kind.bytes < ir.VECTOR_BYTES
            with b.when(inside & (fall < 2 * self.high)):
                moved = self.moved(gaps, lanes, self.low)
                b.set(gaps, ir.largest(gaps, b.call(self.fall, moved, fall)))
                b.set(fall, fall + fall)
            lanes *= 2
        return b.function(gaps)

    def _tile(self) -> ir.Function:
        """One tile: k vectors of columns, whose H and V are state. Returns 0 if a score did not fit."""
        b = self.builder("tile", distinct=True)
        fixed, own = ir.const_pointer(self.kind), ir.pointer(self.kind)
        profile, x = b.param("profile", fixed), b.param("x", ir.const_pointer(BYTE))
        rows, k = b.param("rows", ir.INDEX), b.param("k", ir.INDEX)
        h, g = b.param("h", own), b.param("g", own)
        left_h, left_e, corner = b.param("left_h", fixed), b.param("left_e", fixed), b.param("corner", self.kind)
        right_h, right_e = b.param("right_h", own), b.param("right_e", own)
        gap_open, gap_extend = b.param("gap_open", ir.INDEX), b.param("gap_extend", ir.INDEX)
        peak = b.param("found", ir.pointer(ir.INDEX))
        lanes = b.let("lanes", ir.Lanes(self.kind))
        low = b.let("low", self.low, self.register)
        opening = b.let("opening", ir.splat(gap_open.to(self.kind), self.register))
        extending = b.let("extending", ir.splat(gap_extend.to(self.kind), self.register))
        best, carried = b.mutable("best", low), b.mutable("carried", 0)
        beside, fits = b.mutable("beside", corner), b.mutable("fits", 1)
        last_at = b.let("last_at", (k - 1) * lanes)
        i = b.mutable("i", 0)
        with b.loop_while((i < rows) & fits.differs(0)):
            p = b.let("p", profile + x[i].to(ir.INDEX) * k * lanes)
            diagonal = b.mutable("diagonal", self.moved(h.vector(last_at), 1, beside))
            e = b.mutable("e", low)
            b.set(beside, left_h[i])
            with b.loop("v", 0, k) as v:
                at = b.let("at", v * lanes)
                old = b.let("old", h.vector(at))
                gap = b.let("gap", ir.largest(self.sub(g.vector(at), extending), self.sub(old, opening)))
                here = b.let("own", ir.largest(self.add(diagonal, p.vector(at)), gap))
                b.set(g[at], gap)
                b.set(best, ir.largest(best, here))
                b.set(h[at], ir.largest(here, e))
                b.set(e, ir.largest(self.sub(e, extending), self.sub(here, opening)))
                b.set(diagonal, old)
            last = self._carried(b, h, k, carried, b.mutable("in", self.moved(e, 1, left_e[i])), (gap_extend, opening))
            end_h = b.let("end_h", h.vector(last_at))
            b.set(e, ir.largest(e, self.sub(end_h, opening)))
            with b.when(carried.differs(0)):
                b.set(e, ir.largest(e, last))
            b.set(right_h[i], end_h.lane(lanes - 1))
            b.set(right_e[i], e.lane(lanes - 1))
            if self.bits < BITS[-1]:
                with b.when((i % _CHECKED).equals(_CHECKED - 1) | i.equals(rows - 1)):
                    b.set(fits, self.above(best, ir.splat(self.high - 1, self.register)).equals(0))
            b.set(i, i + 1)
        self.largest(b, peak, best)
        return b.function(fits)

    def _carried(
        self,
        b: ir.Builder,
        h: ir.Expr,
        k: ir.Expr,
        carried: ir.Expr,
        incoming: ir.Expr,
        costs: tuple[ir.Expr, ir.Expr],
    ) -> ir.Expr:
        """Carry gaps that come into the lanes on, until the lanes' own values dominate; return the last lanes'."""
        gap_extend, opening = costs
        lanes = ir.Lanes(self.kind)
        low = ir.splat(self.low, self.register)
        extending = ir.splat(gap_extend.to(self.kind), self.register)
        last = b.mutable("last", incoming)
        again = b.mutable("again", 1)
        with b.loop_while(again.differs(0)):
            with b.when(carried.differs(0)):
                b.set(incoming, b.call(self.carry, incoming, gap_extend * k))
            b.set(last, incoming)
            alive, v = b.mutable("alive", 1), b.mutable("v", 0)
            with b.loop_while((v < k) & alive.differs(0)):
                end = b.let("end", ir.smallest(v + _CARRIED, k))
                before = b.mutable("before", low)
                with b.loop("q", v, end) as q:
                    at = b.let("at", q * lanes)
                    b.set(before, h.vector(at))
                    b.set(h[at], ir.largest(before, last))
                    b.set(last, self.sub(last, extending))
                b.set(v, end)
                b.set(alive, self.above(last, self.sub(before, opening)))
            with b.when(carried.differs(0) | alive.equals(0)):
                b.set(carried, alive)
                b.set(again, 0)
            with b.otherwise():
                b.set(carried, 1)
        return last

    def largest(self, b: ir.Builder, to: ir.Expr, vector: ir.Expr) -> None:
        """Store the largest score of a vector."""
        score = b.mutable("largest_score", 0)
        with b.loop("lane", 0, ir.Lanes(self.kind)) as lane:
            b.set(score, ir.largest(score, vector.lane(lane).to(ir.INDEX) - self.low))
        b.set(to[0], score)

    def attempt(self, plain: ir.Function) -> ir.Function:
        """Make the function that computes a tile from 32-bit edges.

        It leaves everything as it was and returns 0 if so many bits are too few.
        """
        b = self.builder("try")
        at = column_params(b)
        x, rows = b.param("x", ir.const_pointer(BYTE)), b.param("rows", ir.INDEX)
        fixed, scores = ir.const_pointer(SCORE), ir.pointer(SCORE)
        left_h, left_e, corner = b.param("left_h", fixed), b.param("left_e", fixed), b.param("corner", ir.INDEX)
        right_h, right_e = b.param("right_h", scores), b.param("right_e", scores)
        peak = b.param("found", ir.pointer(ir.INDEX))
        verdict = b.mutable("good", 1)
        if self.bits < BITS[-1]:
            edge = b.mutable("edge", ir.largest(corner, at.state[MOST]))
            with b.loop("i", 0, rows) as i:
                b.set(edge, ir.largest(edge, ir.largest(left_h[i].to(ir.INDEX), left_e[i].to(ir.INDEX))))
            fits = (edge <= self.high - self.low - 1) & (at.gap_open <= self.high)
            b.set(verdict, fits & (at.gap_extend <= self.high) & (at.largest <= self.high))
        with b.when(verdict.differs(0)):
            self.computed(b, at, plain, (x, rows, left_h, left_e, corner, right_h, right_e, peak, verdict))
        return b.function(verdict)

    def computed(self, b: ir.Builder, at: TileColumn, plain: ir.Function, args: tuple[ir.Expr, ...]) -> None:
        """Compute a tile that may fit."""
        x, rows, left_h, left_e, corner, right_h, right_e, peak, verdict = args
        k, lanes = b.let("k", self.vectors(at.width)), b.let("lanes", ir.Lanes(self.kind))
        h, g, old_h, old_g = (b.let(name, at.kept(n, self.kind)) for n, name in enumerate(("h", "g", "old_h", "old_g")))
        state, profiled = at.state, PROFILED + BITS.index(self.bits)
        with b.when(state[READY].differs(self.bits)):
            b.call(plain, at.mine, at.span, at.width, state)
            with b.when(state[profiled].equals(0)):
                b.call(self.profile, *at.arguments)
            b.set(state[profiled], 1)
            b.call(self.pack, h, at.plain(0), at.width)
            b.call(self.pack, g, at.plain(1), at.width)
            b.set(state[READY], self.bits)
        edge = at.edge.to(ir.pointer(self.kind))
        in_h, in_e, out_h, out_e = (
            b.let(n, edge + at.tall * p) for p, n in enumerate(("in_h", "in_e", "out_h", "out_e"))
        )
        with b.loop("i", 0, rows) as i:
            b.set(in_h[i], (left_h[i].to(ir.INDEX) + self.low).to(self.kind))
            b.set(in_e[i], (left_e[i].to(ir.INDEX) + self.low).to(self.kind))
        count = b.let("count", k * lanes)
        with b.loop("z", 0, count) as z:
            b.set(old_h[z], h[z])
            b.set(old_g[z], g[z])
        edges = (in_h, in_e, (corner + self.low).to(self.kind), out_h, out_e)
        costs = (at.gap_open, at.gap_extend)
        b.set(verdict, b.call(self.tile, at.profile(self.bits), x, rows, k, h, g, *edges, *costs, peak))
        with b.when(verdict.differs(0)):
            with b.loop("i", 0, rows) as i:
                b.set(right_h[i], (out_h[i].to(ir.INDEX) - self.low).to(SCORE))
                b.set(right_e[i], (out_e[i].to(ir.INDEX) - self.low).to(SCORE))
            high = b.mutable("high", self.low, self.register)
            with b.loop("v", 0, k) as v:
                b.set(high, ir.largest(high, h.vector(v * lanes)))
            self.largest(b, state + MOST, high)
        with b.otherwise(), b.loop("z", 0, count) as z:
            b.set(h[z], old_h[z])
            b.set(g[z], old_g[z])


def plain(every: tuple[BitWidthFunctions, ...]) -> ir.Function:
    """Make the function that turns a column's H and V into plain 32-bit numbers."""
    b = ir.Builder("tw_plain")
    memory, span, width = b.param("mine", ir.pointer(BYTE)), b.param("span", ir.INDEX), b.param("width", ir.INDEX)
    state = b.param("state", ir.pointer(ir.INDEX))
    for level in every:
        with b.when(state[READY].equals(level.bits)):
            for which in (0, 1):
                to = (memory + span * (4 * (4 + which))).to(ir.pointer(SCORE))
                b.call(level.unpack, to, (memory + span * (4 * which)).to(ir.const_pointer(level.kind)), width)
    return b.function()
