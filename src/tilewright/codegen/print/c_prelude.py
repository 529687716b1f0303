"""What every C unit starts with, and the small functions that it uses: only those that it uses."""

from collections.abc import Iterable

from tilewright.base.constants import CACHE_LINE
from tilewright.codegen import ir
from tilewright.codegen.boundary import mirrored
from tilewright.codegen.print.c_numbers import TAKEN, complex_function, narrow_functions, twice_macros, with_used
from tilewright.codegen.print.c_whole import translation, whole_helper
from tilewright.codegen.print.c_widths import by_width
from tilewright.codegen.print.dividing import DIVIDING, dividing, dividing_vector, is_written
from tilewright.codegen.print.elements import C_ELEMENTS, C_LANES, C_VALUES, LIBRARY, PAIRS, SUFFIX
from tilewright.codegen.print.vector_math import VECTOR_MATH, common_text, function_text

_HEAD = """#include <stdint.h>

#if defined(__AVX512F__)
#define TW_BYTES 64
#elif defined(__AVX__)
#define TW_BYTES 32
#else
#define TW_BYTES 16
#endif

static inline int64_t tw_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tw_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tw_floordiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
static inline int64_t tw_ceildiv(int64_t a, int64_t b) { return tw_floordiv(a + b - 1, b); }
static inline int64_t tw_floormod(int64_t a, int64_t b) { return a - b * tw_floordiv(a, b); }
"""

_TYPES = """#define TW_LANES_{upper} ((int64_t)(TW_BYTES / {size}))
typedef {type} tw_v_{suffix} __attribute__((vector_size(TW_BYTES)));
typedef {type} tw_u_{suffix} __attribute__((vector_size(TW_BYTES), aligned(sizeof({type})), may_alias));
typedef {ints} tw_m_{suffix} __attribute__((vector_size(TW_BYTES)));
"""
_NARROW = """#define TW_LANES_{upper} ((int64_t)(TW_BYTES / {size}))
typedef {type} tw_v_{suffix} __attribute__((vector_size(TW_BYTES)));
typedef {memory} tw_h_{suffix} __attribute__((vector_size(TW_BYTES / 2)));
typedef {memory} tw_u_{suffix} __attribute__((vector_size(TW_BYTES / 2), aligned(sizeof({memory})), may_alias));
typedef {ints} tw_m_{suffix} __attribute__((vector_size(TW_BYTES)));
"""

