"""The CUDA driver's interface against a library that keeps memory in this process and notes what it is asked."""

# ruff: noqa: N802, N815  (the driver's own names)

import ctypes
import dataclasses

import numpy as np
import pytest

from tilewright.base.errors import ArrayError, ToolchainError, UsageError
from tilewright.codegen.gpu_emit import emit_device, launches
from tilewright.programs.catalogue import program
from tilewright.programs.problem import make_problem
from tilewright.runtime import cuda, gpu, nvrtc
from tilewright.runtime.session import Inputs
from tilewright.tilings.tiling import parse


class FakeDriver:
    """Memory is real, kernels do nothing but being noted."""

    def __init__(self, devices=("Card A", "Card B")):
        self.devices, self.launched, self.memory, self.set, self.failing = devices, [], {}, [], {}
        self.current, self.contexts = 0, set()

    def __getattr__(self, name):
        def call(*arguments):
            if name in self.failing:
                return self.failing[name]
            done = getattr(type(self), f"do_{name}", None)
            return 0 if done is None else done(self, *arguments)

        return call

    def do_cuDeviceGetCount(self, count):
        count._obj.value = len(self.devices)
        return 0

    def do_cuDeviceGet(self, handle, number):
        handle._obj.value = number
        return 0

    def do_cuDevicePrimaryCtxRetain(self, context, handle):
        context._obj.value = 100 + handle.value
        return 0

    def do_cuCtxSetCurrent(self, context):
        self.current = context.value
        return 0

    def do_cuDeviceGetName(self, buffer, _, handle):
        buffer.value = self.devices[handle.value].encode()
        return 0

    def do_cuDeviceTotalMem_v2(self, size, _):
        size._obj.value = 2**24
        return 0

    def do_cuDeviceGetAttribute(self, value, number, _):
        value._obj.value = {
            97: 232448,
            75: 9,
            76: 0,
            16: 132,
            13: 1980000,
            81: 233472,
            1: 1024,
            39: 2048,
            106: 32,
            82: 65536,
            38: 52428800,
        }[number]
        return 0

    def do_cuDeviceGetPCIBusId(self, text, _, handle):
        text.value = f"0000:0{handle.value + 1}:00.0".encode()
        return 0

    def do_cuModuleGetFunction(self, function, _, name):
        function._obj.value = 1
        self.set.append(("function", name))
        return 0

    def do_cuFuncSetAttribute(self, _, attribute, value):
        self.set.append((attribute, value))
        return 0

    def do_cuMemAlloc_v2(self, pointer, size):
        buffer = (ctypes.c_char * size.value)()
        pointer._obj.value = ctypes.addressof(buffer)
        self.memory[pointer._obj.value] = buffer
        return 0

    def do_cuMemFree_v2(self, pointer):
        del self.memory[pointer.value]
        return 0

    def do_cuMemcpyHtoD_v2(self, target, source, size):
        ctypes.memmove(target.value, source.value, size.value)
        return 0

    def do_cuMemcpyDtoH_v2(self, target, source, size):
        ctypes.memmove(target.value, source.value, size.value)
        return 0

    do_cuMemcpyDtoD_v2 = do_cuMemcpyHtoD_v2

    def do_cuLaunchKernel(self, kernel, groups, _y, _z, threads, _ty, _tz, room, stream, arguments, extra):
        numbers = [ctypes.cast(each, ctypes.POINTER(ctypes.c_int32)).contents.value for each in arguments]
        self.launched.append((groups, threads, room, numbers))
        self.contexts.add(self.current)
        return 0

    def do_cuEventElapsedTime(self, milliseconds, _first, _last):
        milliseconds._obj.value = 2.5
        return 0

    def do_cuGetErrorName(self, status, text):
        text._obj.value = b"CUDA_ERROR_ILLEGAL_ADDRESS"
        return 0


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(cuda, "_library", lambda: fake)
    return fake


PROBLEM = make_problem(program("j2d5pt"), (30, 40), 9)
TILING = parse("hybrid:t=4,s=4x32,threads=1x32")


