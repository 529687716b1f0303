"""Regions on a device: OpenCL is built, run and compared here; CUDA is compiled, and run where there is a GPU."""

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.base.errors import IllegalTransformError, TilewrightError, UsageError
from tilewright.base.records import Measurement, Outcome, Resources
from tilewright.codegen.loops.apply import DEVICE
from tilewright.codegen.loops.device import DeviceProgram
from tilewright.codegen.loops.extents import extents_of
from tilewright.codegen.loops.gpu import lower
from tilewright.codegen.loops.host_calls import cuda_body, cuda_prelude, opencl_body, opencl_prelude
from tilewright.codegen.loops.kernels import kernels_text
from tilewright.codegen.loops.lowering import text as expression_text
from tilewright.codegen.loops.transforms import NestContext
from tilewright.codegen.print.source import CUDA
from tilewright.frontends.annotated.c import parse_expression
from tilewright.frontends.annotated.file import LoopRegion
from tilewright.frontends.annotated.spec import TuningSpec
from tilewright.programs.loops.nest import (
    Binary,
    Declare,
    Expr,
    Num,
    Stmt,
    Transform,
    Verbatim,
    counters,
    map_statements,
    names,
    written,
)
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.devices.oclgrind import OclgrindReport, only_oclgrind
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.runtime.toolchains.build_command import current_architecture, parse_build_command
from tilewright.runtime.warn import warn_once
from tilewright.runtime.workers.pool import pool
from tilewright.tuning.loops.search import Deadline, LoopChoice, search_loops
from tilewright.verbs.annotated.case import Case, command_of, prepared, setting_of, transformed
from tilewright.verbs.annotated.guard import guard_of, sized_arrays
from tilewright.verbs.annotated.meter import NARROW, CpuMeter, LoopVariant, shown_command
from tilewright.verbs.annotated.options import AnnotatedOptions, budget_of
from tilewright.verbs.annotated.result import SiteResult, SizeResult, nothing, repeats_of, search_name, space_of

