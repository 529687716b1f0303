"""Handing products of matrices that were found in regions to a blocked kernel."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.base.units import format_seconds
from tilewright.codegen.loops.openmp import on_cpu
from tilewright.codegen.loops.products import block_products
from tilewright.codegen.loops.transforms import NestContext
from tilewright.codegen.matrices.product import product_text
from tilewright.frontends.annotated.file import LoopRegion
from tilewright.programs.loops.nest import Stmt
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules.bodies.unrolling import Blocking
from tilewright.verbs.annotated.case import Case, prepared, setting_of
from tilewright.verbs.annotated.guard import RegionGuard, conditions_of, guard_of
from tilewright.verbs.annotated.meter import Beside, CpuMeter, LoopVariant, shown_command
from tilewright.verbs.annotated.output import joined
from tilewright.verbs.annotated.result import Handed, SizeResult

_HEAD = "#include <stdlib.h>\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocked:
    """Regions with their products blocked.

    Attributes:
        bodies: What replaces each region.
        dtypes: Element types of the products.
    """

    bodies: tuple[Stmt, ...]
    dtypes: tuple[str, ...]


def hand_products(case: Case, meter: CpuMeter, ours: float, original: Beside) -> Handed | None:
    """Measure the blocked kernel for regions that compute products of matrices.

    Args:
        case: The site at one size of the input.
        meter: Runs and compares.
        ours: Seconds of the best variant of the loops.
        original: The original body's times.

    Returns:
        What came out, or None where no region computes any.
    """
    from tilewright.runtime.toolchains.cpu import target_cpu
    from tilewright.tuning.spaces.unrolling import blocking

    how = blocking(target_cpu().simd_bits)
    if any(loop.stencil for loop in case.site.loops):
        return None
    blocked = _blocked(case, how)
    if not blocked.dtypes:
        return None
    tools = toolchain()
    prelude = joined([_HEAD, *(product_text(dtype, how) for dtype in blocked.dtypes)])
    variant = LoopVariant(
        bodies=blocked.bodies,
        unit=case.unit(blocked.bodies, prelude),
        command=(*tools.command, *tools.flags(strict=False)),
        prelude=prelude,
    )
    seconds, why = meter.single(variant)
    theirs = original.theirs
    if why:
        return Handed(result=None, note=f"products of matrices, but the blocked kernel did not run: {why}")
    if not seconds < min(ours, theirs):
        return Handed(
            result=None, note=f"products of matrices; blocked they took {format_seconds(seconds)}, the loops stay"
        )
    guards = [_guard(loop, case, how) for loop in case.site.loops]
    note = "products of matrices: added by a blocked kernel from copies of their operands"
    result = SizeResult(
        numbers=dict(case.numbers),
        values={},
        bodies=blocked.bodies,
        seconds=seconds,
        original=theirs,
        original_command=shown_command(original.command),
        ratios=tuple(each / seconds for _, each in original.rounds),
        notes=(note, *(each for guard in guards for each in guard.notes)),
        command=shown_command(variant.command),
        conditions=conditions_of(guards),
        extra={"_prelude": prelude, "blocked_products": True, "kept_original": False},
    )
    return Handed(result=result, note=note)


def _blocked(case: Case, how: Blocking) -> _Blocked:
    bodies: list[Stmt] = []
    dtypes: list[str] = []
    for loop in case.site.loops:
        body, found = _region(_plain(loop, case), setting_of(case), how)
        bodies.append(body)
        dtypes += found
    return _Blocked(bodies=tuple(bodies), dtypes=tuple(dict.fromkeys(dtypes)))


def _region(code: Stmt, setting: NestContext, how: Blocking) -> tuple[Stmt, Sequence[str]]:
    """Return a region with its products blocked and what is left on threads."""
    body, found = block_products(code, setting, how)
    return (body, found) if found else (on_cpu(code, {}, setting)[0], ())


def _plain(loop: LoopRegion, case: Case) -> Stmt:
    """Return the original body with its temporaries inside the loops."""
    return prepared(replace(loop, code=loop.old), case)


def _guard(loop: LoopRegion, case: Case, how: Blocking) -> RegionGuard:
    code = _plain(loop, case)
    return guard_of(loop, case, code, lambda setting: _region(code, setting, how)[0])
