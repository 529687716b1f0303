"""The accessor of xarray's arrays: axes by name, labels kept."""

import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError


@pytest.fixture
def xarray():
    """The library, with the accessor."""
    pytest.importorskip("tilewright.xarray")
    return pytest.importorskip("xarray")


@pytest.fixture
def field(xarray):
    values = np.random.default_rng(3).random((20, 30))
    return xarray.DataArray(
        values, dims=("x", "y"), coords={"x": np.linspace(0, 1, 20)}, name="heat", attrs={"units": "K"}
    )


@tw.stencil
def drift(u, c):
    return u[0, 0] - c[0, 0] * (u[0, 0] - u[0, -1])


def test_axes_are_named_and_labels_kept(field):
    plain = tw.run("gradient2d", field.values, steps=4, boundary=("fixed", "wrap"))
    out = field.tw.run("gradient2d", steps=4, boundary={"y": "wrap"})
    np.testing.assert_array_equal(out.values, plain)
    assert out.dims == ("x", "y")
    assert out.name == "heat"
    assert out.attrs == {"units": "K"}
    np.testing.assert_array_equal(out.x, field.x)


def test_dims_say_which_axis_of_the_program_is_which(field, xarray):
    speed = xarray.full_like(field, 0.2).transpose("y", "x")  # in any order
    along_x = field.tw.run(drift, speed, steps=5, dims=("y", "x"), boundary="wrap")
    by_hand = tw.run(drift, field.values.T.copy(), np.full((30, 20), 0.2), steps=5, boundary="wrap").T
    np.testing.assert_allclose(along_x.values, by_hand, rtol=1e-13)
    assert along_x.dims == field.dims
    along_y = field.tw.run(drift, speed, steps=5, boundary="wrap")
    assert not np.allclose(along_x, along_y)


def test_masks_coefficients_levels_and_several_fields(field, xarray):
    mask = field.x < 0.5
    full = mask.broadcast_like(field).transpose("y", "x")
    held = field.tw.run("j2d5pt", steps=3, where=full)
    np.testing.assert_array_equal(held.values[10:], field.values[10:])
    assert not np.array_equal(held.values[:9], field.values[:9])
    state = xarray.zeros_like(field).tw.run("wave2d", steps=2, dims=("y", "x"), levels=True)
    assert [each.dims for each in state] == [field.dims, field.dims]
    alpha = xarray.full_like(field, 0.1).transpose("y", "x")

    def body(u, a):
        return u[0, 0] + a * (u[1, 0] + u[-1, 0] - 2 * u[0, 0])

    warm = field.tw.run(body, steps=2, a=alpha, boundary="wrap")
    np.testing.assert_allclose(warm.mean(), field.mean())
    run = field.tw.run("heat2d", steps=3, record=True, dims=("y", "x"))
    assert run.state.dims == run.levels[0].dims == field.dims
    np.testing.assert_allclose(run.state.values, tw.run("heat2d", field.values, steps=3), rtol=1e-13)


def test_dimensions_that_are_not_named_number_the_grids_of_a_batch(field, xarray):
    along = field.tw.run("jacobi1d", steps=3, dims=("x",), boundary={"x": "wrap"})
    assert along.dims == field.dims
    for number in range(30):
        line = tw.run("jacobi1d", field.values[:, number].copy(), steps=3, boundary="wrap")
        np.testing.assert_array_equal(along.values[:, number], line)
    stack = xarray.concat([field, 2 * field], "time")
    speed = xarray.full_like(field, 0.2).transpose("y", "x")
    moved = stack.tw.run(drift, speed, steps=4, dims=("x", "y"), boundary={"y": "wrap"})
    assert moved.dims == ("time", "x", "y")
    alone = field.tw.run(drift, speed, steps=4, boundary={"y": "wrap"})
    np.testing.assert_allclose(moved.isel(time=1).values, 2 * alone.values, rtol=1e-13)


def test_what_does_not_fit_is_one_sentence(field):
    other = field.assign_coords(x=np.linspace(0, 2, 20))
    with pytest.raises(ArrayError, match="other coordinates"):
        field.tw.run(drift, other, steps=1)
    with pytest.raises(ArrayError, match="has the dimensions x, not x, y"):
        field.tw.run(drift, field[:, 0], steps=1)
    with pytest.raises(ArrayError, match="the program has 1 axes, got 2 dimensions"):
        field.tw.run("jacobi1d", steps=1)
    with pytest.raises(ArrayError, match="the program has 1 axes, got 2"):
        field.tw.run("jacobi1d", steps=1, dims=("x", "y"))
    with pytest.raises(UsageError, match="takes no axes="):
        field.tw.run("jacobi1d", steps=1, dims=("x",), axes=(0,))
    with pytest.raises(UsageError, match="dims are those of the array"):
        field.tw.run("j2d5pt", steps=1, dims=("x", "z"))
    with pytest.raises(UsageError, match="got z as well"):
        field.tw.run("j2d5pt", steps=1, boundary={"x": "wrap", "z": "wrap"})
    with pytest.raises(UsageError, match="takes no out="):
        field.tw.run("j2d5pt", steps=1, out=field)


def test_the_accessor_is_registered_only_when_it_is_asked_for():
    code = "import xarray, tilewright as tw, numpy; tw.run('j2d5pt', xarray.DataArray(numpy.eye(4)), steps=1); "
    code += "assert not hasattr(xarray.DataArray, 'tw'); import tilewright.xarray; xarray.DataArray.tw"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
