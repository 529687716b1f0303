"""Element types: whole numbers wrap around, complex ones are NumPy's, those of 16 bits are rounded per statement."""

import itertools
import sys

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.base.dtypes import arithmetic, is_rounded, limits, numpy_type
from tilewright.base.errors import ArrayError, TilewrightWarning, UsageError
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.expression import apply
from tilewright.programs.stencil.problem import DTYPES, make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.runtime.warn import forget_warnings
from tilewright.workloads.tables.problem import recurrence

U = np.random.default_rng(0).random((12, 14))
U2 = FieldBuilder("u")


@pytest.fixture(autouse=True)
def unwarned():
    forget_warnings()
    yield
    forget_warnings()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_of_fields_is_compiled(dtype):
    u = (9 * U).astype(numpy_type(dtype))
    program = "jacobi2d" if is_rounded(dtype) else stencil("total", 2, {"u": U2[0, 1] + U2[1, 0]})
    found = tw.run(program, u, steps=1, backend="c")
    assert found.dtype == u.dtype
    assert tw.predict(program, shape=(64, 64), steps=4, machine="host", dtype=dtype).costs.seconds > 0


def test_a_table_without_tiles_says_that_numpy_fills_it():
    d = FieldBuilder("d")
    ahead = recurrence("ahead", {"d": apply("maximum", d[-1, 2], d[0, -1]) + 1}, outside={"d": 0})
    with pytest.warns(TilewrightWarning, match="running with NumPy.*'ahead' has no C code: a read goes up and to"):
        tw.fill(ahead, shape=(4, 5))


WRAPPING = stencil(
    "wrapping", 2, {"u": 7 * U2[0, 0] * U2[-1, 0] - U2[1, 0] + apply("where", U2[0, 1] > U2[0, -1], 100, 3)}
)
NARROW = ("int8", "uint8", "int16", "uint16", "uint32")


def test_every_operation_stays_in_its_type():
    """200 + 100 is 44 in a byte, and half of that 22; NumPy alone takes the 100 for a number of 64 bits."""
    cell = FieldBuilder("u")[0]
    kept = stencil("kept", 1, {"u": (cell + apply("where", cell > 3, 100, 5)) >> 1})
    u = np.array([0, 3, 100, 155, 156, 200, 255], np.uint8)
    for backend in ("numpy", "auto"):
        np.testing.assert_array_equal(tw.run(kept, u, steps=1, backend=backend), [2, 4, 100, 127, 0, 22, 49])


@pytest.mark.parametrize("dtype", NARROW)
def test_shifts_by_more_bits_than_there_are(dtype):
    limits = np.iinfo(dtype)
    u = np.array([limits.min, limits.min + 1, 0, 5, limits.max] * 40, dtype)
    for by in (1, limits.bits - 1, limits.bits, 40):
        shifted = stencil(f"by{by}", 1, {"u": FieldBuilder("u")[0] >> by})
        expected = [int(each) >> by for each in u]  # of Python's whole numbers, which have no last bit
        np.testing.assert_array_equal(tw.run(shifted, u, steps=1), expected)
        np.testing.assert_array_equal(tw.run(shifted, u, steps=1, backend="numpy"), expected)


def plus(u, k):
    return u[0, 0] + k


SUM = tw.stencil(lambda u: u[0, 1] + u[1, 0], name="sum")
PLUS = tw.stencil(plus)
BIG = r"\(a whole number of 1329 bits\)"
ASKED = {"shape": (64, 64), "steps": 2, "machine": "host"}


def zeros(dtype, shape=(5, 6)):
    return np.zeros(shape, numpy_type(dtype))


