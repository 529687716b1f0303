"""What a run on a GPU takes where nobody has tuned: the cost models' choice among all families, threads included.

It takes a problem and a machine, whose numbers hold the device's limits, and no device: what the models do not know, a
compiler's spills above all, is judged by the caller, who gets the next best tilings too.
"""

import functools
import math
from dataclasses import replace

from tilewright.base.errors import TilewrightError
from tilewright.costs.setting import make_setting
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning import select as selection
from tilewright.tuning.ranking import contenders
from tilewright.tuning.shortlist import Candidate
from tilewright.tuning.spaces import space

_OF_FAMILY = 3
"""Tilings per family, so that there are others where a compiler finds that the first one spills."""


@functools.lru_cache(maxsize=256)
def gpu_defaults(problem: Problem, machine: Machine) -> tuple[Candidate, ...]:
    """Return the tilings that a run on a GPU takes, legal and best first, up to ``none``, which every device can run.

    Families, points and cost are those by which ``predict``, ``select`` and ``tune`` rank, so that the first is theirs.
    """
    setting = replace(make_setting(problem, machine), energy=None)
    found: list[Candidate] = []
    plain = math.inf
    for family, sizes, result in contenders(problem, setting, "exact", _OF_FAMILY):
        if family.untiled:
            plain = float(result.seconds[0])
            continue
        for index in selection.select(result.seconds, sizes, within=math.inf, top=_OF_FAMILY).tolist():
            seconds = float(result.seconds[index])
            tiling = _legal(problem, space.tiling_at(family, sizes, index)) if seconds < plain else None
            if tiling is not None:
                found.append(Candidate(tiling=tiling, predicted=seconds))
    found.sort(key=lambda each: each.predicted)
    return (*found, Candidate(tiling=NONE, predicted=plain))


def _legal(problem: Problem, tiling: Tiling) -> Tiling | None:
    try:
        complete = catalogue.complete(problem, tiling)
        return complete if isinstance(catalogue.check(problem, complete), Legal) else None
    except TilewrightError:
        return None
