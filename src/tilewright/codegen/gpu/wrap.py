"""The kernel that fills the periodic copies around a grid that lies inside a larger one."""

import math

from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_shape
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite, Launch, global_index, unpacked
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.problem import Problem

_MOST_CELLS = 2**31
"""Cells that the kernel numbers, in indices of 32 bits."""


def wrap_function(site: GpuSite, threads: int) -> tuple[ir.Function, EntryPoint]:
    """Make the kernel: every cell outside the grid proper takes the value of the cell that it is a copy of.

    Its numbers are the version, and per axis the cells before the grid proper and its extent.
    """
    rank, program = site.rank, site.problem.program
    here = tuple(ir.Var(f"x{axis}") for axis in range(rank))
    home = tuple(ir.Var(f"h{axis}") for axis in range(rank))
    numbers = ("t", *(f"{name}{axis}" for axis in range(rank) for name in ("low", "proper")))
    cells = tuple(extent(axis) for axis in range(rank))
    lets: list[ir.Stmt] = [
        ir.Let(ir.Var("cell"), ir.GROUP * threads + ir.THREAD),
        *unpacked(ir.Var("cell"), here, cells),
    ]
    moved: ir.Expr = ir.Int(0)
    for axis in range(rank):
        low, proper = ir.Var(f"low{axis}"), ir.Var(f"proper{axis}")
        inside = low + ir.floormod(here[axis] - low, proper)
        lets.append(ir.Let(home[axis], inside))
        moved = moved + ir.select(home[axis].equals(here[axis]), ir.Int(0), ir.Int(1))
    stores: list[ir.Stmt] = []
    for field in program.fields:
        for age in range(program.history(field)):
            copies = site.copies(field)
            base = site.version(field, ir.floormod(ir.Var("t") - age, copies))
            value = ir.Load(base, global_index(home), site.dtype)
            if field in program.updated:
                stores.append(ir.Store(base, global_index(here), value, site.dtype))
    body = (*lets, ir.If((here[0] < extent(0)) & (moved > 0), tuple(stores)))
    kernel = EntryPoint(entry=f"{site.prefix}_wrap", threads=threads, numbers=numbers)
    return (
        ir.Function(name=kernel.entry, params=site.params(numbers), body=body, kind="kernel", threads=threads),
        kernel,
    )


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
