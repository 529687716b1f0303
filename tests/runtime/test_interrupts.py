"""Signals while kernels compute: they are answered, a kernel ends early at an exception, and else nothing changes."""

import ctypes
import itertools
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.runtime import call
from tilewright.runtime.interrupts import HOOK
from tilewright.workloads.pipelines import call as pipelines

PATIENCE = 300.0
"""Seconds for what takes a few; every run below would take many times as long to its end."""
TILINGS = {
    "long steps": ("jacobi2d", (600, 700), {"tiling": "none"}),
    "short steps": ("jacobi2d", (60, 70), {"tiling": "none", "steps": 400}),
    "hybrid": ("jacobi2d", (60, 70), {"tiling": "hybrid:t=2,s=4x16"}),
    "diamond": ("jacobi2d", (60, 70), {"tiling": "diamond:t=4,s=8x8"}),
    "skewed": ("jacobi2d", (60, 70), {"tiling": "skewed:t=2,s=8x8"}),
    "streaming": ("jacobi2d", (60, 70), {"tiling": "streaming:t=4,s=20x64"}),
    "copied": ("jacobi2d", (60, 70), {"tiling": "streaming:t=4,s=20x64", "every": 1000}),
    "two fields": ("fdtd2d", (600, 700), {"tiling": "none"}),
    "batch": ("jacobi2d", (40, 12, 16), {"axes": (1, 2)}),
}
INTERRUPTED = """
import signal, sys, threading
import numpy as np, tilewright as tw

draw, steps = np.random.default_rng(0), 2**31 - 1
u, line = draw.random((300, 300)), draw.random(1000)
letters = "".join(draw.choice(list("ACGT"), 400_000))  # before: NumPy takes a signal that comes while it lists letters
seidel = tw.stencil(lambda u: 0.5 * (u.new[-1, 0] + u[1, 0]))
cases = {
    "run": lambda: tw.run("heat2d", u, steps=steps, threads=1),
    "threads": lambda: tw.run("heat2d", u, steps=steps, threads=2),
    "steps": lambda: tw.run("jacobi1d", line, steps=steps, tiling="none", threads=2),
    "batch": lambda: tw.run("heat2d", np.stack([u] * 4), steps=steps, axes=(1, 2)),
    "recurrence": lambda: tw.run(seidel, u, steps=steps),
    "gradient": lambda: tw.vjp("heat2d", u, steps=10**6),
    "alignment": lambda: tw.align(letters, letters[::-1]),
}
for name in tw.__all__:
    getattr(tw, name)  # modules are loaded before: Python itself cannot load again what a signal left half loaded
signal.signal(signal.SIGALRM, signal.default_int_handler)
for name, run in cases.items():
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        run()
    except KeyboardInterrupt:
        print(name, threading.active_count(), flush=True)
again = tw.run("heat2d", u, steps=20)
print(bool(np.allclose(again, tw.run("heat2d", u, steps=20, backend="numpy"))))
"""


@contextmanager
def asked(answers):
    """Let the kernels that are loaded ask here, -1 being the last word; yields what was answered so far."""
    given, left = [], iter(answers)

    def answer():
        given.append(next(left, -1))
        return given[-1]

    called = ctypes.CFUNCTYPE(ctypes.c_int64)(answer)
    before = {}
    for _, library in list(call._loaded.values()):
        try:
            variable = ctypes.c_void_p.in_dll(library, HOOK)
        except ValueError:
            continue
        before[id(variable)] = variable, variable.value
        variable.value = ctypes.cast(called, ctypes.c_void_p).value
    try:
        yield given
    finally:
        for variable, value in before.values():
            variable.value = value


@pytest.mark.filterwarnings("ignore:values of")  # what is not computed holds what the memory held
@pytest.mark.parametrize(("case", "threads"), covering(list(TILINGS), [1, 2, 3]))
def test_a_kernel_ends_at_once_when_nobody_wants_its_results(case, threads):
    program, shape, options = TILINGS[case]
    fields = 3 if program == "fdtd2d" else 1
    arrays = np.random.default_rng(0).random((fields, *shape), dtype=np.float32)
    options = {"steps": 40, "threads": threads, **options}
    expected = tw.run(program, *arrays, **options)
    with asked(itertools.repeat(0)) as whole:
        found = tw.run(program, *arrays, **options)
    np.testing.assert_array_equal(found, expected)
    assert len(whole) > 3
    for wanted in (0, 1, 2):
        with asked([*[0] * wanted, -1]) as given:
            tw.run(program, *arrays, **options)
        # Of many grids each has a kernel that asks.
        assert len(given) == wanted + 1 if "axes" not in options else len(given) < len(whole)
    np.testing.assert_array_equal(tw.run(program, *arrays, **options), expected)