_SMS, _REGISTERS, _THREADS, _BLOCKS = 132, 65536, 2048, 32
"""A current GPU: what occupancy is estimated for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceVariant:
    """One point of the space for a device.

    Attributes:
        programs: The device program of every region.
        preludes: What the top of the file needs.
        bodies: What replaces every region.
        notes: What was left out, and why.
        conditions: Per region, in C, what has to hold for it.
    """

    programs: tuple[DeviceProgram, ...]
    preludes: tuple[str, ...]
    bodies: tuple[str, ...]
    notes: tuple[str, ...] = ()
    conditions: tuple[tuple[str, ...], ...] = ()


def device_variant(
    case: Case, codes: Sequence[Stmt], values: Mapping[str, object], options: AnnotatedOptions
) -> DeviceVariant:
    """Return a point as text for a device.

    Raises:
        UsageError: If a transform does not fit.
        IllegalTransformError: If no loop can run in parallel; the dependence is named.
    """
    programs: list[DeviceProgram] = []
    notes: list[str] = []
    for loop, code in zip(case.site.loops, codes, strict=True):
        program, more = _program(loop, case, code, values, options, setting_of(case))
        programs.append(program)
        notes += [*more, *program.notes]
    cuda = options.backend == "cuda"
    return DeviceVariant(
        programs=tuple(programs),
        preludes=tuple(cuda_prelude(each) if cuda else opencl_prelude(each) for each in programs),
        bodies=tuple(cuda_body(each) if cuda else opencl_body(each) for each in programs),
        notes=tuple(dict.fromkeys(notes)),
    )


def _program(
    loop: LoopRegion,
    case: Case,
    code: Stmt,
    values: Mapping[str, object],
    options: AnnotatedOptions,
    setting: NestContext,
) -> tuple[DeviceProgram, list[str]]:
    """Return a region's program for a device, and notes about its transforms.

    What is made for a CPU, such as elements kept in scalars, may leave a device nothing that runs in parallel: then
    only what is asked of the device is done.
    """

    def made(wanted: Stmt) -> tuple[DeviceProgram, list[str]]:
        applied = transformed(loop, case, wanted, values, strict=options.strict, openmp=False, setting=setting)
        args = applied.device or {"kind": "CUDA" if options.backend == "cuda" else "OpenCL"}
        where = f"tw_line{loop.region.line}"
        return lower(applied.stmt, args, setting, _shapes(case, code), where), applied.notes

    try:
        return made(code)
    except IllegalTransformError as error:
        plain = map_statements(code, _for_device)
        if options.strict or plain == code:
            raise
        program, notes = made(plain)
        return program, [f"only what is asked of the device is done: {error.message}", *notes]


def _for_device(stmt: Stmt) -> Stmt:
    """Return what a transform asks of a device, or what stands behind it."""
    if not isinstance(stmt, Transform) or stmt.name in DEVICE:
        return stmt
    asked = tuple((name, text) for name, text in stmt.arguments if name == "cuda" and stmt.name == "Composite")
    return Transform(stmt.name, asked, stmt.body) if asked else stmt.body


def guarded(made: DeviceVariant, case: Case, values: Mapping[str, object], options: AnnotatedOptions) -> DeviceVariant:
    """Return a point with what has to hold where it is called.

    Sizes are those that its extents and its legality were told by; a device's copies of arrays that overlap are not
    one array, and an array without an element has no copy.
    """
    conditions: list[tuple[str, ...]] = []
    notes: list[str] = []
    for loop, program in zip(case.site.loops, made.programs, strict=True):
        code = prepared(loop, case)

        def build(setting: NestContext, loop: LoopRegion = loop, code: Stmt = code) -> object:
            found = _program(loop, case, code, values, options, setting)[0]
            return found.steps, found.streams

        away = not program.launch.resident
        fixed = sized_arrays(case, program.extents) if away else {}
        guard = guard_of(loop, case, code, build, fixed=fixed, apart=away)
        free = [extent for extent in program.extents.values() if away and names(extent)]
        filled = [expression_text(Binary(">", extent, Num("0"))) for extent in free]
        conditions.append(tuple(dict.fromkeys([*guard.conditions, *filled])))
        notes += guard.notes
    return replace(made, conditions=tuple(conditions), notes=(*made.notes, *dict.fromkeys(notes)))


def _shapes(case: Case, stmt: Stmt) -> dict[str, tuple[Expr, ...]]:
    """Return the extents of arrays: the specification's own words for arrays of one dimension."""
    found: dict[str, tuple[Expr, ...]] = {
        name: tuple(Num(str(each)) for each in extents) for name, extents in case.shapes.items()
    }
    spec = case.site.spec
    for each in spec.variables if spec is not None else ():
        text = each.dims[0].text if len(each.dims) == 1 else ""
        visible = all(name in case.numbers for name in re.findall(r"[A-Za-z_]\w*", text))  # a let is no variable of C
        if re.fullmatch(r"[\w\s*+()-]+", text) and "**" not in text and visible:
            found[each.name] = (parse_expression(text, f"the extent of {each.name}"),)
    if spec is None:
        for name, extent in extents_of(stmt).items():
            found[name] = (extent.count,)
        for name, declared in case.site.parameters.items():
            found |= _declared(name, declared, stmt, found.pop(name, None))
    return found


def _declared(name: str, declared: Declare, stmt: Stmt, told: tuple[Expr, ...] | None) -> dict[str, tuple[Expr, ...]]:
    """Return an array's extents: the first as its subscripts tell, the others, and what they do not, as declared."""
    inside = written(stmt) | counters(stmt)
    said = (*(told or declared.dims[:1]), *declared.dims[1:])
    known = all(each != Num("0") and not names(each) & inside for each in said[len(told or ()) :])
    return {name: said} if known and declared.dims and not declared.heap else {}


class OpenCLMeter(CpuMeter):
    """Builds and runs variants through OpenCL's own library, in the worker that ran the original body."""

    options: AnnotatedOptions
    report: OclgrindReport | None = None

    def _timed(self, built: Artifact[None]) -> Measurement:
        """Run a variant; what Oclgrind finds in it is a failure."""
        measured = super()._timed(built)
        news = self.report.news() if self.report is not None else ""
        return Measurement(outcome=Outcome.WRONG, detail=f"Oclgrind: {news[:200]}") if news else measured

    def variant(self, values: Mapping[str, object]) -> LoopVariant:
        """Return a point as text."""
        made = device_variant(self.case, self._codes, values, self.options)
        bodies = tuple(Verbatim(text) for text in made.bodies)
        prelude = "\n".join(dict.fromkeys(made.preludes))
        command = (*self.program(parse_build_command("cc")), "-O2", "-lOpenCL")
        return LoopVariant(bodies=bodies, unit=self.case.unit(bodies, prelude), command=command, notes=made.notes)


