"""Metered runs: the joules of real ones, the CSV file that keeps them, and energy constants fitted to it.

``tilewright energy --meter`` measures and keeps runs; ``--fit`` judges the constants on runs held out.
"""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.documents import Positive, Shape, read_rows
from tilewright.base.errors import UsageError
from tilewright.base.paths import write_rows
from tilewright.base.records import Record
from tilewright.base.units import format_shape
from tilewright.costs.accuracy import Comparison
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.fit import FITTED, Regression, columns, regress, split
from tilewright.costs.energy.price import Usage
from tilewright.costs.published import energy as published
from tilewright.driver import prepare
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity
from tilewright.plan import Target, read_target
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.report import energy as tables
from tilewright.runtime import power
from tilewright.runtime.devices.drivers import open_device
from tilewright.runtime.samples import random_arrays, random_profiles
from tilewright.schedules.tiling import Tiling, parse
from tilewright.tuning import stencil
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.verbs.running.run import run

METERS = ("rapl", "nvml")
_SEED = 20
_COOL = 1.0  # seconds between windows, so that the heat of one is gone before the next
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
        fit = self.regression
        rows = zip(fit.names, fit.values, fit.low, fit.high, strict=True)
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
    training, test = split(len(runs), train, seed, least=len(FITTED))
    fitted = regress(table[training], joules[training])
    groups = {"all": test}
    for name in dict.fromkeys(each.program for each in runs):
        groups[name] = np.array([i for i in test if runs[i].program == name], dtype=np.int64)
    own = constants(where).vector()[: len(FITTED)]
    scores = {
        name: FitScore(
            runs=len(index),
            fitted=Comparison(predicted=table[index] @ fitted.vector(), measured=joules[index]).rmse,
            machine=Comparison(predicted=table[index] @ own, measured=joules[index]).rmse,
        )
        for name, index in groups.items()
        if len(index)
    }
    return EnergyFit(machine=where.name, regression=fitted, held_out=tuple(scores.items()))


def with_fit(machine: MachineLike, fit: EnergyFit) -> Machine:
    """Return the machine with the fitted constants, measured, each with the interval in which the fit is as good."""
    where, regression = as_machine(machine), fit.regression
    quantities = {}
    for i, name in enumerate(regression.names):
        group = next((each for each in regression.alike if name in each), ())
        clause = f"; only a combination of {', '.join(group)} is determined" if group else ""
        quantities[name] = Quantity(
            value=regression.values[i],
            unit=PARAMETERS[name].unit,
            source="measured",
            note=f"regression over {regression.runs} metered runs{clause}",
            low=regression.low[i],
            high=regression.high[i],
        )
    changes: dict[str, object] = {"name": f"{where.name}-fitted", **quantities}
    return dataclasses.replace(where, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Metered(Record):
    """One metered run."""

    KEYS = "*=run watts low high windows repetitions meter"

    run: FitRun  # what ran, with its mean time and energy of the whole package or card
    low: float  # least joules of any window
    high: float  # most joules of any window
    windows: int  # how many were measured; 0 for a recorded trace
    repetitions: int  # runs per window
    meter: str  # what measured it

    @property
    def watts(self) -> float:
        """Average power."""
        return self.run.joules / self.run.seconds

    def __str__(self) -> str:
        run = self.run
        spread = f", {self.low:.4g} to {self.high:.4g} J in {self.windows} windows" if self.windows else ""
        return (
            f"{run.program} {format_shape(run.shape)}, {run.steps} steps, {run.tiling}: {run.joules:.4g} J in "
            f"{run.seconds:.4g} s, {self.watts:.4g} W by {self.meter}{spread}"
        )


def meter_run(
    program: str,
    *,
    shape: tuple[int, ...],
    steps: int,
    tiling: Tiling | str | None = None,
    meter: str = "rapl",  # ``rapl``, ``nvml``, ``nvml:1`` for another card, or a recorded trace of seconds and watts
    between: tuple[float, float] | None = None,  # a run's start and end by a recorded trace's clock; nothing runs then
    backend: str = "c",
    window: float = power.WINDOW,  # s, at least
    windows: int = 3,
    cool: float = _COOL,  # s between windows
) -> Metered:
    """Measure the energy of a built-in stencil on this machine.

    The run is repeated until a window is full, since counters and sensors update slowly; whole calls are metered,
    copies included.
    """
    problem = make_problem(catalogue.program(program), shape, steps)
    case = functools.partial(FitRun, program=program, shape=shape, steps=steps)
    kind, _, number = meter.partition(":")
    if (kind not in METERS) != (between is not None):
        raise UsageError(
            f"a recorded trace is a file and needs to know when the run began and ended, got the meter {meter!r}",
            f"the meters are {', '.join(METERS)}; or --meter trace.csv --between 12.5:22.5 --tile TILING",
        )
    if between is not None:
        if tiling is None:
            raise UsageError("which tiling the recorded run took is not in its trace", "give --tile")
        joules = power.trace(Path(meter)).joules(*between)
        recorded = case(tiling=str(tiling), seconds=between[1] - between[0], joules=joules)
        return Metered(run=recorded, low=joules, high=joules, windows=0, repetitions=1, meter=meter)
    target = read_target(backend)
    if kind == "nvml" and not target.on_device:
        raise UsageError("nvml meters a GPU, the run takes none", "give --backend cuda or opencl, or --meter rapl")
    chosen = str(prepare(problem, target, tiling).plan.tiling)
    arrays = random_arrays(problem.program, shape, problem.dtype, _SEED)
    parts = dict(problem.program.subdomains)
    arrays = tuple(
        parts[field].cut(array) if field in parts else array
        for field, array in zip(problem.program.fields, arrays, strict=True)
    )
    scalars: dict[str, Any] = dict.fromkeys(problem.program.scalars, 0.1)
    scalars |= random_profiles(problem.program, shape, _SEED)

    def work() -> object:
        return run(program, *arrays, steps=steps, tiling=chosen, backend=backend, **scalars)

    counter: power.EnergyMeter = power.rapl() if kind == "rapl" else power.nvml(card(number, target))
    try:
        reading = power.measure(work, counter, window=window, windows=windows, cool=cool)
    finally:
        counter.close()
    return Metered(
        run=case(tiling=chosen, seconds=reading.seconds, joules=reading.joules),
        low=reading.low,
        high=reading.high,
        windows=reading.windows,
        repetitions=reading.repetitions,
        meter=reading.meter,
    )


def card(number: str, target: Target) -> int | str:
    """Return which card NVML reads: where the backend's device is, as NVML's numbers are not CUDA's; or a number."""
    if number and not number.isdecimal():
        raise UsageError(f"a card is a number, got {number!r}", "nvml:0 is the first one")
    return int(number) if number else (open_device(target).describe().bus or 0)


def append_run(path: Path, metered: Metered) -> int:
    """Add a run to a file of runs, which is made if there is none; returns the runs that it holds."""
    runs = read_runs(path) if path.exists() else ()
    write_runs((*runs, metered.run), path)
    return len(runs) + 1
