"""Vector kernels: what they compute, alone and fused, and what tuning keeps."""

import itertools
import json

import numpy as np
import pytest
from scipy.sparse.linalg import cg as scipy_cg

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError, WrongResultError
from tilewright.sparse import choices, krylov, solve
from tilewright.sparse.choices import KernelChoice, assumed, variants
from tilewright.sparse.lower.vectors import BLOCK, CATALOGUE, emit_vectors, fuse, kernel, multiple
from tilewright.sparse.solve import Iteration

LENGTHS = (0, 1, 7, 63, 64, 65, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17)
EVERY = (*CATALOGUE.values(), multiple(1), multiple(3), multiple(8), fuse(multiple(2), CATALOGUE["norm2"], {"x": "y"}))


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path))
    choices.known.cache_clear()
    yield tmp_path
    choices.known.cache_clear()


def check(what, vectors, scalars, choice):
    krylov._verify(what, vectors, scalars, choice)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("what", EVERY, ids=lambda what: what.name)
def test_kernels_compute_what_numpy_computes(what, dtype):
    rng = np.random.default_rng(1)
    for number, length in enumerate(LENGTHS):
        shift = number % 3
        vectors = [rng.standard_normal(length + 3).astype(dtype)[shift : shift + length] for _ in what.vectors]
        scalars = rng.standard_normal(len(what.scalars)).tolist()
        for stream in (False, True):
            check(what, vectors, scalars, KernelChoice(vectors=2, threads=1 + number % 2, stream=stream))


def test_every_variant_is_right_and_sums_do_not_depend_on_threads():
    rng = np.random.default_rng(2)
    what = CATALOGUE["axpy_norm2"]
    vectors = [rng.standard_normal(5 * BLOCK + 11) for _ in what.vectors]
    results = {}
    for registers, threads in itertools.product((1, 2, 4, 8), (1, 2, 3)):
        choice = KernelChoice(vectors=registers, threads=threads, stream=False)
        check(what, vectors, (0.3,), choice)
        sums = krylov.apply(what, *(each.copy() for each in vectors), scalars=(0.3,), choice=choice)
        assert results.setdefault(registers, sums) == sums


def test_results_go_past_caches_only_where_a_kernel_writes_them():
    for name, ways in {"waxpy": {False, True}, "axpy": {False}}.items():
        assert {each.stream for each in variants(CATALOGUE[name], 2)} == ways


def test_a_wrong_kernel_is_found(monkeypatch):
    wrong = kernel("axpy", "x y", "y = a * x + y + x", scalars="a")
    monkeypatch.setattr(krylov, "emit_vectors", lambda _what, *rest: emit_vectors(wrong, *rest))
    rng = np.random.default_rng(3)
    with pytest.raises(WrongResultError, match="computes a wrong 'y'"):
        check(
            CATALOGUE["axpy"],
            [rng.standard_normal(100) for _ in "xy"],
            (0.5,),
            KernelChoice(vectors=1, threads=1, stream=False),
        )


