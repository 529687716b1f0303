"""Kernels of two fused products that never store the intermediate, for CPUs.

    left   R = (A1 A2) A3: per block of rows and of the intermediate's columns, T = A1 A2 on chip, then R (+)= T A3
    right  R = A1 (A2 A3): per block of columns and of the intermediate's rows, T = A2 A3 on chip, then R (+)= A1 T

(thesis of Prajapati, algorithms 5 and 9, tiled). Both run on one register-blocked micro-kernel, C (+)= A B for a few
rows of A, whose elements are broadcast, and a panel of B: columns for a few vectors, row after row. T is the broadcast
operand of a left fusion and the panel operand of a right one, so it is laid out accordingly and used in place. What is
read again and again is packed into panels once: A2 and A3 of a left fusion, a block of A3's columns of a right one.

For files of the user's language the micro-kernel adds a product of two matrices to a third (:func:`product_text`). Both
operands are copied beforehand: the left one row after row, the right one in panels (Goto and van de Geijn, Anatomy of
high-performance matrix multiplication, 2008). The columns of a row may begin and end with the row, as in the lower
triangle of a symmetric result: blocks that lie inside are added to in place, those at the ends are computed apart, and
only the cells that belong to their rows are added.
"""

from tilewright.base.constants import WIDEST_VECTOR
from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.print.elements import REALS
from tilewright.codegen.products.registers import ARRAYS, BYTE, INDICES
from tilewright.codegen.source import KernelSource, c_source
from tilewright.schedules.code import Blocking

SIZES = ("p0", "p1", "p2", "p3", "s1", "s2", "t2", "s3", "t3", "sr", "x", "y", "threads")
"""What ``size`` holds: P0 … P3, row and column strides in elements (A1 and, of a right fusion, A2 have unit column
stride), the tile and the number of threads."""

_VERSION = 2  # raised when texts change for the same blocking


