"""Kernels of recurrences for CPUs: orthogonal tiles in wavefronts, anti-diagonals in vectors inside a tile.

A thread owns every so many rows of tiles and walks to the right; it waits for the tile above, so that the tiles of an
anti-diagonal run at the same time. In a tile, value (r, c) of a table lies at place r of the row d = r + c of a ring,
so that a read at (-p, -q) is a read at place r - p of the row d - p - q, contiguous along the anti-diagonal: the inner
loop has no dependence and the compiler turns it into vectors. What a tile needs from around it is copied into the ring
as its rows come up, and what others need is copied out, so memory is linear in the extents unless the tables are
wanted. Wanted tables get their cells some anti-diagonals at a time, in runs along their rows.
"""

from tilewright.base.constants import CACHE_LINE
from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.expression import scalar_name
from tilewright.codegen.print import c
from tilewright.codegen.print.elements import C_ELEMENTS
from tilewright.codegen.source import KernelSource, c_source
from tilewright.programs.stencil.expression import Read
from tilewright.workloads.tables.lower.cells import TypedRecurrence, joined
from tilewright.workloads.tables.problem import Recurrence

SIZES = ("m", "n", "t", "s", "threads", "tables", "fold", "own")
"""What ``size`` holds: extents, the tile, threads, whether tables are wanted, whether all cells are folded, and bytes
of ``work`` per thread; then the columns of every matrix."""
_FLAG = 16  # numbers of 64 bits from one flag to the next: two cache lines
_BYTE = ir.element("uint8")
_FLAGS = ir.element("int64")
_VERSION = 2  # raised when texts change for the same recurrence


def work_bytes(program: Recurrence, itemsize: int, tile: tuple[int, int], kept: int) -> int:
    """Return the bytes, a multiple of 64, that a thread works in with ``kept`` anti-diagonals of wanted tables."""
    up, left = program.reach
    rows = (up + left + 1) * (tile[0] + up) + tile[0] * left + 2 * up * left + kept * (tile[0] + kept)
    columns = sum(each.kind == "column" for each in program.inputs)
    return (len(program.tables) * rows * itemsize + 64 + columns * 8 * tile[1] + 127) // 64 * 64


def emit_table(program: Recurrence, dtype: str, floating: tuple[str, ...], kept: int) -> KernelSource[None]:
    """Write the kernel of a recurrence; extents, tiles, scalars and matrices are its parameters.

    ``array`` holds pointers to, for every table: the rows above (``up`` x ``left + n``), the columns on the left
    (``m`` x ``left``) and the table (``m`` x ``n``); then the inputs in order, the flags (128 bytes per row of tiles)
    and the results: the last cell of the first table, and what its cells fold to, one per row of tiles. ``size`` holds
    what :data:`SIZES` says, ``work`` starts at a cache line, the last argument holds pointers to the scalars.
    Inputs that are not ``floating``, of the tables' type, are whole numbers of 32 bits.
    """
    typed = TypedRecurrence(program, dtype, floating)
    paired = dtype in C_ELEMENTS and (typed.real.is_complex or typed.real.is_narrow)
    if dtype not in C_ELEMENTS or paired or not program.tiled:
        raise UsageError(f"{program.name!r} has no kernel of orthogonal tiles in {dtype}", "use backend='numpy'")
    entry = typed.entry("table", kept, _VERSION)
    cells, keep = _cells(typed, entry), _keep(typed.real, kept, entry)
    whole = _Tiles(typed, kept, cells, keep).function(entry)
    return c_source(c.print_unit((cells, keep, whole), vectorized=True), entry, strict=True)


def _distances(program: Recurrence) -> list[tuple[str, int]]:
    """The earlier anti-diagonals that are read, as tables and distances."""
    return sorted({(name, -o[0] - o[1]) for name, offsets in program.reads.items() for o in offsets})


