"""The CUDA driver's interface against a library that keeps memory in this process and notes what it is asked."""

import dataclasses
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.runtime.fake_cuda import PRIMARY, FakeDriver, installed
from tests.runtime.interpreted import loaded

from tilewright.base.errors import ArrayError, ToolchainError, UsageError
from tilewright.codegen.gpu.emit import launches
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import cuda, gpu, nvrtc
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

PROBLEM = make_problem(program("j2d5pt"), (30, 40), 9)
TILING = parse("hybrid:t=4,s=4x32,threads=1x32")


def session(device, tiling=TILING, steps=9):
    problem = dataclasses.replace(PROBLEM, steps=steps)
    values = np.random.default_rng(0).random(problem.shape, dtype=np.float32)
    return gpu.GpuSession(loaded(device, problem, tiling), problem, Inputs(arrays={"u": [values]}, scalars={})), values


def test_launches_get_what_the_kernel_takes(driver):
    run, values = session(cuda.select())
    assert np.array_equal(run.newest("u"), values)
    driver.words = 8  # a pointer, two extents, a stride, a slot, three numbers
    run.advance(9)
    wanted = list(launches(PROBLEM, gpu_schedule(PROBLEM, TILING), 9))
    assert [(groups, threads) for groups, threads, _, _ in driver.launched] == [(each.groups, 32) for each in wanted]
    for (_, _, room, numbers), launch in zip(driver.launched, wanted, strict=True):
        assert room == 0
        assert numbers[1:5] == [30, 40, 40, 1216]
        assert tuple(numbers[5:]) == launch.numbers
    run.close()
    assert not driver.memory


def test_rows_of_streaming_tiles_start_where_vectors_may(driver):
    """Of 41 values they take 48 places; what goes in and comes out has the grid's own shape."""
    problem = make_problem(program("j2d5pt"), (30, 41), 3)
    values = np.random.default_rng(0).random(problem.shape, dtype=np.float32)
    given = Inputs(arrays={"u": [values]}, scalars={})
    run = gpu.GpuSession(loaded(cuda.select(), problem, parse("streaming:t=3,s=16x16,threads=1x8")), problem, given)
    driver.words = 9  # a pointer, two extents, a stride, a slot, the band's numbers and tiles
    run.advance(3)
    assert driver.launched[0][3][1:5] == [30, 41, 48, 30 * 48 + 32]
    driver.words = 0
    assert np.array_equal(run.newest("u"), values)
    copied = run.copied("u")
    assert copied.shape == (30, 41)
    assert np.array_equal(np.asarray(copied), values)
    run.close()


def test_large_tiles_ask_for_their_memory(driver):
    tiling = parse("hybrid:t=16,s=32x128,threads=1x128")
    run, _ = session(cuda.select(), tiling)
    run.advance(9)
    room = driver.launched[0][2]
    assert room > 48 * 1024
    assert (8, room) in driver.set


@pytest.mark.parametrize(("tiling", "percent"), [("hybrid:t=16,s=32x128,threads=1x128", 100), ("none", 0)])
def test_all_kernels_of_a_text_set_the_same_share_of_the_chip_aside(driver, tiling, percent):
    session(cuda.select(), parse(tiling))
    shares = [value for attribute, value in driver.set if attribute == 9]
    assert set(shares) == {percent}
    assert len(shares) == sum(name == "function" for name, _ in driver.set)


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
    """Another library of the process may use another one."""
    run, _ = session(cuda.select(wanted))
    cuda.select("1")
    driver.current = 7
    run.advance(9)
    assert driver.contexts == {context}
    run.close()


def test_only_the_wanted_device_is_opened(driver):
    """A context takes half a gigabyte, and another card may be somebody else's alone."""
    session(cuda.select())
    assert set(driver.retained) == {0}
    driver.retained.clear()
    session(cuda.select("card b"))
    assert set(driver.retained) == {1}
    with pytest.raises(UsageError, match="no CUDA device 'radeon'"):
        cuda.select("radeon")
    assert set(driver.retained) == {1}


def test_devices_that_are_only_looked_at_stay_closed(driver):
    from tilewright.runtime.devices import drivers as backends

    assert len(backends.present()) >= 2
    assert [device.name for device in cuda.every()] == ["Card A", "Card B"]
    assert driver.retained == []


@pytest.mark.parametrize("own", [[], [7], [7, 101]])
def test_the_callers_context_is_the_threads_again(driver, own):
    """A library that counts on its current device would go on on another one."""
    driver.stack[:] = own
    run, _ = session(cuda.select())
    run.advance(9)
    run.timed(9)
    run.newest("u")
    taken = run.take({"u": (0,)})["u"]
    np.asarray(taken[0])
    assert driver.stack == own
    del taken
    gc.collect()
    assert driver.stack == own
    assert not driver.memory
    driver.failing["cuLaunchKernelEx"] = 700
    run, _ = session(cuda.select())
    with pytest.raises(ToolchainError):
        run.advance(9)
    assert driver.stack == own


