"""Power meters: NVIDIA's management library, RAPL through powercap, and recorded traces.

A meter is a counter of joules. Where a device counts energy itself (NVML since Volta, RAPL), the counter is read;
else power is sampled in a thread and integrated. A measurement repeats its work until a window of a second or more is
full, since counters and sensors update only every 1 to 100 ms, and the spread over several windows is its uncertainty.
"""

import importlib
import itertools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tilewright.base.documents import read_rows
from tilewright.base.errors import UsageError

POWERCAP = Path("/sys/class/powercap")
WINDOW = 1.0  # shortest window of a measurement in seconds
_INTERVAL = 0.01
_MAX_BYTES = 2**26
_HINT = "pip install 'tilewright[power]', or give a recorded trace"


class EnergyMeter(Protocol):
    """A counter of energy."""

    name: str

    def joules(self) -> float:
        """Return the joules since some fixed moment; never decreases."""
        ...

    def close(self) -> None:
        """Stop whatever the meter started."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The energy of one repetition of some work."""

    joules: float  # mean over all windows
    seconds: float  # likewise
    low: float  # joules, smallest of any window
    high: float  # joules, largest of any window
    windows: int
    repetitions: int  # per window
    meter: str  # what measured it

    @property
    def watts(self) -> float:
        """Average power."""
        return self.joules / self.seconds


@dataclass(slots=True)
class Rapl:
    """Energy of the processor packages as the kernel's powercap files tell it; counters that wrap are unrolled."""

    files: tuple[Path, ...]
    ranges: tuple[float, ...]
    name: str = "RAPL"
    _last: list[float] = field(default_factory=list)
    _sum: float = 0.0

    def joules(self) -> float:
        """Return the joules of all packages since the meter was made."""
        now = [_number(path) for path in self.files]
        for before, after, span in zip(self._last, now, self.ranges, strict=True):
            self._sum += after - before + (span if after < before else 0.0)
        self._last = now
        return 1e-6 * self._sum

    def close(self) -> None:
        """Do nothing: there is nothing to stop."""


