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

static void tw_gradient2d_cells_0(float *const *field, const int64_t *size, const float *scalar, const float *const *constant, int64_t t, int64_t x0, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = (field[0] + ((t % 2) * slot));
  float *const target = (field[0] + (((t + 1) % 2) * slot));
  const float *const r0 = (v_u + ((x0 - 1) * s0));
  const float *const r1 = (v_u + (x0 * s0));
  const float *const r2 = (v_u + ((x0 + 1) * s0));
  float *const w0 = (target + (x0 * s0));
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r1[x];
    const float t3 = r0[x];
    const float t4 = (t0 - t3);
    const float t5 = (t4 * t4);
    const float t6 = (0.1f + t5);
    const float t7 = r2[x];
    const float t8 = (t0 - t7);
    const float t9 = (t8 * t8);
    const float t10 = (t6 + t9);
    const float t11 = r1[(x - 1)];
    const float t12 = (t0 - t11);
    const float t13 = (t12 * t12);
    const float t14 = (t10 + t13);
    const float t15 = r1[(x + 1)];
    const float t16 = (t0 - t15);
    const float t17 = (t16 * t16);
    const float t18 = (t14 + t17);
    const float t19 = __builtin_sqrtf(t18);
    const float t20 = (1.0f / t19);
    const float t21 = (t0 + t20);
    w0[x] = t21;
  }
}

static void tw_gradient2d_box_0(float *const *field, const int64_t *size, const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1, int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = (field[0] + ((t % 2) * slot));
  float *const target = (field[0] + (((t + 1) % 2) * slot));
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t first = tw_max(a1, 1);
  const int64_t last = tw_min(b1, (n1 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b1);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b1);
  for (int64_t x0 = a0; x0 < b0; ++x0) {
    const float *const r0 = (v_u + ((x0 - 1) * s0));
    const float *const r1 = (v_u + (x0 * s0));
    const float *const r2 = (v_u + ((x0 + 1) * s0));
    float *const w0 = (target + (x0 * s0));
    for (int64_t i = start; i < stop; i += TW_LANES_F32) {
      const int64_t j = tw_min(i, (stop - TW_LANES_F32));
      const tw_v_f32 t0 = *(const tw_u_f32 *)(r1 + j);
      const tw_v_f32 t3 = *(const tw_u_f32 *)(r0 + j);
      const tw_v_f32 t4 = (t0 - t3);
      const tw_v_f32 t5 = (t4 * t4);
      const tw_v_f32 t6 = (0.1f + t5);
      const tw_v_f32 t7 = *(const tw_u_f32 *)(r2 + j);
      const tw_v_f32 t8 = (t0 - t7);
      const tw_v_f32 t9 = (t8 * t8);
      const tw_v_f32 t10 = (t6 + t9);
      const tw_v_f32 t11 = *(const tw_u_f32 *)(r1 + (j - 1));
      const tw_v_f32 t12 = (t0 - t11);
      const tw_v_f32 t13 = (t12 * t12);
      const tw_v_f32 t14 = (t10 + t13);
      const tw_v_f32 t15 = *(const tw_u_f32 *)(r1 + (j + 1));
      const tw_v_f32 t16 = (t0 - t15);
      const tw_v_f32 t17 = (t16 * t16);
      const tw_v_f32 t18 = (t14 + t17);
      const tw_v_f32 t20 = tw_over_sqrt_v_f32(tw_splat_v_f32(1.0f), t18);
      const tw_v_f32 t21 = (t0 + t20);
      *(tw_u_f32 *)(w0 + j) = t21;
    }
    if ((a1 < start)) {
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if ((stop < b1)) {
      tw_gradient2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}

void tw_gradient2d(float *const *field, const int64_t *size, const float *scalar, const float *const *constant) {
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  #pragma omp parallel num_threads(threads)
  {
    for (int64_t t = 0; t < steps; ++t) {
      #pragma omp for schedule(static)
      for (int64_t chunk = 0; chunk < tw_min(n0, (threads * 4)); ++chunk) {
        tw_gradient2d_box_0(field, size, scalar, constant, t, ((n0 * chunk) / tw_min(n0, (threads * 4))), ((n0 * (chunk + 1)) / tw_min(n0, (threads * 4))), 0, n1);
      }
    }
  }
}