@pytest.mark.parametrize("value", [300, -1, 1.5, 10**400], ids=["300", "-1", "1.5", "10**400"])
@pytest.mark.parametrize(
    "entry",
    [
        lambda k: tw.run(PLUS, zeros("uint8"), steps=1, k=k, dtype="uint8"),
        lambda k: tw.run(PLUS, zeros("uint8"), steps=1, k=k, dtype="uint8", backend="numpy"),
        lambda k: tw.run(PLUS, zeros("uint8", (3, 5, 6)), steps=1, k=k, dtype="uint8", axes=(-2, -1)),
        lambda k: tw.run(PLUS, zeros("uint8"), steps=2, k=tw.per_step(np.array([1, k])), dtype="uint8"),
        lambda k: tw.predict(PLUS, dtype="uint8", k=k, **ASKED),
        lambda k: tw.tune(PLUS, dtype="uint8", k=k, effort="none", **ASKED),
        lambda k: tw.run(lambda u: u[0, 0] + k, zeros("uint8"), steps=1, dtype="uint8"),
        lambda k: tw.predict(lambda u: u[0, 0] + k, dtype="uint8", **ASKED),
        lambda k: tw.run(SUM, zeros("uint8"), steps=1, boundary=tw.Boundary("constant", k)),
        lambda k: tw.run(SUM, zeros("uint8"), steps=1, boundary=((tw.Boundary("constant", k), "nearest"), "wrap")),
        lambda k: tw.run(
            SUM, zeros("uint8"), steps=2, boundary=tw.Boundary("constant", np.array([1, k])), dtype="uint8"
        ),
        lambda k: tw.run(SUM, zeros("uint8", (3, 5, 6)), steps=1, boundary=f"constant:{k}", axes=(-2, -1)),
        lambda k: tw.predict(SUM, dtype="uint8", boundary=f"constant:{k}", **ASKED),
        lambda k: tw.tune(SUM, dtype="uint8", boundary=f"constant:{k}", effort="none", **ASKED),
        lambda k: tw.run(SUM, zeros("uint8"), steps=1, sources=[((2, 2), k)]),
        lambda k: tw.run(SUM, zeros("uint8"), steps=2, sources=[((2, 2), np.array([1, k]))]),
        lambda k: tw.run(SUM, zeros("uint8"), steps=1, sources=tw.Points([(2, 2)], values=k)),
        lambda k: tw.run(SUM, zeros("uint8"), steps=2, sources=tw.Points([(2, 2)], values=[[1], [k]])),
        lambda k: tw.run(SUM, zeros("uint8"), steps=1, sources=tw.Points([(2, 2)], values=1, scale=k)),
    ],
)
def test_what_an_integer_type_cannot_hold_is_refused(entry, value):
    message = rf"{BIG if value == 10**400 else value}(\.0)? .*does not fit (uint8|float64)"
    if value == 1.5:
        message += "|computes float64 values"  # as NumPy's promotion says
    with pytest.raises((UsageError, ArrayError), match=message):
        entry(value)


def test_a_scalar_of_numpys_counts_as_numpys_promotion_has_it():
    u = zeros("uint8")
    for k in (np.int64(300), np.int64(3), np.uint8(3), 3, True, np.float32(0.5), np.int8(-1)):
        found = tw.run(PLUS, u, steps=1, k=k, boundary="wrap")
        np.testing.assert_array_equal(found, u + k)
        assert found.dtype == (u + k).dtype
    assert tw.run(PLUS, u, steps=1, k=np.int64(30), dtype="uint8").dtype == "uint8"
    for k in (np.int64(300), np.int64(-1)):
        with pytest.raises(UsageError, match=f"k = {k} does not fit uint8"):
            tw.run(PLUS, u, steps=1, k=k, dtype="uint8")


def test_whole_numbers_of_more_than_64_bits_are_real_ones():
    u, large = zeros("float64"), 2**70
    assert tw.run(PLUS, u, steps=1, k=large, boundary="wrap").max() == 2.0**70
    assert tw.run(PLUS, u, steps=2, k=tw.per_step([1, large]), boundary="wrap").max() == 2.0**70 + 1
    assert tw.run(SUM, u, steps=1, boundary=tw.Boundary("constant", large)).max() == 2.0**71
    for sources in ([((2, 2), large)], tw.Points([(2, 2)], values=large), tw.Points([(2, 2)], values=1, scale=large)):
        assert tw.run(SUM, u, steps=1, sources=sources, boundary="wrap").max() == 2.0**70


