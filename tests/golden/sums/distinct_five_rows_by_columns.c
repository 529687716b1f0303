/* distinct, float32, boundary fixed, tiling hybrid:t=2,s=8x16,rows=5
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_flush(), tw_restore(),
     tw_fresh_v_f32(), tw_hold_v_f32(), tw_opaque(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(),
     tw_distinct_cells_0(), tw_distinct() */

static __attribute__((noinline)) void tw_distinct_box_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t first = tw_max(a1, 1);
  const int64_t last = tw_min(b1, (n1 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b1);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b1);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b1);
  const int64_t end = stop;
  const int64_t whole = a0 + (tw_max((b0 - a0), 0) - (tw_max((b0 - a0), 0) % 5));
  for (int64_t row = a0; row < whole; row += 5) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    const float *const r3 = v_u + ((x0 + 2) * s0);
    const float *const r4 = v_u + ((x0 + 3) * s0);
    const float *const r5 = v_u + ((x0 + 4) * s0);
    const float *const r6 = v_u + ((x0 + 5) * s0);
    float *const w0 = target + (x0 * s0);
    float *const w1 = target + ((x0 + 1) * s0);
    float *const w2 = target + ((x0 + 2) * s0);
    float *const w3 = target + ((x0 + 3) * s0);
    float *const w4 = target + ((x0 + 4) * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        const tw_v_f32 s0_1 = tw_fresh_v_f32(tw_splat_v_f32(0.1f));
        const tw_v_f32 s0_2 = tw_fresh_v_f32(tw_splat_v_f32(0.4f));
        const tw_v_f32 s0_3 = tw_fresh_v_f32(tw_splat_v_f32(0.7f));
        const tw_v_f32 l0 = tw_hold_v_f32(*(const tw_u_f32 *)(r0 + (j - 1)));
        const tw_v_f32 s0_4 = tw_hold_v_f32((s0_1 * l0));
        const tw_v_f32 l3 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + (j - 1)));
        const tw_v_f32 s0_5 = tw_hold_v_f32((s0_4 + (s0_2 * l3)));
        const tw_v_f32 s0_6 = tw_hold_v_f32((s0_1 * l3));
        const tw_v_f32 l6 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + (j - 1)));
        const tw_v_f32 s0_7 = tw_hold_v_f32((s0_5 + (s0_3 * l6)));
        const tw_v_f32 s0_8 = tw_hold_v_f32((s0_6 + (s0_2 * l6)));
        const tw_v_f32 s0_9 = tw_hold_v_f32((s0_1 * l6));
        const tw_v_f32 l9 = tw_hold_v_f32(*(const tw_u_f32 *)(r3 + (j - 1)));
        const tw_v_f32 s0_10 = tw_hold_v_f32((s0_8 + (s0_3 * l9)));
        const tw_v_f32 s0_11 = tw_hold_v_f32((s0_9 + (s0_2 * l9)));
        const tw_v_f32 s0_12 = tw_hold_v_f32((s0_1 * l9));
        const tw_v_f32 l12 = tw_hold_v_f32(*(const tw_u_f32 *)(r4 + (j - 1)));
        const tw_v_f32 s0_13 = tw_hold_v_f32((s0_11 + (s0_3 * l12)));
        const tw_v_f32 s0_14 = tw_hold_v_f32((s0_12 + (s0_2 * l12)));
        const tw_v_f32 s0_15 = tw_hold_v_f32((s0_1 * l12));
        const tw_v_f32 l15 = tw_hold_v_f32(*(const tw_u_f32 *)(r5 + (j - 1)));
        const tw_v_f32 s0_16 = tw_hold_v_f32((s0_14 + (s0_3 * l15)));
        const tw_v_f32 s0_17 = tw_hold_v_f32((s0_15 + (s0_2 * l15)));
        const tw_v_f32 l18 = tw_hold_v_f32(*(const tw_u_f32 *)(r6 + (j - 1)));
        const tw_v_f32 s0_18 = tw_hold_v_f32((s0_17 + (s0_3 * l18)));
        const tw_v_f32 s0_19 = tw_fresh_v_f32(tw_splat_v_f32(0.2f));
        const tw_v_f32 s0_20 = tw_fresh_v_f32(tw_splat_v_f32(0.5f));
        const tw_v_f32 s0_21 = tw_fresh_v_f32(tw_splat_v_f32(0.8f));
        const tw_v_f32 l1 = tw_hold_v_f32(*(const tw_u_f32 *)(r0 + j));
        const tw_v_f32 s0_22 = tw_hold_v_f32((s0_7 + (s0_19 * l1)));
        const tw_v_f32 l4 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + j));
        const tw_v_f32 s0_23 = tw_hold_v_f32((s0_22 + (s0_20 * l4)));
        const tw_v_f32 s0_24 = tw_hold_v_f32((s0_10 + (s0_19 * l4)));
        const tw_v_f32 l7 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + j));
        const tw_v_f32 s0_25 = tw_hold_v_f32((s0_23 + (s0_21 * l7)));
        const tw_v_f32 s0_26 = tw_hold_v_f32((s0_24 + (s0_20 * l7)));
        const tw_v_f32 s0_27 = tw_hold_v_f32((s0_13 + (s0_19 * l7)));
        const tw_v_f32 l10 = tw_hold_v_f32(*(const tw_u_f32 *)(r3 + j));
        const tw_v_f32 s0_28 = tw_hold_v_f32((s0_26 + (s0_21 * l10)));
        const tw_v_f32 s0_29 = tw_hold_v_f32((s0_27 + (s0_20 * l10)));
        const tw_v_f32 s0_30 = tw_hold_v_f32((s0_16 + (s0_19 * l10)));
        const tw_v_f32 l13 = tw_hold_v_f32(*(const tw_u_f32 *)(r4 + j));
        const tw_v_f32 s0_31 = tw_hold_v_f32((s0_29 + (s0_21 * l13)));
        const tw_v_f32 s0_32 = tw_hold_v_f32((s0_30 + (s0_20 * l13)));
        const tw_v_f32 s0_33 = tw_hold_v_f32((s0_18 + (s0_19 * l13)));
        const tw_v_f32 l16 = tw_hold_v_f32(*(const tw_u_f32 *)(r5 + j));
        const tw_v_f32 s0_34 = tw_hold_v_f32((s0_32 + (s0_21 * l16)));
        const tw_v_f32 s0_35 = tw_hold_v_f32((s0_33 + (s0_20 * l16)));
        const tw_v_f32 l19 = tw_hold_v_f32(*(const tw_u_f32 *)(r6 + j));
        const tw_v_f32 s0_36 = tw_hold_v_f32((s0_35 + (s0_21 * l19)));
        const tw_v_f32 s0_37 = tw_fresh_v_f32(tw_splat_v_f32(0.3f));
        const tw_v_f32 s0_38 = tw_fresh_v_f32(tw_splat_v_f32(0.6f));
        const tw_v_f32 s0_39 = tw_fresh_v_f32(tw_splat_v_f32(0.9f));
        const tw_v_f32 l2 = tw_hold_v_f32(*(const tw_u_f32 *)(r0 + (j + 1)));
        const tw_v_f32 s0_40 = tw_hold_v_f32((s0_25 + (s0_37 * l2)));
        const tw_v_f32 l5 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + (j + 1)));
        const tw_v_f32 s0_41 = tw_hold_v_f32((s0_40 + (s0_38 * l5)));
        const tw_v_f32 s0_42 = tw_hold_v_f32((s0_28 + (s0_37 * l5)));
        const tw_v_f32 l8 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + (j + 1)));
        const tw_v_f32 s0_43 = tw_hold_v_f32((s0_41 + (s0_39 * l8)));
        const tw_v_f32 s0_44 = tw_hold_v_f32((s0_42 + (s0_38 * l8)));
        const tw_v_f32 s0_45 = tw_hold_v_f32((s0_31 + (s0_37 * l8)));
        const tw_v_f32 l11 = tw_hold_v_f32(*(const tw_u_f32 *)(r3 + (j + 1)));
        const tw_v_f32 s0_46 = tw_hold_v_f32((s0_44 + (s0_39 * l11)));
        const tw_v_f32 s0_47 = tw_hold_v_f32((s0_45 + (s0_38 * l11)));
        const tw_v_f32 s0_48 = tw_hold_v_f32((s0_34 + (s0_37 * l11)));
        const tw_v_f32 l14 = tw_hold_v_f32(*(const tw_u_f32 *)(r4 + (j + 1)));
        const tw_v_f32 s0_49 = tw_hold_v_f32((s0_47 + (s0_39 * l14)));
        const tw_v_f32 s0_50 = tw_hold_v_f32((s0_48 + (s0_38 * l14)));
        const tw_v_f32 s0_51 = tw_hold_v_f32((s0_36 + (s0_37 * l14)));
        const tw_v_f32 l17 = tw_hold_v_f32(*(const tw_u_f32 *)(r5 + (j + 1)));
        const tw_v_f32 s0_52 = tw_hold_v_f32((s0_50 + (s0_39 * l17)));
        const tw_v_f32 s0_53 = tw_hold_v_f32((s0_51 + (s0_38 * l17)));
        const tw_v_f32 l20 = tw_hold_v_f32(*(const tw_u_f32 *)(r6 + (j + 1)));
        const tw_v_f32 s0_54 = tw_hold_v_f32((s0_53 + (s0_39 * l20)));
        *(tw_u_f32 *)(w0 + j) = s0_43;
        *(tw_u_f32 *)(w1 + j) = s0_46;
        *(tw_u_f32 *)(w2 + j) = s0_49;
        *(tw_u_f32 *)(w3 + j) = s0_52;
        *(tw_u_f32 *)(w4 + j) = s0_54;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_distinct_cells_0(field, size, scalar, constant, t, x0, a1, start);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 1, a1, start);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 2, a1, start);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 3, a1, start);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 4, a1, start);
    }
    if (stop < b1) {
      tw_distinct_cells_0(field, size, scalar, constant, t, x0, stop, b1);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 1, stop, b1);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 2, stop, b1);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 3, stop, b1);
      tw_distinct_cells_0(field, size, scalar, constant, t, x0 + 4, stop, b1);
    }
  }
  for (int64_t row = whole; row < b0; ++row) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    float *const w0 = target + (x0 * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
        const tw_v_f32 s0_1 = 0.1f * l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 s0_2 = s0_1 + (0.2f * l1);
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
        const tw_v_f32 s0_3 = s0_2 + (0.3f * l2);
        const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j - 1));
        const tw_v_f32 s0_4 = s0_3 + (0.4f * l3);
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r1 + j);
        const tw_v_f32 s0_5 = s0_4 + (0.5f * l4);
        const tw_v_f32 l5 = *(const tw_u_f32 *)(r1 + (j + 1));
        const tw_v_f32 s0_6 = s0_5 + (0.6f * l5);
        const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j - 1));
        const tw_v_f32 s0_7 = s0_6 + (0.7f * l6);
        const tw_v_f32 l7 = *(const tw_u_f32 *)(r2 + j);
        const tw_v_f32 s0_8 = s0_7 + (0.8f * l7);
        const tw_v_f32 l8 = *(const tw_u_f32 *)(r2 + (j + 1));
        const tw_v_f32 s0_9 = s0_8 + (0.9f * l8);
        *(tw_u_f32 *)(w0 + j) = s0_9;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_distinct_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_distinct_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}
