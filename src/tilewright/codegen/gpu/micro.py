"""Micro-benchmarks of GPUs in the common text: empty and copying kernels, barriers, shared memory, kernels at rest.

A kernel *at rest* computes what a tiling's kernel computes, all on chip, and moves nothing between chip and memory:
what it would load and store stands under a condition that its launch makes false, so that no compiler may leave
anything out. Source: Prajapati et al., PPoPP 2017, section 5.2.
"""

from dataclasses import replace

from tilewright.codegen import ir
from tilewright.codegen.gpu.emit import made
from tilewright.codegen.gpu.site import DeviceLayout
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.schedule import GpuSchedule

THREADS = 256
WORDS = 1024
"""Words on chip that the kernel of shared memory reads."""
READS = 8
"""Of them per turn of its loop."""
MOVING = ir.Var("moving")
_FLOAT = ir.element("float32")


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


_TARGET, _SOURCE, _COUNT = (
    ir.Var("target", ir.pointer(_FLOAT)),
    ir.Var("source", ir.const_pointer(_FLOAT)),
    ir.Var("count"),
)
_AT = ir.GROUP * THREADS + ir.THREAD
_CHIP = ir.Var("chip", ir.shared_pointer(_FLOAT))


def _function(name: str, body: tuple[ir.Stmt, ...]) -> ir.Function:
    params = (_TARGET, _SOURCE, _COUNT)
    return ir.Function(name=f"tw_micro_{name}", params=params, body=body, kind="kernel", threads=THREADS)


def _empty() -> tuple[ir.Stmt, ...]:
    return (ir.If(_COUNT < 0, (ir.Store(_TARGET, ir.Int(0), ir.Load(_SOURCE, ir.Int(0), _FLOAT), _FLOAT),)),)


def _copy() -> tuple[ir.Stmt, ...]:
    at = ir.Var("at")
    return (ir.Let(at, _AT), ir.If(at < _COUNT, (ir.Store(_TARGET, at, ir.Load(_SOURCE, at, _FLOAT), _FLOAT),)))


def _barrier() -> tuple[ir.Stmt, ...]:
    thread = ir.THREAD
    loop = ir.For(var=ir.Var("turn"), low=ir.Int(0), high=_COUNT, body=(ir.Barrier(),), unroll=1)
    return (
        ir.Array(_CHIP, WORDS),
        ir.Store(_CHIP, thread, ir.Load(_SOURCE, ir.Int(0), _FLOAT), _FLOAT),
        loop,
        ir.If(_COUNT < 0, (ir.Store(_TARGET, _AT, ir.Load(_CHIP, thread, _FLOAT), _FLOAT),)),
    )


def _shared() -> tuple[ir.Stmt, ...]:
    """Every turn reads values whose places depend on the turn, adds them up, and keeps the sum on chip."""
    thread, turn = ir.THREAD, ir.Var("turn")
    each: ir.Expr = ir.Load(_CHIP, (thread + turn) % THREADS, _FLOAT)
    for number in range(1, READS):
        part = WORDS // READS * number
        place = (thread + turn) % THREADS + ir.Int(part % (WORDS - THREADS))
        each = each + ir.Load(_CHIP, place, _FLOAT)
    body = (ir.Store(_CHIP, thread + WORDS, ir.Load(_CHIP, thread + WORDS, _FLOAT) + each, _FLOAT),)
    fill = ir.For(
        var=ir.Var("i"),
        low=thread,
        high=ir.Int(WORDS + THREADS),
        step=ir.Int(THREADS),
        body=(ir.Store(_CHIP, ir.Var("i"), ir.Load(_SOURCE, ir.Var("i"), _FLOAT), _FLOAT),),
    )
    return (
        ir.Array(_CHIP, WORDS + THREADS),
        fill,
        ir.Barrier(),
        ir.For(var=turn, low=ir.Int(0), high=_COUNT, body=body, unroll=1),
        ir.If(_COUNT >= 0, (ir.Store(_TARGET, _AT, ir.Load(_CHIP, thread + WORDS, _FLOAT), _FLOAT),)),
    )


_BODIES = {"empty": _empty(), "copy": _copy(), "barrier": _barrier(), "shared": _shared()}
SHARED_ACCESSES = READS + 2
"""Words of shared memory that a thread reads and writes per turn."""


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
        moves = [part for part in node.body if not isinstance(part, ir.Let)]
        if moves and all(isinstance(part, ir.If) and part.condition == MOVING for part in moves):
            body = tuple(each for part in node.body for each in (part.then if isinstance(part, ir.If) else (part,)))
            return (ir.If(MOVING, (replace(node, body=body),)),)
    return (node,)


def _space(address: ir.Expr) -> ir.AddressSpace | None:
    """The memory that something points into, if it is a pointer."""
    kind = ir.type_of(address)
    return kind.space if isinstance(kind, ir.Pointer) else None


def _loads(value: ir.Expr) -> bool:
    return any(isinstance(part, ir.Load) and _space(part.base) is ir.AddressSpace.GLOBAL for part in ir.walk(value))
