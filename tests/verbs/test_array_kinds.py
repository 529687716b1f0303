"""Arrays of other libraries on the host: read as they are, and results of the same kind."""

import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError

VALUES = np.random.default_rng(0).random((20, 30), dtype=np.float32)


@pytest.fixture
def expected():
    """What three steps of j2d5pt make of the values."""
    return tw.run("j2d5pt", VALUES, steps=3)


@pytest.fixture
def xarray():
    return pytest.importorskip("xarray")


class Tensor:
    """What PyTorch's arrays on the host show of themselves."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **wishes):
        return self.values.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.fixture
def torch(monkeypatch):
    """NumPy under PyTorch's name: no array namespace, ``from_dlpack`` in the package itself."""
    library = types.ModuleType("torch")
    library.Tensor, library.from_dlpack = Tensor, lambda array: Tensor(np.from_dlpack(array))
    monkeypatch.setattr(Tensor, "__module__", "torch")
    monkeypatch.setitem(sys.modules, "torch", library)
    return library


def test_tensors_on_the_host_come_back_as_tensors(torch, expected):
    out = tw.run("j2d5pt", Tensor(VALUES.copy()), steps=3)
    assert isinstance(out, Tensor)
    np.testing.assert_array_equal(out.values, expected)


def test_tensors_that_their_library_does_not_hand_out_are_one_sentence(torch):
    class Parameter(Tensor):
        def __dlpack__(self, **wishes):
            raise BufferError("use tensor.detach()")

    with pytest.raises(ArrayError, match=r"'u' is no array of numbers: use tensor\.detach\(\)"):
        tw.run("j2d5pt", Parameter(VALUES), steps=1)


def labelled(xarray, values=VALUES):
    coordinates = {"y": np.linspace(0.0, 1.0, 20), "x": np.arange(30), "when": 7, "depth": (("y", "x"), VALUES + 1.0)}
    return xarray.DataArray(values, coordinates, ("y", "x"), name="temperature", attrs={"units": "K"})


def test_data_arrays_keep_their_labels(xarray, expected):
    given = labelled(xarray)
    out = tw.run("j2d5pt", given, steps=3)
    assert isinstance(out, xarray.DataArray)
    assert out.identical(given.copy(data=expected))
    assert (out.name, out.attrs, out.dims) == ("temperature", {"units": "K"}, ("y", "x"))
    np.testing.assert_array_equal(given.data, VALUES)


def test_data_arrays_with_several_fields_levels_and_coefficients(xarray):
    given = labelled(xarray)
    first, second, third = tw.run("fdtd2d", given, VALUES, given.rename("hz"), steps=2)
    assert (first.name, type(second), third.name) == ("temperature", np.ndarray, "hz")
    out = tw.run("wave2d", (given, given.rename("before")), steps=2)
    assert out.name == "temperature"
    out = tw.run("heat2d_var", given, given.rename("conductivity"), steps=2)
    assert out.name == "temperature"


def test_an_output_is_written_and_returned_as_it_is(xarray, expected):
    target = labelled(xarray, np.zeros_like(VALUES))
    assert tw.run("j2d5pt", labelled(xarray), steps=3, out=target) is target
    np.testing.assert_array_equal(target.data, expected)


def test_dask_stays_lazy_and_pandas_give_numpy_arrays(xarray, expected):
    dask, pandas = pytest.importorskip("dask.array"), pytest.importorskip("pandas")
    chunked = dask.from_array(VALUES, chunks=(7, 30))
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        out = tw.run("j2d5pt", pandas.DataFrame(VALUES), steps=3)
        assert type(out) is np.ndarray
        np.testing.assert_array_equal(out, expected)
        lazy = tw.run("j2d5pt", chunked, steps=3)
        assert isinstance(lazy, dask.Array)
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-6)
        out = tw.run("j2d5pt", labelled(xarray, chunked), steps=3).compute()
    xarray.testing.assert_allclose(out, labelled(xarray).copy(data=expected))
    assert (out.name, out.attrs) == (labelled(xarray).name, labelled(xarray).attrs)


def test_every_result_is_of_the_kind_of_its_own_array(xarray, torch):
    arrays = [labelled(xarray), Tensor(VALUES.copy()), VALUES]
    kinds = [xarray.DataArray, Tensor, np.ndarray]
    outs = tw.run("fdtd2d", *arrays, steps=2)
    assert [type(out) for out in outs] == kinds
    plain = tw.run("fdtd2d", VALUES, VALUES, VALUES, steps=2)
    for out, values in zip((outs[0].data, outs[1].values, outs[2]), plain, strict=True):
        np.testing.assert_array_equal(out, values)


def test_jax_arrays_in_a_process_of_their_own():
    """JAX starts threads, after which the tests' process must not fork any more."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("needs pip install jax")
    tests = Path(__file__).with_name("jax_arrays.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tests.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout, done.stdout
