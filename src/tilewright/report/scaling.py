"""Strong and weak scaling, as a plot."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.extras import needed
from tilewright.base.paths import written

_FORMATS = (".png", ".svg", ".pdf")
_NARROW = 2.0
"""Highest over lowest seconds below which an axis is extended, by this factor up and down."""
Line = tuple[Sequence[int], Sequence[float]]  # ranks, seconds


def check(path: Path) -> None:
    """Check before any computation that a plot can be written."""
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"a plot is written as {', '.join(_FORMATS)}, got {path.name!r}")
    with needed("matplotlib", "a plot", extra="plot"):
        importlib.import_module("matplotlib.figure")


def plot(panels: Mapping[str, Mapping[str, Line]], path: Path, title: str) -> Path:
    """Draw named lines of seconds over ranks on logarithmic axes, one panel per kind of scaling."""
    check(path)
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9.6, 4.4), layout="constrained")
    figure.suptitle(title)
    for axes, (name, lines) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for label, (ranks, seconds) in lines.items():
            axes.loglog(ranks, seconds, "--" if label == "ideal" else "o-", markersize=4, label=label)
        axes.set(xlabel="ranks", ylabel="seconds", title=name)
        low, high = axes.get_ylim()
        if high < _NARROW * low:  # weak scaling, as a rule: small differences are to look small
            axes.set_ylim(low / _NARROW, high * _NARROW)
        axes.legend()
    with written(path) as target:
        figure.savefig(target)
    return path
