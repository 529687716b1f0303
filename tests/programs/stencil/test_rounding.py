"""The rounding bound holds for honest results and fails for wrong ones."""

from dataclasses import replace

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.programs.stencil import reference, rounding
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Profile, Value, apply
from tilewright.programs.stencil.problem import PointFields, make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil

U, K = FieldBuilder("u"), FieldBuilder("k")


def _start(built, shape, dtype):
    generator = np.random.default_rng(11)
    return {
        field: [generator.uniform(0.0, 0.25, shape).astype(dtype) for _ in range(built.history(field))]
        for field in built.fields
    }


@pytest.mark.parametrize(
    ("name", "dtype", "boundary"),
    covering(
        ["j2d5pt", "heat2d", "wave2d", "fdtd2d", "heat2d_var", "gradient2d", "j3d27pt"],
        ["float32", "float64"],
        ["fixed", "mirror", "wrap"],
    ),
)
def test_honest_results_are_inside(name, dtype, boundary):
    built = program(name)
    shape = (9, 10, 8)[: built.rank]
    problem = make_problem(built, shape, 12, dtype, boundary)
    arrays = _start(built, shape, dtype)
    result = reference.run(problem, arrays, {})
    exact, allowed = rounding.bound(problem, arrays, {})
    for field, value in result.items():
        error, good = rounding.worst_excess(value, exact[field], allowed[field])
        assert good
        assert error <= allowed[field].max()


@pytest.mark.parametrize("name", ["j2d5pt", "wave2d", "gradient2d", "heat2d_var"])
def test_one_wrong_cell_is_outside(name):
    built = program(name)
    problem = make_problem(built, (12, 12), 10, "float32", "mirror")
    arrays = _start(built, (12, 12), "float32")
    exact, allowed = rounding.bound(problem, arrays, {})
    field = built.updated[0]
    wrong = reference.run(problem, arrays, {})[field].copy()
    assert rounding.worst_excess(wrong, exact[field], allowed[field])[1]
    wrong[6, 7] += np.float32(2.0 * allowed[field][6, 7] + 1e-3)
    assert not rounding.worst_excess(wrong, exact[field], allowed[field])[1]
    wrong[6, 7] = np.nan
    assert not rounding.worst_excess(wrong, exact[field], allowed[field])[1]


@pytest.mark.parametrize(("name", "shape", "steps"), [("box2d4r", (4, 4), 200), ("j2d5pt", (9, 9), 3400)])
def test_values_too_small_for_the_dtype_are_inside(name, shape, steps):
    """With zeros around it a small grid forgets what it held; the reference ends below float32's smallest number."""
    built = program(name)
    problem = make_problem(built, shape, steps, "float32", "constant")
    arrays = _start(built, shape, "float32")
    exact, allowed = rounding.bound(problem, arrays, {})
    found = reference.run(problem, arrays, {})["u"]
    assert 0 < np.abs(exact["u"]).max() < np.finfo(np.float32).smallest_subnormal
    assert rounding.worst_excess(found, exact["u"], allowed["u"])[1]
    assert not rounding.worst_excess(found + np.float32(1e-30), exact["u"], allowed["u"])[1]


def test_one_step_less_is_outside():
    built = program("j2d5pt")
    arrays = _start(built, (12, 12), "float32")
    exact, allowed = rounding.bound(make_problem(built, (12, 12), 10), arrays, {})
    early = reference.run(make_problem(built, (12, 12), 9), arrays, {})["u"]
    assert not rounding.worst_excess(early, exact["u"], allowed["u"])[1]


def test_the_bound_of_a_linear_program_is_the_formula():
    built = stencil("three", 1, {"u": 0.5 * U[-1] - 0.25 * U[1]})
    problem = make_problem(built, (3,), 1, "float32", "constant")
    arrays = {"u": [np.array([1.0, -2.0, 4.0], dtype="float32")]}
    _, allowed = rounding.bound(problem, arrays, {})
    size = np.array([0.5, 0.5 * 1 + 0.25 * 4, 0.5 * 2])
    np.testing.assert_allclose(allowed["u"], 4 * 2.0**-23 * (3 + 2) * size, rtol=1e-12)


