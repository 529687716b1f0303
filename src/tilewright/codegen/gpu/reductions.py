"""Kernels that look at a field where it lies on a GPU: its largest value, how much it changed, some of its cells."""

import numpy as np

from tilewright.codegen import ir
from tilewright.codegen.boundary import literal
from tilewright.codegen.ir import Operator
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource


def look_source(dtype: str, dialect: str, threads: int) -> KernelSource[None]:
    """Return the text of the kernels ``largest``, ``change`` and ``gather``, in this order.

    Their numbers are where in ``source`` a version starts and how many cells there are; every group of the first two,
    of a power of two threads, leaves the largest value that it saw, or what is not a number, in ``target``:

    ========  ==========================  ==================================================
    largest   ``(target, source)``        ``|source|``
    change    ``(target, source, old)``   ``|source - old|``; whole numbers stop at the largest
    gather    ``(target, source, cells)``  ``target[i] = source[cells[i]]``
    ========  ==========================  ==================================================
    """
    functions = tuple(_function(name, ir.element(dtype), threads) for name in ("largest", "change", "gather"))
    return KernelSource(
        text=print_gpu(functions, dialect),
        dialect=dialect,
        kernels=tuple(EntryPoint(entry=f.name, threads=threads, numbers=("offset", "count")) for f in functions),
        layout=None,
        double=dtype == "float64",
    )


def _function(name: str, kind: ir.Element, threads: int) -> ir.Function:
    b = ir.Builder(f"tw_look_{name}", kind="kernel", threads=threads)
    target, source = b.param("target", ir.pointer(kind)), b.param("source", ir.const_pointer(kind))
    if name == "change":
        old = b.param("old", ir.const_pointer(kind))
    elif name == "gather":
        cells = b.param("cells", ir.const_pointer(ir.element("int64")))
    offset, count = b.param("offset", ir.WIDE), b.param("count", ir.WIDE)
    # All threads of a launch share the cells.
    first, step = ir.wide(ir.GROUP * threads + ir.THREAD), ir.GROUPS * threads
    each = b.loop("at", first, count, step, kind=ir.WIDE, unroll=1)
    if name == "gather":
        with each as at:
            b.set(target[at], (source + offset)[cells[at]])
        return b.function()
    chip = b.array("chip", ir.shared_pointer(kind), threads)
    worst = b.mutable("worst", literal(0, kind))
    with each as at:
        value = source[offset + at]
        size = _difference(value, old[at], kind) if name == "change" else ir.op(Operator.ABS, value)
        b.set(worst, ir.largest(worst, size))
    b.set(chip[ir.THREAD], worst)
    b.barrier()
    span = threads // 2
    while span:
        with b.when(ir.THREAD < span):
            b.set(chip[ir.THREAD], ir.largest(chip[ir.THREAD], chip[ir.THREAD + span]))
        b.barrier()
        span //= 2
    with b.when(ir.THREAD.equals(0)):
        b.set(target[ir.GROUP], chip[0])
    return b.function()


def _difference(new: ir.Expr, old: ir.Expr, kind: ir.Element) -> ir.Expr:
    if not kind.is_integer:
        return ir.op(Operator.ABS, new - old)
    high, low = ir.largest(new, old), ir.smallest(new, old)
    most = literal(int(np.iinfo(kind.name).max), kind)
    return ir.select((low < 0) & (low + most < high), most, high - low)
