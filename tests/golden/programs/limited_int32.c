/* limited, int32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_I32, TW_MIX, tw_pick_i32(), tw_abs_i32(), tw_abs_v_i32(), tw_last(), tw_wanted(),
     tw_goes_on(), tw_beside_high_1_v_i32(), tw_beside_low_1_v_i32(), tw_maximum_i32(), tw_maximum_v_i32(),
     tw_minimum_i32(), tw_minimum_v_i32(), tw_splat_v_i32(), omp_get_thread_num(), tw_thread(),
     tw_limited_box_0_long(), tw_limited() */

static void tw_limited_cells_0(int32_t *const *field, const int64_t *size, const int32_t *scalar,
    const int32_t *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const int32_t *const v_u = field[0] + ((t % 2) * slot);
  int32_t *const target = field[0] + (((t + 1) % 2) * slot);
  const int32_t *const r0 = v_u;
  int32_t *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const int32_t t0 = r0[x - 1];
    const int32_t t1 = r0[x + 1];
    const int32_t t2 = t0 + t1;
    const int32_t t4 = tw_minimum_i32(t2, 100);
    const int32_t t5 = r0[x];
    const int32_t t6 = tw_abs_i32(t5);
    const int32_t t7 = tw_maximum_i32(t4, t6);
    w0[x] = t7;
  }
}

static __attribute__((noinline)) void tw_limited_box_0_short(int32_t *const *field, const int64_t *size,
    const int32_t *scalar, const int32_t *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const int32_t *const v_u = field[0] + ((t % 2) * slot);
  int32_t *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_I32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_I32) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_I32) ? (first - (first % TW_LANES_I32)) : b0);
  const int64_t end = stop;
  const int32_t *const r0 = v_u;
  int32_t *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_I32)));
    for (int64_t i = begin; i < end; i += TW_LANES_I32) {
      const tw_v_i32 l0 = *(const tw_u_i32 *)(r0 + (j - 1));
      const tw_v_i32 t0_0 = l0;
      const tw_v_i32 l1 = *(const tw_u_i32 *)(r0 + (j + 1));
      const tw_v_i32 t0_1 = l1;
      const tw_v_i32 t0_2 = t0_0 + t0_1;
      const tw_v_i32 t0_4 = tw_minimum_v_i32(t0_2, tw_splat_v_i32(100));
      const tw_v_i32 l2 = *(const tw_u_i32 *)(r0 + j);
      const tw_v_i32 t0_5 = l2;
      const tw_v_i32 t0_6 = tw_abs_v_i32(t0_5);
      const tw_v_i32 t0_7 = tw_maximum_v_i32(t0_4, t0_6);
      *(tw_u_i32 *)(w0 + j) = t0_7;
      j = tw_min((i + TW_LANES_I32), (stop - TW_LANES_I32));
    }
  }
  if (a0 < start) {
    tw_limited_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_limited_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}

static inline void tw_limited_box_0(int32_t *const *field, const int64_t *size, const int32_t *scalar,
    const int32_t *const *constant, int64_t t, int64_t low0, int64_t high0) {
  if ((TW_BYTES == 64) & ((high0 - low0) >= (TW_LANES_I32 * 7))) {
    tw_limited_box_0_long(field, size, scalar, constant, t, low0, high0);
  } else {
    tw_limited_box_0_short(field, size, scalar, constant, t, low0, high0);
  }
}
