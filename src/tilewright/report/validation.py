"""One stencil's validation, and tables of many."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.paths import write_rows
from tilewright.base.records import Record
from tilewright.base.tables import Shown, Table, table
from tilewright.costs.accuracy import COLUMNS, TOPS, Comparison, Scores
from tilewright.costs.arrays import Floats, Ints
from tilewright.tuning.validation import MeasuredSpace, Strategy

SCORES = ("points", "near", "rmse_all", "rmse_top20", "err_max", "err_sign", "spearman", "kendall")
"""Columns of the CSV of scores, between the stencil and the shares of the best."""


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
        return {} if self.resident is None else self.scored.share_by(self.resident)

    @property
    def scored(self) -> Comparison:
        """Predicted and measured seconds of the scored points."""
        points = np.setdiff1d(np.arange(len(self.measured)), self.used)
        return Comparison(predicted=self.predicted, measured=self.measured).take(points)

    def shown(self) -> Shown:
        """Return what people read."""
        return score_table([(self.name, self.scores)])


def score_table(rows: Sequence[tuple[str, Scores]]) -> Table:
    """Make the table of scores, one row per stencil."""
    cells = [(name, f"{scores.points:,}", *scores.cells()) for name, scores in rows]
    return table(("stencil", ">points", *(f">{name}" for name in COLUMNS)), cells)


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
    lines = ([name, *(getattr(scores, score) for score in SCORES), *scores.fraction_of_best] for name, scores in rows)
    write_rows(path, ("stencil", *SCORES, *(f"top{top}" for top in TOPS)), lines)
    return path
