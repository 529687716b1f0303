"""``tilewright whatif``: how time, energy and efficiency move with problem and machine (thesis, 8.1 and 8.3)."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.api.predict import MachineLike, as_machine, cost_of, evaluated, families_of
from tilewright.api.stencil import ProgramLike, as_program
from tilewright.base.errors import UsageError
from tilewright.costs import time as time_model
from tilewright.costs.energy_constants import at_clock
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine, Quantity
from tilewright.programs.dependences import analyse
from tilewright.programs.problem import Problem, make_problem
from tilewright.tilings.tiling import NONE, Tiling
from tilewright.tuning import energy as choices
from tilewright.tuning import select as selection
from tilewright.tuning import space

VARIED = ("size", "steps", "sms", "lanes", "shared", "bandwidth", "launch", "clock")
"""What can be varied, each by factors of what there is."""
_FIELDS = {
    "sms": ("sm_count",),
    "lanes": ("vector_width",),
    "shared": ("shared_bytes", "block_shared_bytes"),
    "bandwidth": ("dram_bandwidth", "peak_dram_bandwidth", "core_bandwidth"),
    "launch": ("launch_seconds",),
}
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_How = tuple[str, str, str | None]
"""Metric, model and scope."""
_CLOCKS = (0.4, 0.6, 0.8, 1.0, 1.2)
DROP = 0.9
"""Efficiency below this share of the best one of a sweep counts as a drop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One point of a sweep.

    Attributes:
        factor: What the varied quantity was multiplied by.
        amount: What that is, such as 4096x4096 or 26 multiprocessors.
        tiling: The best tiling there.
        costs: Its costs.
        efficiency: The ideal time (8.3) over the predicted one.
        reuse_loss: By which share the metric is worse with the best tiling of factor 1; None where it does not fit.
    """

    factor: float
    amount: str
    tiling: Tiling
    costs: Costs
    efficiency: float
    reuse_loss: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A sweep.

    Attributes:
        program: Name of the program.
        machine: Name of the machine.
        vary: What was varied.
        metric: What the best tiling is best by.
        rows: The points.
        largest: Largest extents of the same proportions that fit the machine's memory, or None where that is unknown.
    """

    program: str
    machine: str
    vary: str
    metric: str
    rows: tuple[Row, ...]
    largest: tuple[int, ...] | None

    @property
    def drops_at(self) -> tuple[str, ...]:
        """The amounts at which the efficiency is below 0.9 of the best one of the sweep."""
        best = max(row.efficiency for row in self.rows)
        return tuple(row.amount for row in self.rows if row.efficiency < DROP * best)

    def to_dict(self) -> dict[str, object]:
        """Return the sweep as plain data."""
        rows = [
            {
                "factor": row.factor,
                "amount": row.amount,
                "tiling": str(row.tiling),
                "seconds": row.costs.seconds,
                "joules": row.costs.joules,
                "watts": row.costs.energy.watts if row.costs.energy else None,
                "gcells_per_second": row.costs.gcells_per_second,
                "efficiency": row.efficiency,
                "bound_by": row.costs.bound_by,
                "reuse_loss": row.reuse_loss,
            }
            for row in self.rows
        ]
        return {
            "program": self.program,
            "machine": self.machine,
            "vary": self.vary,
            "metric": self.metric,
            "rows": rows,
            "drops_at": list(self.drops_at),
            "largest_shape": None if self.largest is None else list(self.largest),
        }


def whatif(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike,
    vary: str,
    factors: Sequence[float] = (),
    metric: str = "time",
    dtype: str = "float32",
    model: str = "exact",
    scope: str | None = None,
) -> WhatIf:
    """Vary the problem or the machine and choose the best tiling again at every point.

    Args:
        program: A stencil, a program, or the name of a built-in one.
        shape: Extents.
        steps: Time steps.
        machine: The machine.
        vary: One of :data:`VARIED`.
        factors: By which it is multiplied; 1 is always there.
        metric: What the tiling is chosen by.
        dtype: Element type.
        model: ``exact`` or ``published``.
        scope: Who shares the bandwidth, as for :func:`tilewright.predict`.

    Returns:
        The sweep by increasing factor.

    Raises:
        UsageError: If anything is unknown or out of range.
    """
    if vary not in VARIED:
        raise UsageError(f"what is varied is one of {', '.join(VARIED)}, got {vary!r}")
    if metric not in choices.METRICS:
        raise UsageError(f"the metric is one of {', '.join(choices.METRICS)}, got {metric!r}")
    if any(not (np.isfinite(factor) and factor > 0) for factor in factors):
        raise UsageError(f"a quantity is varied by factors above 0, got {list(factors)!r}")
    problem, where = make_problem(as_program(program), shape, steps, dtype), as_machine(machine)
    how = (metric, model, scope)
    held = _best(problem, where, how)[0]
    rows = []
    for factor in sorted({1.0, *(factors or (_CLOCKS if vary == "clock" else FACTORS))}):
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
        cost = cost_of(result, how[0])
        index = 0 if family == "none" else selection.best(cost, sizes)
        if index is not None and (found is None or cost[index] < found[2]):
            tiling = NONE if family == "none" else space.tiling_at(family, sizes, index)
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
    cost = float(cost_of(result, how[0])[0])
    return cost if np.isfinite(cost) else None


def _varied(problem: Problem, machine: Machine, vary: str, factor: float) -> tuple[Problem, Machine, str]:
    """Return the problem and the machine of one point, and what the varied quantity is there."""
    if vary == "size":
        shape = tuple(max(1, round(extent * factor)) for extent in problem.shape)
        return dataclasses.replace(problem, shape=shape), machine, "x".join(map(str, shape))
    if vary == "steps":
        steps = max(1, round(problem.steps * factor))
        return dataclasses.replace(problem, steps=steps), machine, f"{steps} steps"
    if vary == "clock":
        changed = at_clock(machine, factor)
        return problem, changed, f"{changed.clock.value / 1e6:.0f} MHz"
    values = {name: _scaled(getattr(machine, name), factor) for name in _FIELDS[vary] if getattr(machine, name)}
    changed = dataclasses.replace(machine, **values)  # type: ignore[arg-type]
    first = values[_FIELDS[vary][0]]
    return problem, changed, f"{first.value:g}" if first.unit == "1" else f"{first.value:.4g} {first.unit}"


def _scaled(quantity: Quantity, factor: float) -> Quantity:
    """Scale a quantity; counts and bytes stay whole and at least 1."""
    value = factor * quantity.value
    if quantity.unit in {"1", "B"}:
        value = max(1, round(value))
    return dataclasses.replace(quantity, value=value, low=None, high=None)
