"""Documents that users and earlier runs hand over: JSON, TOML and CSV, read up to a bound and parsed into dataclasses.

What a value may be is said once, by a dataclass: numbers, texts, truth values, other dataclasses, tuples, mappings and
unions of these, and :class:`Check` in ``Annotated`` for what a type does not say. Damage is one sentence that names the
key, what was expected and what was got; nothing in a document is executed.
"""

import csv
import dataclasses
import datetime as dt
import functools
import io
import json
import os
import tomllib
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union

from tilewright.base.arguments import described
from tilewright.base.errors import UsageError, meant, quoted
from tilewright.base.paths import read_bounded
from tilewright.base.units import parse_shape

T = TypeVar("T")
_HUGE = 1e300


@dataclass(frozen=True, slots=True)
class Check:
    """What a value has to be beyond its type."""

    described: str  # such as "a number above 0"
    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Read:
    """How a text becomes the value; what is no such text is refused by the function."""

    read: Callable[[str], Any]


def within(low: int, high: int) -> Check:
    """Return the check that a whole number lies in a range, ends included."""
    return Check(f"a whole number from {low} to {high}", lambda value: low <= value <= high)


Amount = Annotated[float, Check("a finite number of at least 0", lambda value: 0 <= value < _HUGE)]
Shape = Annotated[tuple[int, ...], Read(parse_shape)]
Positive = Annotated[float, Check("a finite number above 0", lambda value: 0 < value < _HUGE)]


def user_folder(kind: str, variable: str) -> Path:
    """Return where files of a user's are kept: what an environment variable says, else the system's place.

    ``kind`` is ``data`` for what is worth keeping and ``cache`` for what can be made again.
    """
    folder = os.environ.get(variable, "")
    if folder:
        return Path(folder)
    import platformdirs

    folders = {"data": platformdirs.user_data_dir, "cache": platformdirs.user_cache_dir}
    return Path(folders[kind]("tilewright", appauthor=False))


def decode_text(data: bytes, subject: str) -> str:
    """Return a document's text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{subject} is not UTF-8 text") from None


def decode_json(data: str | bytes, subject: str, hint: str = "") -> Any:  # noqa: ANN401
    """Return what a document in JSON holds."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:  # also no UTF-8, and whole numbers of thousands of digits
        raise UsageError(f"{subject} is not JSON: {error}", hint) from None


