"""What a gradient is expected to cost, and the schedule of checkpoints that it is the cost of."""

import functools
import itertools
import math

import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.costs.facts import bulk
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.problem import make_problem
from tilewright.verbs.gradients import checkpoints, predict
from tilewright.verbs.gradients.checkpoints import Forward, Reverse, schedule
from tilewright.verbs.gradients.problems import at_once, split_problem

LARGE = {"shape": (2048, 2048), "steps": 500, "machine": "zen3"}


@pytest.mark.parametrize(("steps", "slots"), [*itertools.product((1, 7, 100, 500, 900), (2, 3, 8, 20, 64))])
@pytest.mark.parametrize("on_disk", [False, True])
def test_every_step_is_taken_back_once_from_the_state_that_it_begins_with(steps, slots, on_disk):
    first, *rest = schedule(steps, slots, on_disk=on_disk)
    kept, left, most = list(first.at[:-1]), steps, 0
    for action in rest:
        if isinstance(action, Forward):
            assert action.at[0] == kept[-1]
            kept += action.at[1:]
        else:
            assert (action.begin, action.begin + action.steps) == (kept.pop(), left)
            left = action.begin
            most = max(most, action.steps + (0 if on_disk else len(kept)))  # a band of n steps has n states
    assert (kept, left) == ([], 0)
    assert most <= slots + 2


def test_fewer_steps_are_computed_again_than_with_equal_segments():
    _, *rest = schedule(500, 20)
    again = sum(action.at[-1] - action.at[0] for action in rest if isinstance(action, Forward))
    assert 500 + again < 2.7 * 500  # 1.94 times again with 19 equal segments
    assert sum(isinstance(action, Reverse) for action in rest) < 60


@functools.cache
def _least(length, slots):
    """Steps that a segment takes to be computed again at least, a copy being worth four of them."""
    if length <= max(2, slots):
        return 4.0
    each = [first + 4.0 + _least(first, slots) + _least(length - first, slots - 1) for first in range(1, length)]
    return min(each) if slots else math.inf


def _followed(cuts, length, slots):
    """The same of a segment that is cut as a table of cuts says."""
    if length <= max(2, slots) or not slots:
        return 4.0 if length <= max(2, slots) else math.inf
    first = int(cuts[slots - 1][length])
    return first + 4.0 + _followed(cuts, first, slots) + _followed(cuts, length - first, slots - 1)


@pytest.mark.parametrize(("units", "slots"), [(60, 2), (50, 4), (40, 7)])
def test_no_cuts_cost_less_than_those_that_are_made(units, slots):
    cuts = checkpoints._cuts(units, slots, 1)
    for length, free in itertools.product(range(2, units + 1), range(1, slots + 1)):
        assert _followed(cuts, length, free) == _least(length, free), (length, free)


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
    for memory in ("16MiB", "32MiB", "40MiB"):  # a state is of 16
        assert tw.predict_gradient("heat2d_var", memory=memory, **LARGE).states == 2
    assert tw.predict_gradient("heat2d_var", wrt=(), **LARGE).seconds < many.seconds


def test_bands_of_steps_are_expected_to_take_less_than_steps_one_by_one(monkeypatch):
    bands = tw.predict_gradient("heat2d_var", checkpoints=64, **LARGE)
    monkeypatch.setattr(predict, "bands_of", lambda *_: None)
    alone = tw.predict_gradient("heat2d_var", checkpoints=64, **LARGE)
    assert bands.forward_seconds == alone.forward_seconds
    assert bands.again_seconds < alone.again_seconds
    assert bands.back_seconds < 0.75 * alone.back_seconds


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


def test_cotangents_of_older_versions_take_a_run_of_their_own():
    made = adjoint_of(program("wave2d"))
    whole = make_problem(made.program, LARGE["shape"], LARGE["steps"], "float32", made.boundary)
    first, older = at_once(whole, made).problems
    assert (first.program, older.program) == (made.inner.program, made.inner.older)
    assert (first.steps, older.steps) == (LARGE["steps"], 1)
