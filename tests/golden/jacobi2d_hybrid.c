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

static void tw_jacobi2d_cells_0(float *const *field, const int64_t *size, const float *scalar,
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
    const float t0 = r0[x];
    const float t1 = r1[x - 1];
    const float t2 = t0 + t1;
    const float t3 = r1[x];
    const float t4 = t2 + t3;
    const float t5 = r1[x + 1];
    const float t6 = t4 + t5;
    const float t7 = r2[x];
    const float t8 = t6 + t7;
    const float t10 = t8 * 0.2f;
    w0[x] = t10;
  }
}

static __attribute__((noinline)) void tw_jacobi2d_box_0_short(float *const *field, const int64_t *size,
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
  const int64_t whole = a0 + (tw_max((b0 - a0), 0) - (tw_max((b0 - a0), 0) % 2));
  for (int64_t row = a0; row < whole; row += 2) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    const float *const r3 = v_u + ((x0 + 2) * s0);
    float *const w0 = target + (x0 * s0);
    float *const w1 = target + ((x0 + 1) * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l2 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + j));
        const tw_v_f32 t1_0 = l2;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r1 + (j - 1));
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l5 = *(const tw_u_f32 *)(r2 + (j - 1));
        const tw_v_f32 t1_1 = l5;
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l4 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + j));
        const tw_v_f32 t1_2 = l4;
        const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j + 1));
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j + 1));
        const tw_v_f32 t1_3 = l6;
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 l7 = *(const tw_u_f32 *)(r3 + j);
        const tw_v_f32 t1_4 = l7;
        const tw_v_f32 t0_5 = t0_0 + t0_1;
        const tw_v_f32 t1_5 = t1_0 + t1_1;
        const tw_v_f32 t0_6 = t0_5 + t0_2;
        const tw_v_f32 t1_6 = t1_5 + t1_2;
        const tw_v_f32 t0_7 = t0_6 + t0_3;
        const tw_v_f32 t1_7 = t1_6 + t1_3;
        const tw_v_f32 t0_8 = t0_7 + t0_4;
        const tw_v_f32 t1_8 = t1_7 + t1_4;
        const tw_v_f32 t0_10 = t0_8 * 0.2f;
        const tw_v_f32 t1_10 = t1_8 * 0.2f;
        *(tw_u_f32 *)(w0 + j) = t0_10;
        *(tw_u_f32 *)(w1 + j) = t1_10;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0 + 1, a1, start);
    }
    if (stop < b1) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0 + 1, stop, b1);
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
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r1 + (j - 1));
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r1 + j);
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j + 1));
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r2 + j);
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 t0_5 = t0_0 + t0_1;
        const tw_v_f32 t0_6 = t0_5 + t0_2;
        const tw_v_f32 t0_7 = t0_6 + t0_3;
        const tw_v_f32 t0_8 = t0_7 + t0_4;
        const tw_v_f32 t0_10 = t0_8 * 0.2f;
        *(tw_u_f32 *)(w0 + j) = t0_10;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}

