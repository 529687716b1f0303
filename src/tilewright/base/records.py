"""Records that several layers exchange: what a compiler and a clock say about one kernel."""

import enum
from dataclasses import dataclass


class Outcome(enum.StrEnum):
    """How an attempt to compile and measure a candidate ended."""

    OK = "ok"
    ILLEGAL = "illegal"
    COMPILE = "compile"
    SPILLS = "spills"
    LAUNCH = "launch"
    CRASH = "crash"
    TIMEOUT = "timeout"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a compiled kernel needs, as its compiler reports it; None where the compiler does not say."""

    registers: int | None = None
    spill_bytes: int | None = None
    stack_bytes: int | None = None
    shared_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Repeated timings of one kernel."""

    seconds: tuple[float, ...] = ()  # one sample per repetition, in the order taken
    outcome: Outcome = Outcome.OK  # how the attempt ended; samples are empty unless it is ``ok``
    detail: str = ""  # one sentence about a failure, or empty

    @property
    def median(self) -> float:
        """Median of the samples in seconds; NaN without samples."""
        if not self.seconds:
            return float("nan")
        ordered = sorted(self.seconds)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
