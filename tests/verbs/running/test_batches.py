"""Runs over some axes of arrays that have more: every grid of the batch as a run of its own computes it."""

import itertools

import numpy as np
import pytest

import tilewright as tw
from tilewright import planner
from tilewright.inputs.stencil import as_program
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import make_problem


@tw.stencil
def varied(u, k):
    return u[0, 0] + k * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


BOUNDARIES = ("fixed", "wrap", "reflect", "constant:1.5")


def test_arrays_of_fewer_axes_serve_every_grid(private_folders):
    draw = np.random.default_rng(4)
    fields = draw.random((4, 5, 20, 30))
    for shape in ((30,), (20, 1), (20, 30), (5, 20, 30), (4, 1, 20, 30), (4, 5, 20, 30)):
        k = 0.2 * draw.random(shape)
        found = tw.run(varied, fields, steps=3, axes=(-2, -1), k=k)
        each = np.broadcast_to(k, fields.shape)
        for place in itertools.product(range(4), range(5)):
            np.testing.assert_allclose(found[place], tw.run(varied, fields[place], steps=3, k=each[place].copy()))


def test_coefficients_are_repeated_over_a_single_grid_too():
    draw = np.random.default_rng(6)
    field, row = draw.random((20, 30)), 0.2 * draw.random(30)
    for boundary in ("fixed", "wrap"):
        found = tw.run(varied, field, steps=20, k=row, boundary=boundary)
        np.testing.assert_array_equal(
            found, tw.run(varied, field, steps=20, k=np.tile(row, (20, 1)), boundary=boundary)
        )


def test_results_are_written_where_they_are_wanted(private_folders):
    draw = np.random.default_rng(7)
    fields = draw.random((20, 4, 30, 5))
    expected = tw.run("j2d5pt", fields, steps=4, axes=(0, 2))
    for out in (np.empty_like(fields), np.empty((5, 30, 4, 20)).T, np.empty_like(fields, dtype="float32"), fields):
        assert tw.run("j2d5pt", fields.copy() if out is not fields else fields, steps=4, axes=(0, 2), out=out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-6)
    stacked = draw.random((6, 20, 30))
    into = np.full_like(stacked, np.nan)
    kept = stacked.copy()
    tw.run("j2d5pt", stacked, steps=3, axes=(1, 2), out=into)
    np.testing.assert_array_equal(into, tw.run("j2d5pt", stacked, steps=3, axes=(1, 2)))
    np.testing.assert_array_equal(stacked, kept)


def _turned(arrays, axes):
    return [tuple(np.moveaxis(level, axes, range(-len(axes), 0)) for level in each) for each in arrays]


@pytest.mark.parametrize(("case", "dtype"), [("wave2d", "float32"), ("laplacian3d", "float64")])
def test_one_grid_whose_axes_lie_otherwise_is_turned_there_and_back(private_folders, case, dtype):
    program = as_program(case)
    draw = np.random.default_rng(8)
    shape = (14, 9, 12)[: program.rank]
    arrays = [tuple(draw.random(shape, dtype) for _ in range(program.history(field))) for field in program.fields]
    given = [each if len(each) > 1 else each[0] for each in arrays]
    for number, axes in enumerate(itertools.permutations(range(program.rank))):
        boundary = BOUNDARIES[number % len(BOUNDARIES)]
        there = [each if len(each) > 1 else each[0] for each in _turned(arrays, axes)]
        expected = tw.run(program, *there, steps=3, boundary=boundary, tiling="none", levels=True)
        expected = expected if isinstance(expected, tuple) else (expected,)
        wanted = [np.moveaxis(each, range(-len(axes), 0), axes) for each in expected]
        for each in (axes, tuple(axis - program.rank for axis in axes)):
            out = tuple(np.full(shape, np.nan, dtype) for _ in wanted)
            found = tw.run(program, *given, steps=3, boundary=boundary, axes=each, levels=True)
            into = out if len(out) > 1 else out[0]
            tw.run(program, *given, steps=3, boundary=boundary, axes=each, levels=True, out=into)
            for results in (found if isinstance(found, tuple) else (found,), out):
                assert [result.dtype for result in results] == [dtype] * len(wanted)
                for result, right in zip(results, wanted, strict=True):
                    np.testing.assert_allclose(result, right, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-6)


def test_coefficients_and_values_of_sides_of_one_turned_grid(private_folders):
    """Arrays as large as the field's are turned like it; rows, values per step and per side lie as the program's."""
    draw = np.random.default_rng(9)
    field, whole, row = draw.random((20, 30)), 0.2 * draw.random((20, 30)), 0.2 * draw.random(20)
    side = tw.Boundary("constant", draw.random((30, 1)))
    for k, there in ((whole, whole.T), (row, row), (row[:3], row[:3]), (0.1, 0.1), (whole[:1], whole[:1].T)):
        for boundary in ("wrap", tw.Boundary("constant", np.arange(3.0)), ("nearest", (side, "nearest"))):
            found = tw.run(varied, field, steps=3, axes=(1, 0), k=k, boundary=boundary)
            expected = tw.run(varied, field.T, steps=3, k=there, boundary=boundary).T
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_small_grids_have_a_thread_each_and_large_ones_all(private_folders):
    small = make_problem(as_program("j2d5pt"), (64, 64), 100, "float32", "fixed")
    large = make_problem(as_program("j2d5pt"), (4096, 4096), 100, "float32", "fixed")
    two = read_target("c", 2)
    assert planner.batch_plan(small, 1000, two).schedule.batch
    assert planner.batch_plan(large, 3, two) is None
    assert planner.batch_plan(small, 1, two) is None
    assert planner.batch_plan(small, 1000, read_target("numpy", 2)) is None
