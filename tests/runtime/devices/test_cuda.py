"""The CUDA driver's interface against a library that keeps memory in this process and notes what it is asked."""

import dataclasses
import gc
import threading

import numpy as np
import pytest
from tests.runtime.fake_cuda import PRIMARY, FakeDriver
from tests.runtime.interpreted import loaded

from tilewright.base.errors import ArrayError, ToolchainError, UsageError
from tilewright.codegen.gpu.emit import launches
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import cuda, gpu, nvrtc
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule


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
    return gpu.GpuSession(loaded(device, problem, tiling), problem, Inputs(arrays={"u": [values]}, scalars={})), values


def test_launches_get_what_the_kernel_takes(driver):
    run, values = session(cuda.select())
    assert np.array_equal(run.newest("u"), values)
    run.advance(9)
    wanted = list(launches(PROBLEM, gpu_schedule(PROBLEM, TILING), 9))
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
    assert driver.retained == [0]
    driver.retained.clear()
    session(cuda.select("card b"))
    assert driver.retained == [1]
    with pytest.raises(UsageError, match="no CUDA device 'radeon'"):
        cuda.select("radeon")
    assert driver.retained == [1]


def test_devices_that_are_only_looked_at_stay_closed(driver):
    from tilewright.runtime.devices import found as backends

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
    taken = run.take("u")
    run.close()
    np.asarray(taken)
    assert driver.stack == own
    del taken
    gc.collect()
    assert driver.stack == own
    assert not driver.memory
    driver.failing["cuLaunchKernel"] = 700
    run, _ = session(cuda.select())
    with pytest.raises(ToolchainError):
        run.advance(9)
    assert driver.stack == own


def test_a_result_that_another_thread_drops_is_freed_in_its_own_context(driver):
    run, _ = session(cuda.select("1"))
    held = [run.take("u")]
    run.close()
    before = len(driver.calls)

    def drop():
        held.clear()
        gc.collect()
        stacks.append(list(driver.stack))

    stacks = []
    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert ("cuMemFree_v2", PRIMARY + 1) in driver.calls[before:]
    assert stacks == [[]]
    assert not driver.memory


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
