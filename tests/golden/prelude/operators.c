/* operators that are calls, on vectors */

static inline tw_v_f32 tw_pick_f32(tw_m_f32 m, tw_v_f32 a, tw_v_f32 b) {
  return (tw_v_f32)(((tw_m_f32)a & m) | ((tw_m_f32)b & ~m));
}

static inline tw_v_f32 tw_abs_v_f32(tw_v_f32 a) {
  tw_v_f32 r;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = __builtin_fabsf(a[i]);
  return r;
}

/* a value that never changes, kept in a register from here on, not from before a loop */
static inline __attribute__((always_inline)) tw_v_f32 tw_fresh_v_f32(tw_v_f32 a) {
#if defined(__SSE2__)
  __asm__ volatile("" : "+v"(a));
#endif
  return a;
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

static inline tw_v_f32 tw_keep_v_f32(tw_v_f32 old, tw_v_f32 value, int64_t done) {
  tw_m_f32 lane;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) lane[i] = (int32_t)i;
  return tw_pick_f32(lane < (int32_t)done, old, value);
}

static inline tw_v_f32 tw_maximum_v_f32(tw_v_f32 a, tw_v_f32 b) { return tw_pick_f32((a > b) | (a != a), a, b); }

static inline tw_v_f32 tw_minimum_v_f32(tw_v_f32 a, tw_v_f32 b) { return tw_pick_f32((a < b) | (a != a), a, b); }

static inline tw_m_f32 tw_not_v_f32(tw_m_f32 a) { return ~a; }

static inline tw_v_f32 tw_number_v_f32(tw_m_f32 a) { return tw_pick_f32(a, (tw_v_f32){0} + 1, (tw_v_f32){0}); }

static inline tw_v_f32 tw_over_sqrt_v_f32(tw_v_f32 a, tw_v_f32 x) {
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

static inline tw_v_f32 tw_splat_v_f32(float a) { return a - (tw_v_f32){0}; }

static inline tw_v_f32 tw_sqrt_v_f32(tw_v_f32 a) {
  tw_v_f32 r;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = __builtin_sqrtf(a[i]);
  return r;
}

static inline tw_v_f32 tw_where_v_f32(tw_m_f32 a, tw_v_f32 b, tw_v_f32 c) { return tw_pick_f32(a, b, c); }
