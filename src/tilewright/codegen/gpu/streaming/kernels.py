"""GPU kernels of streaming tiles (N.5D): a group streams along axis 0, all time levels of a band one behind the other.

A group owns a tile that overlaps its neighbours on every axis but the first. It advances along axis 0 by a row (2D) or
a plane (3D) at a time: brings the next one of the band's first versions, computes one of every level, and writes one of
the last. Whatever a level reads of other threads was computed in an earlier advance, so that one barrier after an
advance is enough. Fields that are never updated are read from memory.

Two kernels. The steady one (:mod:`tilewright.codegen.gpu.streaming.steady`) computes whole bands, in tiles where no
read leaves the grid but at ``fixed`` edges. The general one (:mod:`tilewright.codegen.gpu.streaming.general`) computes
everything else, in smaller tiles: bands of any length, and the tiles at the other edges.

Source: Matsumura et al., "AN5D: automated stencil framework for high-degree temporal blocking on GPUs" (CGO 2020), for
the scheme; a single barrier per advance is ours. Threads that own cells side by side: Zhang et al., "Revisiting
temporal blocking stencil optimizations" (EBISU, ICS 2023).
"""

import math
from collections.abc import Iterator

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite, Launch, dated, on_chip, unpacked
from tilewright.codegen.gpu.streaming.general import general_body, general_values
from tilewright.codegen.gpu.streaming.plan import BASE, DEST, LEVELS, SOURCE, GpuStreamingContext, make_plan
from tilewright.codegen.gpu.streaming.steady import steady_body, whole_test
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.schedule import GpuSchedule
from tilewright.schedules.streaming import block as stream_block

_NUMBERS = (LEVELS.name, SOURCE.name, DEST.name, "tiles1", "tiles2")


def kept(problem: Problem) -> tuple[int, ...]:
    """Return the versions that are kept of every field: two sets that a band reads and writes in turn."""
    program, ring = problem.program, 2 * stream_block.history(problem)
    return tuple(ring if field in program.updated else 1 for field in program.fields)


def stream_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernels of a streaming tiling: the steady one, where everything may be written out, and the general."""
    problem, space = site.problem, schedule.tiling.space
    low = stream_block.low_cells(problem, schedule.tiling)
    tile = make_plan(site, schedule, stream_block.of_block(problem), space, low)
    small_space = stream_block.general_space(problem, schedule.tiling)
    small = make_plan(site, schedule, stream_block.of_general(problem), small_space)
    bodies = [(_general(tile, small), general_values(small))]
    if schedule.written:
        bodies.insert(0, (_steady(tile), tile.values))
    return tuple(_kernel(site, schedule, number, *each) for number, each in enumerate(bodies))


def stream_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield the launches of every band, for some steps that start at version 0."""
    tiling = schedule.tiling
    tiles = [ceil_div(n, size) for n, size in zip(problem.shape, tiling.space, strict=True)]
    small = stream_block.general_space(problem, tiling)
    parts = math.prod(ceil_div(size, part) for size, part in zip(tiling.space, small, strict=True))
    whole = stream_block.whole_levels(tiling.time, stream_block.history(problem))
    base = 0
    for band in stream_block.bands(steps, tiling.time, stream_block.history(problem)):
        numbers = (band.levels, band.source, band.target, *tiles[1:], *([base] if dated(problem) else []))
        base += band.levels
        steady = schedule.written and band.levels == whole
        if steady:
            yield Launch(0, math.prod(tiles), numbers)
        if not steady or stream_block.bent(problem):
            yield Launch(int(schedule.written), parts * math.prod(tiles), numbers)


def _kernel(
    site: GpuSite, schedule: GpuSchedule, number: int, body: tuple[ir.Stmt, ...], values: int
) -> tuple[ir.Function, EntryPoint]:
    shared, room = on_chip(values * site.problem.itemsize)
    kernel = EntryPoint(
        entry=f"{site.prefix}_{number}",
        threads=math.prod(schedule.threads),
        numbers=(*_NUMBERS[: 2 + site.rank], *([BASE.name] if dated(site.problem) else [])),
        shared_bytes=shared,
        room_bytes=room,
    )
    function = ir.Function(
        name=kernel.entry,
        params=site.params(kernel.numbers, room=bool(room)),
        body=(ir.Array(site.shared, values), *body) if shared else body,
        kind="kernel",
        threads=kernel.threads,
    )
    return function, kernel


