/* quotients rounded down */

static inline tw_v_f32 tw_pick_f32(tw_m_f32 m, tw_v_f32 a, tw_v_f32 b) {
  return (tw_v_f32)(((tw_m_f32)a & m) | ((tw_m_f32)b & ~m));
}

static inline float tw_floor_divide_f32(float a, float b) {
  const float m = __builtin_fmodf(a, b), q = (a - m) / b, d = m != 0 && (m < 0) != (b < 0) ? q - 1 : q, f = __builtin_floorf(d);
  return b == 0 ? a / b : d == 0 ? __builtin_copysignf(0, a / b) : d - f > (float)0.5 ? f + 1 : f;
}

static inline float tw_remainder_f32(float a, float b) {
  const float m = __builtin_fmodf(a, b);
  return m == 0 ? __builtin_copysignf(0, b) : (m < 0) != (b < 0) ? m + b : m;
}

static inline tw_v_f32 tw_floor_divide_v_f32(tw_v_f32 a, tw_v_f32 b) {
  tw_v_f32 r;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  const tw_m_f32 sign = (tw_m_f32)-(tw_v_f32){0};
  const tw_v_f32 x = a / b;
  tw_v_f32 q;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) q[i] = __builtin_truncf(x[i]);
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = __builtin_fmaf(-q[i], b[i], a[i]);
  const tw_m_f32 near = (x < 0x1p21f) & (x > -0x1p21f) & (b - b == 0);
  int64_t part[TW_BYTES / 8], all = -1;
  __builtin_memcpy(part, &near, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) all &= part[i];
  if (all == -1) {
    const tw_m_f32 turned = (r != 0) & ((r < 0) ^ (b < 0));
    const tw_v_f32 d = tw_pick_f32(turned, q - 1, q);
    return tw_pick_f32(d == 0, (tw_v_f32)((tw_m_f32)x & sign), d);
  }
#endif
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = tw_floor_divide_f32(a[i], b[i]);
  return r;
}

static inline tw_v_f32 tw_remainder_v_f32(tw_v_f32 a, tw_v_f32 b) {
  tw_v_f32 r;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  const tw_m_f32 sign = (tw_m_f32)-(tw_v_f32){0};
  const tw_v_f32 x = a / b;
  tw_v_f32 q;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) q[i] = __builtin_truncf(x[i]);
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = __builtin_fmaf(-q[i], b[i], a[i]);
  const tw_m_f32 near = (x < 0x1p21f) & (x > -0x1p21f) & (b - b == 0);
  int64_t part[TW_BYTES / 8], all = -1;
  __builtin_memcpy(part, &near, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) all &= part[i];
  if (all == -1) {
    const tw_m_f32 turned = (r != 0) & ((r < 0) ^ (b < 0));
    return tw_pick_f32(r == 0, (tw_v_f32)((tw_m_f32)b & sign), tw_pick_f32(turned, r + b, r));
  }
#endif
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = tw_remainder_f32(a[i], b[i]);
  return r;
}

static inline tw_v_f32 tw_sign_v_f32(tw_v_f32 a) { const tw_v_f32 one = (tw_v_f32){0} + 1; return tw_pick_f32(a > 0, one, tw_pick_f32(a < 0, -one, tw_pick_f32(a == 0, (tw_v_f32){0}, a))); }
