"""``tilewright whatif``: how time, energy and efficiency move with problem and machine (thesis, 8.1 and 8.3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.interval import ranges
from tilewright.costs.time import Costs
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import energy as choices
from tilewright.verbs.dispatch import AnyProgram, workload_of
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.verbs.stencil import ProgramLike, as_program
from tilewright.verbs.sweep import Row, WhatIf, factors_of, larger, varied_machine
from tilewright.workload import Request, Workload
from tilewright.workloads import stencil


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
        vary: One of :data:`~tilewright.verbs.sweep.VARIED`.
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
    asked = Request(shape=shape, steps=steps, dtype=dtype, model=model, scope=scope)
    work = workload_of(program, scalars, asked, where)
    held = _best(work, metric)[0]
    rows = [_row(factor, *_varied(work, vary, factor), held, metric) for factor in scales]
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


def _row(factor: float, work: Workload, amount: str, held: Tiling, metric: str) -> Row:
    tiling, costs = _best(work, metric)
    least, expected = choices.of_costs([costs], metric)[0], work.expected(held)
    kept = _cost(expected, metric)
    if expected is not None and kept is not None and kept < least:
        # The grid of sizes is coarse, and moves with the problem and the machine.
        tiling, costs, least = held, expected, kept
    ideal = work.ideal_seconds(tiling)
    return Row(
        factor=factor,
        amount=amount,
        tiling=tiling,
        costs=costs,
        efficiency=ideal / costs.seconds if costs.seconds > 0 else 0.0,
        reuse_loss=None if kept is None else kept / least - 1.0,
    )


def _best(work: Workload, metric: str) -> tuple[Tiling, Costs]:
    """Return the best tiling of a coarse grid of sizes and its costs."""
    found = work.ranked(metric, within=0.0, top=1, points="coarse")
    if not found:
        raise UsageError(f"no tiling of {work.problem.program.name} fits {work.machine.name}")
    return found[0]


def _cost(costs: Costs | None, metric: str) -> float | None:
    return None if costs is None else float(choices.of_costs([costs], metric)[0])


def _varied(work: Workload, vary: str, factor: float) -> tuple[Workload, str]:
    """Return the workload of one point, and what the varied quantity is there."""
    problem = work.problem
    if vary == "size":
        shape = larger(problem.shape, factor)
        return work.changed(work.machine, shape, problem.steps), "x".join(map(str, shape))
    if vary == "steps":
        steps = max(1, round(problem.steps * factor))
        return work.changed(work.machine, problem.shape, steps), f"{steps} steps"
    machine, amount = varied_machine(work.machine, vary, factor)
    return work.changed(machine, problem.shape, problem.steps), amount
