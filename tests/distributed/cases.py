"""Random problems with data, for runs that cut their grids."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
from tests.laws.generator import make_case

from tilewright.inputs.arrays import per_step
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.points import Points
from tilewright.programs.stencil.problem import Problem

WRAP = Boundary(kind="wrap")


def draw(
    seed: int, index: int, *, rows: tuple[int, int] = (1, 60)
) -> tuple[Problem, dict[str, list[Any]], dict[str, Any]]:
    """Draw a problem that is no recurrence, with its data and scalars: any boundary, wrap along an axis more often."""
    for attempt in range(100):
        case = make_case(seed, index * 100 + attempt)
        if not case.problem.program.analysis.sweep:
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


def points_of(problem: Problem, seed: str) -> dict[str, Any]:
    """Draw sources and receivers, on and between cells, as a run takes them; some by a field that scales them."""
    chance = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    program, generator = problem.program, np.random.default_rng(chance.randrange(2**32))
    scales = [field for field in program.fields if field not in program.updated]

    def drawn(*, sources: bool) -> Points:
        count = chance.choice((1, 2, 5, 20))
        ends = np.array(problem.shape) - 1
        places = generator.uniform(0, 1, (count, len(ends))) * ends
        if "int" in problem.dtype or chance.random() < 0.3:
            places = np.rint(places)
        kind = chance.choice(("linear", "sinc"))
        if not sources:
            return Points(places, interpolation=kind, every=chance.choice((None, 1, 2, 3)))
        whole = "int" in problem.dtype
        values = generator.integers(0, 5, problem.steps) if whole else generator.normal(size=(problem.steps, count))
        scale = chance.choice(scales) if scales and not whole and chance.random() < 0.5 else None
        return Points(places, values=values, interpolation=kind, scale=scale)

    updated = chance.sample(program.updated, chance.randint(1, len(program.updated)))
    recorded = chance.sample(program.fields, chance.randint(1, len(program.fields)))
    return {
        "sources": {field: drawn(sources=True) for field in updated},
        "receivers": {field: drawn(sources=False) for field in recorded},
    }


def varied(problem: Problem, scalars: dict[str, Any], seed: str) -> dict[str, Any]:
    """Give scalars a value per step, those that are numbers."""
    chance = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    return {
        name: per_step(
            np.array([value * chance.choice((0, 1, 2)) for _ in range(problem.steps)], np.result_type(value))
        )
        if np.ndim(value) == 0
        else value
        for name, value in scalars.items()
    }


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
