"""Regions on a device: OpenCL is built, run and compared here; so is CUDA where there is a GPU, else it is priced."""

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import IllegalTransformError, ToolchainError, UsageError
from tilewright.base.records import Measurement, Outcome, Resources
from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.machines.defaults import gpu_machine
from tilewright.machines.files import of_architecture
from tilewright.machines.machine import Machine
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.devices.opencl import OclgrindReport, only_oclgrind
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.runtime.toolchains.build_command import current_architecture, parse_build_command
from tilewright.runtime.warn import warn_once
from tilewright.runtime.workers.pool import pool
from tilewright.workloads.annotated.lower.apply import DEVICE
from tilewright.workloads.annotated.lower.device import DeviceProgram, lower
from tilewright.workloads.annotated.lower.extents import extents_of
from tilewright.workloads.annotated.lower.host import host_body, host_prelude
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.lower.lowering import text as expression_text
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.parse.c import parse_expression
from tilewright.workloads.annotated.parse.file import LoopRegion
from tilewright.workloads.annotated.search import Deadline
from tilewright.workloads.annotated.verbs.case import Case, command_of
from tilewright.workloads.annotated.verbs.guard import RegionGuard, guard_of, names_of_sum, sized_arrays
from tilewright.workloads.annotated.verbs.meter import NARROW, CpuMeter, LoopVariant, shown_command
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions, searched, space_of
from tilewright.workloads.annotated.verbs.priced import CudaPrice
from tilewright.workloads.annotated.verbs.result import SiteResult, SizeResult

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


def device_variant(case: Case, values: Mapping[str, object], options: AnnotatedOptions) -> DeviceVariant:
    """Return a point as text for a device."""
    pairs = [_program(loop, case, case.code(loop), values, options, case.setting) for loop in case.site.loops]
    dialect = CUDA if options.backend == "cuda" else OPENCL
    notes = [note for program, more in pairs for note in (*more, *program.notes)]
    return DeviceVariant(
        programs=tuple(program for program, _ in pairs),
        preludes=tuple(host_prelude(program, dialect) for program, _ in pairs),
        bodies=tuple(host_body(program, dialect) for program, _ in pairs),
        notes=tuple(dict.fromkeys(notes)),
    )


def _program(
    loop: LoopRegion,
    case: Case,
    code: tree.Stmt,
    values: Mapping[str, object],
    options: AnnotatedOptions,
    setting: NestContext,
) -> tuple[DeviceProgram, list[str]]:
    """Return a region's program for a device, and notes about its transforms.

    What is made for a CPU, such as elements kept in scalars, may leave a device nothing that runs in parallel: then
    only what is asked of the device is done.
    """

    def lowering(stmt: tree.Stmt) -> tuple[DeviceProgram, list[str]]:
        applied = case.transformed(loop, stmt, values, setting, strict=options.strict, openmp=False)
        args = applied.device or {"kind": "CUDA" if options.backend == "cuda" else "OpenCL"}
        where = f"tw_line{loop.region.line}"
        return lower(applied.stmt, args, setting, _shapes(case, code), where), applied.notes

    try:
        return lowering(code)
    except IllegalTransformError as error:
        plain = tree.map_statements(code, _for_device)
        if options.strict or plain == code:
            raise
        program, notes = lowering(plain)
        return program, [f"only what is asked of the device is done: {error.message}", *notes]


def _for_device(stmt: tree.Stmt) -> tree.Stmt:
    """Return what a transform asks of a device, or what stands behind it."""
    if not isinstance(stmt, tree.Transform) or stmt.name in DEVICE:
        return stmt
    arguments = tuple((name, text) for name, text in stmt.arguments if name == "cuda" and stmt.name == "Composite")
    return tree.Transform(stmt.name, arguments, stmt.body) if arguments else stmt.body


def guarded(point: DeviceVariant, case: Case, values: Mapping[str, object], options: AnnotatedOptions) -> DeviceVariant:
    """Return a point with what has to hold where it is called.

    Sizes are those that its extents and its legality were told by; a device's copies of arrays that overlap are not
    one array, and an array without an element has no copy.
    """

    def of(loop: LoopRegion, program: DeviceProgram) -> RegionGuard:
        def build(code: tree.Stmt, setting: NestContext) -> object:
            result = _program(loop, case, code, values, options, setting)[0]
            return result.host, result.streams

        away = not program.launch.resident
        fixed = sized_arrays(case, program.extents) if away else {}
        guard = guard_of(loop, case, build, fixed=fixed, apart=away)
        free = [extent for extent in program.extents.values() if away and tree.names(extent)]
        filled = [expression_text(extent > 0) for extent in free]
        return replace(guard, conditions=tuple(dict.fromkeys([*guard.conditions, *filled])))

    guards = [of(*each) for each in zip(case.site.loops, point.programs, strict=True)]
    notes = dict.fromkeys(note for guard in guards for note in guard.notes)
    return replace(point, conditions=tuple(guard.conditions for guard in guards), notes=(*point.notes, *notes))


