"""Device programs on a card that is not there: compiled with NVRTC, priced by the model of kernels, never run."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.base.constants import WORD
from tilewright.base.errors import TilewrightError, UsageError
from tilewright.base.records import Measurement, Outcome, Resources
from tilewright.codegen.print.source import CUDA
from tilewright.machines.machine import Machine
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.toolchains.build_command import parse_build_command
from tilewright.runtime.warn import warn_once
from tilewright.workloads.annotated.costs import ElementAccess, LoopLaunch, launch_times, region_times
from tilewright.workloads.annotated.lower.device import DeviceProgram, LoopKernel
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.values import REAL_TYPES, bytes_of, evaluate, type_of
from tilewright.workloads.annotated.verbs.case import Case, command_of
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions

_REGISTERS = 32  # registers of a thread where no compiler says
_LOOP = 3.0  # instructions of a turn of a loop: its counter, the comparison and the branch
Known = Mapping[str, int | float]


@dataclass(slots=True, kw_only=True)
class CudaPrice:
    """Compiles variants with NVRTC and expects a time of them on a card; nothing is run."""

    case: Case  # the regions at one size of the input
    options: AnnotatedOptions
    machine: Machine  # the card
    architecture: str  # compute architecture that code is made for
    made: Callable[[Mapping[str, object]], Sequence[DeviceProgram]]  # a point's device programs
    resources: dict[str, Mapping[str, Resources]] = field(default_factory=dict)  # what the kernels of every point take
    _texts: dict[tuple[str, str], Mapping[str, Resources]] = field(default_factory=dict)

    def measure(self, points: Sequence[Mapping[str, object]]) -> list[Measurement]:
        """Compile some points; their samples are expected times."""
        return [self.again(values) for values in points]

    def again(self, point: Mapping[str, object]) -> Measurement:
        """Return the expectation of a point."""
        try:
            programs = self.made(point)
            fast = parse_build_command(command_of(self.case.site.spec, point), self.options.allow_compilers).fast_math
            resources: dict[str, Resources] = {}
            for program in programs:
                resources |= self._compiled(kernels_text(program, CUDA), ("--use_fast_math",) if fast else ())
        except TilewrightError as error:
            outcome = Outcome.ILLEGAL if isinstance(error, UsageError) else Outcome.COMPILE
            return Measurement(outcome=outcome, detail=error.message)
        self.resources[str(dict(point))] = resources
        seconds = expected_seconds(programs, resources, self.case, self.machine)
        if not math.isfinite(seconds):
            return Measurement(outcome=Outcome.LAUNCH, detail=f"a block needs more than {self.machine.name} has")
        return Measurement(seconds=(seconds,))

    def _compiled(self, text: str, flags: tuple[str, ...]) -> Mapping[str, Resources]:
        if not nvrtc.available():
            warn_once(f"there is no NVRTC, so the kernels are not compiled here (hint: {nvrtc.INSTALL})")
            return {}
        key = (text, " ".join(flags))
        if key not in self._texts:
            self._texts[key] = nvrtc.compile_kernels(text, self.architecture, flags)
        return self._texts[key]


def expected_seconds(
    programs: Sequence[DeviceProgram], resources: Mapping[str, Resources], case: Case, machine: Machine
) -> float:
    """Expect seconds of device programs, launches and copies of arrays; infinite where a block does not fit."""
    sizes = {each.name: float(each.nbytes) for each in case.inputs}
    total = 0.0
    for program in programs:
        streams = 1 if program.streams is None else program.kernels[0].launch.streams
        kernels = 0.0
        for kernel, count, values in _launches(program.host, case.known):
            launch = kernel_launch(kernel, program, case, values, resources.get(kernel.name))
            joined = 3 * machine.launch_seconds.value if kernel.reductions else 0.0
            kernels += count * (launch_times(launch, machine).seconds + joined)
        names = [] if program.launch.resident else list(program.arrays)
        back = [name for name in names if name in program.written]
        copied = (sum(sizes.get(name, 0.0) for name in names), sum(sizes.get(name, 0.0) for name in back))
        calls = len(names) + len(back) + (streams > 1)
        total += region_times(kernels, copied, calls, streams, machine).seconds
    return total


def kernel_launch(
    kernel: LoopKernel, program: DeviceProgram, case: Case, values: Known, need: Resources | None
) -> LoopLaunch:
    """Count what one launch of a kernel does, where names have ``values``."""
    iterations, middle = (1.0, None) if kernel.loop is None else _turns(kernel.loop, values)
    count = _Count(kernel=kernel, program=program, case=case)
    inside = dict(values)
    if kernel.loop is not None:
        inside.pop(kernel.loop.index, None)
        inside |= {} if middle is None else {kernel.loop.index: middle}
    count.statement(kernel.body, inside, 1.0)
    threads, launch = kernel.launch.threads, kernel.launch
    for array, low, high in kernel.cached:
        count.load(array, 1.0 + (high - low) / threads, 1)
        count.chip += (1.0 + (high - low) / threads) * bytes_of(case.types.get(array, "double")) / WORD
    own = sum((threads + high - low) * bytes_of(case.types.get(a, "double")) for a, low, high in kernel.cached)
    return LoopLaunch(
        threads=threads if kernel.loop is not None else 1,
        blocks=launch.blocks if kernel.loop is not None else 1,
        l1=launch.l1,
        registers=(need.registers if need else None) or _REGISTERS,
        spill_bytes=float((need.spill_bytes if need else None) or 0),
        shared_bytes=(need.shared_bytes if need else None) or own,
        iterations=iterations,
        floats=count.floats,
        doubles=count.doubles,
        integers=count.integers + _LOOP,
        specials=count.specials,
        accesses=tuple(count.accesses.values()),
        chip_words=count.chip,
        barriers=2 if kernel.cached else 0,
    )


def _launches(stmt: tree.Stmt, values: Known) -> Iterator[tuple[LoopKernel, float, Known]]:
    """Yield the kernels with how often they are launched, and what is known there: of a host's loop its middle."""
    if isinstance(stmt, LoopKernel):
        yield stmt, 1.0, values
        return
    count, middle = _turns(stmt, values) if isinstance(stmt, tree.Loop) else (1.0, None)
    inside = {**values, stmt.index: middle} if isinstance(stmt, tree.Loop) and middle is not None else values
    for part in tree.parts(stmt):
        for kernel, times, state in _launches(part, inside):
            yield kernel, count * times, state


