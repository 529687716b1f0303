/* asymmetric, float32, boundary fixed, tiling hexagonal:t=2,s=8
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_2_v_f32(), tw_beside_high_3_v_f32(), tw_flush(), tw_restore(), omp_get_thread_num(),
     tw_thread(), tw_asymmetric_box_0_short(), tw_asymmetric_box_0_long(), tw_asymmetric_box_0() */

static void tw_asymmetric_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t1 = r0[x];
    const float t2 = 0.5f * t1;
    const float t4 = r0[x + 2];
    const float t5 = 0.25f * t4;
    const float t6 = t2 + t5;
    const float t8 = r0[x + 3];
    const float t9 = 0.125f * t8;
    const float t10 = t6 + t9;
    w0[x] = t10;
  }
}

void tw_asymmetric(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  /* hexagons of 2 rows, base 8, slope 3, pitch 16 */
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t wave = 0; wave < (tw_ceildiv((steps + 1), 2) * 2) && tw_goes_on(&tw_own); ++wave) {
      const int64_t colour = wave % 2;
      const int64_t start = ((wave / 2) * 2) - (1 - colour);
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < tw_ceildiv((n0 - (colour * 8)), 16); ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t left = (tile * 16) + (colour * 8);
        for (int64_t tau = tw_max(start, 0); tau < tw_min((start + 2), steps); ++tau) {
          const int64_t row = tau - start;
          const int64_t grow = tw_min(row, (1 - row)) * 3;
          tw_asymmetric_box_0(field, size, scalar, constant, tau, left - grow, (left + 8) + grow);
        }
      }
    }
    tw_restore(mode);
  }
}
