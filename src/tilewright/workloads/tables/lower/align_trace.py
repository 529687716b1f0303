"""The CPU function that follows an alignment through one tile, which it computes again, cell by cell."""

from tilewright.codegen import ir

_BYTE, _SCORE = ir.element("uint8"), ir.element("int32")
_OPEN_E, _OPEN_V = 4, 8
"""Bits of a direction: a horizontal gap, or a vertical one, goes on. The lower two say where H comes from."""
_START, _PAIR, _E, _V = 0, 1, 2, 3
SIZES = ("rows", "columns", "letters", "open", "extend", "corner", "row", "column", "state", "best")
"""What ``size`` holds. In: row < 0 asks for the first cell of score ``best``; ``state`` is 0 in H, 1 in E, 2 in V. Out:
row, column and state where the alignment leaves the tile (row or column -1) or starts (state 3), the number of
operations in place of ``best``, and behind it row and column of the cell that was found."""
_STARTED = 3


def trace(name: str) -> ir.Function:
    """Make the function.

    ``array`` holds x, y, the matrix, H and E on the left (rows), H and V above (columns), directions (rows x columns
    bytes) and operations: 0 a pair, 1 a letter of y alone, 2 a letter of x alone. ``size`` holds what :data:`SIZES`
    says, ``work`` two rows of 32-bit numbers.
    """
    b = ir.Builder(name, kind="entry")
    array, size = b.param("array", ir.const_pointer(ir.pointer(_BYTE))), b.param("size", ir.pointer(ir.INDEX))
    work = b.param("work", ir.pointer(_BYTE))
    b.param("unused", ir.const_pointer(ir.pointer(_BYTE)))
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
            b.set(operation[count], (ir.Int(2) - across).to(_BYTE))
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
    found: tuple[ir.Expr, ir.Expr],
) -> None:
    """Compute the tile again, with a direction per cell, and find a cell of the best score if asked for."""
    x, y = (array[k].to(ir.const_pointer(_BYTE)) for k in (0, 1))
    fixed = ir.const_pointer(_SCORE)
    matrix, left_h, left_e, top_h, top_g = (array[2 + k].to(fixed) for k in range(5))
    rows, letters, opening, extending, best = (
        b.let(name, size[SIZES.index(name)]) for name in ("rows", "letters", "open", "extend", "best")
    )
    h = b.let("h", work.to(ir.pointer(_SCORE)))
    g = b.let("g", h + columns)
    with b.loop("q", 0, columns) as q:
        b.set(h[q], top_h[q])
        b.set(g[q], top_g[q])
    corner = b.mutable("corner", size[5])
    search = b.let("search", found[0] < 0)
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
            b.set(g[q], v.to(_SCORE))
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
            b.set(h[q], value.to(_SCORE))
            bits = across.to(ir.INDEX) * _OPEN_E + down.to(ir.INDEX) * _OPEN_V
            b.set(way[r * columns + q], (bits + source).to(_BYTE))
            with b.when(search & (found[0] < 0) & value.equals(best)):
                b.set(found[0], r)
                b.set(found[1], q)
