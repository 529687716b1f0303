"""Predicted against measured times, as a plot."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.extras import needed
from tilewright.base.paths import written

_FORMATS = (".png", ".svg", ".pdf")


def scatter(pairs: Sequence[tuple[float, float, str]], path: Path, title: str) -> Path:
    """Plot predicted against measured seconds on logarithmic axes, one colour per group, with the line of equality."""
    if not pairs:
        raise UsageError("there is nothing to plot: no candidate was measured", "tune with --effort quick")
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"a plot is written as {', '.join(_FORMATS)}, got {path.name!r}")
    with needed("matplotlib", "a plot", extra="plot"):
        figures = importlib.import_module("matplotlib.figure")
    figure = figures.Figure(figsize=(5.6, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for group in dict.fromkeys(name for _, _, name in pairs):
        points = [(predicted, measured) for predicted, measured, name in pairs if name == group]
        axes.loglog(*zip(*points, strict=True), "o", markersize=4, alpha=0.7, label=group)
    ends = [min(min(pair[:2]) for pair in pairs), max(max(pair[:2]) for pair in pairs)]
    axes.loglog(ends, ends, "-", color="0.6", linewidth=1, label="equal")
    axes.set(xlabel="predicted seconds", ylabel="measured seconds", title=title)
    axes.legend()
    with written(path) as target:
        figure.savefig(target)
    return path
