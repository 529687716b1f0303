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
from tilewright.codegen.gpu.site import GpuSite, Kernel, Launch, dated
from tilewright.codegen.gpu.streaming.general import GeneralKernel
from tilewright.codegen.gpu.streaming.steady import SteadyKernel
from tilewright.codegen.gpu.streaming.tile import StreamTile
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block


def kept(problem: Problem) -> tuple[int, ...]:
    """Return the versions that are kept of every field: two sets that a band reads and writes in turn."""
    program, ring = problem.program, 2 * stream_block.block_growth(problem).most_versions
    return tuple(ring if field in program.updated else 1 for field in program.fields)


def stream_kernels(site: GpuSite, schedule: GpuSchedule) -> tuple[Kernel, ...]:
    """Make the kernels of a streaming tiling: the steady one, where everything may be written out, and the general."""
    problem, space = site.problem, schedule.tiling.space
    block = stream_block.tile_of(problem, schedule.tiling)
    tile = StreamTile(site, schedule, block.growth.pipeline, space, block.low)
    part = StreamTile(site, schedule, block.growth.general, block.parts)
    steady = (SteadyKernel(tile).kernel(0),) if schedule.written else ()
    return (*steady, GeneralKernel(tile, part).kernel(len(steady)))


def stream_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield the launches of every band, for some steps that start at version 0."""
    tiling = schedule.tiling
    tiles = [ceil_div(n, size) for n, size in zip(problem.shape, tiling.space, strict=True)]
    block = stream_block.tile_of(problem, tiling)
    parts = math.prod(ceil_div(size, part) for size, part in zip(tiling.space, block.parts, strict=True))
    base = 0
    for band in stream_block.bands(steps, tiling.time, block.growth.most_versions):
        numbers = (band.levels, band.source, band.target, *tiles[1:], *([base] if dated(problem) else []))
        base += band.levels
        steady = schedule.written and band.levels == block.levels
        if steady:
            yield Launch(0, math.prod(tiles), numbers)
        if not steady or block.growth.bent:
            yield Launch(int(schedule.written), parts * math.prod(tiles), numbers)
