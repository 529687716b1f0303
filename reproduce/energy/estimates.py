"""Energy constants from metered micro-benchmarks of single operations (Prajapati, thesis, section B.7).

Each benchmark does one operation and nothing else for a window of time. Static power is what the awake processor draws
while it waits; an operation's energy is what its window took beyond static power and beyond operations already known,
over their number. Every round of windows is solved on its own, so that the spread over the rounds is the uncertainty of
the results, with all that went into them.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from tilewright.base.errors import UsageError

WATTS = {"idle_watts": "idle", "static_watts": "awake"}
"""Powers by the benchmark that shows them: threads asleep, and awake but waiting."""
OPERATIONS: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "cpu": {
        "add_joules": ("add", ()),
        "multiply_joules": ("multiply", ()),
        "int_add_joules": ("int_add", ()),
        "int_max_joules": ("int_max", ()),
        "division_joules": ("divide", ()),
        "shared_word_joules": ("l1", ()),
        "l2_word_joules": ("l2", ("shared_word_joules",)),
        "global_word_joules": ("memory", ("shared_word_joules",)),
    },
    "gpu": {
        "add_joules": ("add", ()),
        "multiply_joules": ("multiply", ()),
        "fma_joules": ("fma", ()),
        "int_add_joules": ("int_add", ()),
        "int_max_joules": ("int_max", ()),
        "division_joules": ("divide", ()),
        "shared_word_joules": ("shared_load", ("add_joules",)),
        "shared_store_joules": ("shared_store", ()),
        "l2_word_joules": ("l2", ("add_joules",)),
        "global_word_joules": ("memory", ("add_joules",)),
        "global_store_joules": ("memory_store", ()),
        "barrier_joules": ("barrier", ()),
    },
}
"""By the kind of a machine the energies in the order in which they are solved: the benchmark, and what each of its
operations does besides. On GPUs every word that is loaded is added to a sum."""
ROUNDS = (2, 30)
"""Fewest and most rounds."""
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Two-sided 95 % quantiles of Student's t for 1 to 10 degrees of freedom; beyond, the last one is on the safe side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterWindow:
    """One benchmark for a while.

    Attributes:
        round: The round it belongs to.
        benchmark: One of :func:`benchmarks`.
        start: When it began, in seconds.
        end: When it ended.
        operations: Operations that were done, counted per value, not per vector; 0 for powers.
        joules: Energy, or None before it is known.
    """

    round: int
    benchmark: str
    start: float
    end: float
    operations: float
    joules: float | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A constant that was metered.

    Attributes:
        name: Its name.
        value: Watts or joules: the mean over the rounds, 0 where that is below 0.
        low: Lower end of the 95 % confidence interval, at least 0.
        high: Upper end.
        rounds: Number of rounds.
        resolved: Whether the interval excludes 0, that is whether the operation was seen beyond static power.
    """

    name: str
    value: float
    low: float
    high: float
    rounds: int
    resolved: bool

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


def benchmarks(kind: str) -> tuple[str, ...]:
    """Return the benchmarks of a kind of machine, ``cpu`` or ``gpu``, in the order in which they take turns."""
    return (*WATTS.values(), *(benchmark for benchmark, _ in OPERATIONS[kind].values()))


def solve(windows: Iterable[MeterWindow], kind: str = "cpu") -> tuple[Estimate, ...]:
    """Solve metered windows for the constants: static power, arithmetic, on chip, off chip.

    Args:
        windows: Every benchmark once per round, with joules.
        kind: The kind of machine.

    Returns:
        The powers and energies of :data:`WATTS` and :data:`OPERATIONS`, in order.

    Raises:
        UsageError: If a round lacks a benchmark, a window is no good, or there are too few rounds.
    """
    rounds: dict[int, dict[str, MeterWindow]] = {}
    for each in windows:
        rounds.setdefault(each.round, {})[each.benchmark] = each
    if not ROUNDS[0] <= len(rounds) <= ROUNDS[1]:
        raise UsageError(f"an uncertainty needs {ROUNDS[0]} to {ROUNDS[1]} rounds of windows, got {len(rounds)}")
    found = [_round(number, each, kind) for number, each in sorted(rounds.items())]
    return tuple(_estimate(name, [each[name] for each in found]) for name in found[0])


def _round(number: int, windows: dict[str, MeterWindow], kind: str) -> dict[str, float]:
    missing = [name for name in benchmarks(kind) if name not in windows]
    if missing:
        raise UsageError(f"round {number} lacks the benchmark {missing[0]!r}")
    known = {name: _joules(windows[each]) / windows[each].seconds for name, each in WATTS.items()}
    for name, (benchmark, besides) in OPERATIONS[kind].items():
        window = windows[benchmark]
        if not window.operations > 0:
            raise UsageError(f"the benchmark {benchmark!r} of round {number} did nothing")
        rest = _joules(window) - known["static_watts"] * window.seconds
        known[name] = rest / window.operations - sum(known[each] for each in besides)
    return known


def _joules(window: MeterWindow) -> float:
    if not (window.seconds > 0 and window.joules is not None and 0 < window.joules < math.inf):
        raise UsageError(
            f"the meter stood still while {window.benchmark!r} ran for {window.seconds:g} s", "take longer windows"
        )
    return window.joules


def _estimate(name: str, values: Sequence[float]) -> Estimate:
    mean = statistics.fmean(values)
    quantile = _STUDENT[min(len(values) - 1, len(_STUDENT)) - 1]
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    value, low, high = (max(0.0, each) for each in (mean, mean - half, mean + half))
    return Estimate(name=name, value=value, low=low, high=high, rounds=len(values), resolved=mean - half > 0)
