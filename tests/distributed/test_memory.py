"""The memory that windows of runs in parts are counted with is the memory that they take."""

import math
import re
import tracemalloc

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.units import parse_bytes
from tilewright.distributed import compute, disk, slabs, streams
from tilewright.distributed.compute import Computer, session_bytes
from tilewright.inputs import memo
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.memory import Workspace, allocate
from tilewright.runtime.session import Inputs


def computer_of(backend, tiling=None, threads=1):
    target = read_target(backend, threads)
    return Computer(target=target, threads=threads, tiling=tiling, strict=False, scalars={}, make=memo.prepared)


class Counted(Workspace):
    """Memory that says how much was asked for."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    def take(self, size):
        self.asked += size
        return super().take(size)


@tw.stencil
def delayed(u):
    """Reads neighbours two steps back, so that it takes three versions."""
    return u[0, 0] - 0.3 * u.prev[0, 0] + 0.1 * u.prev[-1, 0] + 0.1 * u.prev[0, 1]


@pytest.mark.parametrize(
    ("name", "boundary", "steps", "tiling"),
    [
        ("heat2d", "nearest", 5, "none"),
        (delayed, "nearest", 6, "none"),
        (delayed, "nearest", 5, "none"),  # its levels change places before the last step
        ("heat2d", "nearest", 5, "streaming:t=2,s=64x64"),
        (delayed, "nearest", 5, "diamond:t=2,s=64x64"),
        ("heat2d", "wrap", 8, "hybrid:t=4,s=8x64"),
    ],
)
def test_what_a_session_takes_is_what_it_is_counted_with(name, boundary, steps, tiling):
    problem = make_problem(
        tw.program(name) if isinstance(name, str) else name.program, (700, 1100), steps, "float32", boundary
    )
    kernel = computer_of("c", tiling, 2).kernel(problem, copies=False)
    program, values = problem.program, np.ones(problem.shape, np.float32)
    arrays = {field: (values,) * program.history(field) for field in program.fields}
    scalars = dict.fromkeys(program.scalars, 0.1)
    for _ in range(2):  # what Python makes for the first session of a process alone, such as modules, is not counted
        memory = Counted()
        session = kernel.start(problem, Inputs(arrays=arrays, scalars=scalars), 2, memory)
        tracemalloc.start()
        session.advance(steps)
        more = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        session.close()
    assert session_bytes(kernel, problem, 2) == pytest.approx(memory.asked + more, rel=2e-3)


@pytest.mark.parametrize("name", ["heat2d_var", "wave2d"])
def test_what_numpy_takes_is_what_it_is_counted_with(name, monkeypatch):
    """What it keeps of every field, and two more versions of each, as a run in memory asks for."""
    problem = make_problem(tw.program(name), (40, 70), 3, "float64")
    kernel, asked = computer_of("numpy").kernel(problem), []
    monkeypatch.setattr("tilewright.runtime.kernels.check_memory", asked.append)
    program, values = problem.program, np.ones(problem.shape)
    arrays = {field: (values,) * program.history(field) for field in program.fields}
    kernel.start(problem, Inputs(arrays=arrays, scalars={}), 1)
    assert asked == [session_bytes(kernel, problem, 1)]


@pytest.mark.parametrize("levels", [1, 2])
def test_a_kernel_writes_the_only_level_that_is_wanted_itself(levels, monkeypatch):
    called, execute = [], compute.kernels.execute
    monkeypatch.setattr(compute.kernels, "execute", lambda *each: called.append(each) or execute(*each))
    problem = make_problem(tw.program("wave2d"), (40, 30), 4, "float64", "nearest")
    values = np.random.default_rng(1).random((2, 40, 30))
    out = [np.empty((40, 30)) for _ in range(levels)]
    computer_of("c").run(problem, {"u": list(values)}, {"u": out})
    assert len(called) == (levels == 1)
    right = tw.run("wave2d", tuple(values), steps=4, boundary="nearest", levels=True)
    for ours, theirs in zip(out, right, strict=False):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_a_slab_may_take_all_of_the_memory(monkeypatch):
    problem, computer = make_problem(tw.program("heat2d"), (400, 4096), 8), computer_of("numpy")
    monkeypatch.setattr(slabs, "session_bytes", lambda *_: 2**26)
    memory = streams.Buffers.bytes(problem, 400, 1) // 2**21 * 2**21 + 2**21 + 2**26  # in whole huge pages
    assert slabs.plan(problem, memory, memo.host(), computer).rows == 400
    assert slabs.plan(problem, memory - 1, memo.host(), computer).rows < 400


@pytest.mark.parametrize("name", ["heat2d", "wave2d"])
def test_what_is_too_little_memory_is_told_to_need_more(name):
    """Also of a wave, of which a pass makes two steps at least."""
    problem, told = make_problem(tw.program(name), (40, 9), 5, "float64"), []
    for memory in range(200, 6000, 50):
        try:
            slabs.plan(problem, memory, memo.host(), computer_of("numpy"))
        except tw.ArrayError as error:
            told.append(re.findall(r"([\d.]+ [KM]?i?B)", str(error))[:2])
    assert 10 < len(told) < 110
    for needs, has in told:
        assert parse_bytes(needs.replace(" ", "")) > parse_bytes(has.replace(" ", ""))


@pytest.mark.parametrize(("dtype", "given"), [("float32", "float32"), ("float64", "float64"), ("float64", "float32")])
def test_rows_are_read_to_where_their_elements_are_aligned(tmp_path, dtype, given):
    """Also those of an array in memory, which pass through nothing."""
    shape = (7, 100_003)
    values = np.random.default_rng(0).random((9, shape[1])).astype(given)
    np.save(tmp_path / "u.npy", values)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = allocate(disk.buffer_bytes(size))
    in_memory, in_file = disk.open_rows(values, "u"), disk.open_rows(tmp_path / "u.npy", "u")
    for rows, start in ((in_memory, 0), (in_file, in_file.phase(1) if dtype == given else 0)):
        part = disk.placed(memory, rows, 1, shape, dtype)
        assert part.ctypes.data - memory.ctypes.data == start
        assert part.flags.aligned
        rows.read(1, 8, part)
        np.testing.assert_array_equal(part, values[1:8])
    in_file.close()
    assert (in_memory.transfer_bytes(dtype), in_memory.missing_bytes) == (0, 0)
    assert in_file.phase(1) > 0


def test_a_file_is_given_its_space_when_it_is_made(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("os.posix_fallocate", lambda *each: asked.append(each[1:]), raising=False)
    disk.create_npy(tmp_path / "u.npy", (100, 30), "float64")
    assert asked == [(0, (tmp_path / "u.npy").stat().st_size)]
    assert np.load(tmp_path / "u.npy").shape == (100, 30)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(tw.ArrayError, match="cannot be made: No space left on device"):
        disk.create_npy(tmp_path / "v.npy", (100, 30), "float64")
    assert not (tmp_path / "v.npy").exists()
