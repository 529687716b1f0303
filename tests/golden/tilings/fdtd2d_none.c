/* fdtd2d, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_hold_v_f32(),
     tw_keep_v_f32(), tw_opaque(), omp_get_thread_num(), tw_thread(), tw_fdtd2d_cells_0(), tw_fdtd2d_box_0(),
     tw_fdtd2d_cells_1(), tw_fdtd2d_box_1_short(), tw_fdtd2d_box_1_long(), tw_fdtd2d_box_1(),
     tw_fdtd2d_cells_2(), tw_fdtd2d_box_2_short(), tw_fdtd2d_box_2_long(), tw_fdtd2d_box_2() */

void tw_fdtd2d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const int64_t parts = tw_min(n0, threads);
  const int64_t piece = tw_max(2, (2048 / s0));
  const int64_t stretch = tw_max(1, tw_min((262144 / (n0 * s0)), 64));
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t since = 0; since < steps && tw_goes_on(&tw_own); since += stretch) {
      for (int64_t t = tw_max(since, 0); t < tw_min((since + stretch), steps); ++t) {
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = (n0 * part) / parts;
          const int64_t last = (n0 * (part + 1)) / parts;
          const int64_t behind1 = ((piece < (last - first)) ? 1 : n0);
          for (int64_t low = first; low < last; low += piece) {
            if ((low == first) || tw_wanted(&tw_own)) {
              const int64_t high = tw_min((low + piece), last);
              tw_fdtd2d_box_0(field, size, scalar, constant, t, low, high, 0, n1);
              tw_fdtd2d_box_1(field, size, scalar, constant, t, low, high, 0, n1);
              tw_fdtd2d_box_2(field, size, scalar, constant, t, tw_max((low - behind1), (first + behind1)), high - behind1, 0, n1);
            }
          }
        }
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = (n0 * part) / parts;
          const int64_t last = (n0 * (part + 1)) / parts;
          const int64_t behind1 = ((piece < (last - first)) ? 1 : n0);
          tw_fdtd2d_box_2(field, size, scalar, constant, t, first, tw_min((first + behind1), last), 0, n1);
          tw_fdtd2d_box_2(field, size, scalar, constant, t, tw_max((first + behind1), (last - behind1)), last, 0, n1);
        }
      }
    }
    tw_restore(mode);
  }
}
