"""What the command line writes about codesign: ranges, axes, weights."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.tuning.codesign.design import Axes
from tilewright.verbs.codesign.codesign import INSIGHTS, WITH_CACHES

AXES = {
    "sm": "sm_count",
    "width": "vector_width",
    "shared": "shared_kb",
    "registers": "register_kb",
    "l1": "l1_pair_kb",
    "l2": "l2_sm_kb",
    "bandwidth": "bandwidth",
}
"""The axes by the names of the command line."""
_MOST = 4096


def area_range(text: str) -> tuple[float, float]:
    """Parse a range of areas in mm^2; one number is a budget.

    >>> area_range("200:650"), area_range("450")
    ((200.0, 650.0), (0.0, 450.0))
    """
    parts = text.split(":")
    if len(parts) > 2:
        raise UsageError(f"a range of areas is LO:HI in mm^2, got {text!r}", "write it like 200:650")
    values = [_number(part, "an area", "write one, or two and a colon between: 400:420") for part in parts]
    low, high = values if len(values) == 2 else (0.0, values[0])
    if low > high:
        raise UsageError(f"the area goes from a lower to an upper bound, got {low:g}:{high:g} mm^2")
    return low, high


def values_of(text: str) -> tuple[float, ...]:
    """Parse the values of an axis: numbers and FIRST:LAST:STEP ranges, joined by commas.

    >>> values_of("12,24,48:144:48")
    (12.0, 24.0, 48.0, 96.0, 144.0)
    """
    values: list[float] = []
    for part in text.split(","):
        numbers = [_number(number, "a value of an axis") for number in part.split(":")]
        if len(numbers) == 1:
            values += numbers
            continue
        if len(numbers) != 3 or numbers[2] <= 0 or numbers[0] > numbers[1]:
            raise UsageError(f"a range of an axis is FIRST:LAST:STEP with FIRST up to LAST, got {part!r}")
        count = int((numbers[1] - numbers[0]) / numbers[2] * (1 + 1e-12)) + 1
        if count > _MOST:
            raise UsageError(f"an axis has at most {_MOST} values, {part!r} has {count}")
        values += [numbers[0] + i * numbers[2] for i in range(count)]
    return tuple(sorted(set(values)))


def axes(texts: Sequence[str], *, caches: bool) -> Axes:
    """Return the thesis' axes with some replaced, and the Maxwell caches if wanted."""
    changes: dict[str, Any] = dict(WITH_CACHES) if caches else {}
    for text in texts:
        name, separator, values = text.partition("=")
        if not separator or name not in AXES:
            raise UsageError(f"an axis is NAME=VALUES with a name of {', '.join(AXES)}, got {text!r}")
        found: tuple[float, ...] = values_of(values)
        if name in {"sm", "width"}:
            if any(value != int(value) for value in found):
                raise UsageError(f"the axis {name} has whole numbers, got {values!r}")
            found = tuple(int(value) for value in found)
        changes[AXES[name]] = found
    return replace(Axes(), **changes)


def weights(texts: Sequence[str]) -> dict[str, float] | None:
    """Parse weights such as ``heat2d=2``; None without any."""
    result = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(f"a weight is NAME=NUMBER, got {text!r}", "write it like heat2d=2")
        result[name] = _number(value, f"the weight of {name!r}")
    return result or None


def insights(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of insights; ``all`` is all of them."""
    if "all" in names:
        return INSIGHTS
    for name in names:
        if name not in INSIGHTS:
            raise UsageError(f"the insight is one of {', '.join(INSIGHTS)} or all, got {name!r}")
    return tuple(dict.fromkeys(names))


def _number(text: str, what: str, hint: str = "") -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise UsageError(f"{what} is a number of at least 0, got {text!r}", hint)
    return value
