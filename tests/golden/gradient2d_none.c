#include <stdint.h>

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

#define TW_LANES_F32 ((int64_t)(TW_BYTES / sizeof(float)))
typedef float tw_v_f32 __attribute__((vector_size(TW_BYTES)));
typedef float tw_u_f32 __attribute__((vector_size(TW_BYTES), aligned(sizeof(float)), may_alias));
typedef int32_t tw_m_f32 __attribute__((vector_size(TW_BYTES)));

static inline tw_v_f32 tw_pick_f32(tw_m_f32 m, tw_v_f32 a, tw_v_f32 b) {
  return (tw_v_f32)(((tw_m_f32)a & m) | ((tw_m_f32)b & ~m));
}

/* the same value, kept in a register */
static inline __attribute__((always_inline)) tw_v_f32 tw_hold_v_f32(tw_v_f32 a) {
#if defined(__SSE2__)
  __asm__("" : "+v"(a));
#elif defined(__aarch64__)
  __asm__("" : "+w"(a));
#endif
  return a;
}

/* the same index, of which a compiler knows nothing: addresses are made from it anew, not carried along */
static inline __attribute__((always_inline)) int64_t tw_opaque(int64_t i) {
  __asm__("" : "+r"(i));
  return i;
}

static inline tw_v_f32 tw_over_sqrt_v_f32(tw_v_f32 a, tw_v_f32 x) {
#if defined(__AVX512F__)
  const tw_v_f32 y = (tw_v_f32)__builtin_ia32_rsqrt14ps512_mask(x, (tw_v_f32){0}, (unsigned short)-1);
  const tw_v_f32 z = y + y * (0.5f - (x * y) * (0.5f * y));
  /* where x is +-0 the result is an infinity of its sign, where it is +infinity 0 */
  const tw_m_f32 repair = (tw_m_f32){0} + 0x800600;
  return a * (tw_v_f32)__builtin_ia32_fixupimmps512_mask(z, x, repair, 0, (unsigned short)-1, 4);
#else
  tw_v_f32 r;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = a[i] / __builtin_sqrtf(x[i]);
  return r;
#endif
}

static inline tw_v_f32 tw_splat_v_f32(float a) { return a - (tw_v_f32){0}; }

static void tw_gradient2d_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t x0, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u + ((x0 - 1) * s0);
  const float *const r1 = v_u + (x0 * s0);
  const float *const r2 = v_u + ((x0 + 1) * s0);
  float *const w0 = target + (x0 * s0);
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r1[x];
    const float t3 = r0[x];
    const float t4 = t0 - t3;
    const float t5 = t4 * t4;
    const float t6 = 0.1f + t5;
    const float t7 = r2[x];
    const float t8 = t0 - t7;
    const float t9 = t8 * t8;
    const float t10 = t6 + t9;
    const float t11 = r1[x - 1];
    const float t12 = t0 - t11;
    const float t13 = t12 * t12;
    const float t14 = t10 + t13;
    const float t15 = r1[x + 1];
    const float t16 = t0 - t15;
    const float t17 = t16 * t16;
    const float t18 = t14 + t17;
    const float t19 = __builtin_sqrtf(t18);
    const float t20 = 1.0f / t19;
    const float t21 = t0 + t20;
    w0[x] = t21;
  }
}

