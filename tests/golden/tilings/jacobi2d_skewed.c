/* jacobi2d, float32, boundary fixed, tiling skewed:t=2,s=8x8,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_opaque(),
     omp_get_thread_num(), tw_thread(), tw_jacobi2d_cells_0(), tw_jacobi2d_box_0_short(),
     tw_jacobi2d_box_0_long(), tw_jacobi2d_box_0() */

void tw_jacobi2d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  /* parallelograms of 2 rows, 8x8 cells */
  const int64_t bands = tw_ceildiv(steps, 2);
  const int64_t tiles0 = tw_ceildiv((n0 + 1), 8);
  const int64_t tiles1 = tw_ceildiv((n1 + 1), 8);
  const int64_t lag = (tw_min(1, (tiles0 - 1)) + 1) + tw_min(1, (tiles1 - 1));
  const int64_t waves = tw_min(bands, 1) * (((bands - 1) * lag) + (((tiles0 - 1) + (tiles1 - 1)) + 1));
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t wave = 0; wave < waves && tw_goes_on(&tw_own); ++wave) {
      const int64_t first_band = tw_max(0, tw_ceildiv((wave - ((tiles0 - 1) + (tiles1 - 1))), lag));
      #pragma omp for schedule(dynamic, 1)
      for (int64_t place = 0; place < (tw_max((tw_min(bands, ((wave / lag) + 1)) - first_band), 0) * tiles1); ++place) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t tile1 = place % tiles1;
        const int64_t band = first_band + (place / tiles1);
        const int64_t tile0 = (wave - (band * lag)) - tile1;
        if ((tile0 >= 0) & (tile0 < tiles0)) {
          const int64_t start = band * 2;
          for (int64_t tau = start; tau < tw_min((start + 2), steps); ++tau) {
            const int64_t row = tau - start;
            const int64_t from0 = (tile0 * 8) - row;
            const int64_t from1 = (tile1 * 8) - row;
            tw_jacobi2d_box_0(field, size, scalar, constant, tau, from0, from0 + 8, from1, from1 + 8);
          }
        }
      }
    }
    tw_restore(mode);
  }
}
