"""The benchmark of GPUs without a GPU: CuPy's two forms on a stand-in, and a record that is gone on with."""

import argparse
import contextlib
import ctypes
import dataclasses
import functools
import itertools
import json
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from tilewright.machines.files import load
from tilewright.programs.stencil import catalogue, reference
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules.tiling import Tiling

FOLDER = Path(__file__).parents[1] / "benchmarks"
SHAPES = {1: (40,), 2: (11, 13), 3: (9, 8, 10)}


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


class Kernel:
    """What ``cupy.ElementwiseKernel`` does, by this machine's C compiler and for contiguous copies of its operands."""

    folder = Path()
    numbers = itertools.count()

    def __init__(self, inputs, output, text, name):
        assert output == "T out"
        assert name.isidentifier()
        self.names, self.text = [part.removeprefix("T ") for part in inputs.split(", ")], text

    def __call__(self, *arrays):
        *given, out = arrays
        assert {array.dtype for array in arrays} == {out.dtype}
        assert {array.shape for array in given} == {out.shape}
        kind = {"float32": "float", "float64": "double"}[str(out.dtype)]
        params = "".join(f"const T *in_{name}, " for name in self.names)
        loads = " ".join(f"T {name} = in_{name}[i];" for name in self.names)
        source = self.folder / f"k{next(self.numbers)}.c"
        source.write_text(
            f"#include <tgmath.h>\ntypedef {kind} T;\nvoid k(long n, {params}T *o) {{\n"
            f"for (long i = 0; i < n; ++i) {{ {loads} T out; {self.text} o[i] = out; }}\n}}\n"
        )
        library = source.with_suffix(".so")
        subprocess.run([*toolchain().command, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
        copies, result = [np.ascontiguousarray(array) for array in given], np.empty(out.shape, out.dtype)
        places = [ctypes.c_void_p(array.ctypes.data) for array in (*copies, result)]
        ctypes.CDLL(str(library)).k(ctypes.c_long(out.size), *places)
        out[...] = result


class Event:
    """An event that takes a second more than the one before."""

    times = itertools.count()

    def record(self):
        self.at = next(self.times)

    def synchronize(self):
        pass


@pytest.fixture
def cupy(monkeypatch, tmp_path):
    """NumPy under CuPy's name."""
    stand_in = types.ModuleType("cupy")
    for name in ("add", "subtract", "multiply", "divide", "sqrt", "negative"):
        setattr(stand_in, name, getattr(np, name))
    stand_in.asarray = stand_in.asnumpy = np.array
    monkeypatch.setattr(Kernel, "folder", tmp_path)
    stand_in.ElementwiseKernel = Kernel
    stand_in.get_default_memory_pool = lambda: types.SimpleNamespace(free_all_blocks=lambda: None)
    stand_in.cuda = types.SimpleNamespace(
        Event=Event,
        Device=lambda _: types.SimpleNamespace(use=lambda: None),
        get_elapsed_time=lambda first, last: 1000.0 * (last.at - first.at),
    )
    monkeypatch.setitem(sys.modules, "cupy", stand_in)


@pytest.mark.parametrize(
    ("name", "dtype", "form"),
    [
        *itertools.product(("gradient2d", "fdtd2d", "wave2d", "heat2d_var", "j3d7pt"), ("float64",), ("cupy",)),
        *itertools.product(("gradient2d", "fdtd2d", "wave2d"), ("float32",), ("cupy-fused",)),
    ],
)
@pytest.mark.usefixtures("cupy")
def test_cupys_forms_compute_what_the_reference_computes(name, dtype, form):
    from gpu_contenders import inputs
    from rivals.with_cupy import Cupy

    known = catalogue.program(name)
    problem = make_problem(known, SHAPES[known.rank], 1 if form == "cupy-fused" else 2, dtype)
    given = inputs(problem)
    rival = Cupy(form, problem, given)
    assert rival.run(2) == 1.0
    rival.fill(given)
    rival.run(problem.steps)
    if form == "cupy":
        rival.run(problem.steps)  # goes on
    steps = problem.steps * (2 if form == "cupy" else 1)
    exact = reference.run(make_problem(known, problem.shape, steps, dtype), given.arrays, given.scalars)
    found = rival.result()
    assert set(found) == set(exact)
    for field, values in exact.items():
        np.testing.assert_allclose(found[field], values, rtol=100 * np.finfo(dtype).eps, atol=0)
    rival.close()


@pytest.mark.usefixtures("cupy")
def test_what_cupy_cannot_do_is_said():
    from gpu_contenders import inputs
    from rivals import UnavailableError
    from rivals.with_cupy import Cupy

    problem = make_problem(catalogue.program("box3d2r"), (9, 9, 9), 2)
    with pytest.raises(UnavailableError, match="125 reads are more than 60"):
        Cupy("cupy-fused", problem, inputs(problem))
    table = make_problem(catalogue.program("smith_waterman"), (9, 9), 2, "int32")
    with pytest.raises(UnavailableError, match="recurrence"):
        Cupy("cupy", table, Inputs(arrays={}, scalars={}))


def options(tmp_path, **changes):
    plain = {"backend": "opencl:oclgrind", "programs": ["j1d3pt", "j2d5pt"], "catalogue": False, "dtypes": ["float32"]}
    plain |= {"steps": 9, "repeats": 1, "candidates": 1, "seconds": float("inf"), "list": False, "small": True}
    return argparse.Namespace(**{**plain, "machine": None, "output": tmp_path / "record.json", **changes})


@pytest.fixture
def bench(monkeypatch):
    """The benchmark, with cases that take a second of its clock each and measure nothing."""
    pytest.importorskip("pyopencl")
    import gpu

    clock = itertools.count()
    monkeypatch.setattr(gpu, "time", types.SimpleNamespace(monotonic=lambda: float(next(clock))))
    monkeypatch.setattr(gpu, "calibrated", lambda _: None)
    monkeypatch.setattr(gpu, "case", lambda *_: {"contenders": {"naive": {"checks": [{"passed": True}]}}})
    return gpu


def test_a_record_is_gone_on_with(bench, tmp_path, capsys):
    given = options(tmp_path, programs=["j1d3pt", "j2d5pt", "j3d7pt"])
    limited = argparse.Namespace(**{**vars(given), "seconds": 3.0})
    assert bench.run(limited) == bench.AGAIN
    assert "2 of 3 cases are left" in capsys.readouterr().err
    assert bench.run(argparse.Namespace(**{**vars(given), "list": True})) == bench.AGAIN
    assert [line.split()[2:] for line in capsys.readouterr().out.splitlines()] == [["done"], ["to", "do"], ["to", "do"]]
    assert bench.run(limited) == bench.AGAIN  # one case in every call at least
    assert bench.run(given) == 0
    document = json.loads(given.output.read_text())
    assert [each["program"] for each in document["cases"]] == given.programs
    with pytest.raises(SystemExit, match="a record with another small and steps"):
        bench.run(argparse.Namespace(**{**vars(given), "small": False}))


def test_failures_are_recorded_and_end_the_process_where_the_device_is_lost(bench, tmp_path, monkeypatch):
    from tilewright.base.errors import ArrayError, DeviceError

    def fail(error):
        def raising(*_):
            raise error

        return raising

    monkeypatch.setattr(bench, "case", fail(ArrayError("no memory", "")))
    assert bench.run(options(tmp_path, programs=["j1d3pt"])) == 1
    monkeypatch.setattr(bench, "case", fail(DeviceError("illegal access", "")))
    assert bench.run(options(tmp_path, programs=["j1d3pt", "j2d5pt"])) == 1  # the device has survived it
    monkeypatch.setattr(bench, "alive", lambda _, error: fail(error)())
    assert bench.run(options(tmp_path, programs=["j1d3pt", "j2d5pt", "j3d7pt", "wave2d"])) == bench.AGAIN
    cases = json.loads((tmp_path / "record.json").read_text())["cases"]
    assert [each["failed"] for each in cases] == ["no memory", "illegal access", "illegal access"]


class Tiles:
    """A stencil in NumPy as a contender; ``stale`` rows are computed from the row below of the version before.

    Such rows are the first of a tile of 32, at the first step of every time tile but the first.
    """

    def __init__(self, problem, time=1, *, stale=False):
        from gpu_contenders import inputs

        self.problem, self.time, self.stale, self.given = problem, time, stale, inputs(problem)
        self.one = make_problem(problem.program, problem.shape, 1, problem.dtype)
        self.samples, self.starts = 0, []
        self.refill()

    def refill(self):
        self.versions, self.steps = list(self.given.arrays["u"]), 0

    def run(self, steps):
        history = self.problem.program.history("u")
        self.starts.append(self.steps)
        for _ in range(steps):
            new = reference.run(self.one, {"u": self.versions[:history]}, {})["u"]
            if self.stale and self.steps and self.steps % self.time == 0:
                rows = np.arange(32, self.problem.shape[0] - 1, 32)
                old = np.array(self.versions[0])
                old[rows - 1] = self.before[rows - 1]
                wrong = reference.run(self.one, {"u": [old, *self.versions[1:history]]}, {})["u"]
                new[rows] = wrong[rows]
            self.before, self.versions = self.versions[0], [new, *self.versions]
            del self.versions[max(history, 1) :]
            self.steps += 1
        self.samples += 1
        return 1.0

    def entry(self, name):
        from gpu_contenders import Entry

        return Entry(
            name=name,
            tiling=f"streaming:t={self.time}",
            run=self.run,
            refill=self.refill,
            result=lambda: {"u": self.versions[0]},
            close=lambda: None,
        )


def standard_of(problem):
    """What ``gpu_contenders.standard`` returns, without a device."""
    from gpu_contenders import Standard, bound, worst

    results = {}
    for dtype in ("float64", "float32"):
        tiles = Tiles(make_problem(problem.program, problem.shape, problem.steps, dtype))
        tiles.run(problem.steps)
        results[dtype] = {"u": tiles.versions[0]}
    exact = results["float64"]
    allowed = bound(problem, exact, worst(results["float32"], exact))
    return Standard(steps=problem.steps, fields=exact, bound=allowed)


GRID = {1: (600,), 2: (100, 60)}


@pytest.mark.parametrize("name", ["j1d3pt", "j2d5pt", "wave2d"])
@pytest.mark.parametrize("time", [1, 4, 16, 64])
def test_the_check_after_few_steps_sees_a_stale_halo(name, time):
    from gpu_contenders import check, few_steps

    known = catalogue.program(name)
    problem = make_problem(known, GRID[known.rank], 1000)
    steps = few_steps(problem, Tiling(family="streaming", time=time, space=(8,)))
    assert steps == 2 * time + 3
    expected = standard_of(dataclasses.replace(problem, steps=steps))
    sound = check(Tiles(problem, time).entry("sound"), expected)
    assert sound.passed, sound
    stale = check(Tiles(problem, time, stale=True).entry("stale"), expected)
    assert not stale.passed, stale


def test_after_all_steps_a_stale_halo_is_below_what_rounding_may_do_but_not_like_the_naive_kernel():
    from gpu_contenders import bound, check

    problem = make_problem(catalogue.program("j2d5pt"), GRID[2], 1000)
    expected = standard_of(problem)
    stale = check(Tiles(problem, 4, stale=True).entry("stale"), expected)
    assert stale.max_error < bound(problem, expected.fields, float("inf"))
    assert not stale.passed
    assert check(Tiles(problem, 4).entry("sound"), expected).passed


def test_what_is_not_a_number_does_not_pass():
    from gpu_contenders import check

    problem = make_problem(catalogue.program("j2d5pt"), (9, 9), 2)
    tiles = Tiles(problem)
    tiles.given.arrays["u"][0][4, 4] = np.nan
    assert not check(tiles.entry("naive"), standard_of(problem)).passed


def test_a_contender_with_a_stale_halo_is_reported_and_not_timed(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyopencl")
    import gpu as bench
    import gpu_contenders

    problem = make_problem(catalogue.program("j2d5pt"), GRID[2], 200)
    sound, stale = Tiles(problem, 4), Tiles(problem, 8, stale=True)
    tilings = [Tiling(family="streaming", time=each.time, space=(8, 8)) for each in (sound, stale)]
    wanted = [
        gpu_contenders.Contender(name=name, tiling=tiling, open=functools.partial(tiles.entry, name))
        for name, tiling, tiles in zip(("sound", "stale"), tilings, (sound, stale), strict=True)
    ]
    monkeypatch.setattr(bench, "contenders", lambda *_: (wanted, {"hybrid": "no candidate runs"}, {}))
    monkeypatch.setattr(bench, "check_naive", lambda *_: 0.0)
    monkeypatch.setattr(bench, "standard", lambda _, problem: standard_of(problem))
    found = bench.case(None, problem, load("h200"), options(tmp_path, repeats=3))
    assert bench.wrong(found)
    checks = {name: [each["steps"] for each in found["contenders"][name]["checks"]] for name in ("sound", "stale")}
    assert checks == {"sound": [11, 200], "stale": [19, 200]}
    assert "stale is WRONG: off by" in capsys.readouterr().err
    assert found["contenders"]["stale"]["seconds"] == []
    assert found["contenders"]["sound"]["seconds"] == [1.0] * 3
    assert set(sound.starts) == {0}  # every run begins with the initial data
    assert found["out"] == {"hybrid": "no candidate runs"}


def test_a_program_that_does_not_smooth_is_among_those_of_a_plain_call(bench):
    assert set(bench.PROGRAMS) - set(bench.ROOFED) == {"wave2d"}


HARNESS = """
#include <cmath>
#include <initializer_list>
using namespace std;
struct Three { int x, y, z; };
Three blockIdx, threadIdx, blockDim;
#define __global__
%s
"""


class Host:
    """A device in this process's memory for a textbook's kernels, which take their turns cell by cell."""

    architecture, stream = "sm_90", None

    def __init__(self, folder):
        self.folder, self.core = folder, types.SimpleNamespace(
            ObjectCode=self, LaunchConfig=lambda grid, block: (grid, block), launch=self.launch
        )  # fmt: skip

    def compile_cuda(self, text, architecture):
        source, library = self.folder / "textbook.cpp", self.folder / "textbook.so"
        source.write_text(HARNESS % text)
        command = ["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", source, "-o", library]
        subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(library))
        return types.SimpleNamespace(cubin=b"")

    def from_cubin(self, _):
        return self

    def get_kernel(self, name):
        return getattr(self.library, name)

    def current(self):
        return contextlib.nullcontext()

    def allocate(self, size):
        return np.empty(size, np.uint8)

    def release(self, buffer):
        pass

    def write(self, buffer, offset, array):
        buffer[:] = np.ascontiguousarray(array).view(np.uint8).ravel()

    def read(self, buffer, offset, array):
        array[...] = buffer.view(array.dtype).reshape(array.shape)

    def timed(self, work):
        work()
        return 1.0

    def launch(self, stream, config, kernel, *arguments):
        plain = {"f": ctypes.c_float, "d": ctypes.c_double, "i": ctypes.c_int, "l": ctypes.c_longlong}
        given = [
            ctypes.c_void_p(each.ctypes.data) if isinstance(each, np.ndarray) else plain[each.dtype.char](each.item())
            for each in arguments
        ]
        counts = [(*each, 1, 1)[:3] for each in config]
        three = [(ctypes.c_int * 3).in_dll(self.library, name) for name in ("blockIdx", "threadIdx")]
        dims = (ctypes.c_int * 3).in_dll(self.library, "blockDim")
        dims[:] = counts[1]
        for block in itertools.product(*map(range, counts[0])):
            for thread in itertools.product(*map(range, counts[1])):
                three[0][:], three[1][:] = block, thread
                kernel(*given)


@pytest.mark.parametrize("name", ["j1d3pt", "j2d5pt", "wave2d", "heat2d_var", "fdtd2d", "gradient2d", "j3d27pt"])
def test_the_textbooks_kernels_compute_what_the_reference_computes(name, tmp_path, monkeypatch):
    from gpu_contenders import inputs
    from rivals import textbook
    from tilewright.runtime.devices import cuda, nvrtc

    host = Host(tmp_path)
    monkeypatch.setattr(nvrtc, "compile_cuda", host.compile_cuda)
    monkeypatch.setattr(cuda, "library", lambda: host)
    known = catalogue.program(name)
    shape = {1: (300,), 2: (13, 40), 3: (9, 12, 35)}[known.rank]
    problem = make_problem(known, shape, 3, "float64")
    given = inputs(problem)
    rival = textbook.Textbook(host, problem, given)
    assert rival.run(2) == 1.0
    rival.fill(given)
    rival.run(1)
    rival.run(2)  # goes on
    exact = reference.run(problem, given.arrays, given.scalars)
    found = rival.result()
    for field, values in exact.items():
        np.testing.assert_allclose(found[field], values, rtol=1e-13, atol=0)
    rival.close()


def test_the_textbooks_kernels_compile(monkeypatch):
    from rivals import textbook
    from tilewright.runtime.devices import nvrtc

    for name, dtype in itertools.product(("j2d5pt", "wave2d", "gradient2d", "j3d27pt"), ("float32", "float64")):
        known = catalogue.program(name)
        code = nvrtc.compile_cuda(textbook.source(make_problem(known, (64,) * known.rank, 2, dtype)), "sm_90")
        assert not code.resources.spill_bytes
    with pytest.raises(textbook.UnavailableError, match="recurrence"):
        textbook.Textbook(None, make_problem(catalogue.program("smith_waterman"), (9, 9), 2, "int32"), None)


def stale(session, time):
    """Leave the first row of a tile of 8 rows as it was, at the start of every time tile but the first."""
    advance = session.advance

    def advanced(steps, **options):
        for _ in range(steps):
            before = np.array(session.newest("u"))
            first = session.steps and session.steps % time == 0
            advance(1)
            if first:
                values = np.array(session.newest("u"))
                values[8] = before[8]
                session._device.write(session._buffers[0], session._offset("u", session._version), values)

    session.advance = advanced
    return session


@pytest.mark.parametrize("fault", [False, True])
def test_a_rehearsal_with_an_injected_stale_halo(tmp_path, monkeypatch, capsys, fault):
    """The kernels of a real device, all the way to the record; the fault is in every contender but the judges."""
    pytest.importorskip("pyopencl")
    import gpu as bench
    import gpu_contenders

    given = options(tmp_path, programs=["wave2d" if fault else "j2d5pt"], candidates=1, repeats=2)
    monkeypatch.setattr(bench, "SMALL", {2: (12, 14)})
    monkeypatch.setattr(bench, "calibrated", lambda _: load("h200"))
    if fault:
        original = gpu_contenders.ours

        def ours(device, problem, tiling, name):
            entry = original(device, problem, tiling, name)
            if name in {"hybrid", "streaming"}:
                session = stale(entry.run.__self__, min(tiling.time, 4))  # within the run's nine steps
                entry.run = lambda steps: (session.advance(steps), 1.0)[1]
            return entry

        monkeypatch.setattr(gpu_contenders, "ours", ours)
    assert bench.run(given) == int(fault)
    (found,) = json.loads(given.output.read_text())["cases"]
    assert {"naive", "default", "streaming", "hybrid"} <= set(found["contenders"]) | set(found["out"])
    passed = {name: [check["passed"] for check in each["checks"]] for name, each in found["contenders"].items()}
    wrong = {"hybrid", "streaming"} if fault else set()
    assert {name for name, all_of in passed.items() if not all(all_of)} == wrong
    assert ("is WRONG: off by" in capsys.readouterr().err) is fault
    for name, each in found["contenders"].items():
        assert len(each["seconds"]) in ({0} if name in wrong else {1, 2})
    for family, tried in found["candidates"].items():
        assert tried, family
        assert all(each["predicted_seconds"] > 0 and each["trial_seconds"] is not None for each in tried)


def test_the_card_says_its_clocks_power_and_driver(monkeypatch):
    from card import Card

    class NvmlError(Exception):
        pass

    def refused(*_):
        raise NvmlError

    nvml = types.SimpleNamespace(
        NVMLError=NvmlError, NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2, NVML_TEMPERATURE_GPU=0, nvmlInit=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda bus: bus, nvmlSystemGetDriverVersion=lambda: b"580.1",
        nvmlDeviceGetPowerManagementLimit=lambda _: 700000, nvmlDeviceGetMaxClockInfo=lambda _, kind: 1000 * kind,
        nvmlDeviceGetClockInfo=lambda _, kind: 900 * kind, nvmlDeviceGetPowerUsage=lambda _: 350500,
        nvmlDeviceGetTemperature=refused, nvmlDeviceGetCurrentClocksThrottleReasons=lambda _: 0x24,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    card = Card("0000:01:00.0")
    assert card.about() == {
        "driver": "580.1", "power_limit_watts": 700.0, "largest_sm_mhz": 1000, "largest_memory_mhz": 2000,
    }  # fmt: skip
    assert card.state() == {
        "sm_mhz": 900, "memory_mhz": 1800, "watts": 350.5, "celsius": None,
        "held_down_by": ["power cap", "temperature"],
    }  # fmt: skip
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert Card("").state() == {}
    assert "Error" in Card("").about()["nvml"]
