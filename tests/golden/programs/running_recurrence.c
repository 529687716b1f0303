/* running, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on() */

static void tw_running_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u_new = field[0];
  const float *const v_u = field[0];
  float *const target = field[0];
  const float *const r0 = v_u;
  const float *const r1 = v_u_new;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t1 = r1[x - 1];
    const float t2 = 0.5f * t1;
    const float t3 = r0[x];
    const float t4 = t2 + t3;
    w0[x] = t4;
  }
}

void tw_running(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  tw_asks tw_own = {&tw_last_round, 0, 0};
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  for (int64_t t = 0; t < steps && tw_wanted(&tw_own); ++t) {
    for (int64_t low = 1; low < n0; low += 262144) {
      if ((low == 1) || tw_wanted(&tw_own)) {
        tw_running_cells_0(field, size, scalar, constant, t, low, tw_min((low + 262144), n0));
      }
    }
  }
}
