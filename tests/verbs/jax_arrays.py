"""JAX arrays on the host; ``test_array_kinds.py`` runs these tests in a process of their own."""

import jax
import numpy as np
import pytest

import tilewright as tw
from tilewright.verbs.running import problem

VALUES = np.random.default_rng(0).random((20, 30), dtype=np.float32)


@pytest.fixture
def expected():
    """What three steps of j2d5pt make of the values."""
    return tw.run("j2d5pt", VALUES, steps=3)


def test_jax_arrays_come_back_as_jax_arrays(expected):
    given = jax.numpy.asarray(VALUES)
    out = tw.run("j2d5pt", given, steps=3)
    assert isinstance(out, jax.Array)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(out), expected)
    np.testing.assert_array_equal(np.asarray(given), VALUES)


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_jax_arrays_are_read_without_a_copy(backend, monkeypatch):
    given, seen = jax.numpy.asarray(VALUES), []
    gather = problem.gather
    monkeypatch.setattr(problem, "gather", lambda *a, **k: seen.append(gather(*a, **k)) or seen[-1])
    tw.run("j2d5pt", given, steps=1, backend=backend)
    assert seen[0].versions["u"][0].ctypes.data == given.unsafe_buffer_pointer()


def test_an_array_that_jax_traces_is_refused_in_a_sentence():
    with pytest.raises(tw.ArrayError, match=r"'u' is no array of numbers: [^\n]*float32\[20,30\] \(hint"):
        jax.jit(lambda a: tw.run("j2d5pt", a, steps=3))(VALUES)


def test_what_jax_has_not_computed_yet_is_waited_for():
    late = jax.jit(lambda a: jax.lax.fori_loop(0, 200, lambda _, b: jax.numpy.sin(b), a))(jax.numpy.ones((300, 400)))
    out = tw.run("j2d5pt", late, steps=0)
    np.testing.assert_array_equal(np.asarray(out), np.asarray(late))


def test_time_levels_and_coefficients_of_jax():
    given = jax.numpy.asarray(VALUES)
    out = tw.run("wave2d", (given, given), steps=2)
    assert isinstance(out, jax.Array)
    np.testing.assert_array_equal(np.asarray(out), tw.run("wave2d", (VALUES, VALUES), steps=2))
    out = tw.run("heat2d_var", VALUES, given, steps=2)
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, tw.run("heat2d_var", VALUES, VALUES, steps=2))


def test_data_arrays_of_jax_hold_jax(expected):
    xarray = pytest.importorskip("xarray")
    out = tw.run("j2d5pt", xarray.DataArray(jax.numpy.asarray(VALUES), dims=("y", "x")), steps=3)
    assert out.dims == ("y", "x")
    assert isinstance(out.data, jax.Array)
    np.testing.assert_array_equal(np.asarray(out.data), expected)


def test_every_result_is_of_the_kind_of_its_own_array():
    first, second, third = tw.run("fdtd2d", jax.numpy.asarray(VALUES), VALUES, VALUES, steps=2)
    assert isinstance(first, jax.Array)
    assert type(second) is type(third) is np.ndarray