def test_runs_out_of_core_refuse_what_their_type_cannot_hold(tmp_path):
    u = np.memmap(tmp_path / "u.bin", np.uint8, "w+", shape=(40, 30))
    for given in ({"k": 300}, {"k": 1, "boundary": "constant:300"}, {"k": 1, "sources": [((2, 2), 300)]}):
        with pytest.raises(UsageError, match=r"300(\.0)? .*does not fit uint8"):
            tw.run(PLUS, u, steps=1, out=str(tmp_path / "v.npy"), **given)


def test_a_plan_refuses_what_its_type_cannot_hold():
    plan = tw.tune(PLUS, dtype="uint8", k=1, effort="none", **ASKED)
    with pytest.raises(UsageError, match="k = 300 does not fit uint8"):
        plan.run(zeros("uint8", (64, 64)), k=300)


def test_what_fits_is_exact_or_rounded_as_numpy_rounds_it():
    bytes_ = np.arange(30, dtype=np.uint8).reshape(5, 6)
    np.testing.assert_array_equal(tw.run(PLUS, bytes_, steps=1, k=255), bytes_ + 255)
    np.testing.assert_array_equal(tw.run(PLUS, bytes_, steps=1, k=True), bytes_ + True)
    edge = tw.run(SUM, bytes_, steps=1, boundary="constant:255")
    assert edge[4, 0] == (int(bytes_[4, 1]) + 255) % 256
    for dtype, value in (("float32", 0.1), ("float32", 10**30), ("float64", 10**300), ("int64", 2**63 - 1)):
        u = np.zeros((5, 6), dtype)
        np.testing.assert_array_equal(tw.run(PLUS, u, steps=1, k=value), u + value)
        constant = tw.run(lambda u, value=value: u[0, 0] + value, u, steps=1, dtype=dtype)
        np.testing.assert_array_equal(constant, u + np.asarray(value, dtype))
    for value in (np.inf, np.nan):
        with pytest.warns(TilewrightWarning, match="not finite"):
            np.testing.assert_array_equal(tw.run(PLUS, zeros("float32"), steps=1, k=value), np.full((5, 6), value))
    wide = tw.run(SUM, zeros("int64"), steps=1, boundary="constant:9007199254740993")
    assert wide[4, 0] == 2**53 + 1  # a whole number of a text is not rounded


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float32", 1e39), ("float32", 10**400), ("complex64", 1e39j), ("float64", 10**400), ("float16", 1e39)],
)
def test_finite_numbers_that_become_infinite_are_refused(dtype, value):
    u, shown = zeros(dtype), BIG if isinstance(value, int) else str(value).replace("+", r"\+")
    kind = arithmetic(dtype).name
    with pytest.raises(UsageError, match=f"k = {shown} does not fit {kind}"):
        tw.run(PLUS, u, steps=1, k=value, dtype=dtype)
    with pytest.raises(UsageError, match=f"the constant {shown} of 'f' does not fit {kind}"):
        tw.run(tw.stencil(lambda u: u[0, 0] + value, name="f"), u, steps=1, dtype=dtype)
    with pytest.raises(UsageError, match=f"the boundary value {shown} of 'u' does not fit {dtype}"):
        tw.run(SUM, u, steps=1, boundary=tw.Boundary("constant", value))
    if not isinstance(value, int):
        with pytest.raises(UsageError, match=f"the source value {shown} does not fit {dtype}"):
            tw.run(SUM, u, steps=1, sources=[((2, 2), value)])


