"""Records of runs: what was computed, how far, and how."""

import dataclasses
import json

import numpy as np
import pytest

import tilewright as tw
from tilewright.runtime.devices import opencl

OCLGRIND = "opencl:oclgrind"


def arrays(shape, count):
    generator = np.random.default_rng(0)
    return tuple(0.5 * generator.random(shape) for _ in range(count))


def same(got, expected):
    assert type(got) is type(expected)
    if isinstance(got, tuple):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_record_says_what_was_done(backend):
    u, (w,) = arrays((40, 50), 2), arrays((40, 50), 1)
    done = tw.run("wave2d", u, steps=6, record=True, backend=backend, strict=True)
    same(done.state, tw.run("wave2d", u, steps=6, backend=backend, strict=True))
    same(done.levels, (tw.run("wave2d", u, steps=6, levels=True, backend=backend, strict=True),))
    same(tw.run("wave2d", *done.levels, steps=3, strict=True), tw.run("wave2d", u, steps=9, strict=True))
    same(tw.run("wave2d", u, steps=6, record=True, levels=True, backend=backend, strict=True).state, done.levels[0])
    assert (done.steps_done, dict(done.traces), done.backend) == (6, {}, backend)
    assert done.seconds > 0
    assert (done.predicted_seconds is None) == (backend == "numpy")
    assert done.predicted_seconds is None or 0 < done.predicted_seconds < 1
    again = tw.run("wave2d", u, steps=6, record=True, backend=backend, tiling=str(done.tiling), strict=True)
    assert (again.tiling.family, again.tiling.time, again.tiling.space) == (
        done.tiling.family,
        done.tiling.time,
        done.tiling.space,
    )
    target = np.empty_like(w)
    into = tw.run("wave2d", u, steps=6, record=True, out=target, backend=backend, strict=True)
    assert into.state is into.levels[0][0] is target
    same(into.levels, done.levels)
    several = tw.run("fdtd2d", w, w, w, steps=4, record=True, backend=backend)
    same(several.state, several.levels)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_record_says_where_a_run_ended(backend):
    (w,) = arrays((12, 12), 1)
    settled = tw.run("heat2d", w, steps=10_000, every=10, until=1e-9, record=True, backend=backend)
    assert 20 < settled.steps_done < 1000
    assert settled.steps_done % 10 == 0
    np.testing.assert_allclose(settled.state, tw.run("heat2d", w, steps=settled.steps_done), rtol=1e-12)
    assert tw.run("heat2d", w, steps=9, every=4, callback=lambda s, v: True, record=True).steps_done == 4
    ended = tw.run("heat2d", w, steps=900, every=4, callback=lambda s, v: True, record=True, tiling="none")
    assert ended.predicted_seconds == tw.run("heat2d", w, steps=4, record=True, tiling="none").predicted_seconds
    assert tw.run("heat2d", w, steps=0, record=True, backend=backend).predicted_seconds is None


@pytest.mark.parametrize("boundary", ["fixed", "wrap"])
def test_a_prediction_of_a_record_is_that_of_its_tiling(boundary):
    pair = arrays((64, 80), 2)
    for tiling in ("hybrid:t=4,s=5x37", "none"):
        done = tw.run("wave2d", pair, steps=50, boundary=boundary, tiling=tiling, record=True)
        told = tw.predict(
            "wave2d", shape=(64, 80), steps=50, machine="host", dtype="float64", boundary=boundary, tiling=done.tiling
        )
        assert told.costs.seconds < done.predicted_seconds < 10 * told.costs.seconds  # with the copies in and out
    seen = tw.run("wave2d", pair, steps=50, every=7, boundary=boundary, record=True)
    assert seen.predicted_seconds > 0


def test_a_record_on_a_gpu_has_a_prediction_of_that_device():
    opencl.prepare_oclgrind()
    done = tw.run("wave2d", arrays((14, 20), 2), steps=4, backend=OCLGRIND, tiling="none", record=True)
    assert done.backend == "opencl"
    assert done.predicted_seconds > 0
    assert len(done.levels[0]) == 2


def test_a_record_shows_itself():
    done = tw.run("heat2d", arrays((40, 50), 1)[0], steps=100, every=10, callback=lambda s, v: s >= 20, record=True)
    document = done.to_dict()
    assert {"program", "shape", "steps", "steps_done", "tiling", "seconds", "predicted_seconds"} <= set(document)
    assert (document["steps"], document["steps_done"], document["tiling"]) == (100, 20, str(done.tiling))
    assert json.loads(json.dumps(document)) == document
    assert "heat2d 40x50, 20 of 100 steps, float64" in str(done)
    assert repr(done) == str(done)
    shown = done._repr_html_()
    assert "20 of 100 steps" in shown
    assert str(done.tiling) in shown
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.steps_done = 3


def test_a_plan_has_a_record_too():
    plan = tw.tune("wave2d", shape=(40, 50), steps=12, dtype="float64", effort="none")
    pair = arrays((40, 50), 2)
    done = plan.run(pair, record=True)
    assert isinstance(done, tw.Run)
    assert done.tiling == plan.tiling
    same(done.state, plan.run(pair))


def test_points_are_part_of_what_is_predicted():
    u = np.zeros((60, 60), np.float32)
    few = tw.run("heat2d", u, steps=20, record=True)
    receivers = tw.Points(np.random.default_rng(0).uniform(0, 59, (5000, 2)))
    many = tw.run("heat2d", u, steps=20, receivers=receivers, tiling=few.tiling, record=True)
    assert many.predicted_seconds > few.predicted_seconds