static __attribute__((noinline)) void tw_jacobi2d_box_0_long(float *const *field, const int64_t *size,
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
  const int64_t beside_from = ((begin < tw_max(start, TW_LANES_F32)) ? (begin + TW_LANES_F32) : begin);
  const int64_t beside_length = (tw_max((tw_min(tw_min(end, stop), (n1 - TW_LANES_F32)) - beside_from), 0) / TW_LANES_F32) * TW_LANES_F32;
  const int64_t whole = a0 + (tw_max((b0 - a0), 0) - (tw_max((b0 - a0), 0) % 2));
  for (int64_t row = a0; row < whole; row += 2) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    const float *const r3 = v_u + ((x0 + 2) * s0);
    float *const w0 = target + (x0 * s0);
    float *const w1 = target + ((x0 + 1) * s0);
    if (0 < beside_length) {
      tw_v_f32 r1_low = *(const tw_u_f32 *)(r1 + (beside_from - TW_LANES_F32));
      tw_v_f32 r1_here = *(const tw_u_f32 *)(r1 + beside_from);
      tw_v_f32 r2_low = *(const tw_u_f32 *)(r2 + (beside_from - TW_LANES_F32));
      tw_v_f32 r2_here = *(const tw_u_f32 *)(r2 + beside_from);
      for (int64_t j = beside_from; j < (beside_from + beside_length); j += TW_LANES_F32) {
        const tw_v_f32 r1_high = *(const tw_u_f32 *)(r1 + (j + TW_LANES_F32));
        const tw_v_f32 r2_high = *(const tw_u_f32 *)(r2 + (j + TW_LANES_F32));
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l2 = tw_hold_v_f32(r1_here);
        const tw_v_f32 t1_0 = l2;
        const tw_v_f32 l1 = tw_beside_low_1_v_f32(r1_here, r1_low);
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l5 = tw_beside_low_1_v_f32(r2_here, r2_low);
        const tw_v_f32 t1_1 = l5;
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l4 = tw_hold_v_f32(r2_here);
        const tw_v_f32 t1_2 = l4;
        const tw_v_f32 l3 = tw_beside_high_1_v_f32(r1_here, r1_high);
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l6 = tw_beside_high_1_v_f32(r2_here, r2_high);
        const tw_v_f32 t1_3 = l6;
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 l7 = *(const tw_u_f32 *)(r3 + j);
        const tw_v_f32 t1_4 = l7;
        const tw_v_f32 t0_5 = t0_0 + t0_1;
        const tw_v_f32 t1_5 = t1_0 + t1_1;
        const tw_v_f32 t0_6 = t0_5 + t0_2;
        const tw_v_f32 t1_6 = t1_5 + t1_2;
        const tw_v_f32 t0_7 = t0_6 + t0_3;
        const tw_v_f32 t1_7 = t1_6 + t1_3;
        const tw_v_f32 t0_8 = t0_7 + t0_4;
        const tw_v_f32 t1_8 = t1_7 + t1_4;
        const tw_v_f32 t0_10 = t0_8 * 0.2f;
        const tw_v_f32 t1_10 = t1_8 * 0.2f;
        *(tw_u_f32 *)(w0 + j) = t0_10;
        *(tw_u_f32 *)(w1 + j) = t1_10;
        r1_low = r1_here;
        r1_here = r1_high;
        r2_low = r2_here;
        r2_here = r2_high;
      }
    }
    for (int64_t part = 0; part < (((0 < beside_length) ? 1 : 0) + 1); ++part) {
      const int64_t low = ((part == 0) ? begin : (beside_from + beside_length));
      const int64_t high = (((part + 1) < (((0 < beside_length) ? 1 : 0) + 1)) ? beside_from : end);
      {
        int64_t j = tw_max(start, tw_min(low, (stop - TW_LANES_F32)));
        for (int64_t i = low; i < high; i += TW_LANES_F32) {
          const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 t0_0 = l0;
          const tw_v_f32 l2 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + j));
          const tw_v_f32 t1_0 = l2;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r1 + (j - 1));
          const tw_v_f32 t0_1 = l1;
          const tw_v_f32 l5 = *(const tw_u_f32 *)(r2 + (j - 1));
          const tw_v_f32 t1_1 = l5;
          const tw_v_f32 t0_2 = l2;
          const tw_v_f32 l4 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + j));
          const tw_v_f32 t1_2 = l4;
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j + 1));
          const tw_v_f32 t0_3 = l3;
          const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j + 1));
          const tw_v_f32 t1_3 = l6;
          const tw_v_f32 t0_4 = l4;
          const tw_v_f32 l7 = *(const tw_u_f32 *)(r3 + j);
          const tw_v_f32 t1_4 = l7;
          const tw_v_f32 t0_5 = t0_0 + t0_1;
          const tw_v_f32 t1_5 = t1_0 + t1_1;
          const tw_v_f32 t0_6 = t0_5 + t0_2;
          const tw_v_f32 t1_6 = t1_5 + t1_2;
          const tw_v_f32 t0_7 = t0_6 + t0_3;
          const tw_v_f32 t1_7 = t1_6 + t1_3;
          const tw_v_f32 t0_8 = t0_7 + t0_4;
          const tw_v_f32 t1_8 = t1_7 + t1_4;
          const tw_v_f32 t0_10 = t0_8 * 0.2f;
          const tw_v_f32 t1_10 = t1_8 * 0.2f;
          *(tw_u_f32 *)(w0 + j) = t0_10;
          *(tw_u_f32 *)(w1 + j) = t1_10;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
    }
    if (a1 < start) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0 + 1, a1, start);
    }
    if (stop < b1) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0 + 1, stop, b1);
    }
  }
  for (int64_t row = whole; row < b0; ++row) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    float *const w0 = target + (x0 * s0);
    if (0 < beside_length) {
      tw_v_f32 r1_low = *(const tw_u_f32 *)(r1 + (beside_from - TW_LANES_F32));
      tw_v_f32 r1_here = *(const tw_u_f32 *)(r1 + beside_from);
      for (int64_t j = beside_from; j < (beside_from + beside_length); j += TW_LANES_F32) {
        const tw_v_f32 r1_high = *(const tw_u_f32 *)(r1 + (j + TW_LANES_F32));
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = tw_beside_low_1_v_f32(r1_here, r1_low);
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = r1_here;
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l3 = tw_beside_high_1_v_f32(r1_here, r1_high);
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r2 + j);
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 t0_5 = t0_0 + t0_1;
        const tw_v_f32 t0_6 = t0_5 + t0_2;
        const tw_v_f32 t0_7 = t0_6 + t0_3;
        const tw_v_f32 t0_8 = t0_7 + t0_4;
        const tw_v_f32 t0_10 = t0_8 * 0.2f;
        *(tw_u_f32 *)(w0 + j) = t0_10;
        r1_low = r1_here;
        r1_here = r1_high;
      }
    }
    for (int64_t part = 0; part < (((0 < beside_length) ? 1 : 0) + 1); ++part) {
      const int64_t low = ((part == 0) ? begin : (beside_from + beside_length));
      const int64_t high = (((part + 1) < (((0 < beside_length) ? 1 : 0) + 1)) ? beside_from : end);
      {
        int64_t j = tw_max(start, tw_min(low, (stop - TW_LANES_F32)));
        for (int64_t i = low; i < high; i += TW_LANES_F32) {
          const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 t0_0 = l0;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r1 + (j - 1));
          const tw_v_f32 t0_1 = l1;
          const tw_v_f32 l2 = *(const tw_u_f32 *)(r1 + j);
          const tw_v_f32 t0_2 = l2;
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j + 1));
          const tw_v_f32 t0_3 = l3;
          const tw_v_f32 l4 = *(const tw_u_f32 *)(r2 + j);
          const tw_v_f32 t0_4 = l4;
          const tw_v_f32 t0_5 = t0_0 + t0_1;
          const tw_v_f32 t0_6 = t0_5 + t0_2;
          const tw_v_f32 t0_7 = t0_6 + t0_3;
          const tw_v_f32 t0_8 = t0_7 + t0_4;
          const tw_v_f32 t0_10 = t0_8 * 0.2f;
          *(tw_u_f32 *)(w0 + j) = t0_10;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
    }
    if (a1 < start) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}

