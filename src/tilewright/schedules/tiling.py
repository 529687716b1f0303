"""The tiling value and its notation: ``family:name=value,…``."""

import re
from dataclasses import InitVar, dataclass, fields
from typing import overload

from tilewright.base.deprecations import GONE
from tilewright.base.errors import UsageError
from tilewright.base.units import format_shape, parse_shape
from tilewright.schedules.bodies.body import FORMS, NEIGHBOURS

_WHOLE = re.compile(r"[0-9]{1,12}")
_SHORT = {"t": "time", "s": "space"}
_LONG = {"time": "t", "space": "s"}
_UNUSED = {"variant": "fixed", "reuse": "place"}
"""Keys that meant something until version 0.3.0: read, written as they always were, and without a meaning."""
_WORDS = {"variant": ("fixed", "param"), "reuse": ("place", "move"), "neighbours": NEIGHBOURS, "sums": FORMS}
"""Keys whose values are words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """The order of execution of a kernel, and what is asked for of its code beyond the rule's choice.

    Attributes:
        family: Name of the tiling family.
        time: Height of a tile in time steps (the papers' t_T); 1 where time is not tiled.
        space: Tile sizes per axis, outermost first (the papers' t_S1, t_S2, t_S3); empty where the family has none.
        sub: Sub-tile sizes per axis; empty where the family has none.
        threads: Threads per axis of a GPU's thread block; empty for the family's default.
        k: Tiles resident per SM; None for the largest number that fits.
        rows: Rows blocked in registers; None for the family's default.
        unroll: Unroll factor of the innermost loop; None for the compiler's choice.
        variant: Means nothing; an argument until version 0.3.0, which is accepted.
        reuse: The same.
        neighbours: On a CPU, where vectors beside others come from: ``loads`` or ``shuffles``; None for the default.
        sums: On a CPU, how weighted sums are written, one of :data:`tilewright.schedules.bodies.body.FORMS`; None for
            the default.
        piece: On a CPU, cells of a piece of a sweep that goes through several statements; None for the default.

    Examples:
        >>> str(parse("hybrid:t=16,s=8x64,threads=1x64"))
        'hybrid:t=16,s=8x64,threads=1x64'
    """

    family: str
    time: int = 1
    space: tuple[int, ...] = ()
    sub: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    k: int | None = None
    rows: int | None = None
    unroll: int | None = None
    variant: InitVar[str] = _UNUSED["variant"]
    reuse: InitVar[str] = _UNUSED["reuse"]
    neighbours: str | None = None
    sums: str | None = None
    piece: int | None = None

    def __str__(self) -> str:
        parts = []
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if value == item.default:
                continue
            text = format_shape(value) if isinstance(value, tuple) else str(value)
            parts.append(f"{_LONG.get(item.name, item.name)}={text}")
        return f"{self.family}:{','.join(parts)}" if parts else self.family

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data: every key but those that say how code is written, where they are open.

        Examples:
            >>> parse("none").to_dict()["k"], "sums" in parse("none").to_dict()
            (None, False)
        """
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}
        code = {name: plain.pop(name) for name in ("neighbours", "sums", "piece")}
        return {**plain, **_UNUSED, **{name: value for name, value in code.items() if value is not None}}


NONE = Tiling(family="none")
"""No tiling: one sweep over the grid per statement and step."""


def parse(text: str) -> Tiling:
    """Parse a tiling; whatever ``str(tiling)`` writes is accepted."""
    family, _, rest = text.strip().partition(":")
    if family in GONE:
        raise GONE[family].error()
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
        if value not in _WORDS[name]:
            raise UsageError(f"the {name} of a tiling is one of {', '.join(_WORDS[name])}, got {value!r}")
        return value
    raise UsageError(
        f"a tiling has no key {name!r}, in {text!r}",
        "write it like hybrid:t=16,s=32x512; other keys are sub, threads, k, rows, unroll, neighbours, sums and piece",
    )
