"""What must hold on a GPU; ``test_device.py`` asks it of one, ``test_rehearsal.py`` of the stand-in."""

import contextlib
import gc
import itertools
import threading

import numpy as np
import pytest

import tilewright as tw
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import cuda
from tilewright.runtime.devices.arrays import DeviceArray
from tilewright.schedules.code import GroupBlock
from tilewright.sparse import device as sparse
from tilewright.sparse.dia import Dia, length
from tilewright.sparse.krylov import reference
from tilewright.sparse.lower.vectors import CATALOGUE
from tilewright.workloads.chains.device import fused_product
from tilewright.workloads.pipelines import device as pipelines
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.problem import compute, make_pipeline_problem

SHAPES = {1: (1000,), 2: (70, 90), 3: (24, 26, 40)}
STEPS = 9
TILES = {
    "j1d3pt": ("none", "hexagonal:t=4,s=32", "skewed:t=2,s=24,sub=12", "diamond:t=2,s=12"),
    "j2d5pt": (
        "none", "hybrid:t=4,s=3x32", "streaming:t=3,s=24x20", "skewed:t=2,s=10x64,sub=5x32", "diamond:t=2,s=6x32",
    ),
    "j3d7pt": (
        "none", "hybrid:t=2,s=3x4x32", "streaming:t=2,s=12x10x36", "skewed:t=2,s=6x6x64,sub=3x3x32",
        "diamond:t=2,s=6x4x32",
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


def repeated_launches_agree():
    """Runs so long that their launches repeat: what starts them at once computes the same."""
    for tiling in ("none", "streaming:t=3,s=24x20", "hybrid:t=4,s=3x32"):
        agrees("j2d5pt", tiling=tiling, shape=(20, 40), steps=101)
    agrees("wave2d", tiling="streaming:t=6,s=24x20", shape=(20, 40), steps=75)
    agrees("j2d5pt", boundary="wrap", tiling="none", shape=(20, 40), steps=101)


def options_of_device_arrays_agree():
    """Written into the caller's array, looked at on the way, ended early, recorded: as from the host."""
    values, seen = smooth((20, 40)), []
    given, target = on_card(values), on_card(np.zeros_like(values))
    expected = tw.run("j2d5pt", values, steps=9, backend="cuda")
    assert tw.run("j2d5pt", given, steps=9, out=target) is target
    np.testing.assert_array_equal(np.asarray(target), expected)
    for boundary in ("fixed", "wrap"):
        options = {"boundary": boundary, "every": 4}
        plain = {}
        tw.run("j2d5pt", values, steps=9, callback=lambda k, u: plain.update({k: u.copy()}), backend="cuda", **options)  # noqa: B023
        tw.run("j2d5pt", given, steps=9, callback=lambda k, u: seen.append((k, u)), **options)
        assert [step for step, _ in seen] == [4, 8, 9]
        assert all(isinstance(u, DeviceArray) for _, u in seen)
        for step, u in seen:
            np.testing.assert_array_equal(np.asarray(u), plain[step])
        seen.clear()
    ended = [
        tw.run("j2d5pt", each, steps=400, every=8, until=2e-3, record=True, boundary="mirror", backend="cuda")
        for each in (values, given)
    ]
    assert ended[0].steps_done == ended[1].steps_done < 400
    assert isinstance(ended[1].state, DeviceArray)
    np.testing.assert_array_equal(np.asarray(ended[1].state), ended[0].state)
    u, v = smooth(), smooth()[::-1].copy()
    levels = tw.run("wave2d", (u, v), steps=5, levels=True, boundary="wrap", backend="cuda")
    targets = on_card(np.zeros_like(u)), on_card(np.zeros_like(u))
    tw.run("wave2d", (on_card(u), on_card(v)), steps=5, levels=True, boundary="wrap", out=targets)
    for target, level in zip(targets, levels, strict=True):
        np.testing.assert_array_equal(np.asarray(target), level)


def windows_agree(shape, steps=6, side=40, name="j2d5pt", dtype="float32"):
    """A grid too large for the reference: windows of it do, at both ends and where offsets pass 2^31 bytes and cells.

    Args:
        shape: Extents of a grid.
        steps: Time steps.
        side: Cells of a window per axis.
        name: A program of one field, of reach 1, fixed at its edges.
        dtype: Element type.
    """
    rows, row = shape[0], int(np.prod(shape[1:], dtype=np.int64))
    values = np.empty(shape, dtype)
    flat, along = values.reshape(rows, row), 13 * np.arange(row, dtype=np.int64)
    for start in range(0, rows, 64):
        down = np.arange(start, min(start + 64, rows), dtype=np.int64)[:, None]
        flat[start : start + 64] = (7 * down + along) % 101 / 101
    out = tw.run(name, values, steps=steps, backend="cuda")
    bytes_of = values.itemsize
    marks = {0, rows - side, *(n // row for n in (2**31 // bytes_of, 2**31) if n // row + side < rows)}
    places = [sorted(marks), *((0, extent // 2, extent - side) for extent in shape[1:])]
    for low in itertools.product(*places):
        wide = tuple(
            slice(max(0, at - steps), min(extent, at + side + steps)) for at, extent in zip(low, shape, strict=True)
        )
        expected = tw.run(name, values[wide], steps=steps, backend="numpy")
        inner = tuple(slice(at - w.start, at - w.start + side) for at, w in zip(low, wide, strict=True))
        found = out[tuple(slice(at, at + side) for at in low)]
        np.testing.assert_allclose(found, expected[inner], rtol=1e-5 if dtype == "float32" else 1e-13)


def looks_and_points_of_device_arrays_agree():
    """Masks, sources and receivers, and runs that end early or blow up: as from the host."""
    rng = np.random.default_rng(1)
    values, k = smooth((20, 40)), rng.uniform(0.5, 1.0, (20, 40)).astype("float32")
    wavelet = np.sin(np.arange(9.0))
    sources = tw.Points([(8.5, 3.25), (11.0, 30.0)], values=np.stack([wavelet, 0.5 * wavelet], axis=1))
    receivers = tw.Points([(4.5, 6.25), (0.0, 0.0), (19.0, 39.0), (12.25, 30.5)])
    for boundary in ("fixed", "mirror", "wrap"):
        options = {"steps": 9, "boundary": boundary, "sources": sources, "receivers": receivers}
        expected, traces = tw.run("j2d5pt", values, backend="numpy", **options)
        for backend in ("auto", "cuda") if boundary == "fixed" else ("cuda",):
            state, recorded = tw.run("j2d5pt", on_card(values), backend=backend, **options)
            assert isinstance(state, DeviceArray)
            np.testing.assert_allclose(np.asarray(state), expected, rtol=1e-5, atol=1e-6)
            assert recorded.keys() == traces.keys()
            for field, rows in traces.items():
                np.testing.assert_allclose(recorded[field], rows, rtol=1e-5, atol=1e-6)
        for where in (k > 0.7, on_card((k > 0.7).astype("int32"))):
            state = tw.run("j2d5pt", on_card(values), steps=9, boundary=boundary, where=where)
            expected = tw.run("j2d5pt", values, steps=9, boundary=boundary, where=k > 0.7, backend="numpy")
            assert isinstance(state, DeviceArray)
            np.testing.assert_allclose(np.asarray(state), expected, rtol=1e-5, atol=1e-6)
    scaled = tw.Points([(8.5, 3.25)], values=wavelet, scale="k")
    program = tw.stencil(lambda u, k: u[0, 0] + k[0, 0] * (u[0, 1] - u[0, 0]))
    expected = tw.run(program, values, k, steps=9, sources=scaled, backend="numpy")
    state = tw.run(program, on_card(values), on_card(k), steps=9, sources=scaled)
    np.testing.assert_allclose(np.asarray(state), expected, rtol=1e-5, atol=1e-6)
    growing = tw.stencil(lambda u: u[0, 0] * u[0, 0] * 1e4)
    for given in (values + 2, on_card(values + 2)):
        with pytest.warns(match="not finite from step 4 on"):
            done = tw.run(growing, given, steps=40, every=8, boundary="wrap", record=True, backend="cuda")
        assert done.steps_done == 8


def workloads_agree():
    """Products, diagonals, vectors, a pipeline and a table are called on a device and agree with NumPy."""
    device, draw = cuda.select(), np.random.default_rng(2)
    first, second, third = (draw.standard_normal(shape) for shape in ((67, 30), (30, 45), (45, 50)))
    for fusion in ("left", "right"):
        block = GroupBlock(tile=(16, 24), cells=(2, 3), depth=5)
        product, _ = fused_product(device, fusion, (first, second, third), block)
        np.testing.assert_allclose(product, first @ second @ third, rtol=0, atol=1e-11)
    diagonals = {offset: draw.standard_normal(length((150, 210), offset)) for offset in (-40, -1, 0, 2, 60)}
    matrix, x = Dia.from_diagonals(diagonals, (150, 210)), draw.standard_normal(210)
    np.testing.assert_allclose(sparse.multiply(device, matrix, x, threads=64, unroll=2), matrix @ x, atol=1e-12)
    what = CATALOGUE["axpy_norm2"]
    vectors = [draw.standard_normal(1001) for _ in what.vectors]
    wanted, totals = reference(what, vectors, (0.5,))
    sums = sparse.apply(device, what, vectors, (0.5,), threads=64)
    np.testing.assert_allclose(sums, totals, rtol=1e-11)
    for mine, other in zip(vectors, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    program = tw.pipeline("sobel").program
    problem = make_pipeline_problem(program, (40, 70), "float32", "mirror")
    given = {grid: draw.random(problem.shape, np.float32) for grid in program.inputs}
    found = pipelines.execute(device, problem, fusions.full(program), (4, 16, 2, 1), given, ())
    pictures = compute(problem, [*given.values()], {})
    for grid in program.outputs:
        np.testing.assert_allclose(found[grid], pictures[grid], rtol=1e-5, atol=2e-6)
    for result in ("table", "last"):
        rows = [draw.integers(0, 4, size) for size in (50, 70)]
        table = tw.fill("edit_distance", *rows, result=result, backend="numpy")
        assert np.array_equal(tw.fill("edit_distance", *rows, result=result, backend="cuda"), table)
