"""Plots by matplotlib: which files they may be, how they are written, and those that are one picture."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.base.errors import UsageError, needed
from tilewright.base.paths import written

FORMATS = (".png", ".svg", ".pdf")
_NARROW = 2.0
"""Highest over lowest seconds below which an axis is extended, by this factor up and down."""
Line = tuple[Sequence[int], Sequence[float]]  # ranks, seconds


def matplotlib(module: str = "figure", kind: str = "plot") -> Any:  # noqa: ANN401  (its types are not always there)
    """Load a part of matplotlib, which a ``kind`` of picture needs."""
    with needed("matplotlib", f"a {kind}", extra="plot"):
        return importlib.import_module(f"matplotlib.{module}")


def check_format(path: Path, kind: str = "plot") -> None:
    """Check that a picture can be a file of this name."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"a {kind} is written as {', '.join(FORMATS)}, got {path.name!r}")


def save(figure: Any, path: Path, dpi: float | None = None) -> Path:  # noqa: ANN401
    """Write a figure of matplotlib."""
    with written(path) as target:
        figure.savefig(target, **({} if dpi is None else {"dpi": dpi}))
    return path


def open_frame(axes: Any) -> None:  # noqa: ANN401
    """Take the lines above and to the right of a plot away."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def scatter(pairs: Sequence[tuple[float, float, str]], path: Path, title: str) -> Path:
    """Plot predicted against measured seconds on logarithmic axes, one colour per group, with the line of equality."""
    if not pairs:
        raise UsageError("there is nothing to plot: no candidate was measured", "tune with --effort quick")
    check_format(path)
    figure = matplotlib().Figure(figsize=(5.6, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for group in dict.fromkeys(name for _, _, name in pairs):
        points = [(predicted, measured) for predicted, measured, name in pairs if name == group]
        axes.loglog(*zip(*points, strict=True), "o", markersize=4, alpha=0.7, label=group)
    ends = [min(min(pair[:2]) for pair in pairs), max(max(pair[:2]) for pair in pairs)]
    axes.loglog(ends, ends, "-", color="0.6", linewidth=1, label="equal")
    axes.set(xlabel="predicted seconds", ylabel="measured seconds", title=title)
    axes.legend()
    return save(figure, path)


def draw_scaling(panels: Mapping[str, Mapping[str, Line]], path: Path, title: str) -> Path:
    """Draw named lines of seconds over ranks on logarithmic axes, one panel per kind of scaling."""
    check_format(path)
    figure = matplotlib().Figure(figsize=(9.6, 4.4), layout="constrained")
    figure.suptitle(title)
    for axes, (name, lines) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for label, (ranks, seconds) in lines.items():
            axes.loglog(ranks, seconds, "--" if label == "ideal" else "o-", markersize=4, label=label)
        axes.set(xlabel="ranks", ylabel="seconds", title=name)
        low, high = axes.get_ylim()
        if high < _NARROW * low:  # weak scaling, as a rule: small differences are to look small
            axes.set_ylim(low / _NARROW, high * _NARROW)
        axes.legend()
    return save(figure, path)
