"""Thread blocks as part of a GPU's space: every feasible tile with every thread shape that it can keep busy.

The time model's first form knows no threads; :mod:`tilewright.costs.gpu.threads` does. Shapes are powers of two per
axis, the innermost at least a warp, so that accesses stay whole, and none larger than the tile along its axis. Where
nobody searches, :func:`default_threads` says the shape.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tilewright.base.constants import WARP
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.gpu import threads as selector
from tilewright.costs.hardware import Hardware
from tilewright.costs.setting import Setting
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.schedules.catalogue import traits
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import select as selection
from tilewright.tuning.spaces.enumeration import pieces

Shape = tuple[int, ...]
_LARGEST_OUTER = 32
_GRID = {1: (256,), 2: (4, 64), 3: (2, 4, 32)}
"""Shapes by rank where threads share the cells of a whole box or grid."""
_PRISM_1D, _PRISM_2D, _PRISM = 256, 128, 256
"""Threads that share a hexagon's row in 1D, that a group has about in 2D, and that it has at most."""


def default_threads(problem: Problem, tiling: Tiling) -> Shape:
    """Return the threads per axis of a completed tiling that gives none, streaming tiles aside.

    Prisms have whole warps along rows, as long as the tile's where they may be, and no more threads than compute.
    """
    rank = problem.program.rank
    if not traits(tiling.family).prisms:
        return _GRID[rank]
    if rank == 1:
        return (_PRISM_1D,)
    inner = max(WARP, min(_PRISM, tiling.space[-1] // WARP * WARP))
    if rank == 2:
        return (max(1, _PRISM_2D // inner), inner)
    return (1, max(1, min(tiling.space[1], _PRISM // inner)), inner)


def shapes(rank: int, most: int) -> tuple[Shape, ...]:
    """Return the thread shapes of blocks of at most so many threads, outermost axis first.

    >>> shapes(2, 64)
    ((1, 32), (1, 64), (2, 32))
    """
    outer = [2**n for n in range(_LARGEST_OUTER.bit_length())]
    inner = [WARP * 2**n for n in range(max(1, most // WARP).bit_length())]
    every = itertools.product(*[outer] * (rank - 1), inner)
    return tuple(shape for shape in every if math.prod(shape) <= most)


def select_with_threads(
    program: Program, setting: Setting, gpu: Hardware, most: int, *, within: float = 0.10, top: int | None = None
) -> tuple[TileSizes, tuple[Shape, ...], Floats, int]:
    """Select hybrid tiles together with their thread shapes by the model that knows both.

    Args:
        program: The stencil.
        setting: The problem on a GPU; tile sizes are taken from a geometric grid.
        gpu: The GPU's numbers.
        most: Threads of a block.
        within: Keep costs up to ``1 + within`` times the smallest.
        top: Keep at most this many, or all.

    Returns:
        The tiles, cheapest first, their thread shapes and seconds, and how many points there were.

    Raises:
        UsageError: If ``within`` is negative or ``top`` is below 1.
    """
    every = shapes(len(setting.shape), most)
    table = np.array(every, dtype=np.int64)

    def seconds(points: TileSizes) -> Floats:
        threads = tuple(table[points.k, axis] for axis in range(table.shape[1]))
        plain = replace(points, k=np.zeros_like(points.k))
        return selector.evaluate(selector.make_case(program, plain, threads, setting), gpu).seconds

    # Which shape a point has is kept in k, which is open here, so that selecting carries it along.
    kept, costs, count = selection.select_pieces(_points(setting, table), seconds, within=within, top=top)
    return replace(kept, k=np.zeros_like(kept.k)), tuple(every[number] for number in kept.k.tolist()), costs, count


def _points(setting: Setting, table: Ints) -> Iterator[TileSizes]:
    """Yield tiles with the numbers of the shapes that they can keep busy."""
    empty = True
    parts = list(pieces(setting, coarse=True))
    if parts:
        tiles = TileSizes(
            time=np.concatenate([part.time for part in parts]),
            space=tuple(np.concatenate(axis) for axis in zip(*(part.space for part in parts), strict=True)),
            k=np.concatenate([part.k for part in parts]),
        )
        extents = [tiles.space[0] + tiles.time * setting.stages * max(1, setting.slopes[0]), *tiles.space[1:]]
        for number, shape in enumerate(table.tolist()):
            busy = np.logical_and.reduce([size >= count for size, count in zip(extents, shape, strict=True)])
            part = tiles.take(np.flatnonzero(busy))
            if len(part.time):
                empty = False
                yield replace(part, k=np.full_like(part.k, number))
    if empty:
        none = np.zeros(0, dtype=np.int64)
        yield TileSizes(time=none, space=(none,) * len(setting.shape), k=none)
