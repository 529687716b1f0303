"""What a command prints: a JSON document on standard output, or a table for people."""

import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

import typer

from tilewright.base.tables import Shown, lay_out


def show(document: object, shown: Callable[[], Shown], as_json: bool) -> None:
    """Print what people read; with ``as_json`` that goes to standard error, beside the document on standard output."""
    if as_json:
        emit(document)
    _print(shown(), sys.stderr if as_json else sys.stdout)


def tell(result: Any, as_json: bool) -> None:  # noqa: ANN401
    """Print a result that has a document and a text of its own, as :func:`show` does."""
    show(result.to_dict() if as_json else None, lambda: str(result), as_json)


def emit(document: object) -> None:
    """Print one JSON document on standard output; numbers that JSON cannot hold become null."""
    typer.echo(json.dumps(_plain_value(document), indent=2, allow_nan=False))


def note(text: str) -> None:
    """Print a note, a warning or an error to standard error."""
    _print(text, sys.stderr)


def _print(shown: Shown, stream: TextIO) -> None:
    typer.echo("\n".join(lay_out(shown, _columns(stream))), file=stream)


def _columns(stream: TextIO) -> int | None:
    """Return how wide a terminal is, or None where the stream is none."""
    if not stream.isatty():
        return None
    width = os.environ.get("COLUMNS", "")
    try:
        return int(width) if width.isdecimal() and int(width) else os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def _plain_value(value: object) -> object:
    """Replace what JSON cannot hold: non-finite numbers become null, tuples lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(item) for item in value]
    return value
