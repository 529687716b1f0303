"""Options of commands, which are made from the fields of records, and arguments that several commands share."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from tilewright.base.options import Count, Offer, Options, flag_of

_RARE = "More options"


def whole(text: str | int) -> int:
    """Read a whole number, also one such as 1e3."""
    if isinstance(text, int):  # a default, which typer hands over as it is
        return text
    try:
        number = float(text)
        is_whole = number.is_integer()
    except ValueError:
        is_whole = False
    if not is_whole:
        raise typer.BadParameter(f"a whole number such as 1000 or 1e3 is wanted, got {text!r}")
    return int(text) if text.lstrip("+-").isdecimal() else int(number)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer takes it: with an option for every offered field of the records among its parameters.

    What several records offer under one name is one option. The command's last parameter is ``--json``.
    """
    hints = get_type_hints(command, include_extras=True)
    own: list[inspect.Parameter] = []
    common: dict[str, inspect.Parameter] = {}
    rare: dict[str, inspect.Parameter] = {}
    records: dict[str, type[Options]] = {}
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and issubclass(hint, Options):
            records[parameter.name] = hint
            for name, offer in hint.offers().items():
                (rare if offer.rare else common)[name] = _parameter(hint, name, offer)
        else:
            own.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    if not records:
        return command

    def called(**values: Any) -> None:  # noqa: ANN401
        read = {name: record.read(values) for name, record in records.items()}
        command(**{each.name: values[each.name] for each in own}, **read)

    shown = [*own[:-1], *common.values(), own[-1], *rare.values()]
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in shown}
    return called


def _parameter(record: type[Options], name: str, offer: Offer) -> inspect.Parameter:
    """Return the parameter that typer makes an option of."""
    several = get_origin(offer.kind) is list
    kind: Any = int if offer.kind is Count else offer.kind
    info = typer.Option(
        *(offer.flags or (flag_of(record, name),)),
        help=offer.meaning,
        metavar=offer.metavar,
        min=offer.least,
        max=offer.most,
        parser=whole if offer.kind is Count else None,
        rich_help_panel=_RARE if offer.rare else None,
        show_default=offer.shown,
    )
    default = inspect.Parameter.empty if offer.default is ... else None if several else offer.default
    hint: Any = Annotated[kind | None if default is None else kind, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output; tables go to standard error.")
]
ProgramName = Annotated[
    str,
    typer.Argument(
        metavar="PROGRAM",
        help="A built-in program (see `tilewright programs`), or FILE.py:FUNCTION, which runs your own file.",
        show_default=False,
    ),
]
