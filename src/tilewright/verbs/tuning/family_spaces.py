"""The search space of a problem on a machine: one space per tiling family, with the predicted cost of every point."""

from collections.abc import Callable

from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.rates import entry_name
from tilewright.costs.setting import make_setting
from tilewright.costs.time import evaluate, run_seconds
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.forms import extend, wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue as tilings
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.choice import choose_blocks, computed_form
from tilewright.tuning.ranking import evaluated
from tilewright.tuning.select import DEGREE
from tilewright.tuning.select import cost as metric_cost
from tilewright.tuning.sensitivity import machine_slopes
from tilewright.tuning.shortlist import FamilySpace
from tilewright.tuning.spaces import space

_BLOCK_STEPS = 16  # steps of a block where the model expects no block to pay


def family_spaces(
    problem: Problem, machine: Machine, model: str = "exact", metric: str = "time", *, every: bool = True
) -> tuple[FamilySpace, ...]:
    """Return the spaces of the families that can cut a problem, with the predicted cost of every point.

    A problem that wraps is cut in blocks of steps on an extended grid: its tiled families are those of one block of
    the length that the model prefers, their costs those of all blocks. With ``every``, all legal families, to be
    measured; else those whose models were validated.
    """
    problem = computed_form(problem, machine) if model == "exact" else problem
    spaces = _spaces_of(problem, machine, (model, metric), 1.0, every=every and model == "exact")
    block = _block(problem, machine, every=every)
    if block is not None:
        share = problem.steps / block.steps
        blocks = _spaces_of(block, machine, (model, metric), share, every=every and model == "exact")
        spaces += [each for each in blocks if not each.family.untiled]
    return tuple(spaces)


def _spaces_of(
    problem: Problem, machine: Machine, how: tuple[str, str], share: float, *, every: bool
) -> list[FamilySpace]:
    (model, metric), setting = how, make_setting(problem, machine)
    spaces = []
    for family in space.families(problem, cpu=setting.cpu, every=every):
        sizes, result = evaluated(setting, family, model)
        cost = share ** DEGREE[metric] * metric_cost(result, metric)
        expected = run_seconds(family, cost, setting) if metric == "time" else cost
        make = _maker(problem, family, sizes)
        slopes = slopes_of(problem, machine, model, family, sizes)
        spaces.append(FamilySpace(family=family, sizes=sizes, cost=cost, make=make, expected=expected, slopes=slopes))
    return spaces


def slopes_of(
    problem: Problem, machine: Machine, model: str, family: Family, sizes: TileSizes
) -> Callable[[Ints], Floats]:
    """Return a function of m indices of ``sizes``: their times' slopes by the machine's numbers, shape (m, numbers)."""

    def slopes(index: Ints) -> Floats:
        part = sizes.take(index)

        def seconds(other: Machine) -> Floats:
            return evaluate(family, part, make_setting(problem, other), model).seconds

        return machine_slopes(machine, entry_name(problem.program, machine), seconds)

    return slopes


def _block(problem: Problem, machine: Machine, *, every: bool) -> Problem | None:
    # Where the model expects no block to pay, one is there to be measured; without measurements there is none on a GPU.
    if problem.steps < 2 or not wrapped_axes(problem):
        return None
    blocks = choose_blocks(problem, machine)
    if blocks is not None:
        return blocks.extended.problem
    extended = extend(problem, min(_BLOCK_STEPS, problem.steps)) if every or machine.kind == "cpu" else None
    return None if extended is None else extended.problem


def _maker(problem: Problem, family: Family, sizes: TileSizes) -> Callable[[int], Tiling]:
    def make(index: int) -> Tiling:
        if family.untiled:
            return NONE
        return tilings.complete(problem, space.tiling_at(family, sizes, index))

    return make
