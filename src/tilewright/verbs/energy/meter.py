"""``tilewright energy --meter``: the joules of a real run, and the file of runs that ``--fit`` reads."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.base.units import format_shape
from tilewright.driver import prepare
from tilewright.inputs.files import random_arrays, random_profiles
from tilewright.plan import Target, read_target
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import power
from tilewright.runtime.devices.drivers import open_device
from tilewright.schedules.tiling import Tiling
from tilewright.verbs.energy.fit import FitRun, read_runs, write_runs
from tilewright.verbs.running.run import run

METERS = ("rapl", "nvml")
_SEED = 20
_COOL = 1.0
"""Seconds between windows, so that the heat of one is gone before the next."""


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
        one = self.run
        spread = f", {self.low:.4g} to {self.high:.4g} J in {self.windows} windows" if self.windows else ""
        return (
            f"{one.program} {format_shape(one.shape)}, {one.steps} steps, {one.tiling}: {one.joules:.4g} J in "
            f"{one.seconds:.4g} s, {self.watts:.4g} W by {self.meter}{spread}"
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
        found = power.measure(work, counter, window=window, windows=windows, cool=cool)
    finally:
        counter.close()
    return Metered(
        run=case(tiling=chosen, seconds=found.seconds, joules=found.joules),
        low=found.low,
        high=found.high,
        windows=found.windows,
        repetitions=found.repetitions,
        meter=found.meter,
    )


def card(number: str, target: Target) -> int | str:
    """Return which card NVML reads: where the backend's device is, as NVML's numbers are not CUDA's; or a number."""
    if number and not number.isdecimal():
        raise UsageError(f"a card is a number, got {number!r}", "nvml:0 is the first one")
    return int(number) if number else (open_device(target).describe().bus or 0)


def append_run(path: Path, metered: Metered) -> int:
    """Add a run to a file of runs, which is made if there is none; returns the runs that it holds."""
    known = read_runs(path) if path.exists() else ()
    write_runs((*known, metered.run), path)
    return len(known) + 1
