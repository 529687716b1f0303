"""The kernel that fills the periodic copies around a grid that lies inside a larger one."""

import math

from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_shape
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite, Kernel, Launch, global_index, unpack
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.problem import Problem

_MOST_CELLS = 2**31
"""Cells that the kernel numbers, in indices of 32 bits."""
_VERSION = ir.Var("t")


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