def work_elements(
    fusion: str, width: int, sizes: tuple[int, int, int, int], tile: tuple[int, int], threads: int
) -> int:
    """Return how many elements of memory a kernel works in: its tiles of the intermediate, and its panels.

    ``width`` is the most columns of a panel, ``sizes`` are P0 … P3, ``tile`` is the intermediate's.

    >>> work_elements("left", 24, (100, 24, 24, 24), (8, 24), 2)
    1536
    """
    _, p1, p2, p3 = sizes
    x, y = tile
    columns = -(-y // width) * width
    if fusion == "left":
        blocks, rest = divmod(p2, y)
        second = blocks * columns + -(-rest // width) * width
        return p1 * second + p2 * -(-p3 // width) * width + threads * x * columns
    return threads * (p2 + x) * columns


def emit_fused(fusion: str, dtype: str, blocking: Blocking) -> KernelSource[None]:
    """Write a fused kernel; all sizes are its parameters.

    ``array`` holds pointers to A1, A2, A3 and R, ``size`` what :data:`SIZES` says, ``work`` points to as many elements
    as :func:`work_elements` says, aligned to a vector.
    """
    if dtype not in REALS:
        raise UsageError(f"fused products compute in {' or '.join(REALS)}, got {dtype!r}")
    if fusion not in {"left", "right"}:
        raise UsageError(f"a fusion is 'left' or 'right', got {fusion!r}")
    entry = f"tw_fused_{fusion}_{fingerprint(fusion, dtype, blocking, _VERSION)[:12]}"
    real = ir.element(dtype)
    micro = {
        (rows, vectors): micro_kernel(real, rows, vectors, blocking)
        for rows in range(1, blocking.rows + 1)
        for vectors in range(1, blocking.vectors + 1)
    }
    block, pack = _block(real, micro, blocking), _pack(real, blocking)
    product = _Product(real, blocking, block, pack, entry)
    whole = product.left() if fusion == "left" else product.right()
    return c_source(c.print_unit((*micro.values(), block, pack, whole)), entry)


def _panel(real: ir.Element, blocking: Blocking) -> ir.Expr:
    return ir.Lanes(real) * blocking.vectors


def micro_kernel(real: ir.Element, rows: int, vectors: int, blocking: Blocking, name: str = "micro") -> ir.Function:
    """Compute C[rows x vectors] (+)= A[rows x k] B[k x vectors], everything in registers while k runs."""
    b = ir.Builder(f"{name}{rows}_{vectors}")
    k, a, sa = b.param("k", ir.INDEX), b.param("a", ir.const_pointer(real)), b.param("sa", ir.INDEX)
    panel, to, sc = b.param("b", ir.const_pointer(real)), b.param("c", ir.pointer(real)), b.param("sc", ir.INDEX)
    add = b.param("add", ir.INDEX)
    register = ir.vector(real)
    places = {(i, j): sc * i + ir.Lanes(real) * j for i in range(rows) for j in range(vectors)}
    cells = {(i, j): b.mutable(f"c{i}_{j}", 0.0, register) for i, j in places}
    with b.when(add.differs(0)):
        for at, place in places.items():
            b.set(cells[at], to.vector(place))
    with b.loop("d", 0, k) as d:
        row = b.let("row", panel + d * _panel(real, blocking))
        loaded = [b.let(f"b{j}", row.vector(ir.Lanes(real) * j)) for j in range(vectors)]
        for i, j in places:
            b.set(cells[i, j], cells[i, j] + a[d + sa * i] * loaded[j])
    for at, place in places.items():
        b.set(to[place], cells[at])
    return b.function()


def _block(real: ir.Element, micro: dict[tuple[int, int], ir.Function], how: Blocking) -> ir.Function:
    """Compute C[m x n] (+)= A[m x k] B. Row stride of A: sa; panels of B lie pb apart; rows of C sc, its panels pc."""
    b = ir.Builder("block")
    m, n, k = (b.param(name, ir.INDEX) for name in "mnk")
    a, sa = b.param("a", ir.const_pointer(real)), b.param("sa", ir.INDEX)
    panels, pb = b.param("b", ir.const_pointer(real)), b.param("pb", ir.INDEX)
    to, sc, pc = b.param("c", ir.pointer(real)), b.param("sc", ir.INDEX), b.param("pc", ir.INDEX)
    add = b.param("add", ir.INDEX)
    lanes = ir.Lanes(real)
    wide_panel = b.let("panel_columns", _panel(real, how))
    edge = b.array("edge", ir.pointer(real), how.rows * how.vectors * WIDEST_VECTOR // real.bytes)

    def run(rows: ir.Expr, vectors: ir.Expr, *args: ir.Expr) -> None:
        whole = (how.rows, how.vectors)
        with b.when(rows.equals(whole[0]) & vectors.equals(whole[1])):
            b.call(micro[whole], *args)
        with b.otherwise():
            for (i, j), each in micro.items():
                if (i, j) != whole:
                    with b.when(rows.equals(i) & vectors.equals(j)):
                        b.call(each, *args)

    with b.loop("k0", 0, k, how.depth) as k0:
        deep, more = b.let("deep", ir.smallest(k - k0, how.depth)), b.let("more", add.differs(0) | (k0 > 0))
        with b.loop("j", 0, n, wide_panel) as j:
            panel = b.let("panel", panels + j / wide_panel * pb + k0 * wide_panel)
            target = b.let("target", to + j / wide_panel * pc)
            wide = b.let("wide", ir.smallest(wide_panel, n - j))
            vectors = b.let("vectors", (wide + lanes - 1) / lanes)
            with b.loop("i", 0, m, how.rows) as i:
                tall = b.let("tall", ir.smallest(m - i, how.rows))
                left, result = b.let("left", a + i * sa + k0), b.let("result", target + i * sc)
                with b.when(wide.equals(vectors * lanes)):
                    run(tall, vectors, deep, left, sa, panel, result, sc, more)
                with b.otherwise():
                    with b.when(more), b.loop("r", 0, tall) as r, b.loop("q", 0, wide) as q:
                        b.set(edge[r * wide_panel + q], result[r * sc + q])
                    run(tall, vectors, deep, left, sa, panel, edge, wide_panel, more)
                    with b.loop("r", 0, tall) as r, b.loop("q", 0, wide) as q:
                        b.set(result[r * sc + q], edge[r * wide_panel + q])
    return b.function()


def _pack(real: ir.Element, how: Blocking) -> ir.Function:
    """Write columns first … first + PANEL - 1 of A[k x n] as a panel; columns from n on are zeros."""
    b = ir.Builder("pack", distinct=True)
    k, n, first = (b.param(name, ir.INDEX) for name in ("k", "n", "first"))
    a, sa, ta = b.param("a", ir.const_pointer(real)), b.param("sa", ir.INDEX), b.param("ta", ir.INDEX)
    panel = b.param("panel", ir.pointer(real))
    columns = b.let("columns", _panel(real, how))
    wide = b.let("wide", ir.smallest(columns, n - first))
    with b.loop("i", 0, k) as i:
        row, to = b.let("row", a + i * sa + first * ta), b.let("to", panel + i * columns)
        with b.when(ta.equals(1)), b.loop("j", 0, wide) as j:
            b.set(to[j], row[j])
        with b.otherwise(), b.loop("j", 0, wide) as j:
            b.set(to[j], row[j * ta])
        with b.loop("j", wide, columns) as j:
            b.set(to[j], 0.0)
    return b.function()


_Rows = tuple[ir.Expr, ...]
"""A matrix in a call: where it starts, the distance of its rows or panels, of a result that of its rows and panels."""


class _Product:
    """The function of two fused products in the making: its matrices, extents, tile and panels."""

    def __init__(self, real: ir.Element, how: Blocking, block: ir.Function, pack: ir.Function, entry: str) -> None:
        self.real, self.block, self.pack = real, block, pack
        b = self.b = ir.Builder(entry, kind="entry")
        array, size = b.param("array", ARRAYS), b.param("size", INDICES)
        self.work = b.param("work", ir.pointer(real))
        b.param("unused", ir.pointer(BYTE))
        fixed = ir.const_pointer(real)
        self.a1, self.a2, self.a3 = (b.let(f"a{k + 1}", array[k].to(fixed)) for k in range(3))
        self.r = b.let("r", array[3].to(ir.pointer(real)))
        self.p = [b.let(f"p{k}", size[k]) for k in range(4)]
        self.s1, self.s2, self.t2, self.s3, self.t3, self.sr, self.x, self.y = (
            b.let(name, size[4 + k]) for k, name in enumerate(SIZES[4:12])
        )
        self.panel = b.let("panel", _panel(real, how))
        self.columns = b.let("columns", self.panels(self.y) * self.panel)
        self.threads = size[12]

    def panels(self, n: ir.Expr) -> ir.Expr:
        return (n + self.panel - 1) / self.panel

    def whole(self, n: ir.Expr) -> ir.Expr:
        """Columns of whole vectors."""
        lanes = ir.Lanes(self.real)
        return (n + lanes - 1) / lanes * lanes

    def multiply(
        self, a: _Rows, b: _Rows, c: _Rows, extents: tuple[ir.Expr, ir.Expr, ir.Expr], add: ir.Operand
    ) -> None:
        """Compute C[m x n] (+)= A[m x k] B, of extents (m, n, k)."""
        self.b.call(self.block, *extents, *a, *b, *c, add)

    def left(self) -> ir.Function:
        """R = (A1 A2) A3."""
        b, panel, y = self.b, self.panel, self.y
        p0, p1, p2, p3 = self.p
        per, full = b.let("per", self.panels(y)), b.let("full", p2 / y)
        second = b.let("second", full * per + self.panels(p2 - full * y))
        third = b.let("third", self.panels(p3))
        packed2 = b.let("packed2", self.work)
        packed3 = b.let("packed3", packed2 + second * panel * p1)
        tiles = b.let("tiles", packed3 + third * panel * p2)
        with b.parallel(self.threads):
            with b.loop("n", 0, second, share="static") as n:
                j0 = b.let("j0", n / per * y)
                columns = self.a2 + j0 * self.t2, self.s2, self.t2
                b.call(self.pack, p1, ir.smallest(y, p2 - j0), n % per * panel, *columns, packed2 + n * panel * p1)
            with b.loop("n", 0, third, share="static") as n:
                b.call(self.pack, p2, p3, n * panel, self.a3, self.s3, self.t3, packed3 + n * panel * p2)
            with b.loop("i", 0, p0, self.x, share="dynamic") as i:
                tall = b.let("tall", ir.smallest(self.x, p0 - i))
                tile = b.let("tile", tiles + ir.THREAD * self.x * self.columns)
                with b.loop("j", 0, p2, y) as j, b.when(ir.WANTED):
                    wide = b.let("wide", ir.smallest(y, p2 - j))
                    a1, a2 = (self.a1 + i * self.s1, self.s1), (packed2 + j / y * per * panel * p1, panel * p1)
                    self.multiply(a1, a2, (tile, self.columns, panel), (tall, self.whole(wide), p1), 0)
                    a3, r = (packed3 + j * panel, panel * p2), (self.r + i * self.sr, self.sr, panel)
                    self.multiply((tile, self.columns), a3, r, (tall, p3, wide), j > 0)
        return b.function()

    def right(self) -> ir.Function:
        """R = A1 (A2 A3)."""
        b, panel, x = self.b, self.panel, self.x
        p0, p1, p2, p3 = self.p
        with b.parallel(self.threads), b.loop("j", 0, p3, self.y, share="dynamic") as j:
            wide = b.let("wide", ir.smallest(self.y, p3 - j))
            own = b.let("own", self.work + ir.THREAD * (p2 + x) * self.columns)
            tile = b.let("tile", own + p2 * self.columns)
            with b.loop("n", 0, self.panels(wide)) as n:
                a3 = self.a3 + j * self.t3, self.s3, self.t3
                b.call(self.pack, p2, wide, n * panel, *a3, own + n * panel * p2)
            with b.loop("i", 0, p1, x) as i, b.when(ir.WANTED):
                tall = b.let("tall", ir.smallest(x, p1 - i))
                a1, a2, t = (self.a1 + i, self.s1), (self.a2 + i * self.s2, self.s2), (tile, panel, x * panel)
                self.multiply(a2, (own, panel * p2), t, (tall, self.whole(wide), p2), 0)
                self.multiply(a1, (tile, x * panel), (self.r + j, self.sr, panel), (p0, wide, tall), i > 0)
        return b.function()


def product_text(dtype: str, how: Blocking) -> str:
    """Write ``tw_add_product_T(m, n, k, a, sa, b, pb, c, sc, low, l, high, h)`` and what it needs, T the type.

    It adds A[m x k] B[k x n] to the columns ``low + l r`` to ``high + h r`` of row r of C, so far as they are from 0
    to n - 1. Rows of A lie ``sa`` apart, panels of B ``pb`` and rows of C ``sc``. A panel's columns are
    :func:`panel_columns`, its last ones zeros where n is no multiple; columns of C lie side by side.
    """
    real = ir.element(dtype)
    micro = micro_kernel(real, how.rows, how.vectors, how, f"tw_micro_{dtype}_")
    return c.print_unit((micro, _add(real, how, micro, function_name(dtype))))


def function_name(dtype: str) -> str:
    """Return the name of the function for a type."""
    return f"tw_add_product_{dtype}"


def panel_columns(dtype: str, how: Blocking) -> str:
    """Return the columns of a panel, as C: they depend on the processor that a compiler builds for."""
    return f"({how.vectors} * (int64_t)(TW_BYTES / {ir.element(dtype).bytes}))"


def _add(real: ir.Element, how: Blocking, micro: ir.Function, name: str) -> ir.Function:
    b = ir.Builder(name)
    m, n, k = (b.param(name, ir.INDEX) for name in "mnk")
    left, sa = b.param("a", ir.const_pointer(real)), b.param("sa", ir.INDEX)
    panels, pb = b.param("b", ir.const_pointer(real)), b.param("pb", ir.INDEX)
    to, sc = b.param("c", ir.pointer(real)), b.param("sc", ir.INDEX)
    low, low_slope, high, high_slope = (b.param(name, ir.INDEX) for name in ("low", "l", "high", "h"))
    wide = b.let("wide", ir.Lanes(real) * how.vectors)
    part = b.array("part", ir.pointer(real), how.rows * how.vectors * WIDEST_VECTOR // real.bytes)

    def begin(row: ir.Expr) -> ir.Expr:
        return ir.largest(low + low_slope * row, 0)

    def end(row: ir.Expr) -> ir.Expr:
        return ir.smallest(high + high_slope * row, n - 1)

    with b.loop("j", 0, n, wide) as j, b.loop("i", 0, m, how.rows) as i:
        tall = b.let("tall", ir.smallest(m - i, how.rows))
        last = b.let("last", i + tall - 1)
        reached = b.let(
            "reached", (j + wide > ir.smallest(begin(i), begin(last))) & (j <= ir.largest(end(i), end(last)))
        )
        inside = (j >= ir.largest(begin(i), begin(last))) & (j + wide <= ir.smallest(end(i), end(last)) + 1)
        panel, rows = b.let("panel", panels + j / wide * pb), b.let("rows", left + i * sa)
        with b.when(inside & tall.equals(how.rows)):
            b.call(micro, k, rows, sa, panel, to + i * sc + j, sc, 1)
        with b.otherwise(), b.when(reached):
            b.call(micro, k, rows, sa, panel, part, wide, 0)
            with b.loop("r", 0, tall) as r:
                row = b.let("row", to + (i + r) * sc)
                with b.loop("q", ir.largest(begin(i + r), j), ir.smallest(end(i + r) + 1, j + wide)) as q:
                    b.set(row[q], row[q] + part[r * wide + (q - j)])
    return b.function()
