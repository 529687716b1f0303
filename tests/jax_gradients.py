"""Gradients against those of JAX, and runs that JAX differentiates; ``test_jax.py`` runs them in their own process."""

import gc
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tilewright as tw
from tilewright import jax as module
from tilewright.base.errors import UsageError
from tilewright.jax import op
from tilewright.runtime import xla

if hasattr(jax, "enable_x64"):
    in_64_bits = jax.enable_x64
else:
    from jax.experimental import enable_x64 as in_64_bits


def _with_jax(step, u, steps):
    def loss(x):
        for _ in range(steps):
            x = step(jnp, x)
        return 0.5 * (x[0] ** 2).sum()

    with in_64_bits(True):
        return jax.tree.map(np.asarray, jax.grad(loss)(tuple(map(jnp.asarray, u))))


def _roll(jnp, x, a, b):
    return jnp.roll(jnp.roll(x, -a, 0), -b, 1)


def _five(jnp, x):
    return sum(_roll(jnp, x, a, b) for a, b in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)))


def _lap(jnp, x):
    return _five(jnp, x) - 5 * x


JAX = {
    "mean": (
        lambda u: 0.2 * (u[0, 0] + u[1, 0] + u[-1, 0] + u[0, 1] + u[0, -1]),
        lambda jnp, x: (0.2 * _five(jnp, x[0]),),
        1,
    ),
    "burgers": (
        lambda u: u[0, 0] - 0.1 * u[0, 0] * (u[0, 0] - u[0, -1]),
        lambda jnp, x: (x[0] - 0.1 * x[0] * (x[0] - _roll(jnp, x[0], 0, -1)),),
        1,
    ),
    "wave": (
        lambda u: 2 * u[0, 0] - u.prev[0, 0] + 0.2 * (u[1, 0] + u[-1, 0] + u[0, 1] + u[0, -1] - 4 * u[0, 0]),
        lambda jnp, x: (2 * x[0] - x[1] + 0.2 * _lap(jnp, x[0]), x[0]),
        2,
    ),
    "root": (
        lambda u: tw.sqrt(1.0 + u[0, 0] * u[1, 0]) * tw.exp(-u[0, 1]),
        lambda jnp, x: (jnp.sqrt(1.0 + x[0] * _roll(jnp, x[0], 1, 0)) * jnp.exp(-_roll(jnp, x[0], 0, 1)),),
        1,
    ),
    "tanh": (
        lambda u: tw.tanh(u[0, 0] + 0.3 * u[-1, 1]) / (2.0 + tw.sin(u[0, -1])),
        lambda jnp, x: (jnp.tanh(x[0] + 0.3 * _roll(jnp, x[0], -1, 1)) / (2.0 + jnp.sin(_roll(jnp, x[0], 0, -1))),),
        1,
    ),
    "upwind": (
        lambda u: tw.where(u[0, 0] > 0.4, 0.5 * (u[0, 0] + u[0, -1]), tw.maximum(u[0, 0], u[1, 0]) * u[0, 1]),
        lambda jnp, x: (
            jnp.where(
                x[0] > 0.4,
                0.5 * (x[0] + _roll(jnp, x[0], 0, -1)),
                jnp.maximum(x[0], _roll(jnp, x[0], 1, 0)) * _roll(jnp, x[0], 0, 1),
            ),
        ),
        1,
    ),
}


@pytest.mark.parametrize("name", JAX)
def test_gradients_equal_those_of_jax(private_folders, name):
    body, step, levels = JAX[name]
    u = tuple(np.random.default_rng(9).uniform(0.2, 0.6, (levels, 12, 16)))
    result, pullback = tw.vjp(tw.stencil(body), u if levels > 1 else u[0], steps=3, boundary="wrap")
    (found,), _ = pullback(result)
    expected = _with_jax(step, u, 3)
    for one, other in zip(found if levels > 1 else (found,), expected, strict=True):
        np.testing.assert_allclose(one, np.asarray(other), rtol=1e-9, atol=1e-12)


@pytest.fixture(params=["buffers", "copies"])
def way(request, monkeypatch):
    """Both ways in which arrays are handed over; without a compiler there is the second alone."""
    assert module._hands_over()
    monkeypatch.setattr(module, "_hands_over", lambda: request.param == "buffers")
    return request.param


@tw.stencil
def wave(u, m):
    lap = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0]
    return 2 * u[0, 0] - u.prev[0, 0] + m * lap


def test_gradients_go_through_jit_and_other_operations(private_folders, way):
    draw = np.random.default_rng(3)
    now, before = draw.random((2, 20, 21))
    field = op(wave, steps=6, boundary="wrap")

    def loss(u, m):
        return (jnp.sin(field((u, before), m=m)) ** 2).sum()

    with in_64_bits(True):
        value, (of_u, of_m) = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(jnp.asarray(now), 0.2)
    y, pullback = tw.vjp(wave, (now, before), steps=6, boundary="wrap", m=0.2)
    ((newest, _),), scalars = pullback(np.sin(2 * y))
    assert float(value) == pytest.approx(float((np.sin(y) ** 2).sum()))
    np.testing.assert_allclose(of_u, newest, rtol=1e-10)
    assert float(of_m) == pytest.approx(scalars["m"], rel=1e-10)


