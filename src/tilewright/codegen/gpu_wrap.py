"""The kernel that fills the periodic copies around a grid that lies inside a larger one."""

import math

from tilewright.base.intmath import ceil_div
from tilewright.codegen.gpu_site import GpuSite, Launch, global_index, unpacked
from tilewright.codegen.ir import Expr, Function, If, Int, Let, Load, Op, Stmt, Store, Var, add, mul, select, sub
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.problem import Problem


def wrap_function(site: GpuSite, threads: int) -> tuple[Function, EntryPoint]:
    """Make the kernel: every cell outside the grid proper takes the value of the cell that it is a copy of.

    Its numbers are the version, and per axis the cells before the grid proper and its extent.

    Args:
        site: The kernel's surroundings.
        threads: Threads of a block, a cell each.
    """
    rank, program = site.rank, site.problem.program
    here = tuple(Var(f"x{axis}") for axis in range(rank))
    home = tuple(Var(f"h{axis}") for axis in range(rank))
    numbers = ("t", *(f"{name}{axis}" for axis in range(rank) for name in ("low", "proper")))
    cells = tuple(extent(axis) for axis in range(rank))
    lets: list[Stmt] = [
        Let(Var("cell"), add(mul(Op("group", ()), threads), Op("thread", ()))),
        *unpacked(Var("cell"), here, cells),
    ]
    moved: Expr = Int(0)
    for axis in range(rank):
        low, proper = Var(f"low{axis}"), Var(f"proper{axis}")
        inside = add(low, Op("floormod", (sub(here[axis], low), proper)))
        lets.append(Let(home[axis], inside))
        moved = add(moved, select(Op("eq", (home[axis], here[axis])), Int(0), Int(1)))
    stores: list[Stmt] = []
    for field in program.fields:
        for age in range(program.history(field)):
            copies = site.copies(field)
            base = site.version(field, Op("floormod", (sub(Var("t"), age), Int(copies))))
            value = Load(base, global_index(home), site.dtype)
            if field in program.updated:
                stores.append(Store(base, global_index(here), value, site.dtype))
    body = (*lets, If(Op("and", (Op("lt", (here[0], extent(0))), Op("gt", (moved, Int(0))))), tuple(stores)))
    kernel = EntryPoint(entry=f"{site.prefix}_wrap", threads=threads, numbers=numbers)
    return (
        Function(name=kernel.entry, params=site.params(numbers), body=body, kind="kernel", threads=threads),
        kernel,
    )


def wrap_launch(kernel: int, threads: int, problem: Problem, around: tuple[tuple[int, int], ...], step: int) -> Launch:
    """Return the launch that refreshes the copies of a version and of the earlier ones that the next step reads.

    Args:
        kernel: Index of the kernel in its source.
        threads: Its threads.
        problem: The problem on the larger grid.
        around: Cells below and above the grid proper, per axis.
        step: The version.
    """
    numbers: list[int] = [step]
    for (low, high), extent_ in zip(around, problem.shape, strict=True):
        numbers += [low, extent_ - low - high]
    return Launch(kernel, ceil_div(math.prod(problem.shape), threads), tuple(numbers))
