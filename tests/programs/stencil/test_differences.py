"""Finite differences: weights against an independent solution, orders of convergence, stencils that they make."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.base.errors import TraceError
from tilewright.programs.stencil.differences import weights
from tilewright.programs.stencil.expression import Const, Read


def solved(offsets, derivative, at):
    """Weights from the moment equations, by elimination in rational numbers."""
    size = len(offsets)
    rows = [[(Fraction(x) - Fraction(at)) ** power for x in offsets] for power in range(size)]
    right = [Fraction(math.factorial(derivative) if power == derivative else 0) for power in range(size)]
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i])
        rows[i], rows[pivot], right[i], right[pivot] = rows[pivot], rows[i], right[pivot], right[i]
        for j in range(size):
            if j != i and rows[j][i]:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
                right[j] -= factor * right[i]
    return tuple(right[i] / rows[i][i] for i in range(size))


def test_weights_solve_the_moment_equations():
    for at, derivative in itertools.product([0, 0.5, -0.5], range(5)):
        for offsets in [(0, 1, 2, 3, 4, 5), (-3, -2, -1, 0, 1, 2), (5, -7, 2, 0, 3), (-2, -1, 0, 1, 2)]:
            assert weights(offsets, derivative, at) == solved(offsets, derivative, at), (at, derivative)


def test_known_weights():
    """Rows of tables 1 and 2 of Fornberg (1988)."""
    eighth = "-1/560 8/315 -1/5 8/5 -205/72 8/5 -1/5 8/315 -1/560"
    assert weights(range(-4, 5), 2) == tuple(map(Fraction, eighth.split()))
    assert weights((-1, 0, 1, 2), 1, 0.5) == tuple(map(Fraction, ("1/24", "-9/8", "9/8", "-1/24")))


def read_terms(body):
    """Offsets of a stencil's reads."""
    program = tw.stencil(body, name="d").program
    return {node.offset for node in program.statements[0].tape if isinstance(node, Read)}


@pytest.mark.parametrize(
    ("options", "points"),
    [
        ({}, {-1, 1}),
        ({"accuracy": 8}, {-4, -3, -2, -1, 1, 2, 3, 4}),
        ({"derivative": 2, "accuracy": 4}, {-2, -1, 0, 1, 2}),
        ({"derivative": 3}, {-2, -1, 1, 2}),
        ({"derivative": 4}, {-2, -1, 0, 1, 2}),
        ({"at": 0.5}, {0, 1}),
        ({"at": -0.5, "accuracy": 4}, {-2, -1, 0, 1}),
        ({"derivative": 0, "at": 0.5, "accuracy": 4}, {-1, 0, 1, 2}),
        ({"offsets": (2, 0, 1)}, {0, 1, 2}),
    ],
)
def test_the_fewest_points_are_read(options, points):
    assert read_terms(lambda u: u.prev[0] + 1.0 * tw.diff(u, **options)) == {(p,) for p in points} | {(0,)}


@pytest.mark.parametrize(
    ("which", "accuracy"),
    covering([(1, 0), (2, 0), (3, 0), (4, 0), (0, 0.5), (1, 0.5), (1, -0.5), (2, 0.5)], [2, 4, 6, 8], times=2),
)
def test_the_error_falls_by_the_order_of_accuracy(which, accuracy):
    """Of a wave with a whole number of periods on a periodic grid, the spacing halved."""
    derivative, at = which
    kind = (np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin)[derivative]
    errors = []
    for cells in (16, 32):
        h = 2 * np.pi / cells
        x = np.arange(cells) * h
        wave = tw.stencil(derivative_of(derivative, accuracy, h, at), name="derivative")
        got = tw.run(wave, np.zeros(cells), np.sin(x), steps=1, boundary="wrap")
        errors.append(np.abs(got - kind(x + at * h)).max())
    assert errors[1] < errors[0]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(accuracy, abs=0.35)


