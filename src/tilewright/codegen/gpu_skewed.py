"""GPU kernels of time skewing: a group of threads computes one parallelogram row by row, values in memory and caches.

The wavefront loop runs on the host, one launch per wavefront; groups count off the bands that have tiles on it and the
tiles of all axes but the first, and the number on axis 0 follows. Nothing is kept on chip by the text: what a group
writes it reads again a row later, from its caches.
"""

import math
from collections.abc import Iterator

from tilewright.base.intmath import ceil_div
from tilewright.codegen.gpu_site import GpuSite, Launch, unpacked
from tilewright.codegen.gpu_sweep import STEP, guarded_cell, places
from tilewright.codegen.ir import (
    Barrier,
    Comment,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Op,
    Stmt,
    Var,
    add,
    largest,
    mul,
    smallest,
    sub,
)
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.problem import Problem
from tilewright.tilings.gpu_schedule import GpuSchedule
from tilewright.tilings.skewed import Leaning, geometry

_NUMBERS = ("first", "wave", "lag", "total", "tiles0", "tiles1", "tiles2")


def skewed_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[Function, EntryPoint], ...]:
    """Make the kernel of a skewed tiling."""
    shape, threads = geometry(site.problem, schedule.tiling), schedule.threads
    numbers = _NUMBERS[: 4 + site.rank]
    kernel = EntryPoint(entry=f"{site.prefix}_0", threads=math.prod(threads), numbers=numbers)
    body = (
        Comment(f"parallelograms of {shape.height} rows, {'x'.join(str(skew.size) for skew in shape.skews)} cells"),
        *unpacked(Op("thread", ()), _thread(site), tuple(Int(n) for n in threads)),
        *_find(site),
        If(_exists(), _tile(site, shape, threads)),
    )
    function = Function(
        name=kernel.entry, params=site.params(numbers), body=body, kind="kernel", threads=kernel.threads
    )
    return ((function, kernel),)


def skewed_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield one launch per wavefront, for some steps that start at version 0."""
    shape = geometry(problem, schedule.tiling)
    total = steps * shape.stages
    bands, span = ceil_div(total, shape.height), sum(count - 1 for count in shape.tiles) + 1
    others = math.prod(shape.tiles[1:])
    for wave in range(shape.lag * (bands - 1) + span if bands else 0):
        first = max(0, ceil_div(wave - span + 1, shape.lag))
        groups = (min(bands, wave // shape.lag + 1) - first) * others
        if groups > 0:
            yield Launch(0, groups, (first, wave, shape.lag, total, *shape.tiles))


def _thread(site: GpuSite) -> tuple[Var, ...]:
    return tuple(Var(f"i{axis}") for axis in range(site.rank))


def _find(site: GpuSite) -> tuple[Stmt, ...]:
    """Band and tile of a group."""
    names = (Var("turn"), *(Var(f"tile{axis}") for axis in range(1, site.rank)))
    counts: tuple[Expr, ...] = (Int(0), *(Var(f"tiles{axis}") for axis in range(1, site.rank)))
    left: Expr = sub(Var("wave"), Op("mul", (Var("band"), Var("lag"))))
    for axis in range(1, site.rank):
        left = sub(left, Var(f"tile{axis}"))
    return (
        *unpacked(Op("group", ()), names, counts),
        Let(Var("band"), add(Var("first"), Var("turn"))),
        Let(Var("tile0"), left),
    )


def _exists() -> Expr:
    return Op("and", (Op("ge", (Var("tile0"), Int(0))), Op("lt", (Var("tile0"), Var("tiles0")))))


def _tile(site: GpuSite, shape: Leaning, threads: tuple[int, ...]) -> tuple[Stmt, ...]:
    """Sub-tiles one after the other, each row by row with a barrier after it."""
    tau, start, row = Var("tau"), Var("start"), Var("row")
    lets: list[Stmt] = [Let(row, sub(tau, start)), Let(STEP, _over(tau, shape.stages))]
    spans: list[tuple[Expr, Expr]] = []
    for axis, skew in enumerate(shape.sub_skews()):
        at = Var(f"sub{axis}") if shape.parts[axis] > 1 else Var(f"tile{axis}")
        edge = Var(f"from{axis}")
        lets.append(Let(edge, sub(mul(at, skew.size), mul(row, skew.slope))))
        spans.append((largest(edge, Int(0)), smallest(add(edge, skew.size), extent(axis))))
    work: list[Stmt] = []
    for stage, numbers in enumerate(site.stages):
        cells = tuple(guarded_cell(site, site.problem.program.statements[n], places(site), STEP) for n in numbers)
        nest: tuple[Stmt, ...] = cells
        for axis in range(site.rank - 1, -1, -1):
            low = add(spans[axis][0], Var(f"i{axis}"))
            nest = (For(var=places(site)[axis], low=low, high=spans[axis][1], step=Int(threads[axis]), body=nest),)
        if shape.stages > 1:
            nest = (If(Op("eq", (Op("mod", (tau, Int(shape.stages))), Int(stage))), nest),)
        work += nest
    end = smallest(add(start, shape.height), Var("total"))
    body: tuple[Stmt, ...] = (For(var=tau, low=start, high=end, body=(*lets, *work, Barrier(memory=True)), unroll=1),)
    for axis in range(site.rank - 1, -1, -1):
        parts = shape.parts[axis]
        if parts > 1:
            low = mul(Var(f"tile{axis}"), parts)
            body = (For(var=Var(f"sub{axis}"), low=low, high=add(low, parts), body=body, unroll=1),)
    return (Let(start, mul(Var("band"), shape.height)), *body)


def _over(tau: Var, stages: int) -> Expr:
    return Op("div", (tau, Int(stages))) if stages > 1 else tau
