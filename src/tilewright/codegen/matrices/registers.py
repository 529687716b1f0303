"""What kernels over long rows share: registers of elements at a time, boundaries of vectors, shares of threads."""

from collections.abc import Callable

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.ir.builder import Builder, BuilderValue, least
from tilewright.codegen.print.elements import REALS

DOUBLE = ir.element("float64")
BYTE = ir.element("uint8")
ARRAYS = ir.const_pointer(ir.pointer(BYTE))
"""The first parameter of every kernel: addresses of arrays, of whatever type."""
INDICES = ir.const_pointer(ir.INDEX)
"""The second, sizes; and other tables of indices."""
UNITS = 64
"""Elements by which the shares of threads differ: whole cache lines."""


def real_element(dtype: str) -> ir.Element:
    """Return the element type of a matrix."""
    if dtype not in REALS:
        raise UsageError(f"sparse kernels compute in {' or '.join(REALS)}, got {dtype!r}")
    return ir.element(dtype)


def sweep(  # noqa: PLR0913  (what a loop over registers is)
    b: Builder,
    n: BuilderValue,
    of: ir.Element,
    vectors: int,  # registers of elements at a time
    whole: Callable[[BuilderValue], None],  # computes these, from a place on
    single: Callable[[BuilderValue], None],  # computes one element: before the vectors' boundary, and what is left
    *,
    first: int = 0,
    aligned: BuilderValue | None = None,  # a pointer that is at a vector's boundary wherever ``whole`` is called
) -> None:
    """Go over elements ``first`` to ``n - 1``, in order."""
    with b.scope():
        start: BuilderValue | int = first
        if aligned is not None:
            start = b.mutable("i", first)
            with b.loop_while((start < n) & beyond_boundary(b, aligned + start).differs(0)):
                single(start)
                b.set(start, start + 1)
        step = b.let("step", b.lanes(of) * vectors)
        with b.loop("at", start, n - step + 1, step) as at:
            whole(at)
        count = b.let("whole", (n - start) / step * step)
        with b.loop("rest", count + start, n) as rest:
            single(rest)


def beyond_boundary(b: Builder, pointer: BuilderValue) -> BuilderValue:
    """Return how many bytes a pointer stands behind the last boundary of vectors."""
    return pointer.to(ir.INDEX) % b.vector_bytes


def put(b: Builder, to: BuilderValue, at: BuilderValue, value: BuilderValue, *, past: bool) -> None:
    """Store a vector, perhaps past the caches, where it then starts at a boundary."""
    kind = ir.element_of(to.type)
    if past and kind is not None:
        b.intrinsic("past", kind, to + at, value)
    else:
        to[at] = value


def lanes_of(b: Builder, name: str, vector: BuilderValue, start: BuilderValue) -> BuilderValue:
    """Return a sum in double precision: a start, and the numbers of a vector one after the other."""
    total = b.mutable(name, start)
    kind = ir.element_of(vector.type) or DOUBLE
    with b.loop("lane", 0, b.lanes(kind)) as lane:
        b.set(total, total + vector.lane(lane).to(DOUBLE))
    return total


def share(n: BuilderValue, thread: BuilderValue, threads: BuilderValue) -> BuilderValue:
    """Return where a thread's share of consecutive elements begins, at whole cache lines."""
    units = (n + (UNITS - 1)) / UNITS
    return least(n, units * thread / threads * UNITS)
