"""Tables and plots of a validation: figures 3 to 6 of the time-model paper (Prajapati et al., PPoPP 2017)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.paths import make_folder, write_rows
from tilewright.base.records import Record
from tilewright.base.tables import Shown, Table, table
from tilewright.costs.arrays import Floats, Ints
from tilewright.report import plots
from tilewright.tuning.validation import BAND, TOPS, MeasuredSpace, Scores, Strategy, best_by, near_best

SCORE_COLUMNS = (
    "stencil", "points", "near", "rmse_all", "rmse_top20", "err_max", "err_sign", "spearman", "kendall",
    *(f"top{top}" for top in TOPS),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StencilValidation(Record):
    """Predicted against measured times of one stencil."""

    KEYS = "name *=scores"

    name: str  # the stencil
    scores: Scores  # over the points that were not used for calibration
    predicted: Floats  # predicted seconds of every point; shape (n,)
    measured: Floats  # measured seconds; shape (n,)
    used: Ints  # indices of the points used for calibration
    space: MeasuredSpace | None = None  # the scored points with what the strategies need, or None without tile sizes
    resident: Ints | None = None  # resident blocks of the scored points
    scale: float = 1.0  # the stencil's own factor
    strategies: tuple[Strategy, ...] = ()  # ways to choose a tile, side by side, over the scored points

    @property
    def best_by_k(self) -> dict[int, tuple[float, int]]:
        """Share of the best measured speed by the number of resident blocks k, and the number of such points."""
        return {} if self.resident is None else best_by(self.resident, self.scored[1])

    @property
    def scored(self) -> tuple[Floats, Floats]:
        """Predicted and measured seconds of the scored points."""
        points = np.setdiff1d(np.arange(len(self.measured)), self.used)
        return self.predicted[points], self.measured[points]

    def shown(self) -> Shown:
        """Return what people read."""
        return score_table([(self.name, self.scores)])


def score_table(rows: Sequence[tuple[str, Scores]]) -> Table:
    """Make the table of scores, one row per stencil."""
    columns = ("stencil", ">points", ">RMSE all", ">within 20 %", ">Err_max", ">Err_sign", ">Spearman", ">Kendall")
    cells = [(name, *_cells(scores)) for name, scores in rows]
    return table((*columns, *(f">top {top}" for top in TOPS)), cells)


def strategy_table(rows: Sequence[tuple[str, Sequence[Strategy]]]) -> Table:
    """Make the table of strategies: share of the best and number of measurements, one column per stencil."""
    names = [each.name for each in rows[0][1]] if rows else []
    cells = []
    for place, name in enumerate(names):
        judged = [strategies[place] for _, strategies in rows]
        mean = float(np.mean([each.fraction for each in judged]))
        cells.append((name, *(f"{each.fraction:.0%} ({each.tries})" for each in judged), f"{mean:.1%}"))
    return table(("strategy", *(f">{name}" for name, _ in rows), ">mean"), cells)


def write_scores(path: Path, rows: Sequence[tuple[str, Scores]]) -> Path:
    """Write the scores as CSV, one row per stencil."""
    values = ([getattr(scores, column) for column in SCORE_COLUMNS[1:-4]] for _, scores in rows)
    lines = ([name, *each, *scores.fraction_of_best] for (name, scores), each in zip(rows, values, strict=True))
    write_rows(path, SCORE_COLUMNS, lines)
    return path


def draw(stencils: Sequence[StencilValidation], folder: Path) -> tuple[Path, ...]:
    """Draw every figure into a folder."""
    make_folder(folder)
    with_tiles = [stencil for stencil in stencils if stencil.space is not None]
    pictures = []
    for name, draw_one, panels in (
        ("accuracy", _accuracy, stencils),
        ("surface", _surface, with_tiles),
        ("band", _band, with_tiles),
    ):
        if panels:
            figure, axes = _grid(len(panels))
            for stencil, axis in zip(panels, axes, strict=True):
                draw_one(axis, stencil, *stencil.scored)
            pictures.append(plots.save(figure, folder / f"{name}.png", dpi=130))
    return (*pictures, *([_draw_strategies(with_tiles, folder / "strategies.png")] if with_tiles else []))


def _accuracy(axis: Any, stencil: StencilValidation, predicted: Floats, measured: Floats) -> None:  # noqa: ANN401
    """Figure 3: predicted against measured, the points near the best marked."""
    near = near_best(measured)
    for mask, colour, label in ((~near, "0.75", "all"), (near, "#1f5fa8", "within 20 % of the best")):
        axis.loglog(measured[mask], predicted[mask], ".", color=colour, markersize=3, label=label)
    ends = [float(measured.min()), float(measured.max())]
    axis.loglog(ends, ends, "-", color="#b3261e", linewidth=1)
    axis.set(title=stencil.name, xlabel="measured, s", ylabel="predicted, s")
    axis.legend(fontsize="x-small", loc="upper left")


def _surface(axis: Any, stencil: StencilValidation, predicted: Floats, _measured: Floats) -> None:  # noqa: ANN401
    """Figure 4: the model's time over the height and the innermost size, the best of the other parameters."""
    assert stencil.space is not None  # noqa: S101  (filtered by the caller)
    heights, sizes = np.unique(stencil.space.sizes.time), np.unique(stencil.space.sizes.space[-1])
    surface = np.full((len(heights), len(sizes)), np.nan)
    for i, height in enumerate(heights):
        for j, size in enumerate(sizes):
            points = (stencil.space.sizes.time == height) & (stencil.space.sizes.space[-1] == size)
            if points.any():
                surface[i, j] = predicted[points].min()
    image = axis.imshow(np.log10(surface), origin="lower", aspect="auto", cmap="viridis_r")
    axis.set_xticks(range(len(sizes)), [str(size) for size in sizes], fontsize="x-small")
    axis.set_yticks(range(len(heights)), [str(height) for height in heights], fontsize="x-small")
    axis.set(title=stencil.name, xlabel="innermost tile size", ylabel="height $t_T$")
    axis.figure.colorbar(image, ax=axis, label="log10 of predicted s")


