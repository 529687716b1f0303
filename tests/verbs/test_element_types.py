"""Element types: whole numbers wrap around, complex ones are NumPy's, those of 16 bits are rounded per statement."""

import itertools
import sys

import numpy as np
import pytest
from tests.sampling import covering, some

import tilewright as tw
from tilewright.base.dtypes import arithmetic, is_rounded, limits, numpy_type
from tilewright.base.errors import ArrayError, TilewrightWarning, UsageError
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.expression import apply
from tilewright.programs.stencil.problem import DTYPES, make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.tables.table import recurrence
from tilewright.runtime.warn import forget_warnings

pytestmark = [
    pytest.mark.usefixtures("mostly_unoptimised"),
    pytest.mark.filterwarnings("ignore:the tiling family overlapped goes:DeprecationWarning"),
]

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


@pytest.mark.parametrize(
    ("dtype", "tiling"),
    covering(NARROW, ["none", "streaming", "hybrid:t=2,s=4x16", "diamond", "skewed", "overlapped"], times=2),
)
def test_whole_numbers_wrap_around_as_in_numpy(dtype, tiling):
    limits = np.iinfo(dtype)
    u = np.random.default_rng(1).integers(limits.min, limits.max, (37, 700), dtype, endpoint=True)
    expected = tw.run(WRAPPING, u, steps=3, boundary="reflect", backend="numpy")
    found = tw.run(WRAPPING, u, steps=3, boundary="reflect", tiling=tiling)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


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
        tw.predict("jacobi2d", shape=(64, 64), steps=4, machine="h200", dtype=dtype)


TILINGS = ["none", "streaming", "hybrid:t=2,s=4x16", "diamond", "skewed", "overlapped"]
BOUNDARIES = ["fixed", "wrap", "constant:0.5", "nearest", "reflect", "mirror"]


def tilings(boundary):
    """What applies: a periodic grid is tiled as an extended one, by the planner's choice alone."""
    return TILINGS[:1] if boundary == "wrap" else TILINGS


def complex_data(dtype, shape=(37, 203)):
    generator = np.random.default_rng(2)
    return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype) / 2


@tw.stencil
def diffusion(u, a):
    return u[0, 0] + a * (u[0, 1] + u[0, -1] + u[1, 0] + u[-1, 0] - 4 * u[0, 0])


@tw.stencil
def mixed(u, v, k):
    turned = 0.1j * (u[0, 1] - u[0, -1]) + (0.2 - 0.1j) * u[1, 0].conj()
    size = tw.where(abs(u[0, 0]) > 0.5, v[0, 0].real, v[-1, 0].imag)
    return turned + k * size, v.prev[0, 0] / 4 + 0.1 * u.new[0, 0] * v[0, 1] / (3 + u.new[0, 0])


def close(found, expected, dtype, units):
    scale = max(1.0, float(np.abs(expected).max()))
    assert float(np.abs(found - expected).max()) <= units * float(limits(dtype).eps) * scale


@pytest.mark.parametrize(("dtype", "boundary"), covering(["complex64", "complex128"], BOUNDARIES))
def test_complex_numbers_are_those_of_numpy(dtype, boundary):
    u = complex_data(dtype)
    expected = tw.run(diffusion, u, steps=5, a=0.1 - 0.05j, boundary=boundary, backend="numpy")
    for tiling in tilings(boundary):
        found = tw.run(diffusion, u, steps=5, a=0.1 - 0.05j, boundary=boundary, tiling=tiling, backend="c")
        assert found.dtype == dtype
        close(found, expected, dtype, 20)


