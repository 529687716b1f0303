"""What a run on a GPU takes where nobody has tuned: the cost models' choice among all families, threads included.

It takes a problem and a machine, whose numbers hold the device's limits, and no device: what the models do not know, a
compiler's spills above all, is judged by the caller, who gets the next best tilings too.
"""

import dataclasses
import functools
import math

import numpy as np

from tilewright.base.errors import TilewrightError
from tilewright.costs import strategies
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.setting import Setting, make_setting
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.catalogue import traits
from tilewright.schedules.legality import Legal
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning import select as selection
from tilewright.tuning.shortlist import Candidate
from tilewright.tuning.spaces import space
from tilewright.tuning.spaces.thread_shapes import select_with_threads

TIES = 0.04
"""Families of :mod:`tilewright.costs.strategies`, whose models know no thread blocks, must promise so much more."""
_OF_FAMILY = 3
"""Tilings per family, so that there are others where a compiler finds that the first one spills."""


@functools.lru_cache(maxsize=256)
def gpu_defaults(problem: Problem, machine: Machine) -> tuple[Candidate, ...]:
    """Return the tilings that a run on a GPU takes, best first, up to ``none``, which every device can run.

    Every family is judged by the model that knows most of it: streaming and hybrid tiles with their thread blocks, all
    others by their tiles.

    Args:
        problem: The problem.
        machine: A GPU. What a block may use, ``block_shared_bytes`` and ``max_block_threads``, is kept to.

    Returns:
        Legal, complete tilings with their predicted seconds; the last one is ``none``.
    """
    setting = dataclasses.replace(make_setting(problem, machine), energy=None)
    plain = float(time_model.evaluate("none", time_model.sizes_of(NONE, setting), setting).seconds[0])
    found: list[tuple[float, Candidate]] = []
    least = plain
    hybrid = math.inf
    for family in space.families(problem):
        if traits(family).untiled:
            continue
        sizes = space.feasible(setting, coarse=True, family=family)
        seconds = _within_threads(time_model.evaluate(family, sizes, setting).seconds, sizes, machine)
        if traits(family).hexagons and problem.program.rank > 1:
            hybrid = float(np.min(seconds, initial=np.inf))
            continue
        found += _best(problem, family, sizes, seconds, plain)
        least = min(least, float(np.min(seconds, initial=np.inf)))
    # The model that knows threads promises no less than the one that does not, and takes longest to evaluate.
    if (1.0 + TIES) * hybrid < least:
        found += _hybrid(problem, machine, setting, plain)
    found.sort(key=lambda option: option[0])
    return (*(candidate for _, candidate in found), Candidate(tiling=NONE, predicted=plain))


def _within_threads(seconds: Floats, sizes: TileSizes, machine: Machine) -> Floats:
    """Return the seconds, infinite where a block has more threads than it may."""
    if not sizes.threads:
        return seconds
    count = functools.reduce(np.multiply, sizes.threads)
    return np.where(count <= machine.block_threads, seconds, np.inf)


def _best(
    problem: Problem, family: str, sizes: TileSizes, seconds: Floats, most: float
) -> list[tuple[float, Candidate]]:
    """Return a family's best legal tilings that promise less than ``most``, by what they are compared by."""
    factor = 1.0 + TIES if family in strategies.FAMILIES else 1.0
    found = []
    for index in selection.select(seconds, sizes, within=math.inf, top=_OF_FAMILY).tolist():
        expected = factor * float(seconds[index])
        tiling = _legal(problem, space.tiling_at(family, sizes, index)) if expected < most else None
        if tiling is not None:
            found.append((expected, Candidate(tiling=tiling, predicted=float(seconds[index]))))
    return found


def _hybrid(problem: Problem, machine: Machine, setting: Setting, most: float) -> list[tuple[float, Candidate]]:
    gpu = setting.gpu
    if gpu is None:
        return []
    sizes, shapes, seconds, _ = select_with_threads(
        problem.program, setting, gpu, machine.block_threads, within=math.inf, top=_OF_FAMILY
    )
    found = []
    for index, threads in enumerate(shapes):
        tiling = _legal(problem, dataclasses.replace(space.tiling_at("hybrid", sizes, index), threads=threads))
        if tiling is not None and seconds[index] < most:
            found.append((float(seconds[index]), Candidate(tiling=tiling, predicted=float(seconds[index]))))
    return found


def _legal(problem: Problem, tiling: Tiling) -> Tiling | None:
    try:
        complete = catalogue.complete(problem, tiling)
        return complete if isinstance(catalogue.check(problem, complete), Legal) else None
    except TilewrightError:
        return None
