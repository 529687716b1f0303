"""``tilewright energy --fit``: energy constants from a CSV file of metered runs, judged on runs held out."""

import csv
import dataclasses
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded, write_rows
from tilewright.base.units import format_shape, parse_shape
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.fit import FITTED, Regression, columns, regress, rmse, split
from tilewright.costs.energy.price import Usage
from tilewright.costs.published import energy as published
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads import stencil

COLUMNS = ("program", "shape", "steps", "tiling", "seconds", "joules")
_MAX_BYTES = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRun:
    """One metered run."""

    program: str  # name of a built-in program
    shape: tuple[int, ...]  # extents
    steps: int  # time steps
    tiling: str  # the tiling as text
    seconds: float  # measured, above 0
    joules: float  # measured, above 0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyFit:
    """Fitted constants and how they do."""

    machine: str  # name of the machine
    regression: Regression  # the fit to the training runs
    held_out: tuple[tuple[str, FitScore], ...]  # the score over all runs held out, under ``all``, and per program

    def to_dict(self) -> dict[str, object]:
        """Return the fit as plain data."""
        return {
            "machine": self.machine,
            "constants": {
                name: {"value": value, "low": low, "high": high}
                for name, value, low, high in zip(
                    self.regression.names,
                    self.regression.values,
                    self.regression.low,
                    self.regression.high,
                    strict=True,
                )
            },
            "alike": [list(group) for group in self.regression.alike],
            "trained_on": self.regression.runs,
            "rmse_trained": self.regression.rmse,
            "held_out": {name: dataclasses.asdict(score) for name, score in self.held_out},
        }


def read_runs(path: Path) -> tuple[FitRun, ...]:
    """Read metered runs: a CSV file with the columns program, shape, steps, tiling, seconds, joules."""
    data = read_bounded(path, _MAX_BYTES, "file of runs")
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise UsageError(f"the runs {str(path)!r} are not a CSV file") from None
    return tuple(_run(row, number, path) for number, row in enumerate(rows, 2))


def write_runs(runs: Sequence[FitRun], path: Path) -> None:
    """Write runs as :func:`read_runs` reads them."""
    rows = (
        (run.program, format_shape(run.shape), run.steps, run.tiling, repr(run.seconds), repr(run.joules))
        for run in runs
    )
    write_rows(path, COLUMNS, rows)


def _run(row: dict[str, str], number: int, path: Path) -> FitRun:
    try:
        texts = {name: row[name].strip() for name in COLUMNS}
        seconds, joules, steps = float(texts["seconds"]), float(texts["joules"]), int(texts["steps"])
    except (KeyError, AttributeError, ValueError):
        raise UsageError(f"line {number} of {str(path)!r} lacks a column or a number", ", ".join(COLUMNS)) from None
    if not (math.isfinite(seconds) and seconds > 0 and math.isfinite(joules) and joules > 0):
        raise UsageError(f"line {number} of {str(path)!r} must have seconds and joules above 0")
    return FitRun(
        program=texts["program"],
        shape=parse_shape(texts["shape"]),
        steps=steps,
        tiling=texts["tiling"],
        seconds=seconds,
        joules=joules,
    )


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
