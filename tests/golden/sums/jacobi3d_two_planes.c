/* j3d7pt, float32, boundary fixed, tiling hybrid:t=2,s=4x8x16
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_hold_v_f32(),
     tw_opaque(), omp_get_thread_num(), tw_thread(), tw_j3d7pt_cells_0(), tw_j3d7pt_box_0_long(),
     tw_j3d7pt_box_0(), tw_j3d7pt() */

static __attribute__((noinline)) void tw_j3d7pt_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1, int64_t low2, int64_t high2) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t n2 = size[4];
  const int64_t s0 = size[5];
  const int64_t s1 = size[6];
  const int64_t slot = size[7];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t a2 = tw_max(low2, 1);
  const int64_t b2 = tw_min(high2, (n2 - 1));
  const int64_t first = tw_max(a2, 1);
  const int64_t last = tw_min(b2, (n2 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b2);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b2);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b2);
  const int64_t end = stop;
  const int64_t whole = a0 + (tw_max((b0 - a0), 0) - (tw_max((b0 - a0), 0) % 2));
  for (int64_t x0 = a0; x0 < whole; x0 += 2) {
    for (int64_t row = a1; row < b1; ++row) {
      const int64_t x1 = tw_opaque(row);
      const float *const r0 = (v_u + ((x0 - 1) * s0)) + (x1 * s1);
      const float *const r1 = (v_u + (x0 * s0)) + ((x1 - 1) * s1);
      const float *const r2 = (v_u + (x0 * s0)) + (x1 * s1);
      const float *const r3 = (v_u + (x0 * s0)) + ((x1 + 1) * s1);
      const float *const r4 = (v_u + ((x0 + 1) * s0)) + ((x1 - 1) * s1);
      const float *const r5 = (v_u + ((x0 + 1) * s0)) + (x1 * s1);
      const float *const r6 = (v_u + ((x0 + 1) * s0)) + ((x1 + 1) * s1);
      const float *const r7 = (v_u + ((x0 + 2) * s0)) + (x1 * s1);
      float *const w0 = (target + (x0 * s0)) + (x1 * s1);
      float *const w1 = (target + ((x0 + 1) * s0)) + (x1 * s1);
      {
        int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
        for (int64_t i = begin; i < end; i += TW_LANES_F32) {
          const tw_v_f32 l0 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + j));
          const tw_v_f32 t0_1 = l0;
          const tw_v_f32 t0_2 = 0.24360536f * t0_1;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 t0_4 = l1;
          const tw_v_f32 t0_5 = 0.12302071f * t0_4;
          const tw_v_f32 l2 = tw_hold_v_f32(*(const tw_u_f32 *)(r5 + j));
          const tw_v_f32 t0_7 = l2;
          const tw_v_f32 t0_8 = 0.12423874f * t0_7;
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + j);
          const tw_v_f32 t0_10 = l3;
          const tw_v_f32 t0_11 = 0.12545677f * t0_10;
          const tw_v_f32 l4 = *(const tw_u_f32 *)(r3 + j);
          const tw_v_f32 t0_13 = l4;
          const tw_v_f32 t0_14 = 0.12667479f * t0_13;
          const tw_v_f32 l5 = *(const tw_u_f32 *)(r2 + (j - 1));
          const tw_v_f32 t0_16 = l5;
          const tw_v_f32 t0_17 = 0.1278928f * t0_16;
          const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j + 1));
          const tw_v_f32 t0_19 = l6;
          const tw_v_f32 t0_20 = 0.12911084f * t0_19;
          const tw_v_f32 t0_21 = t0_2 + t0_5;
          const tw_v_f32 t0_22 = t0_21 + t0_8;
          const tw_v_f32 t0_23 = t0_22 + t0_11;
          const tw_v_f32 t0_24 = t0_23 + t0_14;
          const tw_v_f32 t0_25 = t0_24 + t0_17;
          const tw_v_f32 t0_26 = t0_25 + t0_20;
          const tw_v_f32 t1_1 = l2;
          const tw_v_f32 t1_2 = 0.24360536f * t1_1;
          const tw_v_f32 t1_4 = l0;
          const tw_v_f32 t1_5 = 0.12302071f * t1_4;
          const tw_v_f32 l7 = *(const tw_u_f32 *)(r7 + j);
          const tw_v_f32 t1_7 = l7;
          const tw_v_f32 t1_8 = 0.12423874f * t1_7;
          const tw_v_f32 l8 = *(const tw_u_f32 *)(r4 + j);
          const tw_v_f32 t1_10 = l8;
          const tw_v_f32 t1_11 = 0.12545677f * t1_10;
          const tw_v_f32 l9 = *(const tw_u_f32 *)(r6 + j);
          const tw_v_f32 t1_13 = l9;
          const tw_v_f32 t1_14 = 0.12667479f * t1_13;
          const tw_v_f32 l10 = *(const tw_u_f32 *)(r5 + (j - 1));
          const tw_v_f32 t1_16 = l10;
          const tw_v_f32 t1_17 = 0.1278928f * t1_16;
          const tw_v_f32 l11 = *(const tw_u_f32 *)(r5 + (j + 1));
          const tw_v_f32 t1_19 = l11;
          const tw_v_f32 t1_20 = 0.12911084f * t1_19;
          const tw_v_f32 t1_21 = t1_2 + t1_5;
          const tw_v_f32 t1_22 = t1_21 + t1_8;
          const tw_v_f32 t1_23 = t1_22 + t1_11;
          const tw_v_f32 t1_24 = t1_23 + t1_14;
          const tw_v_f32 t1_25 = t1_24 + t1_17;
          const tw_v_f32 t1_26 = t1_25 + t1_20;
          *(tw_u_f32 *)(w0 + j) = t0_26;
          *(tw_u_f32 *)(w1 + j) = t1_26;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
      if (a2 < start) {
        tw_j3d7pt_cells_0(field, size, scalar, constant, t, x0, x1, a2, start);
        tw_j3d7pt_cells_0(field, size, scalar, constant, t, x0 + 1, x1, a2, start);
      }
      if (stop < b2) {
        tw_j3d7pt_cells_0(field, size, scalar, constant, t, x0, x1, stop, b2);
        tw_j3d7pt_cells_0(field, size, scalar, constant, t, x0 + 1, x1, stop, b2);
      }
    }
  }
  for (int64_t x0 = whole; x0 < b0; ++x0) {
    for (int64_t row = a1; row < b1; ++row) {
      const int64_t x1 = tw_opaque(row);
      const float *const r0 = (v_u + ((x0 - 1) * s0)) + (x1 * s1);
      const float *const r1 = (v_u + (x0 * s0)) + ((x1 - 1) * s1);
      const float *const r2 = (v_u + (x0 * s0)) + (x1 * s1);
      const float *const r3 = (v_u + (x0 * s0)) + ((x1 + 1) * s1);
      const float *const r4 = (v_u + ((x0 + 1) * s0)) + (x1 * s1);
      float *const w0 = (target + (x0 * s0)) + (x1 * s1);
      {
        int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
        for (int64_t i = begin; i < end; i += TW_LANES_F32) {
          const tw_v_f32 l0 = *(const tw_u_f32 *)(r2 + j);
          const tw_v_f32 t0_1 = l0;
          const tw_v_f32 t0_2 = 0.24360536f * t0_1;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 t0_4 = l1;
          const tw_v_f32 t0_5 = 0.12302071f * t0_4;
          const tw_v_f32 l2 = *(const tw_u_f32 *)(r4 + j);
          const tw_v_f32 t0_7 = l2;
          const tw_v_f32 t0_8 = 0.12423874f * t0_7;
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + j);
          const tw_v_f32 t0_10 = l3;
          const tw_v_f32 t0_11 = 0.12545677f * t0_10;
          const tw_v_f32 l4 = *(const tw_u_f32 *)(r3 + j);
          const tw_v_f32 t0_13 = l4;
          const tw_v_f32 t0_14 = 0.12667479f * t0_13;
          const tw_v_f32 l5 = *(const tw_u_f32 *)(r2 + (j - 1));
          const tw_v_f32 t0_16 = l5;
          const tw_v_f32 t0_17 = 0.1278928f * t0_16;
          const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j + 1));
          const tw_v_f32 t0_19 = l6;
          const tw_v_f32 t0_20 = 0.12911084f * t0_19;
          const tw_v_f32 t0_21 = t0_2 + t0_5;
          const tw_v_f32 t0_22 = t0_21 + t0_8;
          const tw_v_f32 t0_23 = t0_22 + t0_11;
          const tw_v_f32 t0_24 = t0_23 + t0_14;
          const tw_v_f32 t0_25 = t0_24 + t0_17;
          const tw_v_f32 t0_26 = t0_25 + t0_20;
          *(tw_u_f32 *)(w0 + j) = t0_26;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
      if (a2 < start) {
        tw_j3d7pt_cells_0(field, size, scalar, constant, t, x0, x1, a2, start);
      }
      if (stop < b2) {
        tw_j3d7pt_cells_0(field, size, scalar, constant, t, x0, x1, stop, b2);
      }
    }
  }
}
