"""Remainders, quotients rounded down, signs and powers of whole numbers, as NumPy computes them.

C's functions round quotients towards zero, and have no powers of whole numbers.

A vector of quotients that are small enough takes no function of the library: the remainder of a quotient that is
rounded towards zero, one too large at worst, is exact in a fused multiplication and addition: it is a multiple of the
last bits of both and smaller than the divisor. What makes it of the divisor's sign mends the one as well.
"""

from collections.abc import Callable, Mapping

from tilewright.codegen.ir.types import element
from tilewright.codegen.print.elements import C_LANES, SUFFIX

_ROUNDED = {
    "remainder": """
  const {t} m = {fmod}(a, b);
  return m == 0 ? {copysign}(0, b) : (m < 0) != (b < 0) ? m + b : m;
""",
    "floor_divide": """
  const {t} m = {fmod}(a, b), q = (a - m) / b, d = m != 0 && (m < 0) != (b < 0) ? q - 1 : q, f = {floor}(d);
  return b == 0 ? a / b : d == 0 ? {copysign}(0, a / b) : d - f > ({t})0.5 ? f + 1 : f;
""",
    "sign": " return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; ",
}
_SIGNED = {
    "remainder": """
  if (b == 0 || b == -1) return 0;
  const {t} m = ({t})(a % b);
  return m != 0 && (m < 0) != (b < 0) ? ({t})(m + b) : m;
""",
    "floor_divide": """
  if (b == 0) return 0;
  if (b == -1) return ({t})(({u})0 - ({u})a);
  const {t} q = ({t})(a / b);
  return q * b != a && (a < 0) != (b < 0) ? ({t})(q - 1) : q;
""",
    "sign": " return ({t})((a > 0) - (a < 0)); ",
    "pow": """
  if (b < 0) return a == 1 || (a == -1 && b % 2 == 0) ? 1 : a == -1 ? -1 : 0;
  {u} r = 1, p = ({u})a;
  for (; b; b >>= 1, p = ({u})(1u * p * p)) r = b & 1 ? ({u})(1u * r * p) : r;
  return ({t})r;
""",
}
_UNSIGNED = {
    "remainder": " return b == 0 ? 0 : ({t})(a % b); ",
    "floor_divide": " return b == 0 ? 0 : ({t})(a / b); ",
    "sign": " return a > 0; ",
    "pow": """
  {t} r = 1;
  for (; b; b >>= 1, a = ({t})(1u * a * a)) r = b & 1 ? ({t})(1u * r * a) : r;
  return r;
""",
}
DIVIDING = frozenset(_ROUNDED)
"""Operators whose functions are the same in every language, but for the names of what they call."""


def is_written(name: str, dtype: str) -> bool:
    """Whether an operator is a function of :func:`dividing` for numbers of a type, not one of a library."""
    return name in DIVIDING or (name == "pow" and not element(dtype).rounds)


def dividing(name: str, dtype: str, names: Mapping[str, str], called: Callable[[str], str]) -> str:
    """Return the body of a function of ``a`` and ``b``, as NumPy computes it; whole numbers wrap around."""
    kind = element(dtype)
    if kind.is_float:
        library = {each: called(each) for each in ("fmod", "copysign", "floor")}
        return _ROUNDED[name].format(t=names[dtype], **library)
    if dtype.startswith("u"):
        return _UNSIGNED[name].format(t=names[dtype])
    return _SIGNED[name].format(t=names[dtype], u=names[f"u{dtype}"])


_VECTOR = """static inline {v} {called}({v} a, {v} b) {{
  {v} r;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  const {m} sign = ({m})-({v}){{0}};
  const {v} x = a / b;
  {v} q;
  for (int64_t i = 0; i < {lanes}; ++i) q[i] = __builtin_trunc{f}(x[i]);
  for (int64_t i = 0; i < {lanes}; ++i) r[i] = __builtin_fma{f}(-q[i], b[i], a[i]);
  const {m} near = (x < {limit}) & (x > -{limit}) & (b - b == 0);
  int64_t part[TW_BYTES / 8], all = -1;
  __builtin_memcpy(part, &near, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) all &= part[i];
  if (all == -1) {{
    const {m} turned = (r != 0) & ((r < 0) ^ (b < 0));
    {result}
  }}
#endif
  for (int64_t i = 0; i < {lanes}; ++i) r[i] = {scalar}(a[i], b[i]);
  return r;
}}
"""
_RESULTS = {
    "remainder": "return tw_pick_{s}(r == 0, ({v})(({m})b & sign), tw_pick_{s}(turned, r + b, r));",
    "floor_divide": (
        "const {v} d = tw_pick_{s}(turned, q - 1, q);\n    return tw_pick_{s}(d == 0, ({v})(({m})x & sign), d);"
    ),
}


def dividing_vector(name: str, dtype: str, called: str, scalar: str) -> str:
    """Return the C function ``remainder`` or ``floor_divide`` of vectors of floats; ``scalar``: that of two."""
    single = C_LANES[dtype] == "float"
    words = {"v": f"tw_v_{SUFFIX[dtype]}", "m": f"tw_m_{SUFFIX[dtype]}", "s": SUFFIX[dtype]}
    return _VECTOR.format(
        **words,
        called=called,
        scalar=scalar,
        f="f" if single else "",
        lanes=f"TW_LANES_{SUFFIX[dtype].upper()}",
        limit="0x1p21f" if single else "0x1p50",
        result=_RESULTS[name].format(**words),
    )
