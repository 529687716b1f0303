"""``tilewright whatif``: how time, energy and efficiency move with problem and machine (thesis, 8.1 and 8.3)."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError, one_of
from tilewright.base.records import Record
from tilewright.costs.energy.constants import at_clock, settled
from tilewright.costs.interval import ranges
from tilewright.costs.time import Costs
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.problem import make_problem
from tilewright.report import energy as tables
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import select as choices
from tilewright.tuning import stencil
from tilewright.verbs.dispatch import AnyProgram, workload_of
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workload import Request, Workload

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
_CLOCKS = (0.4, 0.6, 0.8, 1.0, 1.2)
DROP = 0.9  # efficiency below this share of the best one of a sweep counts as a drop


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Row(Record):
    """One point of a sweep."""

    KEYS = (
        "factor amount tiling=tiling.__str__ seconds=costs.seconds joules=costs.joules watts "
        "gcells_per_second=costs.gcells_per_second efficiency bound_by=costs.bound_by reuse_loss"
    )

    factor: float  # what the varied quantity was multiplied by
    amount: str  # such as 4096x4096 or 26 multiprocessors
    tiling: Tiling  # the best tiling there
    costs: Costs
    efficiency: float  # the ideal time (8.3) over the predicted one
    # by which share the metric is worse with the best tiling of factor 1; None where it does not fit
    reuse_loss: float | None

    @property
    def watts(self) -> float | None:
        """Average power."""
        return self.costs.energy.watts if self.costs.energy else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WhatIf(Record):
    """A sweep."""

    KEYS = "program machine vary metric rows drops_at warning largest_shape=largest intervals"
    TABLE = staticmethod(tables.sweep)

    program: str  # name of the program
    machine: str  # name of the machine
    vary: str  # what was varied
    metric: str  # by which the best tiling is best
    rows: tuple[Row, ...]  # the points
    # largest extents of the same proportions that fit the machine's memory; None if unknown
    largest: tuple[int, ...] | None
    intervals: tuple[str, ...]  # how sure the times are

    @property
    def drops_at(self) -> tuple[str, ...]:
        """The amounts at which the efficiency is below 0.9 of the best one of the sweep."""
        best = max(row.efficiency for row in self.rows)
        return tuple(row.amount for row in self.rows if row.efficiency < DROP * best)

    @property
    def warning(self) -> str:
        """One sentence where the power at a point is above the board's, of the point with the most; else nothing."""
        powers = [row.costs.energy for row in self.rows if row.costs.energy is not None]
        return max(powers, key=lambda each: each.watts).warning if powers else ""


