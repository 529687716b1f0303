"""What runs check of OpenCL's compilers: kernels that were broken on purpose, and when a text is checked."""

import dataclasses
from contextlib import contextmanager

import numpy as np
import pytest

import tilewright as tw
from tilewright import driver
from tilewright.base.errors import WrongResultError
from tilewright.codegen import ir
from tilewright.codegen.gpu.hybrid import HybridKernel
from tilewright.inputs.memo import forget
from tilewright.runtime import checks
from tilewright.runtime.devices import gpu
from tilewright.runtime.devices.opencl import OpenClDevice

pytestmark = pytest.mark.usefixtures("private_cache")
OPTIONS = {"steps": 2, "tiling": "none", "backend": "opencl:oclgrind"}


@pytest.fixture(autouse=True)
def compiled_by_anybody(monkeypatch):
    """The interpreter counts as a compiler that may be any, which has not been seen yet."""
    monkeypatch.setattr(OpenClDevice, "doubtful", True)
    monkeypatch.setattr(checks, "_trusted", set())
    monkeypatch.setattr(checks, "_OPERATIONS", 3e4)  # the interpreter is slow
    clear()
    yield
    clear()


def clear():
    """Forget every kernel that was built."""
    forget()
    gpu.load.cache_clear()
    gpu.compile_source.cache_clear()


@pytest.fixture
def checked(monkeypatch):
    """The tilings whose kernels were compared with NumPy."""
    found, compare = [], checks._difference

    def difference(kernel, seed):
        found.append(str(kernel.plan.tiling))
        return compare(kernel, seed)

    monkeypatch.setattr(checks, "_difference", difference)
    return found


@pytest.mark.parametrize(
    ("program", "boundary", "old", "new"),
    [
        ("j1d3pt", "fixed", "line0_0[1]", "line0_0[0]"),  # of blocks that nothing cuts
        ("j1d3pt", "mirror", "(n0 * 2)", "(n0 * 3)"),
        ("smith_waterman", "fixed", "(t7 - 1)", "(t7 - 2)"),
    ],
)
def test_code_that_computes_something_else_is_refused(monkeypatch, program, boundary, old, new):
    build, known = OpenClDevice.build, tw.program(program)

    def broken(device, source):
        assert old in source.text
        return build(device, dataclasses.replace(source, text=source.text.replace(old, new)))

    monkeypatch.setattr(OpenClDevice, "build", broken)
    u = np.zeros((20,) * known.rank, "int32" if program == "smith_waterman" else "float32")
    sentence = r"Oclgrind .*\(driver: OpenCL Oclgrind .*\d.*\) computes something else than NumPy: 'none' is off by"
    for _ in range(2):  # what failed once is not trusted the next time
        with pytest.raises(WrongResultError, match=sentence) as error:
            tw.run(program, *[u] * len(known.fields), boundary=boundary, **OPTIONS)
        assert "another device, or backend='c'" in error.value.hint


def test_a_text_is_checked_once_per_device_and_in_later_processes_not_again(monkeypatch, checked, tmp_path):
    u = np.random.default_rng(0).random(30, dtype=np.float32)
    for shape in (30, 20):
        tw.run("j1d3pt", u[:shape], **OPTIONS)
    assert checked == ["none"]
    tw.run("j1d3pt", u, boundary="mirror", **OPTIONS)
    assert checked == ["none"] * 2
    monkeypatch.setattr(checks, "_trusted", set())
    tw.run("j1d3pt", u, **OPTIONS)
    assert checked == ["none"] * 2
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "another"))
    monkeypatch.setattr(checks, "_trusted", set())
    tw.run("j1d3pt", u, **OPTIONS)
    assert checked == ["none"] * 3
    monkeypatch.setattr(checks, "_trusted", set())
    monkeypatch.setattr(OpenClDevice, "compiler", "OpenCL of a later version")
    tw.run("j1d3pt", u, **OPTIONS)
    assert checked == ["none"] * 4


def test_interpreters_and_processors_are_not_checked(monkeypatch, checked):
    monkeypatch.setattr(OpenClDevice, "doubtful", False)
    u = np.random.default_rng(0).random(30, dtype=np.float32)
    for backend in ("opencl:oclgrind", "c", "numpy"):
        tw.run("j1d3pt", u, **{**OPTIONS, "backend": backend})
    assert not checked


def test_numbers_that_tie_do_not_refuse_a_text(monkeypatch, checked):
    """Rounding decides what a program chooses: in one draw of random numbers, and hardly in a second one."""
    once = ["'none' is off"]
    monkeypatch.setattr(checks, "_difference", lambda *_: once.pop() if once else "")
    tw.run("j1d3pt", np.zeros(30, np.float32), **OPTIONS)
    assert not once


def test_everything_that_a_text_may_depend_on_can_be_checked(checked):
    """Scalars that vary, the step's number, places, sources and receivers, several fields and whole numbers."""

    def step(u, k, a):
        return a * (u[-1, 0] + u[0, 1]) * k[0, 0] + tw.where(tw.inside[2:-1, :7], tw.t * u.prev[0, 0], tw.index(1))

    draw, spots = np.random.default_rng(0), [(3.5, 4.5), (2.0, 2.0)]
    u, k = (draw.random((9, 12)) for _ in range(2))
    points = {"sources": tw.Points(spots, values=np.ones((2, 2))), "receivers": tw.Points(spots)}
    for boundary in ("wrap", "mirror", "constant:0.5"):
        for more in ({}, points):
            tw.run(step, (u, u), k, a=tw.per_step([0.1, 0.2]), boundary=boundary, **OPTIONS, **more)
    assert len(checked) == 6


@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
def test_a_compiler_that_is_wrong_is_found(monkeypatch, pocl):
    """PoCL 3.0 puts a barrier into the first loop of a branch, which threads of several rows enter differently."""

    @contextmanager
    def strided(self, name, span, axis, unroll=1):
        count = self.schedule.threads[axis]
        low = ir.Var(f"i{axis}") + span[0] if count > 1 else span[0]
        with self.b.loop(name, low, span[1], count, unroll=unroll):
            yield

    monkeypatch.setattr(HybridKernel, "_strided", strided)
    monkeypatch.setattr(checks, "_OPERATIONS", 6e6)
    driver._device_source.cache_clear()
    u = np.random.default_rng(0).random((64, 100), dtype=np.float32)
    try:
        with pytest.raises(WrongResultError, match=r"OpenCL Portable Computing Language .*'hybrid:t=2,s=3x16"):
            tw.run("j2d5pt", u, steps=2, tiling="hybrid:t=2,s=3x16", backend=pocl)
    finally:
        driver._device_source.cache_clear()