def _cells(typed: TypedRecurrence, entry: str) -> ir.Function:
    """Compute cells ``low`` to ``high`` of an anti-diagonal.

    Parameters: rows of the ring, those that are read and those that are written; inputs from the tile's first row on (a
    column's backwards, a cell's along the anti-diagonal), matrices with their columns, scalars, and the bounds.
    """
    b, program, real = ir.Builder(f"{entry}_cells", kind="inline", distinct=True), typed.program, typed.real
    rows = {(name, far): b.param(f"{name}_{far}", ir.const_pointer(real)) for name, far in _distances(program)}
    now = {name: b.param(f"{name}_0", ir.pointer(real)) for name in program.tables}
    inputs, widths = {}, {}
    for each in program.inputs:
        inputs[each.name] = b.param(f"at_{each.name}", ir.const_pointer(typed.kind(each.name)))
        if each.kind == "matrix":
            widths[each.name] = b.param(f"wide_{each.name}", ir.INDEX)
    for name in program.scalars:
        b.param(scalar_name(name), real)
    low, high, columns = (b.param(name, ir.INDEX) for name in ("low", "high", "n"))
    kinds = {each.name: each.kind for each in program.inputs}
    with b.loop("r", low, high + 1, independent=True) as r:

        def read(node: Read) -> ir.Expr:
            if node.field in kinds:
                return inputs[node.field][r * (columns - 1) if kinds[node.field] == "cell" else r]
            return rows[node.field, -node.offset[0] - node.offset[1]][r + node.offset[0]]

        def lookup(name: str, row: ir.Expr, column: ir.Expr) -> ir.Expr:
            return inputs[name][row * widths[name] + column]

        for name, value in typed.cells(b, read, lookup):
            b.set(now[name][r], value)
    return b.function()


def _keep(real: ir.Element, kept: int, entry: str) -> ir.Function:
    """Copy the last anti-diagonals of a tile, up to d, into the table's rows: runs of neighbours, not single cells."""
    b = ir.Builder(f"{entry}_keep", distinct=True)
    whole, n = b.param("whole", ir.pointer(real)), b.param("n", ir.INDEX)
    old, apart = b.param("kept", ir.const_pointer(real)), b.param("apart", ir.INDEX)
    d, rows, columns = (b.param(name, ir.INDEX) for name in ("d", "rows", "columns"))
    first, end = b.let("first", d - d % kept), b.let("end", ir.smallest(rows - 1, d))
    with b.loop("r", ir.largest(first - columns + 1, 0), end + 1) as r:
        low, high = b.let("from", ir.largest(first, r)), b.let("to", ir.smallest(d, r + columns - 1))
        row, column = b.let("row", whole + r * (n - 1)), b.let("column", old + r - first * apart)
        with b.when((high - low).equals(kept - 1)), b.loop("e", 0, kept) as e:
            b.set(row[first + e], column[(first + e) * apart])
        with b.otherwise(), b.loop("e", low, high + 1) as e:
            b.set(row[e], column[e * apart])
    return b.function()


