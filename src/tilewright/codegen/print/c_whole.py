"""C helpers of whole numbers of 8, 16 and 32 bits in vectors: what processors have one instruction for, C many.

Each has GCC's builtins for AVX-512 and AVX2, where there are any (none saturates 32 bits), and plain vector C
otherwise, which clang turns into the instruction.
"""

from tilewright.codegen.ir import Kind, element
from tilewright.codegen.print.elements import C_ELEMENTS, SUFFIX

_LETTER = {8: "b", 16: "w", 32: "d"}
_RAW = {8: "char", 16: "short", 32: "int"}
_MASK = {8: "unsigned long long", 16: "unsigned int", 32: "unsigned short"}
_MOST_SATURATED = 16
"""Bits of numbers that processors add with saturation."""
_FEATURE = {8: "__AVX512BW__", 16: "__AVX512BW__", 32: "__AVX512F__"}

_LANE_BY_LANE = """static inline {v} {name}({v} a, {v} b) {{
#if defined({feature}) && !defined(__clang__)
  typedef {raw} raw __attribute__((vector_size(64)));
  return ({v})__builtin_ia32_{builtin}512_mask((raw)a, (raw)b, (raw)b, ({mask})-1);
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef {raw} raw __attribute__((vector_size(32)));
  return ({v})__builtin_ia32_{builtin}256((raw)a, (raw)b);
#else
{plain}
#endif
}}
"""
_NO_INSTRUCTION = """static inline {v} {name}({v} a, {v} b) {{
{plain}
}}
"""
_EXTREMUM = "  return tw_pick_{s}(a {sign} b, a, b);"
_SATURATED = """\
  /* where the result's sign says so, it went beyond the end of the range that the first operand is nearer to */
  const {v} r = a {sign} b, m = ({v})(((a ^ {side}) & (a ^ r)) < 0);
  return (r & ~m) | (((a >> {last}) ^ (({v}){{0}} + {most})) & m);"""
_ANY_GT = """static inline int {name}({v} a, {v} b) {{
#if defined({feature}) && !defined(__clang__)
  typedef {raw} raw __attribute__((vector_size(64)));
  return __builtin_ia32_cmp{letter}512_mask((raw)a, (raw)b, 6, ({mask})-1) != 0;
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef char bytes __attribute__((vector_size(32)));
  return __builtin_ia32_pmovmskb256((bytes)(a > b)) != 0;
#else
  const {v} m = ({v})(a > b);
  int64_t part[TW_BYTES / 8], any = 0;
  __builtin_memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
#endif
}}
"""
_TRANSLATE = """/* bytes that become entries of a table: a permutation, where a register holds the table */
static void {name}({t} *to, const uint8_t *from, const {t} *table, int64_t entries, int64_t n) {{
  int64_t i = 0;
{permuted}  (void)entries;
  for (; i < n; ++i) to[i] = table[from[i]];
}}
"""
_PERMUTED = """#if defined(__AVX512VBMI__) && !defined(__clang__)
  typedef char raw __attribute__((vector_size(64)));
  typedef char loose __attribute__((vector_size(64), aligned(1), may_alias));
  if (entries <= 64) {
    const unsigned long long every = -1;
    raw all = {0};
    __builtin_memcpy(&all, table, (unsigned long)entries);
    for (; i + 64 <= n; i += 64)
      *(loose *)(to + i) = __builtin_ia32_permvarqi512_mask(all, *(const loose *)(from + i), all, every);
  }
#endif
"""


def whole_helper(name: str, dtype: str) -> str:
    """Return the definition of an operator on vectors of small whole numbers, or nothing if it has no instruction."""
    kind = element(dtype)
    plain = {"maximum": _EXTREMUM, "minimum": _EXTREMUM, "adds": _SATURATED, "subs": _SATURATED, "any_gt": ""}
    if kind.kind is not Kind.INT or kind.bits not in _LETTER or name not in plain:
        return ""
    text = _ANY_GT if name == "any_gt" else _LANE_BY_LANE
    if plain[name] == _SATURATED and kind.bits > _MOST_SATURATED:
        text = _NO_INSTRUCTION
    s, letter = SUFFIX[dtype], _LETTER[kind.bits]
    start = {"maximum": "pmaxs", "minimum": "pmins", "adds": "padds", "subs": "psubs", "any_gt": "cmp"}[name]
    words = {
        "v": f"tw_v_{s}",
        "s": s,
        "name": f"tw_{name}_v_{s}",
        "feature": _FEATURE[kind.bits],
        "raw": _RAW[kind.bits],
        "mask": _MASK[kind.bits],
        "letter": letter,
        "builtin": f"{start}{letter}",
        "sign": {"maximum": ">", "minimum": "<", "adds": "+", "subs": "-", "any_gt": ">"}[name],
        "side": "b" if name == "subs" else "~b",
        "last": kind.bits - 1,
        "most": kind.range[1],
    }
    return text.format(plain=plain[name].format(**words), **words)


def translation(dtype: str) -> str:
    """Return the definition of the function that translates bytes into numbers of a type."""
    permuted = _PERMUTED if dtype == "int8" else ""
    return _TRANSLATE.format(name=f"tw_translate_{SUFFIX[dtype]}", t=C_ELEMENTS[dtype], permuted=permuted)
