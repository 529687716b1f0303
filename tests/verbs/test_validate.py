"""Validation: on synthetic logs everywhere, on the public V100 measurements where they are."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

import first_choice
from tilewright.base.errors import UsageError
from tilewright.report import progress
from tilewright.runtime.formats.logs import FLOPS, LogPoint, TuningLog, read_stencilbench
from tilewright.schedules.tiling import Tiling, parse
from tilewright.verbs.predict import gpu_terms
from tilewright.verbs.validate import ordered, validate

DATA = Path(os.environ.get("TILEWRIGHT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "stencilbench_v100"
LINES = {
    "gradient2d": 5771, "j2d5pt": 6274, "j2d9pt-gol": 5707, "j2d9pt": 1802, "j3d27pt": 2235, "star3d1r": 2846,
    "star3d2r": 735,
}  # fmt: skip


@pytest.fixture(scope="module")
def logs():
    if not DATA.is_dir():
        pytest.skip(f"no public measurements at {DATA}: benchmarks/fetch_stencilbench.py fetches them")
    return [read_stencilbench(DATA / f"{name}.log") for name in FLOPS]


def synthetic(count=60, name="j2d5pt"):
    generator = np.random.default_rng(0)
    points = []
    for _ in range(count):
        time, base = 2 * int(generator.integers(1, 10)), int(generator.integers(1, 9))
        width = 32 * int(generator.integers(1, 5))
        tiling = Tiling(family="hybrid", time=time, space=(base, width), threads=(1, 32))
        points.append(LogPoint(tiling=tiling, seconds=float(generator.random() + 0.1)))
    return TuningLog(program=name, shape=(1024, 1024), steps=10, points=tuple(points))


def test_calibration_points_are_never_scored():
    log = synthetic()
    one = validate([log], "v100").stencils[0]
    assert one.scores.points == len(log.points) - 10
    assert len(set(one.used.tolist())) == 10
    # A wild time at a used point moves the constants, but is not among the scored times.
    assert one.measured[one.used[0]] not in one.scored.measured


def test_scoring_is_deterministic_and_seeded():
    log = synthetic()
    assert validate([log], "v100").to_dict() == validate([log], "v100").to_dict()
    assert validate([log], "v100", seed=1).to_dict() != validate([log], "v100").to_dict()


def test_no_result_depends_on_the_order_of_logs_or_of_their_lines():
    logs = [synthetic(name="j2d5pt"), synthetic(name="gradient2d"), synthetic(name="j2d9pt")]
    turned = [dataclasses.replace(log, points=tuple(reversed(log.points))) for log in reversed(logs)]
    for held_out in (False, True):
        first, second = (validate(each, "v100", seed=3, held_out=held_out) for each in (logs, turned))
        assert {one.name: one.to_dict() for one in first.stencils} == {
            one.name: one.to_dict() for one in second.stencils
        }
        assert first.calibration.constants == second.calibration.constants


def test_a_validation_that_takes_long_says_how_far_it_is(terminal, monkeypatch):
    stream = terminal()
    monkeypatch.setattr(progress.waiting.__wrapped__, "__defaults__", (0.0,))
    validate([synthetic(), synthetic(name="gradient2d")], "v100", held_out=True)
    assert stream.getvalue().startswith("\rvalidating v100: ")


def test_without_points_nothing_is_fitted():
    found = validate([synthetic()], "v100", points=0)
    assert found.calibration is None
    assert found.stencils[0].scale == 1.0
    assert found.overall.points == 60


def test_held_out_constants_do_not_see_the_stencils_own_points():
    a, b = synthetic(name="j2d5pt"), synthetic(name="gradient2d")
    slower = TuningLog(
        program=a.program,
        shape=a.shape,
        steps=a.steps,
        points=tuple(LogPoint(tiling=p.tiling, seconds=3.0 * p.seconds) for p in a.points),
    )
    first = validate([a, b], "v100", held_out=True).stencils[0]
    second = validate([slower, b], "v100", held_out=True).stencils[0]
    shape = second.predicted / first.predicted
    np.testing.assert_allclose(shape, shape[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"machine": "host"}, "for GPUs"),
        ({"model": "precise"}, "exact"),
        ({"off": ("magic",)}, "magic"),
        ({"points": 59}, "at least 61"),
    ],
)
def test_what_cannot_be_validated_is_refused(change, part):
    options = {"machine": "v100", **change}
    with pytest.raises(UsageError, match=part):
        validate([synthetic()], options.pop("machine"), **options)


def test_tiles_that_do_not_fit_the_stencil_are_refused():
    bad = TuningLog(program="j3d27pt", shape=(64, 64, 64), steps=4, points=synthetic().points)
    with pytest.raises(UsageError, match="3 sizes and threads"):
        validate([bad], "v100")
    with pytest.raises(UsageError, match="at least one log"):
        validate([], "v100")


def test_terms_of_one_tiling():
    terms = gpu_terms(
        "j2d5pt", shape=(4096, 4096), steps=64, machine="h200", tiling="hybrid:t=16,s=6x256,threads=1x256"
    )
    assert terms["bound_by"] in {"latency", "issue", "access", "dram", "l2", "launch"}
    given = {"shape": (4096, 4096), "steps": 64, "machine": "h200"}
    assert gpu_terms("j2d5pt", **given, tiling="hybrid:t=16,s=6x256") == terms  # the threads that the code takes
    with pytest.raises(UsageError, match="the terms are those of a hybrid tile on a GPU, got 'none' on h200"):
        gpu_terms("j2d5pt", **given, tiling="none")
    with pytest.raises(UsageError, match="1024 threads"):
        gpu_terms("j2d5pt", shape=(512, 512), steps=64, machine="v100", tiling="hybrid:t=4,s=8x512,threads=8x512")


def test_the_public_logs_are_whole(logs):
    assert {log.program: len(log.points) for log in logs} == LINES


def test_the_height_is_twice_ppcgs_size(logs):
    """Shared memory decides: with t_T = 2 b_T the fastest 2D tiles fill it, and speed halves where it overflows."""
    for log in logs:
        if log.program not in {"j2d5pt", "j2d9pt-gol", "gradient2d"}:
            continue
        found = validate([log], "v100", points=0).stencils[0]
        fill = found.space.footprint / found.space.limit
        best = found.measured.min()
        assert 0.95 < fill[np.argmin(found.measured)] <= 1.0
        assert best / found.measured[(fill > 1.0) & (fill <= 1.25)].min() < 0.7


def test_the_model_selects_on_the_v100(logs):
    found = validate(logs, "v100")
    tops = {each.name: each.scores.fraction_of_best for each in found.stencils}
    assert found.overall.fraction_of_best[0] >= 0.90
    assert found.overall.fraction_of_best[2] >= 0.98
    assert min(top[0] for top in tops.values()) >= 0.80, tops
    assert min(each.scores.spearman for each in found.stencils) >= 0.80


def test_estimates_that_nothing_is_fitted_to_select_on_the_v100(logs):
    stencils = [first_choice.whole(log) for log in map(ordered, logs)]
    found = [first_choice.scored(each, first_choice.ESTIMATES) for each in stencils]
    first, ten = ([each.fraction_of_best[place] for each in found] for place in (0, 2))
    assert (np.mean(first) >= 0.96, min(first) >= 0.90) == (True, True), first
    assert (np.mean(ten) >= 0.99, min(ten) >= 0.98) == (True, True), ten
    assert np.mean([each.rmse_top20 for each in found]) <= 0.104


def test_constants_from_other_stencils_select_as_well(logs):
    found = validate(logs, "v100", held_out=True)
    assert found.overall.fraction_of_best[0] >= 0.90
    assert found.overall.spearman >= 0.80


def test_the_printed_model_selects_worse(logs):
    printed = validate(logs, "v100", model="published").overall
    assert printed.fraction_of_best[0] < 0.5
    assert printed.spearman < 0.5


def test_a_result_says_what_was_left_out_of_its_logs():
    whole = validate([synthetic()], "v100")
    assert "cut short" not in str(whole)
    one = validate([dataclasses.replace(synthetic(), skipped=("line 3 of 'a.log'",))], "v100", model="published")
    assert str(one).endswith("; 1 line that was cut short left out: line 3 of 'a.log'")
    lines = tuple(f"line {number} of 'a.log'" for number in range(1, 8))
    many = validate([dataclasses.replace(synthetic(), skipped=lines)], "v100")
    assert str(many).endswith("line 5 of 'a.log' and 2 more")
    assert many.to_dict()["skipped"] == 7


def test_the_order_of_a_log_s_lines_is_none_of_its_points():
    tilings = [parse(f"hybrid:t=4,s=4x32,k={k}") for k in (2, 4)]
    points = [LogPoint(tiling=each, seconds=1.0 / place) for place, each in enumerate(tilings, 1)]
    logs = [TuningLog(program="heat2d", shape=(64, 64), steps=4, points=tuple(some)) for some in (points, points[::-1])]
    assert [ordered(each).points for each in logs] == [tuple(points)] * 2
