"""Measuring the variants of a region on this machine's CPU."""

import math
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tilewright.base.errors import TilewrightError, ToolchainError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.records import Measurement, Outcome
from tilewright.runtime.store import folder as store
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.runtime.toolchains.build_command import full_level, optimised, parse_build_command
from tilewright.runtime.toolchains.cpu import compiler_identity, find_command
from tilewright.runtime.workers.pool import WorkerPool
from tilewright.workloads.annotated import call as runtime
from tilewright.workloads.annotated.lower.parallel import has_directives
from tilewright.workloads.annotated.nests.limit import LATE, TimeUpError
from tilewright.workloads.annotated.nests.nest import Stmt
from tilewright.workloads.annotated.search import Deadline
from tilewright.workloads.annotated.verbs.case import Case, command_of
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions, repeats_of
from tilewright.workloads.annotated.verbs.result import SizeResult

NARROW = "compared on inputs as specified alone: on wider ones the file's own text gives infinities"
TRIAL_SECONDS = 60.0  # limit on the first run of a variant and its comparison, beyond ten times the original's
_ORIGINAL_SECONDS = 240.0
_BASELINE = 0.1  # share of the time that is left in which the original body is timed
_NO_TIME = ("the time was over before the original body was built and run", "give more --seconds")
_REFERENCE = ("-O1", "-ffp-contract=off")  # how the file's own text is compiled: nothing is reordered or fused


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopVariant:
    """One point of the space as text."""

    bodies: tuple[Stmt, ...]  # what replaces each region
    unit: str  # the translation unit for timing
    command: tuple[str, ...]  # the compiler and its flags
    notes: tuple[str, ...] = ()  # what was left out, and why
    prelude: str = ""  # what the bodies need at the top of the file

    @property
    def key(self) -> str:
        """A fingerprint of what is compiled and how."""
        return fingerprint("loop-variant", self.unit, self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A variant and the original body, timed in turn."""

    rounds: tuple[tuple[float, float], ...]  # median seconds (variant, original) per round; empty if one did not run
    command: tuple[str, ...]  # how the original body was built
    same: bool = False  # whether the compiler made the same code of both

    @property
    def ours(self) -> float:
        """Median seconds of the variant; NaN if it did not run."""
        return Measurement(seconds=tuple(ours for ours, _ in self.rounds)).median

    @property
    def theirs(self) -> float:
        """Median seconds of the original body; NaN if it did not run."""
        return Measurement(seconds=tuple(theirs for _, theirs in self.rounds)).median

    def slower_than(self, seconds: Sequence[float]) -> bool:
        """Whether the original body took longer in every round than something else ever did."""
        return max(seconds) < min(theirs for _, theirs in self.rounds)

    def result(self, case: Case, variant: LoopVariant, seconds: float, **more: Any) -> SizeResult:  # noqa: ANN401
        """Return what became of a size: a variant that takes some seconds, or the original body."""
        return SizeResult(
            numbers=dict(case.numbers),
            seconds=seconds,
            original=self.theirs,
            original_command=shown_command(self.command),
            command=shown_command(variant.command),
            **{"ratios": tuple(each / seconds for _, each in self.rounds), **more},
        )

    @property
    def gained(self) -> bool:
        """Whether the variant is surely faster: other code, and in no round as slow as the original in any."""
        return not self.same and len(self.rounds) > 1 and self.slower_than([ours for ours, _ in self.rounds])


@dataclass(slots=True, kw_only=True)
class CpuMeter:
    """Builds, validates and times variants; see :class:`tilewright.workloads.annotated.search.PointMeter`."""

    case: Case  # the regions at one size of the input
    pool: WorkerPool  # two workers at most; the first one runs
    options: AnnotatedOptions  # what the user asks for
    # compilers and runs that are not done by then are killed
    deadline: Deadline = field(default_factory=Deadline)
    original_command: tuple[str, ...] = ()
    baseline: Measurement = field(default_factory=Measurement)  # of the original body, after :meth:`start`
    finite: bool = True  # whether the results are finite
    wide: bool = True  # whether they are compared on wide inputs, too
    reused: int = 0
    _known: dict[str, Measurement] = field(default_factory=dict)
    _variants: dict[str, LoopVariant] = field(default_factory=dict)
    _compiled: dict[str, Artifact[None]] = field(default_factory=dict)
    _objects: runtime.Originals | None = None
    _scope: str = ""
    _ready: bool = False

    def start(self) -> None:
        """Build and run the original body, and the file's own text beside it."""
        command = full_level(self.compiler(command_of(self.case.site.spec)))
        self.original_command = command
        text = self.case.original()
        initial = self.case.initial()
        own = self.case.reference()
        builds = [(command, text), ((command[0], *_REFERENCE), own), (command, own)]
        with ThreadPoolExecutor(max_workers=2) as threads:
            built = list(threads.map(self._original, [*builds, *([(command, initial)] if initial else [])]))
        self._objects = runtime.Originals(
            timed=built[0], reference=built[1], second=built[2], initial=built[3] if initial else None
        )
        measured = (text, own, initial, command, compiler_identity(), self.case.inputs, self.repeats, self.options.seed)
        self._scope = fingerprint("loop-log", *measured)
        self._prepare()
        self._known = self._recorded()

    def _original(self, build: tuple[tuple[str, ...], str]) -> Artifact[None]:
        command, text = build
        try:
            return runtime.build(command, text, min(_ORIGINAL_SECONDS, self.deadline.left))
        except ToolchainError:
            if self.deadline.left <= 0:
                raise TimeUpError(*_NO_TIME) from None
            raise

    def _prepare(self) -> None:
        left = self.deadline.left
        if left <= 0:
            raise TimeUpError(*_NO_TIME)
        reply = self.pool.call(
            runtime.prepare,
            self._objects,
            self.case.inputs,
            self.options.seed,
            self.repeats,
            _BASELINE * left,
            limit=min(5 * TRIAL_SECONDS, left),
        )
        if reply.outcome is Outcome.TIMEOUT and self.deadline.left <= 0:
            raise TimeUpError(*_NO_TIME)
        if reply.outcome is Outcome.WRONG:
            line = self.case.site.region.line
            raise UsageError(
                f"the region of line {line} cannot be transformed: read as loops it computes something else than its "
                f"own text: {reply.detail}",
                "write it with fewer of C's implicit conversions",
            )
        if reply.outcome is not Outcome.OK:
            raise UsageError(
                f"the original body did not run ({reply.outcome}): {reply.detail}",
                "choose a smaller size with --set NAME=VALUE",
            )
        samples, self.finite, wide = reply.value
        self.wide = wide or not any(each.wide for each in self.case.inputs)
        if not self.baseline.seconds:
            self.baseline = Measurement(seconds=tuple(samples))
        self._ready = True

    @property
    def repeats(self) -> int:
        """How often a variant is timed."""
        return repeats_of(self.case, self.options)

    def compiler(self, command: str) -> tuple[str, ...]:
        """Return the compiler of a build command and its flags, the best general ones before them."""
        parsed = parse_build_command(command, self.options.allow_compilers)
        defines = (f"-D{name}={value}" for name, value in parsed.defines)
        return (*self.program(parsed.compiler), *optimised(parsed.flags), *defines)

    def program(self, compiler: str) -> tuple[str, ...]:
        """Return the C compiler that stands for a command's: one for GPUs becomes this machine's for C."""
        plain = compiler.partition("-")[0]
        if plain in {"gcc", "clang", "cc"} or compiler in self.options.allow_compilers:
            for name in (compiler, plain):
                path = shutil.which(name)
                if path is not None:
                    return (path,)
        return find_command()

    def variant(self, values: Mapping[str, object]) -> LoopVariant:
        """Return a point as text."""
        bodies: list[Stmt] = []
        notes: list[str] = []
        case = self.case
        for loop in case.site.loops:
            if loop.stencil:
                bodies.append(loop.old)
                continue
            stmt, more = case.threaded(loop, case.code(loop), values, case.setting, strict=self.options.strict)
            bodies.append(stmt)
            notes += more
        command = self.compiler(command_of(case.site.spec, values))
        if any(has_directives(body) for body in bodies) and "-fopenmp" not in command:
            command = (*command, "-fopenmp")
        return LoopVariant(
            bodies=tuple(bodies), unit=case.unit(bodies), command=command, notes=tuple(dict.fromkeys(notes))
        )

    def made(self, values: Mapping[str, object]) -> LoopVariant:
        """Return a point as text; made once."""
        key = str(sorted(values.items()))
        if key not in self._variants:
            self._variants[key] = self.variant(values)
        return self._variants[key]

    @property
    def started(self) -> bool:
        """Whether a point was measured."""
        return bool(self._known)

    def measure(self, points: Sequence[Mapping[str, object]]) -> list[Measurement]:
        """Build, validate and time some points; equal variants are measured once.

        What the deadline cuts short is no result: it is neither kept nor logged.
        """
        results: list[LoopVariant | Measurement] = [self._variant(values) for values in points]
        fresh = {each.key: each for each in results if isinstance(each, LoopVariant) and each.key not in self._known}
        with ThreadPoolExecutor(max_workers=2) as threads:
            objects = dict(zip(fresh, threads.map(self._built, fresh.values()), strict=True))
        timings: dict[str, Measurement] = {}
        for key, built in objects.items():
            timings[key] = self._timed(built)
            if timings[key].detail != LATE:
                self._known[key] = timings[key]
                self._record(key)
        self.reused += sum(isinstance(each, LoopVariant) for each in results) - len(fresh)
        outcomes = {**self._known, **timings}
        return [outcomes[each.key] if isinstance(each, LoopVariant) else each for each in results]

    def again(self, point: Mapping[str, object]) -> Measurement:
        """Time a point once more."""
        variant = self._variant(point)
        return variant if isinstance(variant, Measurement) else self._timed(self._built(variant))

    def beside(self, variant: LoopVariant, rounds: int = 3, until: Deadline | None = None) -> Beside:
        """Time a variant and the original body, built with its flags and at least ``-O3``, in turn, up to ``until``."""
        bodies = tuple(loop.old for loop in self.case.site.loops)
        plain = LoopVariant(bodies=bodies, unit=self.case.original(), command=full_level(variant.command))
        built = [self._built(each) for each in (variant, plain)]
        pairs: list[tuple[float, float]] = []
        for _ in range(rounds):
            if pairs and until is not None and until.left <= 0:
                break
            both = [self._timed(each) for each in built]
            if not all(each.seconds for each in both):
                break
            pairs.append((both[0].median, both[1].median))
        codes = {each.content if isinstance(each, Artifact) else None for each in built}
        return Beside(rounds=tuple(pairs), command=plain.command, same=len(codes) == 1 and None not in codes)

    def single(self, variant: LoopVariant, rounds: int = 3) -> Measurement:
        """Build, validate and time one variant; return its median seconds per round, or why it failed."""
        built = self._built(variant)
        medians: list[float] = []
        for _ in range(rounds):
            timed = self._timed(built)
            if timed.outcome is not Outcome.OK:
                return timed
            medians.append(timed.median)
        return Measurement(seconds=tuple(medians))

    def _built(self, variant: LoopVariant) -> Artifact[None] | Measurement:
        """Compile a variant, once; a compiler that runs at the deadline is killed."""
        entry = self._compiled.get(variant.key)
        if entry is not None:
            return entry
        left = self.deadline.left
        if left <= 0:
            return _late()
        try:
            artifact = runtime.build(variant.command, variant.unit, min(runtime.COMPILE_SECONDS, left))
        except ToolchainError as error:
            return _late() if self.deadline.left <= 0 else Measurement(outcome=Outcome.COMPILE, detail=error.message)
        self._compiled[variant.key] = artifact
        return artifact

    def _variant(self, values: Mapping[str, object]) -> LoopVariant | Measurement:
        try:
            return self.made(values)
        except TimeUpError:
            return _late()
        except TilewrightError as error:
            return Measurement(outcome=Outcome.ILLEGAL, detail=error.message)

    def _timed(self, built: Artifact[None] | Measurement) -> Measurement:
        """Run, compare and time what was compiled; that it was not is its result."""
        if isinstance(built, Measurement):
            return built
        if not self._ready:
            try:
                self._prepare()
            except UsageError as error:
                if self.deadline.left <= 0:
                    return _late()
                raise error from None
        base = self.baseline.median
        patience = 5.0 if math.isnan(base) else max(2.0, 4.0 * base * self.repeats)
        limit = TRIAL_SECONDS + 10.0 * (0.0 if math.isnan(base) else base) * (self.repeats + 1)
        left = self.deadline.left
        if left <= 0:
            return _late()
        reply = self.pool.call(runtime.trial, built, self.repeats, min(patience, left / 2), limit=min(limit, left))
        if reply.outcome in {Outcome.CRASH, Outcome.TIMEOUT}:
            self._ready = False
        if reply.outcome is Outcome.TIMEOUT and self.deadline.left <= 0:
            return _late()
        if reply.outcome is not Outcome.OK:
            return Measurement(outcome=reply.outcome, detail=reply.detail)
        return Measurement(seconds=tuple(reply.value))

    def _recorded(self) -> dict[str, Measurement]:
        if self.options.log is None:
            return {}
        scope = self._scope
        measurements: dict[str, Measurement] = {}
        for record in store.read(self.options.log):
            if record.get("scope") == scope and record.get("kind") == "loop-variant":
                seconds = tuple(float(each) for each in record.get("seconds", []))
                outcome = Outcome(str(record.get("outcome", "ok")))
                measurements[str(record["key"])] = Measurement(
                    seconds=seconds, outcome=outcome, detail=str(record.get("detail", ""))
                )
        return measurements

    def _record(self, key: str) -> None:
        if self.options.log is None:
            return
        measurement = self._known[key]
        record: dict[str, Any] = {
            "kind": "loop-variant",
            "scope": self._scope,
            "key": key,
            "seconds": list(measurement.seconds),
            "outcome": str(measurement.outcome),
            "detail": measurement.detail[:500],
        }
        store.append(self.options.log, record)


def _late() -> Measurement:
    return Measurement(outcome=Outcome.TIMEOUT, detail=LATE)


def shown_command(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command for people: its program without its folder."""
    return (command[0].rpartition("/")[2], *command[1:])
