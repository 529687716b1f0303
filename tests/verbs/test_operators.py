"""Operators of a stencil's body: what NumPy computes, in C and in the texts for GPUs; their derivatives."""

import ctypes
import inspect
import itertools
import math
import shutil
import subprocess

import numpy as np
import pytest

import tilewright as tw
from tilewright.codegen.print.elements import GPU_ELEMENTS, PAIRS
from tilewright.codegen.print.gpu import helper_name, prelude
from tilewright.programs.stencil.operators import OPERATORS

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
FLOATS = ("float32", "float64")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0, 0.1, 1e30, -1e-30, 7.3]
EXACT = {
    "sign": (lambda u: tw.sign(u[0]), np.sign),
    "mod": (lambda u, v: u[0] % v[0], np.remainder),
    "from the left": (lambda v: 2 % v[0], lambda v: np.remainder(v.dtype.type(2), v)),
    "floor_divide": (lambda u, v: u[0] // v[0], np.floor_divide),
    "a number by": (lambda v: 5 // v[0], lambda v: np.floor_divide(v.dtype.type(5), v)),
    "by a number": (lambda u: u[0] % 3, lambda u: np.remainder(u, u.dtype.type(3))),
    "clip": (lambda u, v: tw.clip(u[0], 1, v[0]), lambda u, v: np.clip(u, u.dtype.type(1), v)),
    "from below": (lambda u: tw.clip(u[0], low=1), lambda u: np.maximum(u, u.dtype.type(1))),
    "round": (lambda u: round(u[0]), np.round),
    "ceil": (lambda u: math.ceil(u[0]), np.ceil),
    "floor": (lambda u: math.floor(u[0]), np.floor),
    "isnan": (lambda u: tw.isnan(u[0]), np.isnan),
}
ROUNDED = {
    "atan2": (lambda u, v: tw.atan2(u[0], v[0]), np.arctan2),
    "tan": (lambda u: tw.tan(u[0]), np.tan),
    "pow": (lambda u, v: tw.pow(abs(u[0]), v[0]), lambda u, v: np.abs(u) ** v),
}


def flushed(array):
    """The same with zero in place of subnormal numbers, as kernels that are not strict read them."""
    return np.where(np.abs(array) < np.finfo(array.dtype).smallest_normal, array.dtype.type(0) * array, array)


def numbers(dtype):
    """Pairs of the numbers that are special, and of others."""
    draw = np.random.default_rng(0)
    if dtype in FLOATS:
        u, v = (np.array(side) for side in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
        return [np.append(side, draw.normal(size=701) * 10).astype(dtype) for side in (u, v)]
    limits = np.iinfo(dtype)
    few = np.array([limits.min, limits.max, 0, 1, 2, 3, 7, limits.max - limits.min and limits.max // 3], dtype)
    few = few if limits.min == 0 else np.append(few, np.array([-1, -3], dtype))
    many = np.append(few, draw.integers(limits.min, limits.max, 90, dtype, endpoint=True))
    return [side.ravel().copy() for side in np.meshgrid(many, few)]


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
@pytest.mark.parametrize("name", EXACT)
def test_exact_operators_are_those_of_numpy(name, dtype):
    body, meant = EXACT[name]
    given = dict(zip("uv", numbers(dtype), strict=True))
    arrays = [given[each] for each in inspect.signature(body).parameters]
    with np.errstate(all="ignore"):
        expected = meant(*arrays).astype(dtype)
    for backend in ("c", "numpy"):
        found = tw.run(body, *arrays, steps=1, boundary="wrap", backend=backend)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected, err_msg=backend)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ROUNDED)
def test_functions_are_those_of_numpy_to_rounding(name, dtype):
    body, meant = ROUNDED[name]
    given = dict(zip("uv", numbers(dtype), strict=True))
    arrays = [given[each] for each in inspect.signature(body).parameters]
    limits = np.finfo(dtype)
    with np.errstate(all="ignore"):
        expected = meant(*arrays)
        normal = meant(*(flushed(array) for array in arrays))
    found = tw.run(body, *arrays, steps=1, boundary="wrap", backend="c", strict=True)
    np.testing.assert_allclose(found, expected, rtol=16 * limits.eps)
    found = tw.run(body, *arrays, steps=1, boundary="wrap", backend="c")
    np.testing.assert_allclose(found, normal, rtol=16 * limits.eps, atol=limits.smallest_normal)


@pytest.mark.parametrize(
    ("body", "same"),
    [
        (lambda u, k: np.sqrt(abs(u[0])) + np.exp(k), lambda u, k: tw.sqrt(abs(u[0])) + tw.exp(k)),
        (lambda u: np.where(u[0] > 0, u[-1], u[1]), lambda u: tw.where(u[0] > 0, u[-1], u[1])),
        (lambda u, k: np.clip(u[0], k, 2), lambda u, k: tw.clip(u[0], k, 2)),
        (lambda u: np.clip(u[0], a_min=None, a_max=2), lambda u: tw.clip(u[0], high=2)),
        (lambda u: np.clip(u[0], min=1, max=2), lambda u: tw.clip(u[0], 1, 2)),
        (lambda u: np.round(u[0]) + np.rint(u[1]), lambda u: tw.round(u[0]) + round(u[1])),
        (lambda u: np.arctan2(u[0], 3.0), lambda u: tw.atan2(u[0], 3.0)),
        (lambda u: np.mod(u[0], 3) + np.float32(2) // u[0], lambda u: tw.mod(u[0], 3) + tw.floor_divide(2.0, u[0])),
        (lambda u: np.where(np.isnan(u[0]), 0, np.sign(u[0])), lambda u: tw.where(u[0] != u[0], 0, tw.sign(u[0]))),
        (lambda u: np.square(u[0]) + np.fabs(u[1]) + np.positive(u[0]), lambda u: u[0] * u[0] + abs(u[1]) + u[0]),
        (lambda u: np.real(u[0]) + np.imag(u[1]), lambda u: u[0].real + u[1].imag),
        (lambda u: np.tan(u[0]) + np.ceil(u[1]), lambda u: tw.tan(u[0]) + tw.ceil(u[1])),
    ],
)
def test_functions_of_numpy_apply_to_symbols(body, same):
    assert tw.stencil(body).program.statements == tw.stencil(same).program.statements


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda u: np.hypot(u[0], u[1]), "NumPy's 'hypot' is no operator of a stencil .*it has sqrt, exp"),
        (lambda u: np.sum(u[0]), "NumPy's 'sum' is no operator of a stencil"),
        (lambda u: np.add.reduce(u[0]), "NumPy's 'add' is no operator"),
        (lambda u: np.where(u[0] > 0), "NumPy's 'where' does not take that in a stencil"),
        (lambda u: np.clip(u[0], 0, 1, out=u), "NumPy's 'clip' does not take that"),
        (lambda u: round(u[0], 2), "a stencil rounds to whole numbers, got 2 decimals"),
        (lambda u: np.round(u[0], -1), "a stencil rounds to whole numbers, got -1 decimals"),
    ],
)
def test_what_numpy_has_and_stencils_lack_is_one_sentence(body, message):
    with pytest.raises(tw.TraceError, match=message):
        tw.stencil(body)


def test_constants_are_computed_where_they_stand():
    tape = tw.stencil(lambda u: u[0] + tw.mod(-7, 4) + tw.atan2(1.0, 1.0) + tw.sign(-2.5) + tw.ceil(0.2)).program
    values = [node.value for node in tape.statements[0].tape if hasattr(node, "value")]
    assert values == [1, math.pi / 4, -1.0, 1.0]


@pytest.mark.parametrize("dialect", ["cuda", "opencl"])
def test_texts_for_gpus_compute_the_same(dialect, tmp_path):
    """The functions that kernels start with, compiled as C++ whose library has them by the same names."""
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    ops = {"remainder": np.remainder, "floor_divide": np.floor_divide, "sign": np.sign}
    whole = {**ops, "pow": OPERATORS["pow"].evaluate}
    functions = {**ops, "ceil": np.ceil, "rint": np.rint, "tan": np.tan, "atan2": np.arctan2}
    dtypes = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
    wanted = [(name, dtype) for dtype in dtypes for name in (functions if dtype in FLOATS else whole)]
    words = ["#include <cmath>", "#define __device__", "#define __forceinline__ inline", "#define __global"]
    words += ["typedef unsigned char uchar;", "using std::fmod;", "using std::copysign;", "using std::rint;"]
    lines = [*words, prelude(dialect, [], wanted, index=False)]
    for name, dtype in wanted:
        kind, pair = GPU_ELEMENTS[dtype], name in PAIRS
        value = f"{helper_name(name, dtype)}(a[i]{', b[i]' if pair else ''})"
        lines.append(
            f'extern "C" void {name}_{dtype}(const {kind} *a, const {kind} *b, {kind} *c, long n) {{'
            f" for (long i = 0; i < n; ++i) c[i] = {value}; }}"
        )
    source, built = tmp_path / "functions.cpp", tmp_path / "functions.so"
    source.write_text("\n".join(lines))
    subprocess.run(["g++", "-w", "-O1", "-shared", "-fPIC", source, "-o", built], check=True)
    library = ctypes.CDLL(str(built))
    for name, dtype in wanted:
        u, v = numbers(dtype)
        found = np.empty_like(u)
        getattr(library, f"{name}_{dtype}")(*(a.ctypes.data_as(ctypes.c_void_p) for a in (u, v, found)), len(u))
        with np.errstate(all="ignore"):
            function = (functions if dtype in FLOATS else whole)[name]
            expected = function(u, v) if name in PAIRS else function(u)
        tolerance = 16 * np.finfo(dtype).eps if name in {"tan", "atan2"} else 0
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0, err_msg=f"{name} of {dtype}")


