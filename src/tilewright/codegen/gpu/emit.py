"""``emit_device(problem, tiling, dialect)``: from a tiling to the text of a GPU's kernels, and their launches."""

import math
from collections.abc import Iterator
from dataclasses import replace

from tilewright.base.errors import IllegalTilingError, UsageError, one_of
from tilewright.base.fingerprint import fingerprint
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_shape
from tilewright.codegen import ir
from tilewright.codegen.gpu import sweep, tiles
from tilewright.codegen.gpu.hybrid import HybridKernel
from tilewright.codegen.gpu.site import DeviceLayout, GpuSite, Kernel, Launch, global_index, point_functions, unpack
from tilewright.codegen.gpu.streaming import kernels as streaming
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.sites import extent
from tilewright.codegen.source import KernelSource, unit_prefix
from tilewright.programs.stencil.problem import GPU_COMPILED, Problem
from tilewright.schedules import catalogue
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.family import Family
from tilewright.schedules.streaming.block import block_growth, lengths

_TEXTS = 7  # raised when texts change for the same tiling
_MOST_CELLS = 2**31  # cells that the kernel of periodic copies numbers, in indices of 32 bits
_VERSION = ir.Var("t")


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
    family = _family(schedule)
    about = (problem.fingerprint, *([problem.varying] if problem.varying else []))
    points = (problem.points.sources, problem.points.receivers) if problem.points else ()
    decisive = replace(schedule, tiling=replace(schedule.tiling, k=None))  # texts do not depend on k
    key = fingerprint(_TEXTS, (*about, *points), decisive, dialect, strict, periodic)
    kept = streaming.kept(problem) if family.streams else problem.program.analysis.copies
    site = GpuSite(problem=problem, prefix=unit_prefix(problem.program.name, key), strict=strict, kept=kept)
    parts = _kernels(site, schedule)
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


def launches(problem: Problem, schedule: GpuSchedule, steps: int, slot: int = 0) -> Iterator[Launch]:
    """Yield the launches that advance a problem by some steps, in order, from the version in a slot.

    Only streaming tiles start from any; others start from slot 0, and end ``steps`` slots further (:func:`newest`).
    """
    family = _family(schedule)
    if family.untiled:
        return sweep.sweep_launches(problem, schedule, steps)
    if family.streams:
        return streaming.stream_launches(problem, schedule, steps, slot)
    return tiles.tile_launches(problem, schedule, steps)


def newest(problem: Problem, schedule: GpuSchedule, steps: int, slot: int = 0) -> int:
    """Return the slot of the version that launches end with, modulo the versions kept of a field; see above."""
    if not schedule.tiling.family.streams:
        return slot + steps
    versions = block_growth(problem).most_versions
    return slot + sum(count * min(each, versions) for each, count in lengths(steps, schedule.tiling.time))


def _kernels(site: GpuSite, schedule: GpuSchedule) -> tuple[Kernel, ...]:
    family = schedule.tiling.family
    if family.untiled:
        return sweep.sweep_kernels(site, schedule)
    if family.streams:
        return streaming.stream_kernels(site, schedule)
    return ((HybridKernel if family.prisms else tiles.TileKernel)(site, schedule).kernel(),)


def _family(schedule: GpuSchedule) -> Family:
    family = schedule.tiling.family
    if not family.gpu:
        names = ", ".join(each for each in catalogue.families() if each.gpu)
        raise IllegalTilingError(f"no GPU code is made for the tiling family {str(family)!r}", f"use {names}")
    return family


def wrap_kernel(site: GpuSite, threads: int) -> Kernel:
    """Make the kernel: every cell outside the grid proper takes the value of the cell that it is a copy of.

    Its numbers are the version, and per axis the cells before the grid proper and its extent.
    """
    program, here, axes = site.problem.program, site.places, range(site.rank)
    numbers = (_VERSION.name, *(f"{name}{axis}" for axis in axes for name in ("low", "proper")))
    b, entry = site.begin("wrap", threads, numbers)
    cell = b.let("cell", ir.GROUP * threads + ir.THREAD)
    unpack(b, cell, site.axes("x"), [extent(axis) for axis in axes])
    home, moved = [], []
    for axis, x in enumerate(here):
        low, proper = ir.Var(f"low{axis}"), ir.Var(f"proper{axis}")
        home.append(b.let(f"h{axis}", low + ir.floormod(x - low, proper)))
        moved.append(ir.select(home[axis].equals(x), ir.Int(0), ir.Int(1)))
    with b.when((here[0] < extent(0)) & (ir.total(moved) > 0)):
        for field in program.updated:
            layout = site.layout(field)
            for age in range(program.history(field)):
                number = ir.floormod(_VERSION - age, layout.copies) if layout.copies > 1 else ir.Int(0)
                base = layout.at(number)
                b.set(base[global_index(here)], base[global_index(tuple(home))])
    return b.function(), entry


def wrap_launch(kernel: int, threads: int, problem: Problem, around: tuple[tuple[int, int], ...], step: int) -> Launch:
    """Return the launch that refreshes the copies of a version and of the earlier ones that the next step reads."""
    groups = ceil_div(math.prod(problem.shape), threads)
    if groups * threads > _MOST_CELLS:
        raise UsageError(
            f"a periodic grid on a GPU has with its copies at most 2^31 cells, got {format_shape(problem.shape)}",
            "use tiling='none' or backend='c'",
        )
    numbers: list[int] = [step]
    for (low, high), extent_ in zip(around, problem.shape, strict=True):
        numbers += [low, extent_ - low - high]
    return Launch(kernel, groups, tuple(numbers))
