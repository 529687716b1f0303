"""The notation of tilings: ``family:name=value,…``."""

import re
from typing import overload

from tilewright.base.deprecations import GONE
from tilewright.base.errors import UsageError, one_of
from tilewright.base.units import parse_shape
from tilewright.schedules.code import FORMS, NEIGHBOURS
from tilewright.schedules.families import none
from tilewright.schedules.family import LONG, Tiling, family_named

__all__ = ["NONE", "Tiling", "as_tiling", "is_gone", "parse"]

_WHOLE = re.compile(r"[0-9]{1,12}")
_SHORT = {short: name for name, short in LONG.items()}
_WORDS = {"variant": ("fixed", "param"), "reuse": ("place", "move"), "neighbours": NEIGHBOURS, "sums": FORMS}
"""Keys whose values are words."""
NONE = Tiling(family=none.FAMILY)  # no tiling: one sweep over the grid per statement and step


def parse(text: str) -> Tiling:
    """Parse a tiling; whatever ``str(tiling)`` writes is accepted."""
    name, _, rest = text.strip().partition(":")
    family = family_named(name)
    values: dict[str, int | str | tuple[int, ...]] = {}
    for part in rest.split(",") if rest else []:
        short, _, value = part.strip().partition("=")
        name = _SHORT.get(short, short)
        if name in values:
            raise UsageError(f"the tiling {text!r} gives {short!r} twice")
        values[name] = _value(name, value.strip(), text)
    return Tiling(family=family, **values)  # type: ignore[arg-type]


def is_gone(tiling: object) -> bool:
    """Whether a tiling in a file, as text or as plain data, is of a family that is gone."""
    family = tiling.get("family") if isinstance(tiling, dict) else tiling
    return isinstance(family, str) and family.strip().partition(":")[0] in GONE


@overload
def as_tiling(tiling: Tiling | str) -> Tiling: ...
@overload
def as_tiling(tiling: Tiling | str | None) -> Tiling | None: ...
def as_tiling(tiling: Tiling | str | None) -> Tiling | None:
    """Read a tiling that is given as a value, as text, or not at all."""
    return parse(tiling) if isinstance(tiling, str) else tiling


def _value(name: str, value: str, text: str) -> int | str | tuple[int, ...]:
    if name in {"space", "sub", "threads"}:
        return parse_shape(value)
    if name in {"time", "k", "rows", "unroll", "piece"}:
        if not _WHOLE.fullmatch(value) or int(value) < 1:
            raise UsageError(f"{name} of a tiling is a whole number of at least 1, got {value!r} in {text!r}")
        return int(value)
    if name in _WORDS:
        one_of(f"the {name} of a tiling", value, _WORDS[name])
        return value
    raise UsageError(
        f"a tiling has no key {name!r}, in {text!r}",
        "write it like hybrid:t=16,s=32x512; other keys are sub, threads, k, rows, unroll, neighbours, sums and piece",
    )
