"""Regions on a device: OpenCL is built, run and compared here; so is CUDA where there is a GPU, else it is priced."""

import contextlib
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import IllegalTransformError, ToolchainError, UsageError
from tilewright.base.records import Measurement, Outcome, Resources
from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.machines.device import gpu_machine
from tilewright.machines.files import of_architecture
from tilewright.machines.machine import Machine
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.devices.oclgrind import OclgrindReport, only_oclgrind
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.runtime.toolchains.build_command import current_architecture, parse_build_command
from tilewright.runtime.warn import warn_once
from tilewright.runtime.workers.pool import pool
from tilewright.workloads.annotated.lower.apply import DEVICE
from tilewright.workloads.annotated.lower.device import DeviceProgram
from tilewright.workloads.annotated.lower.extents import extents_of
from tilewright.workloads.annotated.lower.gpu import lower
from tilewright.workloads.annotated.lower.host import host_body, host_prelude
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.lower.lowering import text as expression_text
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import (
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
from tilewright.workloads.annotated.parse.c import parse_expression
from tilewright.workloads.annotated.parse.file import LoopRegion
from tilewright.workloads.annotated.parse.spec import TuningSpec
from tilewright.workloads.annotated.search.search import Deadline, LoopChoice, search_loops
from tilewright.workloads.annotated.verbs.case import Case, command_of, prepared, setting_of, transformed
from tilewright.workloads.annotated.verbs.guard import guard_of, sized_arrays
from tilewright.workloads.annotated.verbs.meter import NARROW, CpuMeter, LoopVariant, shown_command
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions, budget_of
from tilewright.workloads.annotated.verbs.priced import CudaPrice
from tilewright.workloads.annotated.verbs.result import (
    SiteResult,
    SizeResult,
    nothing,
    repeats_of,
    search_name,
    space_of,
)

if TYPE_CHECKING:
    from tilewright.runtime.devices.cuda import CudaDevice

NVCC = "nvcc"
COPIED = "timed with copies of its arrays to the device and back, which dataOnDevice leaves out"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceVariant:
    """One point of the space for a device."""

    programs: tuple[DeviceProgram, ...]  # the device program of every region
    preludes: tuple[str, ...]  # what the top of the file needs
    bodies: tuple[str, ...]  # what replaces every region
    notes: tuple[str, ...] = ()  # what was left out, and why
    conditions: tuple[tuple[str, ...], ...] = ()  # per region, in C, what has to hold for it


def device_variant(
    case: Case, codes: Sequence[Stmt], values: Mapping[str, object], options: AnnotatedOptions
) -> DeviceVariant:
    """Return a point as text for a device."""
    programs: list[DeviceProgram] = []
    notes: list[str] = []
    for loop, code in zip(case.site.loops, codes, strict=True):
        program, more = _program(loop, case, code, values, options, setting_of(case))
        programs.append(program)
        notes += [*more, *program.notes]
    dialect = CUDA if options.backend == "cuda" else OPENCL
    return DeviceVariant(
        programs=tuple(programs),
        preludes=tuple(host_prelude(each, dialect) for each in programs),
        bodies=tuple(host_body(each, dialect) for each in programs),
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


class CudaMeter(OpenCLMeter):
    """Builds variants with nvcc and runs them on this machine's GPU, in the worker that ran the original body.

    Arrays come from the host here, also those of a region that takes them to be on the device.
    """

    architecture: str  # the device's own, which code is made for

    def variant(self, values: Mapping[str, object]) -> LoopVariant:
        """Return a point as text."""
        made = device_variant(self.case, self._codes, values, self.options)
        away = [replace(each, launch=replace(each.launch, resident=False)) for each in made.programs]
        bodies = tuple(Verbatim(host_body(each, CUDA)) for each in away)
        unit = self.case.unit(bodies, "\n".join(dict.fromkeys(made.preludes)))
        fast = parse_build_command(command_of(self.case.site.spec, values), self.allowed).fast_math
        command = (NVCC, "-O3", f"-arch={self.architecture}", *(("--use_fast_math",) if fast else ()))
        return LoopVariant(bodies=bodies, unit=unit, command=command, notes=made.notes)


def plain_device(case: Case, options: AnnotatedOptions) -> SiteResult:
    """Generate device code of a region without a tuning specification; its arguments are literals."""
    codes = [prepared(loop, case) for loop in case.site.loops]
    made = guarded(device_variant(case, codes, {}, options), case, {}, options)
    extra: dict[str, Any] = {"_prelude": "\n".join(made.preludes)}
    if options.backend == "cuda" and nvrtc.available():
        taken: dict[str, Resources] = {}
        for program in made.programs:
            asked = "" if options.machine is None else options.machine.architecture
            taken |= nvrtc.compile_kernels(kernels_text(program, CUDA), current_architecture(asked)[0])
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
    """Tune a case for a device until a share of the time is over; what it needs at least may take all of it.

    Variants for OpenCL are run. Those for CUDA are run where there are a device and nvcc, unless a machine is named:
    else they are priced for the machine.
    """
    if options.backend == "opencl":
        return _measured(case, options, deadline, share)
    device = None if options.machine is not None else _device()
    if device is not None and shutil.which(NVCC) is not None:
        return _measured(case, options, deadline, share, device.architecture)
    if device is not None:
        warn_once(f"there is a CUDA device, but no {NVCC} that builds for it: variants are priced and not run")
    return _priced(case, options, share, None if device is None else gpu_machine(device.describe()))


def _device() -> "CudaDevice | None":
    """Return this machine's first CUDA device, or None."""
    from tilewright.runtime.devices import cuda

    try:
        return cuda.select()
    except ToolchainError:
        return None


def _spec(case: Case) -> TuningSpec:
    if case.site.spec is None:
        raise UsageError("there is no tuning specification")
    return case.site.spec


def _measured(
    case: Case, options: AnnotatedOptions, deadline: Deadline, share: Deadline, architecture: str = ""
) -> SizeResult:
    """Run variants on a device: for OpenCL, or for the architecture of a CUDA device."""
    spec = _spec(case)
    space = space_of(spec, case.numbers)
    guard = only_oclgrind() if options.device else contextlib.nullcontext()
    with guard as report, pool(1) as workers:
        meter = (CudaMeter if architecture else OpenCLMeter)(
            case=case,
            pool=workers,
            repeats=repeats_of(spec, options),
            strict=options.strict,
            allowed=options.allow_compilers,
            log=options.log,
            seed=options.seed,
            deadline=deadline,
        )
        meter.options, meter.report = options, report
        if isinstance(meter, CudaMeter):
            meter.architecture = architecture
        meter.start()
        budget = budget_of(case, options, share.left)
        choice = search_loops(space, search_name(spec, options, space), budget, meter, seed=options.seed)
        if choice.winner is None:
            raise nothing(choice)
        made = device_variant(case, [prepared(loop, case) for loop in case.site.loops], choice.winner.values, options)
    made = guarded(made, case, choice.winner.values, options)
    copied = architecture and any(each.launch.resident for each in made.programs)
    return SizeResult(
        numbers=dict(case.numbers),
        values=choice.winner.values,
        bodies=(),
        seconds=choice.winner.seconds,
        original=meter.baseline.median,
        original_command=shown_command(meter.original_command),
        ratios=tuple(each / choice.winner.seconds for each in meter.baseline.seconds),
        choice=choice,
        notes=(*made.notes, *([COPIED] if copied else []), *([] if meter.wide else [NARROW])),
        command=(NVCC, f"-arch={architecture}") if architecture else ("cc", "-lOpenCL"),
        finite=meter.finite,
        text=made.bodies,
        conditions=made.conditions,
        extra={"_prelude": "\n".join(made.preludes)},
    )


def _priced(case: Case, options: AnnotatedOptions, deadline: Deadline, here: Machine | None) -> SizeResult:
    """Price variants for a card: that which is named, that of this machine, or that of the build command."""
    spec = _spec(case)
    space = space_of(spec, case.numbers)
    first = {each.name: each.values[0] for each in spec.params}
    parsed = parse_build_command(command_of(spec, first), options.allow_compilers)
    machine = options.machine or here or of_architecture(parsed.architecture)
    if machine is None:
        raise UsageError(
            "there is no CUDA device here, so variants are priced for a GPU, and nothing says for which one",
            "name one: --machine c2070; `tilewright machines` lists them",
        )
    architecture, warning = current_architecture(machine.architecture or parsed.architecture)
    if warning:
        warn_once(warning)
    codes = [prepared(loop, case) for loop in case.site.loops]
    price = CudaPrice(
        case=case,
        options=options,
        machine=machine,
        architecture=architecture,
        made=lambda values: device_variant(case, codes, values, options).programs,
    )
    budget = budget_of(case, options, deadline.left)
    choice: LoopChoice = search_loops(space, search_name(spec, options, space), budget, price, seed=options.seed)
    if choice.winner is None:
        raise nothing(choice)
    made = guarded(device_variant(case, codes, choice.winner.values, options), case, choice.winner.values, options)
    return SizeResult(
        numbers=dict(case.numbers),
        values=choice.winner.values,
        bodies=(),
        seconds=math.nan,
        priced=machine.name,
        choice=choice,
        notes=(*made.notes, *([warning] if warning else [])),
        command=(NVCC, f"-arch={architecture}"),
        text=made.bodies,
        conditions=made.conditions,
        extra={
            "_prelude": "\n".join(made.preludes),
            "architecture": architecture,
            "expected_seconds": choice.winner.seconds,
            "resources": _plain(price.resources.get(str(dict(choice.winner.values)), {})),
        },
    )
