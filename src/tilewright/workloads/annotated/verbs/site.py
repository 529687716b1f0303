"""What becomes of one region: tuned at every size of its input, or only transformed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tilewright.base.errors import UsageError
from tilewright.runtime.workers.pool import pool
from tilewright.workloads.annotated.lower.apply import DEVICE
from tilewright.workloads.annotated.lower.edges import has_edges
from tilewright.workloads.annotated.nests.dependences import check_bounds
from tilewright.workloads.annotated.nests.limit import LATE, TimeUpError, limited
from tilewright.workloads.annotated.nests.nest import Stmt, Transform, every
from tilewright.workloads.annotated.parse.evaluate import Plain
from tilewright.workloads.annotated.parse.file import RegionGroup
from tilewright.workloads.annotated.search import Deadline, ParameterSpace, Values
from tilewright.workloads.annotated.verbs.case import INTERIOR, PARALLEL, Case, command_notes, region_types
from tilewright.workloads.annotated.verbs.gpu import plain_device, tune_device
from tilewright.workloads.annotated.verbs.guard import RegionGuard, cpu_guards, visible_sizes
from tilewright.workloads.annotated.verbs.meter import NARROW, Beside, CpuMeter
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions, searched, space_of
from tilewright.workloads.annotated.verbs.result import SiteResult, SizeResult, untuned

_SEARCH = 0.6  # share of the time for the search
_BESIDE = 0.4  # share of what is left then for the winner beside the original body; the rest is for other kernels
_REGISTERS = 16.0  # names of vector registers: copies beyond them spill
_CACHE_BYTES = 2.0**20  # what a tile should stay below: a second-level cache
_ELEMENT = 8.0
_APART = "the winner and the original body were not timed in turn but at different moments: give more --seconds"


def plain_site(site: RegionGroup, options: AnnotatedOptions) -> SiteResult:
    """Transform a region that has no tuning specification; its arguments must be literals."""
    types = region_types(site, {}, {}, device=options.backend != "c")
    case = Case(site=site, numbers={}, known={}, inputs=(), bound=(), loose={}, types=types)
    if options.backend != "c":
        return plain_device(case, options)
    bodies: list[Stmt] = []
    notes: list[str] = []
    for loop in site.loops:
        if loop.stencil:
            raise UsageError("a stencil region stands inside a PerfTuning region, which gives its sizes")
        stmt, more = case.threaded(loop, case.code(loop), {}, case.setting, strict=options.strict)
        bodies.append(stmt)
        notes += [*loop.notes, *more]
    guards = cpu_guards(case, {})
    notes += [note for each in guards for note in each.notes]
    result = SizeResult(
        numbers={},
        bodies=tuple(bodies),
        notes=tuple(dict.fromkeys(notes)),
        conditions=tuple(each.conditions for each in guards),
    )
    return SiteResult(line=site.region.line, sizes=(result,), tuned=False)


def tune_site(
    site: RegionGroup, cases: Sequence[Case], options: AnnotatedOptions, deadline: Deadline, share: Deadline
) -> SiteResult:
    """Tune a site at every size of its input.

    What one size leaves of its time is the others'; where there is none left, the original body stays. The search ends
    at ``share``, everything at ``deadline``.
    """
    spec = cases[0].spec
    notes = [*spec.notes, *command_notes(spec), *(note for loop in site.loops for note in loop.notes)]
    kinds = {name for kind in ("validation", "performance_test_code") for name in spec.args.get(kind, {})}
    if kinds:
        notes.append(f"{', '.join(sorted(kinds))}: variants are compared with the original body instead")
    tune = _tune_cpu if options.backend == "c" else tune_device
    results = []
    for number, case in enumerate(cases):
        try:
            check_bounds(site.filled([loop.old for loop in site.loops]), case.shapes, case.known, case.types)
            results.append(tune(case, options, deadline, share.part(1 / (len(cases) - number))))
        except TimeUpError as error:
            results.append(untuned(case.numbers, error))
    return SiteResult(
        line=site.region.line,
        sizes=tuple(results),
        tuned=True,
        notes=tuple(dict.fromkeys(notes)),
        guards=_distinctions(cases),
    )


def _distinctions(cases: Sequence[Case]) -> tuple[Mapping[str, Plain], ...]:
    """Return, per size, what C tells it by: the parameters that the file has, and else scalars that follow them."""
    sizes = [visible_sizes(case) for case in cases]
    alike = {name for name, value in sizes[0].items() if all(each.get(name) == value for each in sizes)}
    return tuple(
        {name: value for name, value in each.items() if name in case.numbers or name not in alike}
        for case, each in zip(cases, sizes, strict=True)
    )


def _tune_cpu(case: Case, options: AnnotatedOptions, deadline: Deadline, share: Deadline) -> SizeResult:
    from tilewright.workloads.annotated.verbs.handover import hand_automatic, hand_over

    space = _with_own(space_of(case), case)
    with pool(1) as workers:
        meter = CpuMeter(case=case, pool=workers, options=options, deadline=deadline)
        meter.start()
        searching = share.part(_SEARCH)
        # The first point may take what there is.
        with limited(lambda: (searching if meter.started else deadline).left):
            choice, winner = searched(case, options, meter, searching, space, _prior(case))
        variant = meter.made(winner.values)
        both = meter.beside(variant, until=share.part(_BESIDE))
        rounds = len(both.rounds)
        apart = () if rounds else (_APART,)
        if not both.rounds:
            moments = zip(winner.measurement.seconds, meter.baseline.seconds, strict=False)
            both = Beside(rounds=tuple(moments), command=meter.original_command)
        ours, theirs = both.ours, both.theirs
        try:
            handed = hand_over(case, meter, ours, both) or hand_automatic(case, meter, ours, both)
        except TimeUpError as error:
            handed = error.message
    if isinstance(handed, SizeResult):
        remarks = (*apart, *variant.notes, *handed.notes)
        return replace(handed, choice=choice, notes=remarks, finite=meter.finite, rounds=rounds)
    notes, bodies, reason = [*apart, *variant.notes], variant.bodies, ""
    guards: tuple[RegionGuard, ...] = ()
    notes += [] if handed is None else [handed]
    notes += [] if meter.wide else [NARROW]
    if not both.gained:
        reason = "no variant is surely faster than the original body built alike, so that stays"
    else:
        try:
            guards = cpu_guards(case, winner.values)
        except TimeUpError:
            reason = f"{LATE} before it was known what the best variant takes for granted: the original body stays"
    if reason:
        notes.insert(0, reason)
        bodies = tuple(loop.old for loop in case.site.loops)
    notes += [note for each in guards for note in each.notes]
    return both.result(
        case,
        variant,
        theirs if reason else ours,
        values=winner.values,
        bodies=bodies,
        ratios=() if reason else tuple(theirs / ours for ours, theirs in both.rounds),
        choice=choice,
        notes=tuple(notes),
        finite=meter.finite,
        rounds=rounds,
        conditions=tuple(each.conditions for each in guards),
        extra={"kept_original": bool(reason), "reused": meter.reused, **({"variant_seconds": ours} if reason else {})},
    )


def _with_own(space: ParameterSpace, case: Case) -> ParameterSpace:
    """Add whether loops run on threads, where transforms are for a device, and whether interiors are split off."""
    nodes = [node for loop in case.site.loops for node in every(loop.code, Transform)]
    device = any(node.name in DEVICE or "cuda" in dict(node.arguments) for node in nodes)
    edges = any(has_edges(loop.code) for loop in case.site.loops)
    for name, need, values in ((PARALLEL, device, (True, False)), (INTERIOR, edges, (False, True))):
        if need and name not in space.names:
            names, added = (*space.names, name), (*space.added, name)
            space = replace(space, names=names, values=(*space.values, values), added=added)
    return space


def _prior(case: Case) -> Callable[[Values], float]:
    """Return what is expected of a variant before it is built: the logarithm of a time, up to a constant.

    Copies of a body pay until their values no longer fit the registers, tiles while they are larger than a few cache
    lines and fit the cache; ``-O`` levels and parallel loops count as compilers' and threads' usual gains.
    """
    roles = _roles(case)

    def expected(values: Values) -> float:
        total, copies, tile = 0.0, 1.0, 1.0
        for name, value in values.items():
            role = roles.get(name, "")
            if role == "unroll" and isinstance(value, int):
                copies *= max(1, value)
            elif role == "tile" and isinstance(value, int) and value > 1:
                tile *= value
            elif role == "parallel" and value is True:
                total -= 0.3
            elif isinstance(value, str):
                total -= 0.2 * sum(level in value for level in ("-O1", "-O2", "-O3")) + 0.1 * ("-O3" in value)
        total += -0.1 * math.log2(min(copies, _REGISTERS)) + 0.15 * max(0.0, math.log2(copies / _REGISTERS))
        if tile > 1.0:
            total += 0.1 * max(0.0, math.log2(_ELEMENT * tile / _CACHE_BYTES)) + 0.1 * max(0.0, 6.0 - math.log2(tile))
        return total

    return expected


def _roles(case: Case) -> dict[str, str]:
    """Guess what every parameter is for, from the arguments that mention it."""
    names = [each.name for each in case.spec.params]
    roles: dict[str, str] = {}
    for loop in case.site.loops:
        for node in every(loop.code, Transform):
            for key, text in node.arguments:
                role = "unroll" if key in {"ufactor", "ufactors", "unrolljam", "regtile", "unrollInner"} else ""
                role = "tile" if key in {"tile", "tsize"} else "parallel" if key in {"openmp", "parallelize"} else role
                for name in names:
                    if role and name in text:
                        roles.setdefault(name, role)
    return roles
