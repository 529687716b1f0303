"""How sure predictions are."""

import pytest

import tilewright as tw
from tilewright.costs.interval import SHARE, interval


@pytest.mark.parametrize("family", ["none", "streaming", "hybrid", "diamond", "overlapped", "skewed"])
@pytest.mark.parametrize("cpu", [True, False])
def test_an_interval_scales_with_the_time(family, cpu):
    one, ten = (interval(family, seconds, cpu=cpu) for seconds in (1.0, 10.0))
    assert 0 < one.low < one.high
    assert (ten.low, ten.high) == (10 * one.low, 10 * one.high)
    assert one.share == SHARE


def test_what_was_measured_is_surer_than_what_was_not():
    known = interval("hybrid", 1.0, cpu=False, threads=True)
    unknown = interval("streaming", 1.0, cpu=False, threads=True)
    assert known.high / known.low < unknown.high / unknown.low
    assert "V100" in known.source
    assert "estimate" in unknown.source


def test_a_prediction_carries_its_interval():
    found = tw.predict("j2d5pt", shape=(512, 512), steps=16, machine="v100", tiling="hybrid:t=8,s=4x64,threads=1x64")
    shown = found.to_dict()["interval"]
    assert shown["low"] < shown["high"]
    assert shown["share"] == SHARE
    assert shown["low"] / found.costs.seconds == pytest.approx(interval("hybrid", 1.0, cpu=False, threads=True).low)
    assert "80% interval" in dict(found.facts())


def test_a_plan_carries_the_intervals_of_its_candidates():
    plan = tw.tune("j2d5pt", shape=(512, 512), steps=16, machine="zen3", effort="none")
    for each in plan.candidates:
        low, high = each.predicted_interval
        assert 0 < low < high
        assert each.to_dict()["predicted_interval"] == (low, high)
    assert plan.winner == plan.candidates[0]
