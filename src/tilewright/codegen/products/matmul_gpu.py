"""GPU kernels of two fused products that never store the intermediate.

A group owns a block of R's rows (left fusion) or columns (right) and keeps a block X by Y of the intermediate T in
shared memory, as :mod:`tilewright.workloads.chains.traffic` counts it. Both products run on the same routine: slices of
depth Z of the two operands are staged in shared memory, and every thread multiplies ROWS by COLUMNS cells in registers.
A kernel counts the words that it moves between memory and chip if asked to.
"""

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.codegen.print.elements import REALS
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.schedules.code import GroupBlock

_COUNT = ir.element("uint32")
_VERSION = 2  # raised when texts change for the same arguments


def emit_gpu(fusion: str, dtype: str, dialect: str, block: GroupBlock, *, counting: bool = False) -> KernelSource[None]:
    """Write a fused kernel for a GPU; all matrix sizes are its parameters.

    Arguments are A1, A2, A3, R (row-major, contiguous) and P0 … P3 as ints; a counting kernel takes a pointer to one
    unsigned int after them.
    """
    if dialect not in DIALECTS or fusion not in {"left", "right"} or dtype not in REALS:
        raise UsageError(
            f"there is no fused kernel {fusion!r} for {dtype!r} in {dialect!r}",
            f"fusions are left and right, types {', '.join(REALS)}, dialects {', '.join(DIALECTS)}",
        )
    (x, y), (rows, columns) = block.tile, block.cells
    if min(x, y, rows, columns, block.depth) < 1 or x % rows or y % columns:
        raise UsageError(f"a thread's cells {block.cells} must divide the tile {block.tile}")
    real = ir.element(dtype)
    entry = f"tw_fused_{fusion}_{fingerprint(fusion, dtype, dialect, block, counting, _VERSION)[:12]}"
    parts = _Parts(real, block, counting=counting)
    kernel = (_left if fusion == "left" else _right)(parts, entry)
    shared = (x * y + (x + y) * block.depth) * real.bytes
    return KernelSource(
        text=print_gpu((*parts.functions, kernel), dialect),
        dialect=dialect,
        kernels=(EntryPoint(entry=entry, threads=block.threads, shared_bytes=shared),),
        layout=None,
        double=dtype == "float64",
    )


