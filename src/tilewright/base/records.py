"""Records: what every result can do, and what a compiler and a clock say about one kernel."""

import dataclasses
import enum
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from tilewright.base.tables import Pairs, Shown, lay_out, small_page


class Record:
    """A result, a frozen dataclass: as a JSON document, as text, and as a small page in a notebook.

    A class that is not to be written field by field names its keys in :attr:`KEYS`, and says what people read by
    :attr:`TABLE` or :meth:`shown`, or by ``__str__`` where that is text alone.
    """

    __slots__ = ()
    KEYS: ClassVar[str] = ""
    """Keys of the document between blanks, each a field or property; ``key=path`` where it lies elsewhere, of a method
    what it returns; ``*=path`` for all keys of what lies there."""

    TABLE: ClassVar[Any] = None
    """A static method that makes of the document what people read, or None."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, its JSON document."""
        document: dict[str, Any] = {}
        for key, get in _keys(type(self)):  # type: ignore[arg-type]  # (mypy takes classes for unhashable)
            value = get(self)
            value = plain(value() if callable(value) else value)
            document |= value if key == "*" else {key: value}
        return document

    def shown(self) -> Shown:
        """Return what people read; where a class does not say it, keys and values."""
        if self.TABLE is not None:
            table: Shown = self.TABLE(self.to_dict())
            return table
        if type(self).__str__ is not Record.__str__:
            return str(self)
        return Pairs({key: str(value) for key, value in self.to_dict().items()})

    def __str__(self) -> str:
        return "\n".join(lay_out(self.shown(), None))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return small_page(self.shown())


@functools.cache
def _keys(cls: type[Record]) -> list[tuple[str, Callable[[Any], Any]]]:
    entries = cls.KEYS.split() or [each.name for each in dataclasses.fields(cls)]  # type: ignore[arg-type]
    pairs = [entry.partition("=") for entry in entries]
    return [(key, attrgetter(path or key)) for key, _, path in pairs]


def plain(value: Any) -> Any:  # noqa: ANN401
    """Return what JSON holds of a value: records and dataclasses as mappings, tuples as lists, paths as texts.

    >>> plain({"shape": (4, 8), "file": Path("a.npy")})
    {'shape': [4, 8], 'file': 'a.npy'}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value


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
