/* scaled, float16, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F16, tw_get_f16(), tw_put_f16(), tw_load_f16(), tw_store_f16(), TW_LANES_F32, TW_MIX,
     tw_pick_f16(), tw_last(), tw_wanted(), tw_goes_on(), tw_beside_high_1_v_f16(), tw_beside_low_1_v_f16(),
     omp_get_thread_num(), tw_thread(), tw_scaled_box_0_long(), tw_scaled_box_0(), tw_scaled() */

static void tw_scaled_cells_0(uint16_t *const *field, const int64_t *size, const float *scalar,
    const uint16_t *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const uint16_t *const v_u = field[0] + ((t % 2) * slot);
  uint16_t *const target = field[0] + (((t + 1) % 2) * slot);
  const float c_a = scalar[0];
  const float c_b = scalar[1];
  const uint16_t *const r0 = v_u;
  uint16_t *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t1 = tw_get_f16(r0[x - 1]);
    const float t2 = tw_get_f16(r0[x + 1]);
    const float t3 = t1 + t2;
    const float t4 = c_a * t3;
    const float t6 = tw_get_f16(r0[x]);
    const float t7 = c_b * t6;
    const float t8 = t4 + t7;
    w0[x] = tw_put_f16(t8);
  }
}

static __attribute__((noinline)) void tw_scaled_box_0_short(uint16_t *const *field, const int64_t *size,
    const float *scalar, const uint16_t *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const uint16_t *const v_u = field[0] + ((t % 2) * slot);
  uint16_t *const target = field[0] + (((t + 1) % 2) * slot);
  const float c_a = scalar[0];
  const float c_b = scalar[1];
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F16) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F16) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_F16) ? (first - (first % TW_LANES_F16)) : b0);
  const int64_t end = stop;
  const uint16_t *const r0 = v_u;
  uint16_t *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F16)));
    for (int64_t i = begin; i < end; i += TW_LANES_F16) {
      const tw_v_f16 l0 = tw_load_f16(*(const tw_u_f16 *)(r0 + (j - 1)));
      const tw_v_f16 t0_1 = l0;
      const tw_v_f16 l1 = tw_load_f16(*(const tw_u_f16 *)(r0 + (j + 1)));
      const tw_v_f16 t0_2 = l1;
      const tw_v_f16 t0_3 = t0_1 + t0_2;
      const tw_v_f16 t0_4 = c_a * t0_3;
      const tw_v_f16 l2 = tw_load_f16(*(const tw_u_f16 *)(r0 + j));
      const tw_v_f16 t0_6 = l2;
      const tw_v_f16 t0_7 = c_b * t0_6;
      const tw_v_f16 t0_8 = t0_4 + t0_7;
      *(tw_u_f16 *)(w0 + j) = tw_store_f16(t0_8);
      j = tw_min((i + TW_LANES_F16), (stop - TW_LANES_F16));
    }
  }
  if (a0 < start) {
    tw_scaled_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_scaled_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}
