"""The plots of a page, each as the text of one SVG element: nothing is loaded from anywhere."""

import importlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.units import format_rate
from tilewright.report import plots
from tilewright.report.study import StudiedTiling, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
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
    places = [each.intensity or 1.0 for each in dots]
    low, high = min([*places, study.roof.ridge]) / 2, max([*places, study.roof.ridge]) * 2
    line = np.geomspace(low, high, 200)
    axes.loglog(line, [study.roof.at(float(x)) / 1e9 for x in line], color=_ROOF, linewidth=2)
    axes.axhline(study.roof.flops_per_second / 1e9, color=_ROOF, linewidth=0.7, linestyle=":")
    axes.text(low * 1.05, study.roof.flops_per_second / 1e9 * 1.08, _speed(study.roof.flops_per_second), color=_ROOF)
    start = study.roof.at(low * 1.3) / 1e9
    axes.annotate(
        f"memory {format_rate(study.roof.bytes_per_second, 'B')}",
        (low * 1.3, start),
        xytext=(10, -12),
        textcoords="offset points",
        color=_ROOF,
    )
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
    shown = [each for each in study.candidates if each.known or each.measured][:_BARS][::-1]
    kinds = (
        (
            "predicted",
            _PREDICTED,
            0.12,
            [(each.predicted if each.known else None, each.interval) for each in shown],
        ),
        ("measured", _MEASURED, -0.12, [(each.measured, each.measured_range) for each in shown]),
    )
    for kind, colour, shift, times in kinds:
        for row, (seconds, ends) in enumerate(times):
            if seconds is None:
                continue
            low, high = ends or (seconds, seconds)
            axes.plot([low, high], [row + shift] * 2, "-", color=colour, linewidth=1.5, alpha=0.6)
            axes.plot(
                seconds, row + shift, "o", color=colour, markersize=5, label=kind if row == len(shown) - 1 else None
            )
    axes.set_yticks(range(len(shown)), [each.tiling for each in shown], fontsize="x-small")
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
    axes.plot(
        *zip(*front, strict=True),
        "o-",
        color=_CHOSEN,
        markersize=9,
        markerfacecolor="none",
        linewidth=1,
        label="Pareto set",
    )
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
    shown = study.used[::-1]
    colours = [_PREDICTED if each.kind == "work" else _MEMORY for each in shown]
    axes.barh(range(len(shown)), [100 * each.use for each in shown], color=colours, alpha=0.8)
    kinds: Mapping[str, str] = {"work": "share of the time", "held": "share of what there is"}
    axes.set_yticks(range(len(shown)), [f"{each.name}\n({kinds[each.kind]})" for each in shown], fontsize="small")
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
