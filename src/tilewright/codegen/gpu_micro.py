"""Micro-benchmarks of GPUs in the common text: empty and copying kernels, barriers, shared memory, kernels at rest.

A kernel *at rest* computes what a tiling's kernel computes, all on chip, and moves nothing between chip and memory:
what it would load and store stands under a condition that its launch makes false, so that no compiler may leave
anything out. Source: Prajapati et al., PPoPP 2017, section 5.2.
"""

from dataclasses import replace

from tilewright.codegen.gpu import print_gpu
from tilewright.codegen.gpu_emit import made
from tilewright.codegen.gpu_site import DeviceLayout
from tilewright.codegen.ir import (
    Barrier,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Op,
    Scope,
    Shared,
    Stmt,
    Store,
    Var,
    add,
    mul,
)
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.problem import Problem
from tilewright.tilings.gpu_schedule import GpuSchedule

THREADS = 256
WORDS = 1024
"""Words on chip that the kernel of shared memory reads."""
READS = 8
"""Of them per turn of its loop."""
MOVING = Var("moving")
_FLOAT = "float32"


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


_TARGET, _SOURCE, _COUNT = Var("target", f"pointer:{_FLOAT}"), Var("source", f"array:{_FLOAT}"), Var("count")
_AT = add(mul(Op("group", ()), THREADS), Op("thread", ()))
_CHIP = Var("chip", f"chip:{_FLOAT}")


def _function(name: str, body: tuple[Stmt, ...]) -> Function:
    params = (_TARGET, _SOURCE, _COUNT)
    return Function(name=f"tw_micro_{name}", params=params, body=body, kind="kernel", threads=THREADS)


def _empty() -> tuple[Stmt, ...]:
    return (If(Op("lt", (_COUNT, Int(0))), (Store(_TARGET, Int(0), Load(_SOURCE, Int(0), _FLOAT), _FLOAT),)),)


def _copy() -> tuple[Stmt, ...]:
    at = Var("at")
    return (Let(at, _AT), If(Op("lt", (at, _COUNT)), (Store(_TARGET, at, Load(_SOURCE, at, _FLOAT), _FLOAT),)))


def _barrier() -> tuple[Stmt, ...]:
    thread = Op("thread", ())
    loop = For(var=Var("turn"), low=Int(0), high=_COUNT, body=(Barrier(),), unroll=1)
    return (
        Shared(_CHIP, WORDS),
        Store(_CHIP, thread, Load(_SOURCE, Int(0), _FLOAT), _FLOAT),
        loop,
        If(Op("lt", (_COUNT, Int(0))), (Store(_TARGET, _AT, Load(_CHIP, thread, _FLOAT), _FLOAT),)),
    )


def _shared() -> tuple[Stmt, ...]:
    """Every turn reads values whose places depend on the turn, adds them up, and keeps the sum on chip."""
    thread, turn = Op("thread", ()), Var("turn")
    each: Expr = Load(_CHIP, Op("mod", (add(thread, turn), Int(THREADS))), _FLOAT)
    for number in range(1, READS):
        part = WORDS // READS * number
        place = add(Op("mod", (add(thread, turn), Int(THREADS))), Int(part % (WORDS - THREADS)))
        each = Op("add", (each, Load(_CHIP, place, _FLOAT)), _FLOAT)
    body = (
        Store(_CHIP, add(thread, WORDS), Op("add", (Load(_CHIP, add(thread, WORDS), _FLOAT), each), _FLOAT), _FLOAT),
    )
    fill = For(
        var=Var("i"),
        low=thread,
        high=Int(WORDS + THREADS),
        step=Int(THREADS),
        body=(Store(_CHIP, Var("i"), Load(_SOURCE, Var("i"), _FLOAT), _FLOAT),),
    )
    return (
        Shared(_CHIP, WORDS + THREADS),
        fill,
        Barrier(),
        For(var=turn, low=Int(0), high=_COUNT, body=body, unroll=1),
        If(Op("ge", (_COUNT, Int(0))), (Store(_TARGET, _AT, Load(_CHIP, add(thread, WORDS), _FLOAT), _FLOAT),)),
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


def _still(function: Function) -> Function:
    outside = {var.name for var in function.params if var.type.partition(":")[0] in {"pointer", "array"}}
    last = [var.name.startswith("c_") or var.type.startswith("chip:") for var in function.params]
    place = last.index(True) if True in last else len(last)  # after the numbers, before scalars and room
    params = (*function.params[:place], MOVING, *function.params[place:])
    return replace(function, params=params, body=_quiet(function.body, outside))


def _quiet(body: tuple[Stmt, ...], outside: set[str]) -> tuple[Stmt, ...]:
    """Put what touches memory under the condition; whole loops that do nothing else."""
    known = set(outside)
    result: list[Stmt] = []
    for node in body:
        if isinstance(node, Let) and node.var.type.partition(":")[0] in {"pointer", "array"}:
            known.add(node.var.name)
        result.append(_quieted(node, known))
    return tuple(result)


def _quieted(node: Stmt, known: set[str]) -> Stmt:
    match node:
        case Store(base, _, value, _) if _root(base) in known or _touches(value, known):
            return If(MOVING, (node,))
        case For(body=body) | Scope(body=body):
            quiet = _quiet(body, known)
            moves = [part for part in quiet if not isinstance(part, Let)]
            if moves and all(isinstance(part, If) and part.condition == MOVING for part in moves):
                return If(MOVING, (node,))
            return replace(node, body=quiet)
        case If(condition, then, otherwise):
            return If(condition, _quiet(then, known), _quiet(otherwise, known))
    return node


def _root(base: Expr) -> str:
    while isinstance(base, Op) and base.args:
        base = base.args[0]
    return base.name if isinstance(base, Var) else ""


def _touches(value: Expr, known: set[str]) -> bool:
    if isinstance(value, Load):
        return _root(value.base) in known
    return isinstance(value, Op) and any(_touches(arg, known) for arg in value.args)