def test_named_functions():
    rng = np.random.default_rng(4)
    x, y, z = rng.standard_normal((3, 5000))
    np.testing.assert_allclose(krylov.axpy(0.5, x, y.copy()), 0.5 * x + y, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(krylov.aypx(0.5, x, y.copy()), x + 0.5 * y, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(krylov.waxpy(0.5, x, y), 0.5 * x + y, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(krylov.scale(-3, x.copy()), -3 * x)
    assert krylov.dot(x, y) == pytest.approx(x @ y, abs=1e-10)
    assert krylov.norm(x) == pytest.approx(np.linalg.norm(x), rel=1e-14)
    assert krylov.dot_norm(x, y) == pytest.approx((x @ y, np.linalg.norm(x)), rel=1e-12)
    target = y.copy()
    assert krylov.axpy_norm(0.5, x, target) == pytest.approx(np.linalg.norm(0.5 * x + y), rel=1e-14)
    factors, xs = rng.standard_normal(19), list(rng.standard_normal((19, 5000)))
    np.testing.assert_allclose(krylov.maxpy(factors, xs, z.copy()), z + factors @ np.array(xs), rtol=1e-12, atol=1e-12)
    assert krylov.maxpy([], [], z) is z


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_norms_neither_overflow_nor_underflow(dtype):
    limits = np.finfo(dtype)
    for size in (limits.max / 4, limits.tiny * 4, limits.tiny * limits.eps * 8):
        x = np.array([size, -size, size, size], dtype=dtype)
        assert krylov.norm(x) == pytest.approx(2 * float(size), rel=1e-6)
    assert krylov.norm(np.zeros(5, dtype)) == 0
    assert krylov.norm(np.zeros(0, dtype)) == 0
    assert krylov.norm(np.array([1, np.inf], dtype)) == np.inf
    assert np.isnan(krylov.norm(np.array([1, np.nan], dtype)))


def test_what_moves_is_counted():
    assert CATALOGUE["dot"].moved == 2
    assert CATALOGUE["axpy"].moved == CATALOGUE["axpy_norm2"].moved == 3
    assert CATALOGUE["waxpy"].moved == 4
    assert multiple(8).moved == 10
    assert CATALOGUE["cg_update"].written == ("x", "r")


def test_fused_kernels_share_what_is_named():
    both = fuse(CATALOGUE["axpy"], CATALOGUE["axpy"], {"y": "y"})
    assert both.vectors == ("x", "y", "x_")
    assert both.scalars == ("a", "a_")
    rng = np.random.default_rng(5)
    x, y, z = rng.standard_normal((3, 100))
    target = y.copy()
    krylov.apply(both, x, target, z, scalars=(2.0, 3.0))
    np.testing.assert_allclose(target, 2 * x + y + 3 * z, rtol=1e-14, atol=1e-14)
    with pytest.raises(UsageError, match="shares"):
        fuse(CATALOGUE["axpy"], CATALOGUE["dot"], {"x": "nothing"})


def test_formulas_are_sums_and_products_of_their_names():
    for text in [
        "y = exp(x)",
        "y = x / y",
        "q = x",
        "y = x; exit(1)",
        "y = z",
        "y =",
        "y = x ** y[0]",
        "system + x",
        "y = 'a'",
        "y = (x",
        "y = x y",
    ]:
        with pytest.raises(UsageError, match="is no operation on"):
            kernel("wrong", "x y", text)


def test_what_does_not_fit_is_refused():
    x, y = np.ones(10), np.ones(10)
    for call, message in (
        (lambda: krylov.apply("nothing", x), "no vector kernel 'nothing'"),
        (lambda: krylov.apply("axpy", x, y), r"takes 2 vectors \(x, y\) and 1 scalars"),
        (lambda: krylov.axpy(1.0, x, np.ones(9)), "contiguous array of 10"),
        (lambda: krylov.axpy(1.0, x, np.ones(20)[::2]), "contiguous array of 10"),
        (lambda: krylov.dot(x, y.astype("float32")), "got float32 for 'y'"),
        (lambda: krylov.dot(x.astype(int), y.astype(int)), "got int64"),
        (lambda: krylov.maxpy([1.0], [x, x], y), "one factor per vector"),
        (lambda: krylov.tune("axpy", 0), "at least 1"),
        (lambda: multiple(0), "1 to 16 terms"),
    ):
        with pytest.raises(UsageError, match=message):
            call()
    with pytest.raises(ArrayError, match="'y' and 'x' of 'axpy' overlap"):
        krylov.axpy(1.0, x, x)
    assert krylov.dot(x, x) == 10
    fixed = np.ones(10)
    fixed.flags.writeable = False
    with pytest.raises(ArrayError, match="read-only"):
        krylov.scale(2.0, fixed)


def test_kernels_get_addresses_of_their_type_alone():
    """What lies at an odd address, or has its bytes the other way round, is copied; x86 forgives the first."""
    x = np.arange(50.0)
    odd = np.zeros(x.nbytes + 1, np.uint8)[1:].view(float)
    dot = krylov._NAMED["dot"]
    assert dot.check([x, x], []) == [x.ctypes.data] * 2
    turned = x.astype(">f8")
    turned.flags.writeable = False
    assert dot.check([odd, x], []) == dot.check([turned, x], []) == []
    assert krylov.dot(turned, x) == krylov.dot(x, x)  # what is only read is not copied back


@pytest.mark.parametrize("dtype", ["float32", "float64", ">f8"])
def test_vectors_at_odd_addresses_are_computed_with_in_place(dtype):
    x, y = np.arange(50.0).astype(dtype), np.ones(50, dtype)
    odd = np.zeros(x.nbytes + 1, np.uint8)[1:].view(dtype)
    odd[:] = x
    assert krylov.dot(odd, y) == krylov.dot(x, y)
    assert krylov.axpy(2.0, y, odd) is odd
    assert np.array_equal(odd, krylov.axpy(2.0, y, x))
    with pytest.raises(ArrayError, match="overlap"):
        krylov.axpy(1.0, odd[1:], odd[:-1])
    odd.flags.writeable = False
    with pytest.raises(ArrayError, match="read-only"):
        krylov.scale(2.0, odd)


def test_tuning_is_kept_for_later_processes_and_near_lengths(own_store, monkeypatch):
    monkeypatch.setattr(krylov, "_ROUNDS", 1)
    monkeypatch.setattr(krylov, "_SECONDS", 0)
    trial = krylov.tune("waxpy", 1000, "float32")
    assert {choice for choice, _ in trial.measured} == set(variants(CATALOGUE["waxpy"], choices.thread_count()))
    assert trial.seconds == min(seconds for _, seconds in trial.measured)
    assert json.dumps(trial.to_dict())
    threads = choices.thread_count()
    choices.known.cache_clear()
    what = CATALOGUE["waxpy"]
    assert choices.learned(what, "float32", 1000, threads) == trial.choice
    assert choices.learned(what, "float32", 2000, threads) == trial.choice
    assert choices.learned(what, "float32", 10**6, threads) is None
    assert choices.learned(what, "float64", 1000, threads) is None
    path = own_store / "vectors.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    choices.known.cache_clear()
    assert choices.learned(what, "float32", 1000, threads) is None


def test_records_that_make_no_sense_are_skipped(own_store):
    from tilewright.runtime.store import folder as store

    good = {"key": "k", "length": 5, "vectors": 2, "threads": 1, "stream": False}
    for change in (
        {"vectors": 3},
        {"threads": 0},
        {"threads": "x"},
        {"stream": 2},
        {"length": 0},
        {"key": 7},
        {"key": None},
    ):
        store.append(own_store / "vectors.jsonl", {**good, **change})
    choices.known.cache_clear()
    assert choices.known().choices == {}


def test_what_is_assumed_without_tuning():
    what = CATALOGUE["waxpy"]
    assert assumed(what, 100, 8, 4) == KernelChoice(vectors=4, threads=1, stream=False)
    assert assumed(what, 10**8, 8, 4) == KernelChoice(vectors=4, threads=4, stream=True)
    assert not assumed(CATALOGUE["axpy"], 10**8, 8, 4).stream


def poisson(shape, dtype="float64"):
    def body(u):
        total = 2 * len(shape) * u[(0,) * len(shape)]
        for axis, side in itertools.product(range(len(shape)), (-1, 1)):
            total = total - u[tuple(side if a == axis else 0 for a in range(len(shape)))]
        return total

    return tw.sparse.from_stencil(tw.stencil(body, name="poisson"), shape, dtype=dtype)


@pytest.fixture
def small_blocks(monkeypatch):
    """Iterations in blocks of few rows, so that small matrices give every thread some and neighbours to wait for."""
    monkeypatch.setattr(solve, "CG_BLOCK", 64)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shape", [(1,), (3,), (500,), (7, 300), (40, 50), (11, 12, 13), (2000, 2)])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_fused_iterations_are_those_of_the_textbook(shape, threads):
    rng = np.random.default_rng(6)
    a = poisson(shape)
    b = rng.standard_normal(a.shape[0])
    x, r = np.zeros_like(b), b.copy()
    state = Iteration(a, x.copy(), r.copy(), threads)
    p, square = r.copy(), r @ r
    for _ in range(min(12, a.shape[0])):
        q = a @ p
        step = square / (p @ q)
        x += step * p
        r -= step * q
        last, square = square, r @ r
        p = r + square / last * p
        assert state.step() == pytest.approx(square, rel=1e-8, abs=1e-20)
        if square < 1e-20:
            break
    np.testing.assert_allclose(state.finish(), x, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(state.finish(), state.x)


@pytest.mark.usefixtures("small_blocks")
def test_results_do_not_depend_on_the_number_of_threads():
    a = poisson((60, 61))
    b = np.random.default_rng(7).standard_normal(a.shape[0])
    results = [tw.sparse.cg(a, b, rtol=1e-8, threads=threads) for threads in (1, 2, 3)]
    assert all(np.array_equal(results[0].x, each.x) for each in results)
    assert len({each.history for each in results}) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cg_solves_like_scipys(dtype):
    a = poisson((30, 31), dtype)
    expected = np.random.default_rng(8).standard_normal(a.shape[0]).astype(dtype)
    b = a @ expected
    rtol = 1e-10 if dtype == "float64" else 1e-4
    solution = tw.sparse.cg(a, b, rtol=rtol)
    count = []
    _, info = scipy_cg(a.to_scipy("csr"), b, rtol=rtol, callback=count.append)
    assert info == 0
    assert abs(solution.iterations - len(count)) <= 1 + (dtype == "float32")
    assert solution.converged
    assert np.linalg.norm(b - a @ solution.x) <= 2 * rtol * np.linalg.norm(b)
    warm = tw.sparse.cg(a, b, solution.x, rtol=10 * rtol)
    assert warm.iterations <= 1
    assert tw.sparse.cg(a, b, maxiter=3, rtol=0).iterations == 3
    assert not tw.sparse.cg(a, b, maxiter=3, rtol=1e-12).converged
    assert tw.sparse.cg(a, np.zeros_like(b)).iterations == 0
    with pytest.raises(ArrayError, match="right-hand side"):
        tw.sparse.cg(a, b[:-1])
    with pytest.raises(UsageError, match="at least 0"):
        tw.sparse.cg(a, b, rtol=-1)


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [("float32", f) for f in (2.0**66, 2.0**100, 2.0**-80, 2.0**-110)]
    + [("float64", f) for f in (2.0**515, 2.0**1000, 2.0**-560, 2.0**-900)],
)
def test_cg_solves_alike_at_every_size_of_the_right_hand_side(dtype, factor):
    """A power of two changes no digit, so that iterations, norms and the solution are those of the plain numbers."""
    a = poisson((20, 21), dtype)
    b = a @ np.random.default_rng(9).standard_normal(a.shape[0]).astype(dtype)
    plain, found = tw.sparse.cg(a, b), tw.sparse.cg(a, b * b.dtype.type(factor))
    assert (plain.converged, found.converged) == (True, True)
    np.testing.assert_array_equal(found.x, plain.x * b.dtype.type(factor))
    assert found.history == pytest.approx([each * factor for each in plain.history], rel=1e-6)
    warm = tw.sparse.cg(a, b * b.dtype.type(factor), found.x, rtol=1e-4)
    assert (warm.converged, warm.iterations) == (True, 0)
    limit = 1.01 * plain.residual * factor  # numbers below the normal ones have fewer digits
    absolute = tw.sparse.cg(a, b * b.dtype.type(factor), rtol=0, atol=limit)
    assert (absolute.converged, absolute.iterations) == (True, plain.iterations)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_cg_never_converges_where_the_residual_is_not_finite(dtype, bad):
    a = poisson((20, 21), dtype)
    b, x0, broken = np.ones(a.shape[0], dtype), np.zeros(a.shape[0], dtype), poisson((20, 21), dtype)
    b[5] = x0[7] = broken.diagonals[2][3] = bad
    for found in (tw.sparse.cg(a, b), tw.sparse.cg(a, np.ones_like(b), x0), tw.sparse.cg(broken, np.ones_like(b))):
        assert not found.converged
        assert not np.isfinite(found.residual)


def test_cg_does_not_claim_what_its_type_cannot_hold():
    """Solutions beyond the type's range, and squares that vanish long before the residual does."""
    large, small = (tw.sparse.Dia.from_diagonals({0: value}, (9, 9), "float32") for value in (1e30, 1e-30))
    b = np.full(9, 1e20, "float32")
    too_large, too_small = tw.sparse.cg(small, b), tw.sparse.cg(large, 1 / b)
    assert (too_large.converged, np.isfinite(too_large.residual)) == (False, False)
    assert (too_small.converged, too_small.residual) == (False, pytest.approx(3e-20))
    for dtype in ("float32", "float64"):
        a = poisson((200,), dtype)
        exact = tw.sparse.cg(a, np.ones(200, dtype), rtol=0, maxiter=5000)
        assert exact.converged == (exact.residual == 0)
        np.testing.assert_allclose(a @ exact.x, 1, rtol=0.01 if dtype == "float32" else 1e-10)
    zero = tw.sparse.cg(tw.sparse.Dia.from_diagonals({0: 0.0}, (9, 9)), np.ones(9))
    assert not zero.converged
