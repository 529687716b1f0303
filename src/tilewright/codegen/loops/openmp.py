"""What a CUDA or OpenCL transform asks for, on a CPU: parallel loops, reductions, unrolled inner loops."""

from collections.abc import Mapping
from dataclasses import replace

from tilewright.base.errors import IllegalTransformError
from tilewright.codegen.loops.parallel import clauses, plan_parallel
from tilewright.codegen.loops.transforms import NestContext, add_pragma, innermost
from tilewright.programs.loops.nest import Loop, Stmt, statements, swap


def on_cpu(
    stmt: Stmt, device: Mapping[str, object], setting: NestContext, *, strict: bool = False
) -> tuple[Stmt, list[str]]:
    """Run the loops of a device's kernels on the threads of a CPU.

    Args:
        stmt: The nest.
        device: The arguments for loops that have no transform of their own.
        setting: Where it stands.
        strict: Refuse a nest without a parallel loop, which stays sequential otherwise.

    Returns:
        The nest with directives, and notes about what was rewritten and about loops that stay sequential.

    Raises:
        IllegalTransformError: If no loop is parallel, and ``strict``.
    """
    plan = plan_parallel(stmt, setting)
    stmt = plan.stmt
    if not plan.loops and plan.sequential:
        loop, dependence = plan.sequential[0]
        reason = f"the loop over {loop.index!r} cannot run in parallel, nor can one inside it: {dependence}"
        if strict:
            raise IllegalTransformError(reason)
        return stmt, [*plan.notes, f"{reason}; it stays sequential"]
    notes = plan.notes + [f"the loop over {loop.index!r} stays sequential: {bad}" for loop, bad in plan.sequential]
    for loop, found in plan.loops:
        new = loop
        factor = asked_of(loop, device).get("unrollInner")
        if isinstance(factor, int) and factor > 1:
            for inner in innermost(loop):
                if inner is not loop:
                    new = _retyped(add_pragma(new, inner, [f"GCC unroll {factor}"]), new)
        new = replace(new, pragmas=(f"omp parallel for{clauses(found)}", *new.pragmas))
        stmt = swap(stmt, loop, new)
    return stmt, notes


def asked_of(loop: Loop, around: Mapping[str, object]) -> dict[str, object]:
    """Return what is asked of a kernel: by its own transform, by one inside it, or by that of what is around it."""
    own = next((node.launch for node in statements(loop) if isinstance(node, Loop) and node.launch), ())
    return dict(own) or dict(around)


def _retyped(stmt: Stmt, loop: Loop) -> Loop:
    return stmt if isinstance(stmt, Loop) else loop


def has_directives(stmt: Stmt) -> bool:
    """Whether a nest has directives of OpenMP."""
    return any(
        pragma.startswith("omp") for node in statements(stmt) if isinstance(node, Loop) for pragma in node.pragmas
    )
