"""Runs that JAX differentiates."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import UsageError

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@tw.stencil
def wave(u, m):
    lap = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0]
    return 2 * u[0, 0] - u.prev[0, 0] + m * lap


def test_gradients_go_through_jit_and_other_operations(private_folders):
    from tilewright.jax import op

    jax.config.update("jax_enable_x64", True)
    draw = np.random.default_rng(3)
    now, before = draw.random((2, 20, 21))
    field = op(wave, steps=6, boundary="wrap")

    def loss(u, m):
        return (jnp.sin(field((u, before), m=m)) ** 2).sum()

    value, (of_u, of_m) = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(jnp.asarray(now), 0.2)
    y, pullback = tw.vjp(wave, (now, before), steps=6, boundary="wrap", m=0.2)
    ((newest, _),), scalars = pullback(np.sin(2 * y))
    assert float(value) == pytest.approx(float((np.sin(y) ** 2).sum()))
    np.testing.assert_allclose(of_u, newest, rtol=1e-10)
    assert float(of_m) == pytest.approx(scalars["m"], rel=1e-10)


def test_float32_coefficient_fields_and_several_results(private_folders):
    from tilewright.jax import op

    draw = np.random.default_rng(4)
    arrays = [draw.random((12, 13), dtype=np.float32) for _ in range(3)]
    step = op("fdtd2d", steps=3)
    gradient = jax.grad(lambda *fields: sum((each**2).sum() for each in step(*fields)), argnums=(0, 1, 2))(*arrays)
    y, pullback = tw.vjp("fdtd2d", *arrays, steps=3)
    expected, _ = pullback(tuple(2 * each for each in y))
    for one, other in zip(gradient, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    row = draw.random((12, 13), dtype=np.float32)
    of_m = jax.grad(lambda m: op(wave, steps=4)((arrays[0], arrays[1]), m=m).sum())(jnp.asarray(row))
    assert of_m.shape == row.shape


def test_what_cannot_be_is_said(private_folders):
    from tilewright.jax import op

    with pytest.raises(UsageError, match="op takes no 'every'"):
        op(wave, steps=3, every=1)
    step = op("jacobi1d", steps=2, boundary="wrap")
    with pytest.raises(UsageError, match="takes u, got 2 arrays"):
        step(np.ones(4), np.ones(4))
    with pytest.raises(Exception, match=r"(?i)callback|jvp"):
        jax.grad(lambda x: jax.grad(lambda u: step(u).sum())(x).sum())(jnp.ones(8))
