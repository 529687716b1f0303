/* heat2d, float32, boundary fixed, tiling hybrid:t=2,s=4x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_hold_v_f32(),
     tw_opaque(), omp_get_thread_num(), tw_thread(), tw_heat2d_cells_0(), tw_heat2d_box_0_long(),
     tw_heat2d_box_0(), tw_heat2d() */

static __attribute__((noinline)) void tw_heat2d_box_0_short(float *const *field, const int64_t *size,
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
  const int64_t whole = a0 + (tw_max((b0 - a0), 0) - (tw_max((b0 - a0), 0) % 2));
  for (int64_t row = a0; row < whole; row += 2) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    const float *const r3 = v_u + ((x0 + 2) * s0);
    float *const w0 = target + (x0 * s0);
    float *const w1 = target + ((x0 + 1) * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l3 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + (j - 1)));
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l4 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + j));
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 l5 = tw_hold_v_f32(*(const tw_u_f32 *)(r1 + (j + 1)));
        const tw_v_f32 t0_5 = l5;
        const tw_v_f32 l6 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + (j - 1)));
        const tw_v_f32 t0_6 = l6;
        const tw_v_f32 l7 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + j));
        const tw_v_f32 t0_7 = l7;
        const tw_v_f32 l8 = tw_hold_v_f32(*(const tw_u_f32 *)(r2 + (j + 1)));
        const tw_v_f32 t0_8 = l8;
        const tw_v_f32 t0_9 = t0_0 + t0_1;
        const tw_v_f32 t0_10 = t0_9 + t0_2;
        const tw_v_f32 t0_11 = t0_3 + t0_4;
        const tw_v_f32 t0_12 = t0_11 + t0_5;
        const tw_v_f32 t0_13 = t0_6 + t0_7;
        const tw_v_f32 t0_14 = t0_13 + t0_8;
        const tw_v_f32 t0_15 = t0_10 + t0_12;
        const tw_v_f32 t0_16 = t0_15 + t0_14;
        const tw_v_f32 t0_18 = t0_16 * 0.11111111f;
        const tw_v_f32 t1_0 = l3;
        const tw_v_f32 t1_1 = l4;
        const tw_v_f32 t1_2 = l5;
        const tw_v_f32 t1_3 = l6;
        const tw_v_f32 t1_4 = l7;
        const tw_v_f32 t1_5 = l8;
        const tw_v_f32 l9 = *(const tw_u_f32 *)(r3 + (j - 1));
        const tw_v_f32 t1_6 = l9;
        const tw_v_f32 l10 = *(const tw_u_f32 *)(r3 + j);
        const tw_v_f32 t1_7 = l10;
        const tw_v_f32 l11 = *(const tw_u_f32 *)(r3 + (j + 1));
        const tw_v_f32 t1_8 = l11;
        const tw_v_f32 t1_9 = t1_0 + t1_1;
        const tw_v_f32 t1_10 = t1_9 + t1_2;
        const tw_v_f32 t1_11 = t1_3 + t1_4;
        const tw_v_f32 t1_12 = t1_11 + t1_5;
        const tw_v_f32 t1_13 = t1_6 + t1_7;
        const tw_v_f32 t1_14 = t1_13 + t1_8;
        const tw_v_f32 t1_15 = t1_10 + t1_12;
        const tw_v_f32 t1_16 = t1_15 + t1_14;
        const tw_v_f32 t1_18 = t1_16 * 0.11111111f;
        *(tw_u_f32 *)(w0 + j) = t0_18;
        *(tw_u_f32 *)(w1 + j) = t1_18;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_heat2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
      tw_heat2d_cells_0(field, size, scalar, constant, t, x0 + 1, a1, start);
    }
    if (stop < b1) {
      tw_heat2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
      tw_heat2d_cells_0(field, size, scalar, constant, t, x0 + 1, stop, b1);
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
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j - 1));
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r1 + j);
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 l5 = *(const tw_u_f32 *)(r1 + (j + 1));
        const tw_v_f32 t0_5 = l5;
        const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j - 1));
        const tw_v_f32 t0_6 = l6;
        const tw_v_f32 l7 = *(const tw_u_f32 *)(r2 + j);
        const tw_v_f32 t0_7 = l7;
        const tw_v_f32 l8 = *(const tw_u_f32 *)(r2 + (j + 1));
        const tw_v_f32 t0_8 = l8;
        const tw_v_f32 t0_9 = t0_0 + t0_1;
        const tw_v_f32 t0_10 = t0_9 + t0_2;
        const tw_v_f32 t0_11 = t0_3 + t0_4;
        const tw_v_f32 t0_12 = t0_11 + t0_5;
        const tw_v_f32 t0_13 = t0_6 + t0_7;
        const tw_v_f32 t0_14 = t0_13 + t0_8;
        const tw_v_f32 t0_15 = t0_10 + t0_12;
        const tw_v_f32 t0_16 = t0_15 + t0_14;
        const tw_v_f32 t0_18 = t0_16 * 0.11111111f;
        *(tw_u_f32 *)(w0 + j) = t0_18;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_heat2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_heat2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}
