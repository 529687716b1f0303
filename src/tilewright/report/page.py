"""Results as HTML: a page of its own, and fragments for notebooks. No script, nothing loaded from a network.

Plots are the text of SVG elements inside the page.
"""

import html
import importlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.paths import write_text
from tilewright.base.records import Record
from tilewright.base.tables import STYLE, Pairs, Table, as_html
from tilewright.base.units import format_bytes, format_rate, format_seconds
from tilewright.report import plots
from tilewright.report.study import StudiedTiling, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_ROWS = 200
"""Candidates in the table of a page."""
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


def page(studies: Sequence[Study], title: str, made: str = "") -> str:
    """Make a self-contained HTML page, a section per study; ``made`` says when and by what."""
    body = "\n".join(_section(study, figures(study) | tile(study), MOST_ROWS) for study in studies)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{STYLE}</style></head>\n"
        f'<body class="tw"><h1>{html.escape(title)}</h1>\n{_small(made)}{body}\n</body></html>\n'
    )


def fragment(study: Study) -> str:
    """Make what a notebook shows of a result; the plots are left out where matplotlib is missing."""
    try:
        drawn = figures(study)
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


def write(studies: Sequence[Study], path: Path, title: str, made: str = "") -> Path:
    """Write a self-contained page; see :func:`page`."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"a report is written to a file that ends in .html, got {path.name!r}")
    text = page(studies, title, made)
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
    parts.append(_ranked(study.candidates, rows))
    if study.families:
        parts.append("<h3>The best of every family</h3>" + _choices(study.families))
    if study.front:
        parts.append("<h3>Pareto set of time and energy</h3>" + _choices(study.front))
    return f"<section>{''.join(parts)}</section>"


def _small(text: str) -> str:
    return f'<p class="small">{html.escape(text)}.</p>\n' if text else ""


def _ranked(candidates: Sequence[StudiedTiling], most: int) -> str:
    measured = any(each.measured is not None for each in candidates)
    times = (">measured", ">measured / predicted") if measured else ()
    columns = (">", "tiling", ">predicted", *times, ">off chip", ">joules", "outcome" if measured else "bound by")
    rows = [
        (
            str(place),
            each.tiling,
            _predicted(each),
            *(_times(each) if measured else ()),
            "-" if each.dram_bytes is None else format_bytes(each.dram_bytes),
            "-" if each.joules is None else f"{each.joules:.4g}",
            _outcome(each),
        )
        for place, each in enumerate(candidates, 1)
    ]
    return f"<h3>Candidates</h3>{as_html(Table(columns, tuple(rows)), most)}"


def _predicted(each: StudiedTiling) -> str:
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


_PREDICTED, _MEASURED, _CHOSEN, _ROOF, _MEMORY = "#1f5fa8", "#3b7f4c", "#b3261e", "#26323f", "#7a4fa3"
_FAMILIES = ("#1f5fa8", "#c4661f", "#3b7f4c", "#7a4fa3", "#8a6d1b", "#0f7b86", "#555555", "#a33d6b")
_SIZE = (6.4, 4.2)
_BARS = 12
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
Drawing = Callable[["Axes", Study], None]


def figures(study: Study) -> dict[str, str]:
    """Draw whatever a study has the numbers for: an SVG element by the name of each plot."""
    return {name: _svg(draw, study, name) for name, (draw, wanted) in _PLOTS.items() if wanted(study)}


def tile(study: Study) -> dict[str, str]:
    """Draw the tiles of the chosen tiling, an SVG element by the name ``tile``; nothing where they cannot be drawn."""
    from tilewright.report.drawing import drawn

    if study.tile is None:
        return {}
    return {"tile": _text(drawn(*study.tile), study, "tile")}


def _svg(draw: Drawing, study: Study, name: str) -> str:
    figure = plots.matplotlib().Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    draw(axes, study)
    plots.open_frame(axes)
    return _text(figure, study, name)


def _text(figure: Any, study: Study, name: str) -> str:  # noqa: ANN401  (a figure of matplotlib)
    """Return a figure as an SVG element; ids inside depend on the content alone, and differ between plots."""
    matplotlib, stream = importlib.import_module("matplotlib"), io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": f"{study.title} {name}"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = _METADATA.sub("", stream.getvalue())
    return text[text.index("<svg") :].replace("<svg ", f'<svg role="img" data-plot="{name}" ', 1)


def _roofline(axes: "Axes", study: Study) -> None:
    """The roofs, and every candidate under them: hollow as predicted, filled as measured."""
    assert study.roof is not None  # noqa: S101  (the table of plots asks first)
    dots = [each for each in study.candidates if each.intensity and each.flops]
    intensities = [each.intensity or 1.0 for each in dots]
    low, high = min([*intensities, study.roof.ridge]) / 2, max([*intensities, study.roof.ridge]) * 2
    line = np.geomspace(low, high, 200)
    axes.loglog(line, [study.roof.at(float(x)) / 1e9 for x in line], color=_ROOF, linewidth=2)
    axes.axhline(study.roof.flops_per_second / 1e9, color=_ROOF, linewidth=0.7, linestyle=":")
    axes.text(low * 1.05, study.roof.flops_per_second / 1e9 * 1.08, _speed(study.roof.flops_per_second), color=_ROOF)
    start = study.roof.at(low * 1.3) / 1e9
    memory = f"memory {format_rate(study.roof.bytes_per_second, 'B')}"
    axes.annotate(memory, (low * 1.3, start), xytext=(10, -12), textcoords="offset points", color=_ROOF)
    for kind, colour, face in (("predicted", _PREDICTED, "none"), ("measured", _MEASURED, _MEASURED)):
        xy = [(each.intensity, each.flops / seconds / 1e9) for each in dots if (seconds := _of(each, kind))]  # type: ignore[operator]
        if xy:
            axes.loglog(
                *zip(*xy, strict=True), "o", color=colour, markerfacecolor=face, markersize=5, alpha=0.8, label=kind
            )
    first = dots[0]
    seconds = first.measured or first.predicted
    axes.plot(first.intensity, first.flops / seconds / 1e9, "*", color=_CHOSEN, markersize=13, label="chosen")  # type: ignore[operator,arg-type]
    axes.set(xlabel="operations per byte off chip", ylabel="GFlops/s", title="Roofline")
    axes.margins(y=0.15)
    _below(axes)
    _decades(axes)


def _decades(axes: "Axes") -> None:
    """Label 1, 2 and 5 of every decade, as numbers; minor ticks of narrow ranges would run into each other."""
    ticker = plots.matplotlib("ticker")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(which="major", color="#dddddd", linewidth=0.6)


def _speed(flops_per_second: float) -> str:
    return f"arithmetic of this program: {format_rate(flops_per_second, 'Flops')}"


def _of(each: StudiedTiling, kind: str) -> float | None:
    if kind == "measured":
        return each.measured
    return each.predicted if each.known else None


def _scatter(axes: "Axes", study: Study) -> None:
    """Predicted against measured time, one colour per family, with the line of equality."""
    both = [each for each in study.candidates if each.measured and each.known]
    for colour, family in zip(_FAMILIES, dict.fromkeys(each.family for each in both), strict=False):
        points = [(each.predicted, each.measured) for each in both if each.family == family]
        axes.loglog(*zip(*points, strict=True), "o", color=colour, markersize=5, alpha=0.8, label=family)
    ends = [min(min(e.predicted, e.measured or 0) for e in both), max(max(e.predicted, e.measured or 0) for e in both)]
    axes.loglog(ends, ends, color="0.6", linewidth=1, label="equal")
    chosen = study.candidates[0]
    if chosen.measured and chosen.known:
        axes.plot(chosen.predicted, chosen.measured, "*", color=_CHOSEN, markersize=13, label="chosen")
    axes.set(xlabel="predicted seconds", ylabel="measured seconds", title="Predicted against measured")
    _below(axes)
    _decades(axes)


def _ranking(axes: "Axes", study: Study) -> None:
    """Times of the first candidates as dots with their ranges, on an axis that need not begin at 0."""
    first = [each for each in study.candidates if each.known or each.measured][:_BARS][::-1]
    kinds = (
        (
            "predicted",
            _PREDICTED,
            0.12,
            [(each.predicted if each.known else None, each.interval) for each in first],
        ),
        ("measured", _MEASURED, -0.12, [(each.measured, each.measured_range) for each in first]),
    )
    for kind, colour, shift, times in kinds:
        for row, (seconds, ends) in enumerate(times):
            if seconds is None:
                continue
            low, high = ends or (seconds, seconds)
            axes.plot([low, high], [row + shift] * 2, "-", color=colour, linewidth=1.5, alpha=0.6)
            axes.plot(
                seconds,
                row + shift,
                "o",
                color=colour,
                markersize=5,
                label=kind if row == len(first) - 1 else None,
            )
    axes.set_yticks(range(len(first)), [each.tiling for each in first], fontsize="x-small")
    axes.locator_params(axis="x", nbins=5)
    axes.ticklabel_format(axis="x", scilimits=(-3, 3))
    axes.set_xlabel("seconds; lines: four of five times as expected, and all samples", fontsize="small")
    axes.set_title("Candidates, the chosen one first", loc="left")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    _below(axes)


def _below(axes: "Axes") -> None:
    """Put the legend where it covers nothing."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4, fontsize="small", frameon=False)