def whatif(
    program: AnyProgram,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike = "host",
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
        vary: One of :data:`~tilewright.verbs.whatif.VARIED`.
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
    scales, where = _factors_of(vary, factors, metric), as_machine(machine)
    request = Request(shape=shape, steps=steps, dtype=dtype, model=model, scope=scope)
    work = workload_of(program, scalars, request, where)
    base = _best(work, metric)[0]
    rows = [_row(factor, *_varied_work(work, vary, factor), base, metric) for factor in scales]
    return WhatIf(
        program=work.problem.program.name,
        machine=where.name,
        vary=vary,
        metric=metric,
        rows=tuple(rows),
        largest=largest_shape(work),
        intervals=ranges(
            (row.tiling.family for row in rows),
            cpu=where.kind == "cpu",
            threads=model == "exact" and len(work.problem.shape) > 1,
        ),
    )


def reuse(
    programs: Sequence[ProgramLike],
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike = "host",
    metric: str = "time",
    model: str = "exact",
    scope: str | None = None,
) -> dict[str, dict[str, float | None]]:
    """Return the loss of running one program with the best tiling of another.

    Args:
        programs: Two or more programs of one rank.
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
    if isinstance(programs, str) or not isinstance(programs, Sequence) or len(programs) < 2:
        raise UsageError(
            "a tiling is reused by another program: give two programs or more, as a list",
            'as in tw.reuse(["jacobi2d", "gradient2d"], shape=(4096, 4096), steps=128)',
        )
    where = as_machine(machine)
    problems = [make_problem(as_program(each), shape, steps) for each in programs]
    works = [stencil.on_machine(problem, where, model=model, scope=scope) for problem in problems]
    tilings = [_best(work, metric)[0] for work in works]
    costs = [[_cost(work.expected(tiling), metric) for work in works] for tiling in tilings]
    least = [min(cost for cost in column if cost is not None) for column in zip(*costs, strict=True)]
    names = [problem.program.name for problem in problems]
    return {
        giver: {
            taker: None if cost is None else cost / best - 1.0
            for taker, cost, best in zip(names, row, least, strict=True)
        }
        for giver, row in zip(names, costs, strict=True)
    }


def largest_shape(work: Workload) -> tuple[int, ...] | None:
    """Return the largest extents of a problem's proportions that fit the device's memory, or None if it is unknown."""
    if work.machine.memory_bytes is None:
        return None
    shape = work.problem.shape
    cells = work.machine.memory_bytes.value / work.cell_bytes
    scale = (cells / float(np.prod([float(extent) for extent in shape]))) ** (1.0 / len(shape))
    return tuple(max(1, int(scale * extent)) for extent in shape)


def _row(factor: float, work: Workload, amount: str, base: Tiling, metric: str) -> Row:
    tiling, costs = _best(work, metric)
    least, expected = choices.of_costs([costs], metric)[0], work.expected(base)
    cost = _cost(expected, metric)
    if expected is not None and cost is not None and cost < least:
        # The grid of sizes is coarse, and moves with the problem and the machine.
        tiling, costs, least = base, expected, cost
    ideal = work.ideal_seconds(tiling)
    return Row(
        factor=factor,
        amount=amount,
        tiling=tiling,
        costs=costs,
        efficiency=ideal / costs.seconds if costs.seconds > 0 else 0.0,
        reuse_loss=None if cost is None else cost / least - 1.0,
    )


def _best(work: Workload, metric: str) -> tuple[Tiling, Costs]:
    ranking = work.ranked(metric, within=0.0, top=1, points="coarse")
    if not ranking:
        raise UsageError(f"no tiling of {work.problem.program.name} fits {work.machine.name}")
    return ranking[0]


def _cost(costs: Costs | None, metric: str) -> float | None:
    return None if costs is None else float(choices.of_costs([costs], metric)[0])


def _varied_work(work: Workload, vary: str, factor: float) -> tuple[Workload, str]:
    problem = work.problem
    if vary == "size":
        shape = tuple(max(1, round(extent * factor)) for extent in problem.shape)
        return work.changed(work.machine, shape, problem.steps), "x".join(map(str, shape))
    if vary == "steps":
        steps = max(1, round(problem.steps * factor))
        return work.changed(work.machine, problem.shape, steps), f"{steps} steps"
    machine, amount = _varied_machine(work.machine, vary, factor)
    return work.changed(machine, problem.shape, problem.steps), amount


def _factors_of(vary: str, factors: Sequence[float], metric: str) -> tuple[float, ...]:
    one_of("what is varied", vary, VARIED)
    one_of("the metric", metric, choices.METRICS)
    if any(not (np.isfinite(factor) and factor > 0) for factor in factors):
        raise UsageError(f"a quantity is varied by factors above 0, got {list(factors)!r}")
    return tuple(sorted({1.0, *(factors or (_CLOCKS if vary == "clock" else FACTORS))}))


def _varied_machine(machine: Machine, vary: str, factor: float) -> tuple[Machine, str]:
    if vary == "clock":
        changed = at_clock(machine, factor)
        return changed, f"{changed.clock.value / 1e6:.0f} MHz"
    values = {name: _scale(getattr(machine, name), factor) for name in _FIELDS[vary] if getattr(machine, name)}
    changed = dataclasses.replace(settled(machine), **values)  # type: ignore[arg-type]
    first = values[_FIELDS[vary][0]]
    return changed, f"{first.value:g}" if first.unit == "1" else f"{first.value:.4g} {first.unit}"


def _scale(quantity: Quantity, factor: float) -> Quantity:
    """Scale a quantity; counts and bytes stay whole and at least 1."""
    value = factor * quantity.value
    if quantity.unit in {"1", "B"}:
        value = max(1, round(value))
    return quantity.at(value)
