/* quotients rounded down */

static inline tw_v_i32 tw_pick_i32(tw_m_i32 m, tw_v_i32 a, tw_v_i32 b) {
  return (tw_v_i32)(((tw_m_i32)a & m) | ((tw_m_i32)b & ~m));
}

static inline int32_t tw_floor_divide_i32(int32_t a, int32_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int32_t)((uint32_t)0 - (uint32_t)a);
  const int32_t q = (int32_t)(a / b);
  return q * b != a && (a < 0) != (b < 0) ? (int32_t)(q - 1) : q;
}

static inline int32_t tw_remainder_i32(int32_t a, int32_t b) {
  if (b == 0 || b == -1) return 0;
  const int32_t m = (int32_t)(a % b);
  return m != 0 && (m < 0) != (b < 0) ? (int32_t)(m + b) : m;
}

static inline tw_v_i32 tw_floor_divide_v_i32(tw_v_i32 a, tw_v_i32 b) {
  tw_v_i32 r;
  for (int64_t i = 0; i < TW_LANES_I32; ++i) r[i] = tw_floor_divide_i32(a[i], b[i]);
  return r;
}

static inline tw_v_i32 tw_remainder_v_i32(tw_v_i32 a, tw_v_i32 b) {
  tw_v_i32 r;
  for (int64_t i = 0; i < TW_LANES_I32; ++i) r[i] = tw_remainder_i32(a[i], b[i]);
  return r;
}

static inline tw_v_i32 tw_sign_v_i32(tw_v_i32 a) { return (tw_v_i32)((a < 0) - (a > 0)); }
