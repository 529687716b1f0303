"""The reference against scipy.ndimage, numpy.pad and plain loops."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from tilewright.programs.stencil import reference
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Profile
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil

MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
_NUMPY = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


def _correlation(weights):
    """A stencil whose weights lie around the centre of an odd-sized kernel."""
    u = FieldBuilder("u")
    total = 0.0
    for index in np.ndindex(*weights.shape):
        offset = tuple(i - extent // 2 for i, extent in zip(index, weights.shape, strict=True))
        total = total + float(weights[index]) * u[offset]
    return stencil("correlation", weights.ndim, {"u": total})


def test_profiles_have_beyond_an_axis_what_they_have_at_its_ends():
    places, line = np.arange(-2, 6), np.array([5.0, 7.0, 8.0, 9.0])
    node = Profile("d", 0, shift=1)
    found = reference.along(node, places, 4, np.dtype("float64"), {"d": line})
    assert found.tolist() == [5, 5, 7, 8, 9, 9, 9, 9]
    assert reference.along(replace(node, wraps=True), places, 4, np.dtype("float64"), {"d": line}).tolist() == [
        9, 5, 7, 8, 9, 5, 7, 8,
    ]  # fmt: skip


def test_against_scipy_correlate():
    for mode, (shape, kernel) in itertools.product(
        MODES, [((17,), (3,)), ((9,), (7,)), ((8, 11), (3, 5)), ((6, 7), (1, 3)), ((5, 6, 7), (3, 3, 5))]
    ):
        generator = np.random.default_rng(5)
        weights = generator.uniform(-0.3, 0.3, kernel)
        start = generator.standard_normal(shape)
        problem = make_problem(_correlation(weights), shape, 3, "float64", Boundary(kind=mode, value=0.75))
        expected = start
        for _ in range(3):
            expected = ndimage.correlate(expected, weights, mode=mode, cval=0.75)
        result = reference.run(problem, {"u": [start]}, {})["u"]
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_against_scipy_convolve(mode):
    generator = np.random.default_rng(6)
    weights = generator.uniform(-0.3, 0.3, (3, 3))
    start = generator.standard_normal((9, 8))
    problem = make_problem(_correlation(weights[::-1, ::-1]), (9, 8), 1, "float64", Boundary(kind=mode, value=-2.0))
    expected = ndimage.convolve(start, weights, mode=mode, cval=-2.0)
    result = reference.run(problem, {"u": [start]}, {})["u"]
    np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


def test_reads_far_outside_tiny_grids():
    for mode, extent, offset in itertools.product(
        ["nearest", "reflect", "mirror", "wrap"], [1, 2, 3, 5], [-11, -4, 1, 7, 64]
    ):
        start = np.arange(1.0, extent + 1)
        problem = make_problem(stencil("far", 1, {"u": FieldBuilder("u")[offset] + 0.0}), (extent,), 1, "float64", mode)
        padded = np.pad(start, 64, mode=_NUMPY[mode])
        expected = padded[64 + offset : 64 + offset + extent]
        assert (reference.run(problem, {"u": [start]}, {})["u"] == expected).all(), (mode, extent, offset)


@pytest.mark.parametrize("mode", MODES)
def test_far_reads_against_scipy(mode):
    generator = np.random.default_rng(7)
    weights = generator.uniform(-0.3, 0.3, (5, 7))
    start = generator.standard_normal((3, 4))
    problem = make_problem(_correlation(weights), (3, 4), 2, "float64", mode)
    expected = start
    for _ in range(2):
        expected = ndimage.correlate(expected, weights, mode=mode)
    np.testing.assert_allclose(reference.run(problem, {"u": [start]}, {})["u"], expected, rtol=1e-13, atol=1e-13)


def _padded_by_numpy(array, sides, by):
    for axis, pair in enumerate(sides):
        for end, side in enumerate(pair):
            width = [(0, 0)] * array.ndim
            width[axis] = (by, 0) if end == 0 else (0, by)
            if side.kind == "constant":
                array = np.pad(array, width, constant_values=side.value)
            else:
                # Both ends see the axis as it was: pad the original ends, not what the other end has added.
                inner = [slice(None)] * array.ndim
                inner[axis] = slice(by * end, None)
                grown = np.pad(array[tuple(inner)], width, mode=_NUMPY[side.kind])
                kept = [slice(None)] * array.ndim
                kept[axis] = slice(0, by * end)
                array = np.concatenate([array[tuple(kept)], grown], axis=axis)
    return array


@pytest.mark.parametrize("seed", range(40))
def test_mixed_boundaries_against_numpy_pad(seed):
    generator = np.random.default_rng(seed)
    kinds = [k for k in (*_NUMPY, "constant") if k != "wrap"]
    shape = tuple(int(n) for n in generator.integers(1, 7, 2))

    def axis():
        if generator.random() < 0.2:
            return (Boundary(kind="wrap"),) * 2
        return tuple(Boundary(kind=str(generator.choice(kinds)), value=float(generator.integers(9))) for _ in range(2))

    sides = (axis(), axis())
    u = FieldBuilder("u")
    offsets = [tuple(int(o) for o in generator.integers(-4, 5, 2)) for _ in range(4)]
    value = u[offsets[0]] + 2.0 * u[offsets[1]] - u[offsets[2]] * u[offsets[3]]
    problem = make_problem(stencil("mixed", 2, {"u": value}), shape, 1, "float64", sides)
    start = generator.integers(-9, 9, shape).astype(float)
    padded = _padded_by_numpy(start, sides, 4)
    a, b, c, d = (padded[4 + i : 4 + i + shape[0], 4 + j : 4 + j + shape[1]] for i, j in offsets)
    assert (reference.run(problem, {"u": [start]}, {})["u"] == a + 2 * b - c * d).all()


def test_fixed_edges_keep_their_values():
    generator = np.random.default_rng(1)
    u = FieldBuilder("u")
    problem = make_problem(stencil("lopsided", 2, {"u": 0.5 * (u[-2, 0] + u[0, 1])}), (7, 6), 4, "float64")
    start = generator.standard_normal((7, 6))
    expected = start.copy()
    for _ in range(4):
        old = expected.copy()
        for i, j in itertools.product(range(2, 7), range(5)):
            expected[i, j] = 0.5 * (old[i - 2, j] + old[i, j + 1])
    result = reference.run(problem, {"u": [start]}, {})["u"]
    assert (result == expected).all()
    assert (result[:2] == start[:2]).all()
    assert (start != result).any()


def test_two_time_levels():
    generator = np.random.default_rng(2)
    new, old = generator.standard_normal((2, 6, 7))
    problem = make_problem(program("wave2d"), (6, 7), 5, "float64", Boundary(kind="constant"))
    now, before = new, old
    ring = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    for _ in range(5):
        now, before = 2 * now - before + 0.1 * ndimage.correlate(now, ring, mode="constant"), now
    result = reference.run(problem, {"u": [new, old]}, {})["u"]
    np.testing.assert_allclose(result, now, rtol=1e-12, atol=1e-12)
    missing = reference.run(problem, {"u": [new]}, {})["u"]
    assert (missing == reference.run(problem, {"u": [new, new]}, {})["u"]).all()


def test_fixed_cells_agree_in_every_version():
    problem = make_problem(program("wave2d"), (6, 7), 2, "float64")
    generator = np.random.default_rng(3)
    new, old = generator.standard_normal((2, 6, 7))
    state = reference.start(problem, {"u": [new, old]})
    assert (state["u"][1][0] == new[0]).all()
    assert (state["u"][1][1:-1, 1:-1] == old[1:-1, 1:-1]).all()


def test_ordered_statements():
    generator = np.random.default_rng(4)
    ey, ex, hz = start = generator.standard_normal((3, 6, 7))
    problem = make_problem(program("fdtd2d"), (6, 7), 3, "float64")
    arrays = {"ey": [start[0]], "ex": [start[1]], "hz": [start[2]]}
    result = reference.run(problem, arrays, {})
    ey, ex, hz = ey.copy(), ex.copy(), hz.copy()
    for _ in range(3):
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.5 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    for name, expected in (("ey", ey), ("ex", ex), ("hz", hz)):
        np.testing.assert_allclose(result[name], expected, rtol=1e-13, atol=1e-13)


def test_a_recurrence_against_plain_loops():
    match = np.where(np.random.default_rng(8).random((7, 9)) < 0.4, 2, -1)
    problem = make_problem(program("smith_waterman"), (7, 9), 1, "int32", Boundary(kind="constant"))
    table = np.zeros((8, 10), dtype=int)
    for i, j in np.ndindex(7, 9):
        table[i + 1, j + 1] = max(0, table[i, j] + match[i, j], table[i, j + 1] - 1, table[i + 1, j] - 1)
    result = reference.run(problem, {"h": [np.zeros((7, 9), dtype=int)], "match": [match]}, {})["h"]
    assert (result == table[1:, 1:]).all()
    assert result.max() > 3


def test_inputs_are_left_alone_and_no_step_copies():
    start = np.random.default_rng(9).standard_normal((5, 5)).astype("float32")
    keep = start.copy()
    problem = make_problem(program("j2d5pt"), (5, 5), 0)
    result = reference.run(problem, {"u": [start]}, {})["u"]
    assert (result == keep).all()
    assert not np.shares_memory(result, start)
    reference.run(make_problem(program("j2d5pt"), (5, 5), 3, boundary="wrap"), {"u": [start]}, {})
    assert (start == keep).all()
