"""Functions of whole vectors in C, for kernels that need not be bit-equal to the platform's library.

Before: ``exp(u)``, a call of C's library for every lane. After: a polynomial of the reduced argument, some twenty
vector instructions that the compiler puts among the others. Arguments are reduced as W. J. Cody and W. Waite do
(*Software manual for the elementary functions*, 1980), with fused multiplications and additions in place of split
products; where a rounded value is not enough its error goes along (T. J. Dekker, 1971). The polynomials are minimax
ones (E. Y. Remez, 1934), made by ``reproduce/polynomials.py``.

The largest errors are stated in ``docs/numerics.md``; special values are C's (Annex F). Without fused multiplication
and addition, and for arguments that a short reduction does not serve, the lanes are computed by C's library.
"""

from collections.abc import Sequence

from tilewright.codegen.ir.types import element
from tilewright.codegen.print.elements import C_LANES, PAIRS, SUFFIX

VECTOR_MATH = frozenset({"exp", "log", "sin", "cos", "tan", "tanh", "pow", "atan2"})
"""Operators that have such a function."""

_CONSTANTS = {
    "float": {
        "U": "uint32_t",
        "MANTISSA": "23",
        "BIAS": "127",
        "SIGN": "INT32_MIN",
        "MAGIC": "0x1.8p23f",
        "SMALL": "0x1p-126f",
        "LIFT": "0x1p23f",
        "HALF_ROOT": "0x3f3504f3",
        "ONE_BITS": "0x3f800000",
        "EXP_HIGH": "89.0f",
        "EXP_LOW": "-104.0f",
        "TANH_HIGH": "10.0f",
        "LOG2E": "0x1.715476p+0f",
        "LN2_HIGH": "0x1.62e4p-1f",
        "LN2_LOW": "0x1.7f7d1cp-20f",
        "FAR": "0x1p17f",
        "TWO_OVER_PI": "0x1.45f306p-1f",
        "HALF_PI": "0x1.921fb6p+0f",
        "HALF_PI_2": "-0x1.777a5cp-25f",
        "HALF_PI_3": "-0x1.ee59dap-50f",
        "TAN_EIGHTH": "0x1.a8279ap-2f",
        "HUGE": "0x1p126f",
        "THIRDS": "0x1.555556p-1f",
        "THIRDS_LOW": "-0x1.555556p-26f",
    },
    "double": {
        "U": "uint64_t",
        "MANTISSA": "52",
        "BIAS": "1023",
        "SIGN": "INT64_MIN",
        "MAGIC": "0x1.8p52",
        "SMALL": "0x1p-1022",
        "LIFT": "0x1p52",
        "HALF_ROOT": "0x3fe6a09e667f3bcd",
        "ONE_BITS": "0x3ff0000000000000",
        "EXP_HIGH": "710.0",
        "EXP_LOW": "-746.0",
        "TANH_HIGH": "20.0",
        "LOG2E": "0x1.71547652b82fep+0",
        "LN2_HIGH": "0x1.62e42feep-1",
        "LN2_LOW": "0x1.a39ef35793c76p-33",
        "FAR": "0x1p20",
        "TWO_OVER_PI": "0x1.45f306dc9c883p-1",
        "HALF_PI": "0x1.921fb54442d18p+0",
        "HALF_PI_2": "0x1.1a62633145c07p-54",
        "HALF_PI_3": "-0x1.f1976b7ed8fbcp-110",
        "TAN_EIGHTH": "0x1.a827999fcef32p-2",
        "HUGE": "0x1p1022",
        "FAINT": "0x1p-960",
        "THIRDS": "0x1.5555555555555p-1",
        "THIRDS_LOW": "0x1.5555555555555p-55",
    },
}
_POLYNOMIALS: dict[str, dict[str, tuple[str, ...]]] = {
    # of exp(r), less 1 + r, over r^2
    "exp": {
        "float": ("0x1.fffffcp-2", "0x1.55548ap-3", "0x1.555916p-5", "0x1.123fc6p-7", "0x1.6a1aacp-10"),
        "double": (
            *("0x1.0p-1", "0x1.555555555555cp-3", "0x1.55555555554fap-5", "0x1.111111110e961p-7"),
            *("0x1.6c16c16c326a6p-10", "0x1.a01a01b4aa9abp-13", "0x1.a01a012ff43c4p-16", "0x1.71dded29439dfp-19"),
            *("0x1.27e5bc10f5f7cp-22", "0x1.af7120ec78380p-26", "0x1.1e39233150fdap-29"),
        ),
    },
    # of log(1 + f), less f - f^2 / 2, over f^3
    "log": {
        "float": (
            *("0x1.555548p-2", "-0x1.000008p-2", "0x1.99a4e8p-3", "-0x1.555c2cp-3", "0x1.2332a8p-3"),
            *("-0x1.fc1f84p-4", "0x1.e73ac4p-4", "-0x1.de727ap-4", "0x1.13eceep-4"),
        )
    },
    # (log((1 + s) / (1 - s)) - 2 s) / s^3, of s^2
    "atanh": {
        "double": (
            *("0x1.5555555555555p-1", "0x1.9999999999e82p-2", "0x1.2492492420fe2p-2", "0x1.c71c72650b80ap-3"),
            *("0x1.745cda730347ep-3", "0x1.3b214f9e53484p-3", "0x1.0f4e5e2199241p-3", "0x1.0fe5dd835cfb0p-3"),
        )
    },
    # the same without its first term, 2/3, over s^2
    "atanh_rest": {
        "float": ("0x1.999998p-2", "0x1.249382p-2", "0x1.c652fep-3", "0x1.8f227cp-3"),
        "double": (
            *("0x1.9999999999b60p-2", "0x1.2492492452012p-2", "0x1.c71c7235dcfbfp-3", "0x1.745ce6e4e0df5p-3"),
            *("0x1.3b1f7a228adc3p-3", "0x1.0f72a5d032c5dp-3", "0x1.0ec0a0139f2d5p-3"),
        ),
    },
    # (sin r - r) / r^3, of r^2
    "sin": {
        "float": ("-0x1.555556p-3", "0x1.111108p-7", "-0x1.a00f32p-13", "0x1.6cbed2p-19"),
        "double": (
            *("-0x1.5555555555555p-3", "0x1.111111111110ap-7", "-0x1.a01a01a0188b2p-13", "0x1.71de3a530b5a1p-19"),
            *("-0x1.ae64525b8f9d7p-26", "0x1.61206ba455982p-33", "-0x1.aa91bbffcdc1ep-41"),
        ),
    },
    # (cos r - 1 + r^2 / 2) / r^4, of r^2
    "cos": {
        "float": ("0x1.55554ap-5", "-0x1.6c0c22p-10", "0x1.99e348p-16"),
        "double": (
            *("0x1.555555555554ap-5", "-0x1.6c16c16c14ec3p-10", "0x1.a01a019c6ac46p-16", "-0x1.27e4f7d4e21e3p-22"),
            *("0x1.1ee9c6c166ebdp-29", "-0x1.8f9adc613d6e5p-37"),
        ),
    },
    # (atan t - t) / t^3, of t^2
    "atan": {
        "float": ("-0x1.55554ap-2", "0x1.9991a2p-3", "-0x1.23b5bep-3", "0x1.b1f202p-4", "-0x1.f1fd7ep-5"),
        "double": (
            *("-0x1.5555555555554p-2", "0x1.999999999964ap-3", "-0x1.2492492475565p-3", "0x1.c71c71b73ab9cp-4"),
            *("-0x1.745d14b70a148p-4", "0x1.3b136de80eecfp-4", "-0x1.110c6e5a560e8p-4", "0x1.e171a1920bcacp-5"),
            *("-0x1.ab7af7c57edf1p-5", "0x1.70e269e37a3efp-5", "-0x1.121d479c53cbap-5", "0x1.f178f69a39ac8p-7"),
        ),
    },
}