def decode_toml(data: str | bytes, subject: str, hint: str = "") -> dict[str, Any]:
    """Return what a document in TOML holds."""
    try:
        return tomllib.loads(data if isinstance(data, str) else data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # also no UTF-8, and whole numbers of thousands of digits
        raise UsageError(f"{subject} is not TOML: {error}", hint) from None


def read_rows(path: Path, most: int, kind: str, cls: type[T]) -> list[T]:
    """Read a table in CSV, a dataclass per row; its columns are the fields, in any order, and others may be there."""
    columns = _fields_of(cls)  # type: ignore[arg-type]  # (mypy takes classes for unhashable)
    title = f"the {kind} {str(path)!r}"
    rows = csv.DictReader(io.StringIO(decode_text(read_bounded(path, most, kind), title), newline=""))
    try:
        names = rows.fieldnames or []
        cells = [(rows.line_num, row) for row in rows]
    except csv.Error as error:
        raise UsageError(f"{title} is not CSV: {error}") from None
    if not set(columns) <= set(names):
        raise UsageError(f"{title} needs the columns {', '.join(columns)}, got {', '.join(names) or 'none'}")
    return [
        parse(
            cls, {name: _number(row[name], kind) for name, (kind, _) in columns.items()}, f"line {line} of {path.name}"
        )
        for line, row in cells
    ]


def _number(text: str | None, kind: Any) -> object:  # noqa: ANN401
    """Return a cell as its column's type has it; one that is no such number stays a text, which nobody takes."""
    plain = typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind
    try:
        return plain(text or "") if plain in {int, float} else (text or "").strip()
    except ValueError:
        return text or ""


def parse(cls: type[T], data: object, where: str, *, complete: bool = False, alone: bool = True) -> T:
    """Make a dataclass of the mapping that a document holds.

    With ``complete`` keys that have defaults must be there as well; without ``alone`` unknown keys are left out.

    >>> @dataclass
    ... class Size:
    ...     steps: Annotated[int, within(1, 9)]
    ...     weight: float = 1.0
    >>> parse(Size, {"steps": 3}, "a size")
    Size(steps=3, weight=1.0)
    >>> parse(Size, {"steps": 0}, "a size")
    Traceback (most recent call last):
    tilewright.base.errors.UsageError: 'steps' of a size is a whole number from 1 to 9, got 0
    """
    declared = _fields_of(cls)  # type: ignore[arg-type]  # (mypy takes classes for unhashable)
    if not isinstance(data, Mapping):
        raise UsageError(f"{where} holds {', '.join(declared)} by name, got {shortened(data)}")
    if alone:
        refuse_unknown(data, declared, where)
    missing = [name for name, (_, needed) in declared.items() if name not in data and (needed or complete)]
    if missing:
        raise UsageError(f"{where} lacks {', '.join(missing)}")
    values = {
        name: _value(data[name], kind, f"{name!r} of {where}") for name, (kind, _) in declared.items() if name in data
    }
    try:
        return cls(**values)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", error.hint) from None


def refuse_unknown(data: Mapping[str, object], keys: Sequence[str] | Mapping[str, object], where: str) -> None:
    """Refuse keys that nobody knows, with those that may be meant."""
    for key in data:
        if key not in keys:
            hint = meant(str(key), keys, f"the keys are {', '.join(keys)}")
            raise UsageError(f"{where} has an unknown key {shortened(key)}", hint)


def shortened(value: object) -> str:
    """Write a value of a document so that a sentence can hold it.

    >>> shortened(10**400)
    'a huge number'
    """
    return "a huge number" if isinstance(value, int) and value.bit_length() > 128 else quoted(value)


@functools.cache
def _fields_of(cls: type) -> dict[str, tuple[Any, bool]]:
    """Name a dataclass's fields, with their types and whether they have no default."""
    hints = typing.get_type_hints(cls, include_extras=True)
    none = dataclasses.MISSING
    return {
        each.name: (hints[each.name], each.default is none and each.default_factory is none)
        for each in dataclasses.fields(cls)
        if each.init
    }


class _Unfit(Exception):  # noqa: N818  (no error that anybody sees)
    """A value that is not of its type; what was expected instead."""


def _value(value: object, kind: Any, where: str) -> Any:  # noqa: ANN401
    try:
        return _fit(value, kind, where)
    except _Unfit as unfit:
        raise UsageError(f"{where} is {unfit}, got {shortened(value)}") from None


def _fit(value: Any, kind: Any, where: str) -> Any:  # noqa: ANN401
    """Return a value as an annotation has it; lists become tuples, numbers stay as they are."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _checked_value(value, inner[0], inner[1:], where)
    if origin in {Union, types.UnionType}:
        return _member(value, kind, where)
    if origin is tuple:
        return _tuple(value, inner, where)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return parse(kind, value, where)
    plain = origin or kind
    number = plain in {float, int}
    allowed = {float: int | float, Any: object}.get(plain, plain)
    huge = plain is float and isinstance(value, int) and abs(value) >= _HUGE
    if not isinstance(value, allowed) or huge or (number and isinstance(value, bool)):
        raise _Unfit(described(kind))
    return value


def _checked_value(value: Any, kind: Any, extra: Sequence[object], where: str) -> Any:  # noqa: ANN401
    """Return a value that passes what is demanded beyond its type; the last check describes it."""
    for each in extra:
        if isinstance(each, Read):
            return each.read(_fit(value, str, where))
    checks = [each for each in extra if isinstance(each, Check)]
    try:
        fitted = _fit(value, kind, where)
    except _Unfit as unfit:
        raise _Unfit(checks[-1].described if checks else unfit) from None
    if not all(check.holds(fitted) for check in checks):
        raise _Unfit(checks[-1].described)
    return fitted


def _member(value: Any, kind: Any, where: str) -> Any:  # noqa: ANN401
    reasons = []
    for each in typing.get_args(kind):
        try:
            return _fit(value, each, where)
        except _Unfit as unfit:
            reasons.append(str(unfit))
    raise _Unfit(" or ".join(reasons))


def _tuple(value: object, inner: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    many = inner[-1] is Ellipsis
    if not isinstance(value, list | tuple) or (not many and len(value) != len(inner)):
        raise _Unfit("a list" if many else f"a list of {len(inner)} entries")
    kinds = [inner[0]] * len(value) if many else inner
    return tuple(
        _value(each, kind, f"entry {number} of {where}")
        for number, (each, kind) in enumerate(zip(value, kinds, strict=True), 1)
    )


def today() -> str:
    """Return the date and the time in UTC, to the minute."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def version() -> str:
    """Return the version of tilewright."""
    import importlib.metadata

    return importlib.metadata.version("tilewright")
