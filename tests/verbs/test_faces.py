"""Conditions on faces and values along sides: what a run computes where reads leave the grid."""

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.programs.stencil.boundaries import parse_boundary
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import FAMILIES

pytestmark = [
    pytest.mark.usefixtures("mostly_unoptimised"),
]

DRAW = np.random.default_rng(5)
U = DRAW.random((40, 50))
ALONG = {0: DRAW.random((1, 50)), 1: DRAW.random((40, 1))}
TILINGS = ["none", "streaming", "hybrid:t=4,s=4x16", "diamond", "skewed"]


def plane(u, a):
    """Reach 2 along one axis and a corner: deeper cells outside, and cells outside along both axes."""
    flow = u[-1, 0] + u[1, 0] + u[0, 1] + u[0, -1] - 4 * u[0, 0]
    return u[0, 0] + a * flow + 0.02 * (u[-2, 0] - u[2, 0]) + 0.01 * u[1, -1]


def outside(u, side, depth, axis, *, high):
    """The cells so far outside a side, by its definition alone."""
    inner = np.take(u, [u.shape[axis] - depth if high else depth - 1], axis)
    kind, value, factor = side.kind, side.value, side.factor
    if kind == "wrap":
        return np.take(u, [depth - 1 if high else u.shape[axis] - depth], axis)
    if kind == "constant":
        return np.zeros_like(inner) + value
    if kind == "reflect":
        return inner
    distance = 2 * depth - 1  # (outer - inner) / distance is the derivative, their mean the value on the face
    if kind == "dirichlet":
        return 2 * value - inner
    factor = 0 if kind == "neumann" else factor
    return (value - inner * (factor / 2 - 1 / distance)) / (1 / distance + factor / 2)


def padded(u, sides, reach):
    """A grid with what lies outside, one axis after the other."""
    for axis, (low, high) in enumerate(sides):
        grown = []
        for side in (low, high):
            value = side.value
            if np.ndim(value):  # the axes before have grown already
                width = [(0, 0) if at >= axis else (reach, reach) for at in range(u.ndim)]
                value = np.pad(value, width, mode="edge")
            grown.append(tw.Boundary(side.kind, value, side.factor))
        below = [outside(u, grown[0], depth, axis, high=False) for depth in range(reach, 0, -1)]
        above = [outside(u, grown[1], depth, axis, high=True) for depth in range(1, reach + 1)]
        u = np.concatenate([*below, u, *above], axis)
    return u


def expected(u, sides, steps, a):
    for _ in range(steps):
        w = padded(u, sides, 2)

        def at(i, j, w=w, shape=u.shape):
            return w[2 + i : 2 + i + shape[0], 2 + j : 2 + j + shape[1]]

        flow = at(-1, 0) + at(1, 0) + at(0, 1) + at(0, -1) - 4 * at(0, 0)
        u = at(0, 0) + a * flow + 0.02 * (at(-2, 0) - at(2, 0)) + 0.01 * at(1, -1)
    return u


SIDES = {
    "numbers": (
        (tw.Boundary("neumann", 0.3), tw.Boundary("robin", 0.2, 0.7)),
        (tw.Boundary("dirichlet", 0.7), tw.Boundary("reflect")),
    ),
    "arrays": (
        (tw.Boundary("neumann", ALONG[0]), tw.Boundary("robin", -ALONG[0], 0.4)),
        (tw.Boundary("constant", ALONG[1]), tw.Boundary("dirichlet", ALONG[1])),
    ),
    "around": ((tw.Boundary("constant", ALONG[0]), tw.Boundary("neumann", ALONG[0])), (tw.Boundary("wrap"),) * 2),
}


@pytest.mark.parametrize(("sides", "tiling"), covering(list(SIDES), TILINGS, times=3))
def test_every_family_computes_what_the_conditions_say(sides, tiling):
    tiling = "none" if sides == "around" else tiling
    found = tw.run(plane, U, steps=6, a=0.1, boundary=SIDES[sides], tiling=tiling, backend="c")
    np.testing.assert_allclose(found, expected(U, SIDES[sides], 6, 0.1), rtol=0, atol=1e-14)


def test_every_family_is_among_them():
    assert {each.partition(":")[0] for each in TILINGS} | {"hexagonal", "orthogonal"} >= set(FAMILIES) - {
        name for name in FAMILIES if name.startswith("wavefront")
    }


