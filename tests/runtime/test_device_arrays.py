"""Arrays on a device: both protocols, read and written; the driver is one whose memory is this process's own."""

import gc

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError
from tilewright.runtime import cuda, device_arrays
from tilewright.runtime.device_arrays import CPU, DeviceArray

from .test_cuda import FakeDriver


class Interface:
    """An array of the CUDA array interface whose memory is a NumPy array's."""

    def __init__(self, values, **changes):
        self.values = values
        plain = {"shape": values.shape, "typestr": values.dtype.str, "data": (values.ctypes.data, False), "version": 3}
        self.__cuda_array_interface__ = {**plain, **changes}


class Capsules:
    """An array of DLPack that says it lies on a CUDA device."""

    def __init__(self, values):
        self.values = owned(values)
        self.streams = []

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.values.__dlpack__()


def owned(values, freed=None):
    note = [] if freed is None else freed
    return DeviceArray((values.ctypes.data, 0), values, lambda: np.array(values), lambda: note.append(1))


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(cuda, "_library", lambda: fake)
    cuda._opened.cache_clear()
    yield fake
    cuda._opened.cache_clear()


VALUES = np.random.default_rng(0).random((20, 30), dtype=np.float32)


@pytest.mark.parametrize("kind", [Interface, Capsules])
def test_both_protocols_are_read(kind):
    view = device_arrays.view(kind(VALUES), "u")
    assert (view.pointer, view.shape, view.dtype) == (VALUES.ctypes.data, VALUES.shape, VALUES.dtype)
    assert view.nbytes == VALUES.nbytes


def test_what_is_no_array_on_a_device_is_left_alone():
    assert device_arrays.view(VALUES, "u") is None
    assert device_arrays.view([1.0], "u") is None


def test_arrays_that_are_not_in_rows_are_refused():
    with pytest.raises(ArrayError, match="row after row"):
        device_arrays.view(Interface(VALUES, strides=(4, 80)), "u")
    device_arrays.view(Interface(VALUES, strides=(120, 4)), "u")


def test_a_capsule_is_what_dlpack_says():
    """NumPy reads it, once it is told that the memory is a processor's; the array lives as long as its readers."""
    freed = []
    array = owned(VALUES, freed)
    array.device_type = CPU
    read = np.from_dlpack(array)
    assert np.array_equal(read, VALUES)
    assert read.ctypes.data == VALUES.ctypes.data
    del array
    gc.collect()
    assert not freed
    del read
    gc.collect()
    assert freed
    assert not device_arrays._alive


def test_a_capsule_that_nobody_reads_frees_itself():
    freed = []
    array = owned(VALUES, freed)
    capsule = array.__dlpack__()
    del array
    gc.collect()
    assert not freed
    del capsule
    gc.collect()
    assert freed


def test_results_offer_both_protocols():
    array = owned(VALUES)
    interface = array.__cuda_array_interface__
    assert interface["data"] == (VALUES.ctypes.data, False)
    assert interface["typestr"] == "<f4"
    assert array.__dlpack_device__() == (2, 0)
    assert np.array_equal(np.asarray(array), VALUES)
    assert device_arrays.view(array, "u").shape == VALUES.shape


@pytest.mark.parametrize("kind", [Interface, Capsules])
def test_a_run_takes_and_returns_arrays_on_the_device(driver, kind):
    """No step is computed by this driver, so that what comes out is what went in: nothing passed the host."""
    given = kind(VALUES)
    passed = []
    for name in ("do_cuMemcpyHtoD_v2", "do_cuMemcpyDtoH_v2"):
        original = getattr(FakeDriver, name)
        setattr(driver, name.removeprefix("do_"), lambda *a, o=original: passed.append(1) or o(driver, *a))
    out = tw.run("j2d5pt", given, steps=0, backend="cuda")
    assert isinstance(out, DeviceArray)
    assert out.pointer != VALUES.ctypes.data
    assert not passed
    assert np.array_equal(np.asarray(out), VALUES)
    assert len(driver.memory) == 1
    del out
    gc.collect()
    assert not driver.memory


def test_every_time_level_stays_on_the_device(driver):
    """They lie in one block of memory, which goes with the last of them."""
    before = VALUES[::-1].copy()
    before[[0, -1]], before[:, [0, -1]] = VALUES[[0, -1]], VALUES[:, [0, -1]]
    state = tw.run("wave2d", (Interface(VALUES), Interface(before)), steps=0, backend="cuda", levels=True)
    assert all(isinstance(level, DeviceArray) for level in state)
    for level, values in zip(state, (VALUES, before), strict=True):
        assert np.array_equal(np.asarray(level), values)
    assert len(driver.memory) == 1
    newest, _ = state
    del state, _, level
    gc.collect()
    assert len(driver.memory) == 1
    assert np.array_equal(np.asarray(newest), VALUES)
    del newest
    gc.collect()
    assert not driver.memory


def test_time_levels_of_a_periodic_grid_come_back_without_its_copies(driver):
    """No step is computed by this driver: each level is one of those that went in."""
    before = VALUES[::-1].copy()
    given, options = (Interface(VALUES), Interface(before)), {"backend": "cuda", "boundary": "wrap", "levels": True}
    state = tw.run("wave2d", given, steps=4, tiling="hybrid:t=4,s=3x8,threads=1x8", **options)
    assert [level.shape for level in state] == [VALUES.shape] * 2
    assert {np.asarray(level).tobytes() for level in state} <= {VALUES.tobytes(), before.tobytes()}
    assert len(driver.memory) == 1
    del state
    gc.collect()
    assert not driver.memory


def test_arrays_on_a_device_go_to_its_backend_only(driver):
    for backend in ("numpy", "c"):
        with pytest.raises(ArrayError, match="lies on a GPU"):
            tw.run("j2d5pt", Interface(VALUES), steps=1, backend=backend)
    with pytest.raises(ArrayError, match="all lie on the GPU or all on the host"):
        tw.run("heat2d_var", Interface(VALUES), VALUES, steps=1, backend="cuda")
