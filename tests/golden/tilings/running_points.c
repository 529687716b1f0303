/* running, float32, boundary fixed, tiling none, sources and receivers
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_running_cells_0(), tw_running_points_0() */

void tw_running(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, const int64_t *const *points) {
  int64_t tw_last_round = INT64_MAX;
  tw_asks tw_own = {&tw_last_round, 0, 0};
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  for (int64_t t = 0; t < steps && tw_wanted(&tw_own); ++t) {
    for (int64_t x = 1; x < n0; ++x) {
      tw_running_cells_0(field, size, scalar, constant, points, t, x, x + 1);
      tw_running_points_0(field, size, scalar, constant, points, t, x, x + 1);
    }
  }
}
