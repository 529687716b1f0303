"""What a result shows to people: tables, names with values and sentences, as lines of text and as a small page."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_NARROWEST = 24  # columns below which prose in the last column of a table is not folded: the rows are stacked instead
_GAP = "  "
_PART = re.compile(r"(?:[(+-]?\d\S*(?<![,:;]) +(?:x +)?)*\S+")
"""What is never folded: a word, or numbers with the word that follows, such as a unit."""
MOST_ROWS = 20  # rows of a table that a notebook shows
STYLE = """
.tw table{border-collapse:collapse;font-size:.9rem;margin:.8rem 0}
.tw th,.tw td{padding:.15rem .7rem .15rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #eee}
.tw .n{text-align:right;font-variant-numeric:tabular-nums}
.tw code{font-family:ui-monospace,monospace;font-size:.85rem}
.tw .note{color:#7a4b00}
.tw .small{color:#555;font-size:.85rem}
.tw .wide{overflow-x:auto}
"""
"""Of tables in a page, and of what stands around them."""


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
    filled = [i for i in range(len(columns)) if not cells or any(row[i] not in {"", "-"} for row in cells)]
    return Table(tuple(columns[i] for i in filled), tuple(tuple(row[i] for i in filled) for row in cells), title)


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
    written: list[str] = []
    for before, part in zip((None, *shown), shown, strict=False):
        alone = before is None or (isinstance(before, str) and isinstance(part, str))
        written += [*([] if alone else [""]), *lay_out(part, width)]
    return written


def _rows(table: Table, width: int | None) -> list[str]:
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
    written = []
    for row in (names, ["-" * each for each in widths], *table.rows):
        first, *rest = _fold(row[-1], widths[-1], hang=0)
        cells = zip((*row[:-1], first), widths, right, strict=True)
        written.append(gap.join(_pad(cell, size, on_right) for cell, size, on_right in cells))
        written += [" " * (sum(widths[:-1]) + len(gap) * (len(widths) - 1)) + line for line in rest]
    return [line.rstrip() for line in written]


def _pairs(pairs: Sequence[tuple[str, str]], width: int | None) -> list[str]:
    """Write names beside their values, or above those that do not fit beside them."""
    names = max((_cells(name) for name, _ in pairs), default=0)
    room = None if width is None else width - names - len(_GAP)
    written = []
    for name, value in pairs:
        if room is not None and width is not None and room < _longest(value):
            written += [*_fold(name, width, hang=2), *(_GAP + line for line in _fold(value, width - len(_GAP), hang=2))]
            continue
        lines = _fold(value, room, hang=2)
        keys = (name, *[""] * (len(lines) - 1))
        written += [_pad(key, names) + _GAP + line for key, line in zip(keys, lines, strict=True)]
    return [line.rstrip() for line in written]


def _fold(text: str, width: int | None, *, hang: int) -> list[str]:
    """Fold every line of a text at blanks; what goes on is indented by so many columns more."""
    lines = []
    for line in text.split("\n"):
        rest, indent = line, " " * (len(line) - len(line.lstrip()) + hang)
        while width is not None and _cells(rest) > width and len(parts := list(_PART.finditer(rest))) > 1:
            fitting = sum(_cells(rest[: part.end()]) <= width for part in parts[:-1])
            lines.append(rest[: parts[max(fitting, 1) - 1].end()])
            rest = indent + rest[parts[max(fitting, 1)].start() :]
        lines.append(rest)
    return lines


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


def small_page(shown: Shown) -> str:
    """Return what a notebook shows of a result."""
    return f'<div class="tw"><style>{STYLE}</style>{as_html(shown)}</div>'


def as_html(shown: Shown, most: int = MOST_ROWS) -> str:
    """Write what people read in HTML, at most so many rows of a table; tilings are set as code.

    >>> as_html("a < b"), as_html(Pairs({"time": "2 s"}))
    ('<p>a &lt; b</p>', '<table><tr><th>time</th><td>2 s</td></tr></table>')
    """
    if isinstance(shown, str):
        kind = "pre" if "\n" in shown else "p"
        return f"<{kind}>{html.escape(shown)}</{kind}>"
    if isinstance(shown, Table):
        return (as_html(shown.title) if shown.title else "") + _table_html(shown, most)
    if isinstance(shown, Pairs):
        rows = (
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in shown.facts.items()
        )
        return (as_html(shown.title) if shown.title else "") + f"<table>{''.join(rows)}</table>"
    return "".join(as_html(part, most) for part in shown)


def _table_html(shown: Table, most: int) -> str:
    kinds = [' class="n"' if column.startswith(">") else "" for column in shown.columns]
    names = [column.removeprefix(">") for column in shown.columns]
    head = "".join(f"<th{kind}>{html.escape(name)}</th>" for kind, name in zip(kinds, names, strict=True))
    body = ""
    for row in shown.rows[:most]:
        texts = [html.escape(cell) for cell in row]
        cells = [f"<code>{text}</code>" if name == "tiling" else text for name, text in zip(names, texts, strict=True)]
        body += "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, cells, strict=True)) + "</tr>"
    more = len(shown.rows) - most
    rest = f"<p>… and {more} more</p>" if more > 0 else ""
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{rest}'
