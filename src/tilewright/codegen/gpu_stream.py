"""GPU kernels of streaming tiles (N.5D): a group streams along axis 0, all time levels of a band one behind the other.

A group owns a tile that overlaps its neighbours on every axis but the first. It advances along axis 0 by a row (2D) or
a plane (3D) at a time: brings the next one of the band's first versions, computes one of every level, and writes one of
the last. Whatever a level reads was computed in an earlier advance, so that all levels of an advance are independent
and one barrier after it is enough. Every version of a field that the band passes has a ring of rows on chip; fields
that are never updated are read from memory.

One launch per band. Two bodies, chosen by tile: :mod:`tilewright.codegen.gpu_stream_whole` for whole bands where no
read leaves the grid but at ``fixed`` edges, :mod:`tilewright.codegen.gpu_stream_cut` for everything else.

Source: Matsumura et al., "AN5D: automated stencil framework for high-degree temporal blocking on GPUs" (CGO 2020), for
the scheme; a single barrier per advance is ours.
"""

import math
from collections.abc import Iterator

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu_site import GpuSite, Launch, on_chip, unpacked
from tilewright.codegen.gpu_stream_cut import cut_body
from tilewright.codegen.gpu_stream_plan import DEST, LEVELS, SOURCE, Plan, make_plan
from tilewright.codegen.gpu_stream_whole import whole_body, whole_test
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.problem import Problem
from tilewright.tilings import stream_block
from tilewright.tilings.gpu_schedule import GpuSchedule

_NUMBERS = (LEVELS.name, SOURCE.name, DEST.name, "tiles1", "tiles2")


def kept(problem: Problem) -> tuple[int, ...]:
    """Return the versions that are kept of every field: two sets that a band reads and writes in turn."""
    program, ring = problem.program, 2 * stream_block.history(problem)
    return tuple(ring if field in program.updated else 1 for field in program.fields)


def stream_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernel of a streaming tiling."""
    plan = make_plan(site, schedule)
    shared, room = on_chip(plan.values * site.problem.itemsize)
    kernel = EntryPoint(
        entry=f"{site.prefix}_0",
        threads=math.prod(plan.threads),
        numbers=_NUMBERS[: 2 + site.rank],
        shared_bytes=shared,
        room_bytes=room,
    )
    body = _body(plan)
    if shared:
        body = (ir.Array(site.shared, plan.values), *body)
    function = ir.Function(
        name=kernel.entry,
        params=site.params(kernel.numbers, room=bool(room)),
        body=body,
        kind="kernel",
        threads=kernel.threads,
    )
    return ((function, kernel),)


def stream_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield one launch per band, for some steps that start at version 0."""
    tiling = schedule.tiling
    tiles = [ceil_div(n, size) for n, size in zip(problem.shape, tiling.space, strict=True)]
    for band in stream_block.bands(steps, tiling.time, stream_block.history(problem)):
        yield Launch(0, math.prod(tiles), (band.levels, band.source, band.target, *tiles[1:]))


def _body(plan: Plan) -> tuple[ir.Stmt, ...]:
    rank = plan.site.rank
    tiles = tuple(ir.Var(f"tile{axis}") for axis in range(rank))
    counts: tuple[ir.Expr, ...] = (ir.Int(0), *(ir.Var(f"tiles{axis}") for axis in range(1, rank)))
    threads = tuple(ir.Var(f"i{axis}") for axis in range(1, rank))
    lets: list[ir.Stmt] = [
        ir.Comment(f"streaming tiles, {plan.schedule.tiling}: {plan.levels} levels, rings of {plan.depth}"),
        *unpacked(ir.THREAD, threads, tuple(map(ir.Int, plan.threads[1:]))),
        *unpacked(ir.GROUP, tiles, counts),
    ]
    for axis, size in enumerate(plan.space):
        lets.append(ir.Let(ir.Var(f"low{axis}"), ir.mul(tiles[axis], size)))
        lets.append(ir.Let(ir.Var(f"high{axis}"), ir.smallest(ir.add(ir.Var(f"low{axis}"), size), extent(axis))))
        if axis:
            lets.append(ir.Let(ir.Var(f"origin{axis}"), ir.sub(ir.Var(f"low{axis}"), plan.low[axis])))
    begin, end = _advances(plan)
    lets += [ir.Let(ir.Var("begin"), begin), ir.Let(ir.Var("advances"), ir.sub(end, ir.Var("begin")))]
    if not plan.schedule.written:
        return (*lets, *cut_body(plan))
    return (*lets, ir.If(whole_test(plan), whole_body(plan), cut_body(plan)))


def _advances(plan: Plan) -> tuple[ir.Expr, ir.Expr]:
    """The first row of axis 0 at which a tile starts, and the end: an advance per row."""
    pipeline = plan.pipeline
    starts: list[ir.Expr] = []
    for field in plan.updated:
        for age in range(plan.history(field)):
            low = plan.span0(ir.add(LEVELS, age), plan.stage_of(field))[0]
            starts.append(ir.add(ir.largest(low, ir.Int(0)), pipeline.lag.at(-1 - age, plan.stage_of(field))))
    ends: list[ir.Expr] = []
    for stage in range(len(pipeline.stages)):
        high = ir.smallest(plan.span0(ir.Int(0), stage)[1], extent(0))
        ends.append(ir.add(high, plan.lag(ir.sub(LEVELS, 1), stage)))
    begin, end = starts[0], ends[0]
    for each in starts[1:]:
        begin = ir.smallest(begin, each)
    for each in ends[1:]:
        end = ir.largest(end, each)
    return begin, end
