"""What a command prints: a JSON document on standard output, or a table for people."""

import json
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import typer

from tilewright.base.tables import Pairs, Shown, Table

_NARROWEST = 24
"""Columns below which prose in the last column of a table is not folded: the rows are stacked instead."""
_GAP = "  "
_PART = re.compile(r"(?:[(+-]?\d\S*(?<![,:;]) +(?:x +)?)*\S+")
"""What is never folded: a word, or numbers with the word that follows, such as a unit."""


def show(document: object, shown: Callable[[], Shown], as_json: bool) -> None:
    """Print what people read; with ``as_json`` that goes to standard error, beside the document on standard output."""
    if as_json:
        emit(document)
    _print(shown(), sys.stderr if as_json else sys.stdout)


def tell(result: Any, as_json: bool) -> None:  # noqa: ANN401
    """Print a result that has a document and a text of its own, as :func:`show` does."""
    if as_json:
        emit(result.to_dict())
    say(str(result), as_json)


def emit(document: object) -> None:
    """Print one JSON document on standard output; numbers that JSON cannot hold become null."""
    typer.echo(json.dumps(_plain(document), indent=2, allow_nan=False))


def say(text: str, as_json: bool) -> None:
    """Print lines for people: on standard error if standard output holds a JSON document."""
    _print(text, sys.stderr if as_json else sys.stdout)


def note(text: str) -> None:
    """Print a note, a warning or an error to standard error."""
    _print(text, sys.stderr)


def lay_out(shown: Shown, width: int | None) -> list[str]:
    """Write what people read as lines, of which nothing is cut.

    A table that is too wide has the prose of its last column folded or, if that is not enough, its rows stacked as
    names and values. A word, a tiling, or a number with its unit that is wider than everything stays whole. Without a
    width, as for a file or a pipe, every row is one line.
    """
    if isinstance(shown, str):
        return _fold(shown, width, hang=2)
    if isinstance(shown, Table):
        return [*_fold(shown.title, width, hang=2), *_rows(shown, width)] if shown.title else _rows(shown, width)
    if isinstance(shown, Pairs):
        lines = _pairs(list(shown.facts.items()), width)
        return [*_fold(shown.title, width, hang=2), *lines] if shown.title else lines
    found: list[str] = []
    for before, part in zip((None, *shown), shown, strict=False):
        alone = before is None or (isinstance(before, str) and isinstance(part, str))
        found += [*([] if alone else [""]), *lay_out(part, width)]
    return found


def _print(shown: Shown, stream: TextIO) -> None:
    typer.echo("\n".join(lay_out(shown, _columns(stream))), file=stream)


def _columns(stream: TextIO) -> int | None:
    """Return how wide a terminal is, or None where the stream is none."""
    if not stream.isatty():
        return None
    asked = os.environ.get("COLUMNS", "")
    try:
        return int(asked) if asked.isdecimal() and int(asked) else os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def _rows(table: Table, width: int | None) -> list[str]:
    """Write a table: whole, with the prose of its last column folded, or with its rows stacked."""
    names = [column.removeprefix(">") for column in table.columns]
    right = [column.startswith(">") for column in table.columns]
    widths = [max(map(_cells, column)) for column in zip(names, *table.rows, strict=True)]
    if not table.rows or not widths:
        return _fold(_GAP.join(names), width, hang=2)
    gap, spare = _GAP, 0 if width is None else width - sum(widths) - len(_GAP) * (len(widths) - 1)
    if spare < 0 <= spare + len(widths) - 1:
        gap = " "
    elif spare < 0:
        last = widths[-1] + spare
        if right[-1] or last < max(_NARROWEST, *(_longest(row[-1]) for row in (names, *table.rows))):
            stacked = [_pairs([pair for pair in zip(names, row, strict=True) if pair[1]], width) for row in table.rows]
            return [line for lines in stacked for line in (*lines, "")][:-1]
        widths[-1] = last
    found = []
    for row in (names, ["-" * each for each in widths], *table.rows):
        first, *rest = _fold(row[-1], widths[-1], hang=0)
        cells = zip((*row[:-1], first), widths, right, strict=True)
        found.append(gap.join(_pad(cell, size, on_right) for cell, size, on_right in cells))
        found += [" " * (sum(widths[:-1]) + len(gap) * (len(widths) - 1)) + line for line in rest]
    return [line.rstrip() for line in found]


def _pairs(pairs: Sequence[tuple[str, str]], width: int | None) -> list[str]:
    """Write names beside their values, or above those that do not fit beside them."""
    names = max((_cells(name) for name, _ in pairs), default=0)
    room = None if width is None else width - names - len(_GAP)
    found = []
    for name, value in pairs:
        if room is not None and width is not None and room < _longest(value):
            found += [*_fold(name, width, hang=2), *(_GAP + line for line in _fold(value, width - len(_GAP), hang=2))]
            continue
        lines = _fold(value, room, hang=2)
        found += [_pad(key, names) + _GAP + line for key, line in zip((name, *[""] * len(lines)), lines, strict=False)]
    return [line.rstrip() for line in found]


def _fold(text: str, width: int | None, *, hang: int) -> list[str]:
    """Fold every line of a text at blanks; what goes on is indented by so many columns more."""
    found = []
    for line in text.split("\n"):
        rest, indent = line, " " * (len(line) - len(line.lstrip()) + hang)
        while width is not None and _cells(rest) > width and len(parts := list(_PART.finditer(rest))) > 1:
            fitting = sum(_cells(rest[: part.end()]) <= width for part in parts[:-1])
            found.append(rest[: parts[max(fitting, 1) - 1].end()])
            rest = indent + rest[parts[max(fitting, 1)].start() :]
        found.append(rest)
    return found


def _longest(text: str) -> int:
    """Return the columns of the longest part that is not folded."""
    return max(map(_cells, _PART.findall(text)), default=0)


def _pad(text: str, width: int, right: bool = False) -> str:
    blanks = " " * (width - _cells(text))
    return blanks + text if right else text + blanks


def _cells(text: str) -> int:
    """Return how many columns of a terminal the longest line of a text takes: letters of some scripts take two."""
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def _plain(value: object) -> object:
    """Replace what JSON cannot hold: non-finite numbers become null, tuples lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
