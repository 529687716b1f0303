"""Runs that write their states to files that others read."""

import base64
import struct
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tilewright as tw

U = np.random.default_rng(2).random((20, 30), dtype=np.float32)
WAVE = (U, 0.9 * U)


@pytest.fixture(params=["zarr", "h5"])
def path(request, tmp_path):
    pytest.importorskip({"zarr": "zarr", "h5": "h5py"}[request.param])
    return tmp_path / f"u.{request.param}"


def test_every_look_is_written_with_all_time_levels(path):
    found = tw.run("wave2d", WAVE, boundary="reflect", steps=11, every=4, out=path)
    np.testing.assert_array_equal(found, tw.run("wave2d", WAVE, boundary="reflect", steps=11))
    saved = tw.load(path)
    assert saved.steps.tolist() == [0, 4, 8, 11]
    for record, step in enumerate(saved.steps):
        newest, before = saved.at(record)[0]
        expected = tw.run("wave2d", WAVE, boundary="reflect", steps=int(step), levels=True)
        np.testing.assert_array_equal(newest, expected[0])
        np.testing.assert_array_equal(before, expected[1])
    np.testing.assert_array_equal(tw.run("wave2d", *saved.at(1), boundary="reflect", steps=7), found)
    assert "wave2d(u): 2D" in saved.attrs["program"]
    assert repr(saved) == f"{path.name}: u, u_prev; 4 records to step 11"


def test_a_run_that_ended_goes_on(path):
    whole = tw.run("wave2d", WAVE, boundary="reflect", steps=11)
    tw.run("wave2d", WAVE, boundary="reflect", steps=6, every=3, out=path)
    seen = []
    found = tw.run(
        "wave2d",
        WAVE,
        boundary="reflect",
        steps=11,
        every=3,
        out=path,
        resume=True,
        callback=lambda step, _: seen.append(step),
    )
    np.testing.assert_array_equal(found, whole)
    assert tw.load(path).steps.tolist() == [0, 3, 6, 9, 11]
    assert seen == [9, 11]
    np.testing.assert_array_equal(
        tw.run("wave2d", WAVE, boundary="reflect", steps=11, every=3, out=path, resume=True), whole
    )


def test_a_record_that_was_cut_off_is_none(path):
    tw.run("j2d5pt", U, steps=6, every=2, out=path)
    if path.suffix == ".zarr":
        import zarr

        zarr.open_group(path)["step"].resize((3,))
    else:
        import h5py

        with h5py.File(path, "r+") as file:
            file["step"].resize(3, axis=0)
    assert tw.load(path).steps.tolist() == [0, 2, 4]
    found = tw.run("j2d5pt", U, steps=8, every=2, out=path, resume=True)
    np.testing.assert_array_equal(found, tw.run("j2d5pt", U, steps=8))
    saved = tw.load(path)
    assert saved.steps.tolist() == [0, 2, 4, 6, 8]
    np.testing.assert_array_equal(saved.state[0], found)
    assert saved.values["u"].shape == (5, *U.shape)


def test_labels_fields_and_coefficients(path):
    xarray = pytest.importorskip("xarray")
    coords = {"x": 0.5 * np.arange(30)}
    given = xarray.DataArray(U, dims=("lat", "x"), coords=coords, name="heat")
    found = tw.run("heat2d_var", given, U, steps=4, every=2, out=path, record=True)
    assert isinstance(found.state, xarray.DataArray)
    assert found.steps_done == 4
    data = tw.load(path).to_xarray()
    assert data.u.dims == ("step", "lat", "x")
    assert data.k.dims == ("lat", "x")
    np.testing.assert_array_equal(data.x, coords["x"])
    np.testing.assert_array_equal(data.u.sel(step=4), found.state)
    state = tw.load(path).state
    np.testing.assert_array_equal(tw.run("heat2d_var", *state, steps=1), tw.run("heat2d_var", given, U, steps=5))


def test_without_xarray_a_sentence_says_so(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    tw.run("j2d5pt", U, steps=2, every=2, out=path)
    with pytest.raises(tw.UsageError, match="to_xarray needs xarray, which is not installed"):
        tw.load(path).to_xarray()


def test_xarray_opens_them(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    tw.run("fdtd2d", U, U, U, steps=4, every=2, out=str(tmp_path / "u.zarr"))
    with xarray.open_zarr(tmp_path / "u.zarr", consolidated=False) as data:
        assert dict(data.sizes) == {"step": 3, "y": 20, "x": 30}
        assert set(data) == {"ex", "ey", "hz"}


def test_fields_named_as_axes(path):
    found = tw.run(lambda x: 0.5 * (x[0, 0] + x[0, 1]), U, steps=2, every=1, out=path)
    saved = tw.load(path)
    assert saved.dims == ("y", "x_axis")
    np.testing.assert_array_equal(saved.state[0], found)


def test_image_data_of_vtk(tmp_path):
    tw.run("j2d5pt", U, steps=4, every=2, out=tmp_path / "u.vti")
    names = [each.get("file") for each in ET.parse(tmp_path / "u.pvd").iter("DataSet")]  # noqa: S314  (ours)
    assert names == ["u-000000.vti", "u-000002.vti", "u-000004.vti"]
    image = next(ET.parse(tmp_path / names[1]).iter("ImageData"))  # noqa: S314
    assert image.get("WholeExtent") == "0 29 0 19 0 0"
    raw = base64.b64decode(next(image.iter("DataArray")).text)
    assert struct.unpack("<Q", raw[:8]) == (U.nbytes,)
    values = np.frombuffer(raw[8:], "<f4").reshape(U.shape)
    np.testing.assert_array_equal(values, tw.run("j2d5pt", U, steps=2))


def test_receivers_and_an_end_that_comes_early(path):
    points = tw.Points([(5.0, 6.0)])
    found, traces = tw.run("j2d5pt", U, steps=6, every=2, out=path, receivers=points)
    assert traces["u"].shape == (3, 1)
    np.testing.assert_array_equal(tw.load(path).state[0], found)
    tw.run("j2d5pt", U, steps=50, every=5, out=path, callback=lambda step, view: step == 10)
    assert tw.load(path).steps.tolist() == [0, 5, 10]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"out": "nowhere/u.h5"}, tw.UsageError, "there is no folder 'nowhere' for 'u.h5'"),
        ({"out": "u.vti", "dtype": "complex64"}, tw.ArrayError, "complex64, which VTK has no name for"),
        ({"out": "u.h5", "axes": (-2, -1)}, tw.UsageError, "a run over axes writes no series"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(options, error, message, tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        tw.run("j2d5pt", U, steps=2, every=1, **options)


def test_what_cannot_be_read_is_one_sentence(path, tmp_path):
    with pytest.raises(tw.ArrayError, match="there is no file"):
        tw.load(path)
    with pytest.raises(tw.UsageError, match=r"results end in \.zarr"):
        tw.load("u.npy")
    with pytest.raises(tw.UsageError, match="is for ParaView and is not read back"):
        tw.load(tmp_path / "u.vti")
    path.write_bytes(b"nothing") if path.suffix == ".h5" else path.mkdir()
    with pytest.raises(tw.ArrayError, match="is no series that a run wrote"):
        tw.load(path)
    timed, other = tw.stencil(lambda u: u[0, 0] + tw.t, name="timed"), tmp_path / f"t{path.suffix}"
    tw.run(timed, U, steps=2, every=2, out=other)
    with pytest.raises(tw.UsageError, match="begin anew, so such a run is not resumed"):
        tw.run(timed, U, steps=4, every=2, out=other, resume=True)
