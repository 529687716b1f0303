"""Kernels that look at a field where it lies on a GPU: its largest value, how much it changed, some of its cells."""

import numpy as np

from tilewright.codegen import ir
from tilewright.codegen.ir import Operator
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.sites import literal
from tilewright.codegen.source import EntryPoint, KernelSource

_OFFSET, _COUNT, _AT = (ir.Var(name, ir.WIDE) for name in ("offset", "count", "at"))
_NUMBERS = (_OFFSET, _COUNT)


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
    kind = ir.element(dtype)
    target, source = ir.Var("target", ir.pointer(kind)), ir.Var("source", ir.const_pointer(kind))
    old = ir.Var("old", ir.const_pointer(kind))
    cells = ir.Var("cells", ir.const_pointer(ir.element("int64")))
    new, before = ir.Load(source, _OFFSET + _AT, kind), ir.Load(old, _AT, kind)
    place = ir.Load(cells, _AT, ir.element("int64"))
    each = (ir.Store(target, _AT, ir.Load(source + _OFFSET, place, kind), kind),)
    functions = (
        _function("largest", (target, source), _folded(target, ir.op(Operator.ABS, new), kind, threads), threads),
        _function(
            "change", (target, source, old), _folded(target, _difference(new, before, kind), kind, threads), threads
        ),
        _function("gather", (target, source, cells), (_over_cells(each, threads),), threads),
    )
    return KernelSource(
        text=print_gpu(functions, dialect),
        dialect=dialect,
        kernels=tuple(
            EntryPoint(entry=f.name, threads=threads, numbers=tuple(each.name for each in _NUMBERS)) for f in functions
        ),
        layout=None,
        double=dtype == "float64",
    )


def _function(name: str, pointers: tuple[ir.Var, ...], body: tuple[ir.Stmt, ...], threads: int) -> ir.Function:
    params = (*pointers, *_NUMBERS)
    return ir.Function(name=f"tw_look_{name}", params=params, body=body, kind="kernel", threads=threads)


def _over_cells(body: tuple[ir.Stmt, ...], threads: int) -> ir.Stmt:
    """All threads of a launch share the cells."""
    first = ir.wide(ir.GROUP * threads + ir.THREAD)
    return ir.For(var=_AT, low=first, high=_COUNT, step=ir.GROUPS * threads, body=body, unroll=1)


def _difference(new: ir.Expr, old: ir.Expr, kind: ir.Element) -> ir.Expr:
    if not kind.is_integer:
        return ir.op(Operator.ABS, new - old)
    high, low = ir.op(Operator.MAXIMUM, new, old), ir.op(Operator.MINIMUM, new, old)
    most = literal(int(np.iinfo(kind.name).max), kind)
    far = (low < literal(0, kind)) & (low + most < high)
    return ir.select(far, most, high - low)


def _folded(target: ir.Var, value: ir.Expr, kind: ir.Element, threads: int) -> tuple[ir.Stmt, ...]:
    """The largest of a value over the cells, one per group."""
    worst, chip = ir.Var("worst", kind), ir.Var("chip", ir.shared_pointer(kind))
    fold: list[ir.Stmt] = []
    width = threads // 2
    while width:
        mine, others = ir.Load(chip, ir.THREAD, kind), ir.Load(chip, ir.THREAD + width, kind)
        keep = ir.Store(chip, ir.THREAD, ir.op(Operator.MAXIMUM, mine, others), kind)
        fold += [ir.If(ir.THREAD < width, (keep,)), ir.Barrier()]
        width //= 2
    return (
        ir.Array(chip, threads),
        ir.Mutable(worst, literal(0, kind)),
        _over_cells((ir.Assign(worst, ir.op(Operator.MAXIMUM, worst, value)),), threads),
        ir.Store(chip, ir.THREAD, worst, kind),
        ir.Barrier(),
        *fold,
        ir.If(ir.THREAD.equals(0), (ir.Store(target, ir.GROUP, ir.Load(chip, ir.Int(0), kind), kind),)),
    )
