"""Fixed parts of streamed kernels in C: borders, conversions, and writing rows to memory."""

from tilewright.codegen import ir
from tilewright.codegen.print.elements import C_ELEMENTS

HEAD = """
#include <string.h>
#if defined(_OPENMP)
extern int omp_get_thread_num(void);
static inline int64_t tw_me(void) { return omp_get_thread_num(); }
#else
static inline int64_t tw_me(void) { return 0; }
#endif
#if defined(__clang__)
#define TW_PAST_512(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_256(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_128(to, v) __builtin_nontemporal_store(v, (row *)(to))
#else
#define TW_PAST_512 __builtin_ia32_movntps512
#define TW_PAST_256 __builtin_ia32_movntps256
#define TW_PAST_128 __builtin_ia32_movntps
#endif
/* Write a row to memory, past the caches if it will not be read soon. */
static inline void tw_put(char *to, const char *from, int64_t bytes, int64_t stream) {
#if defined(__SSE2__)
  if (stream) {
    const int64_t head = tw_min(bytes, (int64_t)(-(uintptr_t)to & 63));
    memcpy(to, from, (size_t)head);
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
    memcpy(to + i, from + i, (size_t)(bytes - i));
    return;
  }
#endif
  (void)stream;
  memcpy(to, from, (size_t)bytes);
}
static inline void tw_done(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
"""
_ROUND = {"nearest": "__builtin_rint", "floor": "__builtin_floor", "truncate": "__builtin_trunc"}


def conversion(name: str, source: str, target: str, rounding: str, rows: int) -> str:
    """Return a function ``name(in, out, n, scalar)`` that converts rows; whole numbers saturate, NaN becomes 0."""
    a, b = C_ELEMENTS[source], C_ELEMENTS[target]
    return f"""static inline {b} {name}_one({a} x) {{
{_one(source, target, rounding)}
}}
__attribute__((optimize("O3"))) static void {name}(const {a} *const *in, {b} *const *out, int64_t n,
                                                   const double *scalar) {{
  (void)scalar;
  for (int r = 0; r < {rows}; ++r) {{
    const {a} *restrict from = in[r];
    {b} *restrict to = out[r];
    for (int64_t i = 0; i < n; ++i) to[i] = {name}_one(from[i]);
  }}
}}
"""


def _one(source: str, target: str, rounding: str) -> str:
    """The body of a function that converts ``x``."""
    a, b = C_ELEMENTS[source], C_ELEMENTS[target]
    if target.startswith("float"):
        return f"  return ({b})x;"
    low, high = ir.element(target).range
    least = f"({low + 1} - 1)"
    if not source.startswith("float"):
        return f"  return (int64_t)x < {least} ? ({b}){least} : (int64_t)x > {high} ? ({b}){high} : ({b})x;"
    tail = "f" if source == "float32" else ""
    # First what no whole number of the type is near; then what rounds to just beyond its range, such as 255.7.
    return f"""  if (x != x) return 0;
  if (x >= {high + 1}.0{tail}) return {high};
  if (x <= {low - 1}.0{tail}) return {least};
  const {a} whole = {_ROUND[rounding]}{tail}(x);
  return whole > ({a}){high} ? {high} : whole < ({a}){least} ? {least} : ({b})whole;"""
