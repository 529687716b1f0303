"""Matrices of stencils: one step by the matrix is one step of the program."""

import itertools

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError
from tilewright.sparse.stencil import _PARTIAL

KINDS = ("fixed", "constant", "nearest", "reflect", "mirror", "wrap")


def stepped(program, arrays, **options):
    """One step with NumPy, as one vector with the components of a cell together."""
    result = tw.run(program, *arrays, steps=1, backend="numpy", **options)
    parts = result if isinstance(result, tuple) else (result,)
    return np.stack(parts, axis=-1).reshape(-1)


def joined(arrays):
    return np.stack(arrays, axis=-1).reshape(-1)


@pytest.mark.parametrize(("dimensions", "saved"), [(1, lambda m, _n, dof: 2 * dof), (2, None), (3, None)])
@pytest.mark.parametrize("dof", [1, 2, 5])
def test_the_papers_table_of_savings(dimensions, saved, dof):
    """P1 = 2 dof, P2 = P1 + 2 m dof, P3 = P2 + 2 m n dof, without coupling between components."""
    m, n, p = 4, 5, 6
    shape = {1: (m,), 2: (n, m), 3: (p, n, m)}[dimensions]
    a = tw.sparse.from_stencil(f"star{dimensions}d1r", shape, components=dof)
    expected = 2 * dof
    if dimensions >= 2:
        expected += 2 * m * dof
    if dimensions == 3:
        expected += 2 * m * n * dof
    assert saved is None or saved(m, n, dof) == expected
    rows = int(np.prod(shape)) * dof
    assert a.padding == expected == sum(map(abs, a.offsets))
    assert a.size == rows * (2 * dimensions + 1) - expected


@pytest.mark.filterwarnings("ignore:no cell of")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("jacobi1d", ((1,), (2,), (17,))),
        ("star1d4r", ((3,), (4,), (23,))),
        ("j2d5pt", ((1, 1), (2, 3), (7, 6))),
        ("box2d2r", ((1, 4), (3, 3), (6, 9))),
        ("j3d7pt", ((2, 2, 2), (4, 3, 5))),
    ],
)
def test_one_step_is_one_product(name, shapes, kind):
    rng = np.random.default_rng(1)
    for shape in shapes:
        u = rng.standard_normal(shape)
        a = tw.sparse.from_stencil(name, shape, boundary=kind)
        np.testing.assert_allclose(a @ u.ravel(), stepped(name, [u], boundary=kind), rtol=1e-13, atol=1e-13)


def test_boundaries_mix_by_axis_and_side():
    rng = np.random.default_rng(2)
    u = rng.standard_normal((5, 6))
    for first, second in itertools.product(("wrap", ("nearest", "fixed"), ("constant", "mirror")), repeat=2):
        a = tw.sparse.from_stencil("box2d1r", u.shape, boundary=(first, second))
        expected = stepped("box2d1r", [u], boundary=(first, second))
        np.testing.assert_allclose(a @ u.ravel(), expected, rtol=1e-13, atol=1e-13)


