/* switched, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_number_f32(),
     tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), tw_where_f32(), tw_where_v_f32(),
     tw_switched_box_0_long(), tw_switched() */

static void tw_switched_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float c_a = scalar[0];
  const float *const r0 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const int t2 = c_a > 0.5f;
    const float t3 = r0[x - 1];
    const float t4 = r0[x + 1];
    const float t5 = t3 + t4;
    const float t7 = t5 * 1.4142135f;
    const float t8 = r0[x];
    const float t9 = tw_where_f32(t2, t7, t8);
    w0[x] = t9;
  }
}

static __attribute__((noinline)) void tw_switched_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float c_a = scalar[0];
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b0);
  const int64_t end = stop;
  const float *const r0 = v_u;
  float *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
    for (int64_t i = begin; i < end; i += TW_LANES_F32) {
      const int t0_2 = c_a > 0.5f;
      const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
      const tw_v_f32 t0_3 = l0;
      const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + (j + 1));
      const tw_v_f32 t0_4 = l1;
      const tw_v_f32 t0_5 = t0_3 + t0_4;
      const tw_v_f32 t0_7 = t0_5 * 1.4142135f;
      const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + j);
      const tw_v_f32 t0_8 = l2;
      const tw_v_f32 t0_9 = tw_where_v_f32((tw_splat_v_f32(tw_number_f32(t0_2)) != 0.0f), t0_7, t0_8);
      *(tw_u_f32 *)(w0 + j) = t0_9;
      j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
    }
  }
  if (a0 < start) {
    tw_switched_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_switched_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}

static inline void tw_switched_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  if ((TW_BYTES == 64) & ((high0 - low0) >= (TW_LANES_F32 * 7))) {
    tw_switched_box_0_long(field, size, scalar, constant, t, low0, high0);
  } else {
    tw_switched_box_0_short(field, size, scalar, constant, t, low0, high0);
  }
}