def derivative_of(derivative, accuracy, h, at):
    """A stencil whose first field becomes a derivative of its second."""

    def body(v, u):
        return 0 * v[0] + tw.diff(u, 0, derivative, accuracy, h, at=at)

    return body


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_laplacian_is_right_for_polynomials(rank):
    """Accuracy 4 is exact for powers up to five: sum over the axes of x^4 + x^2 has second derivatives 12 x^2 + 2."""
    spacing = (0.5, 0.25, 2.0)[:rank]
    axes = np.meshgrid(*(h * np.arange(-5, 6) for h in spacing), indexing="ij")
    values = sum(x**4 + x**2 for x in axes)

    def body(v, u):
        return 0 * v[(0,) * rank] + tw.laplacian(u, accuracy=4, spacing=spacing)

    got = tw.run(tw.stencil(body, name="laplacian"), np.zeros_like(values), values, steps=1)
    inside = (slice(2, -2),) * rank
    expected = sum(12 * x**2 + 2 for x in axes)
    np.testing.assert_allclose(got[inside], expected[inside], rtol=1e-12)


def test_mixed_derivatives_are_differences_of_differences():
    y, x = np.meshgrid(0.5 * np.arange(9), 0.25 * np.arange(11), indexing="ij")

    def body(v, u):
        return 0 * v[0, 0] + tw.diff(tw.diff(u, 0, spacing=0.5), -1, spacing=0.25)

    got = tw.run(tw.stencil(body, name="mixed"), np.zeros_like(x), x * x * y * y, steps=1)
    np.testing.assert_allclose(got[1:-1, 1:-1], (4 * x * y)[1:-1, 1:-1], rtol=1e-12)


def test_variable_coefficients_on_a_staggered_grid():
    """d/dx (k du/dx) with k half a cell above its cell: the flux form, which three cells make."""

    @tw.stencil
    def flux(u, k, h):
        return u[0] + tw.diff(k[0] * tw.diff(u, at=0.5), at=-0.5) / h**2

    generator = np.random.default_rng(1)
    u, k = generator.random(20), generator.random(20)
    got = tw.run(flux, u, k, steps=1, h=0.5)
    expected = u[1:-1] + (k[1:-1] * (u[2:] - u[1:-1]) - k[:-2] * (u[1:-1] - u[:-2])) / 0.25
    np.testing.assert_allclose(got[1:-1], expected, rtol=1e-13)


def test_a_spacing_may_be_a_scalar_of_the_stencil():
    @tw.stencil
    def heat(u, alpha, h):
        return u[0, 0] + alpha * tw.laplacian(u, spacing=h)

    @tw.stencil
    def stretched(u, alpha, dy, dx):
        return u[0, 0] + alpha * tw.laplacian(u, spacing=(dy, dx))

    u = np.random.default_rng(2).random((12, 13))
    known = tw.run(tw.stencil(lambda u, alpha: u[0, 0] + alpha * tw.laplacian(u, spacing=0.5)), u, steps=3, alpha=0.01)
    np.testing.assert_allclose(tw.run(heat, u, steps=3, alpha=0.01, h=0.5), known, rtol=1e-12)
    np.testing.assert_allclose(tw.run(stretched, u, steps=3, alpha=0.01, dy=0.5, dx=0.5), known, rtol=1e-12)


def test_weights_are_rounded_once():
    program = tw.stencil(lambda u: u[0] + 0.1 * tw.diff(u, 0, 2, 4, 0.3), name="d").program
    numbers = {node.value for node in program.statements[0].tape if isinstance(node, Const)}
    scale = 1 / Fraction(0.3) ** 2
    assert {float(Fraction(w) * scale) for w in ("-1/12", "4/3", "-5/2")} <= numbers


