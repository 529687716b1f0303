"""Kernels of matrices stored by diagonals without padding, for CPUs.

Diagonal ``o`` holds the elements A[t + max(0, -o), t + max(0, o)] for t from 0. With the offsets ascending, the
diagonals that a row meets are consecutive, and the rows fall into at most 2 D + 1 ranges that meet the same ones: in a
range nothing is tested, every diagonal is read from front to back, and a row of y is stored once. The transposed
matrix has the same diagonals under the negated offsets in reverse order, so one kernel serves both.

More than ``depth`` diagonals are taken in several passes over a block of rows whose results stay in the
nearest cache.
"""

from dataclasses import dataclass

from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.products.registers import ARRAYS, BYTE, INDICES, put, real_element, share, sweep
from tilewright.codegen.source import KernelSource, c_source
from tilewright.schedules.code import Unrolling

SIZES = ("rows", "columns", "diagonals", "threads", "stream", "add")
"""What ``size`` holds: the matrix' extents, its number of diagonals, threads, whether results go past the caches, and
whether they are added to what y holds."""
_VERSION = 2  # raised when texts change for the same unrolling


def emit_dia(dtype: str, how: Unrolling) -> KernelSource[None]:
    """Write y = A x (or y += A x) for any matrix of diagonals.

    ``array`` holds x, y, the offsets (int64, ascending) and the table of the diagonals' addresses; ``size`` holds what
    :data:`SIZES` says.
    """
    entry = f"tw_dia_{fingerprint(dtype, how, _VERSION)[:12]}"
    functions = library(dtype, how)
    return c_source(c.print_unit((*functions, _entry(real_element(dtype), functions[-1], entry))), entry)


def library_text(dtype: str, how: Unrolling) -> str:
    """Write the functions that a file of the user's language builds on, see :func:`library`."""
    return c.print_unit(library(dtype, how))


def library(dtype: str, how: Unrolling) -> tuple[ir.Function, ...]:
    """Make the functions that other units build on.

    The last is ``dia_rows(columns, count, offset, diagonal, x, y, from, to, stream, add)``: y[from … to - 1] (+)= these
    rows of A x.
    """
    real = real_element(dtype)
    passes = [_pass(real, count, how.vectors) for count in range(1, how.depth + 1)]
    together = _range(real, passes, how)
    return (*passes, together, _rows(real, together))


@dataclass(slots=True)
class Matrix:
    """A matrix among the parameters of a function."""

    columns: ir.Expr
    count: ir.Expr  # its diagonals
    offset: ir.Expr  # their offsets, ascending
    diagonal: ir.Expr  # their addresses

    @property
    def arguments(self) -> tuple[ir.Expr, ...]:
        """What a function of the library is given for it."""
        return self.columns, self.count, self.offset, self.diagonal


def _many(real: ir.Element) -> ir.Pointer:
    """The type of a table of addresses."""
    return ir.const_pointer(ir.const_pointer(real))


def matrix_params(b: ir.Builder, real: ir.Element) -> Matrix:
    """Add a matrix to the parameters of a function."""
    return Matrix(
        columns=b.param("columns", ir.INDEX),
        count=b.param("count", ir.INDEX),
        offset=b.param("offset", INDICES),
        diagonal=b.param("diagonal", _many(real)),
    )


def _pass(real: ir.Element, count: int, vectors: int) -> ir.Function:
    """Compute y (+)= the products of ``count`` diagonals, for consecutive rows; pointers stand at the first row."""
    # Whether to add and how to store are known in each of the four loops: with a choice inside the loop the compiler
    # would round the products of some rows before adding them, and of others not.
    b = ir.Builder(f"dia_pass{count}")
    a, x = b.param("a", _many(real)), b.param("x", _many(real))
    y, n = b.param("y", ir.pointer(real)), b.param("n", ir.INDEX)
    stream, add = b.param("stream", ir.INDEX), b.param("add", ir.INDEX)
    diagonals = [b.let(f"a{d}", a[d]) for d in range(count)]
    vector = [b.let(f"x{d}", x[d]) for d in range(count)]

    def loop(*, past: bool, more: bool) -> None:
        def whole(at: ir.Expr) -> None:
            lanes = ir.Lanes(real)
            sums = []
            for v in range(vectors):
                place = at + lanes * v
                terms = [d.vector(place) * e.vector(place) for d, e in zip(diagonals, vector, strict=True)]
                total = b.mutable(f"s{v}", y.vector(place) + terms[0] if more else terms[0])
                for term in terms[1:]:
                    b.set(total, total + term)
                sums.append((place, total))
            for place, total in sums:
                put(b, y, place, total, past=past)

        def single(at: ir.Expr) -> None:
            terms = [d[at] * e[at] for d, e in zip(diagonals, vector, strict=True)]
            total = b.mutable("s", y[at] + terms[0] if more else terms[0])
            for term in terms[1:]:
                b.set(total, total + term)
            b.set(y[at], total)

        sweep(b, n, real, vectors, whole, single, aligned=y if past else None)

    for past in (True, False):
        with b.when(stream.differs(0)) if past else b.otherwise():
            with b.when(add.differs(0)):
                loop(past=past, more=True)
            with b.otherwise():
                loop(past=past, more=False)
    return b.function()


