"""How good a model's predictions are as numbers, and how good its choices are (Prajapati et al., PPoPP 2017, 5.3, 6).

Two questions, and a model can do well in one only. As *numbers*: the RMSE of the relative error over all points and
over those whose measured time lies within 20 % of the best. As a *selector*: whoever tries the model's first n choices,
what share of the best measured speed do they reach?

Ways to choose a tile are judged side by side: the paper's four (section 6: compiler default, model minimum, best
within 10 % of it, exhaustive), what it compares with (baseline best, largest footprint), half the capacity, the
thesis's choice without C_iter (8.1.2: the largest hexagon face), and chance.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.costs.arrays import Floats, Ints, TileSizes

TOPS = (1, 5, 10, 50)
"""Numbers of first choices at which a selector is judged."""
NEAR = 0.2
"""A point is near the best if its speed is at least ``1 - NEAR`` of the best measured one."""


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


def scores(predicted: Floats, measured: Floats) -> Scores:
    """Score predictions against measurements; infinite predictions rank last and are left out of the errors.

    >>> scores(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 4.0])).fraction_of_best[0]
    0.5
    """
    if predicted.shape != measured.shape or predicted.ndim != 1 or len(measured) < 2:
        raise UsageError(f"scores need two or more pairs of times, got {predicted.shape} and {measured.shape}")
    if not (np.isfinite(measured).all() and (measured > 0).all()) or np.isnan(predicted).any():
        raise UsageError("measured times are above 0 and predicted ones are numbers")
    order = np.argsort(predicted, kind="stable")
    best = float(measured.min())
    near = near_best(measured)
    finite = np.isfinite(predicted)
    error = predicted[finite] / measured[finite] - 1.0
    close = predicted[finite & near] / measured[finite & near] - 1.0
    ranks = _ranks(predicted), _ranks(measured)
    return Scores(
        points=len(measured),
        near=int(near.sum()),
        rmse_all=_rms(error),
        rmse_top20=_rms(close),
        err_max=float(np.abs(close).max(initial=0.0)),
        err_sign=float(close.mean()) if len(close) else float("nan"),
        spearman=_correlation(*ranks),
        kendall=kendall(predicted, measured),
        fraction_of_best=tuple(best / float(measured[order[:n]].min()) for n in TOPS),
    )


def near_best(measured: Floats, share: float = NEAR) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Mark the points whose speed is at least ``1 - share`` of the best measured one."""
    return np.asarray(measured <= measured.min() / (1.0 - share))


def mean(stencils: tuple[Scores, ...]) -> Scores:
    """Return the mean of the scores of several stencils, every stencil counting alike; points are added up."""
    if not stencils:
        raise UsageError("there are no scores to take the mean of")
    fractions = np.mean([each.fraction_of_best for each in stencils], axis=0)
    names = ("rmse_all", "rmse_top20", "err_sign", "spearman", "kendall")
    means = {name: float(np.mean([getattr(each, name) for each in stencils])) for name in names}
    return Scores(
        points=sum(each.points for each in stencils),
        near=sum(each.near for each in stencils),
        err_max=max(each.err_max for each in stencils),
        fraction_of_best=tuple(float(value) for value in fractions),
        **means,
    )


def kendall(first: Floats, second: Floats) -> float:
    """Return Kendall's tau-b of two samples, in O(n log^2 n).

    Knight's method: after sorting by the first sample (ties by the second), the discordant pairs are the inversions
    of the second.

    >>> round(kendall(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 4)
    0.6667
    """
    n = len(first)
    order = np.lexsort((second, first))
    x, y = first[order], second[order]
    pairs = n * (n - 1) // 2
    tied_x, tied_y = _ties(x), _ties(np.sort(y))
    both = _ties_of_pairs(x, y)
    discordant = _inversions(y)
    concordant = pairs - tied_x - tied_y + both - discordant
    scale = float(np.sqrt(float(pairs - tied_x)) * np.sqrt(float(pairs - tied_y)))
    return (concordant - discordant) / scale if scale > 0 else float("nan")


def random_tries(measured: Floats, share: float) -> float:
    """Return how many random choices it takes on average until one reaches a share of the best measured speed.

    Without replacement: of n points m are good enough, and the first good one comes after (n + 1) / (m + 1).

    >>> random_tries(np.array([1.0, 2.0, 3.0]), 0.9)
    2.0
    """
    good = int((measured <= measured.min() / share).sum())
    return (len(measured) + 1) / (good + 1)


