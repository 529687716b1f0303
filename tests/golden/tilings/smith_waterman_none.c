/* smith_waterman, int32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_I32, tw_last(), tw_wanted(), tw_goes_on(), tw_maximum_i32() */

static void tw_smith_waterman_cells_0(int32_t *const *field, const int64_t *size, const int32_t *scalar,
    const int32_t *const *constant, int64_t t, int64_t x0, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const int32_t *const v_h_new = field[0];
  const int32_t *const v_match = field[1];
  int32_t *const target = field[0];
  const int32_t *const r0 = v_h_new + ((x0 - 1) * s0);
  const int32_t *const r1 = v_h_new + (x0 * s0);
  const int32_t *const r2 = v_match + (x0 * s0);
  int32_t *const w0 = target + (x0 * s0);
  for (int64_t x = low; x < high; ++x) {
    const int32_t t0 = r0[x - 1];
    const int32_t t1 = r2[x];
    const int32_t t2 = t0 + t1;
    const int32_t t4 = tw_maximum_i32(t2, 0);
    const int32_t t5 = r0[x];
    const int32_t t6 = r1[x - 1];
    const int32_t t7 = tw_maximum_i32(t5, t6);
    const int32_t t9 = t7 - 1;
    const int32_t t10 = tw_maximum_i32(t4, t9);
    w0[x] = t10;
  }
}

void tw_smith_waterman(int32_t *const *field, const int64_t *size, const int32_t *scalar,
    const int32_t *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  tw_asks tw_own = {&tw_last_round, 0, 0};
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  for (int64_t t = 0; t < steps && tw_wanted(&tw_own); ++t) {
    for (int64_t x0 = 1; x0 < n0; ++x0) {
      if (tw_wanted(&tw_own)) {
        tw_smith_waterman_cells_0(field, size, scalar, constant, t, x0, 1, n1);
      }
    }
  }
}
