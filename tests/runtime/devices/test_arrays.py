"""Arrays on a device: both protocols, read and written; the driver is one whose memory is this process's own."""

import gc
import sys
import types

import numpy as np
import pytest
from tests.runtime.fake_cuda import LEGACY, PRIMARY
from tests.runtime.interpreted import loaded

import tilewright as tw
from tilewright.base.errors import ArrayError
from tilewright.runtime.devices import arrays as device_arrays
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
        self.driver.order(self.stream, stream or LEGACY)
        return super().__dlpack__(stream)


class Memory:
    """Memory of a result that notes what it is asked."""

    def __init__(self, values, freed, device):
        self.values, self.freed, self.device, self.asked = values, freed, device, []
        self.pointer = values.ctypes.data

    def fetch(self, values):
        np.copyto(values, self.values)

    def show(self, stream):
        self.asked.append(stream)

    def complete(self):
        self.asked.append("complete")

    def free(self):
        self.freed.append(1)


def owned(values, freed=None, device=0):
    return DeviceArray(Memory(values, [] if freed is None else freed, device), values.shape, values.dtype)


THROUGH_THE_HOST = {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}
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
    out = tw.run("j2d5pt", given, steps=0, backend="cuda")
    assert isinstance(out, DeviceArray)
    assert out.pointer != VALUES.ctypes.data
    assert not {name for name, _ in driver.calls} & THROUGH_THE_HOST
    assert np.array_equal(np.asarray(out), VALUES)
    assert [len(memory) for memory in driver.memory.values()] == [VALUES.nbytes]  # no dead slots
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
    """Each keeps its own memory alive."""
    before = VALUES[::-1].copy()
    before[[0, -1]], before[:, [0, -1]] = VALUES[[0, -1]], VALUES[:, [0, -1]]
    state = tw.run("wave2d", (Interface(VALUES), Interface(before)), steps=0, backend="cuda", levels=True)
    assert all(isinstance(level, DeviceArray) for level in state)
    for level, values in zip(state, (VALUES, before), strict=True):
        assert np.array_equal(np.asarray(level), values)
    assert len(driver.memory) == 2
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
    assert driver.retained in ([1], [1, 1])  # the CUDA library retains it as well, the first time in a process


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
    assert not {name for name, _ in driver.calls} & THROUGH_THE_HOST
    assert {np.asarray(level).tobytes() for level in state} <= {VALUES.tobytes(), before.tobytes()}
    assert len(driver.memory) == 2
    del state
    gc.collect()
    assert not driver.memory


def test_arrays_on_a_device_go_to_its_backend_only(driver, tmp_path):
    for backend in ("numpy", "c"):
        with pytest.raises(ArrayError, match="lies on a GPU"):
            tw.run("j2d5pt", Interface(VALUES), steps=1, backend=backend)
    with pytest.raises(ArrayError, match="all lie on the GPU or all on the host"):
        tw.run("heat2d_var", Interface(VALUES), VALUES, steps=1, backend="cuda")
    for fields in ((VALUES, Interface(VALUES)), (Interface(VALUES), Interface(VALUES))):
        with pytest.raises(ArrayError, match="lies on a GPU, where it cannot be read here"):
            tw.run("heat2d_var", *fields, steps=1, every=1, out=tmp_path / "u.h5")
    with pytest.raises(ArrayError, match="'out' lies on a GPU, where it cannot be read here"):
        tw.run("j2d5pt", VALUES, steps=1, out=Interface(VALUES.copy()))
    with pytest.raises(ArrayError, match="'where' lies on a GPU"):
        tw.run("j2d5pt", VALUES, steps=1, where=Interface(VALUES.copy()))