_SCALAR = {
    # Two choices, one after the other, become vectors; a choice by two tests stays a branch (GCC).
    "minimum": "const {t} c = a < b ? a : b; return a != a ? a : c;",
    "maximum": "const {t} c = a > b ? a : b; return a != a ? a : c;",
    "where": "return a ? b : c;",
    "number": "return a ? 1 : 0;",
    "not": "return !a;",
}
_VECTOR = {
    "minimum": "return tw_pick_{s}((a < b) | (a != a), a, b);",
    "maximum": "return tw_pick_{s}((a > b) | (a != a), a, b);",
    "where": "return tw_pick_{s}(a, b, c);",
    "number": "return tw_pick_{s}(a, (tw_v_{s}){{0}} + 1, (tw_v_{s}){{0}});",
    "not": "return ~a;",
    "splat": "return a - (tw_v_{s}){{0}};",
    "sign": (
        "const tw_v_{s} one = (tw_v_{s}){{0}} + 1; "
        "return tw_pick_{s}(a > 0, one, tw_pick_{s}(a < 0, -one, tw_pick_{s}(a == 0, (tw_v_{s}){{0}}, a)));"
    ),
}
_PICK = """static inline tw_v_{s} tw_pick_{s}(tw_m_{s} m, tw_v_{s} a, tw_v_{s} b) {{
  return (tw_v_{s})(((tw_m_{s})a & m) | ((tw_m_{s})b & ~m));
}}
"""
_KEEP = """static inline tw_v_{s} tw_keep_v_{s}(tw_v_{s} old, tw_v_{s} value, int64_t done) {{
  tw_m_{s} lane;
  for (int64_t i = 0; i < {parts}TW_LANES_{u}; ++i) lane[i] = ({ints}){number};
  return tw_pick_{s}(lane < ({ints})done, old, value);
}}
"""
_MIX = """/* any lanes of two vectors */
#if defined(__clang__)
#define TW_MIX(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TW_MIX(mask, a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif
#if TW_BYTES == 64 && !defined(__clang__)
typedef int tw_d __attribute__((vector_size(64)));
typedef long long tw_q __attribute__((vector_size(64)));
#define TW_ALIGN_4(v, a, b, n) (v) __builtin_ia32_alignd512_mask((tw_d)a, (tw_d)b, n, (tw_d){0}, (unsigned short)-1)
#define TW_ALIGN_8(v, a, b, n) (v) __builtin_ia32_alignq512_mask((tw_q)a, (tw_q)b, n, (tw_q){0}, (unsigned char)-1)
#endif
"""
_ALIGNED = (4, 8)
"""Bytes of the elements that such instructions move by."""
_MIXED = ("beside_", "outside_")
"""Starts of the names of vectors that are put together from the lanes of two."""
_SIGN_INT = "return (tw_v_{s})((a < 0) - (a > 0));"
_ABS_INT = "return tw_pick_{s}(a < 0, -a, a);"
_OPAQUE = """/* the same index, of which a compiler knows nothing: addresses are made from it anew, not carried along */
static inline __attribute__((always_inline)) int64_t tw_opaque(int64_t i) {
  __asm__("" : "+r"(i));
  return i;
}
"""
_THREAD = """#if defined(_OPENMP)
extern int omp_get_thread_num(void);
static inline int64_t tw_thread(void) { return omp_get_thread_num(); }
#else
static inline int64_t tw_thread(void) { return 0; }
#endif
"""
_THREADS = """#if defined(_OPENMP)
extern int omp_get_num_threads(void);
static inline int64_t tw_threads(void) { return omp_get_num_threads(); }
#else
static inline int64_t tw_threads(void) { return 1; }
#endif
"""
_AWAIT = """/* what was written before a number was published is seen behind the wait for it */
extern int sched_yield(void);
static void tw_await(const int64_t *flag, int64_t value) {
  for (int64_t turn = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < value; ++turn)
    if (turn > 256) sched_yield();
}
"""
_PUBLISH = """static inline void tw_publish(int64_t *flag, int64_t value) {
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}
"""
_FENCE = """/* what was streamed is seen by every thread that is later told so */
static inline void tw_fence(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
"""
_FLUSH = """/* subnormal numbers are zero from here on, read or made; the value is what to restore behind it */
static inline uint64_t tw_flush(void) {
#if defined(__SSE2__)
  const unsigned mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | 0x8040);
  return mode;
#elif defined(__aarch64__)
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1 << 24));
  return mode;
#else
  return 0;
#endif
}
static inline void tw_restore(uint64_t mode) {
#if defined(__SSE2__)
  __builtin_ia32_ldmxcsr((unsigned)mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  (void)mode;
#endif
}
"""
_PUT = """#if defined(__clang__)
#define TW_PAST_512(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_256(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_128(to, v) __builtin_nontemporal_store(v, (row *)(to))
#else
#define TW_PAST_512 __builtin_ia32_movntps512
#define TW_PAST_256 __builtin_ia32_movntps256
#define TW_PAST_128 __builtin_ia32_movntps
#endif
/* Write a row to memory, past the caches if it will not be read soon. */
static inline void tw_put(void *target, const void *source, int64_t bytes, int64_t stream) {
  char *to = target;
  const char *from = source;
#if defined(__SSE2__)
  if (stream) {
    const int64_t head = tw_min(bytes, (int64_t)(-(uintptr_t)to & 63));
    __builtin_memcpy(to, from, (unsigned long)head);
    int64_t i = head;
#if TW_BYTES == 64
    typedef float row __attribute__((vector_size(64)));
    typedef float loose __attribute__((vector_size(64), aligned(1), may_alias));
    for (; i + 64 <= bytes; i += 64) TW_PAST_512((float *)(to + i), (row)*(const loose *)(from + i));
#elif TW_BYTES == 32
    typedef float row __attribute__((vector_size(32)));
    typedef float loose __attribute__((vector_size(32), aligned(1), may_alias));
    for (; i + 32 <= bytes; i += 32) TW_PAST_256((float *)(to + i), (row)*(const loose *)(from + i));
#else
    typedef float row __attribute__((vector_size(16)));
    typedef float loose __attribute__((vector_size(16), aligned(1), may_alias));
    for (; i + 16 <= bytes; i += 16) TW_PAST_128((float *)(to + i), (row)*(const loose *)(from + i));
#endif
    __builtin_memcpy(to + i, from + i, (unsigned long)(bytes - i));
    return;
  }
#endif
  (void)stream;
  __builtin_memcpy(to, from, (unsigned long)bytes);
}
"""
_PREFETCH_NEAR = """/* ask for a line that is used soon */
#define tw_prefetch_near(at) __builtin_prefetch(at, 0, 3)
"""
_ASKS = """/* Whether the results of a call are still wanted: who calls may set tw_interrupted, which the calling
   thread asks now and then. It says how often not to ask again, or less than 0: then the call ends soon, its results
   undefined. All threads leave a loop in whose every iteration they meet in the same one, that after the end. */
__attribute__((common)) int64_t (*tw_interrupted)(void);
typedef struct {
  int64_t *last, round, patience;
} tw_asks;
static inline int64_t tw_last(tw_asks *own) {
  if (--own->patience < 0) {
    own->patience = tw_interrupted ? tw_interrupted() : INT64_MAX;
    if (own->patience < 0) {
      own->patience = INT64_MAX;
      __atomic_store_n(own->last, own->round, __ATOMIC_RELAXED);
    }
  }
  return __atomic_load_n(own->last, __ATOMIC_RELAXED);
}
static inline int tw_wanted(tw_asks *own) { return tw_last(own) > own->round; }
static inline int tw_goes_on(tw_asks *own) {
  ++own->round;
  return tw_last(own) >= own->round;
}
"""
PLAIN = {
    "asks": _ASKS,
    "put": _PUT,
    "prefetch_near": _PREFETCH_NEAR,
    "opaque": _OPAQUE,
    "thread": _THREAD,
    "threads": _THREADS,
    "await": _AWAIT,
    "publish": _PUBLISH,
    "fence": _FENCE,
    "flush": _FLUSH,
}
"""Functions that are the same for every element type."""
_PAST = """/* store to a vector's own boundary, past the caches where the processor can */
static inline void tw_past_v_{s}({type} *to, tw_v_{s} v) {{
#if defined(__clang__)
  __builtin_nontemporal_store(v, (tw_v_{s} *)to);
#elif defined(__AVX512F__)
  typedef float row16 __attribute__((vector_size(64)));
  __builtin_ia32_movntps512((float *)to, (row16)v);
#elif defined(__AVX__)
  typedef float row8 __attribute__((vector_size(32)));
  __builtin_ia32_movntps256((float *)to, (row8)v);
#elif defined(__SSE__)
  typedef float row4 __attribute__((vector_size(16)));
  __builtin_ia32_movntps((float *)to, (row4)v);
#else
  *(tw_u_{s} *)to = v;
#endif
}}
"""
_HOLD = """/* the same value, kept in a register */
static inline __attribute__((always_inline)) tw_v_{s} tw_hold_v_{s}(tw_v_{s} a) {{
#if defined(__SSE2__)
  __asm__("" : "+v"(a));
#elif defined(__aarch64__)
  __asm__("" : "+w"(a));
#endif
  return a;
}}
"""
_FRESH = """/* a value that never changes, kept in a register from here on, not from before a loop */
static inline __attribute__((always_inline)) tw_v_{s} tw_fresh_v_{s}(tw_v_{s} a) {{
#if defined(__SSE2__)
  __asm__ volatile("" : "+v"(a));
#endif
  return a;
}}
"""
_KEPT = {"hold": _HOLD, "fresh": _FRESH, "past": _PAST}
_OVER_SQRT = """static inline tw_v_f32 tw_over_sqrt_v_f32(tw_v_f32 a, tw_v_f32 x) {
#if defined(__AVX512F__)
  const tw_v_f32 y = (tw_v_f32)__builtin_ia32_rsqrt14ps512_mask(x, (tw_v_f32){0}, (unsigned short)-1);
  const tw_v_f32 z = y + y * (0.5f - (x * y) * (0.5f * y));
  /* where x is +-0 the result is an infinity of its sign, where it is +infinity 0 */
  const tw_m_f32 repair = (tw_m_f32){0} + 0x800600;
  return a * (tw_v_f32)__builtin_ia32_fixupimmps512_mask(z, x, repair, 0, (unsigned short)-1, 4);
#elif defined(__SSE__)
  /* where x is +-0 or infinite 1 - x y y is no number; the minimum is 1 then, and the sum still y */
#if TW_BYTES == 32
  const tw_v_f32 y = __builtin_ia32_rsqrtps256(x);
  const tw_v_f32 h = __builtin_ia32_minps256(1.0f - (x * y) * y, (tw_v_f32){0} + 1.0f);
#else
  const tw_v_f32 y = __builtin_ia32_rsqrtps(x);
  const tw_v_f32 h = __builtin_ia32_minps(1.0f - (x * y) * y, (tw_v_f32){0} + 1.0f);
#endif
  return a * (y + (y * h) * (0.5f + 0.375f * h));
#else
  tw_v_f32 r;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = a[i] / __builtin_sqrtf(x[i]);
  return r;
#endif
}
"""