def session(device, tiling=TILING, steps=9):
    problem = dataclasses.replace(PROBLEM, steps=steps)
    values = np.random.default_rng(0).random(problem.shape, dtype=np.float32)
    loaded = gpu.load(device, emit_device(problem, tiling, "cuda"), tiling)
    return gpu.GpuSession(loaded, problem, Inputs(arrays={"u": [values]}, scalars={})), values


def test_launches_get_what_the_kernel_takes(driver):
    run, values = session(cuda.select())
    assert np.array_equal(run.newest("u"), values)
    run.advance(9)
    wanted = list(launches(PROBLEM, TILING, 9))
    assert [(groups, threads) for groups, threads, _, _ in driver.launched] == [(each.groups, 32) for each in wanted]
    for (_, _, room, numbers), launch in zip(driver.launched, wanted, strict=True):
        assert room == 0
        assert numbers[1:5] == [30, 40, 40, 1216]
        assert tuple(numbers[5:]) == launch.numbers
    run.close()
    assert not driver.memory


def test_large_tiles_ask_for_their_memory(driver):
    tiling = parse("hybrid:t=16,s=32x128,threads=1x128")
    run, _ = session(cuda.select(), tiling)
    run.advance(9)
    room = driver.launched[0][2]
    assert room > 48 * 1024
    assert (8, room) in driver.set


def test_times_come_from_events(driver):
    run, _ = session(cuda.select())
    assert run.timed(9) == pytest.approx(2.5e-3)


def test_devices_are_selected_by_number_or_name(driver):
    assert cuda.select().name == "Card A"
    assert cuda.select("1").name == cuda.select("card b").name == "Card B"
    with pytest.raises(UsageError, match="no CUDA device 'radeon'"):
        cuda.select("radeon")
    assert cuda.select().architecture == "sm_90"
    told = cuda.select("1").describe()
    assert (told.bus, told.l2_bytes, told.units) == ("0000:02:00.0", 52428800, 132)


@pytest.mark.parametrize(("wanted", "context"), [("", 100), ("card b", 101), ("0", 100)])
def test_a_device_works_in_its_own_context(driver, wanted, context):
    """Looking for a name opens every device; and another library of the process may use another one."""
    run, _ = session(cuda.select(wanted))
    cuda.select("1")
    driver.current = 7
    run.advance(9)
    assert driver.contexts == {context}
    run.close()


def test_failures_are_one_sentence(driver):
    device = cuda.select()
    run, _ = session(device)
    driver.failing["cuMemcpyDtoH_v2"] = 700
    with pytest.raises(ToolchainError, match=r"failed in cuMemcpyDtoH_v2: CUDA_ERROR_ILLEGAL_ADDRESS"):
        run.newest("u")
    driver.failing = {"cuMemAlloc_v2": 2}
    with pytest.raises(ArrayError, match=r"Card A has no .* of memory"):
        session(device)
    driver.failing = {}
    with pytest.raises(ArrayError, match=r"this run needs .*, Card A has 16 MiB"):
        gpu.GpuSession(
            run._program,
            dataclasses.replace(PROBLEM, shape=(4000, 4000)),
            Inputs(arrays={"u": [np.zeros((4000, 4000), np.float32)]}, scalars={}),
        )


def test_without_a_driver_or_a_device(monkeypatch):
    monkeypatch.setattr(cuda, "_LIBRARY", "libnothing.so.1")
    cuda._library.cache_clear()
    with pytest.raises(ToolchainError, match="needs NVIDIA's driver"):
        cuda.select()
    monkeypatch.setattr(cuda, "_library", lambda: FakeDriver(devices=()))
    with pytest.raises(ToolchainError, match="there is no CUDA device"):
        cuda.select()


def test_code_is_compiled_for_the_device(driver, monkeypatch):
    seen = []
    original = nvrtc.compile_cuda

    def compile_cuda(text, architecture, *, strict):
        seen.append((architecture, strict))
        return original(text, architecture, strict=strict)

    monkeypatch.setattr(nvrtc, "compile_cuda", compile_cuda)
    session(cuda.select())
    assert set(seen) == {("sm_90", False)}