class Library:
    """A library of arrays that have DLPack and a current stream, under the name of one that ``run`` knows."""

    def __init__(self, name, driver, monkeypatch):
        self.driver, self.handle, self.given = driver, 0, []
        module = types.ModuleType(name)
        library = self

        class Array(Capsules):
            def __dlpack__(self, stream=None):
                library.given.append(stream)
                return super().__dlpack__(stream)

        Array.__module__ = f"{name}._core"
        stream = types.SimpleNamespace
        if name == "torch":
            module.cuda = stream(current_stream=lambda number: stream(cuda_stream=self.handle))
        else:
            module.cuda = stream(get_current_stream=lambda: stream(ptr=self.handle))
        module.from_dlpack = lambda array: array
        self.Array = Array
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize("name", ["torch", "cupy"])
@pytest.mark.parametrize("kind", ["default", "side"])
def test_a_run_goes_into_the_callers_stream_and_nobody_waits(driver, monkeypatch, name, kind):
    library, values = Library(name, driver, monkeypatch), np.zeros_like(VALUES)
    library.handle = driver.stream() if kind == "side" else 0
    side = library.handle or LEGACY
    before = driver.give(side, lambda: np.copyto(values, VALUES))
    calls = len(driver.calls)
    out = tw.run("j2d5pt", library.Array(values), steps=3, backend="cuda")
    assert library.given == [side]
    assert not {call for call, _ in driver.calls[calls:]} & {"cuStreamSynchronize", "cuCtxSynchronize"}
    assert not before.done
    assert "kernel" in driver.given(side)
    after = driver.give(side, lambda: values.fill(-1.0))  # the caller overwrites its array
    reader = driver.stream()
    out.__dlpack__(stream=reader)
    driver.wait(driver.give(reader))
    assert before.done
    assert all(kernel.done for kernel in driver.kernels)
    assert not after.done
    assert np.array_equal(np.asarray(out), VALUES)


def test_memory_goes_back_in_the_callers_stream_or_when_the_device_is_at_rest(driver, monkeypatch):
    library = Library("cupy", driver, monkeypatch)
    library.handle = driver.stream()

    def calls_of(*readers):
        out = tw.run("j2d5pt", library.Array(VALUES), steps=1, backend="cuda")
        for reader in readers:
            out.__dlpack__(stream=reader)
        gc.collect()
        before = len(driver.calls)
        del out
        gc.collect()
        return [name for name, _ in driver.calls[before:] if name in {"cuMemFreeAsync", "cuCtxSynchronize"}]

    assert calls_of() == calls_of(library.handle) == ["cuMemFreeAsync"]
    assert set(driver.freed) == {library.handle}
    assert calls_of(driver.stream()) == ["cuCtxSynchronize", "cuMemFreeAsync"]
    assert driver.freed[-1] != library.handle
    assert not driver.memory


def test_a_stream_of_the_interface_that_may_be_gone_is_not_used_again(driver):
    """Nobody keeps it alive after the run."""
    side, driver.places[VALUES.ctypes.data] = driver.stream(), 0
    out = tw.run("j2d5pt", Interface(VALUES, stream=side), steps=1, backend="cuda")
    assert "kernel" in driver.given(side)
    driver.wait_for_all()
    del driver.streams[side], driver.last[side]
    assert np.array_equal(np.asarray(out), VALUES)
    del out
    gc.collect()
    assert side not in driver.last
    assert not driver.memory


def test_arrays_of_several_streams_wait_for_each_other(driver, monkeypatch):
    """The run is in the first one's stream, and both may be overwritten in theirs afterwards."""
    streams, given, works = [driver.stream(), driver.stream()], [], []
    for stream in streams:
        values = np.zeros_like(VALUES)
        works.append(driver.give(stream, lambda values=values: np.copyto(values, VALUES)))
        given.append(Interface(values, stream=stream))
        driver.places[values.ctypes.data] = 0
    out = tw.run("heat2d_var", *given, steps=2, backend="cuda")
    assert "kernel" in driver.given(streams[0])
    driver.wait(driver.give(streams[1], lambda: given[1].values.fill(-1.0)))
    assert all(kernel.done for kernel in driver.kernels)
    assert np.array_equal(np.asarray(out), VALUES)


def test_results_are_written_into_the_callers_array(driver, monkeypatch):
    library = Library("cupy", driver, monkeypatch)
    library.handle = driver.stream()
    target = np.zeros_like(VALUES)
    out = library.Array(target)
    assert tw.run("j2d5pt", library.Array(VALUES), steps=0, out=out) is out
    assert not driver.memory
    driver.wait(driver.give(library.handle))
    assert np.array_equal(target, VALUES)
    levels = tuple(library.Array(np.zeros_like(VALUES)) for _ in range(2))
    before = VALUES[::-1].copy()
    before[[0, -1]], before[:, [0, -1]] = VALUES[[0, -1]], VALUES[:, [0, -1]]
    given = (library.Array(VALUES), library.Array(before))
    tw.run("wave2d", given, steps=0, out=levels, levels=True, boundary="fixed")
    driver.wait(driver.give(library.handle))
    assert np.array_equal(levels[0].values.memory.values, VALUES)
    assert np.array_equal(levels[1].values.memory.values, before)


