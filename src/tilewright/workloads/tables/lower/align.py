"""The CPU kernel of local alignment with affine gaps (Smith-Waterman, Gotoh): scores of two whole sequences.

The table is cut into orthogonal tiles of ``t`` rows and ``s`` columns. A thread owns every so many columns of tiles and
walks down; it waits for the tile on its left, so the tiles of an anti-diagonal run at the same time. Inside a tile the
columns are dealt to the lanes of vectors, neighbouring ``sub`` columns to a lane (the sub-tiles), and rows are computed
one after the other (a row scan): every lane first assumes that no horizontal gap comes in from the lane on its left,
then gaps that do come in are carried on until the lane's own values dominate them.

A tile is computed on 8 bits where the scores on its edges allow; if one saturates, it is computed again on 16 bits, and
then on 32 (:mod:`tilewright.workloads.tables.lower.align_tile`). Edges between tiles are 32-bit numbers; with ``keep``
all of them stay, from which an alignment is traced.

For every row i and column j, with a gap of length k costing open + (k - 1) extend:

    E(i, j) = max(E(i, j-1) - extend, H(i, j-1) - open)      V(i, j) = max(V(i-1, j) - extend, H(i-1, j) - open)
    H(i, j) = max(0, H(i-1, j-1) + score(x_i, y_j), E(i, j), V(i, j))
"""

import functools

from tilewright.base.constants import CACHE_LINE
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.source import KernelSource, c_source
from tilewright.workloads.tables.lower.align_tile import (
    ARRAYS,
    BITS,
    BYTE,
    FLAG,
    INDICES,
    MOST,
    SCORE,
    STATE,
    TileColumn,
    levels,
    plain,
)

SIZES = ("m", "n", "letters", "open", "extend", "t", "s", "threads", "keep", "bits", "lowest", "own")
"""What ``size`` holds: rows, columns, letters of the alphabet, gap costs, the tile, threads, whether edges are kept,
the least number of bits to compute on (8, 16 or 32), the score of columns that fill up a tile, and bytes of work per
thread."""
_FLAG_WORDS = 16
_VERSION = 2  # raised when the text changes
_CALM = 64  # scores at the lower edge of a tile below which the next one is tried on fewer bits again
_OPEN_E, _OPEN_V = 4, 8
"""Bits of a direction: a horizontal gap, or a vertical one, goes on. The lower two say where H comes from."""
_START, _PAIR, _E, _V = 0, 1, 2, 3
TRACED = ("rows", "columns", "letters", "open", "extend", "corner", "row", "column", "state", "best")
"""What ``size`` of tracing holds. In: row < 0 asks for the first cell of score ``best``; ``state`` is 0 in H, 1 in E, 2
in V. Out: row, column and state where the alignment leaves the tile (row or column -1) or starts (state 3), the number
of operations in place of ``best``, and behind it row and column of the cell that was found."""
_STARTED = 3


@functools.cache
def emit_align() -> KernelSource[None]:
    """Write the kernels of alignments, scores and the way through a tile; everything is their parameter.

    ``array`` of the first holds the letters x and y (uint8 codes), the matrix of scores (int32, letters x letters), the
    vertical edges H and E (int32, ``m`` each, times one more than the tile columns if kept), the horizontal edges H and
    V (int32, ``n`` each, times one more than the tile rows; null unless kept), the best score (int32) and the bits
    (uint8) per tile, and flags (128 bytes per tile column); ``size`` holds what :data:`SIZES` says.
    """
    name = f"tw_align_{fingerprint('align', _VERSION)[:12]}"
    tiles = levels()
    whole = plain(tiles)
    functions = [each for tile in tiles for each in tile.functions]
    tries = {tile.bits: tile.attempt(whole) for tile in tiles}
    score = _Score(tries, whole).function(f"{name}_score")
    unit = (*functions, whole, *tries.values(), score, _trace(f"{name}_trace"))
    return c_source(c.print_unit(unit, vectorized=True), f"{name}_score", f"{name}_trace")


