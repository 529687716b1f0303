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

/* any lanes of two vectors */
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

static inline tw_v_f32 tw_pick_f32(tw_m_f32 m, tw_v_f32 a, tw_v_f32 b) {
  return (tw_v_f32)(((tw_m_f32)a & m) | ((tw_m_f32)b & ~m));
}

static inline tw_v_f32 tw_beside_high_1_v_f32(tw_v_f32 a, tw_v_f32 b) {
#if TW_BYTES == 64 && !defined(__clang__)
  return TW_ALIGN_4(tw_v_f32, b, a, 1);
#elif TW_BYTES == 64
  return TW_MIX(tw_m_f32, a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f32, a, b, 1, 2, 3, 4, 5, 6, 7, 8);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f32, a, b, 1, 2, 3, 4);
#endif
}

static inline tw_v_f32 tw_beside_low_1_v_f32(tw_v_f32 a, tw_v_f32 b) {
#if TW_BYTES == 64 && !defined(__clang__)
  return TW_ALIGN_4(tw_v_f32, a, b, 15);
#elif TW_BYTES == 64
  return TW_MIX(tw_m_f32, a, b, 31, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f32, a, b, 15, 0, 1, 2, 3, 4, 5, 6);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f32, a, b, 7, 0, 1, 2);
#endif
}

static inline tw_v_f32 tw_outside_high_reflect_1_v_f32(tw_v_f32 a, tw_v_f32 b) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_f32, a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f32, a, b, 1, 2, 3, 4, 5, 6, 7, 7);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f32, a, b, 1, 2, 3, 3);
#endif
}

static inline tw_v_f32 tw_outside_low_reflect_1_v_f32(tw_v_f32 a, tw_v_f32 b) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_f32, a, b, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f32, a, b, 0, 0, 1, 2, 3, 4, 5, 6);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f32, a, b, 0, 0, 1, 2);
#endif
}

static inline float tw_jacobi1d_cell_0(const float *row, int64_t x, int64_t n) {
  return row[((x >= n) ? tw_min(tw_floormod(x, (n * 2)), (((n * 2) - 1) - tw_floormod(x, (n * 2)))) : ((x < 0) ? tw_min(tw_floormod(x, (n * 2)), (((n * 2) - 1) - tw_floormod(x, (n * 2)))) : x))];
}

static void tw_jacobi1d_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t0 = tw_jacobi1d_cell_0(r0, x - 1, n0);
    const float t1 = r0[x];
    const float t2 = t0 + t1;
    const float t3 = tw_jacobi1d_cell_0(r0, x + 1, n0);
    const float t4 = t2 + t3;
    const float t6 = t4 * 0.33333334f;
    w0[x] = t6;
  }
}

static __attribute__((noinline)) void tw_jacobi1d_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 0);
  const int64_t b0 = tw_min(high0, n0);
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t at_low = ((((start < stop) & (1 < TW_LANES_F32)) & ((a0 == 0) & (start == 1))) ? 1 : 0);
  const int64_t at_high = ((((start < stop) & (1 < TW_LANES_F32)) & ((b0 == n0) & (stop == (n0 - 1)))) ? 1 : 0);
  const int64_t begin = ((at_low != 0) ? TW_LANES_F32 : (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b0));
  const int64_t end = ((at_high != 0) ? (n0 - TW_LANES_F32) : stop);
  const float *const r0 = v_u;
  float *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
    for (int64_t i = begin; i < end; i += TW_LANES_F32) {
      const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
      const tw_v_f32 t0_0 = l0;
      const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
      const tw_v_f32 t0_1 = l1;
      const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
      const tw_v_f32 t0_2 = l2;
      const tw_v_f32 t0_3 = t0_0 + t0_1;
      const tw_v_f32 t0_4 = t0_3 + t0_2;
      const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
      *(tw_u_f32 *)(w0 + j) = t0_6;
      j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
    }
  }
  if (at_low != 0) {
    const int64_t j = 0;
    const tw_v_f32 l0 = tw_outside_low_reflect_1_v_f32(*(const tw_u_f32 *)(r0 + 0), *(const tw_u_f32 *)(r0 + 0));
    const tw_v_f32 t0_0 = l0;
    const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
    const tw_v_f32 t0_1 = l1;
    const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
    const tw_v_f32 t0_2 = l2;
    const tw_v_f32 t0_3 = t0_0 + t0_1;
    const tw_v_f32 t0_4 = t0_3 + t0_2;
    const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
    *(tw_u_f32 *)(w0 + j) = t0_6;
  } else {
    if (a0 < start) {
      tw_jacobi1d_cells_0(field, size, scalar, constant, t, a0, start);
    }
  }
  if (at_high != 0) {
    const int64_t j = n0 - TW_LANES_F32;
    const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
    const tw_v_f32 t0_0 = l0;
    const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
    const tw_v_f32 t0_1 = l1;
    const tw_v_f32 l2 = tw_outside_high_reflect_1_v_f32(*(const tw_u_f32 *)(r0 + (n0 - TW_LANES_F32)), *(const tw_u_f32 *)(r0 + (n0 - TW_LANES_F32)));
    const tw_v_f32 t0_2 = l2;
    const tw_v_f32 t0_3 = t0_0 + t0_1;
    const tw_v_f32 t0_4 = t0_3 + t0_2;
    const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
    *(tw_u_f32 *)(w0 + j) = t0_6;
  } else {
    if (stop < b0) {
      tw_jacobi1d_cells_0(field, size, scalar, constant, t, stop, b0);
    }
  }
}

