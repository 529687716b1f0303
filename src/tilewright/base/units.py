"""Prefixes at the edges: shapes, sizes and durations as users write them. Inside, everything is SI."""

import math
import re
from collections.abc import Sequence

from tilewright.base.errors import UsageError, quoted

_TIME = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(ns|us|µs|ms|s|min|h)?\s*")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, None: 1.0, "min": 60.0, "h": 3600.0}
_MAX_EXTENT = 2**48


def parse_shape(text: str) -> tuple[int, ...]:
    """Parse a shape such as ``4096x4096``, outermost extent first.

    >>> parse_shape("64x32")
    (64, 32)
    """
    parts = text.lower().split("x")
    if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise UsageError(
            f"a shape is extents joined by 'x', got {text!r}", "write it like 4096x4096, outermost extent first"
        )
    shape = tuple(int(part) for part in parts)
    if any(not 1 <= extent <= _MAX_EXTENT for extent in shape):
        raise UsageError(f"every extent of a shape must be at least 1 and at most 2^48, got {text!r}")
    return shape


def format_shape(shape: tuple[int, ...]) -> str:
    """Write a shape as :func:`parse_shape` reads it.

    >>> format_shape((64, 32))
    '64x32'
    """
    return "x".join(str(extent) for extent in shape)


def whole_number(value: object, name: str, low: int, high: int, text: str = "") -> int:
    """Return a whole number from ``low`` to ``high`` that a caller gave, of any numeric type.

    ``text`` is the range as people write it.

    >>> whole_number(3.0, "steps", 0, 10)
    3
    """
    try:
        number = value.__index__() if hasattr(value, "__index__") else int(value)  # type: ignore[call-overload]
        exact = hasattr(value, "__index__") or bool(number == value)
        valid = exact and not isinstance(value, bool | str | bytes) and low <= number <= high
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise UsageError(f"{name} is a whole number {text or f'from {low} to {high}'}, got {quoted(value)}")
    return int(number)


def real_number(value: object, name: str, *, zero: bool = False) -> float:
    """Return a finite number above 0, or 0 with ``zero``, that a caller gave, of any numeric type.

    >>> real_number(3, "a time")
    3.0
    """
    try:
        number = float(value)  # type: ignore[arg-type]
        least = number >= 0 if zero else number > 0
        valid = least and math.isfinite(number) and not isinstance(value, bool | str | bytes)
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise UsageError(f"{name} is {'not negative' if zero else 'positive'}, got {value!r:.60}")
    return number


def parse_number(text: str, *, whole: bool = False) -> float:
    """Parse a real number; a whole one that a floating-point number would round stays as it is written.

    >>> parse_number("3"), parse_number("9007199254740993"), parse_number("3", whole=True)
    (3.0, 9007199254740993, 3)
    """
    number = float(text)
    if text.strip().lstrip("+-").isdecimal():
        exact = int(text)
        return exact if whole or exact != number else number
    if math.isinf(number) and "inf" not in text.lower():
        raise ValueError(f"{text} is beyond all floating-point numbers")
    return number


def parse_seconds(text: str) -> float:
    """Parse a duration such as ``10ms`` into seconds; a bare number is seconds.

    >>> parse_seconds("10ms"), parse_seconds("2")
    (0.01, 2.0)
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise UsageError(f"a duration is a number with a unit, got {text!r}", "write it like 10ms or 2min")
    return float(match.group(1)) * _SECONDS[match.group(2)]


def format_seconds(seconds: float, *, keep: bool = False) -> str:
    """Write a duration with the prefix that keeps its number between 1 and 1000, to three digits.

    >>> format_seconds(0.0123), format_seconds(4.5e-7), format_seconds(16.35)
    ('12.3 ms', '450 ns', '16.4 s')
    >>> format_seconds(0.005), format_seconds(0.005, keep=True), format_seconds(0.4996, keep=True)
    ('5 ms', '5.00 ms', '500 ms')
    >>> format_seconds(0.0009996), format_seconds(0.9999, keep=True)
    ('1 ms', '1.00 s')
    """
    scales = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (0.0, "ns"))
    factor, unit = _scale(seconds, scales)
    number = f"{seconds / (factor or 1e-9):{'#' if keep else ''}.3g}"
    return f"{number.rstrip('.')} {unit}"


def _scale(number: float, scales: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """The first of falling scales that a number reaches as it is written, with three digits."""
    return next(scale for scale in scales if float(f"{number:.2e}") >= scale[0])


def format_rate(per_second: float, unit: str) -> str:
    """Write so many of something per second with a decimal prefix.

    >>> format_rate(1.321e13, "Flops"), format_rate(5.5e8, "Cells")
    ('13.2 TFlops/s', '550 MCells/s')
    >>> format_rate(9.999e8, "Cells")
    '1 GCells/s'
    """
    scales = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (0.0, ""))
    factor, prefix = _scale(per_second, scales)
    return f"{per_second / (factor or 1.0):.3g} {prefix}{unit}/s"


def format_bytes(size: float) -> str:
    """Write a size in bytes with a binary prefix.

    >>> format_bytes(65536), format_bytes(100)
    ('64 KiB', '100 B')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return f"{size / 1024**power:.4g} {unit}"
    return f"{size:.4g} B"


def format_over(size: int, limit: int) -> tuple[str, str]:
    """Write a size and the smaller one that it is over, so that they differ.

    >>> format_over(65536, 100), format_over(65537, 65536)
    (('64 KiB', '100 B'), ('65537 B', '65536 B'))
    """
    shown = format_bytes(size), format_bytes(limit)
    return shown if shown[0] != shown[1] else (f"{size} B", f"{limit} B")


def parse_bytes(text: str | int) -> int:
    """Read a size in bytes: ``8GiB``, ``500 MB``, or a whole number.

    >>> parse_bytes("64KiB"), parse_bytes("1.5 GB"), parse_bytes(100)
    (65536, 1500000000, 100)
    """
    if not isinstance(text, str):
        return whole_number(text, "a size in bytes", 1, 2**62, "of at least 1")
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(?:([kmgt])(i?))?b?\s*", text.lower())
    power = 0 if match is None or not match[2] else 1 + "kmgt".index(match[2])
    size = 0.0 if match is None else float(match[1]) * (1024 if match[3] else 1000) ** power
    if not 1 <= size <= 2**62:
        raise UsageError(f"a size is a number of bytes with a unit, such as 8GiB or 500MB, got {text!r:.60}")
    return int(size)
