/* pair, float32, boundary fixed, tiling hexagonal:t=2,s=8
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_keep_v_f32(),
     omp_get_thread_num(), tw_thread(), tw_pair_cells_0(), tw_pair_box_0_short(), tw_pair_box_0_long(),
     tw_pair_box_0(), tw_pair_cells_1(), tw_pair_box_1_short(), tw_pair_box_1_long(), tw_pair_box_1() */

void tw_pair(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  /* hexagons of 4 rows, base 8, slope 1, pitch 18 */
  const int64_t total = steps * 2;
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t wave = 0; wave < (tw_ceildiv((total + 2), 4) * 2) && tw_goes_on(&tw_own); ++wave) {
      const int64_t colour = wave % 2;
      const int64_t start = ((wave / 2) * 4) - ((1 - colour) * 2);
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < tw_ceildiv(((n0 + 1) - (colour * 9)), 18); ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t left = (tile * 18) + (colour * 9);
        for (int64_t tau = tw_max(start, 0); tau < tw_min((start + 4), total); ++tau) {
          const int64_t row = tau - start;
          const int64_t grow = tw_min(row, (3 - row));
          const int64_t t = tau / 2;
          const int64_t stage = tau % 2;
          if (stage == 0) {
            tw_pair_box_0(field, size, scalar, constant, t, left - grow, (left + 8) + grow);
          }
          if (stage == 1) {
            tw_pair_box_1(field, size, scalar, constant, t, left - grow, (left + 8) + grow);
          }
        }
      }
    }
    tw_restore(mode);
  }
}
