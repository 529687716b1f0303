"""On a real GPU: ``pytest -m device``, or ``compute-sanitizer pytest -m device`` for its accesses and races."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.programs.stencil.catalogue import names
from tilewright.runtime.devices import cuda
from tilewright.runtime.memory import available_bytes

from . import checks

pytestmark = pytest.mark.device

TURNS = 10
SPIN = 200_000_000
"""Cycles that keep a stream busy for about a tenth of a second, while a run that does not wait would be over."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", names())
def test_the_catalogue(card, name, dtype):
    checks.agrees(name, dtype=dtype)


@pytest.mark.parametrize(("name", "tiling"), [(name, tile) for name, tiles in checks.TILES.items() for tile in tiles])
@pytest.mark.parametrize("boundary", ["fixed", "mirror"])
def test_every_family(card, name, tiling, boundary):
    checks.agrees(name, tiling=tiling, boundary=boundary)


@pytest.mark.parametrize("name", ["j1d3pt", "j2d5pt", "wave2d", "j3d7pt"])
@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "wrap"])
def test_boundaries(card, name, boundary):
    checks.agrees(name, boundary=boundary, steps=20)


def test_a_tile_that_needs_more_than_48_kib_on_chip(card):
    if card.local_bytes < 96 * 1024:
        pytest.skip(f"{card.name} has {card.local_bytes} bytes on chip")
    checks.agrees("j2d5pt", tiling=checks.LARGE, shape=(200, 700), steps=40)


@pytest.mark.parametrize("shape", [(49152, 16384), (70000, 32768)], ids=["bytes", "cells"])
def test_offsets_beyond_two_to_the_31(card, shape):
    """Of bytes in both versions of the first grid; of cells in the second one."""
    size = 4 * shape[0] * shape[1]
    if card.memory_bytes < 2.5 * size:
        pytest.skip(f"{card.name} has {card.memory_bytes / 2**30:.0f} GiB, this needs {2.5 * size / 2**30:.0f}")
    if (available_bytes() or 0) < 4 * size:
        pytest.skip(f"the host has too little memory free, this needs {4 * size / 2**30:.0f} GiB")
    checks.windows_agree(shape)


FULL = {
    "j2d5pt": (16384, 16384), "box2d1r": (16384, 16384), "j3d7pt": (512, 512, 512), "j3d27pt": (512, 512, 512),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FULL)
def test_grids_of_full_size(card, name, dtype):
    """The default of a run, some time tiles deep; windows at every corner, edge and in the middle."""
    checks.windows_agree(FULL[name], steps=19, side=24, name=name, dtype=dtype)


def test_repeated_launches_are_graphs(card):
    checks.repeated_launches_agree()


def test_other_workloads(card):
    checks.workloads_agree()


def test_options_of_device_arrays(card):
    checks.options_of_device_arrays_agree()


def test_looks_and_points_of_device_arrays(card):
    checks.looks_and_points_of_device_arrays_agree()


def test_arrays_stay_on_the_device(card):
    checks.arrays_stay_on_the_device()


def test_levels_and_periods_of_device_arrays(card):
    checks.levels_and_periods_of_device_arrays_agree()


def test_contexts_are_left_as_found(card):
    checks.contexts_are_left_as_found()


def test_runs_in_several_threads(card):
    """They share a device and its stream."""
    values, found = checks.smooth(), []
    expected = tw.run("j2d5pt", values, steps=8, backend="cuda")

    def work():
        found.extend(tw.run("j2d5pt", values, steps=8, backend="cuda") for _ in range(TURNS))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * TURNS
    assert all(np.array_equal(each, expected) for each in found)


def test_every_device_computes_and_no_other(card):
    count = len(cuda.every())
    if count < 2:
        pytest.skip("needs several GPUs, there is one")
    for number in range(count):
        checks.arrays_stay_on_the_device(number)
        checks.contexts_are_left_as_found(number)
    with pytest.raises(tw.ArrayError, match="lies on GPU 1"):
        tw.run("j2d5pt", checks.on_card(checks.smooth(), 1), steps=1, backend="cuda:0")


@pytest.fixture
def torch(card):
    """PyTorch with CUDA."""
    library = pytest.importorskip("torch")
    if not library.cuda.is_available():
        pytest.skip("PyTorch is there without CUDA")
    return library


@pytest.fixture
def cupy(card):
    """CuPy that finds the GPU."""
    library = pytest.importorskip("cupy")
    if not library.cuda.is_available():
        pytest.skip("CuPy is there and finds no GPU")
    return library


@pytest.fixture
def jax(card):
    """JAX with CUDA."""
    library = pytest.importorskip("jax")
    try:
        library.devices("cuda")
    except RuntimeError as error:
        pytest.skip(f"JAX is there without CUDA: {error}")
    return library


def test_pytorch_streams_are_waited_for(torch):
    """The run starts while the stream that fills its array is still busy, and the array is overwritten at once."""
    side = torch.cuda.Stream()
    array = torch.zeros((1024, 1024), device="cuda")
    torch.cuda.synchronize()
    for turn in range(1, TURNS + 1):
        with torch.cuda.stream(side):
            torch.cuda._sleep(SPIN)
            array.fill_(float(turn))
            out = tw.run("j2d5pt", array, steps=0 if turn % 2 else 1, tiling="none")
            array.fill_(-1.0)
        with torch.cuda.stream(torch.cuda.Stream()):
            low, high = out.min().item(), out.max().item()
        assert isinstance(out, torch.Tensor)
        assert out.device == array.device
        if turn % 2:
            assert low == high == turn
        else:
            assert 0 < low <= high <= 1.001 * turn


