/* laplacian3d, float32, boundary fixed, tiling diamond:t=4,s=8x8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_opaque(),
     omp_get_thread_num(), tw_thread(), tw_laplacian3d_cells_0(), tw_laplacian3d_box_0_short(),
     tw_laplacian3d_box_0_long(), tw_laplacian3d_box_0() */

void tw_laplacian3d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t n2 = size[4];
  const int64_t s0 = size[5];
  const int64_t s1 = size[6];
  const int64_t slot = size[7];
  /* diamonds of 4 rows, pitch 8 */
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t wave = 0; wave < (tw_ceildiv((steps + 2), 4) * 2) && tw_goes_on(&tw_own); ++wave) {
      const int64_t colour = wave % 2;
      const int64_t start = ((wave / 2) * 4) - ((1 - colour) * 2);
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < tw_ceildiv(((n0 + 3) - (colour * 4)), 8); ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t left = (tile * 8) + (colour * 4);
        for (int64_t classic1 = 0; classic1 < tw_ceildiv((n1 + 3), 8); ++classic1) {
          for (int64_t classic2 = 0; classic2 < tw_ceildiv((n2 + 3), 16); ++classic2) {
            for (int64_t tau = tw_max(start, 0); tau < tw_min((start + 4), steps); ++tau) {
              const int64_t row = tau - start;
              const int64_t grow = tw_min((row * 2), (7 - (row * 2)));
              const int64_t from1 = (classic1 * 8) - row;
              const int64_t from2 = (classic2 * 16) - row;
              tw_laplacian3d_box_0(field, size, scalar, constant, tau, left - grow, (left + 1) + grow, from1, from1 + 8, from2, from2 + 16);
            }
          }
        }
      }
    }
    tw_restore(mode);
  }
}