def _range(real: ir.Element, passes: list[ir.Function], how: Unrolling) -> ir.Function:
    """Compute y[from … to - 1] (+)= the products of diagonals first … last - 1, which all these rows meet."""
    b = ir.Builder("dia_range")
    m = matrix_params(b, real)
    first, last = b.param("first", ir.INDEX), b.param("last", ir.INDEX)
    x, y = b.param("x", ir.const_pointer(real)), b.param("y", ir.pointer(real))
    start, stop = b.param("from", ir.INDEX), b.param("to", ir.INDEX)
    stream, add = b.param("stream", ir.INDEX), b.param("add", ir.INDEX)
    single = b.let("one", last - first <= how.depth)
    high = b.let("high", ir.select(single, stop - start, how.block))
    with b.when(first.equals(last) & add.equals(0)), b.loop("i", start, stop) as i:
        b.set(y[i], 0.0)
    with b.loop("step", 0, (stop - start + high - 1) / ir.largest(high, 1)) as step:
        row = b.let("row", start + step * high)
        n = b.let("n", ir.smallest(high, stop - row))
        with b.loop("d", first, last, how.depth) as d:
            k = b.let("k", ir.smallest(last - d, how.depth))
            table = ir.pointer(ir.const_pointer(real))
            diagonals, vectors = b.array("a", table, how.depth), b.array("b", table, how.depth)
            with b.loop("j", 0, k) as j:
                o = b.let("o", m.offset[d + j])
                b.set(diagonals[j], m.diagonal[d + j] + row + ir.smallest(o, 0))
                b.set(vectors[j], x + row + o)
            for count, each in enumerate(passes, 1):
                with b.when(k.equals(count)):
                    # Several passes over a block read its results again: only those of one pass go past the caches.
                    past = stream.differs(0) & single
                    b.call(each, diagonals, vectors, y + row, n, past, add.differs(0) | (d > first))
    return b.function()


def _rows(real: ir.Element, together: ir.Function) -> ir.Function:
    """Compute y[from … to - 1] (+)= these rows of A x."""
    b = ir.Builder("dia_rows")
    m = matrix_params(b, real)
    x, y = b.param("x", ir.const_pointer(real)), b.param("y", ir.pointer(real))
    start, stop = b.param("from", ir.INDEX), b.param("to", ir.INDEX)
    stream, add = b.param("stream", ir.INDEX), b.param("add", ir.INDEX)
    row = b.mutable("row", start)
    with b.loop_while(row < stop):
        first, last, end = b.mutable("first", 0), b.mutable("last", m.count), b.mutable("end", stop)
        with b.loop("d", 0, m.count) as d:
            b.set(first, first + (m.offset[d] < -row))
            b.set(last, last - (m.offset[d] >= m.columns - row))
        b.set(last, ir.largest(first, last))
        b.comment("the next row that meets one more below, or one less above")
        with b.when(first > 0):
            b.set(end, ir.smallest(end, -m.offset[first - 1]))
        with b.when(last > first):
            b.set(end, ir.smallest(end, m.columns - m.offset[last - 1]))
        b.call(together, *m.arguments, first, last, x, y, row, end, stream, add)
        b.set(row, end)
    with b.when(stream.differs(0)):
        b.intrinsic("fence", real)
    return b.function()


def _entry(real: ir.Element, rows: ir.Function, entry: str) -> ir.Function:
    b = ir.Builder(entry, kind="entry")
    array, size = b.param("array", ARRAYS), b.param("size", INDICES)
    b.param("work", ir.pointer(BYTE))
    b.param("unused", ir.pointer(BYTE))
    x, y = array[0].to(ir.const_pointer(real)), array[1].to(ir.pointer(real))
    n = b.let("rows", size[0])
    m = Matrix(size[1], size[2], array[2].to(INDICES), array[3].to(_many(real)))
    with b.when(size[3] > 1), b.parallel(size[3]):
        low, high = (share(n, ir.THREAD + more, ir.THREADS) for more in (0, 1))
        b.call(rows, *m.arguments, x, y, low, high, size[4], size[5])
    with b.otherwise():
        b.call(rows, *m.arguments, x, y, 0, n, size[4], size[5])
    return b.function()
