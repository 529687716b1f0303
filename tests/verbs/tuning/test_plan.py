"""What a plan claims of its samples."""

import dataclasses
import json

import numpy as np
import pytest

import tilewright as tw
from tilewright.driver import emit
from tilewright.schedules.tiling import NONE, parse
from tilewright.verbs.tuning.plan import Tried

TILED = parse("streaming:t=4,s=64x64")


@pytest.fixture(scope="module")
def planned():
    return tw.tune("j2d5pt", shape=(64, 64), steps=16, machine="k20c", effort="none", candidates=3)


def tried(tiling, predicted, *samples):
    """A candidate with some samples."""
    middle = sorted(samples)[len(samples) // 2]
    spread = (max(samples) - min(samples)) / middle if len(samples) > 1 else None
    return Tried(
        tiling=tiling,
        predicted_seconds=predicted,
        measured_seconds=middle,
        outcome="ok",
        samples=len(samples),
        spread=spread,
        unstable=spread is not None and spread > 0.1,
        range_seconds=(min(samples), max(samples)),
    )


def plan_of(planned, winner, *others):
    return dataclasses.replace(planned, winner=winner, candidates=(winner, *others), evaluated=1 + len(others))


def test_stable_samples_bear_a_ratio(planned):
    plan = plan_of(planned, tried(TILED, 2.0, 1.0, 1.01, 1.02), tried(NONE, 1.0, 2.0, 2.02, 2.04))
    said = plan.explain()
    assert "2.00 times as fast as without time tiling" in said
    assert "the model's first choice, none, reaches 50% of its speed; it ranked the winner 2 of 2" in said
    assert "no speed-up" not in said


@pytest.mark.parametrize(
    ("winner", "other", "said"),
    [
        ((0.01, 0.0101), (0.026, 0.214), "26 ms to 214 ms, against 10 ms to 10.1 ms; samples were unstable"),
        ((0.01, 0.03), (0.1, 0.101), "100 ms to 101 ms, against 10 ms to 30 ms; samples were unstable"),
        ((0.01, 0.0101), (0.145,), "145 ms in one sample, against 10 ms to 10.1 ms; there is one sample"),
        ((0.01,), (0.145,), "145 ms in one sample, against 10 ms in one sample; there is one sample"),
    ],
)
def test_samples_that_do_not_agree_bear_none(planned, winner, other, said):
    plan = plan_of(planned, tried(TILED, 2.0, *winner), tried(NONE, 1.0, *other))
    for text in (plan.explain(), plan._repr_html_()):
        assert f"without time tiling: {said}, so no speed-up is claimed" in text
        assert "times as fast" not in text
        assert "of its speed" not in text
    assert "the model's first choice, none: " in plan.explain()


def test_the_range_of_the_samples_is_kept_in_the_document(planned):
    plan = plan_of(planned, tried(TILED, 2.0, 1.0, 1.5), tried(NONE, 1.0, 2.0))
    document = json.loads(json.dumps(plan.to_dict()))
    assert document["winner"]["range_seconds"] == [1.0, 1.5]
    assert planned.winner.range_seconds is None
    assert planned.winner.times() == "not measured"


def test_a_plot_of_what_was_measured(planned, tmp_path):
    plan = plan_of(planned, tried(TILED, 2.0, 1.0, 1.01, 1.02), tried(NONE, 1.0, 2.0, 2.02, 2.04))
    assert plan.plot(tmp_path / "plot.svg").read_text().startswith("<?xml")
    with pytest.raises(tw.UsageError, match=r"\.png, \.svg, \.pdf"):
        plan.plot(tmp_path / "plot.txt")
    with pytest.raises(tw.UsageError, match="nothing to plot"):
        planned.plot(tmp_path / "plot.svg")


@pytest.mark.parametrize("boundary", ["fixed", "wrap"])
def test_a_plan_runs_what_it_decided(boundary):
    u = np.random.default_rng(3).random((64, 96), dtype=np.float32)
    plan = tw.tune("j2d5pt", shape=u.shape, steps=16, boundary=boundary, effort="none", candidates=3, threads=2)
    done = plan.run(u, record=True)
    assert (done.problem, done.tiling, done.threads) == (plan.decision.problem, plan.tiling, 2)
    assert plan.decision.tiling == plan.tiling
    assert (plan.decision.block is not None) == (boundary == "wrap" and plan.tiling != NONE)
    assert f"void {emit(plan.decision).entry}(" in plan.source  # what runs, be it on a grid with periodic copies
    np.testing.assert_array_equal(done.state, tw.run("j2d5pt", u, steps=16, boundary=boundary, tiling=plan.tiling))
    other = plan.run(u[:50, :70], steps=5)
    np.testing.assert_allclose(other, tw.run("j2d5pt", u[:50, :70], steps=5, boundary=boundary), rtol=1e-5)


def test_a_plan_for_a_device_that_is_not_there_is_made_all_the_same():
    plan = tw.tune("j1d3pt", shape=(4096,), steps=16, machine="h200", backend="cuda:7", effort="none", candidates=1)
    assert (plan.backend, plan.decision.target.device, plan.decision.evidence) == ("cuda:7", "7", "model")