static __attribute__((noinline)) void tw_gradient2d_box_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t first = tw_max(a1, 1);
  const int64_t last = tw_min(b1, (n1 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b1);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b1);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b1);
  const int64_t end = stop;
  const int64_t whole = a0 + (tw_max((b0 - a0), 0) - (tw_max((b0 - a0), 0) % 4));
  for (int64_t row = a0; row < whole; row += 4) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    const float *const r3 = v_u + ((x0 + 2) * s0);
    const float *const r4 = v_u + ((x0 + 3) * s0);
    const float *const r5 = v_u + ((x0 + 4) * s0);
    float *const w0 = target + (x0 * s0);
    float *const w1 = target + ((x0 + 1) * s0);
    float *const w2 = target + ((x0 + 2) * s0);
    float *const w3 = target + ((x0 + 3) * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        const tw_v_f32 l0 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + j));
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l2 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + j));
        const tw_v_f32 t1_0 = l2;
        const tw_v_f32 l5 = tw_hold_v_f32(*(const tw_u_f32 *)(r3 + j));
        const tw_v_f32 t2_0 = l5;
        const tw_v_f32 l8 = tw_hold_v_f32(*(const tw_u_f32 *)(r4 + j));
        const tw_v_f32 t3_0 = l8;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_3 = l1;
        const tw_v_f32 t1_3 = l0;
        const tw_v_f32 t2_3 = l2;
        const tw_v_f32 t3_3 = l5;
        const tw_v_f32 t0_4 = t0_0 - t0_3;
        const tw_v_f32 t1_4 = t1_0 - t1_3;
        const tw_v_f32 t2_4 = t2_0 - t2_3;
        const tw_v_f32 t3_4 = t3_0 - t3_3;
        const tw_v_f32 t0_5 = t0_4 * t0_4;
        const tw_v_f32 t1_5 = t1_4 * t1_4;
        const tw_v_f32 t2_5 = t2_4 * t2_4;
        const tw_v_f32 t3_5 = t3_4 * t3_4;
        const tw_v_f32 t0_6 = l2;
        const tw_v_f32 t1_6 = l5;
        const tw_v_f32 t2_6 = l8;
        const tw_v_f32 l11 = *(const tw_u_f32 *)(r5 + j);
        const tw_v_f32 t3_6 = l11;
        const tw_v_f32 t0_7 = t0_0 - t0_6;
        const tw_v_f32 t1_7 = t1_0 - t1_6;
        const tw_v_f32 t2_7 = t2_0 - t2_6;
        const tw_v_f32 t3_7 = t3_0 - t3_6;
        const tw_v_f32 t0_8 = t0_7 * t0_7;
        const tw_v_f32 t1_8 = t1_7 * t1_7;
        const tw_v_f32 t2_8 = t2_7 * t2_7;
        const tw_v_f32 t3_8 = t3_7 * t3_7;
        const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j - 1));
        const tw_v_f32 t0_9 = l3;
        const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j - 1));
        const tw_v_f32 t1_9 = l6;
        const tw_v_f32 l9 = *(const tw_u_f32 *)(r3 + (j - 1));
        const tw_v_f32 t2_9 = l9;
        const tw_v_f32 l12 = *(const tw_u_f32 *)(r4 + (j - 1));
        const tw_v_f32 t3_9 = l12;
        const tw_v_f32 t0_10 = t0_0 - t0_9;
        const tw_v_f32 t1_10 = t1_0 - t1_9;
        const tw_v_f32 t2_10 = t2_0 - t2_9;
        const tw_v_f32 t3_10 = t3_0 - t3_9;
        const tw_v_f32 t0_11 = t0_10 * t0_10;
        const tw_v_f32 t1_11 = t1_10 * t1_10;
        const tw_v_f32 t2_11 = t2_10 * t2_10;
        const tw_v_f32 t3_11 = t3_10 * t3_10;
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r1 + (j + 1));
        const tw_v_f32 t0_12 = l4;
        const tw_v_f32 l7 = *(const tw_u_f32 *)(r2 + (j + 1));
        const tw_v_f32 t1_12 = l7;
        const tw_v_f32 l10 = *(const tw_u_f32 *)(r3 + (j + 1));
        const tw_v_f32 t2_12 = l10;
        const tw_v_f32 l13 = *(const tw_u_f32 *)(r4 + (j + 1));
        const tw_v_f32 t3_12 = l13;
        const tw_v_f32 t0_13 = t0_0 - t0_12;
        const tw_v_f32 t1_13 = t1_0 - t1_12;
        const tw_v_f32 t2_13 = t2_0 - t2_12;
        const tw_v_f32 t3_13 = t3_0 - t3_12;
        const tw_v_f32 t0_14 = t0_13 * t0_13;
        const tw_v_f32 t1_14 = t1_13 * t1_13;
        const tw_v_f32 t2_14 = t2_13 * t2_13;
        const tw_v_f32 t3_14 = t3_13 * t3_13;
        const tw_v_f32 t0_15 = 0.1f + t0_5;
        const tw_v_f32 t1_15 = 0.1f + t1_5;
        const tw_v_f32 t2_15 = 0.1f + t2_5;
        const tw_v_f32 t3_15 = 0.1f + t3_5;
        const tw_v_f32 t0_16 = t0_15 + t0_8;
        const tw_v_f32 t1_16 = t1_15 + t1_8;
        const tw_v_f32 t2_16 = t2_15 + t2_8;
        const tw_v_f32 t3_16 = t3_15 + t3_8;
        const tw_v_f32 t0_17 = t0_16 + t0_11;
        const tw_v_f32 t1_17 = t1_16 + t1_11;
        const tw_v_f32 t2_17 = t2_16 + t2_11;
        const tw_v_f32 t3_17 = t3_16 + t3_11;
        const tw_v_f32 t0_18 = t0_17 + t0_14;
        const tw_v_f32 t1_18 = t1_17 + t1_14;
        const tw_v_f32 t2_18 = t2_17 + t2_14;
        const tw_v_f32 t3_18 = t3_17 + t3_14;
        const tw_v_f32 t0_20 = tw_over_sqrt_v_f32(tw_splat_v_f32(1.0f), t0_18);
        const tw_v_f32 t1_20 = tw_over_sqrt_v_f32(tw_splat_v_f32(1.0f), t1_18);
        const tw_v_f32 t2_20 = tw_over_sqrt_v_f32(tw_splat_v_f32(1.0f), t2_18);
        const tw_v_f32 t3_20 = tw_over_sqrt_v_f32(tw_splat_v_f32(1.0f), t3_18);
        const tw_v_f32 t0_21 = t0_0 + t0_20;
        const tw_v_f32 t1_21 = t1_0 + t1_20;
        const tw_v_f32 t2_21 = t2_0 + t2_20;
        const tw_v_f32 t3_21 = t3_0 + t3_20;
        *(tw_u_f32 *)(w0 + j) = t0_21;
        *(tw_u_f32 *)(w1 + j) = t1_21;
        *(tw_u_f32 *)(w2 + j) = t2_21;
        *(tw_u_f32 *)(w3 + j) = t3_21;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0 + 1, a1, start);
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0 + 2, a1, start);
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0 + 3, a1, start);
    }
    if (stop < b1) {
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0 + 1, stop, b1);
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0 + 2, stop, b1);
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0 + 3, stop, b1);
    }
  }
  for (int64_t row = whole; row < b0; ++row) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    float *const w0 = target + (x0 * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r1 + j);
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_3 = l1;
        const tw_v_f32 t0_4 = t0_0 - t0_3;
        const tw_v_f32 t0_5 = t0_4 * t0_4;
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r2 + j);
        const tw_v_f32 t0_6 = l2;
        const tw_v_f32 t0_7 = t0_0 - t0_6;
        const tw_v_f32 t0_8 = t0_7 * t0_7;
        const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j - 1));
        const tw_v_f32 t0_9 = l3;
        const tw_v_f32 t0_10 = t0_0 - t0_9;
        const tw_v_f32 t0_11 = t0_10 * t0_10;
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r1 + (j + 1));
        const tw_v_f32 t0_12 = l4;
        const tw_v_f32 t0_13 = t0_0 - t0_12;
        const tw_v_f32 t0_14 = t0_13 * t0_13;
        const tw_v_f32 t0_15 = 0.1f + t0_5;
        const tw_v_f32 t0_16 = t0_15 + t0_8;
        const tw_v_f32 t0_17 = t0_16 + t0_11;
        const tw_v_f32 t0_18 = t0_17 + t0_14;
        const tw_v_f32 t0_20 = tw_over_sqrt_v_f32(tw_splat_v_f32(1.0f), t0_18);
        const tw_v_f32 t0_21 = t0_0 + t0_20;
        *(tw_u_f32 *)(w0 + j) = t0_21;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}

void tw_gradient2d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const int64_t parts = tw_min(n0, threads);
  #pragma omp parallel num_threads(threads)
  {
    for (int64_t t = 0; t < steps; ++t) {
      #pragma omp for schedule(static)
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t first = (n0 * part) / parts;
        const int64_t last = (n0 * (part + 1)) / parts;
        tw_gradient2d_box_0(field, size, scalar, constant, t, first, last, 0, n1);
      }
    }
  }
}
