/* operators that are calls */

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

static inline tw_v_c64 tw_pick_c64(tw_m_c64 m, tw_v_c64 a, tw_v_c64 b) {
  return (tw_v_c64)(((tw_m_c64)a & m) | ((tw_m_c64)b & ~m));
}

static inline tw_v_c64 tw_imag_v_c64(tw_v_c64 a) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_c64, a, a, 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_c64, a, a, 1, 1, 3, 3, 5, 5, 7, 7);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_c64, a, a, 1, 1, 3, 3);
#endif
}

static inline tw_v_c64 tw_real_v_c64(tw_v_c64 a) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_c64, a, a, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_c64, a, a, 0, 0, 2, 2, 4, 4, 6, 6);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_c64, a, a, 0, 0, 2, 2);
#endif
}

static inline tw_v_c64 tw_swap_v_c64(tw_v_c64 a) {
#if TW_BYTES == 64
  return TW_MIX(tw_m_c64, a, a, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif TW_BYTES == 32
  return TW_MIX(tw_m_c64, a, a, 1, 0, 3, 2, 5, 4, 7, 6);
#elif TW_BYTES == 16
  return TW_MIX(tw_m_c64, a, a, 1, 0, 3, 2);
#endif
}

static inline tw_v_c64 tw_complex_v_c64(tw_v_c64 a) { return (tw_v_c64)((tw_m_c64)a & (tw_m_c64)TW_TWICE_4(-1, 0)); }

static inline tw_v_c64 tw_conj_v_c64(tw_v_c64 a) { return (tw_v_c64)((tw_m_c64)a ^ (tw_m_c64)(tw_v_c64)TW_TWICE_4(0, -(float)0)); }

static inline tw_v_c64 tw_div_v_c64(tw_v_c64 a, tw_v_c64 b) {
  /* R. L. Smith, "Algorithm 116: Complex division" (CACM 1962), as NumPy divides */
  const tw_v_c64 re = tw_real_v_c64(b), im = tw_imag_v_c64(b), turned = (tw_v_c64)((tw_m_c64)tw_swap_v_c64(a) ^ (tw_m_c64)(tw_v_c64)TW_TWICE_4(0, -(float)0));
  const tw_m_c64 sign = (tw_m_c64)(tw_v_c64)TW_TWICE_4(-(float)0, -(float)0), big = (tw_v_c64)((tw_m_c64)re & ~sign) >= (tw_v_c64)((tw_m_c64)im & ~sign);
  const tw_v_c64 p = tw_pick_c64(big, re, im), q = tw_pick_c64(big, im, re), ratio = q / p;
  const tw_v_c64 sum = tw_pick_c64(big, a + turned * ratio, a * ratio + turned);
  return sum / (p + q * ratio);
}

static inline tw_v_c64 tw_exp_v_c64(tw_v_c64 a) {
  tw_v_c64 r;
  for (int64_t i = 0; i < 2 * TW_LANES_C64; i += 2) {
    const float _Complex x = __builtin_complex(a[i], a[i + 1]);
    const float _Complex z = __builtin_cexpf(x);
    r[i] = __real__ z, r[i + 1] = __imag__ z;
  }
  return r;
}

static inline tw_v_c64 tw_modulus_v_c64(tw_v_c64 a) {
  const tw_m_c64 sign = (tw_m_c64)(tw_v_c64)TW_TWICE_4(-(float)0, -(float)0);
  const tw_v_c64 x = (tw_v_c64)((tw_m_c64)a & ~sign), y = tw_swap_v_c64(x);
  const tw_v_c64 p = tw_pick_c64(x > y, x, y), least = tw_pick_c64(x > y, y, x);
  const tw_v_c64 ratio = tw_pick_c64(x == y, (tw_v_c64){0} + 1, least / p), s = 1 + ratio * ratio;
  tw_v_c64 r;
  for (int64_t i = 0; i < TW_BYTES / (int64_t)sizeof(float); ++i) r[i] = __builtin_sqrtf(s[i]);
  return p * r;
}

static inline tw_v_c64 tw_mul_v_c64(tw_v_c64 a, tw_v_c64 b) {
  const tw_v_c64 im = (tw_v_c64)((tw_m_c64)tw_imag_v_c64(a) ^ (tw_m_c64)(tw_v_c64)TW_TWICE_4(-(float)0, 0));
  return tw_real_v_c64(a) * b + im * tw_swap_v_c64(b);
}

static inline tw_v_c64 tw_times_i_v_c64(float c, tw_v_c64 a) { return (tw_v_c64)TW_TWICE_4(-c, c) * tw_swap_v_c64(a); }
