"""A whole iteration of the conjugate-gradient method in two passes over memory.

With residual r, search direction p, solution x and matrix A the method does, one after the other, q = A p, p.q,
x += a p, r -= a q, r.r and p = r + b p: six passes that read every vector anew. Here

1.  x += a p and p' = r + b p run ahead of the rows of q = A p' just far enough, and p'.q is summed with them: p, r and
    x are read once, and p' is multiplied while it lies in the nearest caches;
2.  r -= a' q with r.r.

What a thread needs of its neighbours' p' is computed by them before a barrier. Sums are taken over the same blocks
whatever the number of threads, so the result does not depend on it.
"""

from collections.abc import Callable

from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.products.registers import ARRAYS, BYTE, DOUBLE, INDICES, lanes_of, real_element, sweep
from tilewright.codegen.source import KernelSource, c_source
from tilewright.schedules.code import Unrolling
from tilewright.sparse.lower.dia import Matrix, library

SIZES = ("rows", "diagonals", "threads", "reach", "first")
"""What ``size`` holds; ``reach`` is the largest distance of a diagonal, ``first`` says that p' is given and x is
not due."""
_TOGETHER, _SUMMED = 2, 4  # registers per iteration of updates, and of sums
_VERSION = 2  # raised when texts change for the same unrolling


def emit_cg(dtype: str, how: Unrolling, block: int) -> KernelSource[None]:
    """Write one iteration.

    ``array`` holds x, r, p, p', q, the offsets and the table of diagonals. ``work`` holds a (of the previous iteration)
    and b, receives p'.q, a' and r.r, and after these five has room for a partial sum per block of ``block`` rows, in
    doubles.
    """
    real = real_element(dtype)
    entry = f"tw_cg_{fingerprint(dtype, how, block, _VERSION)[:12]}"
    products = library(dtype, how)
    direct, dot, reduce, total = _direct(real), _dot(real), _reduce(real), _total()
    iteration = _Iteration(real, block, products[-1], direct, dot, reduce, total).function(entry)
    return c_source(c.print_unit((*products, direct, dot, reduce, total, iteration)), entry)


def _direct(real: ir.Element) -> ir.Function:
    """Compute x += a p and p' = r + b p on elements from … to - 1."""
    b = ir.Builder("direct")
    x, r = b.param("x", ir.pointer(real)), b.param("r", ir.const_pointer(real))
    p, following = b.param("p", ir.const_pointer(real)), b.param("next", ir.pointer(real))
    start, stop = b.param("from", ir.INDEX), b.param("to", ir.INDEX)
    step, along = b.param("a", real), b.param("b", real)

    def whole(at: ir.Expr) -> None:
        positions = [at + start + ir.Lanes(real) * v for v in range(_TOGETHER)]
        old = [b.let(f"p{v}", p.vector(position)) for v, position in enumerate(positions)]
        for v, position in enumerate(positions):
            b.set(x[position], x.vector(position) + step * old[v])
            b.set(following[position], r.vector(position) + along * old[v])

    def single(at: ir.Expr) -> None:
        place = at + start
        b.set(x[place], x[place] + step * p[place])
        b.set(following[place], r[place] + along * p[place])

    sweep(b, b.let("n", stop - start), real, _TOGETHER, whole, single)
    return b.function()


def _sum(
    b: ir.Builder,
    n: ir.Expr,
    real: ir.Element,
    terms: Callable[[list[ir.Expr]], list[ir.Expr]],
    term: Callable[[ir.Expr], ir.Expr],
) -> ir.Expr:
    """Return a sum over elements: of terms that are vectors, and of single ones in double precision."""
    register = ir.vector(real)
    sums = [b.mutable(f"s{v}", 0.0, register) for v in range(_SUMMED)]
    single = b.mutable("s", 0.0, DOUBLE)

    def whole(at: ir.Expr) -> None:
        for total, each in zip(sums, terms([at + ir.Lanes(real) * v for v in range(_SUMMED)]), strict=True):
            b.set(total, total + each)

    sweep(b, n, real, _SUMMED, whole, lambda at: b.set(single, single + term(at)))
    return lanes_of(b, "total", b.let("all", (sums[0] + sums[1]) + (sums[2] + sums[3])), single)


def _dot(real: ir.Element) -> ir.Function:
    """Return x.y."""
    b = ir.Builder("dot")
    x, y = b.param("x", ir.const_pointer(real)), b.param("y", ir.const_pointer(real))
    n = b.param("n", ir.INDEX)
    return b.function(
        _sum(
            b,
            n,
            real,
            lambda positions: [x.vector(position) * y.vector(position) for position in positions],
            lambda at: x[at].to(DOUBLE) * y[at].to(DOUBLE),
        )
    )