@dataclass(slots=True, kw_only=True)
class CudaMeter:
    """Compiles variants with NVRTC and expects a time from what the kernels take; nothing is run.

    Attributes:
        case: The regions at one size of the input.
        options: How to tune.
        architecture: What code is made for.
        resources: What the kernels of every point take.
    """

    case: Case
    options: AnnotatedOptions
    architecture: str
    codes: list[Stmt] = field(default_factory=list)
    resources: dict[str, Mapping[str, Resources]] = field(default_factory=dict)
    _texts: dict[tuple[str, str], Mapping[str, Resources] | str] = field(default_factory=dict)

    def measure(self, points: Sequence[Mapping[str, object]]) -> list[Measurement]:
        """Compile some points; their samples are expected times."""
        return [self._one(values) for values in points]

    def again(self, point: Mapping[str, object]) -> Measurement:
        """Return the same expectation."""
        return self._one(point)

    def variant(self, values: Mapping[str, object]) -> DeviceVariant:
        """Return a point as text."""
        return device_variant(self.case, self.codes, values, self.options)

    def _one(self, values: Mapping[str, object]) -> Measurement:
        try:
            made = self.variant(values)
            fast = parse_build_command(command_of(self.case.site.spec, values), self.options.allowed).fast_math
            taken: dict[str, Resources] = {}
            for program in made.programs:
                taken |= self._compiled(kernels_text(program, CUDA), ("--use_fast_math",) if fast else ())
        except TilewrightError as error:
            outcome = Outcome.ILLEGAL if isinstance(error, UsageError) else Outcome.COMPILE
            return Measurement(outcome=outcome, detail=error.message)
        self.resources[str(dict(values))] = taken
        return Measurement(seconds=(expected_seconds(made.programs, taken, self.case),))

    def _compiled(self, text: str, flags: tuple[str, ...]) -> Mapping[str, Resources]:
        if not nvrtc.available():
            warn_once(f"there is no NVRTC, so the kernels are not compiled here (hint: {nvrtc.INSTALL})")
            return {}
        key = (text, " ".join(flags))
        if key not in self._texts:
            self._texts[key] = nvrtc.compile_kernels(text, self.architecture, flags)
        found = self._texts[key]
        return found if not isinstance(found, str) else {}