LONG_STEPS = {
    "rows": ("jacobi2d", (4096, 512), 8),
    "few long rows": ("jacobi2d", (32, 2**16), 8),
    "planes": ("heat3d", (64, 128, 128), 4),
    "line": ("jacobi1d", (2**20,), 4),
    "two fields": ("fdtd2d", (2048, 512), 8),
    "recurrence": (tw.stencil(lambda u: 0.5 * (u.new[-1, 0] + u[1, 0]), name="sweep"), (200, 40), 190),
    "recurrence along a line": (tw.stencil(lambda u: 0.5 * (u.new[-1] + u[1]), name="scan"), (2**20,), 4),
}


@pytest.mark.parametrize("case", LONG_STEPS)
def test_a_long_step_asks_between_its_blocks(case):
    """One step without tiles of a grid so large that a heavy body takes seconds for it."""
    program, shape, least = LONG_STEPS[case]
    fields = 3 if program == "fdtd2d" else 1
    arrays = np.random.default_rng(0).random((fields, *shape), dtype=np.float32)
    options = {"steps": 1, "tiling": "none", "threads": 1}
    if case == "recurrence along a line":
        inner = itertools.accumulate(
            arrays[0].tolist()[2:], lambda last, u: 0.5 * (last + u), initial=float(arrays[0, 0])
        )
        expected = np.append(list(inner), arrays[0, -1])
    else:
        expected = tw.run(program, *arrays, **options, backend="numpy")
    tw.run(program, *arrays, **options)
    with asked(itertools.repeat(0)) as whole:
        found = tw.run(program, *arrays, **options)
    for one, other in zip(*((each if fields > 1 else [each]) for each in (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert len(whole) >= least
    with asked([0, 0, 0, -1]) as given:
        tw.run(program, *arrays, **options)
    assert len(given) == 4


@pytest.mark.parametrize("steps", [64, 65, 128])
def test_short_steps_ask_between_stretches(steps):
    """A question costs as much as some tens of cells: it must not come with every step of few cells."""
    u, options = np.zeros(100, np.float32), {"steps": steps, "tiling": "none", "threads": 1}
    tw.run("jacobi1d", u, **options)
    with asked(itertools.repeat(0)) as given:
        tw.run("jacobi1d", u, **options)
    assert len(given) == -(-steps // 64)


def test_pipelines_ask_between_bands(monkeypatch):
    image = np.random.default_rng(0).random((600, 400), dtype=np.float32)
    expected = tw.image.blur(image, sigma=1.5, threads=1)
    monkeypatch.setattr(pipelines, "_BAND_CELLS", 2**14)
    with asked(itertools.repeat(0)) as whole:
        np.testing.assert_array_equal(tw.image.blur(image, sigma=1.5, threads=1), expected)
    assert len(whole) >= 600 * 400 // 2**14
    with asked([0, 0, 0, -1]) as given:
        tw.image.blur(image, sigma=1.5, threads=1)
    assert len(given) == 4


def test_who_is_patient_asks_less_often():
    u = np.random.default_rng(0).random((60, 70), dtype=np.float32)
    options = {"steps": 40, "tiling": "streaming:t=4,s=20x64", "threads": 1}
    tw.run("jacobi2d", u, **options)
    with asked(itertools.repeat(0)) as always:
        tw.run("jacobi2d", u, **options)
    with asked(itertools.repeat(3)) as seldom:
        tw.run("jacobi2d", u, **options)
    assert len(seldom) == -(-len(always) // 4)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system sends no signal by a clock")
def test_every_kind_of_run_ends_at_an_exception_of_a_handler_and_leaves_no_thread():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    names = ("run", "threads", "steps", "batch", "recurrence", "gradient", "alignment")
    assert done.stdout.split("\n") == [*(f"{name} 1" for name in names), "True", ""], done.stderr


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system sends no signal by a clock")
def test_a_handler_that_raises_nothing_changes_nothing():
    u, seen = np.random.default_rng(0).random((200, 300)), []
    expected = tw.run("heat2d", u, steps=5_000)
    before = signal.signal(signal.SIGALRM, lambda number, _frame: seen.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        found = tw.run("heat2d", u, steps=5_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(found, expected)
    assert seen


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system sends no signal by a clock")
def test_a_handler_may_compute_too():
    u, found = np.random.default_rng(0).random((200, 300)), []
    expected, short = (tw.run("heat2d", u, steps=steps) for steps in (5_000, 10))
    before = signal.signal(signal.SIGALRM, lambda *_: found.append(tw.run("heat2d", u, steps=10)))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        result = tw.run("heat2d", u, steps=5_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(found[0], short)


def test_other_threads_compute_to_the_end():
    u, found = np.random.default_rng(0).random((60, 70)), []
    expected = tw.run("heat2d", u, steps=50)
    worker = threading.Thread(target=lambda: found.append(tw.run("heat2d", u, steps=50)))
    worker.start()
    worker.join()
    np.testing.assert_array_equal(found[0], expected)
