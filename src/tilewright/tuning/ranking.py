"""One ranking: the families and points among which every verb chooses, each by :func:`tilewright.costs.time.evaluate`.

On a GPU hybrid and streaming tiles are ranked together with their thread blocks.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tilewright.costs import time as time_model
from tilewright.costs.arrays import TileSizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.setting import Setting
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning import select as choices
from tilewright.tuning.spaces import space


def families_of(problem: Problem, setting: Setting, model: str) -> tuple[Family, ...]:
    """Return the families among which a model of this name chooses: equations are printed for hexagons."""
    # On a CPU that is every legal one, on a GPU those whose models know what their code does there: a model of tiles
    # alone promises what no thread block keeps.
    families = space.families(problem, setting.facts.storage, cpu=setting.cpu, every=setting.cpu and model == "exact")
    if setting.cpu or model == "exact":
        return families
    return tuple(each for each in families if not each.streams)


def best_tiling(
    problem: Problem,
    setting: Setting,
    model: str,
    expected: Callable[[Family, float], float] = lambda _, seconds: seconds,
) -> Tiling:
    """Return the model's choice among every legal family, by what is expected of a family's least seconds."""
    chosen, lowest = NONE, np.inf
    for family, sizes, result in contenders(problem, setting, model):
        index = choices.best(result.seconds, sizes)
        cost = np.inf if index is None else expected(family, float(result.seconds[index]))
        if index is not None and cost < lowest:
            lowest = cost
            chosen = space.tiling_at(family, sizes, index)
    return chosen


def contenders(
    problem: Problem, setting: Setting, model: str, fewest: int = 1
) -> Iterator[tuple[Family, TileSizes, Breakdown]]:
    """Yield every family with its space and costs, ``none`` first; of hybrid tiles on a GPU what can be the best."""
    best = np.inf
    families = families_of(problem, setting, model)
    joint = {name: model == "exact" and time_model.models_threads(name, setting) for name in families}
    for family in sorted(families, key=joint.__getitem__):
        if joint[family]:
            sizes = space.best_blocks(setting, best, fewest)  # so many even if another family is better
            result = time_model.evaluate(family, sizes, setting, model)
        else:
            sizes, result = evaluated(setting, family, model)
        best = min(best, float(np.min(result.seconds, initial=np.inf)))
        yield family, sizes, result


def evaluated(setting: Setting, family: Family, model: str, *, coarse: bool = False) -> tuple[TileSizes, Breakdown]:
    """Return a family's space and its costs; without tiling, the space is one point."""
    if family.untiled:
        sizes = time_model.sizes_of(NONE, setting)
    else:
        sizes = space.feasible(setting, coarse=coarse, family=family, model=model)
    return sizes, time_model.evaluate(family, sizes, setting, model)
