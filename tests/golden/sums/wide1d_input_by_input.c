/* wide, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_high_2_v_f32(), tw_beside_high_3_v_f32(), tw_beside_high_4_v_f32(),
     tw_beside_high_5_v_f32(), tw_beside_low_1_v_f32(), tw_beside_low_2_v_f32(), tw_beside_low_3_v_f32(),
     tw_beside_low_4_v_f32(), tw_beside_low_5_v_f32(), tw_flush(), tw_restore(), omp_get_thread_num(),
     tw_thread(), tw_wide_cells_0(), tw_wide_box_0_long(), tw_wide() */

static __attribute__((noinline)) void tw_wide_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 5);
  const int64_t b0 = tw_min(high0, (n0 - 5));
  const int64_t first = tw_max(a0, 5);
  const int64_t last = tw_min(b0, (n0 - 5));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b0);
  const int64_t end = stop;
  const float *const r0 = v_u;
  float *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
    for (int64_t i = begin; i < end; i += TW_LANES_F32) {
      const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 5));
      const tw_v_f32 s0_1 = 0.1f * l0;
      const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + (j - 4));
      const tw_v_f32 s0_2 = s0_1 + (0.12f * l1);
      const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j - 3));
      const tw_v_f32 s0_3 = s0_2 + (0.14f * l2);
      const tw_v_f32 l3 = *(const tw_u_f32 *)(r0 + (j - 2));
      const tw_v_f32 s0_4 = s0_3 + (0.16f * l3);
      const tw_v_f32 l4 = *(const tw_u_f32 *)(r0 + (j - 1));
      const tw_v_f32 s0_5 = s0_4 + (0.18f * l4);
      const tw_v_f32 l5 = *(const tw_u_f32 *)(r0 + j);
      const tw_v_f32 s0_6 = s0_5 + (0.2f * l5);
      const tw_v_f32 l6 = *(const tw_u_f32 *)(r0 + (j + 1));
      const tw_v_f32 s0_7 = s0_6 + (0.22f * l6);
      const tw_v_f32 l7 = *(const tw_u_f32 *)(r0 + (j + 2));
      const tw_v_f32 s0_8 = s0_7 + (0.24f * l7);
      const tw_v_f32 l8 = *(const tw_u_f32 *)(r0 + (j + 3));
      const tw_v_f32 s0_9 = s0_8 + (0.26f * l8);
      const tw_v_f32 l9 = *(const tw_u_f32 *)(r0 + (j + 4));
      const tw_v_f32 s0_10 = s0_9 + (0.28f * l9);
      const tw_v_f32 l10 = *(const tw_u_f32 *)(r0 + (j + 5));
      const tw_v_f32 s0_11 = s0_10 + (0.3f * l10);
      *(tw_u_f32 *)(w0 + j) = s0_11;
      j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
    }
  }
  if (a0 < start) {
    tw_wide_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_wide_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}

static inline void tw_wide_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  if ((TW_BYTES == 64) & ((high0 - low0) >= (TW_LANES_F32 * 7))) {
    tw_wide_box_0_long(field, size, scalar, constant, t, low0, high0);
  } else {
    tw_wide_box_0_short(field, size, scalar, constant, t, low0, high0);
  }
}
