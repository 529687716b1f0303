"""The adjoint of random programs: <L'y, x> = <y, Lx>, with L by differences of runs of the reference in float64."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.reference import run as reference

from .generator import DRAW, FLOATS, make_case

CASES = 80
CHUNK = 200
STRESS = 20
_STEP = 1e-6
_LEAST = 3
"""Cells beyond the reach along an axis: less is a grid that boundaries fold more than once."""


def check(seed, index):
    """Compare both sides of one random program; return whether it has an adjoint."""
    case = make_case(seed, index)
    problem = case.problem
    if problem.dtype not in FLOATS:
        return False
    draw = np.random.default_rng([seed, index])
    shape = tuple(max(reach) + _LEAST + int(draw.integers(0, 5)) for reach in problem.program.reach)
    steps = int(draw.integers(1, 4))
    boundary = dict(zip(problem.program.fields, problem.boundaries, strict=True))
    sides = {name: list(each) for name, each in boundary.items()}
    problem = make_problem(problem.program, shape, steps, "float64", sides)
    program = problem.program
    arrays = {
        field: [draw.uniform(-1.0, 1.0, shape) for _ in range(program.history(field))] for field in program.fields
    }
    scalars = {name: float(np.real(value)) for name, value in case.scalars}
    given = [tuple(arrays[field]) if len(arrays[field]) > 1 else arrays[field][0] for field in program.fields]
    try:
        _, pullback = tw.vjp(program, *given, steps=steps, boundary=sides, dtype="float64", backend="numpy", **scalars)
    except UsageError as error:
        if "adjoint" not in error.message and "derivative" not in error.message:
            raise
        return False
    worth = tuple(draw.standard_normal(shape) for _ in program.updated)
    gradients, of_scalars = pullback(worth if len(worth) > 1 else worth[0])
    moves = {field: [draw.standard_normal(shape) for _ in versions] for field, versions in arrays.items()}
    pushes = {name: float(draw.standard_normal()) for name in scalars}

    def moved(by):
        there = {field: [a + by * b for a, b in zip(arrays[field], moves[field], strict=True)] for field in arrays}
        return reference(problem, there, {name: value + by * pushes[name] for name, value in scalars.items()})

    far, near = moved(_STEP), moved(-_STEP)
    terms = [
        float((one * (far[field] - near[field])).sum()) / (2 * _STEP)
        for field, one in zip(program.updated, worth, strict=True)
    ]
    parts = []
    for field, gradient in zip(program.fields, gradients, strict=True):
        versions = gradient if isinstance(gradient, tuple) else (gradient,)
        parts += [float((one * move).sum()) for one, move in zip(versions, moves[field], strict=True)]
    parts += [of_scalars[name] * pushes[name] for name in scalars]
    size = sum(map(abs, parts)) + sum(map(abs, terms)) + 1.0
    assert abs(sum(terms) - sum(parts)) <= 2e-5 * size, f"seed {seed}, case {index}: {sum(terms)} is not {sum(parts)}"
    return True


def test_random_programs():
    done = sum(check(0, index) for index in range(CASES))
    assert done >= CASES // 3


@pytest.mark.stress
@pytest.mark.parametrize("chunk", range(STRESS))
def test_many_random_programs(chunk):
    done = sum(check(1 + DRAW, chunk * CHUNK + index) for index in range(CHUNK))
    assert done >= CHUNK // 3
