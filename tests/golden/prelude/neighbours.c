/* vectors put together from two */

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

static inline tw_v_f64 tw_pick_f64(tw_m_f64 m, tw_v_f64 a, tw_v_f64 b) {
  return (tw_v_f64)(((tw_m_f64)a & m) | ((tw_m_f64)b & ~m));
}

static inline tw_v_f64 tw_beside_high_2_v_f64(tw_v_f64 a, tw_v_f64 b) {
#if TW_BYTES == 64 && !defined(__clang__)
  return TW_ALIGN_8(tw_v_f64, b, a, 2);
#elif TW_BYTES == 64
  return TW_MIX(tw_m_f64, a, b, 2, 3, 4, 5, 6, 7, 8, 9);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f64, a, b, 2, 3, 4, 5);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f64, a, b, 2, 3);
#endif
}

static inline tw_v_f64 tw_beside_low_1_v_f64(tw_v_f64 a, tw_v_f64 b) {
#if TW_BYTES == 64 && !defined(__clang__)
  return TW_ALIGN_8(tw_v_f64, a, b, 7);
#elif TW_BYTES == 64
  return TW_MIX(tw_m_f64, a, b, 15, 0, 1, 2, 3, 4, 5, 6);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f64, a, b, 7, 0, 1, 2);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f64, a, b, 3, 0);
#endif
}

static inline tw_v_f64 tw_outside_high_reflect_1_v_f64(tw_v_f64 a, tw_v_f64 b) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_f64, a, b, 1, 2, 3, 4, 5, 6, 7, 7);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f64, a, b, 1, 2, 3, 3);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f64, a, b, 1, 1);
#endif
}

static inline tw_v_f64 tw_outside_low_mirror_2_v_f64(tw_v_f64 a, tw_v_f64 b) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_f64, a, b, 2, 1, 0, 1, 2, 3, 4, 5);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f64, a, b, 2, 1, 0, 1);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f64, a, b, 2, 1);
#endif
}

static inline tw_v_f64 tw_outside_low_nearest_1_v_f64(tw_v_f64 a, tw_v_f64 b) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_f64, a, b, 0, 0, 1, 2, 3, 4, 5, 6);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_f64, a, b, 0, 0, 1, 2);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_f64, a, b, 0, 0);
#endif
}