def test_the_number_of_axes_may_be_told_later_in_the_body():
    first = tw.stencil(lambda u, k: tw.laplacian(u) * k[0, 0, 0] + u[0, 0, 0], name="first").program
    second = tw.stencil(lambda u, k: u[0, 0, 0] + k[0, 0, 0] * tw.laplacian(u), name="second").program
    assert (first.rank, first.loads) == (second.rank, second.loads) == (3, 8)
    assert tw.stencil(lambda u: u[0, 0] + tw.laplacian(u.prev), name="older").program.loads == 6


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (
            lambda u: tw.laplacian(tw.laplacian(u)) + 0 * u[0, 0],
            lambda u: 0 * u[0, 0] + tw.laplacian(tw.laplacian(u)),
        ),
        (
            lambda u: tw.diff(2 * tw.diff(u, 0, at=0.5), 1, at=-0.5) + u[0, 0],
            lambda u: u[0, 0] + tw.diff(2 * tw.diff(u, 0, at=0.5), 1, at=-0.5),
        ),
        (
            lambda u, k: tw.diff(tw.laplacian(u) * tw.diff(k, 1) - tw.laplacian(k), 0) + k[0, 0],
            lambda u, k: k[0, 0] + tw.diff(tw.laplacian(u) * tw.diff(k, 1) - tw.laplacian(k), 0),
        ),
        (
            lambda u: tw.laplacian(tw.sqrt(abs(tw.laplacian(u.prev))) + u[0, 0]),
            lambda u: 0 * u[0, 0] + tw.laplacian(tw.sqrt(abs(tw.laplacian(u.prev))) + u[0, 0]),
        ),
    ],
)
def test_nested_differences_may_come_before_the_first_index(early, late):
    data = np.random.default_rng(5).standard_normal((2, 14, 15))
    first, second = (tw.stencil(body, name="f") for body in (early, late))
    assert first.program.reach == second.program.reach
    given = [
        tuple(data[: first.program.history(field)]) if field in first.program.updated else data[1]
        for field in first.program.fields
    ]
    found, expected = (tw.run(each, *given, steps=1) for each in (first, second))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_laplacian_of_a_laplacian_is_numpys():
    u = np.random.default_rng(6).standard_normal((12, 13))

    def laplacian(a):
        p = np.pad(a, 1, "wrap")
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * a

    found = tw.run(lambda u: tw.laplacian(tw.laplacian(u)) + 0 * u[0, 0], u, steps=1, boundary="wrap")
    np.testing.assert_allclose(found, laplacian(laplacian(u)), rtol=1e-12, atol=1e-12)


def test_what_makes_no_sense_is_refused():
    for body, message in [
        (lambda u: tw.laplacian(tw.laplacian(u)), "the number of axes of 'f' is not known: nothing in it is indexed"),
        (lambda u: tw.diff(3.0) + u[0], "takes a field or an expression of fields"),
        (lambda u: -tw.laplacian(u), "the number of axes of 'f' is not known: nothing in it is indexed"),
        (
            lambda u, k: u[0] + tw.diff(k * u[0]),
            r"tw.diff would read 'k' beside the cell.*index it, as a field: k\[0\]",
        ),
        (lambda u: u[0] + tw.diff(u, accuracy=3), "accuracy is an even number of at least 2, got 3"),
        (lambda u: u[0] + tw.diff(u, accuracy=True), "accuracy is an even number of at least 2, got True"),
        (lambda u: u[0, 0] + tw.diff(u, axis=2), "axis is one of 0, 1 here, got 2"),
        (lambda u: u[0, 0] + tw.diff(u, axis="x"), "axis is one of 0, 1 here, got 'x'"),
        (lambda u: u[0] + tw.diff(u, at=0.3), "at is 0, 0.5 or -0.5, .* got 0.3"),
        (lambda u: u[0] + tw.diff(u, spacing=-1), "spacing is a positive number, got -1"),
        (lambda u: u[0] + tw.diff(u, spacing=float("nan")), "spacing is a positive number, got nan"),
        (lambda u: u[0] + tw.diff(u, derivative="x"), "derivative is a whole number of at least 0, got 'x'"),
        (lambda u: u[0] + tw.diff(u, derivative=2, offsets=(0, 1)), "at least 3 for derivative 2"),
        (lambda u: u[0] + tw.diff(u, offsets=(0, 0, 1)), "offsets are different whole numbers"),
        (lambda u: u[0] + tw.diff(u, accuracy=200), "reaches 100 cells, 64 at most"),
        (lambda u: u[0] + tw.diff(3.0), "takes a field or an expression of fields"),
        (lambda u: u[0, 0] + tw.laplacian(u, spacing=(1, 2, 3)), "one per axis, 2 here, got 3"),
    ]:
        with pytest.raises(TraceError, match=message):
            tw.stencil(body, name="f")


def test_fields_of_recurrences_have_no_differences():
    with pytest.raises(TraceError, match=r"tw.diff is for the fields of a stencil, got 'd'"):
        tw.recurrence(lambda d, a, b: d[-1, 0] + tw.diff(d))