class _Score:
    """Makes the function that computes scores."""

    def __init__(self, tries: dict[int, ir.Function], whole: ir.Function) -> None:
        self.tries, self.whole = tries, whole

    def function(self, name: str) -> ir.Function:
        b = self.b = ir.Builder(name, kind="entry")
        array, size = b.param("array", ARRAYS), b.param("size", INDICES)
        work = b.param("work", ir.pointer(BYTE))
        b.param("unused", ARRAYS)
        scores = ir.pointer(SCORE)
        self.x, self.y = (b.let(each, array[k].to(ir.const_pointer(BYTE))) for k, each in enumerate("xy"))
        self.matrix = b.let("matrix", array[2].to(ir.const_pointer(SCORE)))
        names = ("vertical_h", "vertical_e", "horizontal_h", "horizontal_g", "tile_best")
        self.edges = {each: b.let(each, array[3 + k].to(scores)) for k, each in enumerate(names)}
        self.tile_bits, self.flags = b.let("tile_bits", array[8]), b.let("flags", array[9].to(ir.pointer(FLAG)))
        self.size = {each: b.let(f"size_{each}" if each == "bits" else each, size[k]) for k, each in enumerate(SIZES)}
        m, n, t, s = (self.size[each] for each in ("m", "n", "t", "s"))
        self.tall, self.wide = b.let("tall", (m + t - 1) / t), b.let("wide", (n + s - 1) / s)
        self.largest = b.mutable("largest", 0)
        with b.loop("a", 0, self.size["letters"] * self.size["letters"]) as a:
            score = b.let("score", self.matrix[a].to(ir.INDEX))
            b.set(self.largest, ir.largest(self.largest, ir.largest(score, -score)))
        with b.parallel(self.size["threads"]):
            memory = b.let("mine", work + ir.THREAD * self.size["own"])
            with b.loop("b", ir.THREAD, self.wide, ir.THREADS) as column:
                self.column(column, memory)
        return b.function()

    def column(self, column: ir.Expr, memory: ir.Expr) -> None:
        b, size = self.b, self.size
        j0 = b.let("j0", column * size["s"])
        width = b.let("width", ir.smallest(size["s"], size["n"] - j0))
        span = b.let("span", (size["s"] + (CACHE_LINE - 1)) / CACHE_LINE * CACHE_LINE)
        state = b.array("state", ir.pointer(ir.INDEX), STATE)
        with b.loop("z", 0, STATE) as z:
            b.set(state[z], 0)
        at = TileColumn(
            mine=memory,
            span=span,
            state=state,
            y=b.let("from", self.y + j0),
            matrix=self.matrix,
            width=width,
            letters=size["letters"],
            tall=size["t"],
            gap_open=size["open"],
            gap_extend=size["extend"],
            lowest=size["lowest"],
            largest=self.largest,
        )
        with b.loop("z", 0, width) as z:
            b.set(at.plain(0)[z], 0)
            b.set(at.plain(1)[z], 0)
        corner, bits = b.mutable("corner", 0), b.mutable("bits", size["bits"])
        with b.loop("a", 0, self.tall) as a:
            with b.when(column.differs(0)):
                b.intrinsic("await", FLAG, self.flags + (column - 1) * _FLAG_WORDS, a + 1)
            with b.when(ir.WANTED):
                self.tile(a, column, at, corner, bits)
            b.intrinsic("publish", FLAG, self.flags + column * _FLAG_WORDS, a + 1)

    def edge(self, name: str, column: ir.Expr, i0: ir.Expr) -> ir.Expr:
        """Where a tile's part of a vertical edge lies."""
        return self.edges[name] + ir.select(self.size["keep"].differs(0), column * self.size["m"], 0) + i0

    def tile(self, a: ir.Expr, column: ir.Expr, at: TileColumn, corner: ir.Expr, bits: ir.Expr) -> None:
        """Compute a tile on as few bits as its scores allow."""
        b, size = self.b, self.size
        i0 = b.let("i0", a * size["t"])
        rows = b.let("rows", ir.smallest(size["t"], size["m"] - i0))
        left = [b.let(f"left_{e}", self.edge(f"vertical_{e}", column, i0)) for e in "he"]
        right = [b.let(f"right_{e}", self.edge(f"vertical_{e}", column + 1, i0)) for e in "he"]
        following = b.let("next", left[0][rows - 1].to(ir.INDEX))
        peak = b.array("found", ir.pointer(ir.INDEX), 1)
        width = b.mutable("used", 0)
        with b.when((bits > size["bits"]) & (at.state[MOST] < _CALM)):
            b.set(bits, size["bits"])
        for each in BITS:
            with b.when(width.equals(0) & (bits <= each)):
                args = (self.x + i0, rows, left[0], left[1], corner, right[0], right[1], peak)
                verdict = b.let("good", b.call(self.tries[each], *at.arguments, *args))
                with b.when(verdict.differs(0)):
                    b.set(width, each)
        b.set(bits, width)
        b.set(corner, following)
        place = a * self.wide + column
        b.set(self.edges["tile_best"][place], peak[0].to(SCORE))
        b.set(self.tile_bits[place], width.to(BYTE))
        with b.when(size["keep"].differs(0)):
            b.call(self.whole, at.mine, at.span, at.width, at.state)
            with b.loop("z", 0, at.width) as z:
                to = (a + 1) * size["n"] + column * size["s"] + z
                b.set(self.edges["horizontal_h"][to], at.plain(0)[z])
                b.set(self.edges["horizontal_g"][to], at.plain(1)[z])


