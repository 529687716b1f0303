"""How sure predictions are."""

import re

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.units import format_seconds
from tilewright.costs.interval import SHARE, interval, ranges, unmeasured
from tilewright.report import energy as energy_report
from tilewright.schedules.family import family_named


@pytest.mark.parametrize("family", ["none", "streaming", "hybrid", "diamond", "skewed"])
@pytest.mark.parametrize("cpu", [True, False])
def test_an_interval_scales_with_the_time(family, cpu):
    one, ten = (interval(family_named(family), seconds, cpu=cpu) for seconds in (1.0, 10.0))
    assert 0 < one.low < one.high
    assert (ten.low, ten.high) == (10 * one.low, 10 * one.high)
    assert one.share == SHARE


def test_what_was_measured_is_surer_than_what_was_not():
    known = interval(family_named("hybrid"), 1.0, cpu=False, threads=True)
    unknown = interval(family_named("streaming"), 1.0, cpu=False, threads=True)
    assert known.high / known.low < unknown.high / unknown.low
    assert "V100" in known.source
    assert "estimate" in unknown.source


def test_a_prediction_carries_its_interval():
    found = tw.predict("j2d5pt", shape=(512, 512), steps=16, machine="v100", tiling="hybrid:t=8,s=4x64,threads=1x64")
    shown = found.to_dict()["interval"]
    assert shown["low"] < shown["high"]
    assert shown["share"] == SHARE
    assert shown["low"] / found.costs.seconds == pytest.approx(
        interval(family_named("hybrid"), 1.0, cpu=False, threads=True).low
    )
    assert "80% interval" in dict(found.facts())


def test_a_plan_carries_the_intervals_of_its_candidates():
    plan = tw.tune("j2d5pt", shape=(512, 512), steps=16, machine="zen3", effort="none")
    for each in plan.candidates:
        low, high = each.predicted_interval
        assert 0 < low < high
        assert each.to_dict()["predicted_interval"] == [low, high]
    assert plan.winner == plan.candidates[0]


def test_whatever_predicts_a_time_says_its_interval():
    """A plan, a record of a run, many ranks, a pipeline, a chain: the range, and what it rests on."""
    plan = tw.tune("j2d5pt", shape=(512, 512), steps=16, machine="zen3", effort="none")
    expected = interval(plan.tiling.family, plan.prediction.costs.seconds, cpu=True)
    assert f"({SHARE:.0%} interval {expected}), bound by" in plan.explain()
    assert f"\nC_iter: {plan.prediction.c_iter.value:.4g} s (" in plan.explain()
    low, high = plan.winner.predicted_interval
    assert plan.winner.cells()[2] == f"{format_seconds(low)} to {format_seconds(high)}"
    done = tw.run("heat2d", np.zeros((40, 50), np.float32), steps=4, record=True, backend="c", tiling="none")
    assert done.interval == interval(family_named("none"), done.predicted_seconds, cpu=True)
    assert f"predicted {format_seconds(done.predicted_seconds)} (80% interval {done.interval.span}), " in str(done)
    assert done.to_dict()["interval"] == done.interval.to_dict()
    assert tw.run("heat2d", np.zeros((4, 5)), steps=1, record=True, backend="numpy").interval is None
    cluster = tw.predict("heat2d", shape=(4096, 4096), steps=100, machine="zen3", ranks=4, network="slingshot")
    assert f"\n80% interval {unmeasured(cluster.seconds)}\n" in str(cluster)
    assert "network: 25 GB/s (datasheet); latency: 2e-06 s (estimated, " in str(cluster)
    assert cluster.to_dict()["interval"] == unmeasured(cluster.seconds).to_dict()
    fused = tw.fuse("blur", shape=(512, 512), machine="zen3")
    assert f"\n80% interval of the first: {unmeasured(fused.best.seconds)}\n" in str(fused)
    chain = tw.chain.plan((936, 1008, 552, 368), memory=65536, machine="k20c")
    assert f"\n80% interval {unmeasured(chain.energy.seconds)}; dram_bandwidth: estimated, " in chain.explain()
    for each in (done.interval, unmeasured(1.0)):
        assert str(each) == f"{format_seconds(each.low)} to {format_seconds(each.high)}, by {each.source}"


def test_accuracys_of_tilings_say_the_intervals_of_their_families():
    given = {"shape": (1024, 1024), "steps": 64, "machine": "gtx980"}
    hybrid = ranges([family_named("hybrid")], cpu=False, threads=True)
    (said,) = hybrid
    assert said.startswith("80% interval of hybrid: 0.88 to 1.59 times the time, by 25,370 measurements")
    metered = tw.energy("heat2d", **given, tiling="hybrid:t=8,s=8x64")
    assert metered.intervals == hybrid
    assert metered.to_dict()["intervals"] == list(hybrid)
    assert energy_report.metered(metered.to_dict()).facts["interval"] == hybrid[0]
    assert tw.energy("heat2d", **given, tiling="hybrid:t=8,s=8x64", seconds=1.0).intervals == ()
    for found, families, shown in (
        (tw.compare("heat2d", **given, coarse=True), {"streaming", "hybrid"}, energy_report.comparison),
        (tw.whatif("heat2d", **given, vary="bandwidth", factors=(2.0,)), {"streaming"}, energy_report.sweep),
        (tw.supertune("heat2d", **given), {"streaming", "hybrid", "none"}, energy_report.strategies),
    ):
        said = " ".join(found.intervals)
        assert all(re.search(rf"of [a-z, ]*\b{family}\b[a-z, ]*: ", said) for family in families)
        assert set(found.intervals) <= {part for part in shown(found.to_dict()) if isinstance(part, str)}
    assert ranges(map(family_named, ["none", "hybrid"]), cpu=True)[0].startswith(
        "80% interval of none: 0.63 to 1.31 times the time, by "
    )
