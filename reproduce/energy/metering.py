"""The energy of single operations by a power meter, into a machine file."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from energy import cpu as runtime
from energy import gpu as energy_gpu
from energy.estimates import ROUNDS, Estimate, MeterWindow, benchmarks, solve
from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded, write_rows
from tilewright.machines.defaults import gpu_machine
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity
from tilewright.plan import Target, read_target
from tilewright.runtime import power
from tilewright.runtime.devices.drivers import open_device
from tilewright.runtime.host import thread_count
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.verbs.energy.runs import card
from tilewright.verbs.predict import MachineLike, as_machine

COLUMNS = ("round", "benchmark", "start", "end", "operations")
_METERED = ("rapl", "nvml")
_GPU_WINDOW = 3.0
"""Counters of GPUs move every 20 to 100 ms, and each end of a window may miss one such step."""
_GPU_WARM = 1.0
"""Sensors of some GPUs show the mean of the last second."""
_SAMPLES = 4
"""A recorded trace has at least so many samples per window."""
_MAX_BYTES = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterProtocol:
    """How long is metered.

    Attributes:
        window: Seconds of a window, at least 1; 1 on processors and 3 on GPUs, whose meters are slower, by default.
        rounds: Number of rounds; each runs every benchmark once.
        cool: Seconds between windows.
    """

    window: float | None = None
    rounds: int = 5
    cool: float = 1.0

    def pace(self, target: Target) -> runtime.Pace:
        """Return it for what runs."""
        usual, warm = (_GPU_WINDOW, _GPU_WARM) if target.on_device else (power.WINDOW, 0.0)
        return runtime.Pace(window=self.window or usual, rounds=self.rounds, cool=self.cool, warm=warm)

    def check(self) -> None:
        """Refuse what cannot be metered.

        Raises:
            UsageError: If anything is out of range.
        """
        if self.window is not None and not power.WINDOW <= self.window <= 3600:
            hint = "counters and sensors update only every 1 to 100 ms"
            raise UsageError(f"a window lasts {power.WINDOW:g} to 3600 s, got {self.window:g} s", hint)
        if not ROUNDS[0] <= self.rounds <= ROUNDS[1]:
            raise UsageError(f"an uncertainty needs {ROUNDS[0]} to {ROUNDS[1]} rounds of windows, got {self.rounds}")
        if not 0 <= self.cool <= 3600:
            raise UsageError(f"cooling down takes 0 to 3600 s, got {self.cool:g} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroEnergy:
    """What single operations take.

    Attributes:
        machine: The processor with the constants that were found, measured.
        constants: All estimates, also those that are no constants of the model.
        meter: What measured them.
    """

    machine: Machine
    constants: tuple[Estimate, ...]
    meter: str

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data, the JSON document of ``energy_micro.py``."""
        known = {each.name: each.to_dict() for each in self.constants}
        return {"machine": self.machine.name, "meter": self.meter, "constants": known}


def micro_energy(
    machine: MachineLike | None = None,
    *,
    meter: str | None = None,
    backend: str = "c",
    log: Path | None = None,
    how: MeterProtocol = MeterProtocol(),
) -> MicroEnergy:
    """Meter micro-benchmarks of single operations on all of this processor or GPU and solve for its constants.

    Args:
        machine: The machine whose other parameters are kept; this processor, or the GPU as its driver describes it, by
            default.
        meter: ``rapl`` for a processor, ``nvml`` or ``nvml:1`` for a GPU (the default), or the path of a trace of
            seconds since 1970 and watts that was recorded meanwhile.
        backend: ``c`` for this processor; ``cuda`` or ``opencl``, perhaps with a device, for a GPU.
        log: Where the windows are written; with a trace, where :func:`log_windows` wrote them: nothing runs then.
        how: How long windows are, and how many.

    Returns:
        The constants, each with its 95 % confidence interval over the rounds.

    Raises:
        UsageError: If the meter is not there, a window is too short, or a trace does not cover the windows.
        ToolchainError: If there is no compiler that works, or no GPU.
    """
    target = _target(backend)
    meter = meter or ("nvml" if target.on_device else "rapl")
    kind, _, number = meter.partition(":")
    if kind not in _METERED:
        if log is None:
            hint = "run energy_micro.py --log windows.csv while the meter records, then give both files"
            raise UsageError(f"the trace {meter!r} does not say when each benchmark ran", hint)
        where = _machine(machine, target)
        windows = _traced(read_windows(log, where.kind), power.trace(Path(meter)))
        said = "a recorded trace"
    else:
        how.check()
        _fitting(kind, target)
        where = _machine(machine, target)
        counter = power.rapl() if kind == "rapl" else _nvml(number, target)
        try:
            windows = _run(where, target, counter, how)
        finally:
            counter.close()
        said = f"{counter.name}, windows of {how.pace(target).window:g} s"
        if log is not None:
            write_windows(windows, log)
    found = solve(windows, where.kind)
    return MicroEnergy(machine=_with(where, found, said), constants=found, meter=meter)


