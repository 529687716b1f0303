"""GPU kernels of time skewing: a group of threads computes one parallelogram row by row, values in memory and caches.

The wavefront loop runs on the host, one launch per wavefront; groups count off the bands that have tiles on it and the
tiles of all axes but the first, and the number on axis 0 follows. Nothing is kept on chip by the text: what a group
writes it reads again a row later, from its caches.
"""

import math
from collections.abc import Iterator

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu_site import GpuSite, Launch, unpacked
from tilewright.codegen.gpu_sweep import STEP, guarded_cell, places
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.problem import Problem
from tilewright.tilings.gpu_schedule import GpuSchedule
from tilewright.tilings.skewed import Leaning, geometry

_NUMBERS = ("first", "wave", "lag", "total", "tiles0", "tiles1", "tiles2")


def skewed_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernel of a skewed tiling."""
    shape, threads = geometry(site.problem, schedule.tiling), schedule.threads
    numbers = _NUMBERS[: 4 + site.rank]
    kernel = EntryPoint(entry=f"{site.prefix}_0", threads=math.prod(threads), numbers=numbers)
    body = (
        ir.Comment(f"parallelograms of {shape.height} rows, {'x'.join(str(skew.size) for skew in shape.skews)} cells"),
        *unpacked(ir.THREAD, _thread(site), tuple(ir.Int(n) for n in threads)),
        *_find(site),
        ir.If(_exists(), _tile(site, shape, threads)),
    )
    function = ir.Function(
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


def _thread(site: GpuSite) -> tuple[ir.Var, ...]:
    return tuple(ir.Var(f"i{axis}") for axis in range(site.rank))


def _find(site: GpuSite) -> tuple[ir.Stmt, ...]:
    """Band and tile of a group."""
    names = (ir.Var("turn"), *(ir.Var(f"tile{axis}") for axis in range(1, site.rank)))
    counts: tuple[ir.Expr, ...] = (ir.Int(0), *(ir.Var(f"tiles{axis}") for axis in range(1, site.rank)))
    left: ir.Expr = ir.sub(ir.Var("wave"), ir.mul(ir.Var("band"), ir.Var("lag")))
    for axis in range(1, site.rank):
        left = ir.sub(left, ir.Var(f"tile{axis}"))
    return (
        *unpacked(ir.GROUP, names, counts),
        ir.Let(ir.Var("band"), ir.add(ir.Var("first"), ir.Var("turn"))),
        ir.Let(ir.Var("tile0"), left),
    )


def _exists() -> ir.Expr:
    return ir.and_(ir.ge(ir.Var("tile0"), 0), ir.lt(ir.Var("tile0"), ir.Var("tiles0")))


def _tile(site: GpuSite, shape: Leaning, threads: tuple[int, ...]) -> tuple[ir.Stmt, ...]:
    """Sub-tiles one after the other, each row by row with a barrier after it."""
    tau, start, row = ir.Var("tau"), ir.Var("start"), ir.Var("row")
    lets: list[ir.Stmt] = [ir.Let(row, ir.sub(tau, start)), ir.Let(STEP, _over(tau, shape.stages))]
    spans: list[tuple[ir.Expr, ir.Expr]] = []
    for axis, skew in enumerate(shape.sub_skews()):
        at = ir.Var(f"sub{axis}") if shape.parts[axis] > 1 else ir.Var(f"tile{axis}")
        edge = ir.Var(f"from{axis}")
        lets.append(ir.Let(edge, ir.sub(ir.mul(at, skew.size), ir.mul(row, skew.slope))))
        spans.append((ir.largest(edge, ir.Int(0)), ir.smallest(ir.add(edge, skew.size), extent(axis))))
    work: list[ir.Stmt] = []
    for stage, numbers in enumerate(site.stages):
        cells = tuple(guarded_cell(site, site.problem.program.statements[n], places(site), STEP) for n in numbers)
        nest: tuple[ir.Stmt, ...] = cells
        for axis in range(site.rank - 1, -1, -1):
            low = ir.add(spans[axis][0], ir.Var(f"i{axis}"))
            nest = (
                ir.For(var=places(site)[axis], low=low, high=spans[axis][1], step=ir.Int(threads[axis]), body=nest),
            )
        if shape.stages > 1:
            nest = (ir.If(ir.eq(ir.mod(tau, shape.stages), stage), nest),)
        work += nest
    end = ir.smallest(ir.add(start, shape.height), ir.Var("total"))
    body: tuple[ir.Stmt, ...] = (
        ir.For(var=tau, low=start, high=end, body=(*lets, *work, ir.Barrier(memory=True)), unroll=1),
    )
    for axis in range(site.rank - 1, -1, -1):
        parts = shape.parts[axis]
        if parts > 1:
            low = ir.mul(ir.Var(f"tile{axis}"), parts)
            body = (ir.For(var=ir.Var(f"sub{axis}"), low=low, high=ir.add(low, parts), body=body, unroll=1),)
    return (ir.Let(start, ir.mul(ir.Var("band"), shape.height)), *body)


def _over(tau: ir.Var, stages: int) -> ir.Expr:
    return ir.div(tau, stages) if stages > 1 else tau
