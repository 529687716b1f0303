"""Powers: NumPy's values and types of every kind of numbers, and products in the place of functions."""

import math

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.programs.stencil.expression import Apply, apply, flatten
from tilewright.programs.stencil.powers import reduce_operators
from tilewright.programs.stencil.program import FieldBuilder
from tilewright.programs.stencil.reference import evaluate

pytestmark = [
    pytest.mark.filterwarnings("ignore:values of 'u' are not finite"),
]
U = FieldBuilder("u")
DATA = {
    "int8": [0, 1, 5, 3],
    "int32": [0, 1, 5, 3],
    "uint16": [0, 1, 65535, 3],
    "float32": [0.0, -0.0, 2.0, np.nan],
    "complex64": [0, 1j, -2 + 1j, np.nan],
    "complex128": [0, 1j, -2 + 1j, np.nan],
}
NUMBERS = [0, 2, 9, 20, True, 0.0, -1.0, 1.5, 0j, 2j, -3 + 0j]
NEGATIVE = r"takes u?int\d+ values to the power -\d, which whole numbers do not have"
WAYS = {
    "literal": (lambda k: lambda u: u[0] ** k, lambda u, k: u**k),
    "base": (lambda k: lambda u: k ** u[0], lambda u, k: k**u),
    "scalar": (lambda k: lambda u, k: u[0] ** k, lambda u, k: u**k),
    "scalar base": (lambda k: lambda u, k: k ** u[0], lambda u, k: k**u),
    "function": (lambda k: lambda u: np.power(u[0], k), lambda u, k: u**k),
}


@pytest.mark.parametrize(("way", "backend"), [*((way, "c") for way in WAYS), ("literal", "numpy"), ("base", "numpy")])
@pytest.mark.parametrize("dtype", DATA)
def test_powers_are_those_of_numpy(dtype, way, backend):
    u = np.array(DATA[dtype], dtype)
    body, meant = WAYS[way]
    for k in NUMBERS:
        with np.errstate(all="ignore"):
            expected = meant(u, k)
        given = {"k": k} if way.startswith("scalar") else {}
        found = tw.run(body(k), u, steps=1, boundary="wrap", backend=backend, **given)
        assert found.dtype == expected.dtype, k
        exact = expected.dtype.kind in "iu"
        tolerance = 0.0 if exact else 64 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=str(k))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint16"])
@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_powers_of_whole_numbers_wrap_around(dtype, backend):
    u = np.resize(np.array([0, 1, 2, 3, 7, 11, 120], dtype), 77)
    v = np.resize(np.array([0, 1, 2, 3, 5, 8, 13, 31, 64, 100, 127], dtype), 77)
    found = tw.run(lambda u, v: {"u": u[0] ** v[0]}, u, v, steps=1, boundary="wrap", backend=backend)
    np.testing.assert_array_equal(found, u**v)


@pytest.mark.parametrize(
    "call",
    [
        lambda u: tw.run(lambda u: u[0] ** -1, u, steps=1),
        lambda u: tw.run(lambda u, k: u[0] ** k, u, steps=1, k=-2),
        lambda u: tw.run(lambda u, k: u[0] ** k, u, steps=2, k=tw.per_step(np.array([2, -1]))),
        lambda u: tw.run(lambda u: 2 ** u[0], u - 3, steps=1),
        lambda u: tw.run(lambda u, v: {"u": u[0] ** v[1]}, u, -u, steps=1),
        lambda u: tw.predict(lambda u: u[0] ** -1, shape=(40,), steps=2, dtype=str(u.dtype), machine="h200"),
        lambda u: tw.pipeline(tw.stencil(lambda u: u[0, 0] ** -1), name="p")(u.reshape(2, 2)),
    ],
)
def test_whole_numbers_have_no_negative_powers(call):
    """As in NumPy."""
    with pytest.raises(UsageError, match=NEGATIVE):
        call(np.array([0, 1, 2, 3], np.int32))


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_negative_exponents_that_a_run_computes_leave_the_quotient(backend):
    u = np.array([1, -1, -1, 0, 2], np.int32)
    found = tw.run(lambda u, v: {"u": u[0] ** (v[0] - 4)}, u, u * 0 + [1, 1, 2, 1, 1], steps=1, backend=backend)
    np.testing.assert_array_equal(found, [1, -1, 1, 0, 0])


def test_floating_point_has_negative_powers_of_whole_numbers():
    u = np.array([1, 2, 4], np.int32)
    for found in (
        tw.run(lambda u: u[0] ** -1, u, steps=1, dtype="float64"),
        tw.run(lambda u: u[0] ** -1.0, u, steps=1),
        tw.run(lambda u: 1 / u[0], u, steps=1),
    ):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, [1.0, 0.5, 0.25])


def test_short_powers_are_products_quotients_and_roots():
    for exponent in [*range(-8, 9), *(half / 2 for half in range(-15, 16, 2)), 4.0]:
        tape = reduce_operators(flatten(apply("pow", U[0], exponent)))
        assert not any(isinstance(node, Apply) and node.op == "pow" for node in tape), exponent
        for number in (0.3, 1.0, 2.5, 7.0):
            assert evaluate(tape, lambda read, x=number: np.float64(x), {}) == pytest.approx(
                number**exponent, rel=1e-15
            )


@pytest.mark.parametrize("exponent", [2.3, 8.5, -9, 1 / 3, 1j, math.inf, math.nan])
def test_other_powers_stay(exponent):
    tape = flatten(apply("pow", U[0], exponent))
    assert reduce_operators(tape) == tape


@pytest.mark.parametrize("divisor", [1, 2, 4.0, 1024])
def test_remainders_of_powers_of_two_take_no_division(divisor):
    tape = flatten(apply("remainder", U[0], divisor))
    numbers = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.75, -3.25, 1e-30, -1e-30, 2.0**40 + 3, -7e5, math.inf, math.nan]
    for dtype in (np.float32, np.float64):
        values = np.array(numbers, dtype)
        with np.errstate(invalid="ignore"):
            found = evaluate(reduce_operators(tape), lambda read, x=values: x, {})
            expected = np.remainder(values, dtype(divisor))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found[:-2]), np.signbit(expected[:-2]))
    whole = np.array([0, 1, -1, 5, -1025, 2**31 - 1], np.int32)
    found = evaluate(reduce_operators(tape, rounds=False), lambda read: whole, {})
    np.testing.assert_array_equal(found, np.remainder(whole, int(divisor)))
    kept = {"remainder", "div", "floor_divide"} & {
        node.op for node in reduce_operators(tape) if isinstance(node, Apply)
    }
    assert not kept


@pytest.mark.parametrize("divisor", [3, -2, 0, 0.5, 2048, math.inf, math.nan, True + 2j])
def test_other_remainders_stay(divisor):
    tape = flatten(apply("remainder", U[0], divisor))
    assert reduce_operators(tape) == tape


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "float16"])
def test_colours_of_cells_are_those_of_numpy(dtype):
    colours = tw.stencil(lambda u: u[0, 0] + (tw.index(0) + tw.index(1)) % 2 + 2 * (u[0, 0] % 4))
    u = np.arange(15 * 37).reshape(15, 37).astype(dtype) % 50
    for backend in ("c", "numpy"):
        np.testing.assert_array_equal(
            tw.run(colours, u, steps=2, backend=backend), tw.run(colours, u, steps=2, backend="numpy", strict=True)
        )
