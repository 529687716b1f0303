"""Compiled kernels against the NumPy reference."""

import threading
from pathlib import Path

import numpy as np
import pytest

from tilewright.base.errors import ArrayError
from tilewright.driver import emit_tiling
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import call, memory, session
from tilewright.runtime.cpu import stencil_kernels
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules.tiling import parse


def _data(problem, seed=0):
    generator = np.random.default_rng(seed)
    return {
        field: [generator.random(problem.shape).astype(problem.dtype) for _ in range(problem.program.history(field))]
        for field in problem.program.fields
    }


class Guarded(memory.Workspace):
    """Hands out exactly what is asked for, and a watched page behind it."""

    def __init__(self):
        super().__init__()
        self.guards = []

    def take(self, size):
        buffer = memory.allocate(size + 4096)
        buffer[size:] = 0x5A
        self.guards.append(buffer[size:])
        return buffer[:size]


@pytest.mark.parametrize(
    ("name", "shape", "tiling"),
    [
        ("wave2d", (70, 700), "streaming:t=5,s=70x256"),
        ("j3d7pt", (30, 33, 90), "streaming:t=3,s=30x9x90"),
        ("gradient2d", (70, 200), "hybrid:t=4,s=8x48"),
        ("j2d5pt", (70, 203), "none"),
    ],
)
def test_nothing_is_written_behind_the_memory_of_a_run(name, shape, tiling, monkeypatch):
    """A kernel that used more than ``scratch_bytes`` of its last thread would pass every test of its results."""
    monkeypatch.setattr(session, "_SMALL", 0)
    problem = make_problem(program(name), shape, 11, boundary="nearest")
    (kernel,) = stencil_kernels(emit_tiling(problem, parse(tiling)), toolchain())
    workspace, arrays = Guarded(), _data(problem)
    got = execute(kernel, problem, Inputs(arrays=arrays, scalars={}), 1, workspace)
    expected, allowed = rounding.bound(problem, arrays, {})
    assert all(rounding.worst_excess(got[field], expected[field], allowed[field])[1] for field in got)
    assert workspace.guards
    assert all((guard == 0x5A).all() for guard in workspace.guards)


