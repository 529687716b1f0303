"""The Bratu problem: residual, Jacobian, exponential, and Newton's method."""

from dataclasses import replace

import numpy as np
import pytest

import bratu
from bratu import Bratu
from bratu_kernel import emit_bratu
from tilewright.base.errors import ArrayError, UsageError
from tilewright.sparse import choices, krylov
from tilewright.sparse.choices import KernelChoice


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path))
    choices.known.cache_clear()
    yield tmp_path
    choices.known.cache_clear()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 9), (3, 3), (4, 5), (5, 40), (33, 19), (64, 64), (20, 131)])
def test_residuals(shape, dtype):
    rng = np.random.default_rng(1)
    problem = Bratu(shape=shape, dtype=dtype)
    u = rng.uniform(-3, 3, shape).astype(dtype)
    expected = problem.reference(u)
    bound = 16 * np.finfo(dtype).eps * (12 * sum(problem.weights[:2]) + problem.weights[2] * np.exp(3))
    for threads in (1, 2):
        for vectors in (1, 2, 4):
            for stream in (False, True):
                out = np.full(shape, np.nan, dtype)
                choice = KernelChoice(vectors=vectors, threads=threads, stream=stream)
                assert problem.function(u, out, choice) is out
                assert np.abs(out - expected).max() <= bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_exponential_over_its_whole_range(dtype):
    """Through the Jacobian's diagonal, 2 (1 + 1) - c exp(u): three rows of points, the middle one is inside."""
    largest = np.log(np.finfo(dtype).max)
    u = np.concatenate([np.linspace(-100, 80, 4001), np.linspace(-1, 1, 2000), [0.0]]).astype(dtype)
    source = 2.0**-20
    problem = Bratu(shape=(3, u.size + 2), dtype=dtype)
    object.__setattr__(problem, "parameter", 1.0)
    grid = np.zeros(problem.shape, dtype)
    grid[1, 1:-1] = u
    east, north, source = problem.weights
    got = problem.jacobian(grid).diagonal(0).reshape(problem.shape)[1, 1:-1].astype(np.float64)
    expected = 2 * (east + north) - source * np.exp(u.astype(np.float64))
    room = np.finfo(dtype).eps * (4 * (east + north) + 2 * source * np.exp(u.astype(np.float64)))
    assert np.all(np.abs(got - expected) <= room)
    for value, wanted in ((largest + 1, -np.inf), (-np.inf, 0), (np.inf, -np.inf), (-1e6, 0), (np.nan, np.nan)):
        grid[1, 1:-1] = value
        got = problem.jacobian(grid).diagonal(0).reshape(problem.shape)[1, 1:-1]
        if wanted == 0:
            np.testing.assert_allclose(got, 2 * (east + north), rtol=1e-6)
        else:
            assert np.all(np.isnan(got)) if np.isnan(wanted) else np.all(got == wanted)


def test_jacobians_agree_with_differences():
    problem = Bratu(shape=(5, 6))
    u = np.random.default_rng(2).uniform(0, 1, problem.shape)
    matrix = problem.jacobian(u)
    dense = matrix.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    for k in range(u.size):
        sides = []
        for sign in (1, -1):
            moved = u.copy()
            moved.ravel()[k] += sign * 1e-6
            sides.append(problem.reference(moved).ravel())
        np.testing.assert_allclose(dense[:, k], (sides[0] - sides[1]) / 2e-6, atol=1e-7)
    again = problem.jacobian(2 * u, matrix)
    assert again is matrix
    np.testing.assert_array_equal(again.toarray(), problem.jacobian(2 * u).toarray())


@pytest.mark.parametrize("shape", [(4, 4), (30, 40)])
def test_newton_converges_quadratically(shape):
    problem = Bratu(shape=shape)
    found = problem.solve(rtol=1e-11, linear_rtol=1e-10)
    assert found.converged
    assert len(found.iterations) <= 6
    assert np.abs(problem.reference(found.u)).max() < 1e-9
    assert np.all(found.u[[0, -1], :] == 0)
    assert not problem.solve(most=1, rtol=1e-14).converged


def test_petscs_numbers():
    """What PETSc 3.18 prints for example 5 with -mms 0 -snes_monitor_short: 4 x 4 directly, 60 x 50 by plain CG."""
    norms = Bratu(shape=(4, 4)).solve(linear_rtol=1e-13).norms
    assert norms[:4] == pytest.approx((0.207564, 0.0148968, 0.000113967, 6.92417e-09), rel=1e-5)
    found = Bratu(shape=(50, 60)).solve()
    assert found.norms == pytest.approx((1.10489, 0.00153923, 1.18255e-05, 8.086e-10), rel=1e-3)
    assert found.iterations == (95, 93, 80)


def test_tuning_checks_and_keeps(monkeypatch):
    monkeypatch.setattr(krylov, "_ROUNDS", 1)
    monkeypatch.setattr(krylov, "_SECONDS", 0)
    problem = Bratu(shape=(40, 50))
    measured = problem.tune()
    best = min(measured, key=lambda each: each[1])[0]
    choices.known.cache_clear()
    assert problem._chosen() == best
    from tilewright.base.errors import WrongResultError

    monkeypatch.setattr(
        bratu,
        "emit_bratu",
        lambda *rest: (s := emit_bratu(*rest)) and replace(s, text=s.text.replace("(source * ", "(source * 2 * ")),
    )
    with pytest.raises(WrongResultError, match="Bratu residual is wrong"):
        problem.tune()


def test_what_does_not_fit_is_refused():
    problem = Bratu(shape=(4, 5))
    u = np.zeros((4, 5))
    for call, message in (
        (lambda: Bratu(shape=(1, 5)), "at least 2 x 2"),
        (lambda: Bratu(shape=(4, 5), dtype="int32"), "float32 or float64"),
        (lambda: problem.function(u.T), "u must be"),
        (lambda: problem.function(u.astype("float32")), "u must be"),
        (lambda: problem.function(u, np.zeros(3)), "out must be"),
    ):
        with pytest.raises(UsageError, match=message):
            call()
    with pytest.raises(ArrayError, match="overlaps"):
        problem.function(u, u)
