"""Every figure that is drawn by matplotlib, which is loaded with the first: one style, and one way to write a file.

Figures of a page are the text of SVG elements; the others are pictures in files. Drawings of tiles are in
:mod:`tilewright.report.drawing`.
"""

import importlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.errors import UsageError, needed
from tilewright.base.paths import make_folder, written
from tilewright.base.units import format_rate
from tilewright.costs.accuracy import Comparison
from tilewright.report.study import StudiedTiling, Study, comparison
from tilewright.tuning.validation import BAND

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tilewright.report.validation import StencilValidation

FORMATS = (".png", ".svg", ".pdf")
BLUE, ORANGE, GREEN, VIOLET, RED, INK = "#1f5fa8", "#c4661f", "#3b7f4c", "#7a4fa3", "#b3261e", "#26323f"
_FAMILIES = (BLUE, ORANGE, GREEN, VIOLET, "#8a6d1b", "#0f7b86", "#555555", "#a33d6b")
GRID: dict[str, Any] = {"color": "#dddddd", "linewidth": 0.6}
"""Lines behind a plot."""
_NARROW = 2.0  # highest over lowest seconds below which an axis is extended, by this factor up and down
_BARS = 12  # candidates whose times stand side by side
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
Line = tuple[Sequence[int], Sequence[float]]  # ranks, seconds
Drawing = Callable[["Axes", Study], None]


def matplotlib(module: str = "figure", kind: str = "plot") -> Any:  # noqa: ANN401  (its types are not always there)
    """Load a part of matplotlib, which a ``kind`` of picture needs."""
    with needed("matplotlib", f"a {kind}", extra="plot"):
        return importlib.import_module(f"matplotlib.{module}")


def check_format(path: Path, kind: str = "plot") -> None:
    """Check that a picture can be a file of this name."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"a {kind} is written as {', '.join(FORMATS)}, got {path.name!r}")


def new_figure(size: tuple[float, float], kind: str = "plot") -> "Figure":
    """Return an empty figure of a size in inches."""
    figure: Figure = matplotlib("figure", kind).Figure(figsize=size, layout="constrained")
    return figure


def panels(
    count: int, size: tuple[float, float], *, columns: int = 0, kind: str = "plot"
) -> tuple["Figure", list["Axes"]]:
    """Return a figure of a size in inches with so many panels, side by side or in so many columns."""
    figure = new_figure(size, kind)
    columns = columns or count
    axes = figure.subplots(-(-count // columns), columns, squeeze=False).ravel().tolist()
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


def save(figure: "Figure", path: Path, dpi: float | None = None) -> Path:
    """Write a figure to a file."""
    options: dict[str, Any] = {} if dpi is None else {"dpi": dpi}
    with written(path) as target:
        figure.savefig(target, **options)
    return path


def svg(figure: "Figure", title: str, name: str) -> str:
    """Return a figure as an SVG element; ids inside depend on title, name and content alone."""
    stream = io.StringIO()
    with importlib.import_module("matplotlib").rc_context({"svg.fonttype": "path", "svg.hashsalt": f"{title} {name}"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = _METADATA.sub("", stream.getvalue())
    return text[text.index("<svg") :].replace("<svg ", f'<svg role="img" data-plot="{name}" ', 1)


def open_frame(axes: "Axes") -> None:
    """Take the lines above and to the right of a plot away."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def polygon(axes: "Axes", corners: Sequence[tuple[float, float]], **style: Any) -> None:  # noqa: ANN401
    """Draw a closed line through corners."""
    axes.add_patch(matplotlib("patches").Polygon(corners, **style))


