"""Searches of annotated loops keep their time, told by a clock that only measuring moves."""

import itertools

import pytest

from tilewright.base.records import Measurement, Outcome
from tilewright.workloads.annotated.search import ALGORITHMS, Deadline, ParameterSpace, search_loops


class Clock:
    """Stands still until somebody works."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def after(self, seconds):
        return Deadline(end=self.now + seconds, clock=self)


class Slow:
    """A meter whose every point takes a second of the clock; the best one has the largest value."""

    def __init__(self, clock, *, works=True):
        self.clock, self.works, self.points = clock, works, 0

    def measure(self, points):
        return [self.again(point) for point in points]

    def again(self, point):
        self.clock.now += 1.0
        self.points += 1
        if not self.works:
            return Measurement(outcome=Outcome.TIMEOUT, detail="too slow")
        return Measurement(seconds=(1.0 + 0.001 * (90 - point["a"] - point["b"]),))


SPACE = ParameterSpace(names=("a", "b"), values=(tuple(range(40)), tuple(range(50))))


def test_no_search_takes_more_than_its_time_however_many_points_it_asks_for_at_once():
    for works, name, seconds in itertools.product([True, False], sorted(ALGORITHMS), [10.0, 60.0]):
        clock = Clock()
        meter = Slow(clock, works=works)
        choice = search_loops(SPACE, name, meter, runs=10_000, deadline=clock.after(seconds))
        assert clock.now - 1000.0 <= 1.2 * seconds, (works, name, seconds)
        assert clock.now - 1000.0 == meter.points, (works, name, seconds)
        assert not choice.finished, (works, name, seconds)
        assert (choice.winner is not None) == works, (works, name, seconds)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_a_space_without_parameters_has_one_point(name):
    class Still(Slow):
        def again(self, point):
            return Measurement(seconds=(1.0,))

    clock = Clock()
    choice = search_loops(ParameterSpace(names=(), values=()), name, Still(clock), runs=9, deadline=clock.after(9.0))
    assert [trial.values for trial in choice.trials] == [{}]
    assert choice.finished


def test_the_best_are_measured_again_within_the_time_and_alike():
    clock = Clock()
    choice = search_loops(SPACE, "Exhaustive", Slow(clock), runs=10_000, deadline=clock.after(40.0))
    counts = sorted(len(trial.measurement.seconds) for trial in choice.trials)[-3:]
    assert counts == [3, 3, 3]
    assert len(choice.winner.measurement.seconds) == 3


def test_a_round_that_the_time_cuts_counts_for_nobody():
    clock = Clock()
    choice = search_loops(SPACE, "Exhaustive", Slow(clock), runs=10_000, deadline=clock.after(10.0))
    assert {len(trial.measurement.seconds) for trial in choice.trials} == {1}


def test_a_part_of_a_deadline_is_a_part_of_what_is_left():
    clock = Clock()
    whole = Deadline(end=1060.0, clock=clock)
    clock.now = 1020.0
    assert whole.left == 40.0
    assert whole.part(0.25).left == 10.0
    clock.now = 1100.0
    assert whole.left == whole.part(0.5).left == 0.0


def test_other_values_of_what_was_added_are_tried_with_the_best_point_within_the_runs():
    """Of 80 points with and without threads, few are seen; the best of the others is turned round at the end."""

    class Threads(Slow):
        def again(self, point):
            measured = super().again(point)
            return Measurement(seconds=tuple(each * (0.5 if point["parallel"] else 1.0) for each in measured.seconds))

    names, values = (*SPACE.names, "parallel"), (*SPACE.values, (False, True))
    space = ParameterSpace(names=names, values=values, added=("parallel",))
    for runs, seed in ((6, 1), (6, 2), (5, 3), (9, 4)):
        clock = Clock()
        meter = Threads(clock)
        choice = search_loops(space, "Randomsearch", meter, runs=runs, deadline=clock.after(1e6), seed=seed)
        best = choice.winner.values
        assert len(choice.trials) == runs
        assert best["parallel"]
    assert space.turned((3, 4, 0)) == [(3, 4, 1)]
    assert SPACE.turned((3, 4)) == []
