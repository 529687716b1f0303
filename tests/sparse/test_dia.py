"""Matrices of diagonals: what is stored, what is multiplied, and what is refused."""

import itertools
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import cg

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError
from tilewright.schedules.code import Unrolling
from tilewright.sparse import dia as room
from tilewright.sparse.dia import length
from tilewright.sparse.lower.dia import emit_dia
from tilewright.tuning.spaces.cpu_schedule import unrolling

Dia = tw.sparse.Dia


def random_dia(rng, shape, count, dtype="float64"):
    """A matrix of random diagonals, among them ones at the corners."""
    rows, columns = shape
    every = [offset for offset in range(-rows + 1, columns) if length(shape, offset)]
    offsets = rng.choice(every, min(count, len(every)), replace=False)
    return Dia.from_diagonals({int(o): rng.standard_normal(length(shape, int(o))) for o in offsets}, shape, dtype)


def bound(a, x, dtype):
    """What rounding may change: a few units per product."""
    exact = np.abs(a.toarray().astype("float64")) @ np.abs(x.astype("float64"))
    return 4 * np.finfo(dtype).eps * (len(a.offsets) + 1) * exact + np.finfo(dtype).tiny


def test_elements_lie_where_the_definition_says():
    for shape in ((1, 1), (5, 5), (3, 7), (7, 3)):
        for offset in range(-8, 9):
            count = length(shape, offset)
            dense = np.arange(1, shape[0] * shape[1] + 1.0).reshape(shape)
            assert count == np.diagonal(dense, offset).size
            if count:
                a = Dia.from_diagonals({offset: np.diagonal(dense, offset)}, shape)
                for t, value in enumerate(a.diagonal(offset)):
                    assert value == dense[t + max(0, -offset), t + max(0, offset)]
                np.testing.assert_array_equal(a.toarray(), np.where(dense * 0 + np.eye(*shape, offset), dense, 0))


def test_the_figure_of_the_paper():
    """Figure 2: a 3x3 grid, five diagonals, stored zeros where a grid line ends; nothing is padded."""
    ends = np.array([1, 2, 0, 4, 5, 0, 7, 8.0]), np.array([2, 3, 0, 5, 6, 0, 8, 9.0])
    a = Dia.from_diagonals({-3: np.arange(1, 7), -1: ends[0], 0: np.arange(1, 10), 1: ends[1], 3: np.arange(4, 10)})
    np.testing.assert_array_equal(a.toarray()[3], [1, 0, 0, 4, 5, 0, 7, 0, 0])
    assert a.size == 9 * 5 - 8
    assert a.padding == 2 * (1 + 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_random_matrices(dtype):
    rng = np.random.default_rng(1)
    for case in range(60):
        shape = tuple(rng.integers(1, 70, 2)) if case % 5 else tuple(rng.integers(400, 700, 2))
        a = random_dia(rng, tuple(map(int, shape)), int(rng.integers(1, 40)), dtype)
        x, y = (rng.standard_normal(extent).astype(dtype) for extent in (a.shape[1], a.shape[0]))
        dense = a.toarray().astype("float64")
        threads = 1 + case % 2
        got = a.matvec(x, threads=threads)
        assert got.dtype == dtype
        assert np.all(np.abs(got - dense @ x) <= bound(a, x, dtype))
        back = a.rmatvec(y, threads=threads)
        assert np.all(np.abs(back - dense.T @ y) <= bound(a.T, y, dtype))
        assert np.array_equal(a.T.matvec(y), back)
        added = a.matvec(x, y.copy(), threads=threads, add=True)
        assert np.all(np.abs(added - (y + dense @ x)) <= bound(a, x, dtype) + 4 * np.finfo(dtype).eps * np.abs(y))


def test_results_do_not_depend_on_threads_or_on_the_way_they_are_stored(monkeypatch):
    """The order of operations of a row is that of its diagonals, whatever cuts the rows."""
    rng = np.random.default_rng(2)
    a = random_dia(rng, (5000, 5000), 13)
    x = rng.standard_normal(5000)
    expected = a.matvec(x, threads=1)
    for threads, stream in itertools.product((1, 2, 3), (False, True)):
        monkeypatch.setattr(room, "past_caches", lambda *_, stream=stream: stream)
        assert np.array_equal(a.matvec(x, threads=threads), expected)
        out = np.empty(5003)[3:]
        assert a.matvec(x, out, threads=threads) is out
        assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    "how",
    [
        Unrolling(vectors=1, depth=1, block=64),
        Unrolling(vectors=4, depth=3, block=100),
        Unrolling(vectors=3, depth=5, block=1),
    ],
)
def test_other_unrollings_compute_the_same(monkeypatch, how):
    monkeypatch.setattr(room, "unrolling", lambda: how)
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float64"):
        a = random_dia(rng, (777, 701), 17, dtype)
        x = rng.standard_normal(701).astype(dtype)
        assert np.all(np.abs(a.matvec(x, threads=2) - a.toarray().astype("float64") @ x) <= bound(a, x, dtype))
    assert emit_dia("float64", how).entry != emit_dia("float64", unrolling()).entry