static __attribute__((noinline)) void tw_jacobi1d_box_0_long(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 0);
  const int64_t b0 = tw_min(high0, n0);
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t at_low = ((((start < stop) & (1 < TW_LANES_F32)) & ((a0 == 0) & (start == 1))) ? 1 : 0);
  const int64_t at_high = ((((start < stop) & (1 < TW_LANES_F32)) & ((b0 == n0) & (stop == (n0 - 1)))) ? 1 : 0);
  const int64_t begin = ((at_low != 0) ? TW_LANES_F32 : (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b0));
  const int64_t end = ((at_high != 0) ? (n0 - TW_LANES_F32) : stop);
  const int64_t beside_from = ((begin < tw_max(start, TW_LANES_F32)) ? (begin + TW_LANES_F32) : begin);
  const int64_t beside_length = (tw_max((tw_min(tw_min(end, stop), (n0 - TW_LANES_F32)) - beside_from), 0) / TW_LANES_F32) * TW_LANES_F32;
  const float *const r0 = v_u;
  float *const w0 = target;
  if (0 < beside_length) {
    tw_v_f32 r0_low = *(const tw_u_f32 *)(r0 + (beside_from - TW_LANES_F32));
    tw_v_f32 r0_here = *(const tw_u_f32 *)(r0 + beside_from);
    for (int64_t j = beside_from; j < (beside_from + beside_length); j += TW_LANES_F32) {
      const tw_v_f32 r0_high = *(const tw_u_f32 *)(r0 + (j + TW_LANES_F32));
      const tw_v_f32 l0 = tw_beside_low_1_v_f32(r0_here, r0_low);
      const tw_v_f32 t0_0 = l0;
      const tw_v_f32 l1 = r0_here;
      const tw_v_f32 t0_1 = l1;
      const tw_v_f32 l2 = tw_beside_high_1_v_f32(r0_here, r0_high);
      const tw_v_f32 t0_2 = l2;
      const tw_v_f32 t0_3 = t0_0 + t0_1;
      const tw_v_f32 t0_4 = t0_3 + t0_2;
      const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
      *(tw_u_f32 *)(w0 + j) = t0_6;
      r0_low = r0_here;
      r0_here = r0_high;
    }
  }
  for (int64_t part = 0; part < (((0 < beside_length) ? 1 : 0) + 1); ++part) {
    const int64_t low = ((part == 0) ? begin : (beside_from + beside_length));
    const int64_t high = (((part + 1) < (((0 < beside_length) ? 1 : 0) + 1)) ? beside_from : end);
    {
      int64_t j = tw_max(start, tw_min(low, (stop - TW_LANES_F32)));
      for (int64_t i = low; i < high; i += TW_LANES_F32) {
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 t0_3 = t0_0 + t0_1;
        const tw_v_f32 t0_4 = t0_3 + t0_2;
        const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
        *(tw_u_f32 *)(w0 + j) = t0_6;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
  }
  if (at_low != 0) {
    const int64_t j = 0;
    const tw_v_f32 l0 = tw_outside_low_reflect_1_v_f32(*(const tw_u_f32 *)(r0 + 0), *(const tw_u_f32 *)(r0 + 0));
    const tw_v_f32 t0_0 = l0;
    const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
    const tw_v_f32 t0_1 = l1;
    const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
    const tw_v_f32 t0_2 = l2;
    const tw_v_f32 t0_3 = t0_0 + t0_1;
    const tw_v_f32 t0_4 = t0_3 + t0_2;
    const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
    *(tw_u_f32 *)(w0 + j) = t0_6;
  } else {
    if (a0 < start) {
      tw_jacobi1d_cells_0(field, size, scalar, constant, t, a0, start);
    }
  }
  if (at_high != 0) {
    const int64_t j = n0 - TW_LANES_F32;
    const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
    const tw_v_f32 t0_0 = l0;
    const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
    const tw_v_f32 t0_1 = l1;
    const tw_v_f32 l2 = tw_outside_high_reflect_1_v_f32(*(const tw_u_f32 *)(r0 + (n0 - TW_LANES_F32)), *(const tw_u_f32 *)(r0 + (n0 - TW_LANES_F32)));
    const tw_v_f32 t0_2 = l2;
    const tw_v_f32 t0_3 = t0_0 + t0_1;
    const tw_v_f32 t0_4 = t0_3 + t0_2;
    const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
    *(tw_u_f32 *)(w0 + j) = t0_6;
  } else {
    if (stop < b0) {
      tw_jacobi1d_cells_0(field, size, scalar, constant, t, stop, b0);
    }
  }
}

static inline void tw_jacobi1d_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  if ((TW_BYTES == 64) & ((high0 - low0) >= (TW_LANES_F32 * 7))) {
    tw_jacobi1d_box_0_long(field, size, scalar, constant, t, low0, high0);
  } else {
    tw_jacobi1d_box_0_short(field, size, scalar, constant, t, low0, high0);
  }
}

void tw_jacobi1d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  /* hexagons of 8 rows, base 64, slope 1, pitch 134 */
  const int64_t total = steps;
  #pragma omp parallel num_threads(threads)
  {
    for (int64_t wave = 0; wave < (tw_ceildiv((total + 4), 8) * 2); ++wave) {
      const int64_t phase = wave / 2;
      const int64_t colour = wave % 2;
      const int64_t origin = (colour ? 67 : 0);
      const int64_t start = (phase * 8) - (colour ? 0 : 4);
      const int64_t past = tw_floordiv(((n0 + 136) - origin), 134);
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < past; ++tile) {
        const int64_t left = (tile * 134) + origin;
        for (int64_t tau = tw_max(start, 0); tau < tw_min((start + 8), total); ++tau) {
          const int64_t row = tau - start;
          const int64_t grow = tw_min(row, (7 - row));
          const int64_t t = tau;
          tw_jacobi1d_box_0(field, size, scalar, constant, t, left - grow, (left + 64) + grow);
        }
      }
    }
  }
}
