"""C for numbers of which a register does not hold what arithmetic works with: complex ones, and those of 16 bits.

A vector of complex numbers is one of their parts, real and imaginary in turn, as they lie in memory. Sums, differences
and everything with real numbers, which then stand twice, are the operations of parts; the functions here are what is
left. C's own products and quotients of complex numbers look for infinities among their results and call a function;
these do not, and neither do NumPy's.

Numbers of 16 bits are widened where they are loaded and rounded, to nearest and ties to even, where they are stored: by
the conversions of F16C and AVX-512 where the compiler has them, else by shifts.
"""

from collections.abc import Iterable, Iterator

from tilewright.codegen import ir
from tilewright.codegen.print.c_widths import by_width
from tilewright.codegen.print.dividing import is_written
from tilewright.codegen.print.elements import C_LANES, PAIRS, SUFFIX
from tilewright.programs.stencil.operators import FUNCTIONS


def twice_macros() -> str:
    """Macros for vectors of two numbers in turn, by the bytes of each.

    >>> print(twice_macros().splitlines()[-3])
    #define TW_TWICE_4(a, b) {a, b, a, b}
    """

    def macros(width: int) -> Iterator[str]:
        for size in (4, 8):
            yield f"#define TW_TWICE_{size}(a, b) {{{', '.join(['a, b'] * (width // size // 2))}}}"

    return "\n".join(["/* two numbers in turn */", *by_width(macros), ""])


TAKEN = {"swap": (1, 0), "real": (0, 0), "imag": (1, 1)}
"""Which part of each number a vector function takes in place of the real and of the imaginary one."""
_USES = {"mul": ("swap", "real", "imag"), "div": ("swap", "real", "imag"), "times_i": ("swap",), "modulus": ("swap",)}
_VECTOR = {
    "splat": ("@T _Complex a", "return (@v)@twice(__real__ a, __imag__ a);"),
    "complex": ("@v a", "return (@v)((@m)a & (@m)@twice(-1, 0));"),
    "conj": ("@v a", "return (@v)((@m)a ^ (@m)(@v)@twice(0, -(@T)0));"),
    "times_i": ("@T c, @v a", "return (@v)@twice(-c, c) * tw_swap_v_@s(a);"),
    "mul": (
        "@v a, @v b",
        """
  const @v im = (@v)((@m)tw_imag_v_@s(a) ^ (@m)(@v)@twice(-(@T)0, 0));
  return tw_real_v_@s(a) * b + im * tw_swap_v_@s(b);
""",
    ),
    "div": (
        "@v a, @v b",
        """
  /* R. L. Smith, "Algorithm 116: Complex division" (CACM 1962), as NumPy divides */
  const @v re = tw_real_v_@s(b), im = tw_imag_v_@s(b), turned = (@v)((@m)tw_swap_v_@s(a) ^ (@m)(@v)@twice(0, -(@T)0));
  const @m sign = (@m)(@v)@twice(-(@T)0, -(@T)0), big = (@v)((@m)re & ~sign) >= (@v)((@m)im & ~sign);
  const @v p = tw_pick_@s(big, re, im), q = tw_pick_@s(big, im, re), ratio = q / p;
  const @v sum = tw_pick_@s(big, a + turned * ratio, a * ratio + turned);
  return sum / (p + q * ratio);
""",
    ),
    "modulus": (
        "@v a",
        """
  const @m sign = (@m)(@v)@twice(-(@T)0, -(@T)0);
  const @v x = (@v)((@m)a & ~sign), y = tw_swap_v_@s(x);
  const @v p = tw_pick_@s(x > y, x, y), least = tw_pick_@s(x > y, y, x);
  const @v ratio = tw_pick_@s(x == y, (@v){0} + 1, least / p), s = 1 + ratio * ratio;
  @v r;
  for (int64_t i = 0; i < TW_BYTES / (int64_t)sizeof(@T); ++i) r[i] = __builtin_sqrt@f(s[i]);
  return p * r;
""",
    ),
}
_SCALAR = {
    "complex": ("@T _Complex", "@T a", "return __builtin_complex(a, (@T)0);"),
    "real": ("@T", "@T _Complex a", "return __real__ a;"),
    "imag": ("@T", "@T _Complex a", "return __imag__ a;"),
    "conj": ("@T _Complex", "@T _Complex a", "return __builtin_complex(__real__ a, -__imag__ a);"),
    "times_i": ("@T _Complex", "@T c, @T _Complex a", "return __builtin_complex(-c * __imag__ a, c * __real__ a);"),
    "mul": (
        "@T _Complex",
        "@T _Complex a, @T _Complex b",
        """
  const @T p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b;
  return __builtin_complex(p * r - q * s, p * s + q * r);
""",
    ),
    "div": (
        "@T _Complex",
        "@T _Complex a, @T _Complex b",
        """
  const @T x = __real__ a, y = __imag__ a, re = __real__ b, im = __imag__ b;
  const int big = __builtin_fabs@f(re) >= __builtin_fabs@f(im);
  const @T p = big ? re : im, q = big ? im : re, ratio = q / p, d = p + q * ratio;
  return big ? __builtin_complex((x + y * ratio) / d, (y - x * ratio) / d)
             : __builtin_complex((x * ratio + y) / d, (y * ratio - x) / d);
""",
    ),
    "pow": (
        "@T _Complex",
        "@T _Complex a, @T _Complex b",
        """
  /* as NumPy has it: C's own makes a number of zero to the power zero that is none */
  const @T n = __real__ b;
  if (b == 0) return 1;
  if (a == 0) return n > 0 && __imag__ b == 0 ? 0 : __builtin_complex((@T)__builtin_nan(""), (@T)__builtin_nan(""));
  if (b == 1) return a;
  if (__imag__ b != 0 || n != __builtin_trunc@f(n) || n <= -100 || n >= 100) return __builtin_cpow@f(a, b);
  @T _Complex r = 1, p = a;
  for (int k = n < 0 ? (int)-n : (int)n; k; k >>= 1, p = tw_mul_@s(p, p)) r = k & 1 ? tw_mul_@s(r, p) : r;
  return n < 0 ? tw_div_@s(1, r) : r;
""",
    ),
    "modulus": (
        "@T",
        "@T _Complex a",
        """
  const @T x = __builtin_fabs@f(__real__ a), y = __builtin_fabs@f(__imag__ a);
  const @T p = x > y ? x : y, ratio = x == y ? 1 : (x > y ? y : x) / p;
  return p * __builtin_sqrt@f(1 + ratio * ratio);
""",
    ),
}


