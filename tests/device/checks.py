"""What must hold on a GPU; ``test_device.py`` asks it of one, ``test_rehearsal.py`` of the stand-in."""

import contextlib
import gc
import threading

import numpy as np

import tilewright as tw
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import cuda
from tilewright.runtime.devices.arrays import DeviceArray

SHAPES = {1: (1000,), 2: (70, 90), 3: (24, 26, 40)}
STEPS = 9
TILES = {
    "j1d3pt": ("none", "hexagonal:t=4,s=32", "skewed:t=2,s=24,sub=12", "diamond:t=2,s=12", "overlapped:t=3,s=40"),
    "j2d5pt": (
        "none", "hybrid:t=4,s=3x32", "streaming:t=3,s=24x20", "skewed:t=2,s=10x64,sub=5x32", "diamond:t=2,s=6x32",
        "overlapped:t=3,s=8x32",
    ),
    "j3d7pt": (
        "none", "hybrid:t=2,s=3x4x32", "streaming:t=2,s=12x10x36", "skewed:t=2,s=6x6x64,sub=3x3x32",
        "diamond:t=2,s=6x4x32", "overlapped:t=2,s=4x6x32",
    ),
}  # fmt: skip
"""Per program one tiling of every family that has kernels."""
LARGE = "hybrid:t=16,s=32x128,threads=1x128"
"""A tiling of two dimensions that needs more than 48 KiB on chip."""


def agrees(name, *, dtype="float32", tiling=None, boundary="fixed", shape=None, steps=STEPS):
    """A program computes what the reference computes, within the bound of rounding."""
    known = tw.program(name)
    dtype = "int32" if name == "smith_waterman" else dtype
    problem = make_problem(known, shape or SHAPES[known.rank], steps, dtype, boundary)
    generator = np.random.default_rng(0)
    arrays = {}
    for field in known.fields:
        levels = [generator.uniform(0.1, 1.0, problem.shape) for _ in range(known.history(field))]
        arrays[field] = [(20 * each if dtype == "int32" else each).astype(dtype) for each in levels]
    scalars = dict.fromkeys(known.scalars, 0.25)
    given = [tuple(levels) if len(levels) > 1 else levels[0] for levels in arrays.values()]
    out = tw.run(name, *given, steps=steps, boundary=boundary, backend="cuda", tiling=tiling, **scalars)
    results = dict(zip(known.updated, out if isinstance(out, tuple) else (out,), strict=True))
    exact, allowed = rounding.bound(problem, arrays, scalars)
    for field, result in results.items():
        error, good = rounding.worst_excess(result, exact[field], allowed[field])
        assert good, (field, error)


def on_card(values, number=0):
    """Copy values to a device, without any library's help."""
    device = cuda.select(str(number))
    buffer = device.allocate(values.nbytes)
    device.write(buffer, 0, np.ascontiguousarray(values))
    return DeviceArray(device.result(buffer, None), values.shape, values.dtype)


def smooth(shape=(70, 90)):
    """Values of a grid in two dimensions."""
    return np.random.default_rng(1).random(shape, dtype=np.float32)


def arrays_stay_on_the_device(number=0):
    """In by DLPack, out by DLPack, in again by the interface: the same as from the host, and inputs as they were."""

    class Interface:
        def __init__(self, array):
            self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__

    values = smooth()
    first = on_card(values, number)
    middle = tw.run("j2d5pt", first, steps=4)
    last = tw.run("j2d5pt", Interface(middle), steps=5)
    assert (middle.device, last.device) == (number, number)
    half = tw.run("j2d5pt", values, steps=4, backend=f"cuda:{number}")
    np.testing.assert_array_equal(np.asarray(middle), half)
    np.testing.assert_array_equal(np.asarray(last), tw.run("j2d5pt", half, steps=5, backend=f"cuda:{number}"))
    np.testing.assert_array_equal(np.from_dlpack(last, device="cpu"), np.asarray(last))
    np.testing.assert_array_equal(np.asarray(first), values)


def levels_and_periods_of_device_arrays_agree():
    """Several time levels and grids that wrap."""
    u, v = smooth(), smooth()[::-1].copy()
    for name, given, moved in (
        ("wave2d", ((u, v),), ((on_card(u), on_card(v)),)),
        ("heat2d_var", (u, v), (on_card(u), on_card(v))),
    ):
        for boundary in ("fixed", "wrap"):
            out = tw.run(name, *moved, steps=7, boundary=boundary)
            plain = tw.run(name, *given, steps=7, boundary=boundary, backend="cuda")
            np.testing.assert_array_equal(np.asarray(out), plain)


def current_context():
    """The CUDA context of this thread."""
    status, context = cuda.library().driver.cuCtxGetCurrent()
    assert int(status) == 0
    return int(context)


@contextlib.contextmanager
def context_is_kept():
    """What runs inside leaves this thread's context alone."""
    before = current_context()
    yield
    assert current_context() == before


def contexts_are_left_as_found(number=0):
    """In the caller's thread, in a new thread that has none, and where another thread drops a result."""
    held, seen = [], []

    def work():
        before = current_context()
        held.append(tw.run("j2d5pt", on_card(smooth(), number), steps=3))
        seen.append((before, current_context()))

    def drop():
        before = current_context()
        held.clear()
        gc.collect()
        seen.append((before, current_context()))

    with context_is_kept():
        work()
        for each in (work, drop):
            thread = threading.Thread(target=each)
            thread.start()
            thread.join()
        with cuda.select(str(number)).current():
            work()
            drop()
    assert len(seen) == 5
    assert all(before == after for before, after in seen)


def windows_agree(shape, steps=6, side=40):
    """A grid too large for the reference: windows of it do, at both ends and where offsets pass 2^31 bytes and cells.

    Args:
        shape: Extents of a grid in two dimensions.
        steps: Time steps.
        side: Cells of a window per axis.
    """
    rows, columns = shape
    values = np.empty(shape, np.float32)
    along = np.arange(columns, dtype=np.int64)
    for start in range(0, rows, 1024):
        down = np.arange(start, min(start + 1024, rows), dtype=np.int64)[:, None]
        values[start : start + 1024] = (7 * down + 13 * along) % 101 / 101
    out = tw.run("j2d5pt", values, steps=steps, backend="cuda")
    marks = {0, rows - side, *(cells // columns for cells in (2**29, 2**31) if cells // columns + side < rows)}
    for low in sorted(marks):
        for left in (0, columns // 2, columns - side):
            wide = tuple(
                slice(max(0, at - steps), min(extent, at + side + steps))
                for at, extent in zip((low, left), shape, strict=True)
            )
            expected = tw.run("j2d5pt", values[wide], steps=steps, backend="numpy")
            inner = tuple(slice(at - w.start, at - w.start + side) for at, w in zip((low, left), wide, strict=True))
            found = out[low : low + side, left : left + side]
            np.testing.assert_allclose(found, expected[inner], rtol=1e-5)
