/* two kernels in one unit
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), omp_get_thread_num(),
     tw_thread(), tw_jacobi1d_cells_0(), tw_jacobi1d_box_0_short(), tw_jacobi1d_box_0_long(),
     tw_jacobi1d_box_0() */

void tw_jacobi1d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  /* hexagons of 2 rows, base 4, slope 1, pitch 8 */
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t wave = 0; wave < (tw_ceildiv((steps + 1), 2) * 2) && tw_goes_on(&tw_own); ++wave) {
      const int64_t colour = wave % 2;
      const int64_t start = ((wave / 2) * 2) - (1 - colour);
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < tw_ceildiv((n0 - (colour * 4)), 8); ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t left = (tile * 8) + (colour * 4);
        for (int64_t tau = tw_max(start, 0); tau < tw_min((start + 2), steps); ++tau) {
          const int64_t row = tau - start;
          const int64_t grow = tw_min(row, (1 - row));
          tw_jacobi1d_box_0(field, size, scalar, constant, tau, left - grow, (left + 4) + grow);
        }
      }
    }
    tw_restore(mode);
  }
}

void tw_jacobi1d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const int64_t parts = tw_min(tw_ceildiv(n0, 2048), threads);
  const int64_t piece = 262144;
  const int64_t stretch = tw_max(1, tw_min((262144 / n0), 64));
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t since = 0; since < steps && tw_goes_on(&tw_own); since += stretch) {
      for (int64_t t = tw_max(since, 0); t < tw_min((since + stretch), steps); ++t) {
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = ((tw_ceildiv(n0, 2048) * part) / parts) * 2048;
          const int64_t last = tw_min((((tw_ceildiv(n0, 2048) * (part + 1)) / parts) * 2048), n0);
          for (int64_t low = first; low < last; low += piece) {
            if ((low == first) || tw_wanted(&tw_own)) {
              tw_jacobi1d_box_0(field, size, scalar, constant, t, low, tw_min((low + piece), last));
            }
          }
        }
      }
    }
    tw_restore(mode);
  }
}
