"""What becomes of one region: tuned at every size of its input, or only transformed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tilewright.api.annotate_case import Case, neutral_command, prepared, transformed
from tilewright.api.annotate_meter import PARALLEL, CpuMeter, Variant
from tilewright.base.errors import UsageError
from tilewright.base.records import Outcome
from tilewright.base.units import format_seconds
from tilewright.codegen.loop_apply import DEVICE
from tilewright.codegen.loop_transforms import Setting
from tilewright.codegen.loops_openmp import on_cpu
from tilewright.frontends.annotated_eval import Plain
from tilewright.frontends.annotated_file import Site
from tilewright.frontends.annotated_spec import TuningSpec
from tilewright.programs.loopnest import Stmt, Transform, Verbatim, statements
from tilewright.programs.loopnest_bounds import check_bounds
from tilewright.programs.loopnest_scalars import scalar_types
from tilewright.runtime.build_command import parse_build_command
from tilewright.runtime.workers import pool
from tilewright.tuning.loop_algorithms import algorithm
from tilewright.tuning.loop_search import Budget, LoopChoice, Space, search_loops

if TYPE_CHECKING:
    from tilewright.api.annotate import Options

_KEEP = 0.95
"""The original body stays if it takes less than this share of the winner's time."""
_REPEATS = 5
_MOST_REPEATS = 200
_MANY = 300
"""Spaces larger than this are not searched exhaustively unless the specification says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult:
    """What a search found at one size of the input.

    Attributes:
        numbers: The input's parameters.
        values: The winner's parameters.
        bodies: What replaces the regions.
        seconds: The winner's time; NaN if nothing was timed.
        original: The original body's.
        choice: The search.
        notes: What was left out of the winner, and why.
        command: How the winner was built.
        finite: Whether the original body's results are all finite.
        extra: Further facts, such as a kernel's resources.
        text: The new text where it is no loop nest.
    """

    numbers: Mapping[str, Plain]
    values: Mapping[str, object]
    bodies: tuple[Stmt, ...]
    seconds: float = math.nan
    original: float = math.nan
    choice: LoopChoice | None = None
    notes: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    finite: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)
    text: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        choice = self.choice
        counts: dict[str, int] = {}
        failures: list[dict[str, Any]] = []
        for trial in choice.trials if choice else ():
            outcome = str(trial.measurement.outcome)
            counts[outcome] = counts.get(outcome, 0) + 1
            if trial.measurement.outcome is not Outcome.OK and len(failures) < 10:
                failures.append({"values": dict(trial.values), "outcome": outcome, "reason": trial.measurement.detail})
        return {
            "input": dict(self.numbers),
            "winner": dict(self.values),
            "seconds": self.seconds,
            "original_seconds": self.original,
            "speedup": self.original / self.seconds if self.seconds > 0 else math.nan,
            "search": choice.algorithm if choice else None,
            "space_size": choice.space if choice else 1,
            "evaluated": len(choice.trials) if choice else 0,
            "outcomes": counts,
            "failures": failures,
            "skipped": choice.skipped_count if choice else 0,
            "skipped_reasons": [{"values": dict(v), "reason": r} for v, r in (choice.skipped[:5] if choice else ())],
            "finished": choice.finished if choice else True,
            "interrupted": choice.interrupted if choice else False,
            "validated": bool(choice and choice.winner),
            "finite": self.finite,
            "command": " ".join(self.command),
            "notes": list(self.notes),
            **{key: value for key, value in self.extra.items() if not key.startswith("_")},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteResult:
    """What became of a site.

    Attributes:
        line: Line of its annotation.
        sizes: One result per size of the input, one alone where there is no specification.
        tuned: Whether it has a specification.
        notes: What was noticed about the region itself.
        guards: Names whose values choose among the sizes.
    """

    line: int
    sizes: tuple[SizeResult, ...]
    tuned: bool
    notes: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "line": self.line,
            "tuned": self.tuned,
            "notes": list(self.notes),
            "results": [size.to_dict() for size in self.sizes],
        }

    def __str__(self) -> str:
        out = [f"line {self.line}: " + ("tuned" if self.tuned else "transformed (no tuning specification, so not run)")]
        out += [f"  note: {note}" for note in self.notes]
        for size in self.sizes:
            out += _described(size, tuned=self.tuned)
        return "\n".join(out)


def _described(size: SizeResult, *, tuned: bool) -> list[str]:
    where = ", ".join(f"{name}={value}" for name, value in size.numbers.items())
    values = ", ".join(f"{name}={value}" for name, value in size.values.items())
    out = []
    if tuned and size.choice is not None:
        took = ""
        if not math.isnan(size.seconds):
            took = (
                f" {format_seconds(size.seconds)}, the original body {format_seconds(size.original)}"
                f" ({size.original / size.seconds:.2f} times as fast)"
            )
        choice = size.choice
        out.append(f"  {where or 'one size'}:{took}")
        out.append(f"    winner: {values or 'no parameters'}")
        end = "" if choice.finished else ", stopped by the time or the number of runs"
        out.append(
            f"    {choice.algorithm}: {len(choice.trials)} of {choice.space} points measured, "
            f"{choice.skipped_count} excluded by constraints{end}"
        )
    out += [f"    {key}: {value}" for key, value in size.extra.items() if not key.startswith("_")]
    out += [f"    left out: {note}" for note in size.notes[:6]]
    return out


def plain_site(site: Site, options: "Options") -> SiteResult:
    """Transform a region that has no tuning specification; its arguments must be literals."""
    from tilewright.api.annotate_gpu import plain_device

    types = scalar_types(
        site.filled([loop.old for loop in site.loops]), {n: d.ctype for n, d in site.parameters.items()}
    )
    case = Case(site=site, numbers={}, known={}, inputs=(), bound=(), loose={}, types=types)
    if options.backend != "c":
        return plain_device(case, options)
    bodies: list[Stmt] = []
    notes: list[str] = []
    for loop in site.loops:
        if loop.stencil:
            raise UsageError("a stencil region stands inside a PerfTuning region, which gives its sizes")
        applied = transformed(loop, case, prepared(loop, case), {}, strict=options.strict)
        stmt = applied.stmt
        if applied.device:
            stmt, more = on_cpu(stmt, applied.device, Setting(types=types))
            notes += more
        bodies.append(stmt)
        notes += [*loop.notes, *applied.notes]
    result = SizeResult(numbers={}, values={}, bodies=tuple(bodies), notes=tuple(dict.fromkeys(notes)))
    return SiteResult(line=site.region.line, sizes=(result,), tuned=False)


def tune_site(site: Site, cases: Sequence[Case], options: "Options", seconds: float) -> SiteResult:
    """Tune a site at every size of its input."""
    from tilewright.api.annotate_gpu import tune_device

    spec = _spec(site)
    notes = [*spec.notes, *(note for loop in site.loops for note in loop.notes)]
    kinds = {name for kind in ("validation", "performance_test_code") for name in spec.args.get(kind, {})}
    if kinds:
        notes.append(f"{', '.join(sorted(kinds))}: variants are compared with the original body instead")
    tune: Callable[[Case, Options, float], SizeResult] = _tune_cpu if options.backend == "c" else tune_device
    results = []
    for case in cases:
        check_bounds(site.filled([loop.old for loop in site.loops]), case.shapes, case.known)
        results.append(tune(case, options, seconds))
    return SiteResult(
        line=site.region.line,
        sizes=tuple(results),
        tuned=True,
        notes=tuple(dict.fromkeys(notes)),
        guards=tuple(each.name for each in spec.inputs),
    )


def _spec(site: Site) -> TuningSpec:
    if site.spec is None:
        raise UsageError("there is no tuning specification")
    return site.spec


def space_of(spec: TuningSpec, numbers: Mapping[str, Plain]) -> Space:
    """Return the space of a specification at one size of the input."""

    def refused(values: Mapping[str, object]) -> str:
        known: dict[str, Any] = {**spec.lets, **numbers, **values}
        for name, rule in spec.constraints:
            if not rule.value(known):
                return f"the constraint {name} is not fulfilled: {rule.text[:80]}"
        return ""

    return Space(
        names=tuple(each.name for each in spec.params),
        values=tuple(each.values for each in spec.params),
        refused=refused,
    )


def search_name(spec: TuningSpec, options: "Options", space: Space) -> str:
    """Return the search to use: the user's, the specification's, or ours where the space is large."""
    asked = options.algorithm or spec.arg("search", "algorithm")
    if asked is None:
        return "Exhaustive" if space.size <= _MANY else "Model"
    return algorithm(str(asked)) or str(asked)


def repeats_of(spec: TuningSpec, options: "Options") -> int:
    """Return how often a variant is timed."""
    asked = options.repeats or spec.arg("performance_counter", "repetitions") or _REPEATS
    return min(max(int(asked), 1), _MOST_REPEATS) if isinstance(asked, int) else _REPEATS


def _tune_cpu(case: Case, options: "Options", seconds: float) -> SizeResult:
    from tilewright.api.annotate import budget_of
    from tilewright.api.annotate_prior import prior_of

    spec = _spec(case.site)
    space = _with_threads(space_of(spec, case.numbers), case)
    with pool(1) as workers:
        meter = CpuMeter(
            case=case,
            pool=workers,
            repeats=repeats_of(spec, options),
            strict=options.strict,
            allowed=options.allowed,
            log=options.log,
            seed=options.seed,
        )
        meter.start()
        budget: Budget = budget_of(case, options, seconds)
        name = search_name(spec, options, space)
        choice = search_loops(space, name, budget, meter, prior=prior_of(case), seed=options.seed)
        if choice.winner is None:
            raise UsageError(*nothing(choice))
        variant = meter.variant(choice.winner.values)
        ours, theirs = meter.beside(variant)
        handed = _handed(case, meter, ours, theirs)
    if handed is not None:
        return replace(handed, choice=choice, notes=(*variant.notes, *handed.notes), finite=meter.finite)
    notes, bodies, kept = list(variant.notes), variant.bodies, False
    if theirs < _KEEP * ours:
        notes.insert(0, "no variant is faster than the original body built alike, so that stays")
        bodies, kept = tuple(loop.old for loop in case.site.loops), True
    return SizeResult(
        numbers=dict(case.numbers),
        values=choice.winner.values,
        bodies=bodies,
        seconds=ours,
        original=theirs,
        choice=choice,
        notes=tuple(notes),
        command=(variant.command[0].rpartition("/")[2], *variant.command[1:]),
        finite=meter.finite,
        extra={"kept_original": kept, "reused": meter.reused},
    )


def _handed(case: Case, meter: CpuMeter, ours: float, theirs: float) -> SizeResult | None:
    """Try the stencil compiler on regions that are iterated stencils; return its result where it is the fastest."""
    from tilewright.api import annotate_stencil as handing

    if len(case.site.loops) != 1:
        return None
    loop = case.site.loops[0]
    made = handing.stencil_code(case, loop)
    if made is None:
        return None
    kernel, call, tiling = made
    prelude = handing.HEAD + kernel
    bodies = (Verbatim(call),)
    command = (*meter.program(parse_build_command(neutral_command(case.site.spec), meter.allowed)), *handing.FLAGS)
    seconds, why = meter.single(Variant(bodies=bodies, unit=case.unit(bodies, prelude), command=command))
    if why or not (seconds < min(ours, theirs) or loop.stencil):
        return None
    return SizeResult(
        numbers=dict(case.numbers),
        values={},
        bodies=(),
        seconds=seconds,
        original=theirs,
        notes=(f"an iterated stencil: handed to the stencil compiler, tiling {tiling}",),
        command=(command[0].rpartition("/")[2], *command[1:]),
        text=(call,),
        extra={"_prelude": prelude, **handing.facts(tiling), "kept_original": False},
    )


def _with_threads(space: Space, case: Case) -> Space:
    """Add whether loops run on threads, where the transforms are for a device."""
    device = any(
        isinstance(node, Transform) and (node.name in DEVICE or "cuda" in dict(node.arguments))
        for loop in case.site.loops
        for node in statements(loop.code)
    )
    if not device or PARALLEL in space.names:
        return space
    return replace(space, names=(*space.names, PARALLEL), values=(*space.values, (True, False)))


def nothing(choice: LoopChoice) -> tuple[str, str]:
    """Say why a search found nothing."""
    for trial in choice.trials:
        if trial.measurement.detail:
            return f"no variant ran: {trial.measurement.detail}", ""
    if choice.skipped:
        return f"no point of the space is allowed: {choice.skipped[0][1]}", "relax the constraints"
    return "no variant could be measured", "give more --seconds"