def helper(name: str, dtype: str, *, vector: bool) -> str:
    """Return the C name of an operator that is written as a call.

    >>> helper("sqrt", "float32", vector=False), helper("sqrt", "float32", vector=True)
    ('__builtin_sqrtf', 'tw_sqrt_v_f32')
    """
    kind = ir.element(dtype)
    if not vector and name in LIBRARY | {"abs"} and kind.rounds and not (name == "pow" and kind.is_complex):
        called = "fabs" if name == "abs" else f"c{name}" if kind.is_complex else name
        return f"__builtin_{called}{'f' if C_LANES[dtype] == 'float' else ''}"
    return f"tw_{name}_{'v_' if vector else ''}{SUFFIX[dtype]}"


def _mask_element(dtype: str) -> str:
    """The C type of the lanes of masks: signed whole numbers as wide as the lanes of vectors."""
    kind = ir.element(dtype)
    return C_ELEMENTS[f"int{8 * kind.register_bytes // kind.parts}"]


def prelude(dtypes: Iterable[str], helpers: Iterable[tuple[str, str, bool]], *, strict: bool = False) -> str:
    """Return the start of a unit; ``helpers`` are operators written as calls: name, type, whether on vectors."""
    parts = [_HEAD]
    for dtype in sorted(set(dtypes)):
        suffix, kind = SUFFIX[dtype], ir.element(dtype)
        parts.append(
            (_NARROW if kind.is_narrow else _TYPES).format(
                upper=suffix.upper(),
                suffix=suffix,
                type=C_LANES[dtype],
                memory=C_ELEMENTS[dtype],
                size=f"sizeof({C_VALUES[dtype]})" if kind.parts == 1 else kind.bytes,
                ints=_mask_element(dtype),
            )
        )
        parts += [narrow_functions(dtype)] if kind.is_narrow else []
    wanted = with_used(helpers)
    if any(ir.element(dtype).is_complex for dtype in dtypes):
        parts.append(twice_macros())
    if any(name.startswith(_MIXED) or (name in TAKEN and vector) for name, _, vector in wanted):
        parts.append(_MIX)
    parts += [
        _PICK.format(s=SUFFIX[dtype])
        for dtype in sorted({dtype for name, dtype, vector in wanted if vector and name != "past"})
    ]
    polynomial = [] if strict else [each for each in wanted if each[2] and _is_polynomial(*each[:2])]
    parts.append(common_text(sorted({dtype for _, dtype, _ in polynomial})))
    parts += [
        _define_polynomial(*each[:2]) if each in polynomial else _define(each[0], each[1], vector=each[2])
        for each in wanted
    ]
    return "\n".join(part for part in parts if part)