def legend_below(axes: "Axes") -> None:
    """Put the legend where it covers nothing."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4, fontsize="small", frameon=False)


def decades(axes: "Axes") -> None:
    """Label 1, 2 and 5 of every decade, as numbers; minor ticks of narrow ranges would run into each other."""
    ticker = matplotlib("ticker")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())


def scatter(table: Comparison, path: Path, title: str) -> Path:
    """Plot predicted against measured seconds on logarithmic axes, a colour per group, with the line of equality."""
    if not len(table.measured):
        raise UsageError("there is nothing to plot: no candidate was measured", "tune with --effort quick")
    check_format(path)
    figure, (axes,) = panels(1, (5.6, 4.8))
    _groups(axes, table, markersize=4, alpha=0.7)
    axes.set(xlabel="predicted seconds", ylabel="measured seconds", title=title)
    axes.legend()
    return save(figure, path)


def _groups(axes: "Axes", table: Comparison, **style: Any) -> None:  # noqa: ANN401
    """Plot predicted against measured values, groups in the colours of the axes, with the line of equality."""
    names = np.array(table.configurations)
    for group in dict.fromkeys(table.configurations):
        part = table.take(names == group)
        axes.loglog(part.predicted, part.measured, "o", label=group, **style)
    ends = [*table.predicted, *table.measured]
    axes.loglog([min(ends), max(ends)], [min(ends), max(ends)], "-", color="0.6", linewidth=1, label="equal")


def draw_scaling(lines: Mapping[str, Mapping[str, Line]], path: Path, title: str) -> Path:
    """Draw named lines of seconds over ranks on logarithmic axes, one panel per kind of scaling."""
    check_format(path)
    figure, row = panels(len(lines), (9.6, 4.4))
    figure.suptitle(title)
    for axes, (name, panel) in zip(row, lines.items(), strict=True):
        for label, (ranks, seconds) in panel.items():
            axes.loglog(ranks, seconds, "--" if label == "ideal" else "o-", markersize=4, label=label)
        axes.set(xlabel="ranks", ylabel="seconds", title=name)
        low, high = axes.get_ylim()
        if high < _NARROW * low:  # weak scaling, as a rule: small differences are to look small
            axes.set_ylim(low / _NARROW, high * _NARROW)
        axes.legend()
    return save(figure, path)


def draw_sweep(result: Mapping[str, Any], path: Path) -> Path:
    """Plot the document of a what-if sweep: time, energy and efficiency over the factor, one panel each."""
    check_format(path)
    curves = {"seconds": "seconds", "joules": "joules", "share of ideal": "efficiency"}
    factors = [row["factor"] for row in result["rows"]]
    figure, row = panels(len(curves), (4.0 * len(curves), 3.4))
    for axes, (name, key) in zip(row, curves.items(), strict=True):
        values = [row[key] for row in result["rows"]]
        axes.plot(factors, values, "o-")
        axes.set(xlabel="factor", ylabel=name, xscale="log")
        axes.set_ylim(0, 1.08 * max(values) or 1.0)
        axes.set_xticks(factors, [f"{factor:g}" for factor in factors])
        axes.minorticks_off()
    figure.suptitle(f"{result['program']} on {result['machine']}: {result['vary']}")
    return save(figure, path)


def of_study(study: Study) -> dict[str, str]:
    """Draw whatever a study has the numbers for: an SVG element by the name of each plot."""
    return {name: _of_study(draw, study, name) for name, (draw, condition) in _PLOTS.items() if condition(study)}


def _of_study(draw: Drawing, study: Study, name: str) -> str:
    figure, (axes,) = panels(1, (6.4, 4.2))
    draw(axes, study)
    open_frame(axes)
    return svg(figure, study.title, name)


def _roofline(axes: "Axes", study: Study) -> None:
    """The roofs, and every candidate under them: hollow as predicted, filled as measured."""
    roof = study.roof
    assert roof is not None  # noqa: S101  (the table of plots asks first)
    dots = [each for each in study.candidates if each.intensity and each.flops]
    intensities = [*(each.intensity or 1.0 for each in dots), roof.ridge]
    low, high = min(intensities) / 2, max(intensities) * 2
    line = np.geomspace(low, high, 200)
    axes.loglog(line, [roof.at(float(x)) / 1e9 for x in line], color=INK, linewidth=2)
    axes.axhline(roof.flops_per_second / 1e9, color=INK, linewidth=0.7, linestyle=":")
    arithmetic = f"arithmetic of this program: {format_rate(roof.flops_per_second, 'Flops')}"
    axes.text(low * 1.05, roof.flops_per_second / 1e9 * 1.08, arithmetic, color=INK)
    memory, start = f"memory {format_rate(roof.bytes_per_second, 'B')}", (low * 1.3, roof.at(low * 1.3) / 1e9)
    axes.annotate(memory, start, xytext=(10, -12), textcoords="offset points", color=INK)
    for kind, colour, face in (("predicted", BLUE, "none"), ("measured", GREEN, GREEN)):
        xy = [(each.intensity, each.flops / seconds / 1e9) for each in dots if (seconds := _of(each, kind))]  # type: ignore[operator]
        style: dict[str, Any] = {"color": colour, "markerfacecolor": face, "markersize": 5, "alpha": 0.8, "label": kind}
        if xy:
            axes.loglog(*zip(*xy, strict=True), "o", **style)
    first = dots[0]
    seconds = first.measured or first.predicted
    axes.plot(first.intensity, first.flops / seconds / 1e9, "*", color=RED, markersize=13, label="chosen")  # type: ignore[operator,arg-type]
    axes.set(xlabel="operations per byte off chip", ylabel="GFlops/s", title="Roofline")
    axes.margins(y=0.15)
    legend_below(axes)
    decades(axes)
    axes.grid(which="major", **GRID)


def _of(each: StudiedTiling, kind: str) -> float | None:
    if kind == "measured":
        return each.measured
    return each.predicted if each.known else None


def _scatter(axes: "Axes", study: Study) -> None:
    """Predicted against measured time, one colour per family, with the line of equality."""
    axes.set_prop_cycle(color=_FAMILIES)
    _groups(axes, comparison(study.candidates), markersize=5, alpha=0.8)
    chosen = study.candidates[0]
    if chosen.measured and chosen.known:
        axes.plot(chosen.predicted, chosen.measured, "*", color=RED, markersize=13, label="chosen")
    axes.set(xlabel="predicted seconds", ylabel="measured seconds", title="Predicted against measured")
    legend_below(axes)
    decades(axes)
    axes.grid(which="major", **GRID)


def _ranking(axes: "Axes", study: Study) -> None:
    """Times of the first candidates as dots with their ranges, on an axis that need not begin at 0."""
    first = [each for each in study.candidates if each.known or each.measured][:_BARS][::-1]
    for kind, colour, shift in (("predicted", BLUE, 0.12), ("measured", GREEN, -0.12)):
        for row, each in enumerate(first):
            seconds = _of(each, kind)
            if seconds is None:
                continue
            ends = (each.interval if kind == "predicted" else each.measured_range) or (seconds, seconds)
            label = kind if row == len(first) - 1 else None
            axes.plot(ends, [row + shift] * 2, "-", color=colour, linewidth=1.5, alpha=0.6)
            axes.plot(seconds, row + shift, "o", color=colour, markersize=5, label=label)
    axes.set_yticks(range(len(first)), [each.tiling for each in first], fontsize="x-small")
    axes.locator_params(axis="x", nbins=5)
    axes.ticklabel_format(axis="x", scilimits=(-3, 3))
    axes.set_xlabel("seconds; lines: four of five times as expected, and all samples", fontsize="small")
    axes.set_title("Candidates, the chosen one first", loc="left")
    axes.grid(axis="x", **GRID)
    legend_below(axes)


def _pareto(axes: "Axes", study: Study) -> None:
    """The time-energy Pareto set of the whole space among the candidates and the best of every family."""
    dots = [(each.predicted, each.joules) for each in study.candidates if each.known and each.joules]
    if dots:
        axes.plot(*zip(*dots, strict=True), "o", color="0.6", markersize=4, linestyle="none", label="candidates")
    for colour, each in zip(_FAMILIES, study.families, strict=False):
        label = f"best {each.tiling.partition(':')[0]}"
        axes.plot(each.predicted, each.joules or 0.0, "s", color=colour, markersize=6, linestyle="none", label=label)
    front = [(each.predicted, each.joules) for each in study.front]
    style: dict[str, Any] = {"color": RED, "markersize": 9, "markerfacecolor": "none", "linewidth": 1}
    axes.plot(*zip(*front, strict=True), "o-", **style, label="Pareto set")
    axes.set(xlabel="predicted seconds", ylabel="predicted joules", title="Time and energy")
    _near(axes, [*dots, *front, *((each.predicted, each.joules) for each in study.families)])
    legend_below(axes)
    axes.grid(**GRID)


def _near(axes: "Axes", points: Sequence[tuple[float, float | None]]) -> None:
    """Take logarithmic axes where the points are far apart."""
    for scale, values in ((axes.set_xscale, [p[0] for p in points]), (axes.set_yscale, [p[1] or 0.0 for p in points])):
        if min(values) > 0 and max(values) > 8 * min(values):
            scale("log")


def _resources(axes: "Axes", study: Study) -> None:
    """How much of every resource the chosen tiling uses."""
    bars = study.used[::-1]
    colours = [BLUE if each.kind == "work" else VIOLET for each in bars]
    axes.barh(range(len(bars)), [100 * each.use for each in bars], color=colours, alpha=0.8)
    kinds: Mapping[str, str] = {"work": "share of the time", "held": "share of what there is"}
    axes.set_yticks(range(len(bars)), [f"{each.name}\n({kinds[each.kind]})" for each in bars], fontsize="small")
    axes.axvline(100, color=RED, linewidth=1)
    axes.set(xlabel="per cent in use", title="What the chosen tiling uses")


_PLOTS: dict[str, tuple[Drawing, Callable[[Study], Any]]] = {
    "roofline": (_roofline, lambda s: s.roof and any(each.intensity and each.known for each in s.candidates[:1])),
    "scatter": (_scatter, lambda s: len(comparison(s.candidates).measured)),
    "ranking": (_ranking, lambda s: any(each.known or each.measured for each in s.candidates)),
    "pareto": (_pareto, lambda s: s.front),
    "resources": (_resources, lambda s: s.used),
}


def draw_validation(stencils: "Sequence[StencilValidation]", folder: Path) -> tuple[Path, ...]:
    """Draw figures 3 to 6 of the time-model paper (Prajapati et al., PPoPP 2017) into a folder."""
    make_folder(folder)
    with_tiles = [stencil for stencil in stencils if stencil.space is not None]
    pictures = []
    for name, draw_one, shown in (
        ("accuracy", _accuracy, stencils),
        ("surface", _surface, with_tiles),
        ("band", _band, with_tiles),
    ):
        if shown:
            columns = min(4, len(shown))
            figure, row = panels(len(shown), (3.6 * columns, 3.2 * -(-len(shown) // columns)), columns=columns)
            for stencil, axes in zip(shown, row, strict=True):
                draw_one(axes, stencil, stencil.scored)
            pictures.append(save(figure, folder / f"{name}.png", dpi=130))
    return (*pictures, *([_draw_strategies(with_tiles, folder / "strategies.png")] if with_tiles else []))


def _accuracy(axes: "Axes", stencil: "StencilValidation", table: Comparison) -> None:
    """Figure 3: predicted against measured, the points near the best marked."""
    measured, predicted, near = table.measured, table.predicted, table.near()
    for mask, colour, label in ((~near, "0.75", "all"), (near, BLUE, "within 20 % of the best")):
        axes.loglog(measured[mask], predicted[mask], ".", color=colour, markersize=3, label=label)
    ends = [float(measured.min()), float(measured.max())]
    axes.loglog(ends, ends, "-", color=RED, linewidth=1)
    axes.set(title=stencil.name, xlabel="measured, s", ylabel="predicted, s")
    axes.legend(fontsize="x-small", loc="upper left")


def _surface(axes: "Axes", stencil: "StencilValidation", table: Comparison) -> None:
    """Figure 4: the model's time over the height and the innermost size, the best of the other parameters."""
    assert stencil.space is not None  # noqa: S101  (filtered by the caller)
    heights, row = np.unique(stencil.space.sizes.time, return_inverse=True)
    sizes, column = np.unique(stencil.space.sizes.space[-1], return_inverse=True)
    surface = np.full((len(heights), len(sizes)), np.inf)  # of which no picture shows anything
    np.minimum.at(surface, (row, column), table.predicted)
    image = axes.imshow(np.log10(surface), origin="lower", aspect="auto", cmap="viridis_r")
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes], fontsize="x-small")
    axes.set_yticks(range(len(heights)), [str(height) for height in heights], fontsize="x-small")
    axes.set(title=stencil.name, xlabel="innermost tile size", ylabel="height $t_T$")
    axes.figure.colorbar(image, ax=axes, label="log10 of predicted s")


