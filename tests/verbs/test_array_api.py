"""Arrays by the array API standard alone: read, and results of the same kind."""

import numpy as np
import pytest

import tilewright as tw

VALUES = np.random.default_rng(0).random((20, 30))


@pytest.fixture
def xp():
    return pytest.importorskip("array_api_strict")


def is_of(xp, value):
    compat = pytest.importorskip("array_api_compat")
    return compat.array_namespace(value) is xp


def test_fields_coefficients_and_masks(xp):
    heat = tw.stencil(lambda u, k: u[0, 0] + k * (u[1, 0] - u[0, 0]), name="heat")
    u, k = xp.asarray(VALUES), xp.asarray(VALUES[:, ::-1].copy())
    expected = tw.run(heat, VALUES, steps=3, k=VALUES[:, ::-1])
    found = tw.run(heat, u, steps=3, k=k)
    assert is_of(xp, found)
    assert found.dtype == xp.float64
    np.testing.assert_array_equal(np.from_dlpack(found), expected)
    row = tw.run(heat, u, steps=3, k=k[0, :])
    np.testing.assert_array_equal(np.from_dlpack(row), tw.run(heat, VALUES, steps=3, k=VALUES[0, ::-1]))
    masked = tw.run("j2d5pt", u, steps=3, where=u > 0.5)
    np.testing.assert_array_equal(np.from_dlpack(masked), tw.run("j2d5pt", VALUES, steps=3, where=VALUES > 0.5))


def test_time_levels_batches_and_gradients(xp):
    u = xp.asarray(VALUES)
    levels = tw.run("wave2d", (u, u), steps=3, levels=True)
    assert all(is_of(xp, each) for each in levels)
    assert is_of(xp, tw.run("jacobi1d", u, steps=2, axes=(-1,)))
    y, pullback = tw.vjp("j2d5pt", u, steps=2)
    (gradient,), _ = pullback(y)
    assert is_of(xp, y)
    assert is_of(xp, gradient)


def test_an_array_to_write_into(xp):
    out = xp.zeros((20, 30))
    assert tw.run("j2d5pt", xp.asarray(VALUES), steps=3, out=out) is out
    np.testing.assert_array_equal(np.from_dlpack(out), tw.run("j2d5pt", VALUES, steps=3))
