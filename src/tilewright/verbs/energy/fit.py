"""``tilewright energy --fit``: energy constants from a CSV file of metered runs, judged on runs held out."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.documents import Positive, Shape, read_rows
from tilewright.base.paths import write_rows
from tilewright.base.records import Record
from tilewright.base.units import format_shape
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.fit import FITTED, Regression, columns, regress, rmse, split
from tilewright.costs.energy.price import Usage
from tilewright.costs.published import energy as published
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.report import energy as tables
from tilewright.schedules.tiling import parse
from tilewright.tuning import stencil
from tilewright.verbs.predict import MachineLike, as_machine

COLUMNS = ("program", "shape", "steps", "tiling", "seconds", "joules")
_MAX_BYTES = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRun:
    """One metered run."""

    program: str  # name of a built-in program
    shape: Shape  # extents
    steps: int  # time steps
    tiling: str  # the tiling as text
    seconds: Positive  # measured
    joules: Positive  # measured

    @property
    def instance(self) -> tuple[str, tuple[int, ...], int]:
        """What is computed, without how."""
        return self.program, self.shape, self.steps


@dataclass(frozen=True, slots=True, kw_only=True)
class FitScore:
    """How well constants predict runs: relative deviations."""

    runs: int  # number of runs
    fitted: float  # RMSE with the fitted constants
    machine: float  # RMSE with the machine's own


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EnergyFit(Record):
    """Fitted constants and how they do."""

    KEYS = (
        "machine constants=_constants alike=regression.alike trained_on=regression.runs "
        "rmse_trained=regression.rmse held_out=_held_out"
    )
    TABLE = staticmethod(tables.fit)

    machine: str  # name of the machine
    regression: Regression  # the fit to the training runs
    held_out: tuple[tuple[str, FitScore], ...]  # the score over all runs held out, under ``all``, and per program

    def _constants(self) -> dict[str, object]:
        one = self.regression
        rows = zip(one.names, one.values, one.low, one.high, strict=True)
        return {name: {"value": value, "low": low, "high": high} for name, value, low, high in rows}

    def _held_out(self) -> dict[str, FitScore]:
        return dict(self.held_out)


def read_runs(path: Path) -> tuple[FitRun, ...]:
    """Read metered runs: a CSV file with the columns program, shape, steps, tiling, seconds, joules."""
    return tuple(read_rows(path, _MAX_BYTES, "file of runs", FitRun))


def write_runs(runs: Sequence[FitRun], path: Path) -> None:
    """Write runs as :func:`read_runs` reads them."""
    rows = (
        (run.program, format_shape(run.shape), run.steps, run.tiling, repr(run.seconds), repr(run.joules))
        for run in runs
    )
    write_rows(path, COLUMNS, rows)


def run_usage(run: FitRun, machine: Machine) -> Usage:
    """Return the amounts of a run: the printed instance where there is one, else the general rule."""
    tiling = parse(run.tiling)
    tile = published.printed(run.program, run.shape, run.steps, tiling)
    if tile is not None:
        return tile.usage(run.seconds)
    problem = make_problem(catalogue.program(run.program), run.shape, run.steps)
    return stencil.on_machine(problem, machine).usage(tiling, run.seconds)[2]


def fit_energy(runs: Sequence[FitRun], machine: MachineLike, *, train: float = 0.1, seed: int = 0) -> EnergyFit:
    """Fit a machine's energy constants to a random share ``train`` of runs (0.1 in the papers) and score the others."""
    where = as_machine(machine)
    table = columns([run_usage(run, where) for run in runs], where.special_cycles.value)
    joules = np.array([run.joules for run in runs])
    picked, held = split(len(runs), train, seed, least=len(FITTED))
    fitted = regress(table[picked], joules[picked])
    groups = {"all": held}
    for name in dict.fromkeys(run.program for run in runs):
        groups[name] = np.array([i for i in held if runs[i].program == name], dtype=np.int64)
    own = constants(where).vector()[: len(FITTED)]
    scores = {
        name: FitScore(
            runs=len(index),
            fitted=rmse(table[index] @ fitted.vector(), joules[index]),
            machine=rmse(table[index] @ own, joules[index]),
        )
        for name, index in groups.items()
        if len(index)
    }
    return EnergyFit(machine=where.name, regression=fitted, held_out=tuple(scores.items()))


def with_fit(machine: MachineLike, fit: EnergyFit) -> Machine:
    """Return the machine with the fitted constants, measured, each with the interval in which the fit is as good."""
    where, regression = as_machine(machine), fit.regression
    found = {}
    for i, name in enumerate(regression.names):
        group = next((each for each in regression.alike if name in each), ())
        told = f"; only a combination of {', '.join(group)} is determined" if group else ""
        found[name] = Quantity(
            value=regression.values[i],
            unit=PARAMETERS[name].unit,
            source="measured",
            note=f"regression over {regression.runs} metered runs{told}",
            low=regression.low[i],
            high=regression.high[i],
        )
    changes: dict[str, object] = {"name": f"{where.name}-fitted", **found}
    return dataclasses.replace(where, **changes)  # type: ignore[arg-type]
