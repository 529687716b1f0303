"""Handing regions over that no transform asks this of: products of matrices to a blocked kernel, loops to threads."""

from collections.abc import Sequence

from tilewright.base.units import format_seconds
from tilewright.codegen.products.matmul import product_text
from tilewright.runtime.toolchains.cpu import target_cpu, toolchain
from tilewright.schedules.code import Blocking
from tilewright.workloads.annotated.lower.harness import joined
from tilewright.workloads.annotated.lower.parallel import has_directives, on_cpu
from tilewright.workloads.annotated.lower.products import block_products
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import Stmt
from tilewright.workloads.annotated.verbs.case import Case
from tilewright.workloads.annotated.verbs.guard import guard_of
from tilewright.workloads.annotated.verbs.meter import Beside, CpuMeter, LoopVariant
from tilewright.workloads.annotated.verbs.result import SizeResult

_HEAD = "#include <stdlib.h>\n\n"
_GAIN = 0.95
"""Loops stay as they were transformed unless this takes less than such a share of their time."""


def hand_automatic(case: Case, meter: CpuMeter, ours: float, original: Beside) -> SizeResult | str | None:
    """Measure regions with loops on threads and blocked products; return why they stay, or None: none is parallel."""
    from tilewright.tuning.spaces.bodies import blocking

    if any(loop.stencil for loop in case.site.loops):
        return None
    how = blocking(target_cpu().simd_bits)
    made = [_region(case.code(loop, plain=True), case.setting, how) for loop in case.site.loops]
    bodies = tuple(body for body, _, _ in made)
    dtypes = dict.fromkeys(dtype for _, found, _ in made for dtype in found)
    if not dtypes and not any(map(has_directives, bodies)):
        return None
    what = "products of matrices by a blocked kernel" if dtypes else "the original loops"
    tools = toolchain()
    prelude = joined([_HEAD, *(product_text(dtype, how) for dtype in dtypes)]) if dtypes else ""
    variant = LoopVariant(
        bodies=bodies,
        unit=case.unit(bodies, prelude),
        command=(*tools.command, *tools.flags(strict=False)),
        prelude=prelude,
    )
    timed = meter.single(variant)
    seconds, theirs = timed.median, original.theirs
    if timed.detail:
        return f"{what} on threads did not run: {timed.detail}"
    if not (seconds < _GAIN * min(ours, theirs) and original.slower_than(timed.seconds)):
        return f"{what} on threads took {format_seconds(seconds)}, the loops stay"
    guards = [
        guard_of(loop, case, lambda code, setting: _region(code, setting, how)[0], plain=True)
        for loop in case.site.loops
    ]
    notes = [f"without the transforms: {what}, on threads", *dict.fromkeys(note for *_, more in made for note in more)]
    return original.result(
        case,
        variant,
        seconds,
        bodies=bodies,
        notes=(*notes, *(each for guard in guards for each in guard.notes)),
        conditions=tuple(guard.conditions for guard in guards),
        extra={"_prelude": prelude, "automatic": True, "blocked_products": bool(dtypes), "kept_original": False},
    )


def _region(code: Stmt, setting: NestContext, how: Blocking) -> tuple[Stmt, Sequence[str], Sequence[str]]:
    """Return a region with its products blocked and what is left on threads, the products' types, and notes."""
    body, found = block_products(code, setting, how)
    if found:
        return body, found, ()
    threads, notes = on_cpu(code, {}, setting)
    return threads, (), notes
