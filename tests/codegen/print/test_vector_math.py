"""Functions of vectors: their errors in units in the last place, and special values, at every width of registers."""

import dataclasses
import functools

import numpy as np
import pytest

from tilewright.codegen.print import vector_math
from tilewright.codegen.print.c_prelude import helper, prelude
from tilewright.codegen.source import c_source
from tilewright.runtime.call import functions
from tilewright.runtime.host import cpu_features
from tilewright.runtime.toolchains.cpu import toolchain

TYPES = {"float32": "f32", "float64": "f64"}
NUMPY = {"pow": np.power, "atan2": np.arctan2}
PAIRS = ("pow", "atan2")
BOUNDS = {"sin": (2, 1), "cos": (2, 1), "tan": (4, 1.1), "tanh": (3, 3), "atan2": (2, 1.2), "pow": (1.1, 1)}
"""Units in the last place below which the errors of float32 and float64 stay; 1 where nothing is said."""
WIDTHS = {"native": "", "AVX2": "-march=haswell", "SSE2": "-march=x86-64"}
NEEDED = {"native": "", "AVX2": "avx2", "SSE2": "sse2"}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, np.inf, -np.inf, np.nan)
_ENTRY = """
void tw_apply_{name}_{s}({type} **field, const int64_t *size, const {type} *scalar, const {type} **constant) {{
  (void)scalar; (void)constant;
  for (int64_t i = 0; i < size[0]; i += TW_LANES_{upper})
    *(tw_u_{s} *)(field[0] + i) = {called}({args});
}}
"""


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


@functools.cache
def compiled(width):
    """Every function, compiled once for registers of this width."""
    if NEEDED[width] not in " ".join(map(str, cpu_features())):
        pytest.skip(f"this CPU has no {NEEDED[width]}")
    names = [(name, dtype) for name in sorted(vector_math.VECTOR_MATH) for dtype in TYPES]
    text = prelude(TYPES, [(name, dtype, True) for name, dtype in names])
    for name, dtype in names:
        s, args = TYPES[dtype], [f"*(const tw_u_{TYPES[dtype]} *)(field[{1 + i}] + i)" for i in range(2)]
        text += _ENTRY.format(
            name=name,
            s=s,
            upper=s.upper(),
            type={"f32": "float", "f64": "double"}[s],
            called=helper(name, dtype, vector=True),
            args=", ".join(args[: 1 + (name in PAIRS)]),
        )
    tools = toolchain()
    tools = dataclasses.replace(tools, native=(WIDTHS[width],)) if WIDTHS[width] else tools
    entries = [f"tw_apply_{name}_{TYPES[dtype]}" for name, dtype in names]
    return dict(zip(names, functions(c_source(text, *entries), tools), strict=True))


def applied(name, width, *args):
    """What a function of vectors makes of arrays."""
    count = -(-args[0].size // 16) * 16
    padded = [np.concatenate([arg, np.ones(count - arg.size, arg.dtype)]) for arg in args]
    result = np.empty(count, args[0].dtype)
    fields = np.array([array.ctypes.data for array in (result, *padded)], dtype=np.uintp)
    size = np.array([count], dtype=np.int64)
    compiled(width)[name, str(args[0].dtype)].function(fields.ctypes.data, size.ctypes.data, 0, 0)
    return result[: args[0].size]


def worst(name, result, *args):
    """The largest error in units in the last place; values that are no finite numbers must be the reference's."""
    wide = np.float64 if result.dtype == np.float32 else np.longdouble
    exact = NUMPY.get(name, getattr(np, name, None))(*(arg.astype(wide) for arg in args))
    rounded = exact.astype(result.dtype)
    usual = np.isfinite(rounded) & np.isfinite(result)
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    most = np.finfo(result.dtype).max
    beyond = np.abs(exact) < most * (1 + 2 * np.finfo(result.dtype).eps)  # rounds to either side of the largest number
    wrong = ~usual & ~same & ~(beyond & (np.abs(exact) >= most))
    assert not wrong.any(), [[float(arg[wrong][0]) for arg in args], float(result[wrong][0]), float(rounded[wrong][0])]
    unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(result.dtype).tiny))
    return float((np.abs(result.astype(wide) - exact) / unit)[usual].max(initial=0.0))