@pytest.mark.parametrize("known", [True, False])
def test_an_array_to_write_into_may_belong_to_another_stream(driver, known):
    """What that stream was given before is done before, and what it is given afterwards comes after."""
    side, other, seen, target = driver.stream(), driver.stream(), [], np.zeros_like(VALUES)
    driver.places.update({VALUES.ctypes.data: 0, target.ctypes.data: 0})
    driver.give(other, lambda: target.fill(-1.0))
    given = Interface(VALUES, stream=side)
    out = Interface(target, stream=other) if known else Ordered(target, driver, other)
    tw.run("j2d5pt", given, steps=0, out=out, backend="cuda")
    driver.wait(driver.give(other, lambda: seen.append(target.copy())))
    assert np.array_equal(seen[0], VALUES)


def test_arrays_to_write_into_lie_where_the_run_is(driver):
    given = Interface(VALUES)
    with pytest.raises(ArrayError, match="'out' lies on the host, and the arrays of the run on a GPU"):
        tw.run("j2d5pt", given, steps=1, out=np.empty_like(VALUES))
    with pytest.raises(ArrayError, match="out is read-only"):
        tw.run("j2d5pt", given, steps=1, out=Interface(VALUES, data=(VALUES.ctypes.data, True)))
    with pytest.raises(ArrayError, match="out on a GPU must hold float32 values, it has the dtype float64"):
        tw.run("j2d5pt", given, steps=1, out=Interface(VALUES.astype(float)))
    with pytest.raises(ArrayError, match="'out' lies on GPU 0, and the arrays of the run on GPU 1"):
        tw.run("j2d5pt", placed(driver, 1), steps=1, out=placed(driver, 0))


def test_callbacks_get_copies_on_the_device(driver, monkeypatch):
    library, seen = Library("cupy", driver, monkeypatch), []
    tw.run("j2d5pt", library.Array(VALUES), steps=4, every=2, callback=lambda step, u: seen.append((step, u)))
    assert [step for step, _ in seen] == [2, 4]
    assert all(np.array_equal(np.asarray(u), VALUES) for _, u in seen)
    assert all(u.__dlpack_device__() == (2, 0) for _, u in seen)


def test_a_result_for_which_there_is_no_room_beside_the_slots_goes_over_the_host(driver):
    given, taken = Interface(VALUES), []

    def allocate(pointer, size, pool, stream, original=driver.do_cuMemAllocFromPoolAsync):
        taken.append(size)
        return 2 if len(taken) == 2 else original(pointer, size, pool, stream)

    driver.do_cuMemAllocFromPoolAsync = allocate
    out = tw.run("j2d5pt", given, steps=3, backend="cuda")
    assert len(taken) == 3
    assert np.array_equal(np.asarray(out), VALUES)
    assert len(driver.memory) == 1


@pytest.mark.parametrize("shape", [(3,), (20,), (2, 5), (9, 3, 4)])
@pytest.mark.parametrize("levels", [1, 2])
def test_periodic_copies_are_made_on_the_device_as_on_the_host(driver, shape, levels):
    """Also where they are wider than the grid, so that they are copies of copies."""
    from tilewright.programs.stencil.catalogue import program
    from tilewright.programs.stencil.forms import extend
    from tilewright.programs.stencil.problem import make_problem
    from tilewright.runtime.devices import cuda, gpu
    from tilewright.runtime.session import Inputs
    from tilewright.schedules.tiling import NONE

    name = {1: "j1d3pt", 2: "j2d5pt" if levels == 1 else "wave2d", 3: "j3d7pt" if levels == 1 else "wave3d"}[len(shape)]
    problem = make_problem(program(name), shape, 7, boundary="wrap")
    halo = extend(problem, 5)
    kernels = loaded(cuda.select(), halo.problem, NONE, periodic=True)
    generator = np.random.default_rng(1)
    arrays = [generator.random(shape, dtype=np.float32) for _ in range(problem.program.history("u"))]
    scalars = dict.fromkeys(problem.program.scalars, 0.25)
    held = []
    for given in (arrays, [device_arrays.view(Interface(each), "u") for each in arrays]):
        fields = {field: given if field == "u" else given[:1] for field in problem.program.fields}
        session = gpu.GpuSession(kernels, problem, Inputs(arrays=fields, scalars=scalars), halo)
        driver.wait_for_all()
        cells, slot = halo.problem.cells, session._slot
        flat = np.frombuffer(driver.memory[int(session._buffers[0].handle)], np.float32)
        held.append([flat[at : at + cells].copy() for at in range(0, flat.size, slot)])
        session.close()
    for host, device in zip(*held, strict=True):
        np.testing.assert_array_equal(device, host)
