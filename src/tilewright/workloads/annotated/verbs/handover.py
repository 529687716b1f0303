"""Handing regions over to other code than their transforms': what they compute, made by the project's own compilers.

An iterated stencil goes to the stencil compiler, time tiling included; of other loops products of matrices go to a
blocked kernel, and what is parallel to threads. What is faster than the loops is written.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.base.errors import TilewrightError, UsageError
from tilewright.base.records import Measurement
from tilewright.base.units import format_seconds
from tilewright.codegen.products.matmul import product_text
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.problem import DTYPES, Problem, make_problem
from tilewright.runtime.direct import slots_of
from tilewright.runtime.host import thread_count
from tilewright.runtime.toolchains.cpu import target_cpu, toolchain
from tilewright.schedules import catalogue
from tilewright.schedules.code import Blocking
from tilewright.schedules.family import Violation
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.workloads.annotated.lower.harness import joined
from tilewright.workloads.annotated.lower.parallel import has_directives, on_cpu
from tilewright.workloads.annotated.lower.products import block_products
from tilewright.workloads.annotated.lower.stencil import Handover, call_head, call_text
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import Stmt, Verbatim
from tilewright.workloads.annotated.nests.scalars import inline_temporaries
from tilewright.workloads.annotated.nests.values import evaluate
from tilewright.workloads.annotated.parse.file import LoopRegion
from tilewright.workloads.annotated.parse.sweeps import Recognised, read_stencil, recognise
from tilewright.workloads.annotated.verbs.case import Case
from tilewright.workloads.annotated.verbs.guard import guard_of, visible_sizes
from tilewright.workloads.annotated.verbs.meter import Beside, CpuMeter, LoopVariant
from tilewright.workloads.annotated.verbs.result import SizeResult

_HEAD = "#include <stdlib.h>\n\n"
_GAIN = 0.95
"""Loops stay as they were transformed unless threads and blocked products take less than such a share of their time."""
_STEPS = 2  # steps that a tiling is chosen for where their number is not known


def hand_over(case: Case, meter: CpuMeter, ours: float, original: Beside) -> SizeResult | str | None:
    """Measure the stencil compiler's kernels for a region; return why its loops stay, or None: it is no stencil."""
    if len(case.site.loops) != 1:
        return None
    loop = case.site.loops[0]
    match = _match(case, loop)
    problem = None if match is None else _problem(case, match)
    if match is None or problem is None:
        if loop.stencil and match is not None:
            raise UsageError(
                f"the fields {', '.join(match.program.fields)} are not arrays of one shape and type whose inner cells "
                "are updated",
                "see input_vars and the old body",
            )
        return None
    trials: list[tuple[Measurement, LoopVariant, Tiling]] = []
    reasons: list[str] = []
    for tiling in candidates(problem):
        variant = stencil_variant(case, match, problem, tiling)
        timed = meter.single(variant)
        reasons += [f"{tiling}: {timed.detail}"] if timed.detail else []
        trials += [] if timed.detail else [(timed, variant, tiling)]
    if not trials:
        if loop.stencil:
            raise UsageError(f"the stencil of line {loop.region.line} did not run: {reasons[0]}")
        return f"an iterated stencil, but its kernel did not run: {reasons[0]}"
    timed, variant, tiling = min(trials, key=lambda trial: trial[0].median)
    if not loop.stencil and not _is_gain(timed, ours, original):
        took = format_seconds(timed.median)
        return f"an iterated stencil; the stencil compiler's {tiling} took {took}, the loops stay"
    note = f"an iterated stencil: handed to the stencil compiler, {tiling}, the best of {len(trials)} tilings"
    return original.result(
        case,
        variant,
        timed.median,
        notes=(note, *reasons),
        text=tuple(body.text for body in variant.bodies if isinstance(body, Verbatim)),
        extra={"_prelude": variant.prelude, "stencil_tiling": str(tiling), "kept_original": False},
    )


def hand_automatic(case: Case, meter: CpuMeter, ours: float, original: Beside) -> SizeResult | str | None:
    """Measure regions with loops on threads and blocked products; return why they stay, or None: none is parallel."""
    from tilewright.tuning.spaces.cpu_schedule import blocking

    if any(loop.stencil for loop in case.site.loops):
        return None
    how = blocking(target_cpu().simd_bits)
    parts = [_region(case.code(loop, plain=True), case.setting, how) for loop in case.site.loops]
    bodies = tuple(body for body, _, _ in parts)
    dtypes = dict.fromkeys(dtype for _, types, _ in parts for dtype in types)
    if not dtypes and not any(map(has_directives, bodies)):
        return None
    name = "products of matrices by a blocked kernel" if dtypes else "the original loops"
    prelude = joined([_HEAD, *(product_text(dtype, how) for dtype in dtypes)]) if dtypes else ""
    variant = _host_variant(case, bodies, prelude)
    timed = meter.single(variant)
    if timed.detail:
        return f"{name} on threads did not run: {timed.detail}"
    if not _is_gain(timed, ours, original, _GAIN):
        return f"{name} on threads took {format_seconds(timed.median)}, the loops stay"
    guards = [
        guard_of(loop, case, lambda code, setting: _region(code, setting, how)[0], plain=True)
        for loop in case.site.loops
    ]
    notes = [f"without the transforms: {name}, on threads", *dict.fromkeys(note for *_, more in parts for note in more)]
    return original.result(
        case,
        variant,
        timed.median,
        bodies=bodies,
        notes=(*notes, *(each for guard in guards for each in guard.notes)),
        conditions=tuple(guard.conditions for guard in guards),
        extra={"_prelude": prelude, "automatic": True, "blocked_products": bool(dtypes), "kept_original": False},
    )


