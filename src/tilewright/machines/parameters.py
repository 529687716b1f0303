"""How a parameter of a machine is declared, and a number with its unit and where it comes from."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.base.errors import UsageError, one_of

SOURCES = ("paper", "datasheet", "measured", "estimated", "description")
KINDS = ("gpu", "cpu")  # kinds of machines
_PLAUSIBLE = {"B/s": (1e4, 1e16), "J": (0.0, 1e-3)}
"""Of bandwidths, since an interpreter of kernels is a machine, too, and of the energies of one operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number with its unit and where it comes from."""

    value: float  # finite, at least 0
    unit: str  # ``1`` for a count
    source: str  # one of :data:`SOURCES`; ``description`` is the machine's own
    note: str = ""  # where exactly, or how
    low: float | None = None  # lower end of the plausible range; None where the value is taken as exact
    high: float | None = None  # its upper end, or None

    def __post_init__(self) -> None:
        for number in (self.value, self.low, self.high):
            if number is not None and not (math.isfinite(number) and number >= 0):
                raise UsageError(f"a quantity is a finite number of at least 0, got {number!r} {self.unit}")
        if not (self.low is None or self.low <= self.value) or not (self.high is None or self.value <= self.high):
            raise UsageError(f"a quantity lies in its range, got {self.value} in [{self.low}, {self.high}] {self.unit}")
        one_of("the source of a quantity", self.source, SOURCES)

    def end(self, which: str) -> float:
        """Return the ``value``, or the ``low`` or ``high`` end of its range: the value where it is taken as exact."""
        number: float | None = getattr(self, which)
        return self.value if number is None else number

    def at(self, value: float) -> "Quantity":
        """Return it with another value, which is taken as exact."""
        return replace(self, value=value, low=None, high=None)


def guessed(value: float, unit: str, low: float, high: float, note: str) -> Quantity:
    """Return an estimated quantity, whose plausible range is given as multiples of it."""
    return Quantity(value=value, unit=unit, source="estimated", note=note, low=low * value, high=high * value)


def estimated(value: Callable[[str], float], unit: str, note: str) -> Quantity:
    """Return what follows from other quantities, whose ``value``, ``low`` and ``high`` ends are asked for."""
    low, high = value("low"), value("high")
    return Quantity(value=value("value"), unit=unit, source="estimated", note=note, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What is declared of one parameter of a machine."""

    meaning: str  # one line on what it is
    unit: str  # the unit its values must have, ``1`` for a count or a ratio
    optional: bool = False  # whether it may be unknown
    estimate: Quantity | None = None  # what a machine has whose file does not say, or None
    kinds: tuple[str, ...] = KINDS  # the kinds of machines that may have it
    between: tuple[float, float] = (0.0, math.inf)  # the least and the most that a machine may plausibly have
    within: str = ""  # the parameter that it is a part of, and so never more than
    positive: bool = False  # whether it is above 0
    whole: bool = False  # whether it is a whole number above 0

    @property
    def needed(self) -> bool:
        """Whether every machine file must say it."""
        return not self.optional and self.estimate is None


def parameter(
    meaning: str,
    unit: str = "1",
    *,
    estimate: tuple[float, float, float] | None = None,  # the least plausible value, the estimate and the greatest
    note: str = "an estimate",  # what it rests on
    **attributes: Any,  # noqa: ANN401  (of :class:`Parameter`)
) -> Any:  # noqa: ANN401  (a field of any type)
    """Declare a parameter of :class:`Machine`."""
    default: Quantity | None = None
    if estimate is not None:
        low, value, high = estimate
        default = Quantity(value=value, unit=unit, source="estimated", note=note, low=low, high=high)
    attributes = {"between": _PLAUSIBLE[unit], **attributes} if unit in _PLAUSIBLE else attributes
    described = Parameter(meaning=meaning, unit=unit, estimate=default, **attributes)
    metadata = {"parameter": described}
    return field(metadata=metadata) if described.needed else field(default=default, metadata=metadata)


def cpu_parameter(meaning: str, unit: str = "1", **attributes: Any) -> Any:  # noqa: ANN401  (a field of any type)
    """Declare a parameter that CPUs alone have."""
    return parameter(meaning, unit, kinds=("cpu",), **attributes)


def gpu_parameter(meaning: str, unit: str = "1", **attributes: Any) -> Any:  # noqa: ANN401  (a field of any type)
    """Declare a parameter that GPUs alone have."""
    return parameter(meaning, unit, kinds=("gpu",), **attributes)
