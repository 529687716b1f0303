"""Choosing by time, energy, power and their products."""

import numpy as np
import pytest

from tilewright.base.errors import UsageError
from tilewright.tuning import select

SECONDS = np.array([1.0, 2.0, 3.0, np.inf])
JOULES = np.array([9.0, 4.0, 3.0, np.inf])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("time", [1.0, 2.0, 3.0]),
        ("energy", [9.0, 4.0, 3.0]),
        ("power", [9.0, 2.0, 1.0]),
        ("edp", [9.0, 8.0, 9.0]),
        ("ed2p", [9.0, 16.0, 27.0]),
    ],
)
def test_what_a_metric_makes_of_time_and_energy(metric, expected):
    found = select.value(metric, SECONDS, JOULES)
    assert found[:3].tolist() == expected
    assert np.isinf(found[3])
    twice = select.value(metric, 2 * SECONDS, 2 * JOULES)
    assert twice[:3].tolist() == [2 ** select.DEGREE[metric] * each for each in expected]


def test_other_metrics_are_refused():
    with pytest.raises(UsageError, match="one of time, energy, power, edp, ed2p, got 'traffic'"):
        select.value("traffic", SECONDS, JOULES)


def test_a_power_cap():
    assert select.within_cap(SECONDS, JOULES, 2.0).tolist() == [np.inf, 2.0, 3.0, np.inf]
    assert select.within_cap(SECONDS, JOULES, 0.5).tolist() == [np.inf] * 4
    with pytest.raises(UsageError, match="a power cap is above 0 W, got 0"):
        select.within_cap(SECONDS, JOULES, 0)


def test_the_pareto_set_against_brute_force():
    random = np.random.default_rng(0)
    for _ in range(50):
        seconds, joules = random.integers(1, 12, size=(2, 40)).astype(float)
        beaten = [
            any((s <= mine and j <= cost) and (s < mine or j < cost) for s, j in zip(seconds, joules, strict=True))
            for mine, cost in zip(seconds, joules, strict=True)
        ]
        expected = sorted({(s, j) for s, j, lost in zip(seconds, joules, beaten, strict=True) if not lost})
        found = select.front(seconds, joules)
        assert [(seconds[i], joules[i]) for i in found] == expected
