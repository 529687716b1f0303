"""``tilewright whatif``: how time, energy and efficiency move with problem and machine (thesis, 8.1 and 8.3)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.api.arrays import costed
from tilewright.api.predict import MachineLike, as_machine
from tilewright.api.stencil import ProgramLike, as_program
from tilewright.api.sweep import Row, WhatIf, factors_of, larger, varied_machine
from tilewright.api.table import Table
from tilewright.api.table_costs import TableRequest, check_settings, table_of
from tilewright.api.table_whatif import sweep_table
from tilewright.base.errors import UsageError
from tilewright.costs import time as time_model
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.programs.dependences import analyse
from tilewright.programs.problem import Problem, make_problem
from tilewright.programs.table import Recurrence
from tilewright.tilings.tiling import Tiling
from tilewright.tuning import select as selection
from tilewright.tuning import space
from tilewright.tuning.choice import evaluated, families_of
from tilewright.tuning.energy import cost as metric_cost

_How = tuple[str, str, str | None]
"""Metric, model and scope."""


def whatif(
    program: ProgramLike | Table | Recurrence,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike,
    vary: str,
    factors: Sequence[float] = (),
    metric: str = "time",
    dtype: str = "float32",
    model: str = "exact",
    scope: str | None = None,
    **scalars: Any,  # noqa: ANN401
) -> WhatIf:
    """Vary the problem or the machine and choose the best tiling again at every point.

    Args:
        program: A stencil, a program, a recurrence, or the name of a built-in one.
        shape: Extents.
        steps: Time steps; a recurrence's table is filled once.
        machine: The machine.
        vary: One of :data:`~tilewright.api.sweep.VARIED`.
        factors: By which it is multiplied; 1 is always there.
        metric: What the tiling is chosen by.
        dtype: Element type.
        model: ``exact`` or ``published``.
        scope: Who shares the bandwidth, as for :func:`tilewright.predict`.
        **scalars: Scalars of the program, as for :func:`tilewright.predict`.

    Returns:
        The sweep by increasing factor.

    Raises:
        UsageError: If anything is unknown or out of range.
    """
    scales, where = factors_of(vary, factors, metric), as_machine(machine)
    table = table_of(program)
    if table is not None:
        check_settings(table, scalars)
        request = TableRequest(shape=shape, steps=steps, dtype=dtype, model=model, scope=scope)
        return sweep_table(table, request, where, vary=vary, factors=scales, metric=metric)
    assert not isinstance(program, Table | Recurrence)  # noqa: S101
    problem = make_problem(costed(as_program(program), scalars)[0], shape, steps, dtype)
    how = (metric, model, scope)
    held = _best(problem, where, how)[0]
    rows = []
    for factor in scales:
        case, host, amount = _varied(problem, where, vary, factor)
        rows.append(_row(factor, amount, (case, host), held, how))
    return WhatIf(
        program=problem.program.name,
        machine=where.name,
        vary=vary,
        metric=metric,
        rows=tuple(rows),
        largest=largest_shape(problem, where),
    )


def reuse(
    programs: Sequence[ProgramLike],
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike,
    metric: str = "time",
    model: str = "exact",
    scope: str | None = None,
) -> dict[str, dict[str, float | None]]:
    """Return the loss of running one program with the best tiling of another.

    Args:
        programs: Programs of one rank.
        shape: Extents.
        steps: Time steps.
        machine: The machine.
        metric: What the tilings are chosen by.
        model: ``exact`` or ``published``.
        scope: Who shares the bandwidth.

    Returns:
        By the program whose tiling is taken, and the one that runs: the share by which the metric is worse than with
        the best of all these tilings for that program, None where the tiling does not fit it.

    Raises:
        UsageError: If anything is unknown or does not fit.
    """
    where = as_machine(machine)
    problems = [make_problem(as_program(each), shape, steps) for each in programs]
    how = (metric, model, scope)
    tilings = [_best(problem, where, how)[0] for problem in problems]
    costs = [[_cost(tiling, make_setting(problem, where, scope), how) for problem in problems] for tiling in tilings]
    least = [min(cost for cost in column if cost is not None) for column in zip(*costs, strict=True)]
    names = [problem.program.name for problem in problems]
    return {
        giver: {
            taker: None if cost is None else cost / best - 1.0
            for taker, cost, best in zip(names, row, least, strict=True)
        }
        for giver, row in zip(names, costs, strict=True)
    }


def largest_shape(problem: Problem, machine: Machine) -> tuple[int, ...] | None:
    """Return the largest extents of a problem's proportions that fit the device's memory, or None if it is unknown."""
    if machine.memory_bytes is None:
        return None
    each = sum(analyse(problem.program).copies) * problem.itemsize
    cells = machine.memory_bytes.value / each
    scale = (cells / float(np.prod([float(extent) for extent in problem.shape]))) ** (1.0 / len(problem.shape))
    return tuple(max(1, int(scale * extent)) for extent in problem.shape)


def _row(factor: float, amount: str, where: tuple[Problem, Machine], held: Tiling, how: _How) -> Row:
    setting = make_setting(*where, how[2])
    tiling, costs, least = _best(*where, how)
    kept = _cost(held, setting, how)
    if kept is not None and kept < least:  # the grid of sizes is coarse, and moves with the problem and the machine
        tiling, costs, least = held, time_model.predict(where[0], held, where[1], model=how[1], scope=how[2]), kept
    ideal = time_model.ideal_seconds(setting, tiling.family)
    return Row(
        factor=factor,
        amount=amount,
        tiling=tiling,
        costs=costs,
        efficiency=ideal / costs.seconds if costs.seconds > 0 else 0.0,
        reuse_loss=None if kept is None else kept / least - 1.0,
    )


def _best(problem: Problem, machine: Machine, how: _How) -> tuple[Tiling, Costs, float]:
    """Return the best tiling of a coarse grid of sizes, its costs and its metric."""
    setting = make_setting(problem, machine, how[2])
    found: tuple[Tiling, Costs, float] | None = None
    for family in families_of(problem, setting, how[1]):
        sizes, result = evaluated(setting, family, how[1], coarse=True)
        cost = metric_cost(result, how[0])
        index = selection.best(cost, sizes)
        if index is not None and (found is None or cost[index] < found[2]):
            tiling = space.tiling_at(family, sizes, index)
            found = tiling, time_model.costs_at(result, index, setting), float(cost[index])
    if found is None:
        raise UsageError(f"no tiling of {problem.program.name} fits {machine.name}")
    return found


def _cost(tiling: Tiling, setting: Setting, how: _How) -> float | None:
    try:
        sizes = time_model.sizes_of(tiling, setting)
        result = time_model.evaluate(tiling.family, sizes, setting, how[1])
    except UsageError:
        return None
    cost = float(metric_cost(result, how[0])[0])
    return cost if np.isfinite(cost) else None


def _varied(problem: Problem, machine: Machine, vary: str, factor: float) -> tuple[Problem, Machine, str]:
    """Return the problem and the machine of one point, and what the varied quantity is there."""
    if vary == "size":
        shape = larger(problem.shape, factor)
        return dataclasses.replace(problem, shape=shape), machine, "x".join(map(str, shape))
    if vary == "steps":
        steps = max(1, round(problem.steps * factor))
        return dataclasses.replace(problem, steps=steps), machine, f"{steps} steps"
    changed, amount = varied_machine(machine, vary, factor)
    return problem, changed, amount
