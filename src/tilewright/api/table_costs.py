"""Costs of recurrences for ``predict``, ``select`` and ``energy``: the model's entry for tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.api.table import Table
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.names import meant
from tilewright.costs import orthogonal as model
from tilewright.costs.orthogonal import TableCase
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.programs import recurrences
from tilewright.programs.table import Recurrence
from tilewright.tilings import orthogonal
from tilewright.tilings.legality import Violation
from tilewright.tilings.tiling import Tiling, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRequest:
    """What is asked about a table, as ``predict`` takes it.

    Attributes:
        shape: Rows and columns.
        steps: Must be 1: a table is filled once.
        dtype: Element type; ``float32``, the stencils' default, stands for int32, the tables' own.
        model: Must be ``exact``: nothing is printed for the time.
        scope: Who shares the bandwidth, or None.
    """

    shape: tuple[int, ...]
    steps: int
    dtype: str
    model: str
    scope: str | None


def table_of(program: object) -> Recurrence | None:
    """Return the recurrence that a user means, or None if it is no recurrence."""
    if isinstance(program, Recurrence):
        return program
    if isinstance(program, Table):
        return program.recurrence
    if isinstance(program, str) and program in recurrences.names():
        return recurrences.recurrence_named(program)
    return None


def check_settings(table: Recurrence, scalars: Mapping[str, object]) -> None:
    """Check the scalars of a recurrence by name; they cost nothing.

    Raises:
        UsageError: If a name is none of its scalars.
    """
    unknown = [name for name in scalars if name not in table.scalars]
    if unknown:
        known = f"its scalars are {', '.join(table.scalars)}" if table.scalars else "it takes no scalars"
        raise UsageError(f"{table.name!r} has no scalar {unknown[0]!r}", meant(unknown[0], table.scalars, known))


def refuse_table(program: object, what: str) -> None:
    """Refuse a recurrence where only stencils are taken.

    Args:
        program: What a user gave.
        what: What is not there, such as "is not tuned by measuring".

    Raises:
        UsageError: If it is a recurrence.
    """
    table = table_of(program)
    if table is not None:
        hint = "`predict --top 5` ranks its tiles, `whatif` moves the problem, `run --tile` takes one"
        raise UsageError(f"{table.name!r} is a recurrence, which {what}", hint)


def case_of(program: Recurrence, asked: TableRequest, machine: Machine) -> TableCase:
    """Return a table on a machine.

    Raises:
        UsageError: If the request is not one for a table.
    """
    if asked.steps != 1:
        raise UsageError(f"the table of {program.name!r} is filled once, got {asked.steps} steps", "leave --steps out")
    if asked.model != "exact":
        raise UsageError(f"the time of a table has the model exact only, got {asked.model!r}")
    dtype = "int32" if asked.dtype == "float32" else asked.dtype
    return model.make_case(program, asked.shape, dtype, machine, asked.scope)


def costs_of(case: TableCase, tiling: Tiling | str | None) -> tuple[Tiling, Costs]:
    """Return the costs of a tiling, of the fastest one by default.

    Raises:
        UsageError: If the tiling does not apply or fit.
        IllegalTilingError: If it breaks a dependence.
    """
    if tiling is None:
        return ranked(case, "time")[0]
    asked = parse(tiling) if isinstance(tiling, str) else tiling
    complete = orthogonal.complete_table(case.program, asked)
    _check(case.program, complete)
    return complete, model.predict(case, complete)


def _check(program: Recurrence, tiling: Tiling) -> None:
    verdict = orthogonal.check_table(program, tiling)
    if isinstance(verdict, Violation):
        raise IllegalTilingError(verdict.reason, verdict.hint)


def ranked(case: TableCase, metric: str) -> list[tuple[Tiling, Costs]]:
    """Return the tilings of the grid of sizes that fit, best first by a metric.

    Raises:
        UsageError: If none fits.
        IllegalTilingError: If no orthogonal tile is legal.
    """
    up, left = case.program.reach
    _check(case.program, Tiling(family="orthogonal", time=max(1, up), space=(max(1, left),), sub=(max(1, left),)))
    every = sorted(model.best(case), key=lambda pair: value(pair[1], metric))
    if not every:
        raise UsageError(f"no orthogonal tile of {case.program.name!r} fits {case.machine.name}")
    return every


def value(costs: Costs, metric: str) -> float:
    """Return what a metric makes of costs.

    Raises:
        UsageError: If there is no such metric.
    """
    joules = costs.joules or 0.0
    values = {
        "time": costs.seconds,
        "traffic": costs.dram_bytes,
        "energy": joules,
        "power": joules / costs.seconds if costs.seconds else 0.0,
        "edp": joules * costs.seconds,
        "ed2p": joules * costs.seconds**2,
    }
    if metric not in values:
        raise UsageError(f"the metric is one of {', '.join(values)}, got {metric!r}")
    return values[metric]
