"""How far from a cut values are wrong."""

import copy
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import tilewright as tw
from tilewright.distributed import windows
from tilewright.distributed.windows import depths, window
from tilewright.programs.stencil.problem import make_problem


@tw.stencil
def upwards(u):
    return 0.5 * u[0] + 0.5 * u[2]


@tw.stencil
def far(u):
    return u.prev[-4] + u[1]


@pytest.mark.parametrize(
    ("program", "boundary", "expected"),
    [
        (upwards, "nearest", [(0, 2), (0, 4), (0, 6)]),
        (upwards, "mirror", [(2, 2), (4, 4), (6, 6)]),  # reads are bent back at the grid's end
        (upwards, "reflect", [(1, 2), (2, 4), (3, 6)]),
        (far, "fixed", [(8, 1), (8, 2), (12, 3)]),  # at first older levels are wrong beside the cut, too
    ],
)
def test_values_are_wrong_as_far_as_reads_carry_them(program, boundary, expected):
    problem = make_problem(program.program, (100,), 1, boundary=boundary)
    assert [depths(problem, steps)[0] for steps in (1, 2, 3)] == expected
    assert depths(problem, 0) == ((0, 0),)


def test_threads_that_ask_at_once_are_told_the_same():
    problem = make_problem(far.program, (4000,), 1, boundary="mirror")
    wanted = depths(problem, 400)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            unknown = copy.deepcopy(problem)
            depths(unknown, 0)
            with ThreadPoolExecutor(8) as pool:
                found = list(pool.map(depths, [unknown] * 8, [400] * 8))
            assert set(found) == {wanted}
    finally:
        sys.setswitchinterval(before)


def test_a_window_has_the_grid_s_boundary_where_the_grid_ends():
    problem = make_problem(tw.program("heat2d"), (100, 50), 4, boundary="reflect")
    found = window(problem, ((0, 40), (0, 50)), 4)
    assert found.span == ((0, 44), (0, 50))
    (rows, columns) = found.problem.boundaries[0]
    assert [side.kind for side in (*rows, *columns)] == ["reflect", "fixed", "reflect", "reflect"]


def test_as_many_steps_are_followed_as_are_asked_for_and_no_more_than_a_few_thousand():
    problem = copy.deepcopy(make_problem(far.program, (10**6,), 1))  # nothing is known of it
    assert depths(problem, 3) == ((12, 3),)
    creeps = windows._creep(problem.program, problem.boundaries).values()
    assert [len(each._known) for each in creeps] == [4, 4]
    last = depths(problem, windows._FOLLOWED)[0]
    assert depths(problem, windows._FOLLOWED + 900) == ((last[0] + 900 * 4, last[1] + 900),)  # as fast as it reads
    assert [len(each._known) for each in creeps] == [windows._FOLLOWED + 1] * 2
