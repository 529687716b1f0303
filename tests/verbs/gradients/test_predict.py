"""What a gradient is expected to cost, and the schedule of checkpoints that it is the cost of."""

import itertools

import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.costs.history import bulk
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.problem import make_problem
from tilewright.verbs.gradients.bands import split_problem
from tilewright.verbs.gradients.checkpoints import recomputed, segments
from tilewright.verbs.gradients.predict import _at_once

LARGE = {"shape": (2048, 2048), "steps": 500, "machine": "zen3"}


def _most(length, slots):
    """States in memory at a time, that of the start among them; a band of n steps has n of them."""
    if length <= max(2, slots):
        return length
    lengths = segments(length, slots)
    return max(number + _most(each, max(1, slots - number)) for number, each in enumerate(lengths))


@pytest.mark.parametrize(("steps", "slots"), [*itertools.product((1, 7, 100, 500, 900), (2, 3, 8, 20, 64))])
def test_every_step_is_in_one_band_and_states_fit(steps, slots):
    _, bands = recomputed(steps, slots)
    assert sum(bands) == sum(segments(steps, slots)) == steps
    assert _most(steps, slots) <= slots + 2


def test_fewer_steps_are_computed_again_than_with_equal_segments():
    runs, bands = recomputed(500, 20)
    assert sum(map(sum, runs)) < 1.7 * 500  # 1.94 times with 19 equal segments
    assert len(bands) < 60


def test_a_linear_program_costs_about_two_runs():
    found = tw.predict_gradient("jacobi2d", **LARGE)
    assert (found.states, found.again_seconds) == (0, 0.0)
    assert found.seconds == found.forward_seconds + found.back_seconds
    assert 1.8 < found.ratio < 3.2
    assert "gradient of jacobi2d 2048x2048, 500 steps on zen3" in str(found)


def test_more_states_cost_less():
    few, many = (tw.predict_gradient("heat2d_var", checkpoints=states, **LARGE) for states in (20, 64))
    assert few.seconds > many.seconds
    assert few.again_seconds > 1.3 * many.again_seconds
    assert tw.predict_gradient("heat2d_var", memory="1GiB", **LARGE).states == 2**30 // (2048**2 * 4)
    assert tw.predict_gradient("heat2d_var", wrt=(), **LARGE).seconds < many.seconds


def test_of_processors_alone():
    with pytest.raises(UsageError, match="predicted for stencils on CPUs"):
        tw.predict_gradient("jacobi2d", shape=(64, 64), steps=2, machine="h100")


def test_slabs_cost_nothing():
    adjoint = adjoint_of(program("jacobi2d"))
    whole = make_problem(adjoint.program, (512, 512), 8, "float32", adjoint.boundary)
    split = split_problem(whole, adjoint.split)
    assert bulk(split).program.updated == ("u_bar",)
    assert bulk(bulk(split)) == bulk(split)
    assert bulk(make_problem(program("jacobi2d"), (64, 64), 8)) == make_problem(program("jacobi2d"), (64, 64), 8)


def test_a_root_is_taken_once_per_cell():
    made = adjoint_of(program("gradient2d"), "wrap").program
    special = [node.op for each in made.statements for node in each.tape if getattr(node, "op", None) in SPECIAL]
    assert special.count("sqrt") == 1
    assert made.updated == ("u_bar_node", "u_bar")


def test_what_older_versions_are_worth_is_a_run_of_its_own():
    made = adjoint_of(program("wave2d"))
    whole = make_problem(made.program, LARGE["shape"], LARGE["steps"], "float32", made.boundary)
    first, older = _at_once(whole, made)
    assert (first.program, older.program) == (made.inner.program, made.inner.older)
    assert (first.steps, older.steps) == (LARGE["steps"], 1)
