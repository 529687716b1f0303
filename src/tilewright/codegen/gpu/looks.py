"""Kernels that look at a field where it lies on a GPU: its largest value, how much it changed, some of its cells."""

from collections.abc import Callable
from contextlib import AbstractContextManager

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
    functions = tuple(_Look(dtype, name, threads).function() for name in ("largest", "change", "gather"))
    return KernelSource(
        text=print_gpu(functions, dialect),
        dialect=dialect,
        kernels=tuple(EntryPoint(entry=f.name, threads=threads, numbers=("offset", "count")) for f in functions),
        layout=None,
        double=dtype == "float64",
    )


class _Look:
    """One of the kernels."""

    def __init__(self, dtype: str, name: str, threads: int) -> None:
        self.kind, self.name, self.threads = ir.element(dtype), name, threads
        self.b = ir.Builder(f"tw_look_{name}", kind="kernel", threads=threads)

    def function(self) -> ir.Function:
        b, kind = self.b, self.kind
        target, source = b.param("target", ir.pointer(kind)), b.param("source", ir.const_pointer(kind))
        if self.name != "largest":
            of = kind if self.name == "change" else ir.element("int64")
            other = b.param("old" if self.name == "change" else "cells", ir.const_pointer(of))
        offset, self.count = b.param("offset", ir.WIDE), b.param("count", ir.WIDE)
        if self.name == "gather":
            with self.cells() as at:
                b.set(target[at], (source + offset)[other[at]])
        elif self.name == "change":
            self.fold(target, lambda at: self.difference(source[offset + at], other[at]))
        else:
            self.fold(target, lambda at: ir.op(Operator.ABS, source[offset + at]))
        return b.function()

    def cells(self) -> AbstractContextManager[ir.Expr]:
        """All threads of a launch share the cells."""
        first, step = ir.wide(ir.GROUP * self.threads + ir.THREAD), ir.GROUPS * self.threads
        return self.b.loop("at", first, self.count, step, kind=ir.WIDE, unroll=1)

    def difference(self, new: ir.Expr, old: ir.Expr) -> ir.Expr:
        if not self.kind.is_integer:
            return ir.op(Operator.ABS, new - old)
        high, low = ir.op(Operator.MAXIMUM, new, old), ir.op(Operator.MINIMUM, new, old)
        most = literal(int(np.iinfo(self.kind.name).max), self.kind)
        return ir.select((low < 0) & (low + most < high), most, high - low)

    def fold(self, target: ir.Expr, value: Callable[[ir.Expr], ir.Expr]) -> None:
        """The largest of a value over the cells, one per group."""
        b, threads = self.b, self.threads
        chip = b.array("chip", ir.shared_pointer(self.kind), threads)
        worst = b.mutable("worst", literal(0, self.kind))
        with self.cells() as at:
            b.set(worst, ir.op(Operator.MAXIMUM, worst, value(at)))
        b.set(chip[ir.THREAD], worst)
        b.barrier()
        while threads > 1:
            threads //= 2
            with b.when(ir.THREAD < threads):
                b.set(chip[ir.THREAD], ir.op(Operator.MAXIMUM, chip[ir.THREAD], chip[ir.THREAD + threads]))
            b.barrier()
        with b.when(ir.THREAD.equals(0)):
            b.set(target[ir.GROUP], chip[0])