def with_used(helpers: Iterable[tuple[str, str, bool]]) -> list[tuple[str, str, bool]]:
    """Sort the functions of a unit, after those that they use."""
    wanted = set(helpers)
    used: set[tuple[str, str, bool]] = {
        (each, dtype, vector)
        for name, dtype, vector in wanted
        if vector and ir.element(dtype).is_complex
        for each in _USES.get(name, ())
    }
    lanes = {(name, dtype, False) for name, dtype, vector in wanted if vector and _is_own_pair(name, dtype)}
    powers = {dtype for name, dtype, _ in wanted if name == "pow" and ir.element(dtype).is_complex}
    used |= {(name, dtype, False) for dtype in powers for name in ("mul", "div")}
    return [*sorted(used), *sorted(lanes - used), *sorted(wanted - used - lanes)]


def _is_own_pair(name: str, dtype: str) -> bool:
    """Whether an operator is a function of two numbers that is written out, and not one of C's."""
    return name in PAIRS and (is_written(name, dtype) or (name == "pow" and ir.element(dtype).is_complex))


def complex_function(name: str, called: str, dtype: str, *, vector: bool) -> str:
    """Return the C text of a function of complex numbers; nothing where C has it, or it is that of any type."""
    if not vector:
        if name not in _SCALAR:
            return ""
        result, params, body = _SCALAR[name]
        return _text(f"static inline {result} {called}({params}) {{{_spaced(body)}}}\n", dtype)
    if name in TAKEN:
        return _text("\n".join(_picked(called, TAKEN[name], dtype)), dtype)
    if name in FUNCTIONS:
        return _text(_by_number(name, called), dtype)
    if name not in _VECTOR:
        return ""
    params, body = _VECTOR[name]
    return _text(f"static inline @v {called}({params}) {{{_spaced(body)}}}\n", dtype)


def _spaced(body: str) -> str:
    return body if body.startswith("\n") else f" {body} "


def _text(text: str, dtype: str) -> str:
    part, s = C_LANES[dtype], SUFFIX[dtype]
    size = ir.element(dtype).bytes // 2
    for mark, meaning in {
        "@twice": f"TW_TWICE_{size}",
        "@v": f"tw_v_{s}",
        "@m": f"tw_m_{s}",
        "@T": part,
        "@s": s,
        "@u": s.upper(),
        "@f": "f" if part == "float" else "",
    }.items():
        text = text.replace(mark, meaning)
    return text