def log_windows(
    machine: MachineLike | None = None, *, log: Path, backend: str = "c", how: MeterProtocol = MeterProtocol()
) -> int:
    """Run the micro-benchmarks while some other meter records, and write when each ran; returns the windows.

    Args:
        machine: As for :func:`micro_energy`.
        log: The file to write: round, benchmark, start and end in seconds since 1970, operations.
        backend: As for :func:`micro_energy`.
        how: How long windows are, and how many.

    Raises:
        UsageError: If a window is too short or the file cannot be written.
        ToolchainError: If there is no compiler that works, or no GPU.
    """
    how.check()
    target = _target(backend)
    windows = _run(_machine(machine, target), target, None, how)
    write_windows(windows, log)
    return len(windows)


def write_windows(windows: Sequence[MeterWindow], path: Path) -> None:
    """Write when each benchmark ran, as :func:`read_windows` reads it.

    Raises:
        UsageError: If the file cannot be written.
    """
    write_rows(path, COLUMNS, ([getattr(each, name) for name in COLUMNS] for each in windows))


def read_windows(path: Path, kind: str = "cpu") -> tuple[MeterWindow, ...]:
    """Read when each benchmark of a kind of machine ran.

    Raises:
        UsageError: If the file cannot be read or is not as it must be.
    """
    data = read_bounded(path, _MAX_BYTES, "file of windows")
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))
        windows = tuple(
            MeterWindow(
                round=int(row["round"]),
                benchmark=row["benchmark"],
                start=float(row["start"]),
                end=float(row["end"]),
                operations=float(row["operations"]),
            )
            for row in rows
        )
    except (KeyError, TypeError, ValueError, csv.Error):
        raise UsageError(f"the windows {str(path)!r} must be a CSV file of {', '.join(COLUMNS)}") from None
    unknown = next((each.benchmark for each in windows if each.benchmark not in benchmarks(kind)), None)
    if unknown is not None:
        raise UsageError(
            f"{str(path)!r} names an unknown benchmark {unknown!r}", f"known: {', '.join(benchmarks(kind))}"
        )
    return windows


def _target(backend: str) -> Target:
    refusal = "single operations are metered on the backends c, cuda and opencl"
    return read_target(backend, among=("c", "cuda", "opencl"), refusal=refusal)


def _fitting(meter: str, target: Target) -> None:
    """Refuse a meter of other things than what runs."""
    if meter == "nvml" and not target.on_device:
        raise UsageError("nvml meters a GPU, and this processor runs", "give --meter rapl, or --backend cuda")
    if meter == "rapl" and target.on_device:
        raise UsageError("rapl meters this processor, and a GPU runs", "give --meter nvml, or a recorded trace")


def _nvml(number: str, target: Target) -> power.Nvml:
    """Open the counter of a GPU; what is no GPU is refused before a missing meter."""
    which = card(number, target)
    energy_gpu.sizes_for(open_device(target).describe())
    return power.nvml(which)


def _machine(machine: MachineLike | None, target: Target) -> Machine:
    """Return the machine that is metered; with a GPU's backend and no machine, the GPU that the backend opens."""
    if machine is None and target.on_device:
        return gpu_machine(open_device(target).describe())
    where, kind = as_machine("host" if machine is None else machine), "gpu" if target.on_device else "cpu"
    if where.kind == kind:
        return where
    if kind == "cpu":
        raise UsageError(
            f"single operations are metered on this processor, and {where.name} is a GPU", "give --backend cuda"
        )
    raise UsageError(f"single operations are metered on a GPU, and {where.name} is none", "leave out --machine")


def _run(
    machine: Machine, target: Target, meter: power.EnergyMeter | None, how: MeterProtocol
) -> tuple[MeterWindow, ...]:
    pace = how.pace(target)
    if target.on_device:
        device = open_device(target)
        with energy_gpu.GpuBench(device, energy_gpu.sizes_for(device.describe())) as bench:
            return runtime.run_rounds(bench.works(), meter, pace)
    tools = toolchain()
    threads = thread_count() if tools.openmp else 1
    return runtime.run_rounds(runtime.prepare(machine, tools, threads), meter, pace)


def _traced(windows: Sequence[MeterWindow], trace: power.Trace) -> tuple[MeterWindow, ...]:
    """Read the energy of windows off a trace."""
    found = []
    for each in windows:
        if not (power.WINDOW <= each.seconds < float("inf")):
            raise UsageError(f"a window lasts at least {power.WINDOW:g} s, {each.benchmark!r} ran {each.seconds:g} s")
        joules = trace.joules(each.start, each.end)
        samples = sum(each.start <= moment <= each.end for moment in trace.seconds)
        if samples < _SAMPLES:
            raise UsageError(
                f"a window of {each.seconds:.3g} s has only {samples} samples of the trace, not {_SAMPLES}",
                "take longer windows: --window",
            )
        found.append(replace(each, joules=joules))
    return tuple(found)


def _with(machine: Machine, found: Sequence[Estimate], by: str) -> Machine:
    """Enter the constants of the model into a machine."""
    changes: dict[str, object] = {"name": f"{machine.name}-metered"}
    for each in found:
        if each.name in PARAMETERS:
            doubt = "" if each.resolved else ", not told apart from 0"
            changes[each.name] = Quantity(
                value=each.value,
                unit=PARAMETERS[each.name].unit,
                source="measured",
                note=f"micro-benchmark under {by}, {each.rounds} rounds{doubt}",
                low=each.low,
                high=each.high,
            )
    return replace(machine, **changes)  # type: ignore[arg-type]
