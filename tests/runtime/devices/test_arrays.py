"""Arrays on a device: both protocols, read and written; the driver is one whose memory is this process's own."""

import gc

import numpy as np
import pytest
from tests.runtime.fake_cuda import PRIMARY, FakeDriver

import tilewright as tw
from tilewright.base.errors import ArrayError
from tilewright.runtime.devices import arrays as device_arrays
from tilewright.runtime.devices import cuda
from tilewright.runtime.devices.arrays import CPU, DeviceArray


class Interface:
    """An array of the CUDA array interface whose memory is a NumPy array's."""

    def __init__(self, values, **changes):
        self.values = values
        plain = {"shape": values.shape, "typestr": values.dtype.str, "data": (values.ctypes.data, False), "version": 3}
        self.__cuda_array_interface__ = {**plain, **changes}


class Capsules:
    """An array of DLPack that says it lies on a CUDA device."""

    def __init__(self, values, device=0):
        self.values, self.device = owned(values, device=device), device
        self.streams = []

    def __dlpack_device__(self):
        return 2, self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.values.__dlpack__()


class Ordered(Capsules):
    """As PyTorch's arrays: an interface without a stream, and DLPack that lets the reader's stream wait."""

    def __init__(self, values, driver, stream, device=0):
        super().__init__(values, device)
        self.driver, self.stream = driver, stream
        self.__cuda_array_interface__ = Interface(values, version=2).__cuda_array_interface__

    def __dlpack__(self, stream=None):
        if self.driver.current != PRIMARY + self.device:
            raise BufferError("cannot export an array of another device than the current one")
        self.driver.order(self.stream, stream or 1)
        return super().__dlpack__(stream)


def owned(values, freed=None, device=0):
    note = [] if freed is None else freed
    return DeviceArray((values.ctypes.data, device), values, lambda: np.array(values), lambda: note.append(1))


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(cuda, "_library", lambda: fake)
    return fake


VALUES = np.random.default_rng(0).random((20, 30), dtype=np.float32)


@pytest.mark.parametrize("kind", [Interface, Capsules])
def test_both_protocols_are_read(driver, kind):
    view = device_arrays.view(kind(VALUES), "u")
    assert (view.pointer, view.shape, view.dtype) == (VALUES.ctypes.data, VALUES.shape, VALUES.dtype)
    assert view.nbytes == VALUES.nbytes


def test_what_is_no_array_on_a_device_is_left_alone():
    assert device_arrays.view(VALUES, "u") is None
    assert device_arrays.view([1.0], "u") is None


def test_dlpack_says_where_an_array_lies():
    """Memory that both sides see offers an interface too."""

    class Both(Interface):
        def __dlpack_device__(self):
            return CPU, 0

    assert device_arrays.view(Both(VALUES), "u") is None


def test_arrays_that_are_not_in_rows_or_masked_are_refused(driver):
    with pytest.raises(ArrayError, match="row after row"):
        device_arrays.view(Interface(VALUES, strides=(4, 80)), "u")
    with pytest.raises(ArrayError, match="'u' is a masked array"):
        device_arrays.view(Interface(VALUES, mask=Interface(VALUES)), "u")
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


def test_results_offer_both_protocols(driver):
    array = owned(VALUES)
    interface = array.__cuda_array_interface__
    assert interface["data"] == (VALUES.ctypes.data, False)
    assert interface["typestr"] == "<f4"
    assert array.__dlpack_device__() == (2, 0)
    assert np.array_equal(np.asarray(array), VALUES)
    assert device_arrays.view(array, "u").shape == VALUES.shape


def test_a_reader_says_how_it_wants_an_array():
    """As the array API standard has it: refused with a BufferError, never ignored."""
    array = owned(VALUES)
    for wish in ({}, {"dl_device": (2, 0)}, {"copy": False}, {"max_version": (1, 0)}, {"stream": 2}):
        assert "dltensor" in repr(array.__dlpack__(**wish)), wish
    for wish in ({"copy": True}, {"dl_device": (2, 1)}, {"dl_device": (10, 0)}, {"dl_device": (1, 0), "copy": False}):
        with pytest.raises(BufferError, match="an array on the CUDA device 0 is"):
            array.__dlpack__(**wish)
    with pytest.raises(TypeError):
        array.__dlpack__(device="cpu")


def test_a_reader_on_the_host_gets_a_copy():
    array = owned(VALUES)
    for copy in (None, True):
        read = np.from_dlpack(array, device="cpu", copy=copy)
        assert np.array_equal(read, VALUES)
        assert read.ctypes.data != VALUES.ctypes.data
    with pytest.raises(BufferError, match="as a copy only"):
        np.from_dlpack(array, device="cpu", copy=False)


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


def test_a_grid_that_wraps_comes_back_without_its_periodic_copies(driver):
    """This driver computes nothing, so that every version is the first."""
    out = tw.run("j2d5pt", Interface(VALUES), steps=3, boundary="wrap", backend="cuda")
    assert (out.shape, out.ndim) == (VALUES.shape, 2)
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


