"""How far from a cut values are wrong."""

import pytest

import tilewright as tw
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


def test_a_window_has_the_grid_s_boundary_where_the_grid_ends():
    problem = make_problem(tw.program("heat2d"), (100, 50), 4, boundary="reflect")
    found = window(problem, ((0, 40), (0, 50)), 4)
    assert found.span == ((0, 44), (0, 50))
    (rows, columns) = found.problem.boundaries[0]
    assert [side.kind for side in (*rows, *columns)] == ["reflect", "fixed", "reflect", "reflect"]