def _trace(name: str) -> ir.Function:
    """Make the function that follows an alignment through one tile, which it computes again, cell by cell.

    ``array`` holds x, y, the matrix, H and E on the left (rows), H and V above (columns), directions (rows x columns
    bytes) and operations: 0 a pair, 1 a letter of y alone, 2 a letter of x alone. ``size`` holds what :data:`TRACED`
    says, ``work`` two rows of 32-bit numbers.
    """
    b = ir.Builder(name, kind="entry")
    array, size = b.param("array", ARRAYS), b.param("size", ir.pointer(ir.INDEX))
    work = b.param("work", ir.pointer(BYTE))
    b.param("unused", ARRAYS)
    way, operation = b.let("way", array[7]), b.let("operation", array[8])
    columns = b.let("columns", size[1])
    i, j, state = (b.mutable(each, size[6 + k]) for k, each in enumerate(("i", "j", "state")))
    _directions(b, array, size, work, way, columns, (i, j))
    b.set(size[10], i)
    b.set(size[11], j)
    count = b.mutable("count", 0)
    with b.loop_while((i >= 0) & (j >= 0) & state.differs(_STARTED)):
        bits = b.let("bits", way[i * columns + j].to(ir.INDEX))
        with b.when(state.equals(0)):
            source = b.let("from", bits % 4)
            with b.when(source.equals(_START)):
                b.set(state, _STARTED)
            with b.when(source.equals(_PAIR)):
                b.set(operation[count], 0)
                for each, more in ((count, 1), (i, -1), (j, -1)):
                    b.set(each, each + more)
            with b.when(source > _PAIR):
                b.set(state, source - 1)
        with b.otherwise():
            across = b.let("across", state.equals(1))
            goes_on = b.let("goes_on", ir.select(across, bits / _OPEN_E, bits / _OPEN_V) % 2)
            b.set(operation[count], (ir.Int(2) - across).to(BYTE))
            b.set(count, count + 1)
            with b.when(across):
                b.set(j, j - 1)
            with b.otherwise():
                b.set(i, i - 1)
            with b.when(goes_on.equals(0)):
                b.set(state, 0)
    b.set(size[6], i)
    b.set(size[7], j)
    b.set(size[8], state)
    b.set(size[9], count)
    return b.function()


def _directions(
    b: ir.Builder,
    array: ir.Expr,
    size: ir.Expr,
    work: ir.Expr,
    way: ir.Expr,
    columns: ir.Expr,
    cell: tuple[ir.Expr, ir.Expr],
) -> None:
    """Compute the tile again, with a direction per cell, and find a cell of the best score if asked for."""
    x, y = (array[k].to(ir.const_pointer(BYTE)) for k in (0, 1))
    fixed = ir.const_pointer(SCORE)
    matrix, left_h, left_e, top_h, top_g = (array[2 + k].to(fixed) for k in range(5))
    rows, letters, opening, extending, best = (
        b.let(name, size[TRACED.index(name)]) for name in ("rows", "letters", "open", "extend", "best")
    )
    h = b.let("h", work.to(ir.pointer(SCORE)))
    g = b.let("g", h + columns)
    with b.loop("q", 0, columns) as q:
        b.set(h[q], top_h[q])
        b.set(g[q], top_g[q])
    corner = b.mutable("corner", size[5])
    search = b.let("search", cell[0] < 0)
    with b.loop("r", 0, rows) as r:
        diagonal, e = b.mutable("diagonal", corner), b.mutable("e", left_e[r].to(ir.INDEX))
        beside = b.mutable("beside", left_h[r].to(ir.INDEX))
        b.set(corner, beside)
        with b.loop("q", 0, columns) as q:
            fresh = b.let("fresh", ir.largest(beside - opening, 0))
            longer = b.let("longer", e - ir.select(q > 0, extending, 0))
            across = b.let("across", longer > fresh)
            b.set(e, ir.select(across | q.equals(0), longer, fresh))
            above, older = b.let("above", h[q].to(ir.INDEX)), b.let("older", g[q].to(ir.INDEX) - extending)
            newer = b.let("newer", ir.largest(above - opening, 0))
            down = b.let("down", older > newer)
            v = b.let("v", ir.largest(older, newer))
            b.set(g[q], v.to(SCORE))
            score = matrix[x[r].to(ir.INDEX) * letters + y[q].to(ir.INDEX)].to(ir.INDEX)
            value, source = b.mutable("value", diagonal + score), b.mutable("from", _PAIR)
            for other, place in ((e, _E), (v, _V)):
                with b.when(other > value):
                    b.set(value, other)
                    b.set(source, place)
            with b.when(value <= 0):
                b.set(value, 0)
                b.set(source, _START)
            b.set(diagonal, above)
            b.set(beside, value)
            b.set(h[q], value.to(SCORE))
            bits = across.to(ir.INDEX) * _OPEN_E + down.to(ir.INDEX) * _OPEN_V
            b.set(way[r * columns + q], (bits + source).to(BYTE))
            with b.when(search & (cell[0] < 0) & value.equals(best)):
                b.set(cell[0], r)
                b.set(cell[1], q)