@pytest.mark.parametrize("tiling", ["none", "hexagonal:t=4,s=8", "streaming"])
def test_one_dimension_and_values_per_step(tiling):
    u, low = DRAW.random(90), DRAW.random(9)
    found = tw.run(
        lambda u: 0.5 * u[0] + 0.3 * u[-1] + 0.2 * u[1],
        u,
        steps=9,
        boundary=((tw.Boundary("neumann", low), tw.Boundary("robin", 1.0, 0.25)),),
        tiling=tiling,
    )
    for step in range(9):
        w = padded(u, ((tw.Boundary("neumann", low[step]), tw.Boundary("robin", 1.0, 0.25)),), 1)
        u = 0.5 * u + 0.3 * w[:-2] + 0.2 * w[2:]
    np.testing.assert_allclose(found, u, rtol=0, atol=1e-14)


def test_three_dimensions_with_an_array_that_is_one_number_along_an_axis():
    u, value = DRAW.random((9, 8, 30)), DRAW.random((1, 8, 1))
    sides = ((tw.Boundary("dirichlet", value), tw.Boundary("neumann", 0.1)), (tw.Boundary("reflect"),) * 2)
    sides = (*sides, (tw.Boundary("robin", 0.5, 0.5),) * 2)
    found = tw.run(
        lambda u: 0.4 * u[0, 0, 0] + 0.2 * (u[-1, 0, 0] + u[1, 0, 0] + u[0, 0, 1]), u, steps=5, boundary=sides
    )
    for _ in range(5):
        w = padded(u, sides, 1)[:, 1:-1]
        u = 0.4 * u + 0.2 * (w[:-2, :, 1:-1] + w[2:, :, 1:-1] + w[1:-1, :, 2:])
    np.testing.assert_allclose(found, u, rtol=0, atol=1e-14)


def test_a_flux_is_what_comes_in():
    """A sum of all cells grows by the flux through the faces: alpha times the derivative, per cell of the rim."""
    heat = tw.stencil(lambda u, alpha: u[0, 0] + alpha * tw.laplacian(u), name="heat")
    u = tw.run(heat, U, steps=25, alpha=0.2, boundary=(("neumann:0.5", "neumann"), "neumann"))
    assert u.sum() - U.sum() == pytest.approx(25 * 0.2 * 0.5 * 50, rel=1e-12)


def test_a_steady_state_meets_its_conditions():
    """Between a value on one face and robin's condition on the other lies a straight line."""
    u = np.zeros(20)
    u = tw.run(
        lambda u: u[0] + 0.5 * (u[-1] - 2 * u[0] + u[1]),
        u,
        steps=20_000,
        boundary=(("dirichlet:1", "robin:3:0.5"),),
    )
    slope = (3 - 0.5 * 1) / (1 + 0.5 * 20)  # slope + factor (1 + 20 slope) = 3
    np.testing.assert_allclose(u, 1 + slope * (np.arange(20) + 0.5), rtol=1e-9)


def test_gradients_go_through_conditions_and_their_values():
    sides = ((tw.Boundary("neumann", ALONG[0]), "robin:1:0.5"), "dirichlet:0.2")
    weight, direction, push = DRAW.random(U.shape), DRAW.random(U.shape), DRAW.random((1, 50))
    _, pullback = tw.vjp(plane, U, steps=4, a=0.1, boundary=sides)
    (gradient,), others = pullback(weight)

    def moved(by):
        there = ((tw.Boundary("neumann", ALONG[0] + by * push), "robin:1:0.5"), "dirichlet:0.2")
        return float((weight * tw.run(plane, U + by * direction, steps=4, a=0.1, boundary=there)).sum())

    there = float((gradient * direction).sum() + (others["u_low0"] * push).sum())
    assert there == pytest.approx((moved(1e-4) - moved(-1e-4)) / 2e-4, rel=1e-7)


def test_out_of_core_and_in_chunks(tmp_path):
    whole = DRAW.random((300, 60))
    np.save(tmp_path / "in.npy", whole)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", whole.dtype, whole.shape)
    options = {"steps": 6, "a": 0.1, "boundary": ("neumann:0.3", ("robin:0.2:0.7", "dirichlet:1"))}
    tw.run(plane, np.load(tmp_path / "in.npy", mmap_mode="r"), out=out, memory=150_000, **options)
    np.testing.assert_array_equal(out, tw.run(plane, whole, tiling="none", **options))


