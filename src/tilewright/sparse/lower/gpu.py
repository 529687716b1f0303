"""GPU kernels of matrices of diagonals and of Krylov methods' vector operations.

Every loop advances by the whole grid, and every element is read at the loop's own index, so vectors may be longer than
the grid (the published example reads at the thread's number instead). Sums are reduced within a group through shared
memory and finished on the device by one more group.
"""

from contextlib import AbstractContextManager

from tilewright.base.constants import MAX_BLOCK_THREADS
from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.codegen.print.elements import REALS
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.sparse.lower.vectors import VectorKernel, compute_element

_WHOLE = ir.const_pointer(ir.WIDE)
_VERSION = 2  # raised when texts change for the same arguments


def emit_dia_gpu(dtype: str, dialect: str, threads: int, unroll: int) -> KernelSource[None]:
    """Write y = A x for any matrix of diagonals; the transposed one has other offsets and starts.

    Arguments: the diagonals' elements one after the other, per diagonal its start among them and its offset (64-bit
    integers), x, y, and the numbers of rows, columns and diagonals (64-bit). An iteration takes ``unroll`` diagonals.
    """
    real = _real(dtype, dialect, threads)
    entry = f"tw_dia_gpu_{fingerprint(dtype, dialect, threads, unroll, _VERSION)[:12]}"
    b = ir.Builder(entry, kind="kernel", threads=threads)
    values, start, offset = (
        b.param(name, kind)
        for name, kind in (("values", ir.const_pointer(real)), ("start", _WHOLE), ("offset", _WHOLE))
    )
    x, y = b.param("x", ir.const_pointer(real)), b.param("y", ir.pointer(real))
    rows, columns, diagonals = (b.param(name, ir.WIDE) for name in ("rows", "columns", "diagonals"))
    # A row per turn of a thread: neighbours in the group read neighbours of every diagonal.
    with _grid(b, rows, threads) as i:
        total = b.mutable("s", 0.0, real)
        with b.loop("d", 0, diagonals, kind=ir.WIDE, unroll=unroll if unroll > 1 else 0) as d:
            column = b.let("column", i + offset[d])
            with b.when((column >= 0) & (column < columns)):
                b.set(total, total + values[start[d] + ir.select(column < i, column, i)] * x[column])
        b.set(y[i], total)
    return _source((b.function(),), dtype, dialect, threads, entry)


def emit_vectors_gpu(kernel: VectorKernel, dtype: str, dialect: str, threads: int) -> KernelSource[None]:
    """Write a vector kernel, for any number of groups, and, where there are sums, one for one group that finishes them.

    Arguments: the vectors, the scalars, where the groups' sums go (as many elements as groups times sums) if there are
    any, and the length (64-bit). The finishing kernel takes those sums and the number of groups (an int), and leaves
    the totals in the first elements.
    """
    if threads & (threads - 1):
        raise UsageError(f"sums are halved, so the threads of a group are a power of two, got {threads}")
    real = _real(dtype, dialect, threads)
    entry = f"tw_vectors_gpu_{fingerprint(kernel, dtype, dialect, threads, _VERSION)[:12]}"
    b = ir.Builder(entry, kind="kernel", threads=threads)
    arrays = {name: b.param(f"p_{name}", ir.Pointer(real, const=name not in kernel.written)) for name in kernel.vectors}
    scalars = {name: b.param(name, real) for name in kernel.scalars}
    part = b.param("part", ir.pointer(real)) if kernel.sums else None
    n = b.param("n", ir.WIDE)
    chip = b.array("chip", ir.shared_pointer(real), threads) if part is not None else None
    totals = [b.mutable(f"t{k}", 0.0, real) for k in range(kernel.sums)]
    with _grid(b, n, threads) as i:
        compute_element(kernel, scalars, b, i, arrays, totals)
    if part is None or chip is None:
        return _source((b.function(),), dtype, dialect, threads, entry)
    joined = _total(real, threads)
    for k, total in enumerate(totals):
        _join_groups(b, joined, chip, total, part, ir.GROUP * kernel.sums + k)
    finish = _finish(f"{entry}_finish", joined, real, threads, kernel.sums)
    return _source((joined, b.function(), finish), dtype, dialect, threads, entry, finish.name)


def _source(
    functions: tuple[ir.Function, ...], dtype: str, dialect: str, threads: int, *entries: str
) -> KernelSource[None]:
    return KernelSource(
        text=print_gpu(functions, dialect),
        dialect=dialect,
        kernels=tuple(EntryPoint(entry=entry, threads=threads) for entry in entries),
        layout=None,
        double=dtype == "float64",
    )


def _real(dtype: str, dialect: str, threads: int) -> ir.Element:
    if dialect not in DIALECTS or dtype not in REALS:
        raise UsageError(
            f"there is no sparse kernel for {dtype!r} in {dialect!r}",
            f"types are {', '.join(REALS)}, dialects {', '.join(DIALECTS)}",
        )
    if not 1 <= threads <= MAX_BLOCK_THREADS:
        raise UsageError(f"a group has 1 to {MAX_BLOCK_THREADS} threads, got {threads}")
    return ir.element(dtype)


def _grid(b: ir.Builder, n: ir.Expr, threads: int) -> AbstractContextManager[ir.Expr]:
    first = ir.wide(ir.GROUP) * threads + ir.THREAD
    return b.loop("i", first, n, ir.wide(ir.GROUPS) * threads, kind=ir.WIDE)


def _total(real: ir.Element, threads: int) -> ir.Function:
    """Return the sum of a value over the threads of a group, by halves; all of them call it."""
    b = ir.Builder("total", kind="inline")
    chip, value = b.param("chip", ir.shared_pointer(real)), b.param("value", real)
    b.set(chip[ir.THREAD], value)
    b.barrier()
    span = threads // 2
    while span:
        with b.when(ir.THREAD < span):
            b.set(chip[ir.THREAD], chip[ir.THREAD] + chip[ir.THREAD + span])
        b.barrier()
        span //= 2
    total = b.let("all", chip[0])
    b.barrier()
    return b.function(total)


def _join_groups(
    b: ir.Builder,
    joined: ir.Function,
    chip: ir.Expr,
    total: ir.Expr,
    part: ir.Expr,
    place: ir.Operand,
) -> None:
    b.set(total, b.call(joined, chip, total))
    with b.when(ir.THREAD.equals(0)):
        b.set(part[place], total)


def _finish(name: str, joined: ir.Function, real: ir.Element, threads: int, sums: int) -> ir.Function:
    """Add up the sums of all groups: the kernel of one more."""
    b = ir.Builder(name, kind="kernel", threads=threads)
    part, groups = b.param("part", ir.pointer(real)), b.param("groups", ir.INDEX)
    chip = b.array("chip", ir.shared_pointer(real), threads)
    for k in range(sums):
        total = b.mutable(f"t{k}", 0.0, real)
        with b.loop("g", ir.THREAD, groups, threads) as g:
            b.set(total, total + part[g * sums + k])
        _join_groups(b, joined, chip, total, part, k)
    return b.function()
