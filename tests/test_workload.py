"""What every workload must answer, whatever it computes."""

import dataclasses

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.base.errors import UsageError
from tilewright.machines.files import load
from tilewright.programs.stencil.program import Program
from tilewright.tuning.select import METRICS, of_costs
from tilewright.verbs.bottleneck import explain
from tilewright.verbs.dispatch import program_of, stencil_of, workload_of
from tilewright.verbs.load import load_run
from tilewright.verbs.predict import predict
from tilewright.workload import Request
from tilewright.workloads.tables.problem import Recurrence

CASES = {"heat2d": Request(shape=(48, 64), steps=16), "lcs": Request(shape=(128, 192), steps=1)}


@pytest.fixture(scope="module", params=CASES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def work(name):
    return workload_of(name, {}, CASES[name], load("k20c"))


@pytest.fixture(scope="module")
def resident(work):
    """The fastest tiling of which several tiles may be resident, with its costs."""
    return next(each for each in work.ranked("time", within=None) if work.most_tiles(each[0]))


@pytest.mark.parametrize(("metric", "points"), covering(METRICS, ["all", "coarse"]))
def test_what_is_ranked_is_in_order_and_within_the_share(work, metric, points):
    within = 7.0 if metric == "ed2p" else 1.0  # energy x delay^2 of half the speed is eight times as much
    found = work.ranked(metric, within=within, points=points)
    values = of_costs([costs for _, costs in found], metric)
    assert len(values) > 1
    # Up to rounding: all points are evaluated together, these are not.
    assert (np.diff(values) >= -1e-12 * values[1:]).all()
    assert values[-1] <= (1.0 + within) * values[0]
    assert work.ranked(metric, within=None, top=2, points=points) == found[:2]


def test_a_tiling_costs_the_same_however_it_is_asked(work):
    tiling, costs = work.ranked("time", within=0.0, top=1)[0]
    assert work.costs(None)[1].seconds == costs.seconds
    assert work.costs(tiling) == (tiling, work.expected(tiling))
    same = work.changed(work.machine, work.problem.shape, work.problem.steps)
    assert same.expected(tiling) == costs
    assert work.usage(tiling, None)[2].seconds == costs.seconds
    assert work.usage(tiling, 2.0)[2].seconds == 2.0
    assert work.ideal_seconds(tiling) < costs.seconds


def test_more_work_takes_longer_and_faster_iterations_do_not(work, resident):
    tiling, costs = resident
    larger = work.changed(work.machine, tuple(2 * extent for extent in work.problem.shape), work.problem.steps)
    assert larger.expected(tiling).seconds > costs.seconds > work.hastened().expected(tiling).seconds


def test_what_does_not_fit_costs_nothing_that_could_be_compared(work, resident):
    tiling, _ = resident
    assert work.expected(dataclasses.replace(tiling, k=work.most_tiles(tiling) + 1)) is None
    with pytest.raises(UsageError, match="shared memory"):
        work.costs(dataclasses.replace(tiling, k=work.most_tiles(tiling) + 1))


def test_predictions_of_both_kinds_are_explained_by_one_function(name, resident):
    asked, (tiling, _) = CASES[name], resident
    one = predict(name, shape=asked.shape, steps=asked.steps, machine="k20c", tiling=tiling)
    found = explain(one)
    assert dict(found.k_effect)[one.costs.tiles_per_sm] == one.costs.seconds
    assert {"vector units", "memory", "synchronisation"} <= {each.name for each in found.resources}


def test_one_name_of_a_recurrence_and_a_stencil():
    assert program_of("smith_waterman") != load_run("smith_waterman", 1)
    assert program_of("smith_waterman") == load_run("smith_waterman", None)
    assert isinstance(load_run("smith_waterman", None), Recurrence)
    assert isinstance(load_run("smith_waterman", 1), Program)


@pytest.mark.parametrize("verb", ["tune", "supertune", "report"])
def test_what_recurrences_do_not_offer_is_refused_in_one_sentence(verb):
    reasons = {"tune": "is not tuned by measuring", "supertune": "has orthogonal tiles alone"}
    with pytest.raises(UsageError, match=f"'lcs' is a recurrence, which {reasons.get(verb, 'this command')}"):
        stencil_of("lcs", verb)
    assert stencil_of("heat2d", verb).name == "heat2d"
