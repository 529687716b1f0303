"""Prisms that are swept and prisms that are not."""

from dataclasses import replace

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse


def test_prisms_whose_neighbours_neighbours_are_read_are_not_swept():
    problem = make_problem(program("star2d4r"), (40, 40), 8, "float32", "fixed")
    tiling = catalogue.complete(problem, parse("hybrid:t=4,s=4x8"))
    assert tiling.family.sweep(problem, tiling) is not None
    assert tiling.family.sweep(problem, replace(tiling, space=(3, 8))) is None
