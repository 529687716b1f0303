"""Scores and strategies against their definitions and SciPy."""

import itertools

import numpy as np
import pytest
from scipy import stats

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import TileSizes
from tilewright.tuning.validation import (
    TOPS,
    MeasuredSpace,
    best_by,
    compare,
    kendall,
    mean,
    near_best,
    random_tries,
    scores,
)


def test_correlations_are_scipys():
    for kinds, size in itertools.product([3, 50, 10**6], [2, 7, 64, 1001]):
        generator = np.random.default_rng(size + kinds)
        first = generator.integers(0, kinds, size) + 1.0
        second = np.round(first / kinds * 3) + generator.integers(0, kinds, size) + 1.0
        if len(set(first)) == 1 or len(set(second)) == 1:
            assert np.isnan(kendall(first, second)), (kinds, size)
            continue
        assert kendall(first, second) == pytest.approx(stats.kendalltau(first, second)[0], abs=1e-12), (kinds, size)
        assert scores(first, second).spearman == pytest.approx(stats.spearmanr(first, second)[0], abs=1e-12)


def test_errors_and_fractions_by_hand():
    measured = np.array([1.0, 1.2, 2.0, 4.0])
    predicted = np.array([1.1, 0.6, 2.0, 8.0])
    found = scores(predicted, measured)
    assert found.near == 2
    assert found.rmse_all == pytest.approx(np.sqrt((0.01 + 0.25 + 0 + 1) / 4))
    assert found.rmse_top20 == pytest.approx(np.sqrt((0.01 + 0.25) / 2))
    assert found.err_max == pytest.approx(0.5)
    assert found.err_sign == pytest.approx(-0.2)
    assert found.fraction_of_best[0] == pytest.approx(1 / 1.2)
    assert found.fraction_of_best[1:] == (1.0,) * (len(TOPS) - 1)


def test_what_cannot_run_ranks_last_and_is_no_error():
    found = scores(np.array([np.inf, 2.0]), np.array([1.0, 2.0]))
    assert found.fraction_of_best[0] == 0.5
    assert found.rmse_all == 0.0


def test_near_the_best_is_by_speed():
    assert near_best(np.array([1.0, 1.25, 1.26])).tolist() == [True, True, False]


@pytest.mark.parametrize("bad", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_bad_measurements_are_refused(bad):
    with pytest.raises(UsageError):
        scores(np.ones(2), np.array(bad))


def test_the_mean_counts_every_stencil_alike():
    a, b = scores(np.array([1.0, 2.0]), np.array([1.0, 2.0])), scores(np.array([2.0, 1.0]), np.array([1.0, 4.0]))
    both = mean((a, b))
    assert both.points == 4
    assert both.fraction_of_best[0] == pytest.approx((1 + 0.25) / 2)
    with pytest.raises(UsageError):
        mean(())


def test_random_tries_by_simulation():
    measured = np.array([1.0, 1.05, 2.0, 3.0, 4.0, 5.0])
    generator = np.random.default_rng(0)
    turns = [1 + int(np.flatnonzero(generator.permutation(measured) <= 1 / 0.9)[0]) for _ in range(20_000)]
    assert random_tries(measured, 0.9) == pytest.approx(np.mean(turns), rel=0.02)


def _space():
    time = np.array([4, 4, 8, 8, 16])
    base, width = np.array([1, 1, 2, 2, 8]), np.array([32, 32, 64, 64, 128])
    return MeasuredSpace(
        sizes=TileSizes(time=time, space=(base, width), k=np.zeros(5, dtype=np.int64)),
        threads=(np.array([1, 1, 2, 1, 1]), np.array([32, 16, 32, 64, 64])),
        predicted=np.array([1.0, 5.0, 1.05, 2.0, 3.0]),
        measured=np.array([4.0, 3.0, 2.0, 8.0, 1.0]),
        footprint=np.array([10, 10, 20, 20, 60]),
        face=np.array([1, 1, 5, 5, 90]),
        limit=48,
    )


def test_strategies_by_hand():
    found = {each.name: each for each in compare(_space())}
    assert found["model minimum"].fraction == 0.25
    assert (
        found["within 10 % of the model's minimum"].fraction,
        found["within 10 % of the model's minimum"].tries,
    ) == (
        0.5,
        2,
    )
    assert (found["exhaustive"].fraction, found["exhaustive"].tries) == (1.0, 5)
    assert (found["largest footprint"].fraction, found["largest footprint"].tries) == (0.5, 2)
    assert found["half capacity"].fraction == 0.5
    assert found["largest hexagon face"].fraction == 0.5
    assert found["baseline"].tries == 4
    assert found["random"].fraction == pytest.approx(np.mean([1 / 4, 1 / 3, 1 / 2, 1 / 8, 1]))


def test_which_k_wins():
    assert best_by(np.array([1, 2, 2]), np.array([2.0, 1.0, 3.0])) == {1: (0.5, 1), 2: (1.0, 2)}
