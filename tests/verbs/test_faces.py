"""Conditions on faces and values along sides: what a run computes where reads leave the grid."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.programs.stencil.boundaries import parse_boundary
from tilewright.programs.stencil.problem import make_problem

DRAW = np.random.default_rng(5)
U = DRAW.random((40, 50))
ALONG = {0: DRAW.random((1, 50)), 1: DRAW.random((40, 1))}


def plane(u, a):
    """Reach 2 along one axis and a corner: deeper cells outside, and cells outside along both axes."""
    flow = u[-1, 0] + u[1, 0] + u[0, 1] + u[0, -1] - 4 * u[0, 0]
    return u[0, 0] + a * flow + 0.02 * (u[-2, 0] - u[2, 0]) + 0.01 * u[1, -1]


def test_a_flux_is_what_comes_in():
    """A sum of all cells grows by the flux through the faces: alpha times the derivative, per cell of the rim."""
    heat = tw.stencil(lambda u, alpha: u[0, 0] + alpha * tw.laplacian(u), name="heat")
    u = tw.run(heat, U, steps=25, alpha=0.2, boundary=(("neumann:0.5", "neumann"), "neumann"))
    assert u.sum() - U.sum() == pytest.approx(25 * 0.2 * 0.5 * 50, rel=1e-12)


def test_a_steady_state_meets_its_conditions():
    """Between a value on one face and robin's condition on the other lies a straight line."""
    u = np.zeros(20)
    u = tw.run(
        lambda u: u[0] + 0.5 * (u[-1] - 2 * u[0] + u[1]),
        u,
        steps=20_000,
        boundary=(("dirichlet:1", "robin:3:0.5"),),
    )
    slope = (3 - 0.5 * 1) / (1 + 0.5 * 20)  # slope + factor (1 + 20 slope) = 3
    np.testing.assert_allclose(u, 1 + slope * (np.arange(20) + 0.5), rtol=1e-9)


def test_gradients_go_through_conditions_and_their_values():
    sides = ((tw.Boundary("neumann", ALONG[0]), "robin:1:0.5"), "dirichlet:0.2")
    weight, direction, push = DRAW.random(U.shape), DRAW.random(U.shape), DRAW.random((1, 50))
    _, pullback = tw.vjp(plane, U, steps=4, a=0.1, boundary=sides)
    (gradient,), others = pullback(weight)

    def moved(by):
        there = ((tw.Boundary("neumann", ALONG[0] + by * push), "robin:1:0.5"), "dirichlet:0.2")
        return float((weight * tw.run(plane, U + by * direction, steps=4, a=0.1, boundary=there)).sum())

    there = float((gradient * direction).sum() + (others["u_low0"] * push).sum())
    assert there == pytest.approx((moved(1e-4) - moved(-1e-4)) / 2e-4, rel=1e-7)


def test_out_of_core_and_in_chunks(tmp_path):
    whole = DRAW.random((300, 60))
    np.save(tmp_path / "in.npy", whole)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", whole.dtype, whole.shape)
    options = {"steps": 6, "a": 0.1, "boundary": ("neumann:0.3", ("robin:0.2:0.7", "dirichlet:1"))}
    tw.run(plane, np.load(tmp_path / "in.npy", mmap_mode="r"), out=out, memory=150_000, **options)
    np.testing.assert_array_equal(out, tw.run(plane, whole, tiling="none", **options))


def test_models_and_matrices_know_them():
    assert tw.predict(plane, shape=(400, 400), steps=4, machine="zen3", boundary="neumann:0.5").costs.seconds > 0
    second = tw.stencil(lambda u: u[-1] + u[1] - 2 * u[0], name="second")
    matrix = tw.sparse.from_stencil(second, shape=(4,), boundary="dirichlet").toarray()
    np.testing.assert_array_equal(np.diag(matrix), [-3, -2, -2, -3])


@pytest.mark.parametrize("text", ["neumann", "Neumann", "NEUMANN:0"])
def test_no_derivative_is_reflect(text):
    found = tw.run("j2d5pt", U, steps=3, boundary=text)
    np.testing.assert_array_equal(found, tw.run("j2d5pt", U, steps=3, boundary="reflect"))


def test_kinds_in_any_case_and_by_other_names():
    expected = tw.run("j2d5pt", U, steps=2, boundary="wrap")
    for name in ("Periodic", tw.Boundary("PERIODIC"), ("wrap", tw.Boundary("Wrap"))):
        np.testing.assert_array_equal(tw.run("j2d5pt", U, steps=2, boundary=name), expected)
    assert parse_boundary("robin:1:0.5") == tw.Boundary("robin", 1.0, 0.5)
    assert str(tw.Boundary("dirichlet", 2.0)) == "dirichlet:2"


def test_what_cannot_be_had_is_one_sentence():
    with pytest.raises(tw.UsageError, match="values per step or along a side of a boundary are for runs, predictions"):
        make_problem(tw.stencil(plane).program, (40, 50), 2, boundary=tw.Boundary("neumann", ALONG[0]))


def test_models_see_values_along_a_side_as_one_more_field_near_it():
    asked = {"shape": (400, 500), "steps": 20, "machine": "zen3", "tiling": "none"}
    number = tw.predict(plane, boundary=tw.Boundary("neumann", 1.0), a=0.1, **asked)
    array = tw.predict(
        plane, boundary=(tw.Boundary("neumann", np.ones((1, 500))), tw.Boundary("neumann", 1.0)), a=0.1, **asked
    )
    assert array.work.problem.program.fields == ("u", "u_low0", "u_high0")
    assert number.costs.seconds <= array.costs.seconds < 1.2 * number.costs.seconds