def drawn(name, dtype, count, seed):
    """Arguments where the function is used, of all sizes, and of all bits."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    bits = [rng.integers(0, 256, count * kind.itemsize, dtype=np.uint8).view(kind) for _ in range(2)]
    sizes = [(np.exp(rng.uniform(-20, 6, count)) * rng.choice([-1, 1], count)).astype(kind) for _ in range(2)]
    usual = [rng.uniform(-4, 4, count).astype(kind) for _ in range(2)]
    if name == "pow":
        near = [rng.uniform(0.9, 1.1, count).astype(kind), rng.uniform(-300, 300, count).astype(kind)]
        whole = [usual[0], np.rint(usual[1])]
        return [[np.abs(usual[0]), usual[1]], whole, near, [np.abs(sizes[0]), usual[0]], bits]
    pairs = [usual, sizes, bits]
    if name in {"sin", "cos", "tan"}:  # the processor's C library serves larger ones
        multiples = (rng.integers(-60000, 60000, count) * (np.pi / 2)).astype(kind)
        pairs = [usual, sizes, [multiples], [rng.uniform(-1e5, 1e5, count).astype(kind)]]
    return pairs if name == "atan2" else [pair[:1] for pair in pairs]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", sorted(vector_math.VECTOR_MATH))
@pytest.mark.parametrize("width", WIDTHS)
def test_errors_stay_below_the_stated_units_in_the_last_place(width, name, dtype):
    bound = BOUNDS.get(name, (1, 1))[dtype == "float64"]
    for args in drawn(name, dtype, 1 << 14, 7):
        assert worst(name, applied(name, width, *args), *args) <= bound


@pytest.mark.parametrize("width", WIDTHS)
def test_angles_of_tiny_quotients(width):
    """What a quotient loses must not be too small to be a normal number."""
    draw = np.random.default_rng(3)
    least, large = (np.exp2(draw.uniform(*ends, 1 << 17)) for ends in ((-1022, -1018), (-1000, -980)))
    for args in ((least, large), (-least, large * 2.0**900), (least * 2.0**50, large * 2.0**1020)):
        assert worst("atan2", applied("atan2", width, *args), *args) <= 0.9


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", sorted(vector_math.VECTOR_MATH))
@pytest.mark.parametrize("width", WIDTHS)
def test_special_values_are_numpys(width, name, dtype):
    info = np.finfo(dtype)
    ends = (info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal, -info.smallest_subnormal)
    values = np.array([*SPECIAL, *ends], dtype=dtype)
    args = [values] if name not in PAIRS else [each.ravel() for each in np.meshgrid(values, values)]
    result = applied(name, width, *args)
    expected = NUMPY.get(name, getattr(np, name, None))(*args)
    np.testing.assert_array_max_ulp(result, expected, 4)  # infinities and values that are no numbers exactly
    some = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[some]), np.signbit(expected[some]))


@pytest.mark.stress
@pytest.mark.parametrize("name", sorted(vector_math.VECTOR_MATH - set(PAIRS)))
def test_every_float32(name):
    bound, chunk = BOUNDS.get(name, (1, 1))[0], 1 << 22
    for start in range(0, 1 << 32, chunk):
        values = np.arange(start, start + chunk, dtype=np.uint32).view(np.float32)
        assert worst(name, applied(name, "native", values), values) <= bound


@pytest.mark.stress
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", sorted(vector_math.VECTOR_MATH))
def test_a_hundred_million_random_values(name, dtype):
    bound, largest = BOUNDS.get(name, (1, 1))[dtype == "float64"], 0.0
    for seed in range(100):
        for args in drawn(name, dtype, 1 << 18, seed):
            largest = max(largest, worst(name, applied(name, "native", *args), *args))
    assert largest <= bound
