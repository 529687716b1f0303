"""``tilewright energy --micro``: the energy of single operations by a power meter, into a machine file."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.api.predict import MachineLike, as_machine
from tilewright.base.errors import UsageError
from tilewright.costs.energy_micro import BENCHMARKS, ROUNDS, Estimate, Window, solve
from tilewright.machines.machine import PARAMETERS, Machine, Quantity
from tilewright.runtime import energy_micro as runtime
from tilewright.runtime import power
from tilewright.runtime.host import thread_count
from tilewright.runtime.toolchain import toolchain

COLUMNS = ("round", "benchmark", "start", "end", "operations")
_COOL = 1.0
_SAMPLES = 4
"""A recorded trace has at least so many samples per window."""
_MAX_BYTES = 2**24


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
        """Return it as plain data, the JSON document of ``tilewright energy --micro``."""
        known = {each.name: each.to_dict() for each in self.constants}
        return {"machine": self.machine.name, "meter": self.meter, "constants": known}


def micro_energy(
    machine: MachineLike = "host",
    *,
    meter: str = "rapl",
    log: Path | None = None,
    window: float = power.WINDOW,
    rounds: int = 5,
    cool: float = _COOL,
) -> MicroEnergy:
    """Meter micro-benchmarks of single operations on all threads of this processor and solve for its constants.

    Args:
        machine: The processor, whose other parameters are kept.
        meter: ``rapl``, or the path of a trace of seconds since 1970 and watts that was recorded meanwhile.
        log: Where the windows are written; with a trace, where :func:`log_windows` wrote them: nothing runs then.
        window: Seconds of a window, at least 1.
        rounds: Number of rounds; each runs every benchmark once.
        cool: Seconds between windows.

    Returns:
        The constants, each with its 95 % confidence interval over the rounds.

    Raises:
        UsageError: If the meter is not there, a window is too short, or a trace does not cover the windows.
        ToolchainError: If there is no compiler that works.
    """
    where = _cpu(machine)
    if meter == "rapl":
        _check(window, rounds, cool)
        counter = power.rapl()
        try:
            windows = _run(where, counter, (window, rounds, cool))
        finally:
            counter.close()
        if log is not None:
            write_windows(windows, log)
    elif meter.partition(":")[0] == "nvml":
        raise UsageError("single operations are metered on this CPU only, nvml meters a GPU", "give --meter rapl")
    elif log is None:
        hint = "run `tilewright energy --micro --log windows.csv` while the meter records, then give both files"
        raise UsageError(f"the trace {meter!r} does not say when each benchmark ran", hint)
    else:
        windows = _traced(read_windows(log), power.trace(Path(meter)))
    found = solve(windows)
    return MicroEnergy(machine=_with(where, found, meter), constants=found, meter=meter)


def log_windows(
    machine: MachineLike = "host",
    *,
    log: Path,
    window: float = power.WINDOW,
    rounds: int = 5,
    cool: float = _COOL,
) -> int:
    """Run the micro-benchmarks while some other meter records, and write when each ran; returns the windows.

    Args:
        machine: As for :func:`micro_energy`.
        log: The file to write: round, benchmark, start and end in seconds since 1970, operations.
        window: Seconds of a window, at least 1.
        rounds: Number of rounds.
        cool: Seconds between windows.

    Raises:
        UsageError: If a window is too short or the file cannot be written.
        ToolchainError: If there is no compiler that works.
    """
    _check(window, rounds, cool)
    windows = _run(_cpu(machine), None, (window, rounds, cool))
    write_windows(windows, log)
    return len(windows)


def write_windows(windows: Sequence[Window], path: Path) -> None:
    """Write when each benchmark ran, as :func:`read_windows` reads it.

    Raises:
        UsageError: If the file cannot be written.
    """
    try:
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(COLUMNS)
            writer.writerows([getattr(each, name) for name in COLUMNS] for each in windows)
    except OSError as error:
        raise UsageError(f"the windows {str(path)!r} cannot be written: {error.strerror}") from None


def read_windows(path: Path) -> tuple[Window, ...]:
    """Read when each benchmark ran.

    Raises:
        UsageError: If the file cannot be read or is not as it must be.
    """
    try:
        with path.open("rb") as stream:  # never more: a device has no end
            text = stream.read(_MAX_BYTES).decode("utf-8")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        windows = tuple(
            Window(
                round=int(row["round"]),
                benchmark=row["benchmark"],
                start=float(row["start"]),
                end=float(row["end"]),
                operations=float(row["operations"]),
            )
            for row in rows
        )
    except OSError as error:
        raise UsageError(f"the windows {str(path)!r} cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, csv.Error):
        raise UsageError(f"the windows {str(path)!r} must be a CSV file of {', '.join(COLUMNS)}") from None
    unknown = next((each.benchmark for each in windows if each.benchmark not in BENCHMARKS), None)
    if unknown is not None:
        raise UsageError(f"{str(path)!r} names an unknown benchmark {unknown!r}", f"known: {', '.join(BENCHMARKS)}")
    return windows


def _cpu(machine: MachineLike) -> Machine:
    where = as_machine(machine)
    if where.kind != "cpu":
        raise UsageError(f"single operations are metered on this CPU, and {where.name} is none", "give --machine host")
    return where


def _check(window: float, rounds: int, cool: float) -> None:
    if not power.WINDOW <= window <= 3600:
        hint = "counters and sensors update only every 1 to 100 ms"
        raise UsageError(f"a window lasts {power.WINDOW:g} to 3600 s, got {window:g} s", hint)
    if not ROUNDS[0] <= rounds <= ROUNDS[1]:
        raise UsageError(f"an uncertainty needs {ROUNDS[0]} to {ROUNDS[1]} rounds of windows, got {rounds}")
    if not 0 <= cool <= 3600:
        raise UsageError(f"cooling down takes 0 to 3600 s, got {cool:g} s")


def _run(machine: Machine, meter: power.Meter | None, how: tuple[float, int, float]) -> tuple[Window, ...]:
    tools = toolchain()
    threads = thread_count() if tools.openmp else 1
    works = runtime.prepare(machine, tools, threads)
    return runtime.run_rounds(works, meter, window=how[0], rounds=how[1], cool=how[2])


def _traced(windows: Sequence[Window], trace: power.Trace) -> tuple[Window, ...]:
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


def _with(machine: Machine, found: Sequence[Estimate], meter: str) -> Machine:
    """Enter the constants of the model into a machine."""
    by = "RAPL" if meter == "rapl" else "a recorded trace"
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
