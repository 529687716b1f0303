/* chosen, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_flush(), tw_restore(),
     tw_number_f32(), tw_number_v_f32(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), tw_where_f32(),
     tw_where_v_f32(), tw_chosen() */

static void tw_chosen_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r0[x];
    const int t2 = t0 > 0.5f;
    const float t3 = r0[x + 1];
    const float t4 = r0[x - 1];
    const int t5 = t3 <= t4;
    const int t6 = t2 & t5;
    const float t7 = t4 + t3;
    const float t9 = tw_where_f32(t6, t7, 0.0f);
    const int t11 = t0 > 0.25f;
    const float t12 = tw_number_f32(t11) * 0.5f;
    const float t13 = t9 + t12;
    w0[x] = t13;
  }
}

static __attribute__((noinline)) void tw_chosen_box_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
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
      const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
      const tw_v_f32 t0_0 = l0;
      const tw_m_f32 t0_2 = t0_0 > 0.5f;
      const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + (j + 1));
      const tw_v_f32 t0_3 = l1;
      const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j - 1));
      const tw_v_f32 t0_4 = l2;
      const tw_m_f32 t0_5 = t0_3 <= t0_4;
      const tw_m_f32 t0_6 = t0_2 & t0_5;
      const tw_v_f32 t0_7 = t0_4 + t0_3;
      const tw_v_f32 t0_9 = tw_where_v_f32(t0_6, t0_7, tw_splat_v_f32(0.0f));
      const tw_m_f32 t0_11 = t0_0 > 0.25f;
      const tw_v_f32 t0_12 = tw_number_v_f32(t0_11) * 0.5f;
      const tw_v_f32 t0_13 = t0_9 + t0_12;
      *(tw_u_f32 *)(w0 + j) = t0_13;
      j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
    }
  }
  if (a0 < start) {
    tw_chosen_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_chosen_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}
