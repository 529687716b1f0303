/* jacobi1d, float32, boundary ((fixed, mirror)), tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), omp_get_thread_num(),
     tw_thread(), tw_jacobi1d_box_0_long(), tw_jacobi1d_box_0(), tw_jacobi1d() */

static inline float tw_jacobi1d_cell_0(const float *row, int64_t x, int64_t n) {
  return row[((x >= n) ? tw_min(tw_floormod(x, tw_max(1, ((n * 2) - 2))), (tw_max(1, ((n * 2) - 2)) - tw_floormod(x, tw_max(1, ((n * 2) - 2))))) : x)];
}

static void tw_jacobi1d_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t0 = tw_jacobi1d_cell_0(r0, x - 1, n0);
    const float t1 = r0[x];
    const float t2 = t0 + t1;
    const float t3 = tw_jacobi1d_cell_0(r0, x + 1, n0);
    const float t4 = t2 + t3;
    const float t6 = t4 * 0.33333334f;
    w0[x] = t6;
  }
}

static __attribute__((noinline)) void tw_jacobi1d_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, n0);
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b0);
  const int64_t end = stop;
  const float *const r0 = v_u;
  float *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
    for (int64_t i = begin; i < end; i += TW_LANES_F32) {
      const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
      const tw_v_f32 t0_0 = l0;
      const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
      const tw_v_f32 t0_1 = l1;
      const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
      const tw_v_f32 t0_2 = l2;
      const tw_v_f32 t0_3 = t0_0 + t0_1;
      const tw_v_f32 t0_4 = t0_3 + t0_2;
      const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
      *(tw_u_f32 *)(w0 + j) = t0_6;
      j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
    }
  }
  if (a0 < start) {
    tw_jacobi1d_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_jacobi1d_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}