def _ties(ordered: Floats) -> int:
    counts = np.diff(np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))))
    return int((counts * (counts - 1) // 2).sum())


def _ties_of_pairs(x: Floats, y: Floats) -> int:
    change = (x[1:] != x[:-1]) | (y[1:] != y[:-1])
    counts = np.diff(np.flatnonzero(np.concatenate(([True], change, [True]))))
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
    ends = np.cumsum(counts)
    middle = ends - (counts + 1) / 2
    return np.asarray(middle[inverse])


def _correlation(first: Floats, second: Floats) -> float:
    a, b = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else float("nan")


def _rms(error: Floats) -> float:
    return float(np.sqrt(np.mean(error**2))) if len(error) else float("nan")


BAND = 0.10
"""The band around the model's minimum that is searched (section 6.1)."""
BASELINE_TILES = 85
BASELINE_THREADS = 10
DEFAULT_SIZE = 32
"""Tile size of every axis where a user gives none (PPCG's default)."""
RANDOM_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpace:
    """Measured points with what the strategies need to know of them; arrays of shape (n,)."""

    sizes: TileSizes
    threads: tuple[Ints, ...]  # threads per axis
    predicted: Floats  # seconds
    measured: Floats  # seconds
    footprint: Ints  # bytes that a tile keeps on chip
    face: Ints  # points of a hexagon over all its rows
    limit: int  # bytes that a block may use

    @property
    def tiles(self) -> Ints:
        """Number of every point's tile: points that differ in their threads only share it."""
        rows = np.stack([self.sizes.time, *self.sizes.space], axis=1)
        return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel())


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What one strategy reaches."""

    name: str
    fraction: float  # best measured speed of what it tries, as a share of the best of all; 0 where it finds nothing
    tries: int  # how many points it measures; the mean number until 90 % for chance
    note: str = ""  # what it chose, or why nothing


def compare(space: MeasuredSpace, seed: int = 0) -> tuple[Strategy, ...]:
    """Judge every strategy on measured points, the paper's four first; the seed is of the baseline's thread shapes."""
    if len(space.measured) == 0:
        raise UsageError("strategies are compared on measured points, got none")
    order = np.argsort(space.predicted, kind="stable")
    band = np.flatnonzero(space.predicted <= (1.0 + BAND) * space.predicted[order[0]])
    every = np.arange(len(space.measured))
    plain = [
        _judge(space, "compiler default", _default(space), "the measured point nearest to 32 x 32 …"),
        _judge(space, "model minimum", order[:1]),
        _judge(space, "within 10 % of the model's minimum", band),
        _judge(space, "exhaustive", every),
        _judge(space, "model, ten first", order[:10]),
        _judge(
            space, "baseline", _baseline(space, seed), f"{BASELINE_TILES} largest tiles, {BASELINE_THREADS} threads"
        ),
        _judge(space, "largest footprint", _largest(space, space.footprint, 1.0), "every thread shape"),
        _judge(space, "half capacity", _largest(space, space.footprint, 0.5), "every thread shape"),
        _judge(space, "largest hexagon face", _largest(space, space.face, 1.0), "every thread shape"),
    ]
    chance = float(np.mean(space.measured.min() / space.measured))
    tries = round(random_tries(space.measured, RANDOM_SHARE))
    plain.append(Strategy(name="random", fraction=chance, tries=1, note=f"{tries} tries for {RANDOM_SHARE:.0%}"))
    return tuple(plain)


def best_by(groups: Ints, measured: Floats) -> dict[int, tuple[float, int]]:
    """Return, per group, the share of the best measured speed that its best point reaches, and its number of points.

    With the resident blocks as groups this answers which k wins.

    >>> best_by(np.array([1, 1, 2]), np.array([4.0, 2.0, 1.0]))
    {1: (0.5, 2), 2: (1.0, 1)}
    """
    best = float(measured.min())
    return {
        int(group): (best / float(measured[groups == group].min()), int((groups == group).sum()))
        for group in np.unique(groups)
    }


def _judge(space: MeasuredSpace, name: str, chosen: Ints, note: str = "") -> Strategy:
    if len(chosen) == 0:
        return Strategy(name=name, fraction=0.0, tries=0, note="no measured point")
    fraction = float(space.measured.min() / space.measured[chosen].min())
    return Strategy(name=name, fraction=fraction, tries=len(chosen), note=note)


def _default(space: MeasuredSpace) -> Ints:
    sizes = np.stack([space.sizes.time, *space.sizes.space, space.threads[-1]], axis=1)
    distance = np.abs(np.log2(sizes / DEFAULT_SIZE)).sum(axis=1)
    return np.asarray(np.argsort(distance, kind="stable")[:1])


def _baseline(space: MeasuredSpace, seed: int) -> Ints:
    """The paper's baseline: the 85 tiles of largest footprint that fit, ten thread shapes each."""
    tiles = space.tiles
    fits = space.footprint <= space.limit
    ranked = list(dict.fromkeys(tiles[fits][np.argsort(-space.footprint[fits], kind="stable")].tolist()))
    generator = np.random.default_rng(seed)
    chosen = []
    for tile in ranked[:BASELINE_TILES]:
        points = np.flatnonzero(tiles == tile)
        chosen.append(generator.permutation(points)[:BASELINE_THREADS])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _largest(space: MeasuredSpace, size: Ints, share: float) -> Ints:
    fits = np.flatnonzero(space.footprint <= share * space.limit)
    if len(fits) == 0:
        return fits
    tile = space.tiles[fits[np.argmax(size[fits])]]
    return np.flatnonzero(space.tiles == tile)