def test_integers_are_exact():
    built = stencil("sum", 1, {"u": U[-1] + U[1]})
    problem = make_problem(built, (9,), 3, "int32", "wrap")
    arrays = {"u": [np.arange(9, dtype="int32")]}
    exact, allowed = rounding.bound(problem, arrays, {})
    assert not allowed["u"].any()
    assert rounding.worst_excess(exact["u"], exact["u"], allowed["u"]) == (0.0, True)
    assert not rounding.worst_excess(exact["u"] + 1, exact["u"], allowed["u"])[1]


@pytest.mark.parametrize(
    ("value", "linear"),
    [
        (U[0] + 2.0 * U[1] - 1.0, True),
        (K[0] * U[0] + K[1] * K[0], True),
        (U[0] / K[0], True),
        (apply("sqrt", K[0]) * U[1], True),
        (U[0] * U[1], False),
        (K[0] / U[0], False),
        (apply("maximum", U[0], U[1]), False),
        (abs(U[0]), False),
        (apply("where", U[0] > 0, U[1], U[0]), False),
    ],
)
def test_linearity(value, linear):
    assert rounding.is_linear(stencil("case", 1, {"u": value})) is linear


def test_values_beyond_the_range_agree_with_any_infinity():
    exact = np.array([1e300, np.nan, 1.0])
    out = np.array([np.inf, np.nan, 1.0], dtype="float32")
    assert rounding.worst_excess(out, exact, np.array([1.0, np.nan, 1e-6]))[1]


def _with_source(problem, values):
    """The problem with a source on the cell 4, and what it adds per step."""
    problem = replace(problem, points=PointFields(sources=("u",), cells=1))
    return problem, lambda number: {"u": ((np.array([4]),), np.array([values[number]]))}


@pytest.mark.parametrize("value", [0.5 * U[-1] + 0.4 * U[0], 0.5 * U[-1] - 0.4 * U[1] / (1 + U[0] * U[0])])
def test_what_sources_add_is_in_the_bound(value):
    values = np.float32([0.5, -0.7, 0.1, 1.3])
    problem, added = _with_source(make_problem(stencil("fed", 1, {"u": value}), (9,), 4, "float32", "wrap"), values)
    arrays = {"u": [np.zeros(9, "float32")]}
    exact, allowed = rounding.bound(problem, arrays, {}, added=added)
    found = reference.run(problem, arrays, {}, added=added)["u"]
    assert np.abs(exact["u"]).max() > 0.1
    assert rounding.worst_excess(found, exact["u"], allowed["u"])[1]
    late = reference.run(problem, arrays, {}, added=lambda number: added(max(0, number - 1)))["u"]
    assert not rounding.worst_excess(late, exact["u"], allowed["u"])[1]
    assert allowed["u"].max() < 1e-3


def test_sources_that_cancel_leave_their_size_in_the_bound():
    """1 and -1 one step later leave nothing of it, but for the rounding of what was there."""
    problem = make_problem(stencil("kept", 1, {"u": 1.0 * U[0]}), (9,), 2, "float32", "wrap")
    problem, added = _with_source(problem, [1.0, -1.0])
    exact, allowed = rounding.bound(problem, {"u": [np.zeros(9, "float32")]}, {}, added=added)
    assert not exact["u"].any()
    np.testing.assert_allclose(allowed["u"][4], 4 * 2.0**-23 * 2 * (1 + 1 + 1) * 2.0, rtol=1e-6)


def test_profiles_below_zero_count_by_their_size():
    built = stencil("damped", 1, {"u": Value(Profile("d", 0)) * U[0] + Value(Profile("e", 0)) * U[1]})
    problem = make_problem(built, (6,), 1, "float32", "wrap")
    scalars = {"d": np.full(6, 0.5), "e": np.full(6, -0.5)}
    exact, allowed = rounding.bound(problem, {"u": [np.ones(6, "float32")]}, scalars)
    assert not exact["u"].any()
    np.testing.assert_allclose(allowed["u"], rounding.units(problem) * 2.0**-23, rtol=1e-6)
