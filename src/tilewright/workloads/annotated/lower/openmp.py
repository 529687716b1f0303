"""What a CUDA or OpenCL transform asks for, on a CPU: parallel loops, reductions, unrolled inner loops."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.base.errors import IllegalTransformError
from tilewright.workloads.annotated.lower.parallel import clauses, free, plan_parallel
from tilewright.workloads.annotated.lower.scalars import scalar_replace
from tilewright.workloads.annotated.lower.transforms import NestContext, add_pragma, innermost
from tilewright.workloads.annotated.nests.nest import Declare, Loop, Stmt, statements, swap
from tilewright.workloads.annotated.nests.scalars import Reduction


def on_cpu(
    stmt: Stmt, device: Mapping[str, object], setting: NestContext, *, strict: bool = False
) -> tuple[Stmt, list[str]]:
    """Run the loops of a device's kernels on threads of a CPU; without any, the nest is refused if ``strict``."""
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
        factor = asked_of(loop, device).get("unrollInner")
        new = loop if isinstance(factor, int) and factor > 1 else vector_sums(loop, setting)
        if isinstance(factor, int) and factor > 1:
            for inner in innermost(loop):
                if inner is not loop:
                    new = _retyped(add_pragma(new, inner, [f"GCC unroll {factor}"]), new)
        simd = " simd" if found and innermost(loop) == [loop] and _sums(found) else ""
        new = replace(new, pragmas=(f"omp parallel for{simd}{clauses(found)}", *new.pragmas))
        stmt = swap(stmt, loop, new)
    return stmt, notes


def vector_sums(loop: Loop, setting: NestContext) -> Loop:
    """Let the sums of innermost loops be taken in the lanes of vectors, as those of a device are in its threads.

    Before: ``for (j…) t[i] += a[i][j] * x[j];``.
    After: ``{ double s = t[i]; #pragma omp simd reduction(+:s) for (j…) s += a[i][j] * x[j]; t[i] = s; }``
    """
    plain = [inner for inner in innermost(loop) if inner is not loop]
    held = scalar_replace(loop, setting, "tw_sum_") if plain else loop
    declared = {node.name: node.ctype for node in statements(held) if isinstance(node, Declare)}
    known = replace(setting, types={**setting.types, **declared})
    new: Stmt = held
    for inner in innermost(held):
        if inner is held:
            continue
        bad, found = free(inner, setting.nest(inner), known, arrays=False)
        if bad is None and found and _sums(found):
            new = add_pragma(new, inner, [f"omp simd{clauses(found)}"])
    return new if new is not held and isinstance(new, Loop) else loop


def _sums(found: Sequence[Reduction]) -> bool:
    return all(each.op == "+" and each.count is None for each in found)


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