def _shapes(case: Case, stmt: tree.Stmt) -> dict[str, tuple[tree.Expr, ...]]:
    """Return the extents of arrays: the specification's own words for arrays of one dimension."""
    shapes: dict[str, tuple[tree.Expr, ...]] = {
        name: tuple(tree.integer(each) for each in extents) for name, extents in case.shapes.items()
    }
    spec = case.site.spec
    for each in spec.variables if spec is not None else ():
        words = names_of_sum(each.dims[0]) if len(each.dims) == 1 else None
        if words is not None and words <= case.numbers.keys():  # a let is no variable of C
            shapes[each.name] = (parse_expression(each.dims[0].text, f"the extent of {each.name}"),)
    if spec is None:
        for name, extent in extents_of(stmt).items():
            shapes[name] = (extent.count,)
        for name, declared in case.site.parameters.items():
            shapes |= _declared_extents(name, declared, stmt, shapes.pop(name, None))
    return shapes


def _declared_extents(
    name: str, declared: tree.Declare, stmt: tree.Stmt, head: tuple[tree.Expr, ...] | None
) -> dict[str, tuple[tree.Expr, ...]]:
    """Return an array's extents: the first as its subscripts tell, the others, and what they do not, as declared."""
    inside = tree.written(stmt) | tree.counters(stmt)
    dims = (*(head or declared.dims[:1]), *declared.dims[1:])
    is_constant = all(each != tree.integer(0) and not tree.names(each) & inside for each in dims[len(head or ()) :])
    return {name: dims} if is_constant and declared.dims and not declared.heap else {}


class OpenCLMeter(CpuMeter):
    """Builds and runs variants through OpenCL's own library, in the worker that ran the original body."""

    report: OclgrindReport | None = None

    def _timed(self, built: Artifact[None] | Measurement) -> Measurement:
        """Run a variant; what Oclgrind finds in it is a failure."""
        measured = super()._timed(built)
        news = self.report.news() if self.report is not None else ""
        return Measurement(outcome=Outcome.WRONG, detail=f"Oclgrind: {news[:200]}") if news else measured

    def variant(self, values: Mapping[str, object]) -> LoopVariant:
        """Return a point as text."""
        variant = device_variant(self.case, values, self.options)
        bodies = tuple(tree.Verbatim(text) for text in variant.bodies)
        prelude = "\n".join(dict.fromkeys(variant.preludes))
        command = (*self.program("cc"), "-O2", "-lOpenCL")
        return LoopVariant(bodies=bodies, unit=self.case.unit(bodies, prelude), command=command, notes=variant.notes)


class CudaMeter(OpenCLMeter):
    """Builds variants with nvcc and runs them on this machine's GPU, in the worker that ran the original body.

    Arrays come from the host here, also those of a region that takes them to be on the device.
    """

    architecture: str  # the device's own, which code is made for

    def variant(self, values: Mapping[str, object]) -> LoopVariant:
        """Return a point as text."""
        variant = device_variant(self.case, values, self.options)
        away = [replace(each, launch=replace(each.launch, resident=False)) for each in variant.programs]
        bodies = tuple(tree.Verbatim(host_body(each, CUDA)) for each in away)
        unit = self.case.unit(bodies, "\n".join(dict.fromkeys(variant.preludes)))
        fast = parse_build_command(command_of(self.case.site.spec, values), self.options.allow_compilers).fast_math
        command = (NVCC, "-O3", f"-arch={self.architecture}", *(("--use_fast_math",) if fast else ()))
        return LoopVariant(bodies=bodies, unit=unit, command=command, notes=variant.notes)


def plain_device(case: Case, options: AnnotatedOptions) -> SiteResult:
    """Generate device code of a region without a tuning specification; its arguments are literals."""
    variant = guarded(device_variant(case, {}, options), case, {}, options)
    extra: dict[str, Any] = {}
    if options.backend == "cuda" and nvrtc.available():
        resources: dict[str, Resources] = {}
        for program in variant.programs:
            architecture = "" if options.machine is None else options.machine.architecture
            resources |= nvrtc.compile_kernels(kernels_text(program, CUDA), current_architecture(architecture)[0])
        extra["resources"] = _plain(resources)
    return SiteResult(line=case.site.region.line, sizes=(_result(case, variant, extra=extra),), tuned=False)