_APART = "static __attribute__((noinline, cold))"
_HEAD = """#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA)
#define TW_VECTOR_MATH 1
#endif
"""
_COMMON = """#if defined(TW_VECTOR_MATH)
typedef @U tw_n_@s __attribute__((vector_size(TW_BYTES)));
/* a b + c, rounded once */
static inline @v tw_fma_@s(@v a, @v b, @v c) {
  @v r;
  for (int64_t i = 0; i < @lanes; ++i) r[i] = __builtin_fma@f(a[i], b[i], c[i]);
  return r;
}
/* a times 2 to the power of k, a whole number that may take the result out of the range of exponents */
static inline @v tw_scaled_@s(@v a, @v k) {
#if defined(__AVX512F__) && !defined(__clang__)
  return (@v)__builtin_ia32_scalef@d512_mask(a, k, (@v){0}, (@k)-1, 4);
#else
  const @m bits = (@m)((@v){0} + @MAGIC), half = (@m)(k * (@T)0.5 + @MAGIC) - bits;
  const @m rest = (@m)(k + @MAGIC) - bits - half;
  return a * (@v)((half + @BIAS) << @MANTISSA) * (@v)((rest + @BIAS) << @MANTISSA);
#endif
}
/* the whole number nearest to a, at most 2 to the power of @MANTISSA less 2 */
static inline @v tw_nearest_@s(@v a) { return (a + @MAGIC) - @MAGIC; }
static inline int tw_any_@s(@m m) {
#if defined(__AVX512F__) && !defined(__clang__)
  typedef int words __attribute__((vector_size(64)));
  return __builtin_ia32_ptestmd512((words)m, (words)m, (unsigned short)-1) != 0;
#elif defined(__AVX__) && TW_BYTES == 32 && !defined(__clang__)
  typedef long long words __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256((words)m, (words)m);
#else
  int64_t part[TW_BYTES / 8], any = 0;
  __builtin_memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
#endif
}
#endif
"""
_EXP = """  const @v low = tw_pick_@s(a < @EXP_LOW, (@v){0} + @EXP_LOW, a);
  const @v x = tw_pick_@s(low > @EXP_HIGH, (@v){0} + @EXP_HIGH, low);
  const @v k = tw_nearest_@s(x * @LOG2E), r = (x - k * @LN2_HIGH) - k * @LN2_LOW;
  return tw_scaled_@s(1 + (r + r * r * @exp(r)), k);
"""
_SPLIT = """  const @n bits = (@n)a - @HALF_ROOT + @ONE_BITS;
  const @v m = (@v)((@m)(bits & ((((@n){0} + 1) << @MANTISSA) - 1)) + @HALF_ROOT), f = m - 1;
  const @v k = (@v)((@m)(bits >> @MANTISSA) + ((@m)((@v){0} + @MAGIC) - @BIAS)) - @MAGIC;
"""
"""a, which is positive, finite and normal, as m times 2 to the power of k, m between the roots of a half and of 2."""
_LOG = """  if (tw_any_@s(~((a >= @SMALL) & (a < __builtin_inf@f())))) return tw_lanes_@name_@s(a);
@split
F return (f - (f * f * (@T)0.5 - (f * f * f * @log(f) + k * @LN2_LOW))) + k * @LN2_HIGH;
D const @v s = f / (2 + f), z = s * s, h = f * f * (@T)0.5;
D return k * @LN2_HIGH + (f - (h - (s * (h + z * @atanh(z)) + k * @LN2_LOW)));
"""
_REDUCED = """  const @m sign = (@m){0} + @SIGN;
  const @v x = (@v)((@m)a & ~sign);
  if (tw_any_@s(~(x < @FAR))) return tw_lanes_@name_@s(a);
  const @v shifted = x * @TWO_OVER_PI + @MAGIC, k = shifted - @MAGIC;
  const @m n = (@m)shifted, odd = -(n & 1);
  const @v near = tw_fma_@s(-k, (@v){0} + @HALF_PI, x);
F const @v nearer = tw_fma_@s(-k, (@v){0} + @HALF_PI_2, near), r = nearer - k * @HALF_PI_3, z = r * r;
F const @v s = r + r * z * @sin(z), c = (1 - z * (@T)0.5) + z * z * @cos(z);
D const @v p = k * @HALF_PI_2, r = near - p, back = r - near;
D const @v r_low = (near - (r - back)) - (p + back) - (tw_fma_@s(k, (@v){0} + @HALF_PI_2, -p) + k * @HALF_PI_3);
D const @v z = r * r, half = z * (@T)0.5, one = 1 - half;
D const @v sin = r_low + (r * z * @sin(z) - r_low * half), cos = ((1 - one) - half) + (z * z * @cos(z) - r * r_low);
D const @v s = r + sin, c = one + cos;
"""
_SIN = """  return (@v)((@m)tw_pick_@s(odd, c, s) ^ (((n << (8 * sizeof(@T) - 2)) ^ (@m)a) & sign));
"""
_COS = """  return (@v)((@m)tw_pick_@s(odd, s, c) ^ (((n + 1) << (8 * sizeof(@T) - 2)) & sign));
"""
_TAN = """  /* sin / cos, or -cos / sin */
  const @v above = tw_pick_@s(odd, -c, s), below = tw_pick_@s(odd, s, c);
F const @v t = above / below;
D const @v s_low = sin - (s - r), c_low = cos - (c - one), over = 1 / below, q = above * over;
D const @v above_low = tw_pick_@s(odd, -c_low, s_low), below_low = tw_pick_@s(odd, s_low, c_low);
D const @v t = q + (tw_fma_@s(-q, below, above) + (above_low - q * below_low)) * over;
  return (@v)((@m)t ^ ((@m)a & sign));
"""
_TANH = """  /* t / (t + 2) of t = exp(2 x) - 1 */
  const @m sign = (@m){0} + @SIGN;
  const @v size = (@v)((@m)a & ~sign), x = 2 * tw_pick_@s(size > @TANH_HIGH, (@v){0} + @TANH_HIGH, size);
  const @v shifted = x * @LOG2E + @MAGIC, k = shifted - @MAGIC, r = (x - k * @LN2_HIGH) - k * @LN2_LOW;
  const @v power = (@v)(((@m)shifted << @MANTISSA) + @ONE_BITS), t = power * (r + r * r * @exp(r)) + (power - 1);
  return (@v)((@m)(t / (t + 2)) | ((@m)a & sign));
"""
_ATAN2 = """  /* the angle of the quotient of both sizes, below an eighth of a turn less or more, and where that lies */
  const @m sign = (@m){0} + @SIGN;
  const @v u = (@v)((@m)b & ~sign), v = (@v)((@m)a & ~sign);
  const @m steep = v > u, left = (@m)b < 0, turned = (steep ^ left) & sign;
  const @v large = tw_pick_@s(steep, v, u), least = tw_pick_@s(steep, u, v);
  const @m usual = (large >= @SMALL) & (large < @HUGE) & (least < @HUGE);
F if (tw_any_@s(~usual)) return tw_lanes_@name_@s(a, b);
  const @m apart = least > large * @TAN_EIGHTH;
  const @v sum = large + least, difference = least - large;
  const @v above = tw_pick_@s(apart, difference, least), below = tw_pick_@s(apart, sum, large);
F const @v t = above / below, t_low = (@v){0}, z = t * t;
D const @v above_low = (@v)((@m)(least - (difference + large)) & apart);
D const @v below_low = (@v)((@m)(least - (sum - large)) & apart), over = 1 / below, t = above * over, z = t * t;
D /* what the quotient loses is normal, too */
D const @m faint = (least > 0) & ((least < @FAINT) | (t < @FAINT));
D if (tw_any_@s(~usual | faint)) return tw_lanes_@name_@s(a, b);
D const @v t_low = (tw_fma_@s(-t, below, above) + (above_low - t * below_low)) * over;
  const @v eighths = (@v)((@m)((@v){0} + 1) & apart), quarters = tw_pick_@s(steep, 2 - eighths, eighths);
  const @v count = tw_pick_@s(left, 4 - quarters, quarters);
  const @v high = count * (@HALF_PI / 2), low = count * (@HALF_PI_2 / 2);
  const @v angle = (@v)((@m)t ^ turned), rest = (@v)((@m)(t_low + t * z * @atan(z)) ^ turned);
F const @v value = high + (angle + (low + rest));
D const @v r = high + angle, value = r + ((angle - (r - high)) + (low + rest));
  return (@v)((@m)value ^ ((@m)a & sign));
"""
_POW = """  /* log x = h + l, of s = (m - 1) / (m + 1): 2 s + 2/3 s^3 with what both lose, then the rest */
@split
  const @v d = m + 1, over = 1 / d, s = f * over, s_low = (tw_fma_@s(-s, d, f) - s * (m - (d - 1))) * over;
  const @v z = s * s, z_low = tw_fma_@s(s, s, -z) + 2 * s * s_low, t = z * @atanh_rest(z);
  const @v c = @THIRDS + t, c_low = t - (c - @THIRDS) + @THIRDS_LOW;
  const @v w = s * z, w_low = tw_fma_@s(s, z, -w) + (s * z_low + s_low * z);
  const @v p = w * c, p_low = tw_fma_@s(w, c, -p) + (w * c_low + w_low * c);
  const @v whole = k * @LN2_HIGH, s2 = 2 * s, h1 = whole + s2, back = h1 - whole;
  const @v l1 = (whole - (h1 - back)) + (s2 - back), h2 = h1 + p, l2 = p - (h2 - h1);
  const @v rest = (l1 + l2) + ((2 * s_low + p_low) + k * @LN2_LOW), h = h2 + rest, l = rest - (h - h2);
  /* exp of its product with b */
  const @v e = h * b, e_low = tw_fma_@s(h, b, -e) + l * b;
  const @v q = tw_pick_@s(e > @EXP_HIGH, (@v){0} + @EXP_HIGH, tw_pick_@s(e < @EXP_LOW, (@v){0} + @EXP_LOW, e));
  const @v n = tw_nearest_@s(q * @LOG2E), r = (q - n * @LN2_HIGH) + ((@v)((@m)e_low & (q == e)) - n * @LN2_LOW);
  return tw_scaled_@s(1 + (r + r * r * @exp(r)), n);
}
/* of zeros, of negative numbers, and what is not finite */
static __attribute__((noinline, cold)) @v tw_powers_@s(@v a, @v b) {
  const @m sign = (@m){0} + @SIGN;
  const @v size = (@v)((@m)a & ~sign), half = b * (@T)0.5;
  const @m normal = (size >= @SMALL) & (size < __builtin_inf@f()), zero = size == 0;
  if (tw_any_@s(~((normal | zero) & ((@v)((@m)b & ~sign) < __builtin_inf@f())))) return tw_lanes_@name_@s(a, b);
  @v whole, even;
  for (int64_t i = 0; i < @lanes; ++i) whole[i] = __builtin_rint@f(b[i]), even[i] = __builtin_rint@f(half[i]);
  const @v power = tw_power_@s(tw_pick_@s(zero, (@v){0} + 1, size), b);
  const @v none = tw_pick_@s(b > 0, (@v){0}, tw_pick_@s(b == 0, (@v){0} + 1, (@v){0} + __builtin_inf@f()));
  const @v value = (@v)((@m)tw_pick_@s(zero, none, power) ^ ((@m)a & sign & (whole == b) & ~(even == half)));
  return tw_pick_@s((a < 0) & ~(whole == b), (@v){0} + __builtin_nan@f(""), value);
}
static inline @v @called(@v a, @v b) {
  const @m normal = (a >= @SMALL) & (a < __builtin_inf@f());
  if (tw_any_@s(~(normal & (b > -__builtin_inf@f()) & (b < __builtin_inf@f())))) return tw_powers_@s(a, b);
  return tw_power_@s(a, b);
"""
_BODIES = {
    "exp": _EXP,
    "log": _LOG,
    "sin": _REDUCED + _SIN,
    "cos": _REDUCED + _COS,
    "tan": _REDUCED + _TAN,
    "tanh": _TANH,
    "pow": _POW,
    "atan2": _ATAN2,
}


