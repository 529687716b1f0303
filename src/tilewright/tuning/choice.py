"""The models' choice: which tiling a run of a problem takes on a machine where nobody has tuned.

It takes no device: on a GPU the machine's numbers hold its limits, and what the models do not know, a compiler's spills
above all, is judged by the caller, who gets the next best tilings too.
"""

import functools
import math
from dataclasses import replace

from tilewright.base.errors import TilewrightError
from tilewright.base.facts import fact
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.costs.time import run_seconds, whole_seconds
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.forms import of_one_step, once_operations, with_inner_fields, wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules import catalogue
from tilewright.schedules.family import Family, Legal
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning import select as choices
from tilewright.tuning.ranking import best_tiling, contenders
from tilewright.tuning.shortlist import Candidate
from tilewright.tuning.spaces import space
from tilewright.tuning.spaces.cpu_schedule import arithmetic_ratio
from tilewright.tuning.spaces.periodic import PeriodicBlocks, plan_blocks

_FEWEST_STEPS = 3
"""Steps from which a run on a CPU that nobody has calibrated is tiled in time: two steps save one pass over memory at
most, which is no more than the guessed speeds may be off, and took up to a tenth longer (``benchmarks/short_runs.py``).
"""
_WORDS_PER_OPERATION = 3  # two are read and one is written
_OF_FAMILY = 3  # tilings per family, so that there are others where a compiler finds that the first one spills


def choose_tiling(problem: Problem, machine: Machine, storage: Storage = PLAIN, *, copies: bool = True) -> Tiling:
    """Return the complete tiling that a run takes: the exact model's choice among all legal families.

    With ``copies`` the caller's arrays are copied in and out, where a family needs that. On a GPU it is the first of
    :func:`tilewright.tuning.choice.gpu_defaults`.
    """
    return _choose(computed_form(problem, machine, storage, copies=copies), machine, storage, copies=copies)


@fact
def computed_form(problem: Problem, machine: Machine, storage: Storage = PLAIN, *, copies: bool = True) -> Problem:
    """Return what a run computes on a grid: the problem, or where the model expects it to be faster, in another form.

    That is with inner expressions in fields of their own, and one step with what it would overwrite in one
    (:mod:`tilewright.programs.stencil.forms`). In memory that keeps or reads the states of all steps, where some
    cells alone are updated, and on GPUs it is the problem.
    """
    plain = storage.states or problem.regions or machine.kind == "gpu"
    alone = of_one_step(problem) if copies and not plain else None  # else further steps may follow
    staged = None if plain else with_inner_fields(problem)
    if alone is not None or staged is None:
        return alone or problem
    forms = (problem, staged)
    plain_seconds, seconds = (_whole_seconds(form, _choose(form, machine, storage), machine, storage) for form in forms)
    return staged if seconds < plain_seconds else problem


def _choose(problem: Problem, machine: Machine, storage: Storage = PLAIN, *, copies: bool = True) -> Tiling:
    """Return the tiling of a problem in the form that is computed."""
    if machine.kind == "gpu":
        return gpu_defaults(problem, machine)[0].tiling
    setting = make_setting(problem, machine, storage=storage)
    if setting.guessed and problem.steps < _FEWEST_STEPS:
        return catalogue.complete(problem, NONE)

    def expected(family: Family, seconds: float) -> float:
        return run_seconds(family, seconds, setting, copies=copies)

    return catalogue.complete(problem, best_tiling(problem, setting, "exact", expected))


def choose_blocks(
    problem: Problem, machine: Machine, tiling: Tiling | None = None, storage: Storage = PLAIN
) -> PeriodicBlocks | None:
    """Return how a problem that wraps, in the form that is computed, runs in time tiles; None where it does not."""
    if storage.states or problem.regions or problem.points.faces:
        return None  # what was right of the copies around one state is not right of those around another
    if problem.steps < 2 or not wrapped_axes(problem) or (tiling and tiling.family.untiled):
        return None
    if tiling is None:
        return plan_blocks(problem, machine, lambda block: _choose(block, machine, copies=False))
    return plan_blocks(problem, machine, lambda block: catalogue.legal(block, tiling), always=True)


def whole_run_seconds(problem: Problem, tiling: Tiling, machine: Machine, storage: Storage = PLAIN) -> float:
    """Return what the model expects of a whole run, copies of the arrays and of periodic sides included."""
    return _whole_seconds(computed_form(problem, machine, storage), tiling, machine, storage)


def _whole_seconds(problem: Problem, tiling: Tiling, machine: Machine, storage: Storage) -> float:
    blocks = choose_blocks(problem, machine, tiling, storage)
    if blocks is None:
        ratio = arithmetic_ratio(problem, tiling, machine)
        costs = time_model.predict(problem, tiling, machine, arithmetic=ratio, storage=storage)
    else:
        costs = blocks.costs
    seconds = costs.seconds + _seconds_once(problem, machine)
    return float(whole_seconds(tiling.family, seconds, make_setting(problem, machine, storage=storage)))


def _seconds_once(problem: Problem, machine: Machine) -> float:
    """Return the time of what is computed of coefficients before the first step: NumPy passes over memory each time."""
    words = _WORDS_PER_OPERATION * once_operations(problem.program)
    return words * problem.cells * problem.itemsize / machine.dram_bandwidth.value


@functools.lru_cache(maxsize=256)
def gpu_defaults(problem: Problem, machine: Machine) -> tuple[Candidate, ...]:
    """Return the tilings that a run on a GPU takes, legal and best first, up to ``none``, which every device can run.

    Families, points and cost are those by which ``predict``, ``select`` and ``tune`` rank, so that the first is theirs.
    """
    setting = replace(make_setting(problem, machine), energy=None)
    candidates: list[Candidate] = []
    untiled = math.inf
    for family, sizes, result in contenders(problem, setting, "exact", _OF_FAMILY):
        if family.untiled:
            untiled = float(result.seconds[0])
            continue
        for index in choices.select(result.seconds, sizes, within=math.inf, top=_OF_FAMILY).tolist():
            seconds = float(result.seconds[index])
            tiling = _legal_tiling(problem, space.tiling_at(family, sizes, index)) if seconds < untiled else None
            if tiling is not None:
                candidates.append(Candidate(tiling=tiling, predicted=seconds))
    candidates.sort(key=lambda each: each.predicted)
    return (*candidates, Candidate(tiling=NONE, predicted=untiled))


def _legal_tiling(problem: Problem, tiling: Tiling) -> Tiling | None:
    try:
        complete = catalogue.complete(problem, tiling)
        return complete if isinstance(catalogue.check(problem, complete), Legal) else None
    except TilewrightError:
        return None