@dataclass(slots=True)
class Nvml:
    """Energy of one NVIDIA GPU: its own counter, or its power sampled and integrated by a thread."""

    library: Any
    handle: Any
    counts: bool
    name: str = "NVML"
    _sum: float = 0.0
    _thread: threading.Thread | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def joules(self) -> float:
        """Return the joules of the GPU since some fixed moment."""
        if self.counts:
            return 1e-3 * float(self.library.nvmlDeviceGetTotalEnergyConsumption(self.handle))
        with self._lock:
            return self._sum

    def start(self) -> None:
        """Start sampling where the GPU does not count."""
        if not self.counts:
            self._thread = threading.Thread(target=self._sample, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop sampling."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.library.nvmlShutdown()

    def _sample(self) -> None:
        before, watts = time.perf_counter(), self._watts()
        while not self._stop.wait(_INTERVAL):
            now, after = time.perf_counter(), self._watts()
            with self._lock:
                self._sum += 0.5 * (watts + after) * (now - before)
            before, watts = now, after

    def _watts(self) -> float:
        return 1e-3 * float(self.library.nvmlDeviceGetPowerUsage(self.handle))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded power trace."""

    seconds: tuple[float, ...]  # increasing
    watts: tuple[float, ...]  # at these times

    def joules(self, start: float, end: float) -> float:
        """Return the energy between two moments of the trace, power changing linearly between samples."""
        if not self.seconds[0] <= start < end <= self.seconds[-1]:
            raise UsageError(
                f"the trace covers {self.seconds[0]:g} to {self.seconds[-1]:g} s, asked for {start:g} to {end:g} s"
            )
        inner = [(t, w) for t, w in zip(self.seconds, self.watts, strict=True) if start < t < end]
        points = [(start, self._at(start)), *inner, (end, self._at(end))]
        return sum(0.5 * (a[1] + b[1]) * (b[0] - a[0]) for a, b in itertools.pairwise(points))

    def _at(self, moment: float) -> float:
        later = next(i for i, t in enumerate(self.seconds) if t >= moment)
        if later == 0:
            return self.watts[0]
        (t0, t1), (w0, w1) = self.seconds[later - 1 : later + 1], self.watts[later - 1 : later + 1]
        return w0 + (w1 - w0) * (moment - t0) / (t1 - t0)


def rapl(root: Path = POWERCAP) -> Rapl:
    """Open the energy counters of the processor packages."""
    folders = [path.parent for path in sorted(root.glob("*-rapl:*/energy_uj")) if path.parent.name.count(":") == 1]
    if not folders:
        hint = "a virtual machine seldom has one; give a recorded trace"
        raise UsageError(f"there is no energy counter of the processor under {str(root)!r}", hint)
    meter = Rapl(
        files=tuple(folder / "energy_uj" for folder in folders),
        ranges=tuple(_number(folder / "max_energy_range_uj") for folder in folders),
        _last=[_number(folder / "energy_uj") for folder in folders],
    )
    meter.joules()
    return meter


def nvml(device: int | str = 0) -> Nvml:
    """Open the meter of an NVIDIA GPU, by its number in NVML, which need not be CUDA's, or place (``0000:65:00.0``)."""
    try:
        library = importlib.import_module("pynvml")
    except ImportError:
        raise UsageError("metering a GPU needs nvidia-ml-py", _HINT) from None
    try:
        library.nvmlInit()
        if isinstance(device, int):
            handle = library.nvmlDeviceGetHandleByIndex(device)
        else:
            handle = library.nvmlDeviceGetHandleByPciBusId(device.encode())
    except library.NVMLError as error:
        raise UsageError(f"the GPU {device} cannot be metered: {error}", _HINT) from None
    try:
        library.nvmlDeviceGetTotalEnergyConsumption(handle)
        counts = True
    except library.NVMLError:
        counts = False
    meter = Nvml(library=library, handle=handle, counts=counts)
    if not counts:
        try:
            library.nvmlDeviceGetPowerUsage(handle)
        except library.NVMLError as error:
            library.nvmlShutdown()
            raise UsageError(f"the GPU {device} has no power sensor: {error}", _HINT) from None
    meter.start()
    return meter


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """A row of a recorded power trace."""

    seconds: float
    watts: float


def trace(path: Path) -> Trace:
    """Read a recorded power trace: a CSV file with the columns ``seconds`` and ``watts``."""
    rows = read_rows(path, _MAX_BYTES, "power trace", _Sample)
    seconds, watts = (tuple(getattr(row, name) for row in rows) for name in ("seconds", "watts"))
    is_valid = all(math.isfinite(number) for number in (*seconds, *watts)) and min(watts, default=0) >= 0
    if len(rows) < 2 or not is_valid or any(b <= a for a, b in itertools.pairwise(seconds)):
        raise UsageError(f"the power trace {str(path)!r} must have two samples or more, at increasing times")
    return Trace(seconds=seconds, watts=watts)


def measure(
    work: Callable[[], object], meter: EnergyMeter, *, window: float = WINDOW, windows: int = 3, cool: float = 0.0
) -> Reading:
    """Measure the energy and time of one repetition, in windows of ``window`` s or more, ``cool`` s before each."""
    if not window > 0 or windows < 1:
        raise UsageError(f"energy is measured over one window or more of more than 0 s, got {windows} of {window!r} s")
    repetitions = _repetitions(work, window)
    each, times = [], []
    for _ in range(windows):
        time.sleep(cool)
        before, start = meter.joules(), time.perf_counter()
        for _ in range(repetitions):
            work()
        times.append((time.perf_counter() - start) / repetitions)
        each.append((meter.joules() - before) / repetitions)
    if min(each) <= 0:
        raise UsageError(f"the meter {meter.name} stood still during a window of {window:g} s", "take a longer window")
    return Reading(
        joules=sum(each) / windows,
        seconds=sum(times) / windows,
        low=min(each),
        high=max(each),
        windows=windows,
        repetitions=repetitions,
        meter=meter.name,
    )


def _repetitions(work: Callable[[], object], window: float) -> int:
    """Return how often the work fills a window; this also warms it up."""
    count, spent = 0, 0.0
    start = time.perf_counter()
    while spent < 0.2 * window or count == 0:
        work()
        count += 1
        spent = time.perf_counter() - start
    return max(1, math.ceil(window * count / max(spent, 1e-9)))


def _number(path: Path) -> float:
    try:
        return float(path.read_text(encoding="ascii"))
    except PermissionError:
        hint = "the system's administrator must allow reading it"
        raise UsageError(f"the energy counter {str(path)!r} may not be read", hint) from None
    except (OSError, ValueError):
        raise UsageError(f"the energy counter {str(path)!r} cannot be read", _HINT) from None