KINDS = {
    "interface": lambda driver, values, stream: Interface(values, stream=stream),
    "dlpack": lambda driver, values, stream: Ordered(values, driver, stream),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", ["non-blocking", "blocking", "legacy", "per thread"])
def test_a_run_reads_what_the_callers_stream_was_given_before(driver, kind, stream):
    """The values are there only when the stream's work is done, and no step changes them."""
    known = {"legacy": 1, "per thread": 2, "blocking": driver.stream(0), "non-blocking": driver.stream()}
    handle, values = known[stream], np.zeros_like(VALUES)
    driver.give(handle, lambda: np.copyto(values, VALUES))
    out = tw.run("j2d5pt", KINDS[kind](driver, values, handle), steps=0, backend="cuda")
    assert np.array_equal(np.asarray(out), VALUES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["heat2d_var", "wave2d"])
def test_every_array_is_waited_for(driver, kind, name):
    """Coefficients and older time levels too."""
    streams, given, works = [driver.stream(), driver.stream()], [], []
    for stream in streams:
        values = np.zeros_like(VALUES)
        works.append(driver.give(stream, lambda values=values: np.copyto(values, VALUES)))
        given.append(KINDS[kind](driver, values, stream))
    out = tw.run(name, *(given if name == "heat2d_var" else [tuple(given)]), steps=0, backend="cuda")
    assert all(work.done for work in works)
    assert np.array_equal(np.asarray(out), VALUES)


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_come_after_the_callers_work_and_before_its_next(driver, kind):
    """Afterwards the caller may overwrite its array, and read the result, on a stream that knows of no other."""
    side, values = driver.stream(), VALUES.copy()
    before = driver.give(side)
    out = tw.run("j2d5pt", KINDS[kind](driver, values, side), steps=3, backend="cuda")
    assert before.done
    assert driver.kernels
    driver.give(side, lambda: values.fill(-1.0))
    out.__dlpack__(stream=side)
    driver.wait(driver.give(side))
    assert all(kernel.done for kernel in driver.kernels)
    again = tw.run("j2d5pt", KINDS[kind](driver, VALUES, side), steps=0, backend="cuda")
    driver.wait_for_all()
    assert np.array_equal(np.asarray(again), VALUES)


def test_other_streams_of_the_caller_go_on(driver):
    """A run waits for its own kernels, not for everything that the process has started on the card."""
    busy = driver.give(driver.stream())
    out = tw.run("j2d5pt", Interface(VALUES), steps=3, backend="cuda")
    assert all(kernel.done for kernel in driver.kernels)
    assert not busy.done
    del out


def test_memory_of_a_device_that_the_driver_does_not_know_is_waited_for_on_the_host(driver):
    side = driver.stream()
    work = driver.give(side)
    assert device_arrays.view(Interface(VALUES, stream=side), "u").device is None
    assert work.done


def test_arrays_of_another_devices_library_are_had_in_its_context(driver):
    """A library refuses to hand out an array while another device than the array's is current."""
    driver.current = 7
    out = tw.run("j2d5pt", Ordered(VALUES, driver, driver.stream(), device=1), steps=0)
    assert driver.stack == [7]
    assert out.device == 1


def test_what_a_library_does_not_hand_out_is_one_sentence(driver):
    class Refusing(Capsules):
        def __dlpack__(self, stream=None):
            raise BufferError("it requires a gradient\nCompile with TORCH_USE_CUDA_DSA")

    with pytest.raises(ArrayError, match=r"'u' cannot be read where it lies: it requires a gradient \(hint: copy"):
        tw.run("j2d5pt", Refusing(VALUES), steps=0)


def placed(driver, number, kind="interface"):
    """An array on a device."""
    values = VALUES.copy()
    driver.places[values.ctypes.data] = number
    return Interface(values) if kind == "interface" else Capsules(values, number)


@pytest.mark.parametrize("kind", ["interface", "dlpack"])
@pytest.mark.parametrize("backend", ["auto", "cuda", "cuda:1", "cuda:card b"])
def test_a_run_goes_to_the_device_of_its_arrays(driver, kind, backend):
    out = tw.run("j2d5pt", placed(driver, 1, kind), steps=3, backend=backend)
    assert out.device == 1
    assert driver.contexts == {PRIMARY + 1}
    assert driver.retained == [1]


@pytest.mark.parametrize("kind", ["interface", "dlpack"])
def test_arrays_on_another_device_than_the_runs_are_refused(driver, kind):
    with pytest.raises(ArrayError, match=r"'u' lies on GPU 1, which the backend 'cuda:0' \(GPU 0\) cannot") as caught:
        tw.run("j2d5pt", placed(driver, 1, kind), steps=1, backend="cuda:0")
    assert caught.value.hint == "use backend='cuda:1', or copy it to GPU 0 first"
    with pytest.raises(ArrayError, match="all lie on one GPU, got 'k' on 0 and 'u' on 1"):
        tw.run("heat2d_var", placed(driver, 1, kind), placed(driver, 0, kind), steps=1)


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
    with pytest.raises(ArrayError, match="'out' lies on a GPU, where it cannot be read here"):
        tw.run("j2d5pt", VALUES, steps=1, out=Interface(VALUES.copy()))
    with pytest.raises(ArrayError, match="'where' lies on a GPU"):
        tw.run("j2d5pt", VALUES, steps=1, where=Interface(VALUES.copy()))