def _picked(called: str, parts: tuple[int, int], dtype: str) -> Iterator[str]:
    """One part of each number in place of another."""

    def mixed(width: int) -> Iterator[str]:
        numbers = range(width // ir.element(dtype).bytes)
        lanes = ", ".join(str(2 * number + part) for number in numbers for part in parts)
        yield f"  return TW_MIX(@m, a, a, {lanes});"

    yield f"static inline @v {called}(@v a) {{"
    yield from (*by_width(mixed), "}", "")


def _by_number(name: str, called: str) -> str:
    """One number after the other, by a function of C's."""
    params, args = ("@v a, @v b", "x, y") if name in PAIRS else ("@v a", "x")
    second = "    const @T _Complex y = __builtin_complex(b[i], b[i + 1]);\n" if name in PAIRS else ""
    return (
        f"static inline @v {called}({params}) {{\n"
        "  @v r;\n"
        "  for (int64_t i = 0; i < 2 * TW_LANES_@u; i += 2) {\n"
        "    const @T _Complex x = __builtin_complex(a[i], a[i + 1]);\n"
        f"{second}"
        f"    const @T _Complex z = {'tw_pow_@s' if name == 'pow' else f'__builtin_c{name}@f'}({args});\n"
        "    r[i] = __real__ z, r[i + 1] = __imag__ z;\n"
        "  }\n"
        "  return r;\n"
        "}\n"
    )


def narrow_functions(dtype: str) -> str:
    """Return the C text of loads and stores of numbers of 16 bits."""
    scalar, load, store = {
        "float16": (_HALF, _LOAD_HALF, _STORE_HALF),
        "bfloat16": (_BRAIN, _LOAD_BRAIN, _STORE_BRAIN),
    }[dtype]
    text = _CONVERTED.replace("@load", load).replace("@store", store)
    return scalar + text.replace("@s", SUFFIX[dtype])


_HALF = """#if defined(__F16C__)
#include <immintrin.h>
static inline float tw_get_f16(uint16_t bits) { return _cvtsh_ss(bits); }
static inline uint16_t tw_put_f16(float value) { return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT); }
#else
static inline float tw_get_f16(uint16_t bits) {
  /* exponents and fractions move up by 13 bits; a product makes subnormal numbers normal ones */
  union { uint32_t u; float f; } x = {(uint32_t)(bits & 0x7fff) << 13};
  x.f *= 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00) x.u |= 0x7f800000;
  x.u |= (uint32_t)(bits & 0x8000) << 16;
  return x.f;
}
static inline uint16_t tw_put_f16(float value) {
  union { float f; uint32_t u; } x = {value}, y;
  const uint32_t sign = x.u >> 16 & 0x8000;
  x.u &= 0x7fffffff;
  if (x.u > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (x.u >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (x.u < 0x38800000) { /* subnormal: the addition rounds */
    y.f = x.f + 0.5f;
    return (uint16_t)(sign | (y.u - 0x3f000000));
  }
  return (uint16_t)(sign | ((x.u - 0x38000000 + 0xfff + (x.u >> 13 & 1)) >> 13));
}
#endif
"""
_BRAIN = """static inline float tw_get_bf16(uint16_t bits) {
  const union { uint32_t u; float f; } x = {(uint32_t)bits << 16};
  return x.f;
}
static inline uint16_t tw_put_bf16(float value) {
  const union { float f; uint32_t u; } x = {value};
  return value != value ? (uint16_t)(x.u >> 16 | 0x40) : (uint16_t)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}
"""
_LOAD_HALF = """#if TW_BYTES == 64
  return (tw_v_f16)_mm512_cvtph_ps((__m256i)bits);
#elif TW_BYTES == 32 && defined(__F16C__)
  return (tw_v_f16)_mm256_cvtph_ps((__m128i)bits);
#else
  tw_v_f16 value;
  for (int64_t i = 0; i < TW_LANES_F16; ++i) value[i] = tw_get_f16(bits[i]);
  return value;
#endif"""
_STORE_HALF = """#if TW_BYTES == 64
  return (tw_h_f16)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT);
#elif TW_BYTES == 32 && defined(__F16C__)
  return (tw_h_f16)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
#else
  tw_h_f16 bits;
  for (int64_t i = 0; i < TW_LANES_F16; ++i) bits[i] = tw_put_f16(value[i]);
  return bits;
#endif"""
_LOAD_BRAIN = "  return (tw_v_bf16)(__builtin_convertvector(bits, tw_w_bf16) << 16);"
_STORE_BRAIN = """  const tw_w_bf16 x = (tw_w_bf16)value, rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;
  const tw_w_bf16 none = (tw_w_bf16)(value != value);
  return __builtin_convertvector(((x >> 16 | 0x40) & none) | (rounded & ~none), tw_h_bf16);"""
_CONVERTED = """typedef uint32_t tw_w_@s __attribute__((vector_size(TW_BYTES)));
static inline tw_v_@s tw_load_@s(tw_h_@s bits) {
@load
}
static inline tw_h_@s tw_store_@s(tw_v_@s value) {
@store
}
"""