static inline void tw_jacobi2d_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1, int64_t high1) {
  if ((TW_BYTES == 64) & ((high1 - low1) >= (TW_LANES_F32 * 7))) {
    tw_jacobi2d_box_0_long(field, size, scalar, constant, t, low0, high0, low1, high1);
  } else {
    tw_jacobi2d_box_0_short(field, size, scalar, constant, t, low0, high0, low1, high1);
  }
}

void tw_jacobi2d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  /* hexagons of 16 rows, base 32, slope 1, pitch 78 */
  const int64_t total = steps;
  #pragma omp parallel num_threads(threads)
  {
    for (int64_t wave = 0; wave < (tw_ceildiv((total + 8), 16) * 2); ++wave) {
      const int64_t phase = wave / 2;
      const int64_t colour = wave % 2;
      const int64_t origin = (colour ? 39 : 0);
      const int64_t start = (phase * 16) - (colour ? 0 : 8);
      const int64_t past = tw_floordiv(((n0 + 84) - origin), 78);
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < past; ++tile) {
        const int64_t left = (tile * 78) + origin;
        for (int64_t classic1 = 0; classic1 < tw_ceildiv((n1 + 15), 512); ++classic1) {
          for (int64_t tau = tw_max(start, 0); tau < tw_min((start + 16), total); ++tau) {
            const int64_t row = tau - start;
            const int64_t grow = tw_min(row, (15 - row));
            const int64_t from1 = (classic1 * 512) - row;
            const int64_t t = tau;
            tw_jacobi2d_box_0(field, size, scalar, constant, t, left - grow, (left + 32) + grow, from1, from1 + 512);
          }
        }
      }
    }
  }
}
