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

static void tw_smith_waterman_chains_0(int32_t *const *field, const int64_t *size, const int32_t *scalar,
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
  const int32_t *const r2 = v_h_new + ((x0 + 1) * s0);
  const int32_t *const r3 = v_h_new + ((x0 + 2) * s0);
  const int32_t *const r4 = v_h_new + ((x0 + 3) * s0);
  const int32_t *const r5 = v_h_new + ((x0 + 4) * s0);
  const int32_t *const r6 = v_h_new + ((x0 + 5) * s0);
  const int32_t *const r7 = v_h_new + ((x0 + 6) * s0);
  const int32_t *const r8 = v_h_new + ((x0 + 7) * s0);
  const int32_t *const r9 = v_match + (x0 * s0);
  const int32_t *const r10 = v_match + ((x0 + 1) * s0);
  const int32_t *const r11 = v_match + ((x0 + 2) * s0);
  const int32_t *const r12 = v_match + ((x0 + 3) * s0);
  const int32_t *const r13 = v_match + ((x0 + 4) * s0);
  const int32_t *const r14 = v_match + ((x0 + 5) * s0);
  const int32_t *const r15 = v_match + ((x0 + 6) * s0);
  const int32_t *const r16 = v_match + ((x0 + 7) * s0);
  int32_t *const w0 = target + (x0 * s0);
  int32_t *const w1 = target + ((x0 + 1) * s0);
  int32_t *const w2 = target + ((x0 + 2) * s0);
  int32_t *const w3 = target + ((x0 + 3) * s0);
  int32_t *const w4 = target + ((x0 + 4) * s0);
  int32_t *const w5 = target + ((x0 + 5) * s0);
  int32_t *const w6 = target + ((x0 + 6) * s0);
  int32_t *const w7 = target + ((x0 + 7) * s0);
  const int64_t whole = low + 7;
  for (int64_t j = low; j < whole; ++j) {
    for (int64_t ahead = 0; ahead < 8; ++ahead) {
      const int64_t shift = 7 - ahead;
      const int64_t x = j - shift;
      if ((x >= low) & (x < high)) {
        tw_smith_waterman_cells_0(field, size, scalar, constant, t, x0 + shift, x, x + 1);
      }
    }
  }
  if (whole < high) {
    int32_t last0 = r1[whole - 1];
    int32_t last1 = r2[(whole - 1) - 1];
    int32_t last2 = r3[(whole - 2) - 1];
    int32_t last3 = r4[(whole - 3) - 1];
    int32_t last4 = r5[(whole - 4) - 1];
    int32_t last5 = r6[(whole - 5) - 1];
    int32_t last6 = r7[(whole - 6) - 1];
    int32_t last7 = r8[(whole - 7) - 1];
    for (int64_t j = whole; j < high; ++j) {
      const int64_t j7 = j - 7;
      const int32_t t7_0 = r7[j7 - 1];
      const int32_t t7_1 = r16[j7];
      const int32_t t7_2 = t7_0 + t7_1;
      const int32_t t7_4 = tw_maximum_i32(t7_2, 0);
      const int32_t t7_5 = last6;
      const int32_t t7_6 = last7;
      const int32_t t7_7 = tw_maximum_i32(t7_5, t7_6);
      const int32_t t7_9 = t7_7 - 1;
      const int32_t t7_10 = tw_maximum_i32(t7_4, t7_9);
      w7[j7] = t7_10;
      last7 = t7_10;
      const int64_t j6 = j - 6;
      const int32_t t6_0 = r6[j6 - 1];
      const int32_t t6_1 = r15[j6];
      const int32_t t6_2 = t6_0 + t6_1;
      const int32_t t6_4 = tw_maximum_i32(t6_2, 0);
      const int32_t t6_5 = last5;
      const int32_t t6_6 = last6;
      const int32_t t6_7 = tw_maximum_i32(t6_5, t6_6);
      const int32_t t6_9 = t6_7 - 1;
      const int32_t t6_10 = tw_maximum_i32(t6_4, t6_9);
      w6[j6] = t6_10;
      last6 = t6_10;
      const int64_t j5 = j - 5;
      const int32_t t5_0 = r5[j5 - 1];
      const int32_t t5_1 = r14[j5];
      const int32_t t5_2 = t5_0 + t5_1;
      const int32_t t5_4 = tw_maximum_i32(t5_2, 0);
      const int32_t t5_5 = last4;
      const int32_t t5_6 = last5;
      const int32_t t5_7 = tw_maximum_i32(t5_5, t5_6);
      const int32_t t5_9 = t5_7 - 1;
      const int32_t t5_10 = tw_maximum_i32(t5_4, t5_9);
      w5[j5] = t5_10;
      last5 = t5_10;
      const int64_t j4 = j - 4;
      const int32_t t4_0 = r4[j4 - 1];
      const int32_t t4_1 = r13[j4];
      const int32_t t4_2 = t4_0 + t4_1;
      const int32_t t4_4 = tw_maximum_i32(t4_2, 0);
      const int32_t t4_5 = last3;
      const int32_t t4_6 = last4;
      const int32_t t4_7 = tw_maximum_i32(t4_5, t4_6);
      const int32_t t4_9 = t4_7 - 1;
      const int32_t t4_10 = tw_maximum_i32(t4_4, t4_9);
      w4[j4] = t4_10;
      last4 = t4_10;
      const int64_t j3 = j - 3;
      const int32_t t3_0 = r3[j3 - 1];
      const int32_t t3_1 = r12[j3];
      const int32_t t3_2 = t3_0 + t3_1;
      const int32_t t3_4 = tw_maximum_i32(t3_2, 0);
      const int32_t t3_5 = last2;
      const int32_t t3_6 = last3;
      const int32_t t3_7 = tw_maximum_i32(t3_5, t3_6);
      const int32_t t3_9 = t3_7 - 1;
      const int32_t t3_10 = tw_maximum_i32(t3_4, t3_9);
      w3[j3] = t3_10;
      last3 = t3_10;
      const int64_t j2 = j - 2;
      const int32_t t2_0 = r2[j2 - 1];
      const int32_t t2_1 = r11[j2];
      const int32_t t2_2 = t2_0 + t2_1;
      const int32_t t2_4 = tw_maximum_i32(t2_2, 0);
      const int32_t t2_5 = last1;
      const int32_t t2_6 = last2;
      const int32_t t2_7 = tw_maximum_i32(t2_5, t2_6);
      const int32_t t2_9 = t2_7 - 1;
      const int32_t t2_10 = tw_maximum_i32(t2_4, t2_9);
      w2[j2] = t2_10;
      last2 = t2_10;
      const int64_t j1 = j - 1;
      const int32_t t1_0 = r1[j1 - 1];
      const int32_t t1_1 = r10[j1];
      const int32_t t1_2 = t1_0 + t1_1;
      const int32_t t1_4 = tw_maximum_i32(t1_2, 0);
      const int32_t t1_5 = last0;
      const int32_t t1_6 = last1;
      const int32_t t1_7 = tw_maximum_i32(t1_5, t1_6);
      const int32_t t1_9 = t1_7 - 1;
      const int32_t t1_10 = tw_maximum_i32(t1_4, t1_9);
      w1[j1] = t1_10;
      last1 = t1_10;
      const int64_t j0 = j;
      const int32_t t0_0 = r0[j0 - 1];
      const int32_t t0_1 = r9[j0];
      const int32_t t0_2 = t0_0 + t0_1;
      const int32_t t0_4 = tw_maximum_i32(t0_2, 0);
      const int32_t t0_5 = r0[j0];
      const int32_t t0_6 = last0;
      const int32_t t0_7 = tw_maximum_i32(t0_5, t0_6);
      const int32_t t0_9 = t0_7 - 1;
      const int32_t t0_10 = tw_maximum_i32(t0_4, t0_9);
      w0[j0] = t0_10;
      last0 = t0_10;
    }
  }
  for (int64_t j = tw_max(whole, high); j < (high + 7); ++j) {
    for (int64_t ahead = 0; ahead < 8; ++ahead) {
      const int64_t shift = 7 - ahead;
      const int64_t x = j - shift;
      if ((x >= low) & (x < high)) {
        tw_smith_waterman_cells_0(field, size, scalar, constant, t, x0 + shift, x, x + 1);
      }
    }
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
    const int64_t whole0 = ((tw_max((n0 - 1), 0) / 8) * 8) + 1;
    for (int64_t x0 = 1; x0 < whole0; x0 += 8) {
      if (tw_wanted(&tw_own)) {
        tw_smith_waterman_chains_0(field, size, scalar, constant, t, x0, 1, n1);
      }
    }
    for (int64_t x0 = whole0; x0 < n0; ++x0) {
      if (tw_wanted(&tw_own)) {
        tw_smith_waterman_cells_0(field, size, scalar, constant, t, x0, 1, n1);
      }
    }
  }
}
