"""Options as records: a field has its type and default, and says what it means and how a command offers it.

A verb's keywords become a record as it begins (:meth:`Options.of`), a command's options do so when they are read
(:meth:`Options.read`); behind both the record is passed on. Which options a kind of run does not take is a table of
:class:`Refusal`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, get_args, get_origin

from tilewright.base.errors import UsageError

_OFFER = "offer"
_PLAIN = (bool, int, float, Path)


class Count(int):
    """A whole number that a command also reads as ``1e3``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """How a command offers a field."""

    meaning: str  # one sentence of its help, with the unit
    flags: tuple[str, ...]  # by what it is given, the first being its name; none: ``--`` and the field's name
    default: Any  # where it is not given; ``...``: it must be
    kind: Any = None  # the type that its text is read as; ``list[...]`` may be given several times; None: the field's
    metavar: str | None = None  # what stands for its value in the help
    least: float | None = None
    most: float | None = None
    reader: Callable[[Any], Any] | None = None  # makes the field's value of the text, or of the texts
    rare: bool = False  # whether its help stands under a heading of its own, behind what most people use
    shown: bool | str = True  # whether the help shows the default, or what it says in place of it

    def read(self, value: Any, default: Any) -> Any:  # noqa: ANN401
        """Return the field's value of what a command was given; no texts stand for the field's default."""
        if get_origin(self.kind) is list:
            value = tuple(value or ())
            if not value:
                return default
        return value if value is None or self.reader is None else self.reader(value)


def _kind(hint: Any) -> Any:  # noqa: ANN401
    """Return what the text of a field of some type is read as."""
    several = [each for each in get_args(hint) if each is not NoneType] if isinstance(hint, UnionType) else [hint]
    kind = Path if Path in several else several[0]
    if get_origin(kind) is Sequence or get_args(kind)[1:] == (...,):
        return list[get_args(kind)[0]]  # type: ignore[misc]
    return kind if kind in _PLAIN or get_origin(kind) is tuple else str


def option(default: Any, meaning: str, *flags: str, offered: Any = ..., **more: Any) -> Any:  # noqa: ANN401
    """Declare a field that a command offers; ``...`` is no default, ``more`` is as :class:`Offer` has it.

    The command's default is ``offered`` where that is said.
    """
    offer = Offer(meaning=meaning, flags=flags, default=default if offered is ... else offered, **more)
    return dataclasses.field(default=dataclasses.MISSING if default is ... else default, metadata={_OFFER: offer})


class Options:
    """Base of the records, which are frozen; fields without :func:`option` are Python's alone.

    Subclasses are dataclasses without a decorator: their methods are here, since to generate those of all records would
    take a command longer than to do what it is asked.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    _defaults: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)
        fields = cls.__dataclass_fields__.items()
        cls._defaults = {name: each.default for name, each in fields if each.default is not dataclasses.MISSING}

    def __init__(self, **values: Any) -> None:  # noqa: ANN401
        fields = {**self._defaults, **values}
        if fields.keys() != self.__dataclass_fields__.keys():
            wrong = sorted(fields.keys() ^ self.__dataclass_fields__.keys())
            raise TypeError(f"{type(self).__name__} is made of its fields, missing or unknown: {', '.join(wrong)}")
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.keywords().items())})"

    @classmethod
    def of(cls, items: Mapping[str, Any]) -> Self:
        """Take the fields out of the arguments of a verb, its ``locals()`` as it begins."""
        options = cls.__new__(cls)
        options.__dict__.update({name: items[name] for name in cls.__dataclass_fields__})  # in a call that may be short
        return options

    @classmethod
    def read(cls, items: Mapping[str, Any]) -> Self:
        """Take the fields out of what a command was given; those that it does not offer keep their defaults."""
        fields = cls.__dataclass_fields__
        return cls(**{name: offer.read(items[name], fields[name].default) for name, offer in cls.offers().items()})

    @classmethod
    def offers(cls) -> dict[str, Offer]:
        """Return what a command offers, by field."""
        offered = {}
        for name, field in cls.__dataclass_fields__.items():
            if offer := field.metadata.get(_OFFER):
                kind = offer.kind or (str if offer.reader else _kind(field.type))
                offered[name] = dataclasses.replace(offer, kind=kind)
        return offered

    def keywords(self) -> dict[str, Any]:
        """Return the fields as keywords of their verb."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def given(self, *names: str) -> list[str]:
        """Return those of some fields that are given: neither as by default nor None; others' names are left out."""
        return [name for name in names if name in self.__dataclass_fields__ and self._differs(name)]

    def _differs(self, name: str) -> bool:
        field, value = self.__dataclass_fields__[name], getattr(self, name)
        offer = field.metadata.get(_OFFER)
        default = field.default if offer is None else offer.default
        if offer is not None and offer.reader is not None and isinstance(default, str):
            default = offer.reader(default)  # the command's, as text
        if value is None or default is None:
            return value is not None
        return bool(value) if default is False else bool(value != default)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Options that do not go with a kind of run, and the sentence that says so."""

    options: tuple[str, ...]  # fields of the records
    # ``{kind}`` is the run, ``{options}`` all of them, ``{flag}`` what the command calls the first that was given
    sentence: str = "{kind} takes no {options}"
    hint: str = ""

    def check(self, kind: str, records: Sequence[Options]) -> None:
        """Refuse the first of them that is given."""
        for name in self.options:
            for record in records:
                if record.given(name):
                    listed = " and ".join(filter(None, (", ".join(self.options[:-1]), self.options[-1])))
                    refusal = self.sentence.format(kind=kind, options=listed, flag=flag_of(record, name))
                    raise UsageError(refusal, self.hint)


def flag_of(record: Options | type[Options], name: str) -> str:
    """Return what a command calls a field."""
    offer = record.offers().get(name)
    return offer.flags[0] if offer is not None and offer.flags else "--" + name.replace("_", "-")