def test_models_and_matrices_know_them():
    assert tw.predict(plane, shape=(400, 400), steps=4, machine="zen3", boundary="neumann:0.5").costs.seconds > 0
    second = tw.stencil(lambda u: u[-1] + u[1] - 2 * u[0], name="second")
    matrix = tw.sparse.from_stencil(second, shape=(4,), boundary="dirichlet").toarray()
    np.testing.assert_array_equal(np.diag(matrix), [-3, -2, -2, -3])


@pytest.mark.parametrize("text", ["neumann", "Neumann", "NEUMANN:0"])
def test_no_derivative_is_reflect(text):
    found = tw.run("j2d5pt", U, steps=3, boundary=text)
    np.testing.assert_array_equal(found, tw.run("j2d5pt", U, steps=3, boundary="reflect"))


def test_kinds_in_any_case_and_by_other_names():
    expected = tw.run("j2d5pt", U, steps=2, boundary="wrap")
    for name in ("Periodic", tw.Boundary("PERIODIC"), ("wrap", tw.Boundary("Wrap"))):
        np.testing.assert_array_equal(tw.run("j2d5pt", U, steps=2, boundary=name), expected)
    assert parse_boundary("robin:1:0.5") == tw.Boundary("robin", 1.0, 0.5)
    assert str(tw.Boundary("dirichlet", 2.0)) == "dirichlet:2"


@pytest.mark.parametrize(
    ("boundary", "message"),
    [
        ("robin:1:-2", "the factor -2 says nothing of cells 0.5 outside the face"),
        ("robin:1:2:3", "a 'robin' boundary is written robin:1:0.5, got 'robin:1:2:3'"),
        ("wrap:1", "a 'wrap' boundary is written wrap, got 'wrap:1'"),
        ("neumann:a", "the value of a neumann boundary is a number, got 'a'"),
        (tw.Boundary("neumann", "a"), "the value of a boundary is a number or an array of numbers, got 'a'"),
        (tw.Boundary("neumann", np.ones((5, 5))), "the extent 1 along that axis, got the shape .5, 5."),
        (tw.Boundary("mirror", np.ones((1, 50))), "a 'mirror' boundary has no values"),
    ],
)
def test_what_does_not_fit_is_one_sentence(boundary, message):
    with pytest.raises(tw.UsageError, match=message):
        tw.run(plane, U, steps=2, a=0.1, boundary=boundary)


def test_what_cannot_be_had_is_one_sentence():
    with pytest.raises(tw.UsageError, match="a 'robin' boundary computes fractions, got int32"):
        tw.run(lambda u: u[-1] + u[1], np.arange(9, dtype=np.int32), steps=1, boundary="robin:1:1")
    with pytest.raises(tw.UsageError, match="at least as many cells along an axis as 'far' reads far, 5, got 3"):
        tw.run(tw.stencil(lambda u: u[-5] * 0.5, name="far"), np.ones(3), steps=1, boundary="neumann:1")
    with pytest.raises(tw.UsageError, match="values per step or along a side of a boundary are for runs, predictions"):
        make_problem(tw.stencil(plane).program, (40, 50), 2, boundary=tw.Boundary("neumann", ALONG[0]))


def test_models_see_values_along_a_side_as_one_more_field_near_it():
    asked = {"shape": (400, 500), "steps": 20, "machine": "zen3", "tiling": "none"}
    number = tw.predict(plane, boundary=tw.Boundary("neumann", 1.0), a=0.1, **asked)
    array = tw.predict(
        plane, boundary=(tw.Boundary("neumann", np.ones((1, 500))), tw.Boundary("neumann", 1.0)), a=0.1, **asked
    )
    assert array.work.problem.program.fields == ("u", "u_low0", "u_high0")
    assert number.costs.seconds <= array.costs.seconds < 1.2 * number.costs.seconds


@pytest.mark.parametrize("kind", ["constant", "dirichlet", "neumann", "robin"])
def test_an_imaginary_value_is_no_side_of_real_numbers(kind):
    for value in (1j, np.complex64(1 + 2j)):
        with pytest.raises(tw.UsageError, match=r"the boundary value .* of 'u' does not fit float64"):
            tw.run("heat2d", np.ones((5, 6)), steps=1, boundary=tw.Boundary(kind, value))