def _is_polynomial(name: str, dtype: str) -> bool:
    kind = ir.element(dtype)
    return name in VECTOR_MATH and kind.rounds and not kind.is_complex


def _define_polynomial(name: str, dtype: str) -> str:
    called = helper(name, dtype, vector=True)
    return function_text(name, dtype, called, _lanes(name, dtype, f"tw_v_{SUFFIX[dtype]}"))


def _define(name: str, dtype: str, *, vector: bool) -> str:
    if name in PLAIN:
        return PLAIN[name]
    s = SUFFIX[dtype]
    if ir.element(dtype).is_complex:
        text = complex_function(name, helper(name, dtype, vector=vector), dtype, vector=vector)
        if text:
            return text
    if vector:
        return whole_helper(name, dtype) or _define_vector(name, dtype, s)
    if name == "translate":
        return translation(dtype)
    called = helper(name, dtype, vector=False)
    if called.startswith("__builtin"):
        return ""
    own = C_VALUES[dtype]
    if is_written(name, dtype):
        body = dividing(name, dtype, C_VALUES, lambda each: f"__builtin_{each}{'f' if own == 'float' else ''}")
    else:
        body = f" {'return a < 0 ? -a : a;' if name == 'abs' else _SCALAR[name].format(t=own)} "
    one = dict.fromkeys(("abs", "sign"), (own,))
    kinds = {"where": ("int", own, own), "number": ("int",), "not": ("int",), **one}
    params = ", ".join(f"{kind} {letter}" for kind, letter in zip(kinds.get(name, (own,) * 2), "abc", strict=False))
    result = "int" if name == "not" else own
    return f"static inline {result} {called}({params}) {{{body}}}\n"