def test_arrays_that_a_type_cannot_hold_are_refused():
    scaled = tw.stencil(lambda u, c: u[0, 0] * c[0, 0], name="scaled")
    c = np.ones((5, 6))
    c[2, 3] = 1e300
    with pytest.raises(UsageError, match=r"the value 1e\+300 of 'c' does not fit float32"):
        tw.run(scaled, zeros("float32"), c, steps=1, dtype="float32")
    with pytest.raises(UsageError, match=r"the value 1e\+300 of 'k' does not fit float32"):
        tw.vjp(PLUS, zeros("float32"), steps=1, k=c, dtype="float32")
    with pytest.raises(UsageError, match="the value 200 of 'u' does not fit int8"):
        tw.run(PLUS, np.full((5, 6), 200, np.int64), steps=1, k=1, dtype="int8")
    several = np.stack([np.ones((5, 6)), c])
    with pytest.raises(UsageError, match=r"the value 1e\+300 of 'k' does not fit float32"):
        tw.run(PLUS, zeros("float32", (2, 5, 6)), steps=1, k=several, axes=(-2, -1), dtype="float32")


BITS = {
    "and": lambda u: u[0, 1] & u[0, 0],
    "mask": lambda u: 7 & u[1, 0],
    "or": lambda u: (u[0, 0] | 12) | u[0, 1],
    "not": lambda u: ~u[-1, 0],
    "shifted": lambda u: (u[0, 1] >> 2) & ~u[0, 0] | 1,
    "compared": lambda u: tw.where((u[0, 0] > 20) & ~(u[0, 1] > 60) | (u[1, 0] == 3), u[0, 0], u[0, 1] & 15),
    "both": lambda u: (u[0, 0] > 20) & u[0, 1] | ((u[0, 0] > 3) + (u[0, 1] > 5)),
}


@pytest.mark.parametrize(
    ("body", "dtype", "tiling"),
    covering(list(BITS), ["int64", "int32", *NARROW], ["none", "streaming", "hybrid:t=2,s=4x16", "skewed"], times=2),
)
def test_bitwise_operators_are_numpys(body, dtype, tiling):
    limits = np.iinfo(dtype)
    u = np.random.default_rng(2).integers(max(limits.min, -100), 101, (23, 310)).astype(dtype)
    expected = u
    for _ in range(3):
        p = np.pad(expected, 1, "wrap")
        read = type("Read", (), {"__getitem__": lambda _, o, p=p: p[1 + o[0] : 24 + o[0], 1 + o[1] : 311 + o[1]]})()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tw, "where", np.where)
            expected = BITS[body](read).astype(dtype)
    given = {"steps": 3, "boundary": "wrap"}
    for options in ({"backend": "numpy"}, {"backend": "c"}):
        np.testing.assert_array_equal(tw.run(tw.stencil(BITS[body]), u, **given, **options), expected)
    fixed = tw.run(tw.stencil(BITS[body]), u, steps=3, backend="numpy")
    np.testing.assert_array_equal(tw.run(tw.stencil(BITS[body]), u, steps=3, tiling=tiling, backend="c"), fixed)


def test_numpys_functions_of_bits_are_the_operators():
    u = np.arange(40, dtype=np.int16)
    found = tw.run(lambda u: np.bitwise_or(np.bitwise_and(u[0], 6), np.invert(np.right_shift(u[0], 3))), u, steps=1)
    np.testing.assert_array_equal(found, (u & 6) | ~(u >> 3))


def test_bitwise_operators_on_truth_values_are_logical():
    u, flag = np.arange(12.0).reshape(3, 4), np.arange(12).reshape(3, 4) % 3 == 0
    found = tw.run(lambda u, flag: tw.where(~flag[0, 0] & (u[0, 0] > 2), u[0, 0], -1.0), u, flag, steps=1)
    np.testing.assert_array_equal(found, np.where(~flag & (u > 2), u, -1))
    np.testing.assert_array_equal(tw.run(lambda u: ~u[0, 0], flag, steps=3), ~flag)
    np.testing.assert_array_equal(tw.run(lambda u: u[0, 0] & 1, flag, steps=1), flag & 1)
    with pytest.raises(UsageError, match="applies ~ to truth values, which its steps make whole numbers"):
        tw.run(lambda u: ~u[0, 0] & 1, flag, steps=2)