@pytest.mark.parametrize(
    "body",
    [
        lambda u, v: tw.atan2(u[0], 1.5 + v[1] * v[1]) + 0.1 * u[-1],
        lambda u, v: tw.tan(0.3 * u[0]) - 0.2 * v[-1],
        lambda u, v: u[0] % (2.0 + v[0] * v[0]) + 0.5 * u[1],
        lambda u, v: (u[0] - v[1]) // 0.7 + tw.round(u[0]) + tw.ceil(v[0]) + 0.5 * u[-1] * v[0],
        lambda u, v: tw.clip(u[0], -0.5, 0.5 + v[0]) + tw.sign(u[1]) * u[0],
        lambda u, v: (1.5 + u[0] * u[0]) ** v[-1],
    ],
)
def test_derivatives_are_those_of_differences(body):
    draw = np.random.default_rng(3)
    u, v, du, dv, y = (draw.normal(size=23) for _ in range(5))
    options = {"steps": 2, "boundary": "wrap", "backend": "numpy"}
    _, pullback = tw.vjp(body, u, v, **options)
    (gu, gv), _ = pullback(y)
    step = 1e-6
    ahead, behind = (tw.run(body, u + sign * step * du, v + sign * step * dv, **options) for sign in (1, -1))
    expected = float(((ahead - behind) / (2 * step) * y).sum())
    assert float((gu * du).sum() + (gv * dv).sum()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("op", ["ceil", "rint", "sign", "remainder", "floor_divide", "atan2"])
def test_complex_numbers_have_no_order_to_round_by(op):
    from tilewright.programs.stencil.expression import apply

    body = lambda u: apply(op, *(u[0],) * (2 if op in {"remainder", "floor_divide", "atan2"} else 1))  # noqa: E731
    with pytest.raises(tw.UsageError, match=f"{op} is not for complex numbers"):
        tw.run(body, np.ones(9, np.complex64), steps=1)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_of_the_parts_of_complex_numbers_fill_every_lane(dtype):
    # One cell after the other is wrong where a function computes as many lanes as there are complex numbers.
    @tw.stencil
    def parts(u):
        x, y = u[0].real, u[0].imag
        rounded = x // 0.7 + y % 0.3 + tw.sign(y)
        return u[0] * (tw.sin(x) + tw.exp(y) + tw.tan(y) + tw.atan2(y, x) + tw.pow(abs(x), 1.3) + rounded)

    draw = np.random.default_rng(0)
    u = (draw.normal(size=333) + 1j * draw.normal(size=333)).astype(dtype)
    x, y, f = u.real, u.imag, u.real.dtype.type
    rounded = x // f(0.7) + y % f(0.3) + np.sign(y)
    wanted = u * (np.sin(x) + np.exp(y) + np.tan(y) + np.arctan2(y, x) + np.abs(x) ** f(1.3) + rounded)
    got = tw.run(parts, u, steps=1)
    np.testing.assert_allclose(got[1:-1], wanted[1:-1], rtol=500 * np.finfo(dtype).eps)