def test_scipy_matrices_of_any_format_come_and_go():
    rng = np.random.default_rng(4)
    for shape in ((12, 12), (9, 14), (14, 9)):
        a = random_dia(rng, shape, 5)
        dense = a.toarray()
        for form in ("dia", "csr", "csc", "coo", "lil", "dok", "bsr"):
            theirs = a.to_scipy(form)
            assert theirs.format == form
            np.testing.assert_array_equal(theirs.toarray(), dense)
            np.testing.assert_array_equal(Dia.from_scipy(theirs).toarray(), dense)
        np.testing.assert_array_equal(Dia.from_scipy(dense).toarray(), dense)
        assert Dia.from_scipy(sparse.csr_matrix(dense), "float32").dtype == "float32"
    twice = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert Dia.from_scipy(twice).toarray()[0, 1] == 3


def test_types_follow_numpy():
    assert Dia.from_diagonals({0: np.ones(3, "float32")}).dtype == "float32"
    assert Dia.from_diagonals({0: [1, 2, 3]}).dtype == "float64"
    assert Dia.from_diagonals({0: np.ones(3, "float32"), 1: np.ones(2)}).dtype == "float64"
    a = Dia.from_diagonals({0: np.ones(3, "float32")})
    assert (a @ [1, 2, 3]).tolist() == [1, 2, 3]
    with pytest.raises(ArrayError, match="without losing digits"):
        a.matvec(np.ones(3))
    assert a.astype("float64").matvec(np.ones(3)).dtype == "float64"
    with pytest.raises(UsageError, match="real numbers, got complex128"):
        Dia.from_diagonals({0: np.ones(3, complex)})


