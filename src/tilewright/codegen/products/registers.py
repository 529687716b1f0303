"""What kernels over long rows share: registers of elements at a time, boundaries of vectors, shares of threads."""

from collections.abc import Callable

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.print.elements import REALS

DOUBLE = ir.element("float64")
BYTE = ir.element("uint8")
ARRAYS = ir.const_pointer(ir.pointer(BYTE))
"""The first parameter of every kernel: addresses of arrays, of whatever type."""
INDICES = ir.const_pointer(ir.INDEX)  # the second, sizes; and other tables of indices
UNITS = 64  # elements by which the shares of threads differ: whole cache lines


def real_element(dtype: str) -> ir.Element:
    """Return the element type of a matrix."""
    if dtype not in REALS:
        raise UsageError(f"sparse kernels compute in {' or '.join(REALS)}, got {dtype!r}")
    return ir.element(dtype)


def sweep(  # noqa: PLR0913  (what a loop over registers is)
    b: ir.Builder,
    n: ir.Expr,
    of: ir.Element,
    vectors: int,  # registers of elements at a time
    whole: Callable[[ir.Expr], None],  # computes these, from a place on
    single: Callable[[ir.Expr], None],  # computes one element: before the vectors' boundary, and what is left
    *,
    first: int = 0,
    aligned: ir.Expr | None = None,  # a pointer that is at a vector's boundary wherever ``whole`` is called
) -> None:
    """Go over elements ``first`` to ``n - 1``, in order."""
    with b.scope():
        start: ir.Operand = first
        if aligned is not None:
            start = b.mutable("i", first)
            with b.loop_while((start < n) & beyond_boundary(aligned + start).differs(0)):
                single(start)
                b.set(start, start + 1)
        step = b.let("step", ir.Lanes(of) * vectors)
        with b.loop("at", start, n - step + 1, step) as at:
            whole(at)
        count = b.let("whole", (n - start) / step * step)
        with b.loop("rest", count + start, n) as rest:
            single(rest)


def beyond_boundary(pointer: ir.Expr) -> ir.Expr:
    """Return how many bytes a pointer stands behind the last boundary of vectors."""
    return pointer.to(ir.INDEX) % ir.VECTOR_BYTES


def put(b: ir.Builder, to: ir.Expr, at: ir.Expr, value: ir.Expr, *, past: bool) -> None:
    """Store a vector, perhaps past the caches, where it then starts at a boundary."""
    kind = ir.element_of(ir.type_of(to))
    if past and kind is not None:
        b.intrinsic("past", kind, to + at, value)
    else:
        b.set(to[at], value)


def lanes_of(b: ir.Builder, name: str, vector: ir.Expr, start: ir.Expr) -> ir.Expr:
    """Return a sum in double precision: a start, and the numbers of a vector one after the other."""
    total = b.mutable(name, start)
    kind = ir.element_of(ir.type_of(vector)) or DOUBLE
    with b.loop("lane", 0, ir.Lanes(kind)) as lane:
        b.set(total, total + vector.lane(lane).to(DOUBLE))
    return total


def share(n: ir.Expr, thread: ir.Expr, threads: ir.Expr) -> ir.Expr:
    """Return where a thread's share of consecutive elements begins, at whole cache lines."""
    units = (n + (UNITS - 1)) / UNITS
    return ir.smallest(n, units * thread / threads * UNITS)