def _turns(loop: tree.Loop, values: Known) -> tuple[float, int | None]:
    """Return the turns of a loop and the counter in the middle of them; 1 where its bounds are not known."""
    first, last = evaluate(loop.first, values), evaluate(loop.last, values)
    if first is None or last is None:
        return 1.0, None
    turns = max(0, int(last - first) // loop.step + 1)
    return float(turns), int(first) + turns // 2 * loop.step


@dataclass(slots=True, kw_only=True)
class _Count:
    """Operations and accesses of one iteration of a kernel."""

    kernel: LoopKernel
    program: DeviceProgram
    case: Case  # the regions
    floats: float = 0.0  # operations on float32
    doubles: float = 0.0  # operations on float64
    integers: float = 0.0  # operations on integers
    specials: float = 0.0  # divisions, roots and other functions
    chip: float = 0.0  # words between shared memory and registers
    # by array, and by the stride between neighbouring threads
    accesses: dict[tuple[str, int | None], ElementAccess] = field(default_factory=dict)
    # by how much scalars differ from one thread to the next; None if unknown
    slopes: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kernel.loop is not None:
            self.slopes[self.kernel.loop.index] = self.kernel.loop.step

    def statement(self, stmt: tree.Stmt, values: dict[str, int | float], times: float) -> None:
        if isinstance(stmt, tree.Loop):
            turns, middle = _turns(stmt, values)
            copies = next((int(each.split()[1]) for each in stmt.pragmas if each.startswith("unroll ")), 0)
            unrolled = min(turns, float(copies or self.kernel.launch.unroll or 1))
            self.integers += times * turns * _LOOP / max(1.0, unrolled)
            self.slopes[stmt.index] = self.slope(stmt.first, values)
            self.statement(stmt.body, {**values, stmt.index: middle} if middle is not None else values, times * turns)
            return
        if isinstance(stmt, tree.If):
            self.expression(stmt.test, values, times)
        elif isinstance(stmt, tree.Declare):
            for value in tree.expressions(stmt)[len(stmt.dims) :]:
                self.assigned(tree.Assign(tree.Name(stmt.name), "=", value), values, times)
        elif isinstance(stmt, tree.Assign):
            self.assigned(stmt, values, times)
        for each in tree.parts(stmt):
            self.statement(each, values, times)

    def assigned(self, stmt: tree.Assign, values: dict[str, int | float], times: float) -> None:
        """Count an assignment, and remember how a scalar differs from thread to thread."""
        self.expression(stmt.value, values, times)
        target = stmt.target
        if stmt.op != "=":
            self.operation(stmt.op[0], target, times)
            self.expression(target, values, times)
        if isinstance(target, tree.Item):
            self.expression(target, values, times)
        elif stmt.op == "=":
            self.slopes[target.name] = self.slope(stmt.value, values)
            value = evaluate(stmt.value, values)
            values.pop(target.name, None)
            values |= {} if value is None else {target.name: value}
        else:
            self.slopes[target.name] = None
            values.pop(target.name, None)

    def expression(self, expr: tree.Expr, values: Known, times: float) -> None:
        if isinstance(expr, tree.Item):
            self.access(expr.array, times, self.stride(expr, values))
            self.integers += times * (2.0 * len(expr.index) - 1.0)
            for each in expr.index:
                for part in tree.children(each):
                    self.expression(part, values, times)
            return
        if isinstance(expr, tree.Call):
            self.specials += times
        elif isinstance(expr, tree.Binary | tree.Choose) or (isinstance(expr, tree.Unary) and expr.op != "+"):
            self.operation(expr.op if isinstance(expr, tree.Binary) else "", expr, times)
        for part in tree.children(expr):
            self.expression(part, values, times)

    def operation(self, op: str, expr: tree.Expr, times: float) -> None:
        kind = type_of(expr, self.case.types)
        if op in {"/", "%"}:
            self.specials += times
        elif kind == "double":
            self.doubles += times
        elif kind in REAL_TYPES:
            self.floats += times
        else:
            self.integers += times

    def access(self, array: str, times: float, stride: int | None) -> None:
        """Count accesses to an array: to shared memory where its elements were brought there."""
        if any(array == name for name, _, _ in self.kernel.cached):
            self.chip += times * bytes_of(self.case.types.get(array, "double")) / WORD
        else:
            self.load(array, times, stride)

    def load(self, array: str, times: float, stride: int | None) -> None:
        size = bytes_of(self.case.types.get(array, "double"))
        nbytes = next((float(each.nbytes) for each in self.case.inputs if each.name == array), float(size))
        load = self.accesses.get((array, stride), ElementAccess(count=0.0, itemsize=size, stride=stride, nbytes=nbytes))
        self.accesses[array, stride] = replace(load, count=load.count + times)

    def stride(self, item: tree.Item, values: Known) -> int | None:
        """Return how many elements lie between those of neighbouring threads."""
        flat = item.index[0]
        for extent, index in zip(self.program.shapes.get(item.array, ())[1:], item.index[1:], strict=False):
            flat = flat * extent + index
        return self.slope(flat, values)

    def slope(self, expr: tree.Expr, values: Known) -> int | None:
        """Return by how much a whole number differs from one thread to the next; None where nothing tells it."""
        if isinstance(expr, tree.Name):
            return self.slopes.get(expr.name, 0)
        each = [self.slope(part, values) for part in tree.children(expr)]
        slopes = [value for value in each if value is not None]
        if not any(value != 0 for value in each):
            return 0
        if len(slopes) < len(each) or not isinstance(expr, tree.Unary | tree.Convert | tree.Binary):
            return None
        op = "+" if isinstance(expr, tree.Convert) else expr.op
        if op in {"+", "-"}:
            return sum(slopes[:-1]) + (slopes[-1] if op == "+" else -slopes[-1])
        if op != "*" or not isinstance(expr, tree.Binary) or 0 not in slopes:
            return None
        factor = evaluate(expr.left if slopes[0] == 0 else expr.right, values)
        return sum(slopes) * factor if isinstance(factor, int) else None
