"""Statistics of predictions beside measurements, against their definitions and SciPy."""

import numpy as np
import pytest
from scipy import stats

from tilewright.base.errors import UsageError
from tilewright.costs.accuracy import TOPS, Comparison, mean


def _table(predicted, measured, names=()):
    return Comparison(predicted=np.array(predicted), measured=np.array(measured), configurations=names)


@pytest.mark.parametrize("kinds", [3, 50, 10**6])
@pytest.mark.parametrize("size", [2, 7, 64, 1001])
def test_correlations_are_scipys(size, kinds):
    generator = np.random.default_rng(size + kinds)
    first = generator.integers(0, kinds, size) + 1.0
    second = np.round(first / kinds * 3) + generator.integers(0, kinds, size) + 1.0
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert np.isnan(_table(first, second).kendall)
        return
    assert _table(first, second).kendall == pytest.approx(stats.kendalltau(first, second)[0], abs=1e-12)
    assert _table(first, second).spearman == pytest.approx(stats.spearmanr(first, second)[0], abs=1e-12)


def test_errors_and_fractions_by_hand():
    measured = np.array([1.0, 1.2, 2.0, 4.0])
    predicted = np.array([1.1, 0.6, 2.0, 8.0])
    found = _table(predicted, measured).score()
    assert found.near == 2
    assert found.rmse_all == pytest.approx(np.sqrt((0.01 + 0.25 + 0 + 1) / 4))
    assert found.rmse_top20 == pytest.approx(np.sqrt((0.01 + 0.25) / 2))
    assert found.err_max == pytest.approx(0.5)
    assert found.err_sign == pytest.approx(-0.2)
    assert found.fraction_of_best[0] == pytest.approx(1 / 1.2)
    assert found.fraction_of_best[1:] == (1.0,) * (len(TOPS) - 1)


def test_what_cannot_run_ranks_last_and_is_no_error():
    found = _table([np.inf, 2.0], [1.0, 2.0]).score()
    assert found.fraction_of_best[0] == 0.5
    assert found.rmse_all == 0.0


def test_near_the_best_is_by_speed():
    assert _table(np.ones(3), [1.0, 1.25, 1.26]).near().tolist() == [True, True, False]


@pytest.mark.parametrize("bad", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_bad_measurements_are_refused(bad):
    with pytest.raises(UsageError):
        _table(np.ones(2), bad).score()


def test_the_mean_counts_every_stencil_alike():
    a, b = _table([1.0, 2.0], [1.0, 2.0]).score(), _table([2.0, 1.0], [1.0, 4.0]).score()
    both = mean((a, b))
    assert both.points == 4
    assert both.fraction_of_best[0] == pytest.approx((1 + 0.25) / 2)
    with pytest.raises(UsageError):
        mean(())


def test_random_tries_by_simulation():
    measured = np.array([1.0, 1.05, 2.0, 3.0, 4.0, 5.0])
    generator = np.random.default_rng(0)
    turns = [1 + int(np.flatnonzero(generator.permutation(measured) <= 1 / 0.9)[0]) for _ in range(20_000)]
    assert _table(measured, measured).random_tries(0.9) == pytest.approx(np.mean(turns), rel=0.02)


def test_which_k_wins():
    assert _table(np.ones(3), [2.0, 1.0, 3.0]).share_by(np.array([1, 2, 2])) == {1: (0.5, 1), 2: (1.0, 2)}


def test_rows_are_taken_with_what_they_are_of():
    table = _table([1.0, np.inf, 3.0], [2.0, 1.0, 3.0], ("a", "b", "a"))
    assert table.take(table.order[:2]).configurations == ("a", "a")
    assert table.take(np.array([False, True, False])).configurations == ("b",)
    assert _table([1.0, 2.0], [1.0, 2.0]).take(np.array([1])).configurations == ()
    assert table.errors.tolist() == [-0.5, 0.0]
    assert table.rmse == pytest.approx(np.sqrt(0.125))
    assert np.isnan(table.take(np.zeros(3, dtype=bool)).rmse)