def test_scipy_solves_with_it():
    a = tw.sparse.from_stencil(poisson, (20, 20))
    b = a @ np.ones(400)
    x, info = cg(a.linear_operator(), b, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(x, 1, atol=1e-7)
    two = a.linear_operator() @ np.ones((400, 2))
    np.testing.assert_array_equal(two[:, 1], b)
    np.testing.assert_array_equal(a.linear_operator().rmatvec(b), a.T @ b)
    assert np.array_equal(np.ones(400) @ a, a.T @ np.ones(400))


@tw.stencil
def poisson(u):
    return 4 * u[0, 0] - u[-1, 0] - u[1, 0] - u[0, -1] - u[0, 1]


def test_degenerate_matrices():
    empty = Dia.from_scipy(sparse.csr_array((4, 3)))
    assert empty.offsets == ()
    assert empty.matvec(np.ones(3)).tolist() == [0] * 4
    assert empty.matvec(np.ones(3), np.ones(4), add=True).tolist() == [1] * 4
    none = Dia(shape=(0, 0), offsets=(), diagonals=())
    assert none.matvec(np.ones(0)).size == 0
    assert (Dia.from_diagonals({0: 2.0}, (3, 3)) @ np.ones((3, 0))).shape == (3, 0)
    assert (Dia.from_diagonals({0: 2.0}, (3, 3)) @ np.ones(6)[::-2]).tolist() == [2, 2, 2]


def test_nan_and_infinity_stay_in_their_rows():
    """Nothing outside the matrix and no stored element of another row is touched."""
    a = Dia.from_diagonals({-2: 1.0, 0: 1.0, 1: 1.0}, (40, 40))
    x = np.ones(40)
    x[7] = np.nan
    assert np.flatnonzero(np.isnan(a @ x)).tolist() == [6, 7, 9]


def test_what_does_not_fit_is_refused():
    for call, message in [
        (lambda: Dia.from_diagonals({1: [1, 2, 3]}, (3, 3)), "has 2 elements, got an array of shape"),
        (lambda: Dia.from_diagonals({9: 1.0}, (3, 3)), "has no diagonal 9"),
        (lambda: Dia.from_diagonals({0: 1.0}), "do not say how large"),
        (lambda: Dia.from_diagonals({0: 1.0}, (3,)), "a pair of whole numbers or None, got"),
        (lambda: Dia.from_diagonals({0: 1.0}, (3, 3)).matvec(np.ones(4)), "multiplies 3 elements, got shape"),
        (lambda: Dia.from_diagonals({0: 1.0}, (3, 3)).matvec(np.ones(3), np.ones(3, "f4")), "out must be"),
        (lambda: Dia.from_diagonals({0: 1.0}, (3, 3)).matvec(np.ones(3), np.ones(6)[::2]), "out must be"),
        (lambda: Dia.from_scipy(np.ones(3)), "a matrix of real numbers"),
        (lambda: Dia.from_scipy(sparse.eye_array(3, dtype=complex)), "float32 or float64"),
        (lambda: emit_dia("int32", unrolling()), "float32 or float64"),
    ]:
        with pytest.raises(UsageError, match=message):
            call()


def test_out_must_not_overlap():
    memory = np.ones(10)
    with pytest.raises(ArrayError, match="overlaps"):
        Dia.from_diagonals({1: 1.0}, (8, 8)).matvec(memory[:8], memory[2:])
    matrix = Dia.from_diagonals({-1: 1.0, 0: 2.0}, (8, 8))
    for add in (False, True):
        with pytest.raises(ArrayError, match="out overlaps the matrix"):
            matrix.matvec(np.ones(8), matrix.diagonal(0), add=add)
    assert matrix.matvec(np.ones(8), np.zeros(8)).tolist() == [2.0] + [3.0] * 7


def odd(values):
    """The same vector at an address where no kernel reads numbers."""
    found = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype)
    found[:] = values
    assert not found.flags.aligned
    return found


def test_vectors_at_odd_addresses_are_read_and_not_written():
    matrix, x = Dia.from_diagonals({-1: 1.0, 0: 2.0}, (9, 9)), np.arange(9.0)
    assert np.array_equal(matrix.matvec(odd(x)), matrix.matvec(x))
    assert np.array_equal(tw.sparse.cg(matrix.T, odd(x), maxiter=2).x, tw.sparse.cg(matrix.T, x, maxiter=2).x)
    with pytest.raises(ArrayError, match="out must be a contiguous"):
        matrix.matvec(x, odd(x))


def test_a_matrix_without_diagonals_to_speak_of_is_refused():
    rng = np.random.default_rng(5)
    scattered = sparse.random_array((3000, 3000), density=1e-3, rng=rng)
    with pytest.raises(ArrayError, match="keep it in CSR"):
        Dia.from_scipy(scattered)


def test_it_says_what_it_is():
    a = tw.sparse.from_stencil(poisson, (4, 5))
    facts = a.to_dict()
    assert facts["offsets"] == [-5, -1, 0, 1, 5]
    assert facts["elements"] == 5 * 20 - facts["padding_saved"]
    assert "12 of padding saved" in repr(a)
    assert "<p>&lt;Dia 20 x 20" in a._repr_html_()


def test_without_scipy_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "scipy.sparse", raising=False)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(UsageError, match="this conversion needs scipy, which is not installed"):
        Dia.from_diagonals({0: 1.0}, (3, 3)).to_scipy()
