"""A model's predictions beside measurements: how good they are as numbers, and how good as choices.

Two questions, and a model can do well in one only (Prajapati et al., PPoPP 2017, 5.3, 6). As *numbers*: the RMSE of the
relative error over all points and over those whose measured time lies within 20 % of the best. As a *selector*: whoever
tries the model's first n choices, what share of the best measured speed do they reach?
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.costs.arrays import Floats, Ints

TOPS = (1, 5, 10, 50)  # numbers of first choices at which a selector is judged
NEAR = 0.8  # a point is near the best if its speed is at least this share of the best measured one
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scores(Record):
    """The scores of predictions; errors are relative: ``predicted / measured - 1``."""

    KEYS = "points rmse_all rmse_top20 spearman kendall fraction_of_best=_fractions"

    points: int
    near: int  # points within 20 % of the best
    rmse_all: float  # root mean square error over all points
    rmse_top20: float  # the same over the near ones
    err_max: float  # largest absolute error over the near points
    err_sign: float  # mean signed error over the near points: above 0 where the model is pessimistic
    spearman: float  # rank correlation over all points
    kendall: float  # Kendall's tau-b over all points
    # per number of first choices (:data:`TOPS`), the best measured speed among them as a share of the best measured
    # speed of all
    fraction_of_best: tuple[float, ...]

    def _fractions(self) -> dict[int, float]:
        return dict(zip(TOPS, self.fraction_of_best, strict=True))

    def cells(self) -> tuple[str, ...]:
        """Return what a table for people has of it, behind the number of points; see :data:`COLUMNS`."""
        return (
            *(f"{error:.1%}" for error in (self.rmse_all, self.rmse_top20, self.err_max)),
            f"{self.err_sign:+.1%}",
            *(f"{rank:.3f}" for rank in (self.spearman, self.kendall)),
            *(f"{share:.1%}" for share in self.fraction_of_best),
        )


COLUMNS = ("RMSE all", "within 20 %", "Err_max", "Err_sign", "Spearman", "Kendall", *(f"top {top}" for top in TOPS))
"""What :meth:`Scores.cells` are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a model says of configurations, and what was measured: seconds, or joules.

    Errors are relative: ``predicted / measured - 1``; an infinite prediction ranks last and has no error.

    >>> table = Comparison(predicted=np.array([1.0, 2.0, 3.0]), measured=np.array([2.0, 1.0, 4.0]))
    >>> table.score().fraction_of_best[0], table.near().tolist()
    (0.5, [False, True, False])
    """

    predicted: Floats  # shape (n,)
    measured: Floats  # shape (n,)
    configurations: Sequence[str] = ()  # what the rows are of, or the groups that they belong to; n or none

    def take(self, index: Ints | Flags) -> "Comparison":
        """Return some of the rows."""
        names = np.array(self.configurations)[index] if self.configurations else ()
        return Comparison(
            predicted=self.predicted[index], measured=self.measured[index], configurations=tuple(map(str, names))
        )

    @property
    def order(self) -> Ints:
        """Places of the rows, the best prediction first."""
        return np.asarray(np.argsort(self.predicted, kind="stable"))

    @property
    def errors(self) -> Floats:
        """Relative errors of the predictions that are finite."""
        finite = np.isfinite(self.predicted)
        return np.asarray(self.predicted[finite] / self.measured[finite] - 1.0)

    @property
    def rmse(self) -> float:
        """Root of the mean squared relative error, NaN without rows."""
        errors = self.errors
        return float(np.sqrt(np.mean(errors**2))) if len(errors) else float("nan")

    @property
    def spearman(self) -> float:
        """Spearman's rank correlation, NaN where nothing can be ordered."""
        first, second = (ranks - ranks.mean() for ranks in (_ranks(self.predicted), _ranks(self.measured)))
        scale = float(np.sqrt((first @ first) * (second @ second)))
        return float(first @ second) / scale if scale > 0 else float("nan")

    @property
    def kendall(self) -> float:
        """Kendall's tau-b, NaN where nothing can be ordered; in O(n log^2 n) by Knight's method.

        After sorting by the predictions (ties by the measurements) the discordant pairs are the inversions of the
        measurements.

        >>> table = Comparison(predicted=np.array([1.0, 2.0, 3.0, 4.0]), measured=np.array([1.0, 3.0, 2.0, 4.0]))
        >>> round(table.kendall, 4)
        0.6667
        """
        first, second = self.predicted, self.measured
        pairs = len(first) * (len(first) - 1) // 2
        tied_first, tied_second, both = _tied(first), _tied(second), _tied(first, second)
        discordant = _inversions(second[np.lexsort((second, first))])
        concordant = pairs - tied_first - tied_second + both - discordant
        scale = float(np.sqrt(float(pairs - tied_first)) * np.sqrt(float(pairs - tied_second)))
        return (concordant - discordant) / scale if scale > 0 else float("nan")

    def near(self, share: float = NEAR) -> Flags:
        """Mark the rows whose speed is at least a share of the best measured one."""
        return np.asarray(self.measured <= self.measured.min() / share)

    def share(self, chosen: Ints | Flags) -> float:
        """Return the best measured speed of some rows as a share of the best of all."""
        return float(self.measured.min()) / float(self.measured[chosen].min())

    def share_by(self, groups: Ints) -> dict[int, tuple[float, int]]:
        """Return, per group of rows, its share of the best measured speed and its number of rows."""
        return {int(group): (self.share(groups == group), int((groups == group).sum())) for group in np.unique(groups)}

    def random_tries(self, share: float) -> float:
        """Return how many random choices it takes on average until one reaches a share of the best measured speed.

        Without replacement: of n points m are good enough, and the first good one comes after (n + 1) / (m + 1).
        """
        return (len(self.measured) + 1) / (int(self.near(share).sum()) + 1)

    def score(self) -> Scores:
        """Return the scores of all rows.

        Raises:
            UsageError: If there are fewer than two rows, or a value is none.
        """
        predicted, measured = self.predicted, self.measured
        if predicted.shape != measured.shape or predicted.ndim != 1 or len(measured) < 2:
            raise UsageError(f"scores need two or more pairs of times, got {predicted.shape} and {measured.shape}")
        if not (np.isfinite(measured).all() and (measured > 0).all()) or np.isnan(predicted).any():
            raise UsageError("measured times are above 0 and predicted ones are numbers")
        near, order = self.take(self.near()), self.order
        close = near.errors
        return Scores(
            points=len(measured),
            near=len(near.measured),
            rmse_all=self.rmse,
            rmse_top20=near.rmse,
            err_max=float(np.abs(close).max(initial=0.0)),
            err_sign=float(close.mean()) if len(close) else float("nan"),
            spearman=self.spearman,
            kendall=self.kendall,
            fraction_of_best=tuple(self.share(order[:top]) for top in TOPS),
        )