def _band(axis: Any, stencil: StencilValidation, predicted: Floats, measured: Floats) -> None:  # noqa: ANN401
    """Figure 5: predicted and measured times of the points within 10 % of the minimum, best prediction first."""
    order = np.argsort(predicted, kind="stable")
    inside = order[predicted[order] <= (1.0 + BAND) * predicted[order[0]]]
    place = np.arange(1, len(inside) + 1)
    axis.plot(place, measured[inside], "o", color="#1f5fa8", markersize=4, label="measured")
    axis.plot(place, predicted[inside], "-", color="#b3261e", label="predicted")
    axis.axhline(float(measured.min()), color="0.5", linewidth=1, label="best of all")
    axis.set(title=stencil.name, xlabel="rank by the model", ylabel="s", ylim=(0, None))
    axis.legend(fontsize="x-small")


def _draw_strategies(panels: Sequence[StencilValidation], path: Path) -> Path:
    """Figure 6: what every strategy reaches, as a share of the best measured speed."""
    figure, (axis,) = _grid(1, wide=True)
    names = [each.name for each in panels[0].strategies]
    width = 0.8 / len(panels)
    for number, panel in enumerate(panels):
        heights = [100 * each.fraction for each in panel.strategies]
        axis.bar(np.arange(len(names)) + (number - (len(panels) - 1) / 2) * width, heights, width, label=panel.name)
    axis.set_xticks(range(len(names)), names, rotation=20, ha="right", fontsize="small")
    axis.set(ylabel="share of the best measured speed, %", ylim=(0, 105))
    axis.legend(fontsize="x-small", ncols=2)
    return plots.save(figure, path, dpi=130)


def _cells(scores: Scores) -> tuple[str, ...]:
    shares = (f"{scores.rmse_all:.1%}", f"{scores.rmse_top20:.1%}", f"{scores.err_max:.1%}", f"{scores.err_sign:+.1%}")
    return (
        f"{scores.points:,}",
        *shares,
        f"{scores.spearman:.3f}",
        f"{scores.kendall:.3f}",
        *(f"{value:.1%}" for value in scores.fraction_of_best),
    )


def _grid(count: int, *, wide: bool = False) -> tuple[Any, list[Any]]:
    columns = min(4, count)
    rows = -(-count // columns)
    size = (9.0, 4.8) if wide else (3.6 * columns, 3.2 * rows)
    figure = plots.matplotlib().Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]