@pytest.mark.parametrize(("dtype", "tiling"), covering(["complex64", "complex128"], TILINGS))
def test_several_complex_fields_levels_and_coefficients(dtype, tiling):
    u, v, k = complex_data(dtype), complex_data(dtype)[::-1].copy(), 0.1 * complex_data(dtype)
    given = {"steps": 4, "boundary": ("mirror", ("nearest", "constant:0.5")), "k": k}
    expected = tw.run(mixed, u, (v, u), backend="numpy", **given)
    for strict in (False, True):
        for a, b in zip(tw.run(mixed, u, (v, u), tiling=tiling, strict=strict, **given), expected, strict=True):
            close(a, b, dtype, 40)


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


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float16", "bfloat16"])
def test_sources_and_receivers(dtype):
    program = stencil("s2", 2, {"u": U2[0, 0] * 0.6 + 0.1 * (U2[1, 0] + U2[-1, 0] + U2[0, 1] + U2[0, -1])})
    u = complex_data("complex128", (44, 70))
    u = u.astype(dtype) if dtype.startswith("complex") else u.real.astype(numpy_type(dtype))
    places = [[10.3, 20.7], [20.0, 33.1]]
    given = {"steps": 5, "sources": [tw.Points(places, np.ones((5, 2)))], "receivers": tw.Points(places)}
    expected, heard = tw.run(program, u, backend="numpy", **given)
    found, traces = tw.run(program, u, backend="c", tiling="streaming", **given)
    assert traces["u"].dtype == heard["u"].dtype == u.dtype
    wide = "complex128" if dtype.startswith("complex") else "float64"
    close(found.astype(wide), expected.astype(wide), dtype, 4)
    close(traces["u"].astype(wide), heard["u"].astype(wide), dtype, 4)


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
        with pytest.raises(UsageError, match=r"what lies outside a grid of float32 values is real, got \(2-1j\)"):
            tw.run(lambda u: u[-1] + u[1], u.real, steps=1, boundary=boundary)


@pytest.mark.parametrize("op", ["floor", "shr"])
def test_operators_that_complex_numbers_lack(op):
    args = (ONE,) if op == "floor" else (ONE, 1)
    with pytest.raises(UsageError, match=f"{op} is not for complex numbers"):
        tw.run(stencil("none", 1, {"u": apply(op, *args)}), complex_data("complex64", (9,)), steps=1)


@pytest.mark.parametrize("boundary", some(BOUNDARIES[::-1], 2))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_of_16_bits_are_rounded_once_per_statement(dtype, boundary):
    """What NumPy makes of float32 copies, rounded after every step, is the result to the last bit of strict runs."""
    u = np.random.default_rng(3).standard_normal((37, 203)).astype(numpy_type(dtype))
    wide, padded = u, {"fixed": "edge", "constant:0.5": "constant", "nearest": "edge", "reflect": "symmetric"}
    mode = padded.get(boundary, boundary)
    options = {"constant_values": 0.5} if mode == "constant" else {}
    for _ in range(5):
        p = np.pad(wide, 1, {"mirror": "reflect"}.get(mode, mode), **options).astype(np.float32)
        total = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1] - 4 * p[1:-1, 1:-1]
        new = (p[1:-1, 1:-1] + np.float32(0.1) * total).astype(u.dtype)
        if boundary == "fixed":
            new[[0, -1]], new[:, [0, -1]] = wide[[0, -1]], wide[:, [0, -1]]
        wide = new
    np.testing.assert_array_equal(tw.run(diffusion, u, steps=5, a=0.1, boundary=boundary, backend="numpy"), wide)
    problem = make_problem(diffusion.program, u.shape, 5, dtype, boundary)
    exact, allowed = rounding.bound(problem, {"u": [u]}, {"a": 0.1})
    for tiling in tilings(boundary):
        given = {"steps": 5, "a": 0.1, "boundary": boundary, "tiling": tiling, "backend": "c"}
        np.testing.assert_array_equal(tw.run(diffusion, u, strict=True, **given), wide)
        if tiling in {"none", "streaming"}:
            assert rounding.worst_excess(tw.run(diffusion, u, **given), exact["u"], allowed["u"])[1]


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