@tw.stencil
def coupled(u, v, w, k, alpha):
    """Three components, coupled in both directions and over cells; ``k`` is a field that is only read."""
    return (
        u[0, 0] + alpha * (v[0, 1] - k[0, 0] * u[0, -1]),
        k[1, 0] * v[0, 0] + w[-1, 0] / 3,
        w[0, 0] - 2 * u[0, 0] + tw.where(k[0, 0] > 0, v[1, 1], 0 * v[1, 1]),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_several_components_are_coupled(kind):
    rng = np.random.default_rng(3)
    shape = (4, 5)
    fields = [rng.standard_normal(shape) for _ in range(3)]
    k, alpha = rng.standard_normal(shape), rng.standard_normal(shape)
    a = tw.sparse.from_stencil(coupled, shape, boundary=kind, k=k, alpha=alpha)
    result = tw.run(coupled, *fields, k, steps=1, backend="numpy", boundary=kind, alpha=alpha)
    np.testing.assert_allclose(a @ joined(fields), joined(result[:3]), rtol=1e-12, atol=1e-12)
    assert a.shape == (60, 60)


def test_periodic_couplings_are_further_diagonals():
    plain = tw.sparse.from_stencil("star2d1r", (4, 5))
    wrapped = tw.sparse.from_stencil("star2d1r", (4, 5), boundary="wrap")
    assert plain.offsets == (-5, -1, 0, 1, 5)
    assert wrapped.offsets == (-15, -5, -4, -1, 0, 1, 4, 5, 15)
    assert np.count_nonzero(wrapped.toarray()) == 100
    assert np.count_nonzero(plain.diagonal(1)) == 4 * 4


@tw.stencil
def bratu(u, hh, lam):
    return 4 * u[0, 0] - u[-1, 0] - u[1, 0] - u[0, -1] - u[0, 1] - hh * lam * tw.exp(u[0, 0])


@tw.stencil
def everything(u, v):
    a = tw.sqrt(u[0] * u[0] + 2) + tw.log(v[1] ** 2 + 1) - tw.sin(u[-1]) * tw.cos(v[0])
    b = tw.tanh(u[1] / (2 + v[0] * v[0])) + tw.abs(v[-1]) + tw.maximum(u[0], v[0]) - tw.minimum(u[1], 0.1)
    c = tw.where(u[0] < v[0], u[1] * v[1], -u[-1]) + (v[0] * v[0] + 1) ** 1.5 + tw.exp(-(u[0] ** 2)) + tw.floor(u[0])
    return a + b, b * c


@pytest.mark.parametrize("kind", ["constant", "wrap", "mirror"])
@pytest.mark.parametrize(("program", "shape"), [(bratu, (5, 6)), (everything, (11,))])
def test_jacobians_agree_with_differences(program, shape, kind):
    rng = np.random.default_rng(4)
    fields = [rng.standard_normal(shape) for _ in program.program.updated]
    scalars = {"hh": 0.3, "lam": 6.0} if program is bratu else {}
    a = tw.sparse.from_stencil(program, shape, at=fields, boundary=kind, **scalars).toarray()
    step = 1e-6
    for column in range(a.shape[1]):
        sides = []
        for sign in (1, -1):
            moved = joined(fields)
            moved[column] += sign * step
            parts = moved.reshape(*shape, len(fields))
            given = [np.ascontiguousarray(parts[..., i]) for i in range(len(fields))]
            sides.append(stepped(program, given, boundary=kind, **scalars))
        np.testing.assert_allclose(a[:, column], (sides[0] - sides[1]) / (2 * step), rtol=1e-6, atol=1e-6)


def test_every_operator_has_a_derivative():
    from tilewright.programs.stencil.operators import BOOLEAN, FLAT, OPERATORS

    assert set(_PARTIAL) == set(OPERATORS) - BOOLEAN - FLAT - {"shr"}


def test_what_makes_no_matrix_is_refused():
    for call, message in [
        (lambda: tw.sparse.from_stencil(bratu, (4, 4), hh=1.0, lam=1.0), "not linear in its fields: 'exp'"),
        (lambda: tw.sparse.from_stencil("gradient2d", (4, 4)), "give at="),
        (lambda: tw.sparse.from_stencil("wave2d", (4, 4)), "one time level|needs"),
        (lambda: tw.sparse.from_stencil(bratu, (4, 4), hh=1.0), "needs 'lam'"),
        (lambda: tw.sparse.from_stencil("j2d5pt", (4, 4), lam=1.0), "has no 'lam'"),
        (lambda: tw.sparse.from_stencil("j2d5pt", (4,)), "2 dimensions"),
        (lambda: tw.sparse.from_stencil("j2d5pt", (4, 4), components=0), "components is a whole number"),
        (lambda: tw.sparse.from_stencil(bratu, (4, 4), at=[np.ones((3, 3))], hh=1, lam=1), "the grid's shape"),
        (lambda: tw.sparse.from_stencil(bratu, (4, 4), at=[1, 2], hh=1, lam=1), "one array per updated field"),
        (lambda: tw.sparse.from_stencil(lambda u: u[0], (4,)), "decorate the function"),
        (lambda: tw.sparse.from_stencil("nonsense", (4,)), "nonsense"),
    ]:
        with pytest.raises((UsageError, ArrayError), match=message):
            call()


def test_float32_matrices():
    a = tw.sparse.from_stencil("heat2d", (6, 6), dtype="float32")
    assert a.dtype == np.float32
    assert (a @ np.ones(36, "float32")).dtype == np.float32
