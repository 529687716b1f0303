"""GPU kernels of streaming tiles (N.5D): a group streams along axis 0, all time levels of a band one behind the other.

A group owns a tile that overlaps its neighbours on every axis but the first. It advances along axis 0 by a row (2D) or
a plane (3D) at a time: brings the next one of the band's first versions, computes one of every level, and writes one of
the last. Whatever a level reads of other threads was computed in an earlier advance, so that one barrier after an
advance is enough. Fields that are never updated are read from memory. Steps that make up no band are swept
(:mod:`tilewright.codegen.gpu.sweep`).

Source: Matsumura et al., "AN5D: automated stencil framework for high-degree temporal blocking on GPUs" (CGO 2020), for
the scheme; a single barrier per advance is ours. Threads that own cells side by side: Zhang et al., "Revisiting
temporal blocking stencil optimizations" (EBISU, ICS 2023).
"""

import math
from collections.abc import Iterator

from tilewright.base.intmath import ceil_div
from tilewright.codegen.gpu.site import GpuSite, Kernel, Launch, dated
from tilewright.codegen.gpu.streaming.steady import SteadyKernel
from tilewright.codegen.gpu.streaming.tile import BASE, StreamTile
from tilewright.codegen.gpu.sweep import sweep_kernels, sweep_launches
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block


def kept(problem: Problem) -> tuple[int, ...]:
    """Return the versions that are kept of every field: two sets that a band reads and writes in turn."""
    program, ring = problem.program, 2 * stream_block.block_growth(problem).most_versions
    return tuple(ring if field in program.updated else 1 for field in program.fields)


def stream_kernels(site: GpuSite, schedule: GpuSchedule) -> tuple[Kernel, ...]:
    """Make the kernels of a streaming tiling: that of a band, and those of a sweep."""
    now = BASE if dated(site.problem) else None
    swept = sweep_kernels(site, schedule.rest, 1, now) if schedule.rest else ()
    return (SteadyKernel(StreamTile(site, schedule)).kernel(0), *swept)


def stream_launches(problem: Problem, schedule: GpuSchedule, steps: int, slot: int) -> Iterator[Launch]:
    """Yield the launches of every band, for some steps that start with the version in a slot."""
    tiling, versions = schedule.tiling, stream_block.block_growth(problem).most_versions
    tiles = [ceil_div(n, size) for n, size in zip(problem.shape, tiling.space, strict=True)]
    step = 0
    for band in stream_block.bands(steps, tiling.time, versions, slot):
        base = [step] if dated(problem) else []
        if band.levels == tiling.time:
            yield Launch(0, math.prod(tiles), (band.source, band.target, *tiles, *base))
        elif schedule.rest:
            for each in sweep_launches(problem, schedule.rest, 1):
                yield Launch(1 + each.kernel, each.groups, (band.source, *base))
        step += band.levels
