"""``tilewright whatif`` of a recurrence: its orthogonal tiles are chosen again at every point of a sweep."""

import dataclasses

import numpy as np

from tilewright.api.sweep import Row, WhatIf, larger, varied_machine
from tilewright.api.table_costs import TableRequest, case_of, costs_of, ranked, value
from tilewright.base.errors import UsageError
from tilewright.costs import orthogonal as model
from tilewright.costs.orthogonal import TableCase
from tilewright.machines.machine import Machine
from tilewright.programs.table import Recurrence
from tilewright.tilings.tiling import Tiling


def sweep_table(
    program: Recurrence, asked: TableRequest, machine: Machine, *, vary: str, factors: tuple[float, ...], metric: str
) -> WhatIf:
    """Vary a table or the machine and choose the best tile again at every point.

    Args:
        program: The recurrence.
        asked: Its shape and element type.
        machine: The machine.
        vary: What is varied: all that is of a stencil but ``steps``.
        factors: By which it is multiplied, 1 among them.
        metric: What the tile is chosen by.

    Returns:
        The sweep by increasing factor.

    Raises:
        UsageError: If a table has no such quantity, or no tile fits.
    """
    if vary == "steps":
        raise UsageError(f"the table of {program.name!r} is filled once, it has no steps to vary", "vary size")
    held = ranked(case_of(program, asked, machine), metric)[0][0]
    rows = []
    for factor in factors:
        request, where = asked, machine
        if vary == "size":
            request = dataclasses.replace(asked, shape=larger(asked.shape, factor))
            amount = "x".join(map(str, request.shape))
        else:
            where, amount = varied_machine(machine, vary, factor)
        rows.append(_row(factor, amount, case_of(program, request, where), held, metric))
    return WhatIf(
        program=program.name,
        machine=machine.name,
        vary=vary,
        metric=metric,
        rows=tuple(rows),
        largest=_largest(case_of(program, asked, machine)),
    )


def ideal_seconds(case: TableCase) -> float:
    """Return the time of all lanes computing all the time (thesis, 8.3)."""
    cells = case.shape[0] * case.shape[1]
    return cells * model.iteration_seconds(case).value / (case.machine.sm_count.value * case.lanes)


def _row(factor: float, amount: str, case: TableCase, held: Tiling, metric: str) -> Row:
    tiling, costs = ranked(case, metric)[0]
    least = value(costs, metric)
    try:
        kept = costs_of(case, held)[1]
    except UsageError:  # it does not fit there
        loss = None
    else:
        if value(kept, metric) < least:  # the grid of sizes is coarse, and moves with the table
            tiling, costs, least = held, kept, value(kept, metric)
        loss = value(kept, metric) / least - 1.0
    return Row(
        factor=factor,
        amount=amount,
        tiling=tiling,
        costs=costs,
        efficiency=ideal_seconds(case) / costs.seconds,
        reuse_loss=loss,
    )


def _largest(case: TableCase) -> tuple[int, ...] | None:
    """Return the largest whole tables of a table's proportions that fit the memory, or None if it is unknown."""
    if case.machine.memory_bytes is None:
        return None
    each = len(case.program.tables) * (1 if case.dtype == "bool" else np.dtype(case.dtype).itemsize)
    cells = case.machine.memory_bytes.value / each
    scale = (cells / (case.shape[0] * case.shape[1])) ** 0.5
    return tuple(max(1, int(scale * extent)) for extent in case.shape)
