"""Results as HTML: a page of its own, and fragments for notebooks. No script, nothing loaded from a network.

Plots are the text of SVG elements inside the page.
"""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.paths import write_text
from tilewright.base.records import Record
from tilewright.base.tables import STYLE, Pairs, Table, as_html
from tilewright.base.units import format_bytes, format_seconds
from tilewright.report import figures
from tilewright.report.study import StudiedTiling, Study

MOST_ROWS = 200  # candidates in the table of a page
_FEW_ROWS = 8
_STYLE = """
body{font-family:system-ui,sans-serif;color:#10161d;background:#fff;max-width:72rem;margin:2rem auto;padding:0 1rem}
.tw h2{border-bottom:1px solid #ccc;padding-bottom:.2rem;margin-top:2.5rem}
.tw .plots{display:flex;flex-wrap:wrap;gap:1rem}
.tw figure{margin:0;flex:1 1 28rem;min-width:20rem;max-width:36rem}
.tw svg{width:100%;height:auto}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Said to the browser as well: nothing is loaded, no script runs."""


def page(studies: Sequence[Study], title: str, origin: str = "") -> str:
    """Make a self-contained HTML page, a section per study; ``origin`` says when and by what."""
    body = "\n".join(_section(study, figures.of_study(study) | _tile(study), MOST_ROWS) for study in studies)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{STYLE}</style></head>\n"
        f'<body class="tw"><h1>{html.escape(title)}</h1>\n{_small(origin)}{body}\n</body></html>\n'
    )


def fragment(study: Study) -> str:
    """Make what a notebook shows of a result; the plots are left out where matplotlib is missing."""
    try:
        drawn = figures.of_study(study)
    except UsageError:
        drawn = {}
    style = "".join(line for line in (_STYLE + STYLE).splitlines() if line.startswith(".tw"))
    return f'<div class="tw"><style>{style}</style>{_section(study, drawn, _FEW_ROWS)}</div>'


class Studied(Record):
    """A result that a page can show, with its plots."""

    __slots__ = ()

    def study(self) -> Study:
        """Return what a page shows of it."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return fragment(self.study())


def write(studies: Sequence[Study], path: Path, title: str, origin: str = "") -> Path:
    """Write a self-contained page; see :func:`page`."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"a report is written to a file that ends in .html, got {path.name!r}")
    text = page(studies, title, origin)
    write_text(path, text)
    return path


def _section(study: Study, plots: Mapping[str, str], rows: int) -> str:
    first = "".join(f"<figure>{plots[name]}</figure>" for name in ("tile",) if name in plots)
    parts = [f"<h2>{html.escape(study.title)}</h2>"]
    parts += [f"<p>{html.escape(study.plain)}</p>"] if study.plain else []
    parts.append(f'<div class="plots"><div>{as_html(Pairs(dict((*study.facts, *study.made))))}</div>{first}</div>')
    parts += [f'<p class="note">{html.escape(note)}</p>' for note in study.notes]
    if study.explanation:
        lines = "<br>".join(html.escape(line) for line in study.explanation)
        parts.append(f"<h3>Why this tiling</h3><p>{lines}</p>")
    if study.gains:
        gains = [(text, f"{factor:.3f}x") for text, factor in study.gains]
        parts.append(as_html(Table(("the same tile with", ">speed"), tuple(gains))))
    drawn = "".join(f"<figure>{svg}</figure>" for name, svg in plots.items() if name != "tile")
    parts.append(f'<div class="plots">{drawn}</div>' if drawn else "")
    parts.append(_ranking_table(study.candidates, rows))
    if study.families:
        parts.append("<h3>The best of every family</h3>" + _choices(study.families))
    if study.front:
        parts.append("<h3>Pareto set of time and energy</h3>" + _choices(study.front))
    return f"<section>{''.join(parts)}</section>"


def _small(text: str) -> str:
    return f'<p class="small">{html.escape(text)}.</p>\n' if text else ""


def _ranking_table(candidates: Sequence[StudiedTiling], most: int) -> str:
    measured = any(each.measured is not None for each in candidates)
    times = (">measured", ">measured / predicted") if measured else ()
    columns = (">", "tiling", ">predicted", *times, ">off chip", ">joules", "outcome" if measured else "bound by")
    rows = [
        (
            str(place),
            each.tiling,
            _prediction_cell(each),
            *(_times(each) if measured else ()),
            "-" if each.dram_bytes is None else format_bytes(each.dram_bytes),
            "-" if each.joules is None else f"{each.joules:.4g}",
            _outcome(each),
        )
        for place, each in enumerate(candidates, 1)
    ]
    return f"<h3>Candidates</h3>{as_html(Table(columns, tuple(rows)), most)}"


def _prediction_cell(each: StudiedTiling) -> str:
    return _with_range(each.predicted, each.interval) if each.known else "-"


def _times(each: StudiedTiling) -> tuple[str, str]:
    if each.measured is None:
        return "-", "-"
    measured = _with_range(each.measured, each.measured_range)
    return measured, f"{each.measured / each.predicted:.2f}" if each.known else "-"


def _with_range(seconds: float, ends: tuple[float, float] | None) -> str:
    texts = [format_seconds(value, keep=True) for value in (seconds, *(ends or ()))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})" if ends and texts[1] != texts[2] else texts[0]


def _outcome(each: StudiedTiling) -> str:
    spread = "" if each.spread is None else f" (samples within {each.spread:.1%})"
    return f"{each.outcome or each.bound_by}{spread}"


def _choices(tilings: Sequence[StudiedTiling]) -> str:
    rows = [(each.tiling, format_seconds(each.predicted, keep=True), f"{each.joules:.4g}") for each in tilings]
    return as_html(Table(("tiling", ">predicted", ">joules"), tuple(rows)), MOST_ROWS)


def _tile(study: Study) -> dict[str, str]:
    """Draw the tiles of the chosen tiling, an SVG element by the name ``tile``; nothing where they cannot be drawn."""
    from tilewright.report.drawing import drawn

    return {} if study.tile is None else {"tile": figures.svg(drawn(*study.tile), study.title, "tile")}
