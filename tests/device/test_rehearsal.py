"""The tests of ``test_device.py`` that need no other library, rehearsed on a stand-in for the driver."""

import shutil

import pytest
from tests.runtime.fake_cuda import installed

import tilewright as tw
from tilewright.runtime.devices import nvrtc

from . import checks, emulated


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What was compiled so far, per text, and where."""
    return {"folder": tmp_path_factory.mktemp("built")}


@pytest.fixture(autouse=True)
def driver(monkeypatch, tmp_path, built, settled):
    """A driver with two devices, whose kernels this processor computes."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ for the stand-in")
    monkeypatch.setattr(nvrtc, "compile_cuda", emulated.compile_cuda)
    with installed(emulated.EmulatedDriver(tmp_path, built)) as driver:
        yield driver


@pytest.mark.parametrize("name", ["fdtd2d", "smith_waterman", "wave3d"])
def test_programs(name):
    checks.agrees(name, shape=(30, 40) if name == "smith_waterman" else None)


@pytest.mark.parametrize(
    ("name", "tiling"), [("j1d3pt", checks.TILES["j1d3pt"][1]), *(("j2d5pt", tile) for tile in checks.TILES["j2d5pt"])]
)
def test_every_family(name, tiling):
    checks.agrees(name, tiling=tiling, boundary="mirror")


def test_a_periodic_grid():
    checks.agrees("j2d5pt", boundary="wrap", steps=20)


def test_a_tile_that_needs_more_than_48_kib_on_chip(driver):
    checks.agrees("j2d5pt", tiling=checks.LARGE, shape=(200, 700), steps=40)
    assert 8 in [attribute for attribute, _ in driver.set]  # the most memory on chip that a launch may give


@pytest.mark.parametrize("number", [0, 1])
def test_arrays_stay_on_the_device(driver, number):
    checks.arrays_stay_on_the_device(number)
    assert set(driver.retained) == {number}
    assert not driver.stack


def test_levels_and_periods_of_device_arrays():
    checks.levels_and_periods_of_device_arrays_agree()


def test_contexts_are_left_as_found():
    checks.contexts_are_left_as_found(1)


def test_repeated_launches(driver):
    checks.repeated_launches_agree()
    assert [name for name, _ in driver.calls].count("cuGraphLaunch") >= 12


def test_other_workloads():
    checks.workloads_agree()


def test_options_of_device_arrays():
    checks.options_of_device_arrays_agree()


def test_looks_and_points_of_device_arrays(driver):
    checks.looks_and_points_of_device_arrays_agree()


def test_looks_leave_fields_on_the_device(driver, monkeypatch):
    """What passes the host of a run that is looked at is a value per thread block and per cell that is recorded."""
    values, moved = checks.smooth((300, 200)), []
    given = checks.on_card(values)

    def counted(original):
        def copy(target, source, size, stream):
            moved.append(size)
            return original(target, source, size, stream)

        return copy

    for name in ("do_cuMemcpyDtoHAsync", "do_cuMemcpyHtoDAsync"):
        monkeypatch.setattr(driver, name, counted(getattr(driver, name)))
    points = tw.Points([(4.5, 6.25), (200.0, 150.0)])
    for boundary in ("mirror", "wrap"):
        with pytest.warns(match="still changes by"):
            tw.run("j2d5pt", given, steps=4, every=2, until=0.0, receivers=points, boundary=boundary)
    assert moved
    assert max(moved) <= 1024 * values.itemsize < values.nbytes // 50


def test_windows_of_a_large_grid():
    checks.windows_agree((900, 200))
    checks.windows_agree((30, 26, 50), side=20, name="j3d7pt", dtype="float64")


def test_a_graph_that_leaves_a_launch_out_is_seen(driver):
    """So that the check of repeated launches can fail."""
    original = driver.do_cuGraphLaunch

    def short(executable, stream):
        driver.graphs[executable] = driver.graphs[executable][:-1]
        original(executable, stream)

    driver.do_cuGraphLaunch = short
    with pytest.raises(AssertionError):
        checks.repeated_launches_agree()


def test_a_wrong_kernel_is_seen(monkeypatch):
    """So that the checks above can fail."""

    def wrong(text, architecture, *, strict):
        assert "0.2f" in text
        return emulated.compile_cuda(text.replace("0.2f", "0.21f"), architecture, strict=strict)

    monkeypatch.setattr(nvrtc, "compile_cuda", wrong)
    with pytest.raises(AssertionError):
        checks.agrees("jacobi2d")