def mean(stencils: Sequence[Scores]) -> Scores:
    """Return the mean of the scores of several stencils, every stencil counting alike; points are added up."""
    if not stencils:
        raise UsageError("there are no scores to take the mean of")
    names = ("rmse_all", "rmse_top20", "err_sign", "spearman", "kendall")
    means = {name: float(np.mean([getattr(each, name) for each in stencils])) for name in names}
    return Scores(
        points=sum(each.points for each in stencils),
        near=sum(each.near for each in stencils),
        err_max=max(each.err_max for each in stencils),
        fraction_of_best=tuple(np.mean([each.fraction_of_best for each in stencils], axis=0).tolist()),
        **means,
    )


def _tied(*columns: Floats) -> int:
    """Count the pairs of rows that are alike in all columns."""
    counts = np.unique(np.stack(columns), axis=1, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Floats) -> int:
    """Count the pairs i < j with ``values[i] > values[j]``, by merging sorted blocks of doubling length."""
    ranks: Ints = np.unique(values, return_inverse=True)[1].astype(np.int64)
    total, width, n = 0, 1, len(ranks)
    while width < n:
        for start in range(0, n - width, 2 * width):
            left = ranks[start : start + width]
            right = ranks[start + width : start + 2 * width]
            total += len(left) * len(right) - int(np.searchsorted(left, right, side="right").sum())
            ranks[start : start + 2 * width] = np.sort(ranks[start : start + 2 * width], kind="stable")
        width *= 2
    return total


def _ranks(values: Floats) -> Floats:
    """Rank values from 0, ties by their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray(middle[inverse])
