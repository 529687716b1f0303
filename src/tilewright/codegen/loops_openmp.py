"""What a CUDA or OpenCL transform asks for, on a CPU: parallel loops, reductions, unrolled inner loops."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilewright.base.errors import IllegalTransformError
from tilewright.codegen.loop_transforms import Setting, add_pragma, innermost, parallel
from tilewright.programs.loopnest import Loop, Stmt, outermost, statements, swap
from tilewright.programs.loopnest_dependences import Dependence, analyse
from tilewright.programs.loopnest_scalars import Reduction, reductions


@dataclass(slots=True, kw_only=True)
class Plan:
    """Which loops of a nest run in parallel.

    Attributes:
        loops: They, none inside another, with what they reduce.
        sequential: Loops around them that stay as they are, with the dependence that says so.
    """

    loops: list[tuple[Loop, tuple[Reduction, ...]]] = field(default_factory=list)
    sequential: list[tuple[Loop, Dependence]] = field(default_factory=list)


def plan_parallel(stmt: Stmt, setting: Setting) -> Plan:
    """Find the outermost parallel loops of a nest.

    A loop that carries a dependence stays sequential and the loops inside it are tried: a time loop becomes a sequence
    of parallel sweeps.

    Args:
        stmt: The nest.
        setting: Where it stands.

    Raises:
        IllegalTransformError: If no loop is parallel; the dependence is named.
    """
    plan = Plan()
    for loop in outermost(stmt):
        _visit(loop, setting, plan)
    if not plan.loops and plan.sequential:
        loop, dependence = plan.sequential[0]
        raise IllegalTransformError(
            f"the loop over {loop.index!r} cannot run in parallel, nor can one inside it: {dependence}"
        )
    return plan


def _visit(loop: Loop, setting: Setting, plan: Plan) -> None:
    bad = parallel(loop, analyse(loop, setting.known, setting.overlap), setting.types)
    if bad is None:
        plan.loops.append((loop, reductions(loop, setting.types)))
        return
    plan.sequential.append((loop, bad))
    for inner in outermost(loop.body):
        _visit(inner, setting, plan)


def on_cpu(stmt: Stmt, device: Mapping[str, object], setting: Setting) -> tuple[Stmt, list[str]]:
    """Run the loops of a device's kernels on the threads of a CPU.

    Args:
        stmt: The nest.
        device: The arguments for loops that have no transform of their own.
        setting: Where it stands.

    Returns:
        The nest with directives, and notes about loops that stay sequential.

    Raises:
        IllegalTransformError: If no loop is parallel.
    """
    plan = plan_parallel(stmt, setting)
    notes = [f"the loop over {loop.index!r} stays sequential: {bad}" for loop, bad in plan.sequential]
    for loop, found in plan.loops:
        new = loop
        factor = asked_of(loop, device).get("unrollInner")
        if isinstance(factor, int) and factor > 1:
            for inner in innermost(loop):
                if inner is not loop:
                    new = _retyped(add_pragma(new, inner, [f"GCC unroll {factor}"]), new)
        clauses = "".join(f" reduction({each.op}:{each.name})" for each in found)
        new = replace(new, pragmas=(f"omp parallel for{clauses}", *new.pragmas))
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
