"""C helpers of lifted rows: rows whose vectors hold cells that lie far apart, so that neighbours are whole vectors.

A row of ``nv`` vectors of ``V`` lanes holds cell ``l * nv + j`` in lane ``l`` of vector ``j``. The neighbour of vector
``j`` is vector ``j + 1``, aligned and unshuffled; only at the two ends of a row a vector is shifted by one lane.
Source: Henretty et al., "Data layout transformation for stencil computations on short-vector SIMD architectures"
(CC 2011).
"""

from tilewright.codegen import ir
from tilewright.codegen.print.c_widths import by_width
from tilewright.codegen.print.elements import C_VALUES


def lift_helpers(dtype: str, ctype: str, suffix: str) -> str:
    """Return the C text of the helpers for one element type."""
    kind = ir.element(dtype)

    def order(low: list[int]) -> str:
        return ", ".join(str(kind.parts * lane + part) for lane in low for part in range(kind.parts))

    def macros(width: int) -> list[str]:
        lanes = width // kind.register_bytes
        half = lanes // 2
        low = [i // 2 + lanes * (i % 2) for i in range(lanes)]
        high = [half + i for i in low]
        up = [0, *range(lanes - 1)]
        down = [*range(1, lanes), lanes - 1]
        return [
            f"#define TW_LOW_{suffix}(a, b) __builtin_shufflevector(a, b, {order(low)})",
            f"#define TW_HIGH_{suffix}(a, b) __builtin_shufflevector(a, b, {order(high)})",
            f"#define TW_UP_{suffix}(a) __builtin_shufflevector(a, a, {order(up)})",
            f"#define TW_DOWN_{suffix}(a) __builtin_shufflevector(a, a, {order(down)})",
            f"#define TW_ROUNDS_{suffix} {lanes.bit_length() - 1}",
            f"#define TW_WIDE_{suffix} {lanes}",
        ]

    past, value, bits = (_CACHED, "tw_h_@s", "tw_put_@s(value)") if kind.is_narrow else (_PAST, "tw_v_@s", "value")
    text = "\n".join([*by_width(macros), _TEXT.replace("@past", past)])
    text = text.replace("@v", value).replace("@bits", bits).replace("@T value", f"{C_VALUES[dtype]} value")
    return text.replace("@T", ctype).replace("@s", suffix)


_TEXT = """
#ifndef TW_ROLLED
#if defined(__clang__)
#define TW_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TW_ROLLED
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
#define TW_REGISTERS 32
#else
#define TW_REGISTERS 16
#endif
#endif

/* transpose a square of lanes: each round interleaves the first half of the vectors with the second */
static inline __attribute__((always_inline)) void tw_turn_@s(@v *a) {
  @v b[TW_WIDE_@s];
#pragma GCC unroll 4
  for (int round = 0; round < TW_ROUNDS_@s; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < TW_WIDE_@s / 2; ++i) {
      b[2 * i] = TW_LOW_@s(a[i], a[i + TW_WIDE_@s / 2]);
      b[2 * i + 1] = TW_HIGH_@s(a[i], a[i + TW_WIDE_@s / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) a[i] = b[i];
  }
}

/* line -> lifted row of nv vectors; of fewer than lanes, up to a vector behind the line is read and dropped */
static void tw_lift_@s(@T *row, const @T *line, int64_t nv) {
  for (int64_t at = 0; at < nv; at += TW_WIDE_@s) {
    const int64_t j = tw_max(tw_min(at, nv - TW_WIDE_@s), 0);
    @v a[TW_WIDE_@s];
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) a[i] = *(const tw_u_@s *)(line + i * nv + j);
    tw_turn_@s(a);
    if (nv < TW_WIDE_@s) {
#pragma GCC unroll 16
      for (int i = 0; i < TW_WIDE_@s; ++i)
        if (i < nv) *(tw_u_@s *)(row + i * TW_WIDE_@s) = a[i];
      return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) *(tw_u_@s *)(row + (j + i) * TW_WIDE_@s) = a[i];
  }
}

/* lifted row of nv vectors -> line; of fewer than lanes, up to a vector behind the line is written */
static void tw_lower_@s(@T *line, const @T *row, int64_t nv) {
  for (int64_t at = 0; at < nv; at += TW_WIDE_@s) {
    const int64_t j = tw_max(tw_min(at, nv - TW_WIDE_@s), 0);
    @v a[TW_WIDE_@s];
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) a[i] = *(const tw_u_@s *)(row + tw_min(j + i, nv - 1) * TW_WIDE_@s);
    tw_turn_@s(a);
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) *(tw_u_@s *)(line + i * nv + j) = a[i];
  }
}

/* vectors before the first and after the last: the last and the first ones, shifted by one lane */
static inline void tw_wrap_@s(@T *row, int64_t nv, int before, int after) {
  for (int g = 1; g <= before; ++g)
    *(tw_u_@s *)(row - g * TW_WIDE_@s) = TW_UP_@s(*(const tw_u_@s *)(row + (nv - g) * TW_WIDE_@s));
  for (int g = 0; g < after; ++g)
    *(tw_u_@s *)(row + (nv + g) * TW_WIDE_@s) = TW_DOWN_@s(*(const tw_u_@s *)(row + g * TW_WIDE_@s));
}

/* ask for a line; without the empty instruction gcc takes functions that only prefetch for functions without effect */
static inline void tw_prefetch_@s(const @T *at) {
  __builtin_prefetch(at, 0, 2);
  __asm__ volatile("" : : "r"(at));
}

/* the same address, but what lies there has to be read again: keeps factors out of registers */
static inline __attribute__((always_inline)) const @T *tw_again_@s(const @T *at) {
  __asm__ volatile("" : "+r"(at));
  return at;
}

static void tw_copy_@s(@T *to, const @T *from, int64_t n) {
  int64_t i = 0;
  TW_ROLLED
  for (; i + TW_WIDE_@s <= n; i += TW_WIDE_@s) *(tw_u_@s *)(to + i) = *(const tw_u_@s *)(from + i);
  for (const int64_t whole = i; i - whole < n - whole; ++i) to[i] = from[i];
}

static void tw_fill_@s(@T *to, @T value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = @bits;
}

/* copy past the caches where the target starts at a line */
static void tw_stream_@s(@T *to, const @T *from, int64_t n) {
  int64_t i = 0;
@past  tw_copy_@s(to + i, from + i, n - i);
}
"""
_PAST = """#if defined(__clang__)
  TW_ROLLED
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s)
    __builtin_nontemporal_store(*(const tw_u_@s *)(from + i), (tw_v_@s *)(to + i));
#elif defined(__SSE2__) && TW_BYTES == 64
  typedef float row16 __attribute__((vector_size(64)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s) {
    const tw_v_@s v = *(const tw_u_@s *)(from + i);
    __builtin_ia32_movntps512((float *)(to + i), (row16)v);
  }
#elif defined(__SSE2__) && TW_BYTES == 32
  typedef float row8 __attribute__((vector_size(32)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s) {
    const tw_v_@s v = *(const tw_u_@s *)(from + i);
    __builtin_ia32_movntps256((float *)(to + i), (row8)v);
  }
#elif defined(__SSE2__)
  typedef float row4 __attribute__((vector_size(16)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s) {
    const tw_v_@s v = *(const tw_u_@s *)(from + i);
    __builtin_ia32_movntps((float *)(to + i), (row4)v);
  }
#endif
"""
_CACHED = ""