def _pareto(axes: "Axes", study: Study) -> None:
    """The time-energy Pareto set of the whole space among the candidates and the best of every family."""
    dots = [(each.predicted, each.joules) for each in study.candidates if each.known and each.joules]
    if dots:
        axes.plot(*zip(*dots, strict=True), "o", color="0.6", markersize=4, linestyle="none", label="candidates")
    for colour, each in zip(_FAMILIES, study.families, strict=False):
        label = f"best {each.tiling.partition(':')[0]}"
        axes.plot(each.predicted, each.joules or 0.0, "s", color=colour, markersize=6, linestyle="none", label=label)
    front = [(each.predicted, each.joules) for each in study.front]
    style: dict[str, Any] = {"color": _CHOSEN, "markersize": 9, "markerfacecolor": "none", "linewidth": 1}
    axes.plot(*zip(*front, strict=True), "o-", **style, label="Pareto set")
    axes.set(xlabel="predicted seconds", ylabel="predicted joules", title="Time and energy")
    _near(axes, [*dots, *front, *((each.predicted, each.joules) for each in study.families)])
    _below(axes)
    axes.grid(color="#dddddd", linewidth=0.6)


def _near(axes: "Axes", points: Sequence[tuple[float, float | None]]) -> None:
    """Take logarithmic axes where the points are far apart."""
    for scale, values in ((axes.set_xscale, [p[0] for p in points]), (axes.set_yscale, [p[1] or 0.0 for p in points])):
        if min(values) > 0 and max(values) > 8 * min(values):
            scale("log")


def _resources(axes: "Axes", study: Study) -> None:
    """How much of every resource the chosen tiling uses."""
    used = study.used[::-1]
    colours = [_PREDICTED if each.kind == "work" else _MEMORY for each in used]
    axes.barh(range(len(used)), [100 * each.use for each in used], color=colours, alpha=0.8)
    kinds: Mapping[str, str] = {"work": "share of the time", "held": "share of what there is"}
    axes.set_yticks(range(len(used)), [f"{each.name}\n({kinds[each.kind]})" for each in used], fontsize="small")
    axes.axvline(100, color=_CHOSEN, linewidth=1)
    axes.set(xlabel="per cent in use", title="What the chosen tiling uses")


def _measured(study: Study) -> bool:
    return any(each.measured and each.known for each in study.candidates)


_PLOTS: dict[str, tuple[Drawing, Callable[[Study], Any]]] = {
    "roofline": (_roofline, lambda s: s.roof and any(each.intensity and each.known for each in s.candidates[:1])),
    "scatter": (_scatter, _measured),
    "ranking": (_ranking, lambda s: any(each.known or each.measured for each in s.candidates)),
    "pareto": (_pareto, lambda s: s.front),
    "resources": (_resources, lambda s: s.used),
}
