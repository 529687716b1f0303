"""The models' choice: which tiling a run of a problem takes on a machine."""

from tilewright.costs import time as time_model
from tilewright.costs.run import run_seconds, whole_seconds
from tilewright.costs.setting import make_setting
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.periodic import wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules import catalogue
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.ranking import best_tiling
from tilewright.tuning.spaces.bodies import arithmetic_ratio
from tilewright.tuning.spaces.periodic import PeriodicBlocks, plan_blocks

_FEWEST_STEPS = 3
"""Steps from which a run on a CPU that nobody has calibrated is tiled in time: two steps save one pass over memory at
most, which is no more than the guessed speeds may be off, and took up to a tenth longer (``benchmarks/short_runs.py``).
"""


def choose_tiling(problem: Problem, machine: Machine, storage: Storage = PLAIN, *, copies: bool = True) -> Tiling:
    """Return the complete tiling that a run takes: the exact model's choice among all legal families.

    With ``copies`` the caller's arrays are copied in and out, where a family needs that. On a GPU it is the first of
    :func:`tilewright.tuning.gpu_default.gpu_defaults`.
    """
    if machine.kind == "gpu":
        from tilewright.tuning.gpu_default import gpu_defaults

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
    """Return how a periodic problem runs in time tiles, in blocks on an extended grid; None where it does not."""
    if storage.states or problem.regions or problem.points.faces:
        return None  # what was right of the copies around one state is not right of those around another
    if problem.steps < 2 or not wrapped_axes(problem) or (tiling and tiling.family.untiled):
        return None
    if tiling is None:
        return plan_blocks(problem, machine, lambda block: choose_tiling(block, machine, copies=False))
    return plan_blocks(problem, machine, lambda block: catalogue.legal(block, tiling), always=True)


def whole_run_seconds(problem: Problem, tiling: Tiling, machine: Machine, storage: Storage = PLAIN) -> float:
    """Return what the model expects of a whole run, copies of the arrays and of periodic sides included."""
    blocks = choose_blocks(problem, machine, tiling, storage)
    if blocks is None:
        ratio = arithmetic_ratio(problem, tiling, machine)
        costs = time_model.predict(problem, tiling, machine, arithmetic=ratio, storage=storage)
    else:
        costs = blocks.costs
    return float(whole_seconds(tiling.family, costs.seconds, make_setting(problem, machine, storage=storage)))