@pytest.mark.parametrize(
    ("body", "sign"),
    [
        (lambda u: u[0] & 1, "&"),
        (lambda u: tw.where(u[0] | u[1], 1.0, 0.0), "[|]"),
        (lambda u: ~u[0], "~"),
        (lambda u: u[0] >> 1, ">>"),
        (lambda u: tw.where((u[0] > 1) & u[1], 1.0, 0.0), "&"),
        (lambda u: u[0] * (tw.index(0) & 1), "&"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_bitwise_operators_are_refused_on_what_is_rounded(body, sign, dtype):
    message = f"'stencil' applies {sign}, which works on the bits of whole numbers, to {dtype} values .*compare first"
    for run in (
        lambda: tw.run(body, np.ones(9, dtype), steps=1),
        lambda: tw.predict(body, shape=(64,), steps=1, dtype=dtype, machine="host"),
        *([lambda: tw.vjp(tw.stencil(body), np.ones(9, dtype), steps=1)] if dtype in {"float32", "float64"} else []),
    ):
        with pytest.raises(UsageError, match=message):
            run()


def test_bits_of_recurrences():
    flags = np.random.default_rng(3).integers(0, 2, (9, 11))
    free = tw.recurrence(lambda p, f: ~(p[-1, 0] & p[0, -1]) & (f[0, 0] != 0), outside={"p": True}, semiring="or_and")
    expected = np.ones((10, 12), bool)
    for i, j in np.ndindex(9, 11):
        expected[i + 1, j + 1] = ~(expected[i, j + 1] & expected[i + 1, j]) & (flags[i, j] != 0)
    np.testing.assert_array_equal(tw.fill(free, flags, dtype="bool"), expected[1:, 1:])
    code = tw.recurrence(lambda d, f: (d[-1, 0] | f[0, 0]) & ~d[0, -1], outside={"d": 5})
    expected = np.full((10, 12), 5)
    for i, j in np.ndindex(9, 11):
        expected[i + 1, j + 1] = (expected[i, j + 1] | flags[i, j]) & ~expected[i + 1, j]
    np.testing.assert_array_equal(tw.fill(code, flags, dtype="int32"), expected[1:, 1:])
    with pytest.raises(UsageError, match=r"applies \|, which works on the bits of whole numbers, to float32 values"):
        tw.fill(code, flags, dtype="float32")


@pytest.mark.parametrize("dtype", NARROW)
def test_models_know_narrow_types(dtype):
    wide = tw.predict(WRAPPING, shape=(4000, 4000), steps=8, machine="zen3", dtype="int32", boundary="reflect")
    narrow = tw.predict(WRAPPING, shape=(4000, 4000), steps=8, machine="zen3", dtype=dtype, boundary="reflect")
    assert narrow.costs.seconds <= wide.costs.seconds


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_models_know_that_16_bits_halve_traffic_not_arithmetic(dtype):
    given = {"shape": (4000, 4000), "steps": 8, "machine": "zen3", "tiling": "streaming"}
    wide, narrow = (tw.predict("heat2d", dtype=each, **given).costs for each in ("float32", dtype))
    assert narrow.dram_bytes == pytest.approx(wide.dram_bytes / 2, rel=0.05)
    assert narrow.seconds > 0.8 * wide.seconds


@pytest.mark.parametrize("dtype", ["uint8", "complex64", "float16", "bfloat16"])
def test_gpus_refuse_what_they_have_no_kernels_for(dtype):
    with pytest.raises(UsageError, match=f"in float32, float64, int32, int64, got {dtype}"):
        tw.run(WRAPPING, np.ones((8, 8), numpy_type(dtype)), steps=1, backend="cuda", dtype=dtype)
    with pytest.raises(UsageError, match=f"in float32, float64, int32, int64, got {dtype}"):
        tw.predict(WRAPPING, shape=(64, 64), steps=4, machine="h200", dtype=dtype)


TILINGS = ["none", "streaming", "hybrid:t=2,s=4x16", "diamond", "skewed"]


def complex_data(dtype, shape=(37, 203)):
    generator = np.random.default_rng(2)
    return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype) / 2


@tw.stencil
def diffusion(u, a):
    return u[0, 0] + a * (u[0, 1] + u[0, -1] + u[1, 0] + u[-1, 0] - 4 * u[0, 0])


def close(found, expected, dtype, units):
    scale = max(1.0, float(np.abs(expected).max()))
    assert float(np.abs(found - expected).max()) <= units * float(limits(dtype).eps) * scale


U3 = FieldBuilder("u")
BOX = stencil(
    "box",
    3,
    {"u": sum(round(0.001 * (k + 1), 3) * U3[at] for k, at in enumerate(itertools.product((-1, 0, 1), repeat=3)))},
)


@pytest.mark.parametrize(
    ("dtype", "sums"),
    covering(["complex64", "complex128", "float16", "bfloat16"], ["inputs", "columns", "winograd", "loop"], times=2),
)
def test_every_form_of_a_weighted_sum(dtype, sums):
    """Tables of weights, too, hold real numbers of full width."""
    u = complex_data("complex128", (20, 24, 70))
    u = u.astype(dtype) if dtype.startswith("complex") else u.real.astype(numpy_type(dtype))
    problem = make_problem(BOX, u.shape, 3, dtype)
    exact, allowed = rounding.bound(problem, {"u": [u]}, {})
    found = tw.run(BOX, u, steps=3, tiling=f"streaming:t=2,s=10x12x40,sums={sums}", backend="c")
    assert rounding.worst_excess(found, exact["u"], allowed["u"])[1]


def test_strict_runs_are_numpys_to_the_last_bit_where_weights_are_real():
    """And under every tiling the same where they are complex: NumPy may fuse the products of complex numbers."""
    real = tw.stencil(lambda u: 0.25 * (u[0, 1] + u[0, -1]) - 0.3 * u[1, 0] + u[-1, 0] * 0.1, name="real")
    for dtype in ("complex64", "complex128"):
        u = complex_data(dtype)
        expected = tw.run(real, u, steps=5, boundary="reflect", backend="numpy")
        first = tw.run(diffusion, u, steps=5, a=0.1j, boundary="reflect", strict=True, tiling="none")
        for tiling in TILINGS:
            given = {"steps": 5, "boundary": "reflect", "tiling": tiling, "strict": True}
            np.testing.assert_array_equal(tw.run(real, u, **given), expected)
            np.testing.assert_array_equal(tw.run(diffusion, u, a=0.1j, **given), first)


ONE = FieldBuilder("u")[0]
ABOVE = FieldBuilder("u")[1]
OF_COMPLEX = {
    "quotient": (ONE + 0.1) / (ABOVE * 2 + 3),
    "reciprocal": 1 / (ABOVE + 3),
    "turned": 0.1j * ABOVE + ONE / 4,
    "parts": ONE.real * 1j - ABOVE.imag + apply("conj", ABOVE),
    "modulus": abs(ONE) * ABOVE,
    "functions": apply("exp", ONE)
    + apply("sin", ABOVE) * apply("tanh", ONE)
    + apply("sqrt", ABOVE)
    + apply("cos", ONE),
    "power": ONE**3 + apply("pow", ABOVE + 3, ONE) + apply("log", ABOVE + 3),
    "real_function": apply("sqrt", abs(ABOVE)) * apply("exp", ONE.real) * apply("maximum", ONE.imag, 0.1),
    "order": apply("where", ONE < ABOVE, ONE, 2j) + apply("minimum", ONE, ABOVE) - apply("maximum", ONE, 0.5),
    "equal": apply("where", (ONE == ABOVE) | (ONE != 0.5), ABOVE, ONE) + (ONE >= ABOVE),
    "truth": apply("where", ONE, 0.5, ABOVE) * apply("where", apply("not", ABOVE - ABOVE), 1, 2),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_operators_of_complex_numbers(dtype, name):
    program = stencil(name, 1, {"u": OF_COMPLEX[name]})
    u = complex_data(dtype, (301,))
    u[3:9:2] = u[4:10:2]
    expected = tw.run(program, u, steps=1, boundary="nearest", backend="numpy")
    close(tw.run(program, u, steps=1, boundary="nearest", backend="c"), expected, dtype, 8)


def test_a_modulus_neither_overflows_nor_underflows():
    u = np.array([3e30 + 4e30j, 3e-30 + 4e-30j, 0, np.inf + 1j, 2j] * 20, np.complex64)
    found = tw.run(stencil("size", 1, {"u": abs(ONE)}), u, steps=1)
    np.testing.assert_allclose(found, np.abs(u), rtol=3e-7)


def test_complex_numbers_outside_the_grid():
    u = complex_data("complex64", (41,))
    for boundary in (tw.Boundary("constant", 2 - 1j), "constant:2-1j"):
        found = tw.run(lambda u: u[-1] + u[1], u, steps=1, boundary=boundary, backend="c")
        assert found[0] == 2 - 1j + u[1]
        with pytest.raises(UsageError, match=r"the boundary value \(2-1j\) of 'u' does not fit float32"):
            tw.run(lambda u: u[-1] + u[1], u.real, steps=1, boundary=boundary)


@pytest.mark.parametrize("op", ["floor", "atan2"])
def test_operators_that_complex_numbers_lack(op):
    args = (ONE,) if op == "floor" else (ONE, 1)
    with pytest.raises(UsageError, match=f"{op} is not for complex numbers"):
        tw.run(stencil("none", 1, {"u": apply(op, *args)}), complex_data("complex64", (9,)), steps=1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_number_of_16_bits_is_read_and_written(dtype):
    """Halves, which are rounded to even, and what is infinite, subnormal or not a number."""
    kind = numpy_type(dtype)
    every = np.arange(2**16, dtype=np.uint16).view(kind)
    half = stencil("half", 1, {"u": ONE * 0.5 + 0.0})
    with np.errstate(all="ignore"):
        expected = (every.astype(np.float32) * np.float32(0.5)).astype(kind)
        found = tw.run(half, every, steps=1, backend="c")
    same = np.isnan(expected) | (found == expected)
    assert same.all()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


def test_scalars_and_constants_beside_16_bits_are_not_rounded():
    u = np.full(40, 3.0, np.float16)
    found = tw.run(stencil("scaled", 1, {"u": ONE * 1.0009765 + 0.001}), u, steps=1, backend="c")
    assert found[0] == np.float16(np.float32(3) * np.float32(1.0009765) + np.float32(0.001)) != 3


def test_promotion_of_bfloat16():
    u = np.ones(40, numpy_type("bfloat16"))
    scaled = tw.stencil(lambda u, a: a * u[0], name="scaled")
    assert tw.run(scaled, u, steps=1, a=0.1).dtype == u.dtype
    assert tw.run(scaled, u, steps=1, a=np.float32(0.1)).dtype == np.float32
    assert tw.run(scaled, u, steps=1, a=1j).dtype == np.complex64
    added = tw.stencil(lambda u, k: k[0] + u[0], name="added")
    with pytest.raises(ArrayError, match="bfloat16 and float16 have no common type"):
        tw.run(added, u, u.astype(np.float16), steps=1)


def test_files_of_numpy_forget_bfloat16(tmp_path):
    np.save(tmp_path / "u.npy", np.ones(9, numpy_type("bfloat16")))
    with pytest.raises(ArrayError, match=r"holds no numbers but \|V2 \(hint: view it: array.view\('bfloat16'\)\)"):
        tw.run("jacobi1d", np.load(tmp_path / "u.npy"), steps=1)


def test_bfloat16_needs_a_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(UsageError, match="the element type bfloat16 needs ml_dtypes, which is not installed"):
        tw.run("jacobi2d", U, steps=1, dtype="bfloat16")


def test_arithmetic_types():
    assert [str(arithmetic(name)) for name in ("bfloat16", "complex64", "uint8")] == ["float32", "complex64", "uint8"]