def test_float32_coefficient_fields_and_several_results(private_folders, way):
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


def test_what_cannot_be_is_said(private_folders, way):
    with pytest.raises(UsageError, match="op takes no 'every'"):
        op(wave, steps=3, every=1)
    step = op("jacobi1d", steps=2, boundary="wrap")
    with pytest.raises(UsageError, match="takes u, got 2 arrays"):
        step(np.ones(4), np.ones(4))
    with pytest.raises(Exception, match=r"(?i)callback|jvp"):
        jax.grad(lambda x: jax.grad(lambda u: step(u).sum())(x).sum())(jnp.ones(8))
    alone = op("jacobi2d", steps=2)
    for function in (alone, jax.jit(alone), jax.grad(lambda u: alone(u).sum())):
        with pytest.raises(Exception, match="'jacobi2d' has 2 dimensions, 'u' has 1"):
            jax.block_until_ready(function(jnp.ones(8)))
    with pytest.raises(NotImplementedError, match="vmap"):
        jax.vmap(step)(jnp.ones((2, 8)))
    assert np.isfinite(step(jnp.ones(8))).all()


def test_runs_read_and_write_where_the_arrays_of_jax_lie(private_folders, monkeypatch):
    seen = []

    def watched(known, *arrays, out, **options):
        seen.append((arrays[0].ctypes.data, arrays[0].flags.writeable, out.ctypes.data))
        return tw.run(known, *arrays, out=out, **options)

    monkeypatch.setattr(module, "run", watched)
    given = jnp.asarray(np.random.default_rng(5).random((70, 80), dtype=np.float32))
    for step in (op("jacobi2d", steps=3), jax.jit(op("jacobi2d", steps=3))):
        result = step(given).block_until_ready()
        assert seen.pop() == (given.unsafe_buffer_pointer(), False, result.unsafe_buffer_pointer())
        np.testing.assert_array_equal(result, tw.run("jacobi2d", np.asarray(given), steps=3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_ways_give_the_same(private_folders, monkeypatch, dtype):
    draw = np.random.default_rng(6)
    now, before, m = draw.random((3, 24, 25)).astype(dtype)

    def found():
        field = op(wave, steps=5, boundary="reflect")

        def several(u, v, row, number):
            first, pullback = jax.vjp(lambda *a: field(a[:2], m=a[2]), u, v, row)
            scan = jax.lax.scan(lambda x, _: ((field(x, m=number), x[0]), None), (u, v), None, length=3)[0]
            return first, pullback(jnp.cos(first)), scan

        return jax.tree.map(np.asarray, jax.jit(several)(now, before, m, np.dtype(dtype).type(0.125)))

    with in_64_bits(dtype == "float64"):
        one = found()
        monkeypatch.setattr(module, "_hands_over", lambda: False)
        other = found()
    assert all(each.dtype == dtype for each in jax.tree.leaves(one))
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_compiled_functions_outlive_their_makers_and_go_to_several_threads(private_folders):
    arrays = [np.random.default_rng(i).random((40, 41 + i % 2), dtype=np.float32) for i in range(4)]
    step = jax.jit(op("jacobi2d", steps=4, boundary="wrap", threads=1))
    ready = [step.lower(each).compile() for each in arrays]
    del step
    jax.clear_caches()
    gc.collect()
    wrong = []

    def work(i):
        expected = tw.run("jacobi2d", arrays[i], steps=4, boundary="wrap", threads=1)
        wrong.extend(i for _ in range(20) if not np.array_equal(ready[i](arrays[i]), expected))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(arrays))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_without_a_compiler_a_callback_copies(private_folders, monkeypatch):
    monkeypatch.setattr(xla, "handler", xla.handler.__wrapped__)
    monkeypatch.setattr(module, "_hands_over", module._hands_over.__wrapped__)
    monkeypatch.setenv("TILEWRIGHT_CC", "no-such-compiler")
    assert not module._hands_over()
    u = np.random.default_rng(8).random((20, 21), dtype=np.float32)
    text = jax.jit(op("jacobi2d", steps=2)).lower(u).as_text()
    assert "callback" in text
    assert f"@{module._TARGET}" not in text
    out = jax.jit(op("jacobi2d", steps=2, backend="numpy"))(u)
    np.testing.assert_array_equal(out, tw.run("jacobi2d", u, steps=2, backend="numpy"))


def test_code_for_other_devices_calls_back(private_folders, monkeypatch):
    """The callback is replaced: JAX lowers one only for a device that is there."""
    monkeypatch.setattr(jax, "pure_callback", lambda _, like, *given: [given[0] * 7 for _ in like])
    traced = jax.jit(op("jacobi2d", steps=2)).trace(np.ones((20, 21), np.float32))
    call = f"custom_call @{module._TARGET}"
    assert call in traced.lower(lowering_platforms=("cpu",)).as_text()
    elsewhere = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert call not in elsewhere
    assert "multiply" in elsewhere
