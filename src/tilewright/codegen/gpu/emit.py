"""``emit_device(problem, tiling, dialect)``: from a tiling to the text of a GPU's kernels, and their launches."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tilewright.base.errors import IllegalTilingError, UsageError, one_of
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.gpu import hybrid, sweep, tiles
from tilewright.codegen.gpu.points import point_functions
from tilewright.codegen.gpu.site import DeviceLayout, GpuSite, Kernel, Launch
from tilewright.codegen.gpu.streaming import kernels as streaming
from tilewright.codegen.gpu.wrap import wrap_kernel
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import KernelSource
from tilewright.programs.stencil.problem import GPU_COMPILED, Problem
from tilewright.schedules import catalogue
from tilewright.schedules.code import GpuSchedule

Make = Callable[[GpuSite, GpuSchedule], tuple[Kernel, ...]]
Start = Callable[[Problem, GpuSchedule, int], Iterator[Launch]]
_VERSION = 7
"""Raised when texts change for the same tiling."""


def emit_device(
    problem: Problem, schedule: GpuSchedule, dialect: str, *, strict: bool = False, periodic: bool = False
) -> KernelSource[DeviceLayout]:
    """Write the kernels of a problem under a tiling for GPUs; if ``periodic``, the last refreshes the grid's copies."""
    source, functions = made(problem, schedule, dialect, strict=strict, periodic=periodic)
    return replace(source, text=print_gpu(functions, dialect, strict=strict))


def made(
    problem: Problem, schedule: GpuSchedule, dialect: str, *, strict: bool = False, periodic: bool = False
) -> tuple[KernelSource[DeviceLayout], tuple[ir.Function, ...]]:
    """Make the functions of a source, see :func:`emit_device`; its text is empty."""
    one_of("the dialect of a GPU", dialect, DIALECTS)
    if problem.dtype not in GPU_COMPILED:
        raise UsageError(f"GPU code computes in {', '.join(GPU_COMPILED)}, got {problem.dtype}", "use backend='c'")
    make = _maker(schedule)[0]
    about = (problem.fingerprint, *([problem.varying] if problem.varying else []))
    points = (problem.points.sources, problem.points.receivers) if problem.points else ()
    key = fingerprint(_VERSION, (*about, *points), _decisive(schedule), dialect, strict, periodic)
    name = re.sub(r"[^a-z0-9]+", "_", problem.program.name.lower())[:40].strip("_")
    kept = streaming.kept(problem) if schedule.tiling.family.streams else problem.program.analysis.copies
    site = GpuSite(problem=problem, prefix=f"tw_{name}_{key[:12]}", strict=strict, kept=kept)
    parts = make(site, schedule)
    if periodic:
        parts = (*parts, wrap_kernel(site, schedule.copy_threads))
    source = KernelSource(
        text="",
        dialect=dialect,
        kernels=tuple(kernel for _, kernel in parts),
        layout=DeviceLayout(copies=kept),
        strict=strict,
        double=problem.dtype == "float64",
    )
    return source, (*point_functions(site), *(function for function, _ in parts))


def launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield the launches that advance a problem by some steps from version 0, in order."""
    return _maker(schedule)[1](problem, schedule, steps)


def _maker(schedule: GpuSchedule) -> tuple[Make, Start]:
    """What makes the kernels of a tiling, and what yields their launches; by default both follow its tree."""
    family = schedule.tiling.family
    if not family.gpu:
        known = ", ".join(each for each in catalogue.families() if each.gpu)
        raise IllegalTilingError(f"no GPU code is made for the tiling family {str(family)!r}", f"use {known}")
    if family.untiled:
        return sweep.sweep_kernels, sweep.sweep_launches
    if family.streams:
        return streaming.stream_kernels, streaming.stream_launches
    if family.prisms:
        return hybrid.hybrid_kernels, hybrid.hybrid_launches
    return tiles.tile_kernels, tiles.tile_launches


def _decisive(schedule: GpuSchedule) -> GpuSchedule:
    """The schedule without what its text does not depend on."""
    return replace(schedule, tiling=replace(schedule.tiling, k=None))
