"""Micro-benchmarks of GPUs in the common text: empty and copying kernels, barriers, shared memory, kernels at rest.

A kernel *at rest* computes what a tiling's kernel computes, all on chip, and moves nothing between chip and memory:
what it would load and store stands under a condition that its launch makes false, so that no compiler may leave
anything out. Source: Prajapati et al., PPoPP 2017, section 5.2.
"""

from collections.abc import Callable
from dataclasses import replace

from tilewright.codegen import ir
from tilewright.codegen.gpu.emit import made
from tilewright.codegen.gpu.site import DeviceLayout
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.code import GpuSchedule

THREADS = 256
WORDS = 1024  # words on chip that the kernel of shared memory reads
READS = 8  # of them per turn of its loop
MOVING = ir.Var("moving")
_FLOAT = ir.element("float32")
_AT = ir.GROUP * THREADS + ir.THREAD


def micro_source(dialect: str) -> KernelSource[None]:
    """Return the text of the kernels ``empty``, ``copy``, ``barrier`` and ``shared``, in this order.

    Each takes pointers ``target`` and ``source`` and the number ``count``: cells to copy, or turns.
    """
    functions = tuple(_function(name, body) for name, body in _BODIES.items())
    return KernelSource(
        text=print_gpu(functions, dialect),
        dialect=dialect,
        kernels=tuple(EntryPoint(entry=f.name, threads=THREADS, numbers=("count",)) for f in functions),
        layout=None,
    )


def _function(name: str, write: Callable[..., None]) -> ir.Function:
    b = ir.Builder(f"tw_micro_{name}", kind="kernel", threads=THREADS)
    target, source = b.param("target", ir.pointer(_FLOAT)), b.param("source", ir.const_pointer(_FLOAT))
    write(b, target, source, b.param("count", ir.INDEX))
    return b.function()


def _empty(b: ir.Builder, target: ir.Expr, source: ir.Expr, count: ir.Expr) -> None:
    with b.when(count < 0):
        b.set(target[0], source[0])


def _copy(b: ir.Builder, target: ir.Expr, source: ir.Expr, count: ir.Expr) -> None:
    at = b.let("at", _AT)
    with b.when(at < count):
        b.set(target[at], source[at])


def _barrier(b: ir.Builder, target: ir.Expr, source: ir.Expr, count: ir.Expr) -> None:
    chip = b.array("chip", ir.shared_pointer(_FLOAT), WORDS)
    b.set(chip[ir.THREAD], source[0])
    with b.loop("turn", 0, count, unroll=1):
        b.barrier()
    with b.when(count < 0):
        b.set(target[_AT], chip[ir.THREAD])


def _shared(b: ir.Builder, target: ir.Expr, source: ir.Expr, count: ir.Expr) -> None:
    """Every turn reads values whose places depend on the turn, adds them up, and keeps the sum on chip."""
    chip = b.array("chip", ir.shared_pointer(_FLOAT), WORDS + THREADS)
    total = chip[ir.THREAD + WORDS]
    with b.loop("i", ir.THREAD, WORDS + THREADS, THREADS) as i:
        b.set(chip[i], source[i])
    b.barrier()
    with b.loop("turn", 0, count, unroll=1) as turn:
        place = (ir.THREAD + turn) % THREADS
        parts = [chip[place + WORDS // READS * number % (WORDS - THREADS)] for number in range(READS)]
        b.set(total, total + ir.total(parts))
    with b.when(count >= 0):
        b.set(target[_AT], total)


_BODIES = {"empty": _empty, "copy": _copy, "barrier": _barrier, "shared": _shared}
SHARED_ACCESSES = READS + 2  # words of shared memory that a thread reads and writes per turn


def at_rest(problem: Problem, schedule: GpuSchedule, dialect: str) -> KernelSource[DeviceLayout]:
    """Write the kernels of a problem under a tiling so that they move nothing: a last number, 0, says so."""
    source, functions = made(problem, schedule, dialect)
    still = [_still(function) for function in functions]
    kernels = tuple(replace(kernel, numbers=(*kernel.numbers, MOVING.name)) for kernel in source.kernels)
    return replace(source, text=print_gpu(still, dialect), kernels=kernels)


def _still(function: ir.Function) -> ir.Function:
    """Predicate memory traffic off: a pass.

    Before: ``for i … { chip[i] = u[i]; } v[j] = x;``. After: ``if (moving) { for i … { chip[i] = u[i]; } }
    if (moving) { v[j] = x; }``, with ``moving`` a new parameter.
    """
    last = [var.name.startswith("c_") or _space(var) is ir.AddressSpace.SHARED for var in function.params]
    place = last.index(True) if True in last else len(last)  # after the numbers, before scalars and shared memory
    params = (*function.params[:place], MOVING, *function.params[place:])
    return replace(ir.map_function(function, stmt=_quiet), params=params)


def _quiet(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
    """Put what touches memory under the condition; whole loops that do nothing else."""
    if isinstance(node, ir.Store) and (_space(node.base) is ir.AddressSpace.GLOBAL or _loads(node.value)):
        return (ir.If(MOVING, (node,)),)
    if isinstance(node, ir.For | ir.Scope):
        match node.body:
            case (ir.Let() as place, ir.If(otherwise=()) as inside) if inside.condition != MOVING:
                then = _unconditional(inside.then)  # a thread's turn, the last of which may lie beyond the loop's end
                body = then and (place, replace(inside, then=then))
            case _:
                body = _unconditional(node.body)
        if body:
            return (ir.If(MOVING, (replace(node, body=body),)),)
    return (node,)


def _unconditional(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Return statements without the condition that all they do stands under; none where something does not."""
    moves = [part for part in body if not isinstance(part, ir.Let)]
    if not moves or not all(isinstance(part, ir.If) and part.condition == MOVING for part in moves):
        return ()
    return tuple(each for part in body for each in (part.then if isinstance(part, ir.If) else (part,)))


def _space(address: ir.Expr) -> ir.AddressSpace | None:
    kind = ir.type_of(address)
    return kind.space if isinstance(kind, ir.Pointer) else None


def _loads(value: ir.Expr) -> bool:
    return any(isinstance(part, ir.Load) and _space(part.base) is ir.AddressSpace.GLOBAL for part in ir.walk(value))
