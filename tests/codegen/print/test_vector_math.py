"""Functions of vectors: their errors in units in the last place, and special values, at every width of registers."""

import dataclasses
import functools

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.codegen.print import vector_math
from tilewright.codegen.print.c_prelude import helper, prelude
from tilewright.codegen.source import c_source
from tilewright.runtime.call import functions
from tilewright.runtime.host import cpu_features
from tilewright.runtime.toolchains.cpu import toolchain

_WORDS = ("s", "type", "bits", "of", "wide", "tail")
TYPES = {
    "float32": dict(zip(_WORDS, ("f32", "float", "uint32_t", "FLT", "double", ""), strict=True)),
    "float64": dict(zip(_WORDS, ("f64", "double", "uint64_t", "DBL", "long double", "l"), strict=True)),
}
"""Words of C for each type, and for one that the library computes in more exactly."""
NUMPY = {"pow": np.power, "atan2": np.arctan2}
PAIRS = ("pow", "atan2")
BOUNDS = {
    "exp": (1.1, 1),
    "sin": (2, 1),
    "cos": (2, 1),
    "tan": (4, 1.1),
    "tanh": (3, 3),
    "atan2": (2, 1.2),
    "pow": (1.1, 1),
}
"""Units in the last place below which the errors of float32 and float64 stay; 1 where nothing is said."""
WIDTHS = {"native": "", "AVX2": "-march=haswell", "SSE2": "-march=x86-64"}
CASES = covering(list(WIDTHS), sorted(vector_math.VECTOR_MATH), list(TYPES))
NEEDED = {"native": "", "AVX2": "avx2", "SSE2": "sse2"}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, np.inf, -np.inf, np.nan)
_APPLY = """
void tw_apply_{name}_{s}({type} **field, const int64_t *size, const {type} *scalar, const {type} **constant) {{
  (void)scalar; (void)constant;
  for (int64_t i = 0; i < size[0]; i += (int64_t)(TW_BYTES / sizeof({type})))
    *(tw_u_{s} *)(field[0] + i) = {called}({args});
}}
"""
_ERRORS = """
void tw_errors_{name}_{s}({type} **field, const int64_t *size, const {type} *scalar, const {type} **constant) {{
  (void)scalar; (void)constant;
  const union {{ {type} value; {bits} word; }} infinity = {{__builtin_inf()}};
  double *found = (double *)field[3]; /* the largest error, where it is, and where there is a wrong value */
  for (int64_t i = 0; i < size[0]; ++i) {{
    const {wide} exact = {name}{tail}({args}), beyond = exact < 0 ? -exact : exact;
    const {type} rounded = ({type})exact, result = field[0][i], near = rounded < 0 ? -rounded : rounded;
    if (isfinite(rounded) && isfinite(result)) {{
      union {{ {type} value; {bits} word; }} unit = {{near > {of}_MIN ? near : {of}_MIN}};
      unit.word &= infinity.word;
      const {wide} error = (result < exact ? exact - result : result - exact) / (unit.value * {of}_EPSILON);
      if (error > found[0]) found[0] = (double)error, found[1] = (double)i;
    }} else if (result != rounded && !(isnan(result) && isnan(rounded))) {{
      /* what is just beyond the largest number rounds to either side */
      if (!(beyond >= {of}_MAX && beyond < {of}_MAX * (1 + 2 * ({wide}){of}_EPSILON))) found[2] = (double)i;
    }}
  }}
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
    text = prelude(TYPES, [(name, dtype, True) for name, dtype in names]) + "#include <float.h>\n#include <math.h>\n"
    for name, dtype in names:
        words = {"name": name, "called": helper(name, dtype, vector=True), **TYPES[dtype]}
        places = range(1, 2 + (name in PAIRS))
        vectors = ", ".join(f"*(const tw_u_{words['s']} *)(field[{place}] + i)" for place in places)
        numbers = ", ".join(f"({words['wide']})field[{place}][i]" for place in places)
        text += _APPLY.format(args=vectors, **words) + _ERRORS.format(args=numbers, **words)
    tools = toolchain()
    tools = dataclasses.replace(tools, native=(WIDTHS[width],)) if WIDTHS[width] else tools
    keys = [(what, *each) for each in names for what in ("apply", "errors")]
    entries = [f"tw_{what}_{name}_{TYPES[dtype]['s']}" for what, name, dtype in keys]
    return dict(zip(keys, functions(c_source(text, *entries), tools), strict=True))


def applied(name, width, *args):
    """What a function of vectors makes of arrays."""
    count = -(-args[0].size // 16) * 16
    padded = [np.concatenate([arg, np.ones(count - arg.size, arg.dtype)]) for arg in args]
    result = np.empty(count, args[0].dtype)
    compiled(width)["apply", name, str(result.dtype)]([result, *padded], [count])
    return result[: args[0].size]


def worst(name, result, *args):
    """The largest error in units in the last place, and of what; values that are no finite numbers must be right."""
    found = np.array([0.0, 0.0, -1.0])
    compiled("native")["errors", name, str(result.dtype)]([result, args[0], args[-1], found], [result.size])
    at, wrong = map(int, found[1:])
    assert wrong < 0, [*(float(arg[wrong]) for arg in args), float(result[wrong])]
    return float(found[0]), [float(arg[at]) for arg in args]


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


@pytest.mark.parametrize(("width", "name", "dtype"), CASES)
def test_errors_stay_below_the_stated_units_in_the_last_place(width, name, dtype):
    bound = BOUNDS.get(name, (1, 1))[dtype == "float64"]
    for args in drawn(name, dtype, 1 << 14, 7):
        units, of = worst(name, applied(name, width, *args), *args)
        assert units <= bound, of


@pytest.mark.parametrize("width", WIDTHS)
def test_angles_of_tiny_quotients(width):
    """What a quotient loses must not be too small to be a normal number."""
    draw = np.random.default_rng(3)
    least, large = (np.exp2(draw.uniform(*ends, 1 << 17)) for ends in ((-1022, -1018), (-1000, -980)))
    for args in ((least, large), (-least, large * 2.0**900), (least * 2.0**50, large * 2.0**1020)):
        units, of = worst("atan2", applied("atan2", width, *args), *args)
        assert units <= 0.9, of


@pytest.mark.parametrize(("width", "name", "dtype"), CASES)
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
    chunk, largest = 1 << 18, (0.0, [])
    for start in range(0, 1 << 32, chunk):
        values = np.arange(start, start + chunk, dtype=np.uint32).view(np.float32)
        largest = max(largest, worst(name, applied(name, "native", values), values))
    assert largest[0] <= BOUNDS.get(name, (1, 1))[0], largest[1]


@pytest.mark.stress
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", sorted(vector_math.VECTOR_MATH))
def test_a_hundred_million_random_values(name, dtype):
    bound, largest = BOUNDS.get(name, (1, 1))[dtype == "float64"], (0.0, [])
    for seed in range(128):
        for args in drawn(name, dtype, 1 << 18, seed):
            largest = max(largest, worst(name, applied(name, "native", *args), *args))
    assert largest[0] <= bound, largest[1]
