"""What a command prints: a JSON document on standard output, or a table for people."""

import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

_FILE_WIDTH = 80
"""Columns of a table that goes to a file or a pipe, where ``COLUMNS`` does not say; more where cells would be cut."""
_WIDEST = 1000


def show(document: object, table: Callable[[], Any], as_json: bool) -> None:
    """Print a result.

    Args:
        document: The JSON document.
        table: Makes what people read, something that rich can print. With ``as_json`` it goes to standard error.
        as_json: Whether the JSON document is wanted.
    """
    from rich.console import Console
    from rich.measure import Measurement

    if as_json:
        emit(document)
    stream = sys.stderr if as_json else sys.stdout
    shown = table()
    if stream.isatty():
        Console(file=stream).print(shown)
        return
    asked = os.environ.get("COLUMNS", "")
    wide = Console(file=stream, width=_WIDEST)
    least = Measurement.get(wide, wide.options, shown).minimum
    Console(file=stream, width=max(int(asked) if asked.isdecimal() else _FILE_WIDTH, least)).print(shown)


def emit(document: object) -> None:
    """Print one JSON document on standard output; numbers that JSON cannot hold become null."""
    typer.echo(json.dumps(_plain(document), indent=2, allow_nan=False))


def say(text: str, as_json: bool) -> None:
    """Print a line for people: on standard error if standard output holds a JSON document."""
    typer.echo(text, err=as_json)


def note(text: str) -> None:
    """Print a note or a warning to standard error."""
    sys.stderr.write(f"{text}\n")


def _plain(value: object) -> object:
    """Replace what JSON cannot hold: non-finite numbers become null, tuples lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
