"""What a result shows to people, as data: tables, names with their values, and sentences, before any is laid out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts under headings."""

    columns: tuple[str, ...]  # headings; those of columns to be right-aligned begin with ``>``
    rows: tuple[tuple[str, ...], ...]  # one text per column
    title: str = ""  # a line above it, or nothing


@dataclass(frozen=True, slots=True)
class Pairs:
    """Names and their values."""

    facts: Mapping[str, str]  # values by name, of one or several lines
    title: str = ""  # a line above it, or nothing


Shown = str | Table | Pairs | Sequence["Shown"]
"""What people read: a sentence, a table, names and values, or several of them below each other."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> Table:
    """Make a table without the columns that hold nothing.

    >>> table(("name", ">loads", ">spills"), [("heat2d", "9", "-"), ("j3d7pt", "7", "")]).columns
    ('name', '>loads')
    """
    cells = [tuple(row) for row in rows]
    kept = [i for i in range(len(columns)) if not cells or any(row[i] not in {"", "-"} for row in cells)]
    return Table(tuple(columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in cells), title)
