"""Recurrences of several rows in turn: the same values, whatever lies ahead, whatever is too short for it."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse

PROGRAMS = {
    "seidel": lambda u, k: 0.25 * (u.new[-1, 0] + u[1, 0] + u.new[0, -1] + u[0, 1]) + k[0, 0],
    "ahead": lambda u, k: 0.25 * (u.new[-1, 2] + u.new[-2, 3] + u.new[0, -1] + u[0, 1]) - k[1, -1],
    "row": lambda u, k: 0.5 * (u[0, 0] - u.new[0, -1]) * k[0, 1],
    "far": lambda u, k: 0.5 * u.new[0, -2] + 0.25 * u.new[-1, 1] + k[0, 0] * tw.index(1) + tw.index(0),
    "older": lambda u, k: 0.25 * (u.new[0, -1] + u.new[-1, 1]) + 0.5 * u.prev[0, 0] - k[-1, 0] * u[1, 1],
}


def fields(program, shape, dtype):
    rng = np.random.default_rng(len(program) + shape[-1])
    whole = "int" in dtype
    some = [rng.integers(0, 9, shape) if whole else rng.random(shape) for _ in range(3)]
    if "complex" in dtype:
        some = [each + 1j * rng.random(shape) for each in some]
    u, older, k = (each.astype(dtype) for each in some)
    return ((u, older) if program == "older" else u), k


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "float16"])
@pytest.mark.parametrize("shape", [(21, 40), (19, 9), (8, 5), (6, 33), (40, 3)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_row_after_row(program, shape, dtype):
    u, k = fields(program, shape, dtype)
    boundary = {"u": tw.Boundary("constant", 0.5) if shape[1] % 2 else "fixed", "k": "nearest"}
    run = {"steps": 3, "boundary": boundary, "strict": True, "threads": 1}
    right, found = (tw.run(tw.stencil(PROGRAMS[program]), u, k, backend=each, **run) for each in ("numpy", "c"))
    if dtype == "complex64":  # of whose products NumPy's are rounded otherwise
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint16"])
def test_whole_numbers_wrap_around(dtype):
    rng = np.random.default_rng(3)
    u, k = (rng.integers(0, 100, (19, 23)).astype(dtype) for _ in range(2))
    program = tw.stencil(lambda u, k: 3 * u.new[0, -1] + u.new[-1, 0] * k[0, 0] + u[1, 1])
    right, found = (tw.run(program, u, k, steps=2, backend=each, threads=1) for each in ("numpy", "c"))
    np.testing.assert_array_equal(found, right)


def test_three_dimensions():
    u = np.random.default_rng(4).random((5, 19, 17))

    def cube(u):
        before = u.new[-1, 0, 0] + u.new[0, -1, 0] + u.new[-1, 2, 1] + u.new[0, 0, -1]
        return 0.15 * (before + u[1, 0, 0] + u[0, 0, 1])

    program = tw.stencil(cube)
    right, found = (tw.run(program, u, steps=3, backend=each, threads=1, strict=True) for each in ("numpy", "c"))
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(("program", "behind"), [("seidel", 1), ("ahead", 4), ("row", 1), ("far", 2), ("older", 2)])
def test_rows_follow_each_other_as_closely_as_they_may(program, behind):
    problem = make_problem(tw.stencil(PROGRAMS[program]).program, (64, 64), 2)
    text = emit_tiling(problem, parse("none")).text
    assert f"j - {7 * behind}" in text
    assert ("last7" in text) == (program != "far")


def test_rows_without_chains_are_vectors():
    problem = make_problem(tw.stencil(lambda u: 0.5 * (u.new[-1, 0] + u[0, 0])).program, (64, 64), 2)
    assert "_chains_" not in emit_tiling(problem, parse("none")).text


def test_two_recurrences_in_a_step():
    u, v = np.random.default_rng(5).random((2, 19, 23))
    program = tw.stencil(
        lambda u, v: (
            0.5 * (u.new[0, -1] + u[1, 0]) - 0.25 * v[0, 1],
            0.25 * (v.new[0, -1] + v.new[-1, 1] + u.new[0, 0]) + 0.125 * v[1, 1],
        )
    )
    right, found = (tw.run(program, u, v, steps=3, backend=each, threads=1, strict=True) for each in ("numpy", "c"))
    for ours, theirs in zip(found, right, strict=True):
        np.testing.assert_array_equal(ours, theirs)
