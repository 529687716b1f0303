"""Copies by the kernels' team: large arrays of whole rows, bit for bit; all others are left."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.codegen.rows import copy_source
from tilewright.runtime import call, cpu

pytestmark = pytest.mark.usefixtures("private_folders")


def pair(shape, dtype="float32", *, padding=3):
    """A target with cells beside its rows and planes, and a source."""
    source = np.random.default_rng(3).integers(0, 200, shape).astype(dtype)
    wide = np.zeros([extent + padding for extent in shape], dtype)
    return wide, wide[tuple(slice(extent) for extent in shape)], source


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((700, 1003), "float32"), ((41, 60, 301), "float32"), ((301, 7001), "uint8"), ((17, 20000), "complex64")],
)
def test_every_cell_is_copied_and_none_beside(shape, dtype, threads):
    wide, target, source = pair(shape, dtype)
    assert cpu.copied_by_team([(target, source)], threads, call.if_compiled(copy_source)) == []
    np.testing.assert_array_equal(target, source)
    assert np.count_nonzero(wide) == np.count_nonzero(source)


def test_rows_may_be_repeated_or_run_backwards():
    _, target, source = pair((900, 1000))
    for given in (np.broadcast_to(source[7], source.shape), source[::-1]):
        assert cpu.copied_by_team([(target, given)], 2, call.if_compiled(copy_source)) == []
        np.testing.assert_array_equal(target, given)


def test_what_is_small_converted_or_not_of_whole_rows_is_left():
    _, target, source = pair((900, 1000))
    _, small, few = pair((90, 100))
    _, line, cells = pair((900_000,))
    left = [
        (small, few),
        (line, cells),
        (target, source.astype("float64")),
        (target, np.asfortranarray(source)),
        (target, np.broadcast_to(source[:, :1], source.shape)),
    ]
    _, own, values = pair((800, 1000))
    found = cpu.copied_by_team([left[0], (own, values), *left[1:]], 2, call.if_compiled(copy_source))
    assert [tuple(map(id, each)) for each in found] == [tuple(map(id, each)) for each in left]
    np.testing.assert_array_equal(own, values)
    assert not target.any()


def test_without_a_compiler_or_threads_all_is_left(monkeypatch):
    pairs = [pair((900, 1000))[1:]]
    kernel = cpu.CompiledKernel(function=None, parallel=True, layout=None)
    assert cpu.CompiledKernel(function=None, parallel=False, layout=None).copied(pairs, 2) is pairs
    for found in (call.CompiledFunction(function=None, parallel=False), None):
        monkeypatch.setattr(cpu, "if_compiled", lambda _emit, found=found: found)
        assert kernel.copied(pairs, 2) is pairs
    monkeypatch.undo()
    assert kernel.copied(pairs, 2) == []


def test_a_large_run_is_copied_so_in_and_out(monkeypatch):
    u = np.random.default_rng(5).random((900, 1000)).astype("float32")
    options = {"steps": 3, "threads": 2, "tiling": "none"}
    left, copied = [], cpu.CompiledKernel.copied

    def noted(self, pairs, threads):
        left.append(len(copied(self, pairs, threads)) - len(pairs))
        return pairs  # once more by NumPy

    monkeypatch.setattr(cpu.CompiledKernel, "copied", noted)
    expected = tw.run("j2d5pt", u, **options)
    assert [each < 0 for each in left] == [True, True]
    monkeypatch.undo()
    np.testing.assert_array_equal(tw.run("j2d5pt", u, **options), expected)
