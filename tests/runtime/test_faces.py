"""Sums near the sides: where they lie, and which cells count."""

import numpy as np

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.points import FaceSums


def test_ends_of_axes_lie_one_behind_the_other():
    problem = make_problem(program("jacobi2d"), (6, 9), 1, "float64")
    sums = FaceSums(problem, "u", ((2, 1), (0, 3)))
    assert sums.sums.size == 3 * 9 + 6 * 3
    grid = np.arange(54.0).reshape(6, 9)
    for _ in range(2):
        sums.add(lambda _, cells: grid.ravel()[cells])
    inside = np.zeros((6, 9))
    inside[1:-1, 1:-1] = 2 * grid[1:-1, 1:-1]  # a fixed boundary updates no others
    np.testing.assert_array_equal(sums.at_end(0, last=False), inside[:2])
    np.testing.assert_array_equal(sums.at_end(0, last=True), inside[-1:])
    np.testing.assert_array_equal(sums.at_end(1, last=True), inside[:, -3:])


def test_cells_of_both_ends_are_summed_once():
    problem = make_problem(program("jacobi2d"), (6, 9), 1, "float64")
    sums = FaceSums(problem, "u", ((4, 5), (0, 12)))
    grid = np.arange(54.0).reshape(6, 9)
    sums.add(lambda _, cells: grid.ravel()[cells])
    inside = np.zeros((6, 9))
    inside[1:-1, 1:-1] = grid[1:-1, 1:-1]
    np.testing.assert_array_equal(sums.at_end(0, last=False), inside[:4])
    np.testing.assert_array_equal(sums.at_end(0, last=True), inside[-5:])
    np.testing.assert_array_equal(sums.at_end(1, last=True), inside)