def common_text(dtypes: Sequence[str]) -> str:
    """Return what the functions of vectors of these element types use."""
    return "".join([_HEAD, *(_filled(_COMMON, dtype, "") for dtype in dtypes)]) if dtypes else ""


def function_text(name: str, dtype: str, called: str, lanes: str) -> str:
    """Return the C text of a function of vectors; ``lanes`` is that of C's library, lane after lane."""
    params = "@v a, @v b" if name in PAIRS else "@v a"
    own = "tw_power_@s" if name == "pow" else called
    text = f"static inline @v {own}({params}) {{\n{_BODIES[name]}}}\n".replace("@called", called)
    apart = lanes.replace(called, "tw_lanes_@name_@s").replace(
        "static inline", "static __attribute__((noinline, cold))"
    )
    own_text = _filled((apart if "tw_lanes" in text else "") + text, dtype, name)
    return f"#if defined(TW_VECTOR_MATH)\n{own_text}#else\n{lanes}#endif\n"


def _filled(text: str, dtype: str, name: str) -> str:
    kind, s = C_LANES[dtype], SUFFIX[dtype]
    single = kind == "float"
    text = text.replace("@split\n", _SPLIT)
    lines = [line for line in text.splitlines() if not line.startswith("D " if single else "F ")]
    text = "\n".join(f"  {line[2:]}" if line[:2] in {"F ", "D "} else line for line in lines) + "\n"
    for each, by_type in _POLYNOMIALS.items():
        for variable in "rfz":
            call = f"@{each}({variable})"
            if call in text:
                text = text.replace(call, _horner(by_type[kind], variable, "f" if single else ""))
    constants = _CONSTANTS[kind]
    words = {
        **{f"@{key}": value for key, value in sorted(constants.items(), key=lambda item: -len(item[0]))},
        "@lanes": f"{'' if element(dtype).parts == 1 else '2 * '}TW_LANES_{s.upper()}",
        "@name": name,
        "@v": f"tw_v_{s}",
        "@m": f"tw_m_{s}",
        "@n": f"tw_n_{s}",
        "@d": "ps" if single else "pd",
        "@k": "unsigned short" if single else "unsigned char",
        "@T": kind,
        "@s": s,
        "@f": "f" if single else "",
    }
    for mark, meaning in words.items():
        text = text.replace(mark, meaning)
    return text


def _horner(coefficients: Sequence[str], variable: str, tail: str) -> str:
    """Return a polynomial, the constant term first.

    >>> _horner(("1", "-2", "3"), "z", "f")
    '((3f * z - 2f) * z + 1f)'
    """
    text = f"{coefficients[-1]}{tail}"
    for coefficient in reversed(coefficients[:-1]):
        sign, number = ("-", coefficient[1:]) if coefficient.startswith("-") else ("+", coefficient)
        text = f"({text} * {variable} {sign} {number}{tail})"
    return text