def test_many_threads_share_one_kernel_and_workspace():
    problem = make_problem(program("jacobi2d"), (64, 64), 20)
    (kernel,) = stencil_kernels(emit_tiling(problem, parse("hybrid:t=8,s=8x32")), toolchain())
    workspace = memory.Workspace()
    datas = [_data(problem, seed) for seed in range(8)]
    results = [None] * 8

    def work(i):
        for _ in range(5):
            results[i] = execute(kernel, problem, Inputs(arrays=datas[i], scalars={}), 2, workspace)["u"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for data, result in zip(datas, results, strict=True):
        alone = execute(kernel, problem, Inputs(arrays=data, scalars={}), 1)["u"]
        np.testing.assert_array_equal(result, alone)


def test_the_interpreter_runs_while_a_kernel_does():
    problem = make_problem(program("jacobi2d"), (700, 700), 400)
    (kernel,) = stencil_kernels(emit_tiling(problem, parse("none")), toolchain())
    data, done, ticks = _data(problem), threading.Event(), 0
    worker = threading.Thread(target=lambda: (execute(kernel, problem, Inputs(arrays=data, scalars={}), 1), done.set()))
    worker.start()
    while not done.wait(0.0005):
        ticks += 1
    worker.join()
    assert ticks >= 3


def test_a_grid_larger_than_memory_is_refused_before_it_is_allocated():
    problem = make_problem(program("jacobi2d"), (2**22, 2**22), 1)
    (kernel,) = stencil_kernels(emit_tiling(problem, parse("none")), toolchain())
    broadcast = np.broadcast_to(np.float32(1), problem.shape)
    with pytest.raises(ArrayError, match=r"this run needs .* of memory but .* are available"):
        execute(kernel, problem, Inputs(arrays={"u": [broadcast]}, scalars={}), 1)


def test_layout_avoids_pages_and_keeps_lines():
    for shape in ((4096, 4096), (1024, 1000), (100, 1024, 1024), (3, 5)):
        for itemsize in (4, 8):
            plan = memory.layout(shape, itemsize)
            jumps = [*plan.strides[:-1], plan.slot]
            assert all(jump * itemsize % 64 == 0 for jump in jumps)
            assert all(jump * itemsize % 4096 for jump in jumps)
            assert plan.slot >= plan.strides[0] * shape[0]


def test_frame_is_the_complement_of_the_box():
    cells = np.zeros((5, 6, 7), int)
    cells[1:4, 2:6, 0:5] += 1
    for slab in memory.frame(cells.shape, ((1, 4), (2, 6), (0, 5))):
        cells[slab] += 1
    assert (cells == 1).all()


def test_failures_of_copying_threads_are_raised():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        memory.spread([lambda: None, lambda: None, fail], 3)


def test_kernels_are_loaded_once_per_process():
    problem = make_problem(program("jacobi1d"), (9,), 1)
    (first,) = stencil_kernels(emit_tiling(problem, parse("none")), toolchain())
    (second,) = stencil_kernels(emit_tiling(problem, parse("none")), toolchain())
    assert len(call._loaded) == 1
    assert first.layout == second.layout


def test_lent_memory_comes_back_when_nothing_refers_to_it():
    workspace = memory.Workspace(keep=2**24)
    lent = workspace.lend(2**22)
    place = lent.ctypes.data
    part = lent.view(np.float32).reshape(1024, -1)[3:5].T
    del lent
    other = workspace.lend(2**22)
    assert other.ctypes.data != place  # a view is still in use
    del part
    again = workspace.lend(2**22)
    assert again.ctypes.data == place
    assert again.nbytes == 2**22
    assert again.flags.writeable


def test_small_memory_is_not_lent_from_what_is_idle():
    workspace = memory.Workspace()
    workspace.give(memory.allocate(2**20))
    assert workspace.lend(2**20).nbytes == 2**20
    assert len(workspace._free) == 1


def test_lent_memory_beyond_the_limit_goes_back_to_the_system():
    workspace = memory.Workspace(keep=2**21)
    lent = workspace.lend(2**22)
    del lent
    workspace.take(1)
    assert not workspace._free


@pytest.mark.parametrize(
    ("name", "tiling", "arrays"),
    [
        ("j2d5pt", "hybrid:t=4,s=4x64", 1),
        ("j2d5pt", "streaming:t=4,s=512x64", 1),
        ("wave2d", "streaming:t=4,s=512x64", 2),
    ],
)  # the last has to copy an older version, whose fixed cells differ from the newest one's
def test_a_run_leaves_the_memory_of_all_its_arrays_to_the_next(name, tiling, arrays):
    random = np.random.default_rng(3)
    problem = make_problem(program(name), (1024, 600), 8)
    (kernel,) = stencil_kernels(emit_tiling(problem, parse(tiling)), toolchain())
    inputs = Inputs(arrays={"u": [random.random(problem.shape, np.float32) for _ in range(2)]}, scalars={})
    workspace = memory.Workspace()
    expected = execute(kernel, problem, inputs, 2, workspace)["u"].copy()
    for _ in range(2):
        np.testing.assert_array_equal(execute(kernel, problem, inputs, 2, workspace)["u"], expected)
        workspace.give(workspace.take(2**20))  # collects what has come back
        grids = [idle for idle in workspace._free if idle.nbytes >= problem.cells * problem.itemsize]
        assert len(grids) == 1 + arrays


def _lazily_freed() -> int:
    """Bytes that the system may take from this process at any time."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("LazyFree:"))


def test_idle_memory_beyond_the_limit_is_offered_to_the_system_and_found_again():
    workspace = memory.Workspace(keep=2**21, offer=True)
    lent = workspace.lend(2**24)
    place = lent.ctypes.data
    lent[:] = 1
    before = _lazily_freed()
    del lent  # at once, not at the next request
    assert _lazily_freed() >= before + 2**24
    again = workspace.lend(2**24)
    assert again.ctypes.data == place
    again[:] = 2
    assert _lazily_freed() < before + 2**24


def test_no_more_is_offered_than_can_still_be_used(monkeypatch):
    workspace = memory.Workspace(keep=0, offer=True)
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**23)
    for _ in range(3):
        workspace.give(memory.allocate(2**22))
    assert len(workspace._offered) == 2
    assert not workspace._free


def test_memory_that_cannot_be_offered_goes_back():
    assert not memory.offer(memory.allocate(2**20))  # no pages of its own
    workspace = memory.Workspace(keep=0, offer=True)
    workspace.give(memory.allocate(2**20))
    assert not workspace._free
    assert not workspace._offered


def test_a_much_larger_idle_buffer_is_not_used_up():
    workspace = memory.Workspace()
    workspace.give(memory.allocate(2**24))
    assert workspace.take(2**21).nbytes < 2**24
    assert workspace.take(2**24).nbytes == 2**24
