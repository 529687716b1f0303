/* levels, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), omp_get_thread_num(),
     tw_thread(), tw_levels_box_0_short(), tw_levels_box_0_long(), tw_levels_box_0(), tw_levels() */

static void tw_levels_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 3) * slot);
  const float *const v_u_prev = field[0] + (((t + 2) % 3) * slot);
  float *const target = field[0] + (((t + 1) % 3) * slot);
  const float *const r0 = v_u_prev;
  const float *const r1 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t1 = r1[x];
    const float t2 = 0.5f * t1;
    const float t4 = r0[x + 1];
    const float t5 = 0.25f * t4;
    const float t6 = t2 + t5;
    const float t8 = r0[x - 1];
    const float t9 = 0.125f * t8;
    const float t10 = t6 + t9;
    w0[x] = t10;
  }
}
