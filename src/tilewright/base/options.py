"""Options as records: a field has its type and default, and says what it means and how a command offers it.

A verb's keywords become a record as it begins (:meth:`Options.of`), a command's options do so when they are read
(:meth:`Options.read`); behind both the record is passed on. Which options a kind of run does not take is a table of
:class:`Refusal`.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_origin

from tilewright.base.errors import UsageError

_OFFER = "offer"


class Count(int):
    """A whole number that a command also reads as ``1e3``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """How a command offers a field."""

    meaning: str  # one sentence of its help, with the unit
    flags: tuple[str, ...]  # by what it is given, the first being its name; none: ``--`` and the field's name
    kind: Any  # the type that its text is read as; ``list[...]`` may be given several times
    default: Any  # where it is not given; ``MISSING``: it must be
    metavar: str | None = None  # what stands for its value in the help
    least: float | None = None
    most: float | None = None
    reader: Callable[[Any], Any] | None = None  # makes the field's value of the text's
    rare: bool = False  # whether its help stands under a heading of its own, behind what most people use
    shown: bool | str = True  # whether the help shows the default, or what it says in place of it

    def read(self, value: Any, default: Any) -> Any:  # noqa: ANN401
        """Return the field's value of what a command was given, which may be the field's own default."""
        if get_origin(self.kind) is list:
            return tuple(value) if value else default
        return value if value is None or value == default or self.reader is None else self.reader(value)


def option(
    meaning: str,
    *flags: str,
    default: Any = dataclasses.MISSING,  # noqa: ANN401
    offered: Any = dataclasses.MISSING,  # noqa: ANN401  (the command's default, where it is another)
    kind: Any = str,  # noqa: ANN401
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Declare a field that a command offers; ``more`` is as :class:`Offer` has it."""
    at_command = default if offered is dataclasses.MISSING else offered
    offer = Offer(meaning=meaning, flags=flags, kind=kind, default=at_command, **more)
    return dataclasses.field(default=default, metadata={_OFFER: offer})


class Options:
    """Base of the records, which are frozen dataclasses; fields without :func:`option` are Python's alone."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Take the fields out of the arguments of a verb, its ``locals()`` as it begins."""
        return cls(**{name: given[name] for name in cls.__dataclass_fields__})

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Take the fields out of what a command was given; those that it does not offer keep their defaults."""
        fields = cls.__dataclass_fields__
        return cls(**{name: offer.read(given[name], fields[name].default) for name, offer in cls.offers().items()})

    @classmethod
    def offers(cls) -> dict[str, Offer]:
        """Return what a command offers, by field."""
        fields = cls.__dataclass_fields__.items()
        return {name: field.metadata[_OFFER] for name, field in fields if _OFFER in field.metadata}

    def keywords(self) -> dict[str, Any]:
        """Return the fields as keywords of their verb."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def given(self, *names: str) -> list[str]:
        """Return those of some fields that are not as by default; fields that there are not are left out."""
        return [name for name in names if name in self.__dataclass_fields__ and self._differs(name)]

    def _differs(self, name: str) -> bool:
        default, value = self.__dataclass_fields__[name].default, getattr(self, name)
        if default is None:
            return value is not None
        return bool(value) if default is False else bool(value != default)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Options that do not go with a kind of run, and the sentence that says so."""

    options: tuple[str, ...]  # fields of the records
    # ``{kind}`` is the run, ``{options}`` all of them, ``{flag}`` what the command calls the first that was given
    sentence: str = "{kind} takes no {options}"
    hint: str = ""

    def check(self, kind: str, records: Iterable[Options]) -> None:
        """Refuse them."""
        for record in records:
            for name in record.given(*self.options):
                listed = " and ".join(filter(None, (", ".join(self.options[:-1]), self.options[-1])))
                said = self.sentence.format(kind=kind, options=listed, flag=flag_of(record, name))
                raise UsageError(said, self.hint)


def flag_of(record: Options | type[Options], name: str) -> str:
    """Return what a command calls a field."""
    offer = record.offers().get(name)
    return offer.flags[0] if offer is not None and offer.flags else "--" + name.replace("_", "-")
