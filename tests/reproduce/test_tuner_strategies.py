"""Replays of Kernel Tuner's strategies: what is written for them, and how evaluations are counted."""

import numpy as np
import pytest

import sweep_traffic
import tuner_strategies as replay
from tilewright.base.records import Outcome
from tilewright.runtime.formats.logs import LogPoint, TuningLog, read_tuner_file
from tilewright.schedules.tiling import Tiling

SECONDS = {(16, 6, 256): 0.25, (16, 4, 256): 0.5, (8, 6, 128): 1.0}


def log():
    points = tuple(
        LogPoint(
            tiling=Tiling(family="hybrid", time=t, space=(a, b), threads=(1, b)), seconds=seconds, outcome=Outcome.OK
        )
        for (t, a, b), seconds in SECONDS.items()
    )
    return TuningLog(program="j2d5pt", shape=(4096, 4096), steps=64, device="V100", points=points)


def test_a_cache_holds_every_measurement_and_nothing_else_is_allowed(tmp_path):
    cache = replay.as_cache(log(), tmp_path)
    read = read_tuner_file(cache.path, program="j2d5pt", steps=64)
    assert {point.tiling: point.seconds for point in read.points} == {p.tiling: p.seconds for p in log().points}
    names = list(cache.values)
    assert cache.allowed(dict(zip(names, (16, 6, 256, 1, 256), strict=True)))
    assert not cache.allowed(dict(zip(names, (8, 4, 256, 1, 256), strict=True)))


def test_evaluations_that_a_share_of_the_best_takes():
    shares = replay.shares([1.0, 0.5, 0.6, 0.25], 0.25)
    np.testing.assert_allclose(shares, [0.25, 0.5, 0.5, 1.0])
    assert [replay.needed(shares, share) for share in (0.2, 0.5, 0.95)] == [1, 2, 4]
    assert replay.needed(shares[:3], 0.95) is None
    assert [replay.at(shares, count) for count in (1, 4, 50)] == [0.25, 1.0, 1.0]


def test_kernel_tuner_finds_the_best_of_a_log_that_it_may_search_wholly(tmp_path):
    pytest.importorskip("kernel_tuner")
    cache = replay.as_cache(log(), tmp_path)
    assert replay.run(cache, "random_sample", 0, 3)[-1] == 1.0


@pytest.mark.parametrize("one", sweep_traffic.COUNTED, ids=lambda one: one.name)
def test_far_from_a_caches_size_the_models_traffic_is_what_was_counted(one):
    small, large = (sweep_traffic.setting_of(one, extent) for extent in (20, 400))
    for count in (sweep_traffic.by_room, sweep_traffic.at_random):
        assert count(small, one.l2_bytes) == pytest.approx(16.0, rel=0.01)
        assert count(large, one.l2_bytes) == pytest.approx(one.to_l2[500], rel=0.12)