def _region(code: Stmt, setting: NestContext, how: Blocking) -> tuple[Stmt, Sequence[str], Sequence[str]]:
    """Return a region with its products blocked and what is left on threads, the products' types, and notes."""
    body, dtypes = block_products(code, setting, how)
    if dtypes:
        return body, dtypes, ()
    threads, notes = on_cpu(code, {}, setting)
    return threads, (), notes


def candidates(problem: Problem) -> tuple[Tiling, ...]:
    """Return the tilings to measure: what tuning found before, the model's choice, and its neighbours in time."""
    from tilewright.planner import remembered
    from tilewright.runtime.store.hosts import host
    from tilewright.tuning.choice import choose_tiling

    chosen = choose_tiling(problem, host())
    learned = remembered(problem, thread_count(None))
    more = [replace(chosen, time=steps) for steps in (chosen.time // 2, 2 * chosen.time) if steps > 0]
    if chosen.family.untiled:
        more = []
    tilings = [tiling for tiling in (learned, chosen, *more) if tiling is not None and _legal(problem, tiling)]
    return tuple(dict.fromkeys(tilings)) or (NONE,)


def _legal(problem: Problem, tiling: Tiling) -> bool:
    try:
        return not isinstance(catalogue.check(problem, catalogue.complete(problem, tiling)), Violation)
    except TilewrightError:
        return False


def stencil_variant(case: Case, match: Recognised, problem: Problem, tiling: Tiling) -> LoopVariant:
    """Return a region as a call of the stencil compiler's kernel."""
    source = emit_tiling(problem, tiling)
    (layout,) = source.layout
    packed = tuple(math.prod(problem.shape[axis + 1 :]) for axis in range(len(problem.shape) - 1))
    slots = slots_of(layout, problem)
    call = Handover(
        problem=problem,
        entry=source.entry,
        layout=layout,
        tiling=tiling,
        steps=match.steps,
        strides=slots.strides[:-1] if layout.direct else packed,
        slot=slots.distance if layout.direct else problem.cells,
        lifted=layout.direct and slots.lifted,
        boxes=match.boxes,
        mirrors=match.mirrors,
        sizes=tuple((name, case.known[name]) for name in sorted(match.guards) if name in case.known),
        old=case.site.loops[0].old,
    )
    return _host_variant(case, (Verbatim(call_text(call)),), call_head() + source.text)


def _match(case: Case, loop: LoopRegion) -> Recognised | None:
    old = recognise(inline_temporaries(loop.old, case.types, loop.live), case.known, case.types)
    if not loop.stencil:
        return old
    spec = case.site.spec
    lets: dict[str, Any] = {**(spec.lets if spec is not None else {}), **case.numbers, **case.known}
    written = read_stencil(loop.stencil, lets, loop.region.line)
    if old is None or old.program.updated != written.program.updated:
        return replace(written, guards=frozenset(visible_sizes(case)))
    # The old body may leave the newest values in a second array, too, and says on which names steps and grid depend.
    return replace(old, program=written.program)


def _problem(case: Case, match: Recognised) -> Problem | None:
    """Return the problem that a stencil is, or None where its arrays are not those of one."""
    program = match.program
    dtypes = {each.name: each.dtype for each in case.inputs}
    names = (*program.fields, *(name for name, _ in match.mirrors))
    shapes = {_folded_shape(case.shapes.get(name), match.rows) for name in names}
    kinds = {dtypes.get(name, "") for name in names}
    pointers = [each for each in case.site.parameters.values() if each.name in names and each.heap]
    shape = next(iter(shapes))
    if shape is None or len(shapes) > 1 or len(kinds) > 1 or not kinds <= set(DTYPES) or pointers:
        return None
    if any(name in case.shapes for name in program.scalars):
        return None
    steps = evaluate(match.steps, case.known)
    count = max(0, int(steps)) if steps is not None else _STEPS
    try:
        problem = make_problem(program, shape, count, kinds.pop(), "fixed")
    except UsageError:
        return None
    for statement in program.statements:
        updated = tuple((low, high - 1) for low, high in problem.update_box(statement))
        if match.boxes and match.boxes.get(statement.field) != updated:
            return None
    return problem


def _folded_shape(shape: tuple[int, ...] | None, rows: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape of an array that one index runs over, its inner extents given."""
    if shape is None or not rows:
        return shape
    inner = math.prod(rows)
    return (math.prod(shape) // inner, *rows) if len(shape) == 1 and shape[0] % inner == 0 else None


def _host_variant(case: Case, bodies: tuple[Stmt, ...], prelude: str) -> LoopVariant:
    """Return a variant that this machine's own compiler and flags build."""
    tools = toolchain()
    command = (*tools.command, *tools.flags(strict=False))
    return LoopVariant(bodies=bodies, unit=case.unit(bodies, prelude), command=command, prelude=prelude)


def _is_gain(timed: Measurement, ours: float, original: Beside, share: float = 1.0) -> bool:
    """Whether something takes less than a share of what the best variant takes, and surely less than the original."""
    return timed.median < share * min(ours, original.theirs) and original.slower_than(timed.seconds)