class _Parts:
    """The functions that both kernels are made of."""

    def __init__(self, real: ir.Element, block: GroupBlock, *, counting: bool) -> None:
        self.real, self.block, self.counting = real, block, counting
        (self.x, self.y), (self.rows, self.columns) = block.tile, block.cells
        self.across, self.down = self.y // self.columns, self.x // self.rows
        self.stage, self.multiply = self._stage(), self._multiply()
        self.fill, self.add = self._fill(), self._add()
        self.functions = (self.stage, self.multiply, self.fill, self.add)  # callees first

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    def counter(self, b: ir.Builder) -> tuple[ir.Expr, ...]:
        """Add the counter of words to a function's parameters, if there is one."""
        return (b.param("count", ir.pointer(_COUNT)),) if self.counting else ()

    @staticmethod
    def count(b: ir.Builder, counter: tuple[ir.Expr, ...]) -> None:
        for each in counter:
            b.intrinsic("count", _COUNT, each)

    def zeros(self, b: ir.Builder, cell: ir.Expr) -> None:
        with b.loop("c", 0, self.cells) as c:
            b.set(cell[c], 0.0)

    def _stage(self) -> ir.Function:
        """Stage rows i0 … of height down and columns j0 … of width across of a (columns wide); zeros outside."""
        b = ir.Builder("stage", kind="inline")
        a, to = b.param("a", ir.const_pointer(self.real)), b.param("to", ir.shared_pointer(self.real))
        i0, i1, j0, j1, columns, down, across = (
            b.param(name, ir.INDEX) for name in ("i0", "i1", "j0", "j1", "columns", "down", "across")
        )
        counter = self.counter(b)
        with b.loop("n", ir.THREAD, down * across, self.block.threads) as n:
            i, j = b.let("i", i0 + n / across), b.let("j", j0 + n % across)
            with b.when((i < i1) & (j < j1)):
                self.count(b, counter)
                b.set(to[n], a[ir.wide(i) * columns + j])
            with b.otherwise():
                b.set(to[n], 0.0)
        return b.function()

    def _multiply(self) -> ir.Function:
        """Add left (X x Z, rows apart by pitch) times right (Z x Y, rows apart by Y) to this thread's cells."""
        b = ir.Builder("multiply", kind="inline")
        left, pitch = (
            b.param("left", ir.Pointer(self.real, const=True, space=ir.AddressSpace.SHARED)),
            b.param("pitch", ir.INDEX),
        )
        right = b.param("right", ir.Pointer(self.real, const=True, space=ir.AddressSpace.SHARED))
        deep, cell = b.param("deep", ir.INDEX), b.param("cell", ir.private_pointer(self.real))
        i0, j0 = b.let("i0", ir.THREAD / self.across), b.let("j0", ir.THREAD % self.across)
        with (
            b.loop("k", 0, deep) as k,
            b.loop("i", 0, self.rows) as i,
            b.loop("j", 0, self.columns) as j,
        ):
            at = i * self.columns + j
            product = left[(i0 + i * self.down) * pitch + k] * right[k * self.y + j0 + j * self.across]
            b.set(cell[at], cell[at] + product)
        return b.function()

    def place(self, c: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        """Row and column in the tile of a thread's cell."""
        row = ir.THREAD / self.across + c / self.columns * self.down
        return row, ir.THREAD % self.across + c % self.columns * self.across

    def _fill(self) -> ir.Function:
        """Compute T = A B for rows i0 … and columns j0 …, A of n x depth, B of depth x m."""
        b, shared, z = ir.Builder("fill"), ir.shared_pointer(self.real), self.block.depth
        a, other = b.param("a", ir.const_pointer(self.real)), b.param("b", ir.const_pointer(self.real))
        t, sa, sb = b.param("t", shared), b.param("sa", shared), b.param("sb", shared)
        i0, n, j0, m, depth = (b.param(name, ir.INDEX) for name in ("i0", "n", "j0", "m", "depth"))
        counter = self.counter(b)
        cell = b.array("cell", ir.private_pointer(self.real), self.cells)
        self.zeros(b, cell)
        with b.loop("k0", 0, depth, z) as k0:
            b.call(self.stage, a, sa, i0, n, k0, depth, depth, self.x, z, *counter)
            b.call(self.stage, other, sb, k0, depth, j0, m, m, z, self.y, *counter)
            b.barrier()
            b.call(self.multiply, sa, z, sb, z, cell)
            b.barrier()
        with b.loop("c", 0, self.cells) as c:
            row, column = self.place(c)
            b.set(t[row * self.y + column], cell[c])
        b.barrier()
        return b.function()

    def _add(self) -> ir.Function:
        """Store R (+)= cells, for rows i0 … and columns j0 …."""
        b = ir.Builder("add")
        r, cell = b.param("r", ir.pointer(self.real)), b.param("cell", ir.private_pointer(self.real))
        i0, n, j0, m, more = (b.param(name, ir.INDEX) for name in ("i0", "n", "j0", "m", "more"))
        counter = self.counter(b)
        with b.loop("c", 0, self.cells) as c:
            row, column = self.place(c)
            i, j = b.let("i", row + i0), b.let("j", column + j0)
            with b.when((i < n) & (j < m)):
                at = b.let("at", ir.wide(i) * m + j)
                before = b.mutable("before", 0.0, self.real)
                with b.when(more.differs(0)):
                    self.count(b, counter)
                    b.set(before, r[at])
                self.count(b, counter)
                b.set(r[at], before + cell[c])
        return b.function()


class _Kernel:
    """Names of a kernel: its matrices, extents, and memory on chip."""

    def __init__(self, parts: _Parts, entry: str) -> None:
        b = self.b = ir.Builder(entry, kind="kernel", threads=parts.block.threads)
        real = parts.real
        self.a1, self.a2, self.a3 = (b.param(f"a{k}", ir.const_pointer(real)) for k in (1, 2, 3))
        self.r = b.param("r", ir.pointer(real))
        self.p = [b.param(f"p{k}", ir.INDEX) for k in range(4)]
        self.counter = parts.counter(b)
        shared, z = ir.shared_pointer(real), parts.block.depth
        self.t = b.array("t", shared, parts.x * parts.y)
        self.sa, self.sb = b.array("sa", shared, parts.x * z), b.array("sb", shared, z * parts.y)
        self.cell = b.array("cell", ir.private_pointer(real), parts.cells)


def _left(parts: _Parts, entry: str) -> ir.Function:
    """R = (A1 A2) A3: a group owns rows of R."""
    k, y, z = _Kernel(parts, entry), parts.y, parts.block.depth
    b, (p0, p1, p2, p3) = k.b, k.p
    i0 = b.let("i0", ir.GROUP * parts.x)
    with b.loop("j0", 0, p2, y) as j0:
        b.call(parts.fill, k.a1, k.a2, k.t, k.sa, k.sb, i0, p0, j0, p2, p1, *k.counter)
        end = b.let("end", ir.smallest(j0 + y, p2))
        with b.loop("l0", 0, p3, y) as l0:
            parts.zeros(b, k.cell)
            with b.loop("k0", 0, ir.smallest(p2 - j0, y), z) as k0:
                b.call(parts.stage, k.a3, k.sb, j0 + k0, end, l0, p3, p3, z, y, *k.counter)
                b.barrier()
                b.call(parts.multiply, k.t + k0, y, k.sb, ir.smallest(y - k0, z), k.cell)
                b.barrier()
            b.call(parts.add, k.r, k.cell, i0, p0, l0, p3, j0 > 0, *k.counter)
    return b.function()


def _right(parts: _Parts, entry: str) -> ir.Function:
    """R = A1 (A2 A3): a group owns columns of R."""
    k, x, z = _Kernel(parts, entry), parts.x, parts.block.depth
    b, (p0, p1, p2, p3) = k.b, k.p
    j0 = b.let("j0", ir.GROUP * parts.y)
    with b.loop("i0", 0, p1, x) as i0:
        b.call(parts.fill, k.a2, k.a3, k.t, k.sa, k.sb, i0, p1, j0, p3, p2, *k.counter)
        end = b.let("end", ir.smallest(i0 + x, p1))
        with b.loop("l0", 0, p0, x) as l0:
            parts.zeros(b, k.cell)
            with b.loop("k0", 0, ir.smallest(p1 - i0, x), z) as k0:
                b.call(parts.stage, k.a1, k.sa, l0, p0, i0 + k0, end, p1, x, z, *k.counter)
                b.barrier()
                b.call(parts.multiply, k.sa, z, k.t + k0 * parts.y, ir.smallest(x - k0, z), k.cell)
                b.barrier()
            b.call(parts.add, k.r, k.cell, l0, p0, j0, p3, i0 > 0, *k.counter)
    return b.function()