def _band(axes: "Axes", stencil: "StencilValidation", table: Comparison) -> None:
    """Figure 5: predicted and measured times of the points within 10 % of the minimum, best prediction first."""
    predicted, measured, order = table.predicted, table.measured, table.order
    inside = order[predicted[order] <= (1.0 + BAND) * predicted[order[0]]]
    place = np.arange(1, len(inside) + 1)
    axes.plot(place, measured[inside], "o", color=BLUE, markersize=4, label="measured")
    axes.plot(place, predicted[inside], "-", color=RED, label="predicted")
    axes.axhline(float(measured.min()), color="0.5", linewidth=1, label="best of all")
    axes.set(title=stencil.name, xlabel="rank by the model", ylabel="s", ylim=(0, None))
    axes.legend(fontsize="x-small")


def _draw_strategies(stencils: "Sequence[StencilValidation]", path: Path) -> Path:
    """Figure 6: what every strategy reaches, as a share of the best measured speed."""
    figure, (axes,) = panels(1, (9.0, 4.8))
    names = [each.name for each in stencils[0].strategies]
    width = 0.8 / len(stencils)
    for number, stencil in enumerate(stencils):
        heights = [100 * each.fraction for each in stencil.strategies]
        axes.bar(np.arange(len(names)) + (number - (len(stencils) - 1) / 2) * width, heights, width, label=stencil.name)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right", fontsize="small")
    axes.set(ylabel="share of the best measured speed, %", ylim=(0, 105))
    axes.legend(fontsize="x-small", ncols=2)
    return save(figure, path, dpi=130)