def _reduce(real: ir.Element) -> ir.Function:
    """Compute r -= a q, and return r.r."""
    b = ir.Builder("reduce")
    r, q = b.param("r", ir.pointer(real)), b.param("q", ir.const_pointer(real))
    n, step = b.param("n", ir.INDEX), b.param("a", real)

    def terms(positions: list[ir.Expr]) -> list[ir.Expr]:
        new = [b.let(f"r{v}", r.vector(position) - step * q.vector(position)) for v, position in enumerate(positions)]
        for position, value in zip(positions, new, strict=True):
            b.set(r[position], value)
        return [value * value for value in new]

    def term(at: ir.Expr) -> ir.Expr:
        new = b.let("one", r[at] - step * q[at])
        b.set(r[at], new)
        return new.to(DOUBLE) * new.to(DOUBLE)

    return b.function(_sum(b, n, real, terms, term))


def _total() -> ir.Function:
    """Return the sum of the blocks' sums."""
    b = ir.Builder("total", kind="inline")
    part, n = b.param("part", ir.const_pointer(DOUBLE)), b.param("n", ir.INDEX)
    total = b.mutable("s", 0.0, DOUBLE)
    with b.loop("b", 0, n) as block:
        b.set(total, total + part[block])
    return b.function(total)


class _Iteration:
    """Makes the function of an iteration."""

    def __init__(self, real: ir.Element, block: int, rows: ir.Function, *parts: ir.Function) -> None:
        self.real, self.block, self.rows = real, block, rows
        self.direct, self.dot, self.reduce, self.total = parts

    def function(self, entry: str) -> ir.Function:
        b = ir.Builder(entry, kind="entry")
        array, size = b.param("array", ARRAYS), b.param("size", INDICES)
        work = b.param("work", ir.pointer(DOUBLE))
        b.param("unused", ir.pointer(BYTE))
        real, fixed = ir.pointer(self.real), ir.const_pointer(self.real)
        n, reach = b.let("n", size[0]), b.let("reach", size[3])
        blocks = b.let("blocks", (n + (self.block - 1)) / self.block)
        count, offset = b.let("count", size[1]), b.let("offset", array[5].to(INDICES))
        matrix = Matrix(n, count, offset, b.let("diagonal", array[6].to(ir.const_pointer(fixed))))
        x, r = b.let("x", array[0].to(real)), b.let("r", array[1].to(real))
        p, following = b.let("p", array[2].to(fixed)), b.let("next", array[3].to(real))
        q = b.let("q", array[4].to(real))
        later = b.let("later", size[4].equals(0))
        step, along = b.let("a", work[0].to(self.real)), b.let("b", work[1].to(self.real))
        part = b.let("part", work + 5)

        def ahead(start: ir.Expr, stop: ir.Expr) -> None:
            b.call(self.direct, x, r, p, following, start, stop, step, along)

        with b.parallel(size[2]):
            t, threads = b.let("t", ir.THREAD), b.let("threads", ir.THREADS)
            begin, end = b.let("begin", blocks * t / threads), b.let("end", blocks * (t + 1) / threads)
            low, high = (
                b.let("low", ir.smallest(begin * self.block, n)),
                b.let("high", ir.smallest(end * self.block, n)),
            )
            b.comment("what the neighbours need of mine")
            head = b.let("head", ir.select(t > 0, ir.smallest(low + reach, high), low))
            tail = b.let("tail", ir.select(t + 1 < threads, ir.largest(high - reach, head), high))
            front = b.mutable("done", head)
            with b.when(later):
                ahead(low, head)
                ahead(tail, high)
            b.barrier()
            with b.loop("k", begin, end) as k:
                row = b.let("row", k * self.block)
                until = b.let("until", ir.smallest(row + self.block, n))
                needed = b.let("ahead", ir.smallest(until + reach, tail))
                with b.when(later & (needed > front)):
                    ahead(front, needed)
                    b.set(front, needed)
                b.call(self.rows, *matrix.arguments, following, q, row, until, 0, 0)
                b.set(part[k], b.call(self.dot, following + row, q + row, until - row))
            b.barrier()
            with b.when(t.equals(0)):
                b.set(work[2], b.call(self.total, part, blocks))
                b.set(work[3], work[4] / work[2])
            b.barrier()
            new = b.let("step", work[3].to(self.real))
            with b.loop("k", begin, end) as k:
                row = b.let("row", k * self.block)
                b.set(part[k], b.call(self.reduce, r + row, q + row, ir.smallest(n - row, self.block), new))
        b.set(work[4], b.call(self.total, part, blocks))
        return b.function()