def _steady(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    thread, group = ir.Var("thread"), ir.Var("group")
    afresh = [
        ir.Let(name, ir.op(ir.Operator.OPAQUE, value)) for name, value in ((thread, ir.THREAD), (group, ir.GROUP))
    ]
    place = (*afresh, *_placed(plan, thread, group), *_advances(plan))
    body = ir.If(whole_test(plan, "low"), steady_body(plan, place))
    return (_title(plan, "the steady loop"), *_placed(plan, ir.THREAD, ir.GROUP), body)


def _placed(plan: GpuStreamingContext, thread: ir.Expr, group: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Where a thread and its block's tile lie."""
    tiles = tuple(ir.Var(f"tile{axis}") for axis in range(plan.site.rank))
    counts: tuple[ir.Expr, ...] = (ir.Int(0), *(ir.Var(f"tiles{axis}") for axis in plan.inner))
    lets: list[ir.Stmt] = [*_threads(plan, thread), *unpacked(group, tiles, counts)]
    for axis, size in enumerate(plan.space):
        lets += _bounds(plan, axis, tiles[axis] * size, extent(axis))
    return tuple(lets)


def _general(tile: GpuStreamingContext, plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """Parts of tiles, of those that the steady kernel does not compute."""
    parts = tuple(ir.Var(f"part{axis}") for axis in range(plan.site.rank))
    each = [ceil_div(size, part) for size, part in zip(tile.space, plan.space, strict=True)]
    counts: list[ir.Expr] = [ir.Int(0)]
    counts += [(ir.Var(f"tiles{axis}") * each[axis]) for axis in plan.inner]
    lets: list[ir.Stmt] = [_title(plan, "any band, any edge"), *_threads(plan, ir.THREAD)]
    lets += unpacked(ir.GROUP, parts, tuple(counts))
    for axis, size in enumerate(plan.space):
        start = ir.Var(f"start{axis}")
        lets.append(ir.Let(start, parts[axis] / each[axis] * tile.space[axis]))
        low = start + parts[axis] % each[axis] * size
        end = ir.smallest(start + tile.space[axis], extent(axis))
        lets += _bounds(plan, axis, low, end)
    body = (*_advances(plan), *general_body(plan))
    if not plan.schedule.written:
        return (*lets, *body)
    return (*lets, ir.If(whole_test(tile, "start"), (), body))


def _title(plan: GpuStreamingContext, what: str) -> ir.Stmt:
    return ir.Comment(f"streaming tiles, {plan.schedule.tiling}: {plan.levels} levels, {what}")


def _threads(plan: GpuStreamingContext, thread: ir.Expr) -> tuple[ir.Stmt, ...]:
    threads = tuple(ir.Var(f"i{axis}") for axis in plan.inner)
    return unpacked(thread, threads, tuple(map(ir.Int, plan.threads[1:])))


def _bounds(plan: GpuStreamingContext, axis: int, low: ir.Expr, end: ir.Expr) -> Iterator[ir.Stmt]:
    """A block's own cells along an axis, and the first one that it loads."""
    yield ir.Let(ir.Var(f"low{axis}"), low)
    yield ir.Let(ir.Var(f"high{axis}"), ir.smallest(ir.Var(f"low{axis}") + plan.space[axis], end))
    if axis:
        yield ir.Let(ir.Var(f"origin{axis}"), ir.Var(f"low{axis}") - plan.low[axis])


def _advances(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """The first row of axis 0 at which a tile starts, and the number of advances: one per row."""
    pipeline = plan.pipeline
    starts: list[ir.Expr] = []
    for field in plan.updated:
        for age in range(plan.history(field)):
            low = plan.span0(LEVELS + age, plan.stage_of(field))[0]
            starts.append(ir.largest(low, ir.Int(0)) + pipeline.lag.at(-1 - age, plan.stage_of(field)))
    ends: list[ir.Expr] = []
    for stage in range(len(pipeline.stages)):
        high = ir.smallest(plan.span0(ir.Int(0), stage)[1], extent(0))
        ends.append(high + plan.lag(LEVELS - 1, stage))
    begin, end = starts[0], ends[0]
    for each in starts[1:]:
        begin = ir.smallest(begin, each)
    for each in ends[1:]:
        end = ir.largest(end, each)
    return (ir.Let(ir.Var("begin"), begin), ir.Let(ir.Var("advances"), end - ir.Var("begin")))
