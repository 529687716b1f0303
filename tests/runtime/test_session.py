"""Runs on the caller's own arrays: the same results as on copies, and only where arrays allow it."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ToolchainError
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import cpu, direct
from tilewright.runtime.session import Inputs, Session
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse


def tools():
    """The C compiler, if there is one."""
    try:
        return toolchain()
    except ToolchainError:
        return None


pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")

CASES = [
    ("j2d5pt", (37, 90), "streaming:t=3,s=20x32"),
    ("j2d5pt", (40, 160), "streaming:t=3,s=20x160"),
    ("wave2d", (37, 200), "streaming:t=3,s=20x200"),
    ("heat2d_var", (37, 64), "streaming:t=2,s=20x32"),
    ("fdtd2d", (30, 100), "streaming:t=2,s=16x32"),
    ("j1d3pt", (999,), "streaming:t=5,s=128"),
    ("j3d7pt", (18, 20, 264), "streaming:t=2,s=9x10x264"),
    ("j3d7pt", (30, 9, 256), "streaming:t=2,s=15x9x256"),  # whole rows, more planes than rows of a plane
]


def compiled_of(name, shape, text, steps, boundary="fixed"):
    problem = make_problem(program(name), shape, steps, "float32", boundary)
    tiling = catalogue.complete(problem, parse(text))
    (kernel,) = cpu.stencil_kernels(emit_tiling(problem, tiling), tools())
    return problem, kernel


def data(problem, seed=0):
    generator = np.random.default_rng(seed)
    chosen = problem.program
    return {
        field: [generator.random(problem.shape, dtype=np.float32) * 0.2 for _ in range(chosen.history(field))]
        for field in chosen.fields
    }


ONCE = [
    ("j2d5pt", (37, 90), "none", "nearest"),
    ("j2d5pt", (40, 160), "hybrid:t=2,s=8x32", "fixed"),
    ("wave2d", (37, 200), "skewed:t=2,s=16x32", "reflect"),
    ("wave2d", (1, 64), "none", "fixed"),
    ("heat2d_var", (512, 1024), "none", "constant"),
    ("j3d7pt", (18, 20, 264), "diamond:t=2,s=8x4x32", "mirror"),
    ("smith_waterman", (37, 33), "none", "fixed"),
    ("j1d3pt", (999,), "hexagonal:t=2,s=64", "fixed"),
]
"""A single step needs no memory of its own, in whatever order."""


@pytest.mark.parametrize(
    ("name", "shape", "text", "boundary", "every"),
    [*((*case, "fixed", (1, 2, 7)) for case in CASES), *((*case, (1,)) for case in ONCE)],
)
def test_the_same_bits_as_on_copies(name, shape, text, boundary, every):
    for steps in every:
        problem, kernel = compiled_of(name, shape, text, steps, boundary)
        arrays = data(problem)
        before = {field: [version.copy() for version in versions] for field, versions in arrays.items()}
        inputs = Inputs(arrays=arrays, scalars={})
        assert direct.applies(kernel, problem, inputs)
        found = direct.execute(kernel, problem, inputs, 2)
        session = Session(kernel, problem, inputs, 2)
        session.advance(steps, last=True)
        expected = session.results()
        session.close()
        for field, values in expected.items():
            np.testing.assert_array_equal(found[field], values)
            assert found[field].flags.c_contiguous
            assert found[field].flags.writeable
        for field, versions in before.items():
            for version, kept in zip(arrays[field], versions, strict=True):
                np.testing.assert_array_equal(version, kept)


def test_only_for_arrays_that_kernels_can_read_and_write():
    problem, kernel = compiled_of("j2d5pt", (40, 96), "streaming:t=3,s=20x96", 5)
    plain = data(problem)

    def applies(arrays, out=None):
        return direct.applies(kernel, problem, Inputs(arrays={"u": [arrays]}, scalars={}, out=out))

    (array,) = plain["u"]
    assert applies(array)
    assert not applies(np.asfortranarray(array))
    assert not applies(array.astype(np.float64))
    assert not applies(np.repeat(array, 2, axis=1)[:, ::2])
    assert applies(array, {"u": np.empty_like(array)})
    assert not applies(array, {"u": array})
    assert not applies(array, {"u": np.empty((40, 96), np.float64)})
    hybrid, other = compiled_of("j2d5pt", (40, 96), "hybrid:t=4,s=4x32", 5)
    assert not direct.applies(other, hybrid, Inputs(arrays=plain, scalars={}))


def test_a_result_written_in_place_of_the_input():
    array = data(make_problem(program("j2d5pt"), (40, 96), 5, "float32"))["u"][0]
    expected = tw.run("j2d5pt", array, steps=5, tiling="none")
    out = array.copy()
    tw.run("j2d5pt", out, steps=5, tiling="streaming:t=3,s=20x96", out=out)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_what_lies_outside_of_results_is_not_touched():
    problem, kernel = compiled_of("j2d5pt", (40, 90), "streaming:t=3,s=20x32", 5)
    memory = np.full(40 * 90 + 64, 7, np.float32)
    for shift in (0, 1, 16, 17):
        memory[:] = 7
        out = memory[shift : shift + 3600].reshape(40, 90)
        inputs = Inputs(arrays=data(problem), scalars={}, out={"u": out})
        assert direct.applies(kernel, problem, inputs)
        direct.execute(kernel, problem, inputs, 2)
        assert np.all(memory[:shift] == 7)
        assert np.all(memory[shift + 3600 :] == 7)
        np.testing.assert_array_equal(out[0], inputs.arrays["u"][0][0])


@pytest.mark.parametrize(
    ("name", "boundary", "first"),
    [
        ("wave2d", "fixed", 1),
        ("wave3d", "fixed", 1),
        ("wave2d", "nearest", 0),
        ("j2d9pt", "fixed", 0),
        ("fdtd2d", "fixed", 0),
    ],
)
def test_the_first_vector_of_a_row_starts_a_cache_line(name, boundary, first):
    """That of the first updated cell where all statements update in place, else that of the first cell."""
    shape = (12, 20, 40)[-program(name).rank :]
    problem, kernel = compiled_of(name, shape, "none", 4, boundary)
    arrays = {field: (np.zeros(shape, "float32"),) for field in problem.program.fields}
    session = Session(kernel, problem, Inputs(arrays=arrays, scalars={}), 1)
    try:
        for field in problem.program.fields:
            assert session.newest(field)[..., first:].ctypes.data % 64 == 0
    finally:
        session.close()


def test_rows_in_turn_that_share_sets_of_l1_are_computed_in_memory_of_their_own():
    for columns, on_given in ((1000, True), (1024, False)):
        problem, kernel = compiled_of("smith_waterman", (40, columns), "none", 1)
        assert direct.applies(kernel, problem, Inputs(arrays=data(problem), scalars={})) is on_given


def test_only_what_is_read_and_overwritten_is_copied(monkeypatch):
    copied = []
    monkeypatch.setattr(direct, "copy_jobs", lambda target, *_: copied.append(target) or [])
    for name, count in (("smith_waterman", 0), ("j2d5pt", 0), ("wave2d", 1), ("fdtd2d", 3)):
        problem, kernel = compiled_of(name, (40, 50), "none", 1)
        copied.clear()
        direct.execute(kernel, problem, Inputs(arrays=data(problem), scalars={}), 1)
        assert len(copied) == count
