"""The tiles in which a GPU's calibration runs a program's arithmetic: the first of a short list that fits on chip.

What a run takes by default is the cost model's choice, see :mod:`tilewright.tuning.gpu_default`.
"""

import itertools
from collections.abc import Iterator

from tilewright.base.constants import STATIC_SHARED
from tilewright.base.errors import TilewrightError
from tilewright.codegen.gpu.chip import values_of
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.legality import Legal
from tilewright.schedules.prism import geometry
from tilewright.schedules.tiling import NONE, Tiling

_SIZES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((512,), (256,), (64,)),
    2: ((16, 128), (8, 128), (8, 64), (4, 64), (4, 32)),
    3: ((4, 4, 32), (4, 2, 32), (2, 2, 32), (2, 1, 16)),
}
_HEIGHTS = {1: (32, 16, 8, 4, 2), 2: (16, 8, 4, 2), 3: (6, 4, 2)}


def calibration_tiling(problem: Problem, limit: int = STATIC_SHARED) -> Tiling:
    """Return a legal hexagonal or hybrid tiling with its threads, of ``limit`` bytes on chip at most; else ``none``."""
    if problem.steps < 2:
        return NONE
    for tiling in _candidates(problem):
        try:
            complete = catalogue.complete(problem, tiling)
            legal = isinstance(catalogue.check(problem, complete), Legal)
        except TilewrightError:
            return NONE
        if not legal:
            return NONE
        if chip_bytes(problem, complete) <= limit:
            return complete
    return NONE


def chip_bytes(problem: Problem, tiling: Tiling) -> int:
    """Return the memory on chip that a group of a completed prism tiling needs."""
    return values_of(problem, geometry(problem, tiling)) * problem.itemsize


def _candidates(problem: Problem) -> Iterator[Tiling]:
    rank = problem.program.rank
    try:
        least = slopes(problem)[0].widest
    except TilewrightError:
        return
    for time, space in itertools.product(_HEIGHTS[rank], _SIZES[rank]):
        sizes = (max(space[0], least), *space[1:])
        threads = {1: (256,), 2: (1, space[-1]), 3: (1, space[1] if rank == 3 else 1, space[-1])}[rank]
        yield Tiling(family="hexagonal" if rank == 1 else "hybrid", time=time, space=sizes, threads=threads)