def test_a_result_that_another_thread_drops_is_freed_in_its_own_context(driver):
    run, _ = session(cuda.select("1"))
    held = [run.take({"u": (0,)})]
    before = len(driver.calls)

    def drop():
        held.clear()
        gc.collect()
        stacks.append(list(driver.stack))

    stacks = []
    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert ("cuMemFreeAsync", PRIMARY + 1) in driver.calls[before:]
    assert stacks == [[]]
    assert not driver.memory


def test_failures_are_one_sentence(driver):
    device = cuda.select()
    run, _ = session(device)
    driver.failing["cuMemcpyDtoHAsync"] = 700
    with pytest.raises(ToolchainError, match=r"driver could not copy to the host: CUDA_ERROR_ILLEGAL_ADDRESS"):
        run.newest("u")
    driver.failing = {"cuMemAllocFromPoolAsync": 2}
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
    with monkeypatch.context() as patch:
        patch.setattr(cuda, "_LIBRARY", "libnothing.so.1")
        cuda.library.cache_clear()
        with pytest.raises(ToolchainError, match="needs NVIDIA's driver"):
            cuda.select()
    with installed(FakeDriver(devices=())), pytest.raises(ToolchainError, match="there is no CUDA device"):
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


def test_an_array_is_uploaded_once(driver):
    """Its other slots are copies on the device; of several time levels each is uploaded once."""
    for name, uploads in (("j2d5pt", 1), ("wave2d", 1), ("heat2d_var", 2)):
        known = program(name)
        problem = make_problem(known, (30, 40), 3)
        given = Inputs(
            arrays={field: [np.ones((30, 40), np.float32)] for field in known.fields},
            scalars=dict.fromkeys(known.scalars, 0.1),
        )
        before = len(driver.calls)
        gpu.GpuSession(loaded(cuda.select(), problem, parse("none")), problem, given).close()
        assert [call for call, _ in driver.calls[before:]].count("cuMemcpyHtoDAsync") == uploads
    assert not driver.memory


def test_memory_comes_from_the_pool_in_turn_with_the_stream(driver):
    """From one of our own, whose settings nobody else has."""
    run, _ = session(cuda.select())
    run.advance(9)
    run.close()
    names = {call for call, _ in driver.calls}
    assert {"cuMemPoolCreate", "cuMemAllocFromPoolAsync", "cuMemFreeAsync"} <= names
    assert not {name for name in names if "DeviceGetMemPool" in name or "DefaultMemPool" in name}
    assert [each for each in driver.set if "pool" in str(each[0])][-1] == ("pool 0", 2**28)
    assert driver.given(driver.freed[-1])[-1] == "free"  # nobody waited for the kernels
    assert not any(kernel.done for kernel in driver.kernels)


@pytest.mark.parametrize(("tiling", "steps"), [("none", 400), ("streaming:t=4,s=16x16", 402)])
def test_launches_that_repeat_are_one_graph(driver, tiling, steps):
    """All are started in the order in which they would be without."""
    tiling = parse(tiling)
    run, _ = session(cuda.select(), tiling, steps)
    wanted = list(launches(PROBLEM, gpu_schedule(PROBLEM, tiling), steps))
    run.advance(steps)
    graphs = [call for call, _ in driver.calls].count("cuGraphLaunch")
    assert graphs >= 3
    assert len(driver.launched) < len(wanted) / 2
    assert len(driver.kernels) >= len(wanted)
    run.close()


def test_portions_of_the_same_length_are_one_graph(driver):
    """As between two looks, whatever the tiles; the first one is not recorded."""
    run, _ = session(cuda.select())
    for _ in range(4):
        run.advance(9)
    wanted = len(list(launches(PROBLEM, gpu_schedule(PROBLEM, TILING), 9)))
    assert [call for call, _ in driver.calls].count("cuGraphLaunch") == 3
    assert len(driver.launched) == 2 * wanted
    run.close()


def test_compiling_needs_neither_a_driver_nor_the_packages_over_it(tmp_path):
    """And importing the package loads none of them."""
    text = """
import sys
import tilewright
assert not {"cuda", "nvidia", "ctypes.util"} & set(sys.modules) - {"ctypes.util"}, sorted(sys.modules)
sys.modules["cuda.core"] = sys.modules["cuda.bindings"] = None
from tilewright.base.errors import ToolchainError
from tilewright.runtime.devices import cuda, nvrtc
found = nvrtc.compile_cuda('extern "C" __global__ void f(float *a) { a[0] = 1; }', "sm_90")
assert found.cubin[:4] == b"\\x7fELF"
cuda._LIBRARY = "libc.so.6"
try:
    cuda.select()
except ToolchainError as error:
    assert "needs cuda-core" in error.message and "tilewright[cuda]" in error.hint, error
else:
    raise AssertionError
"""
    environment = {**os.environ, "TILEWRIGHT_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", text], check=True, env=environment)