class _Tiles:
    """The function that walks over tiles."""

    def __init__(self, typed: TypedRecurrence, kept: int, cells: ir.Function, keep: ir.Function) -> None:
        self.typed, self.program, self.real, self.kept = typed, typed.program, typed.real, kept
        self.cells, self.keep = cells, keep
        self.up, self.left = self.program.reach
        self.depth = self.up + self.left + 1
        self.tables = len(self.program.tables)

    def function(self, entry: str) -> ir.Function:
        b = self.b = ir.Builder(entry, kind="entry")
        self.array = b.param("array", ir.const_pointer(ir.pointer(_BYTE)))
        self.size = b.param("size", ir.const_pointer(ir.INDEX))
        work = b.param("work", ir.pointer(_BYTE))
        scalar = b.param("scalar", ir.const_pointer(ir.pointer(self.real)))
        self.m, self.n, self.t, self.s = (b.let(name, self.size[place]) for place, name in enumerate("mnts"))
        self.tall = b.let("tall", (self.m + self.t - 1) / self.t)
        self.wide = b.let("wide", (self.n + self.s - 1) / self.s)
        first, count = 3 * self.tables, len(self.program.inputs)
        self.inputs = {
            each.name: b.let(f"in_{each.name}", self.pointer(first + number, self.typed.kind(each.name), const=True))
            for number, each in enumerate(self.program.inputs)
        }
        self.flags = b.let("flags", self.pointer(first + count, _FLAGS))
        self.last = b.let("last", self.pointer(first + count + 1, self.real))
        self.folded = b.let("folded", self.pointer(first + count + 2, self.real))
        matrices = enumerate(self.typed.inputs("matrix"), len(SIZES))
        self.widths = {name: b.let(f"wide_{name}", self.size[place]) for place, name in matrices}
        self.scalars = [b.let(scalar_name(name), scalar[k][0]) for k, name in enumerate(self.program.scalars)]
        self.wanted, self.folds = b.let("wanted", self.size[5]), b.let("folds", self.size[6])
        with b.parallel(self.size[4]):
            self.thread(work)
        return b.function()

    def pointer(self, place: ir.Operand, kind: ir.Element, *, const: bool = False) -> ir.Expr:
        return self.array[place].to(ir.Pointer(kind, const=const))

    def above(self, k: ir.Expr) -> ir.Expr:
        """The rows above the tiles, of a table."""
        return self.pointer(k * 3, self.real)

    def thread(self, work: ir.Expr) -> None:
        """What a thread does: every so many rows of tiles."""
        b, t, up, left = self.b, self.t, self.up, self.left
        me = b.let("me", ir.THREAD)
        memory = b.let("mine", work + me * self.size[7])
        self.ring = b.let("ring", memory.to(ir.pointer(self.real)))
        self.beside = b.let("beside", self.ring + (t + up) * (self.tables * self.depth))
        self.corner = b.mutable("corner", self.beside + t * (self.tables * left))
        self.next = b.mutable("next", self.corner + self.tables * up * left)
        self.diagonals = b.let("kept", self.next + self.tables * up * left)
        columns = self.typed.inputs("column")
        if columns:
            offset = b.let("used", self.diagonals - self.ring + (t + self.kept) * (self.tables * self.kept))
            own = b.let("backs", memory + (offset * self.real.bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)
        self.backs = {
            name: b.let(f"back_{name}", (own + self.s * (8 * k)).to(ir.pointer(self.typed.kind(name))))
            for k, name in enumerate(columns)
        }
        with b.loop("a", me, self.tall, ir.THREADS) as a:
            self.a, self.i0 = a, b.let("i0", a * t)
            self.rows = b.let("rows", ir.smallest(t, self.m - self.i0))
            total = b.mutable("sum", self.folded[a])
            with b.loop("k", 0, self.tables) as k:
                self.starts(k)
            with b.loop("b", 0, self.wide) as column:
                self.j0 = b.let("j0", column * self.s)
                self.columns = b.let("columns", ir.smallest(self.s, self.n - self.j0))
                with b.when(a.differs(0)):
                    b.intrinsic("await", _FLAGS, self.flags + (a - 1) * _FLAG, column + 1)
                for name in columns:
                    with b.loop("c", 0, self.columns) as c_:
                        b.set(self.backs[name][self.columns - 1 - c_], self.inputs[name][self.j0 + c_])
                with b.when(ir.WANTED):
                    self.tile(column, total)
                b.intrinsic("publish", _FLAGS, self.flags + a * _FLAG, column + 1)
            b.set(self.folded[a], total)

    def starts(self, k: ir.Expr) -> None:
        """What the first tile of a row of tiles finds on its left."""
        b, up, left, i0 = self.b, self.up, self.left, self.i0
        edge = b.let("edge", self.pointer(k * 3 + 1, self.real, const=True))
        with b.loop("z", 0, self.rows * left) as z:
            b.set(self.beside[k * self.t * left + z], edge[i0 * left + z])
        with b.loop("p", 0, up) as p, b.loop("q", 0, left) as q:
            place = (k * up + p) * left + q
            with b.when(self.a.differs(0)):
                b.set(self.corner[place], edge[(i0 - up + p) * left + q])
            with b.otherwise():
                b.set(self.corner[place], self.above(k)[p * (self.n + left) + q])

    def tile(self, column: ir.Expr, total: ir.Expr) -> None:
        b, up, left = self.b, self.up, self.left
        with (
            b.loop("k", 0, self.tables) as k,
            b.loop("p", 0, up) as p,
            b.loop("q", 0, left) as q,
            b.when(self.columns - left + q >= 0),
        ):
            b.set(self.next[(k * up + p) * left + q], self.above(k)[p * (self.n + left) + self.j0 + self.columns + q])
        with b.loop("d", -(up + left), self.rows + self.columns - 1) as d:
            with b.loop("k", 0, self.tables) as k:
                self.comes_in(k, d)
            with b.when(d >= 0):
                low = b.let("low", ir.largest(d - self.columns + 1, 0))
                high = b.let("high", ir.smallest(self.rows - 1, d))
                self.diagonal(d, low, high)
                with b.loop("k", 0, self.tables) as k:
                    self.goes_out(k, d, low, high)
                with b.when(self.folds.differs(0)):
                    row = b.let("row", self.row(0, d))
                    with b.loop("r", low, high + 1) as r:
                        b.set(total, joined(self.program, total, row[r]))
                final = d.equals(self.rows + self.columns - 2)
                with b.when(self.a.equals(self.tall - 1) & column.equals(self.wide - 1) & final):
                    b.set(self.last[0], self.row(0, d)[self.rows - 1])
        old = b.let("old", self.corner)
        b.set(self.corner, self.next)
        b.set(self.next, old)

    def row(self, k: ir.Operand, d: ir.Expr) -> ir.Expr:
        """The row of a table's ring that holds an anti-diagonal, at the tile's first row."""
        turn = (d + 2 * self.depth) % self.depth
        place = (k * self.depth + turn) if k != 0 else turn
        return self.ring + place * (self.t + self.up) + self.up

    def comes_in(self, k: ir.Expr, d: ir.Expr) -> None:
        """Cells of an anti-diagonal above the tile and on its left."""
        b, up, left = self.b, self.up, self.left
        row = b.let("row", self.row(k, d))
        with b.loop("r", -up, 0) as r:
            c_ = b.let("c", d - r)
            with b.when((c_ >= -left) & (c_ < self.columns)):
                with b.when(c_ < 0):
                    b.set(row[r], self.corner[(k * up + r + up) * left + c_ + left])
                with b.otherwise():
                    b.set(row[r], self.above(k)[(r + up) * (self.n + left) + left + self.j0 + c_])
        with b.loop("c", -left, 0) as c_, b.when((d - c_ >= 0) & (d - c_ < self.rows)):
            b.set(row[d - c_], self.beside[(k * self.t + d - c_) * left + c_ + left])

    def goes_out(self, k: ir.Expr, d: ir.Expr, low: ir.Expr, high: ir.Expr) -> None:
        """Cells of an anti-diagonal that the tiles below and on the right need, or the caller."""
        b, up, left, kept = self.b, self.up, self.left, self.kept
        row = b.let("row", self.row(k, d))
        with b.loop("r", ir.largest(low, self.rows - up), high + 1) as r:
            b.set(self.above(k)[(r - self.rows + up) * (self.n + left) + left + self.j0 + d - r], row[r])
        with (
            b.loop("c", ir.largest(self.columns - left, 0), self.columns) as c_,
            b.when((d - c_ >= low) & (d - c_ <= high)),
        ):
            b.set(self.beside[(k * self.t + d - c_) * left + c_ - self.columns + left], row[d - c_])
        with b.when(self.wanted.differs(0)):
            whole = b.let("diagonal", self.diagonals + (k * kept + d % kept) * (self.t + kept))
            with b.loop("r", low, high + 1, independent=True) as r:
                b.set(whole[r], row[r])
            with b.when((d % kept).equals(kept - 1) | d.equals(self.rows + self.columns - 2)):
                table = self.pointer(k * 3 + 2, self.real) + self.i0 * self.n + self.j0
                old = self.diagonals + k * kept * (self.t + kept)
                b.call(self.keep, table, self.n, old, self.t + kept, d, self.rows, self.columns)

    def diagonal(self, d: ir.Expr, low: ir.Expr, high: ir.Expr) -> None:
        place = {name: number for number, name in enumerate(self.program.tables)}
        args: list[ir.Expr] = [self.row(place[name], d - far) for name, far in _distances(self.program)]
        args += [self.row(number, d) for number in place.values()]
        for each in self.program.inputs:
            args.append(self.along(each.name, each.kind, d))
            if each.kind == "matrix":
                args.append(self.widths[each.name])
        self.b.call(self.cells, *args, *self.scalars, low, high, self.n)

    def along(self, name: str, kind: str, d: ir.Expr) -> ir.Expr:
        """An input, from where the first row of a tile reads it on an anti-diagonal."""
        pointer = self.inputs[name]
        if kind == "row":
            return pointer + self.i0
        if kind == "column":
            return self.backs[name] + self.columns - 1 - d
        return pointer + self.i0 * self.n + self.j0 + d if kind == "cell" else pointer
