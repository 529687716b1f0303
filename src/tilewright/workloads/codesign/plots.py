"""Plots of codesign: the design space with its Pareto set (figure C.3) and what the area goes to (figure C.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.costs.arrays import Floats, Ints
from tilewright.report import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOMINATED, _PARETO, _STOCK = "#e8b27a", "#1f5fa8", "#b3261e"
_MARKERS = ("*", "D", "s", "^", "v")


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPanel:
    """One panel: the designs of one workload in a range of areas; arrays of shape (n,) unless said otherwise."""

    title: str  # what is computed
    area: Floats  # mm^2
    gflops: Floats
    shared: Floats  # share of the area
    vector: Floats  # share of the area
    pareto: Ints  # indices of the optimal designs; shape (m,)
    # chips that exist: name, area with caches and without (mm^2), GFLOP/s
    stock: tuple[tuple[str, float, float, float], ...]


def draw_designs(panels: Sequence[DesignPanel], path: Path) -> Path:
    """Draw performance against area, the Pareto set and the stock chips marked (figure C.3)."""
    figure, axes = _figure(len(panels))
    for panel, axis in zip(panels, axes, strict=True):
        _scatter(axis, panel, panel.area, panel.gflops)
        for marker, (name, area, without, gflops) in zip(_MARKERS, panel.stock, strict=False):
            axis.plot([without, area], [gflops, gflops], color=_STOCK, linewidth=1, zorder=4)
            axis.plot(area, gflops, marker, color=_STOCK, markersize=8, linestyle="none", zorder=5, label=name)
            axis.plot(without, gflops, marker, color="white", markeredgecolor=_STOCK, markersize=8, zorder=5)
        axis.set(title=panel.title, xlabel="chip area, mm²", ylabel="GFlops/s")
        axis.set_ylim(bottom=0)
        axis.legend(loc="upper left", fontsize="small", framealpha=0.9)
    figure.suptitle("Best performance of every design; stock chips filled with, hollow without their caches")
    return _save(figure, path)


def draw_shares(panels: Sequence[DesignPanel], path: Path) -> Path:
    """Draw the shares of the area for shared memory and for vector units (figure C.4); as :func:`draw_designs`."""
    figure, axes = _figure(len(panels))
    for panel, axis in zip(panels, axes, strict=True):
        _scatter(axis, panel, 100 * panel.shared, 100 * panel.vector)
        axis.set(title=panel.title, xlabel="area for shared memory, %", ylabel="area for vector units and registers, %")
        axis.set_xlim(left=0)
        axis.legend(loc="upper right", fontsize="small", framealpha=0.9)
    figure.suptitle("What the area of a design goes to")
    return _save(figure, path)


def draw_needs(curves: Sequence[tuple[str, Sequence[float], Sequence[float]]], path: Path) -> Path:
    """Draw, per workload, the share of the best performance over the shared memory per SM in kB (thesis, C.4.3)."""
    figure, (axis,) = _figure(1)
    for colour, marker, (name, sizes, values) in zip(
        (_PARETO, "#c4661f", "#3b7f4c", "#7a4fa3", "#555555", "#b3261e"), "os^vDP", curves, strict=False
    ):
        axis.plot(sizes, [100 * value for value in values], marker + "-", color=colour, label=name)
    axis.set(xlabel="shared memory per SM, kB", ylabel="best design, % of the best of all", ylim=(0, 103))
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.legend(loc="lower right", fontsize="small")
    return _save(figure, path)


def _scatter(axis: "Axes", panel: DesignPanel, x: Floats, y: Floats) -> None:
    axis.plot(x, y, ".", color=_DOMINATED, markersize=2.5, linestyle="none", label=f"{len(x)} designs", rasterized=True)
    front = panel.pareto
    label = f"{len(front)} Pareto-optimal"
    axis.plot(x[front], y[front], "o", color=_PARETO, markersize=3, linestyle="none", label=label)
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)


def _figure(count: int) -> tuple[Any, Any]:  # (matplotlib's Figure and its Axes: an optional package)
    figure = plots.matplotlib("figure", "drawing").Figure(figsize=(5.6 * count + 0.4, 4.4), layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False)[0]


def _save(figure: Any, path: Path) -> Path:  # noqa: ANN401
    plots.check_format(path, "drawing")
    return plots.save(figure, path, dpi=150)