def expected_seconds(programs: Sequence[DeviceProgram], taken: Mapping[str, Resources], case: Case) -> float:
    """Expect a time of device programs from their traffic and the threads that are resident.

    Args:
        programs: The programs.
        taken: What their kernels take.
        case: The regions, for the sizes of the arrays.
    """
    sizes = {each.name: each.nbytes for each in case.inputs}
    total = 0.0
    for program in programs:
        for kernel in program.kernels:
            launch = kernel.launch
            need = taken.get(kernel.name)
            registers = (need.registers if need else None) or 32
            spills = (need.spill_bytes if need else None) or 0
            resident = min(_BLOCKS, _THREADS // launch.threads, _REGISTERS // max(1, registers * launch.threads))
            threads = min(launch.blocks, resident * _SMS) * launch.threads
            share = min(1.0, threads / (0.5 * _SMS * _THREADS)) if resident else 1e-3
            moved = sum(sizes.get(name, 8) * (2 if name in kernel.written else 1) for name in kernel.arrays)
            total += 3e-6 + moved * (1.0 + 0.05 * spills) / (2e12 * max(share, 1e-3))
            total *= 1.0 - 0.01 * (launch.unroll > 1)
    return total


def plain_device(case: Case, options: AnnotatedOptions) -> SiteResult:
    """Generate device code of a region without a tuning specification; its arguments are literals."""
    codes = [prepared(loop, case) for loop in case.site.loops]
    made = guarded(device_variant(case, codes, {}, options), case, {}, options)
    extra: dict[str, Any] = {"_prelude": "\n".join(made.preludes)}
    if options.backend == "cuda" and nvrtc.available():
        taken: dict[str, Resources] = {}
        for program in made.programs:
            taken |= nvrtc.compile_kernels(kernels_text(program, CUDA), current_architecture("")[0])
        extra["resources"] = _plain(taken)
    size = SizeResult(
        numbers={}, values={}, bodies=(), notes=made.notes, text=made.bodies, extra=extra, conditions=made.conditions
    )
    return SiteResult(line=case.site.region.line, sizes=(size,), tuned=False)


def _plain(taken: Mapping[str, Resources]) -> dict[str, Any]:
    return {
        name: {
            "registers": each.registers,
            "spill_bytes": each.spill_bytes,
            "stack_bytes": each.stack_bytes,
            "shared_bytes": each.shared_bytes,
        }
        for name, each in taken.items()
    }


def tune_device(case: Case, options: AnnotatedOptions, deadline: Deadline, share: Deadline) -> SizeResult:
    """Tune a case for a device until a share of the time is over; what it needs at least may take all of it."""
    if options.backend == "opencl":
        return _tune_opencl(case, options, deadline, share)
    return _tune_cuda(case, options, share)


def _spec(case: Case) -> TuningSpec:
    if case.site.spec is None:
        raise UsageError("there is no tuning specification")
    return case.site.spec


def _tune_opencl(case: Case, options: AnnotatedOptions, deadline: Deadline, share: Deadline) -> SizeResult:
    spec = _spec(case)
    space = space_of(spec, case.numbers)
    with only_oclgrind() if options.device else contextlib.nullcontext() as report, pool(1) as workers:
        meter = OpenCLMeter(
            case=case,
            pool=workers,
            repeats=repeats_of(spec, options),
            strict=options.strict,
            allowed=options.allowed,
            log=options.log,
            seed=options.seed,
            deadline=deadline,
        )
        meter.options, meter.report = options, report
        meter.start()
        budget = budget_of(case, options, share.left)
        choice = search_loops(space, search_name(spec, options, space), budget, meter, seed=options.seed)
        if choice.winner is None:
            raise nothing(choice)
        made = device_variant(case, [prepared(loop, case) for loop in case.site.loops], choice.winner.values, options)
    made = guarded(made, case, choice.winner.values, options)
    return SizeResult(
        numbers=dict(case.numbers),
        values=choice.winner.values,
        bodies=(),
        seconds=choice.winner.seconds,
        original=meter.baseline.median,
        original_command=shown_command(meter.original_command),
        ratios=tuple(each / choice.winner.seconds for each in meter.baseline.seconds),
        choice=choice,
        notes=(*made.notes, *([] if meter.wide else [NARROW])),
        command=("cc", "-lOpenCL"),
        finite=meter.finite,
        text=made.bodies,
        conditions=made.conditions,
        extra={"_prelude": "\n".join(made.preludes)},
    )


def _tune_cuda(case: Case, options: AnnotatedOptions, deadline: Deadline) -> SizeResult:
    spec = _spec(case)
    space = space_of(spec, case.numbers)
    first = {each.name: each.values[0] for each in spec.params}
    parsed = parse_build_command(command_of(spec, first), options.allowed)
    architecture, warning = current_architecture(parsed.architecture)
    if warning:
        warn_once(warning)
    meter = CudaMeter(case=case, options=options, architecture=architecture)
    meter.codes = [prepared(loop, case) for loop in case.site.loops]
    budget = budget_of(case, options, deadline.left)
    name = search_name(spec, options, space)
    choice: LoopChoice = search_loops(space, name, budget, meter, seed=options.seed)
    if choice.winner is None:
        raise nothing(choice)
    made = guarded(meter.variant(choice.winner.values), case, choice.winner.values, options)
    notes = [*made.notes, *([warning] if warning else []), "compiled and not run: times are expected ones"]
    return SizeResult(
        numbers=dict(case.numbers),
        values=choice.winner.values,
        bodies=(),
        seconds=math.nan,
        choice=choice,
        notes=tuple(notes),
        command=("nvcc", f"-arch={architecture}"),
        text=made.bodies,
        conditions=made.conditions,
        extra={
            "_prelude": "\n".join(made.preludes),
            "architecture": architecture,
            "expected_seconds": choice.winner.seconds,
            "resources": _plain(meter.resources.get(str(dict(choice.winner.values)), {})),
        },
    )