def test_a_call_returns_while_pytorchs_stream_is_busy(torch):
    """Nobody waits on the host: the run and what comes after it are in the stream that is current."""
    side, array = torch.cuda.Stream(), torch.full((1024, 1024), 1.0, device="cuda")
    tw.run("j2d5pt", array, steps=4)  # compiled and loaded
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(10 * SPIN)
        out = tw.run("j2d5pt", array, steps=4)
        again = tw.run("j2d5pt", out, steps=4)
        busy = not side.query()
        total = again.sum()
    torch.cuda.synchronize()
    assert busy
    assert total.item() == pytest.approx(
        float(np.sum(tw.run("j2d5pt", np.ones((1024, 1024), np.float32), steps=8))), rel=1e-4
    )


def test_results_are_written_into_pytorchs_and_cupys_arrays(torch, cupy):
    values = checks.smooth((300, 400))
    expected = tw.run("j2d5pt", values, steps=5, backend="cuda")
    for array, target in (
        (torch.from_numpy(values).cuda(), torch.zeros((300, 400), device="cuda")),
        (cupy.asarray(values), cupy.zeros((300, 400), dtype=cupy.float32)),
    ):
        seen = []
        assert tw.run("j2d5pt", array, steps=5, out=target, every=2, callback=lambda k, u: seen.append(u)) is target  # noqa: B023
        assert {type(each) for each in seen} == {type(array)}
        np.testing.assert_array_equal(target.get() if hasattr(target, "get") else target.cpu().numpy(), expected)


def test_pytorch_on_the_host(torch):
    out = tw.run("j2d5pt", torch.from_numpy(checks.smooth()), steps=3, backend="cuda")
    assert isinstance(out, torch.Tensor)
    assert out.device.type == "cpu"


def test_cupy_streams_are_waited_for(cupy):
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { long long s = clock64(); while (clock64() - s < n); }', "spin"
    )
    side = cupy.cuda.Stream(non_blocking=True)
    array = cupy.zeros((1024, 1024), dtype=cupy.float32)
    cupy.cuda.Device().synchronize()
    for turn in range(1, TURNS + 1):
        with side:
            spin((1,), (1,), (np.int64(SPIN),))
            array.fill(turn)
            out = tw.run("j2d5pt", array, steps=0)
            array.fill(-1)
        with cupy.cuda.Stream(non_blocking=True):
            low, high = float(out.min()), float(out.max())
        assert isinstance(out, cupy.ndarray)
        assert low == high == turn


def test_a_stream_of_the_interface_is_waited_for(cupy):
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { long long s = clock64(); while (clock64() - s < n); }', "spin"
    )

    class Interface:
        def __init__(self, array, stream):
            self.array = array
            self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "version": 3, "stream": stream}

    side = cupy.cuda.Stream(non_blocking=True)
    array = cupy.zeros((1024, 1024), dtype=cupy.float32)
    cupy.cuda.Device().synchronize()
    for turn in range(1, TURNS + 1):
        with side:
            spin((1,), (1,), (np.int64(SPIN),))
            array.fill(turn)
        out = np.asarray(tw.run("j2d5pt", Interface(array, side.ptr), steps=0))
        assert out.min() == out.max() == turn


def test_jax_on_the_device(jax):
    values = checks.smooth((512, 512))
    array = jax.device_put(values, jax.devices("cuda")[0])
    late = jax.jit(lambda a: jax.lax.fori_loop(0, 2000, lambda _, b: jax.numpy.roll(b, 1), a))(array)
    out = tw.run("j2d5pt", late, steps=4)
    assert isinstance(out, jax.Array)
    assert out.devices() == array.devices()
    expected = tw.run("j2d5pt", np.asarray(late), steps=4, backend="cuda")
    np.testing.assert_array_equal(np.asarray(out), expected)


def test_arrays_of_jax_are_never_written(jax):
    array = jax.device_put(checks.smooth(), jax.devices("cuda")[0])
    with pytest.raises(tw.ArrayError, match="out is read-only"):
        tw.run("j2d5pt", array, steps=1, out=jax.numpy.zeros_like(array))


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck"])
def test_the_sanitizer_has_nothing_to_say(card, tool):
    """A small run of every family in a process of its own."""
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(program).exists():
        pytest.skip("there is no compute-sanitizer")
    text = "from device import checks\n" + "".join(
        f"checks.agrees({name!r}, tiling={tiling!r})\n" for name, tilings in checks.TILES.items() for tiling in tilings
    )
    found = subprocess.run(
        [program, "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", text],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-1000:]


def test_the_current_device_of_cupy_is_kept(cupy):
    count = cupy.cuda.runtime.getDeviceCount()
    with cupy.cuda.Device(count - 1), checks.context_is_kept():
        tw.run("j2d5pt", checks.smooth(), steps=3, backend="cuda:0")
        assert cupy.cuda.runtime.getDevice() == count - 1