def _plain(resources: Mapping[str, Resources]) -> dict[str, Any]:
    return {name: asdict(each) for name, each in resources.items()}


def _result(
    case: Case,
    variant: DeviceVariant,
    notes: Sequence[str] = (),
    extra: Mapping[str, Any] = MappingProxyType({}),
    **more: Any,  # noqa: ANN401
) -> SizeResult:
    return SizeResult(
        numbers=dict(case.numbers),
        notes=(*variant.notes, *notes),
        text=variant.bodies,
        conditions=variant.conditions,
        extra={"_prelude": "\n".join(variant.preludes), **extra},
        **more,
    )


def tune_device(case: Case, options: AnnotatedOptions, deadline: Deadline, share: Deadline) -> SizeResult:
    """Tune a case for a device until a share of the time is over; what it needs at least may take all of it.

    Variants for OpenCL are run. Those for CUDA are run where there are a device and nvcc, unless a machine is named:
    else they are priced for the machine.
    """
    if options.backend == "opencl":
        return _measured_result(case, options, deadline, share)
    device = None if options.machine is not None else _device()
    if device is not None and shutil.which(NVCC) is not None:
        return _measured_result(case, options, deadline, share, device.architecture)
    if device is not None:
        warn_once(f"there is a CUDA device, but no {NVCC} that builds for it: variants are priced and not run")
    return _priced_result(case, options, share, None if device is None else gpu_machine(device.describe()))


def _device() -> "CudaDevice | None":
    """Return this machine's first CUDA device, or None."""
    from tilewright.runtime.devices import cuda

    try:
        return cuda.select()
    except ToolchainError:
        return None


def _measured_result(
    case: Case, options: AnnotatedOptions, deadline: Deadline, share: Deadline, architecture: str = ""
) -> SizeResult:
    """Run variants on a device: for OpenCL, or for the architecture of a CUDA device."""
    guard = only_oclgrind() if options.device else contextlib.nullcontext()
    with guard as report, pool(1) as workers:
        meter = (CudaMeter if architecture else OpenCLMeter)(
            case=case, pool=workers, options=options, deadline=deadline
        )
        meter.report = report
        if isinstance(meter, CudaMeter):
            meter.architecture = architecture
        meter.start()
        choice, winner = searched(case, options, meter, share, space_of(case))
        variant = device_variant(case, winner.values, options)
    copied = architecture and any(each.launch.resident for each in variant.programs)
    return _result(
        case,
        guarded(variant, case, winner.values, options),
        notes=(*([COPIED] if copied else []), *([] if meter.wide else [NARROW])),
        values=winner.values,
        seconds=winner.seconds,
        original=meter.baseline.median,
        original_command=shown_command(meter.original_command),
        ratios=tuple(each / winner.seconds for each in meter.baseline.seconds),
        choice=choice,
        command=(NVCC, f"-arch={architecture}") if architecture else ("cc", "-lOpenCL"),
        finite=meter.finite,
    )


def _priced_result(case: Case, options: AnnotatedOptions, deadline: Deadline, here: Machine | None) -> SizeResult:
    """Price variants for a card: that which is named, that of this machine, or that of the build command."""
    parsed = parse_build_command(command_of(case.spec), options.allow_compilers)
    machine = options.machine or here or of_architecture(parsed.architecture)
    if machine is None:
        raise UsageError(
            "there is no CUDA device here, so variants are priced for a GPU, and nothing says for which one",
            "name one: --machine c2070; `tilewright machines` lists them",
        )
    architecture, warning = current_architecture(machine.architecture or parsed.architecture)
    if warning:
        warn_once(warning)
    price = CudaPrice(
        case=case,
        options=options,
        machine=machine,
        architecture=architecture,
        made=lambda values: device_variant(case, values, options).programs,
    )
    choice, winner = searched(case, options, price, deadline, space_of(case))
    return _result(
        case,
        guarded(device_variant(case, winner.values, options), case, winner.values, options),
        notes=[warning] if warning else [],
        extra={
            "architecture": architecture,
            "expected_seconds": winner.seconds,
            "resources": _plain(price.resources.get(str(dict(winner.values)), {})),
        },
        values=winner.values,
        priced=machine.name,
        choice=choice,
        command=(NVCC, f"-arch={architecture}"),
    )
