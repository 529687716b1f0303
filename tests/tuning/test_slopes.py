"""Slopes of predictions along a model's numbers, and what a search learns from them, on worlds whose truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tilewright.base.records import Measurement
from tilewright.costs.arrays import TileSizes
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.search import search
from tilewright.tuning.sensitivity import NUMBERS, SPREAD, STEP, machine_slopes, slopes
from tilewright.tuning.shortlist import Effort, FamilySpace
from tilewright.verbs.predict import as_machine
from tilewright.verbs.tuning.family_spaces import family_spaces

EFFORT = Effort(candidates=8, seconds=math.inf, finalists=1, repeats=1, refine=0.75)


def test_a_prediction_that_is_a_product_of_powers_has_their_exponents():
    a, b = 3.0, 5.0
    base = np.array([a * b, a**2 / b])
    moved = {"a": np.array([(1 + STEP) * a * b, ((1 + STEP) * a) ** 2 / b]), "b": base * [1 + STEP, 1 / (1 + STEP)]}
    np.testing.assert_allclose(slopes(moved, base) / SPREAD, [[1.0, 1.0], [2.0, -1.0]])


def test_every_number_of_a_machine_is_moved_and_those_it_lacks_are_left_out():
    machine = load("v100")

    def bandwidth(one):
        return np.array([1.0 / one.dram_bandwidth.value, 2.0])

    found = machine_slopes(machine, "j2d5pt", bandwidth)
    assert found.shape[1] <= len(NUMBERS["gpu"])
    assert found[0].min() == pytest.approx(-SPREAD)
    np.testing.assert_allclose(found[1], 0.0)


@pytest.mark.parametrize("name", ["v100", "host"])
def test_all_families_of_a_tuning_have_slopes_along_the_same_numbers(name):
    spaces = family_spaces(make_problem(program("j2d5pt"), (512, 512), 16), as_machine(name))
    found = [space.slopes(np.flatnonzero(np.isfinite(space.cost))[:5]) for space in spaces]
    assert len({each.shape[1] for each in found}) == 1
    for each in found:
        assert np.isfinite(each).all()
        assert each.any()


class World:
    """Half of the tilings are bound by memory, which takes half as long again as the model thinks."""

    def __init__(self, seed):
        generator = np.random.default_rng(seed)
        memory = generator.permutation(np.repeat([True, False], 40))
        sizes = TileSizes(
            time=np.arange(2, 162, 2), space=(generator.integers(1, 512, 80),), k=np.zeros(80, dtype=np.int64)
        )
        cost = generator.uniform(1.0, 2.0, 80) * np.where(memory, 1.0, 1.2)
        self.truth = cost * np.where(memory, 1.5, 1.0)
        self.tilings = [
            Tiling(family="hexagonal", time=t, space=(s,))
            for t, s in zip(sizes.time.tolist(), sizes.space[0].tolist(), strict=True)
        ]
        self.space = FamilySpace(
            family=family_named("hexagonal"),
            sizes=sizes,
            cost=cost,
            make=self.tilings.__getitem__,
            expected=cost,
            slopes=lambda index: SPREAD * np.stack([memory[index], ~memory[index]], axis=1),
        )
        self.untiled = FamilySpace(
            family=family_named("none"),
            sizes=TileSizes(time=np.array([0]), space=(np.array([0]),), k=np.array([0])),
            cost=np.array([9.0]),
            make=lambda _: NONE,
            expected=np.array([9.0]),
            slopes=lambda index: np.zeros((len(index), 2)),
        )

    def build(self, tilings):
        return {}

    def sample(self, tiling):
        seconds = 9.0 if tiling == NONE else self.truth[self.tilings.index(tiling)]
        return Measurement(seconds=(float(seconds),))

    def confirm(self, tiling, second):
        return Measurement()


def measured(world, **changes):
    spaces = (replace(world.space, **changes), replace(world.untiled, **changes))
    return [trial.measurement.median for trial in search(spaces, EFFORT, world).trials]


@pytest.mark.parametrize("seed", range(4))
def test_what_one_candidate_tells_of_a_number_holds_for_all_that_it_binds(seed):
    world = World(seed)
    assert min(measured(world)[:6]) <= min(measured(world, slopes=None)[:6])
    assert min(measured(world)[:6]) < 1.05 * np.sort(world.truth)[0]


def test_a_search_begins_with_the_models_choice_and_no_tiling_then_learns():
    world = World(0)
    trials = search((world.space, world.untiled), EFFORT, world).trials
    assert trials[0].candidate.predicted == world.space.cost.min()
    assert trials[1].candidate.tiling == NONE
    assert len(trials) == EFFORT.candidates
    assert len({trial.candidate.tiling for trial in trials}) == EFFORT.candidates


def test_slopes_are_unused_where_a_family_lacks_them():
    world = World(1)
    mixed = (world.space, replace(world.untiled, slopes=None))
    found = [trial.measurement.median for trial in search(mixed, EFFORT, world).trials]
    assert found == measured(world, slopes=None)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_no_tiling_is_tried_however_few_candidates_there_are(count):
    world = World(0)
    trials = search((world.space, world.untiled), replace(EFFORT, candidates=count), world).trials
    assert len(trials) == count
    assert (NONE in {trial.candidate.tiling for trial in trials}) == (count > 1)
