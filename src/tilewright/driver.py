"""The one way from a problem to its results; every run, tuning and worker goes through these arrows.

plans(problem, target)         -> Plan          every decision, as plain values             (planner)
emit(plan)                     -> KernelSource  text, entry points, how they are called     (codegen; sees no machine)
compile_source(plan, source)   -> Artifact      code, made or found in the cache            (runtime, from here on)
load(plan, artifact)           -> Kernel        callable, on a processor or a GPU
kernel.start(problem, …)       -> State         a run in memory: advance, look, results

Tables, alignments, pipelines, chains and matrices have plans of their own, and one session per call; their sources are
compiled and loaded by the same two arrows, ``call.compile_source`` and ``call.load``.
"""

import functools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import TilewrightError
from tilewright.codegen import emit as c
from tilewright.codegen.source import KernelSource
from tilewright.plan import Plan, Target
from tilewright.planner import plans
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime import call, cpu
from tilewright.runtime.kernels import CpuKernel, GpuKernel, Kernel, NumpyKernel
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.schedules.code import CpuSchedule, GpuSchedule
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule

if TYPE_CHECKING:  # what GPUs alone need is loaded when one is asked for: a process that has none starts faster
    from tilewright.codegen.gpu.site import DeviceLayout

Source = KernelSource[Any] | None


def prepare(
    problem: Problem,
    target: Target,
    tiling: Tiling | str | None = None,
    *,
    strict: bool = False,
    copies: bool = True,  # whether a run copies its arrays in and out each time
    storage: Storage = PLAIN,  # where the fields' versions and cells lie; NumPy and GPUs have them all
) -> Kernel:
    """Make a problem ready to run: the first plan's kernel that spills no registers, else the last one's.

    Raises:
        WrongResultError: If the compiler of an OpenCL device makes code of it that computes something else.
    """
    kernel = _first_fitting(plans(problem, target, tiling, strict=strict, copies=copies, storage=storage))
    if isinstance(kernel, GpuKernel) and kernel.program.device.doubtful:
        from tilewright.runtime import checks

        checks.trust(kernel)
    return kernel


def _first_fitting(choices: Sequence[Plan]) -> Kernel:
    *candidates, last = choices
    for plan in candidates:
        with suppress(TilewrightError):
            kernel = make(plan)
            if kernel.fits:
                return kernel
    outcome = call.or_by_numpy(functools.partial(make, last), fallback=last.target.fallback)
    if outcome is None:
        return load(replace(last, target=replace(last.target, backend="numpy"), schedule=None, block=None), None)
    return outcome


def make(plan: Plan) -> Kernel:
    """Take a plan to a kernel: emit, compile, load; raise what these raise."""
    return load(plan, compile_source(plan, emit(plan)))


def emit(plan: Plan) -> Source:
    """Write the text of a plan's kernels; None for NumPy, which needs none."""
    if isinstance(plan.schedule, GpuSchedule):
        # The text depends on neither shape nor steps, so that problems that differ in nothing else share a program.
        like = replace(plan.computed, shape=(64,) * plan.problem.program.rank, steps=2)
        return _device_source(like, plan.schedule, plan.target.backend, plan.strict, plan.block is not None)
    if isinstance(plan.schedule, CpuSchedule):
        return c.emit(plan.computed, plan.schedule, strict=plan.strict)
    return None


@functools.lru_cache(maxsize=64)
def _device_source(
    problem: Problem, schedule: GpuSchedule, dialect: str, strict: bool, periodic: bool
) -> "KernelSource[DeviceLayout]":
    from tilewright.codegen.gpu.emit import emit_device

    return emit_device(problem, schedule, dialect, strict=strict, periodic=periodic)


def emit_tiling(problem: Problem, tiling: Tiling, *, strict: bool = False) -> c.StencilSource:
    """Write a tiling's kernel for this processor, of the code that ``cpu_schedule`` chooses."""
    return emit_tilings([(problem, tiling)], strict=strict)


def emit_tilings(pairs: Sequence[tuple[Problem, Tiling]], *, strict: bool = False) -> c.StencilSource:
    """Write the kernels of several tilings into one translation unit; see :func:`emit_tiling`."""
    units = [(problem, cpu_schedule(problem, tiling, strict=strict)) for problem, tiling in pairs]
    return c.emit_all(units, strict=strict)


def compile_source(plan: Plan, source: Source) -> Artifact[Any] | None:
    """Compile a plan's text, or find what an earlier run made of it; None for NumPy."""
    if source is None:
        return None
    if isinstance(plan.schedule, GpuSchedule):
        from tilewright.runtime.devices import drivers, gpu

        return gpu.compile_source(drivers.open_device(plan.target), source, plan.schedule)
    return call.compile_source(source)


def load(plan: Plan, artifact: Artifact[Any] | None) -> Kernel:
    """Make a plan's code callable."""
    if artifact is None:
        return NumpyKernel(plan=plan)
    if isinstance(plan.schedule, GpuSchedule):
        from tilewright.runtime.devices import drivers, gpu

        return GpuKernel(plan=plan, program=gpu.load(drivers.open_device(plan.target), artifact, plan.schedule))
    (compiled,) = cpu.load_stencils(artifact)
    return CpuKernel(plan=plan, compiled=replace(compiled, storage=plan.storage))