def _define_vector(name: str, dtype: str, s: str) -> str:
    if name == "keep":
        parts, number = ("", "i") if ir.element(dtype).parts == 1 else ("2 * ", "(i / 2)")
        return _KEEP.format(s=s, u=s.upper(), ints=_mask_element(dtype), parts=parts, number=number)
    if name in _KEPT or name == "over_sqrt":
        return _KEPT[name].format(s=s, type=C_ELEMENTS[dtype]) if name in _KEPT else _OVER_SQRT
    if name.startswith(_MIXED):
        return _define_mixed(name, dtype, s)
    v, m = f"tw_v_{s}", f"tw_m_{s}"
    is_float = ir.element(dtype).is_float
    if name in DIVIDING & PAIRS and is_float:
        return dividing_vector(name, dtype, helper(name, dtype, vector=True), helper(name, dtype, vector=False))
    if name in LIBRARY or (name in PAIRS and is_written(name, dtype)) or (name == "abs" and is_float):
        return _lanes(name, dtype, v)
    one = dict.fromkeys(("abs", "sign"), (v,))
    kinds = {"where": (m, v, v), "number": (m,), "not": (m,), "splat": (C_VALUES[dtype],), **one}
    params = ", ".join(f"{kind} {letter}" for kind, letter in zip(kinds.get(name, (v, v)), "abc", strict=False))
    whole = {} if is_float else {"abs": _ABS_INT, "sign": _SIGN_INT}
    body = (whole.get(name) or _VECTOR[name]).format(s=s)
    return f"static inline {m if name == 'not' else v} {helper(name, dtype, vector=True)}({params}) {{ {body} }}\n"


def _define_mixed(name: str, dtype: str, s: str) -> str:
    """A vector of a row, read some cells lower or higher: lanes of itself and of another, in their order or not."""
    kind = ir.element(dtype)
    size, distance = kind.register_bytes, int(name.rpartition("_")[2])

    def mixed(width: int) -> list[str]:
        numbers = mixed_lanes(name, width // size)
        lanes = ", ".join(str(kind.parts * number + part) for number in numbers for part in range(kind.parts))
        return [f"  return TW_MIX(tw_m_{s}, a, b, {lanes});"]

    lines = by_width(mixed)
    if name.startswith("beside_") and size in _ALIGNED and distance < CACHE_LINE // size:
        # gcc would take an instruction that overwrites an operand and needs an index; the instruction takes its number
        # modulo the lanes, so that a whole vector further on is left to the compiler
        order = f"a, b, {CACHE_LINE // size - distance}" if "_low_" in name else f"b, a, {distance}"
        first = ("#if TW_BYTES == 64 && !defined(__clang__)", f"  return TW_ALIGN_{size}(tw_v_{s}, {order});")
        lines = [*first, f"#el{lines[0][1:]}", *lines[1:]]
    head = f"static inline tw_v_{s} {helper(name, dtype, vector=True)}(tw_v_{s} a, tw_v_{s} b) {{"
    return "\n".join([head, *lines, "}", ""])


def mixed_lanes(name: str, lanes: int) -> list[int]:
    """Where the lanes of such a vector come from: those of the first operand, and behind them those of the second.

    ``beside_low_1`` is read one cell lower, and what it lacks is the end of the second operand; ``beside_high_1`` goes
    the other way. In ``outside_low_reflect_1`` and so on the first operand is an end of the grid, and what lies outside
    stands for cells of its own.

    >>> mixed_lanes("beside_low_1", 4), mixed_lanes("outside_high_reflect_2", 4)
    ([7, 0, 1, 2], [2, 3, 3, 2])
    """
    *kind, distance = name.split("_")
    low, found = kind[1] == "low", []
    for lane in range(lanes):
        beyond = int(distance) - lane if low else lane + int(distance) - lanes + 1
        if beyond > 0 and kind[0] == "beside":
            found.append(2 * lanes - beyond if low else lanes + beyond - 1)
            continue
        inner = -beyond if beyond <= 0 else mirrored(kind[2], beyond) or 0
        found.append(inner if low else lanes - 1 - inner)
    return [min(max(0, index), 2 * lanes - 1) for index in found]


def _lanes(name: str, dtype: str, v: str) -> str:
    """One lane after the other; compilers turn square roots, absolute values and rounding into one instruction."""
    scalar, upper = helper(name, dtype, vector=False), SUFFIX[dtype].upper()
    lanes = f"TW_LANES_{upper}" if ir.element(dtype).parts == 1 else f"2 * TW_LANES_{upper}"
    params, args = (f"{v} a, {v} b", "a[i], b[i]") if name in PAIRS else (f"{v} a", "a[i]")
    return (
        f"static inline {v} {helper(name, dtype, vector=True)}({params}) {{\n"
        f"  {v} r;\n"
        f"  for (int64_t i = 0; i < {lanes}; ++i) r[i] = {scalar}({args});\n"
        f"  return r;\n"
        f"}}\n"
    )
