"""Random problems with data, for runs that cut their grids."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
from tests.laws.generator import make_case

from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.dependences import analyse
from tilewright.programs.stencil.problem import Problem

WRAP = Boundary(kind="wrap")


def draw(
    seed: int, index: int, *, rows: tuple[int, int] = (1, 60)
) -> tuple[Problem, dict[str, list[Any]], dict[str, Any]]:
    """Draw a problem that is no recurrence, with its data and scalars: any boundary, wrap along an axis more often."""
    for attempt in range(100):
        case = make_case(seed, index * 100 + attempt)
        if not analyse(case.problem.program).sweep:
            break
    chance = random.Random(f"{seed}:{index}")  # noqa: S311  (reproducible, not secret)
    problem = case.problem
    rank = problem.program.rank
    most = {1: rows[1], 2: 24, 3: 9}[rank]
    shape = (chance.randint(*rows), *(chance.randint(1, most) for _ in range(rank - 1)))
    boundaries = problem.boundaries
    for axis in range(rank):
        if chance.random() < 0.4:
            boundaries = tuple((*sides[:axis], (WRAP, WRAP), *sides[axis + 1 :]) for sides in boundaries)
    problem = replace(problem, shape=shape, steps=chance.randint(0, 14), boundaries=boundaries)
    arrays = replace(case, problem=problem).arrays()
    return problem, arrays, dict(case.scalars)


def boundary_of(problem: Problem) -> dict[str, Any]:
    """Return a problem's boundaries as a run takes them."""
    return dict(zip(problem.program.fields, problem.boundaries, strict=True))


def levels_of(problem: Problem, arrays: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    """Return the data as a run takes them."""
    return [tuple(arrays[field]) for field in problem.program.fields]


def flat(result: Any, *, as_they_are: bool = False) -> list[Any]:
    """Return the arrays of a result, whatever its form, as NumPy's or as they are."""
    if not isinstance(result, tuple):
        return [result if as_they_are else np.asarray(result)]
    return [each for entry in result for each in flat(entry, as_they_are=as_they_are)]
