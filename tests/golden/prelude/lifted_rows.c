/* rows of streaming tiles: lifted, prefetched, stored past the caches */

#if TW_BYTES == 64
#define TW_LOW_f32(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define TW_HIGH_f32(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define TW_UP_f32(a) __builtin_shufflevector(a, a, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#define TW_DOWN_f32(a) __builtin_shufflevector(a, a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15)
#define TW_ROUNDS_f32 4
#define TW_WIDE_f32 16
#elif TW_BYTES == 32
#define TW_LOW_f32(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define TW_HIGH_f32(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define TW_UP_f32(a) __builtin_shufflevector(a, a, 0, 0, 1, 2, 3, 4, 5, 6)
#define TW_DOWN_f32(a) __builtin_shufflevector(a, a, 1, 2, 3, 4, 5, 6, 7, 7)
#define TW_ROUNDS_f32 3
#define TW_WIDE_f32 8
#elif TW_BYTES == 16
#define TW_LOW_f32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define TW_HIGH_f32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define TW_UP_f32(a) __builtin_shufflevector(a, a, 0, 0, 1, 2)
#define TW_DOWN_f32(a) __builtin_shufflevector(a, a, 1, 2, 3, 3)
#define TW_ROUNDS_f32 2
#define TW_WIDE_f32 4
#endif

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
static inline __attribute__((always_inline)) void tw_turn_f32(tw_v_f32 *a) {
  tw_v_f32 b[TW_WIDE_f32];
#pragma GCC unroll 4
  for (int round = 0; round < TW_ROUNDS_f32; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < TW_WIDE_f32 / 2; ++i) {
      b[2 * i] = TW_LOW_f32(a[i], a[i + TW_WIDE_f32 / 2]);
      b[2 * i + 1] = TW_HIGH_f32(a[i], a[i + TW_WIDE_f32 / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_f32; ++i) a[i] = b[i];
  }
}

/* line -> lifted row of nv vectors; of fewer than lanes, up to a vector behind the line is read and dropped */
static void tw_lift_f32(float *row, const float *line, int64_t nv) {
  for (int64_t at = 0; at < nv; at += TW_WIDE_f32) {
    const int64_t j = tw_max(tw_min(at, nv - TW_WIDE_f32), 0);
    tw_v_f32 a[TW_WIDE_f32];
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_f32; ++i) a[i] = *(const tw_u_f32 *)(line + i * nv + j);
    tw_turn_f32(a);
    if (nv < TW_WIDE_f32) {
#pragma GCC unroll 16
      for (int i = 0; i < TW_WIDE_f32; ++i)
        if (i < nv) *(tw_u_f32 *)(row + i * TW_WIDE_f32) = a[i];
      return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_f32; ++i) *(tw_u_f32 *)(row + (j + i) * TW_WIDE_f32) = a[i];
  }
}

/* lifted row of nv vectors -> line; of fewer than lanes, up to a vector behind the line is written */
static void tw_lower_f32(float *line, const float *row, int64_t nv) {
  for (int64_t at = 0; at < nv; at += TW_WIDE_f32) {
    const int64_t j = tw_max(tw_min(at, nv - TW_WIDE_f32), 0);
    tw_v_f32 a[TW_WIDE_f32];
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_f32; ++i) a[i] = *(const tw_u_f32 *)(row + tw_min(j + i, nv - 1) * TW_WIDE_f32);
    tw_turn_f32(a);
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_f32; ++i) *(tw_u_f32 *)(line + i * nv + j) = a[i];
  }
}

/* vectors before the first and after the last: the last and the first ones, shifted by one lane */
static inline void tw_wrap_f32(float *row, int64_t nv, int before, int after) {
  for (int g = 1; g <= before; ++g)
    *(tw_u_f32 *)(row - g * TW_WIDE_f32) = TW_UP_f32(*(const tw_u_f32 *)(row + (nv - g) * TW_WIDE_f32));
  for (int g = 0; g < after; ++g)
    *(tw_u_f32 *)(row + (nv + g) * TW_WIDE_f32) = TW_DOWN_f32(*(const tw_u_f32 *)(row + g * TW_WIDE_f32));
}

/* ask for a line; without the empty instruction gcc takes functions that only prefetch for functions without effect */
static inline void tw_prefetch_f32(const float *at) {
  __builtin_prefetch(at, 0, 2);
  __asm__ volatile("" : : "r"(at));
}

/* the same address, but what lies there has to be read again: keeps factors out of registers */
static inline __attribute__((always_inline)) const float *tw_again_f32(const float *at) {
  __asm__ volatile("" : "+r"(at));
  return at;
}

static void tw_copy_f32(float *to, const float *from, int64_t n) {
  int64_t i = 0;
  TW_ROLLED
  for (; i + TW_WIDE_f32 <= n; i += TW_WIDE_f32) *(tw_u_f32 *)(to + i) = *(const tw_u_f32 *)(from + i);
  for (const int64_t whole = i; i - whole < n - whole; ++i) to[i] = from[i];
}

static void tw_fill_f32(float *to, float value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}

/* copy past the caches where the target starts at a line */
static void tw_stream_f32(float *to, const float *from, int64_t n) {
  int64_t i = 0;
#if defined(__clang__)
  TW_ROLLED
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_f32 <= n; i += TW_WIDE_f32)
    __builtin_nontemporal_store(*(const tw_u_f32 *)(from + i), (tw_v_f32 *)(to + i));
#elif defined(__SSE2__) && TW_BYTES == 64
  typedef float row16 __attribute__((vector_size(64)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_f32 <= n; i += TW_WIDE_f32) {
    const tw_v_f32 v = *(const tw_u_f32 *)(from + i);
    __builtin_ia32_movntps512((float *)(to + i), (row16)v);
  }
#elif defined(__SSE2__) && TW_BYTES == 32
  typedef float row8 __attribute__((vector_size(32)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_f32 <= n; i += TW_WIDE_f32) {
    const tw_v_f32 v = *(const tw_u_f32 *)(from + i);
    __builtin_ia32_movntps256((float *)(to + i), (row8)v);
  }
#elif defined(__SSE2__)
  typedef float row4 __attribute__((vector_size(16)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_f32 <= n; i += TW_WIDE_f32) {
    const tw_v_f32 v = *(const tw_u_f32 *)(from + i);
    __builtin_ia32_movntps((float *)(to + i), (row4)v);
  }
#endif
  tw_copy_f32(to + i, from + i, n - i);
}
