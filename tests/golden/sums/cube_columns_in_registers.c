/* cube, float32, boundary fixed, tiling hybrid:t=2,s=4x8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_opaque(),
     omp_get_thread_num(), tw_thread(), tw_cube_cells_0(), tw_cube_box_0_long(), tw_cube_box_0(), tw_cube() */

static __attribute__((noinline)) void tw_cube_box_0_short(float *const *field, const int64_t *size,
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
  for (int64_t x0 = a0; x0 < b0; ++x0) {
    for (int64_t row = a1; row < b1; ++row) {
      const int64_t x1 = tw_opaque(row);
      const float *const r0 = (v_u + ((x0 - 1) * s0)) + ((x1 - 1) * s1);
      const float *const r1 = (v_u + ((x0 - 1) * s0)) + (x1 * s1);
      const float *const r2 = (v_u + ((x0 - 1) * s0)) + ((x1 + 1) * s1);
      const float *const r3 = (v_u + (x0 * s0)) + ((x1 - 1) * s1);
      const float *const r4 = (v_u + (x0 * s0)) + (x1 * s1);
      const float *const r5 = (v_u + (x0 * s0)) + ((x1 + 1) * s1);
      const float *const r6 = (v_u + ((x0 + 1) * s0)) + ((x1 - 1) * s1);
      const float *const r7 = (v_u + ((x0 + 1) * s0)) + (x1 * s1);
      const float *const r8 = (v_u + ((x0 + 1) * s0)) + ((x1 + 1) * s1);
      float *const w0 = (target + (x0 * s0)) + (x1 * s1);
      {
        int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
        for (int64_t i = begin; i < end; i += TW_LANES_F32) {
          const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
          const tw_v_f32 s0_1 = 0.01f * l0;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 s0_2 = 0.02f * l1;
          const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
          const tw_v_f32 s0_3 = s0_2 + (0.03f * l2);
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j - 1));
          const tw_v_f32 s0_4 = s0_1 + (0.04f * l3);
          const tw_v_f32 l4 = *(const tw_u_f32 *)(r1 + j);
          const tw_v_f32 s0_5 = s0_3 + (0.05f * l4);
          const tw_v_f32 l5 = *(const tw_u_f32 *)(r1 + (j + 1));
          const tw_v_f32 s0_6 = s0_4 + (0.06f * l5);
          const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j - 1));
          const tw_v_f32 s0_7 = s0_5 + (0.07f * l6);
          const tw_v_f32 l7 = *(const tw_u_f32 *)(r2 + j);
          const tw_v_f32 s0_8 = s0_6 + (0.08f * l7);
          const tw_v_f32 l8 = *(const tw_u_f32 *)(r2 + (j + 1));
          const tw_v_f32 s0_9 = s0_7 + (0.09f * l8);
          const tw_v_f32 l9 = *(const tw_u_f32 *)(r3 + (j - 1));
          const tw_v_f32 s0_10 = s0_8 + (0.1f * l9);
          const tw_v_f32 l10 = *(const tw_u_f32 *)(r3 + j);
          const tw_v_f32 s0_11 = s0_9 + (0.11f * l10);
          const tw_v_f32 l11 = *(const tw_u_f32 *)(r3 + (j + 1));
          const tw_v_f32 s0_12 = s0_10 + (0.12f * l11);
          const tw_v_f32 l12 = *(const tw_u_f32 *)(r4 + (j - 1));
          const tw_v_f32 s0_13 = s0_11 + (0.13f * l12);
          const tw_v_f32 l13 = *(const tw_u_f32 *)(r4 + j);
          const tw_v_f32 s0_14 = s0_12 + (0.14f * l13);
          const tw_v_f32 l14 = *(const tw_u_f32 *)(r4 + (j + 1));
          const tw_v_f32 s0_15 = s0_13 + (0.15f * l14);
          const tw_v_f32 l15 = *(const tw_u_f32 *)(r5 + (j - 1));
          const tw_v_f32 s0_16 = s0_14 + (0.16f * l15);
          const tw_v_f32 l16 = *(const tw_u_f32 *)(r5 + j);
          const tw_v_f32 s0_17 = s0_15 + (0.17f * l16);
          const tw_v_f32 l17 = *(const tw_u_f32 *)(r5 + (j + 1));
          const tw_v_f32 s0_18 = s0_16 + (0.18f * l17);
          const tw_v_f32 l18 = *(const tw_u_f32 *)(r6 + (j - 1));
          const tw_v_f32 s0_19 = s0_17 + (0.19f * l18);
          const tw_v_f32 l19 = *(const tw_u_f32 *)(r6 + j);
          const tw_v_f32 s0_20 = s0_18 + (0.2f * l19);
          const tw_v_f32 l20 = *(const tw_u_f32 *)(r6 + (j + 1));
          const tw_v_f32 s0_21 = s0_19 + (0.21f * l20);
          const tw_v_f32 l21 = *(const tw_u_f32 *)(r7 + (j - 1));
          const tw_v_f32 s0_22 = s0_20 + (0.22f * l21);
          const tw_v_f32 l22 = *(const tw_u_f32 *)(r7 + j);
          const tw_v_f32 s0_23 = s0_21 + (0.23f * l22);
          const tw_v_f32 l23 = *(const tw_u_f32 *)(r7 + (j + 1));
          const tw_v_f32 s0_24 = s0_22 + (0.24f * l23);
          const tw_v_f32 l24 = *(const tw_u_f32 *)(r8 + (j - 1));
          const tw_v_f32 s0_25 = s0_23 + (0.25f * l24);
          const tw_v_f32 l25 = *(const tw_u_f32 *)(r8 + j);
          const tw_v_f32 s0_26 = s0_24 + (0.26f * l25);
          const tw_v_f32 l26 = *(const tw_u_f32 *)(r8 + (j + 1));
          const tw_v_f32 s0_27 = s0_25 + (0.27f * l26);
          const tw_v_f32 s0_28 = s0_27 + s0_26;
          *(tw_u_f32 *)(w0 + j) = s0_28;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
      if (a2 < start) {
        tw_cube_cells_0(field, size, scalar, constant, t, x0, x1, a2, start);
      }
      if (stop < b2) {
        tw_cube_cells_0(field, size, scalar, constant, t, x0, x1, stop, b2);
      }
    }
  }
}
