/* jacobi1d, float32, boundary constant:0.5, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_splat_v_f32(),
     omp_get_thread_num(), tw_thread(), tw_jacobi1d_box_0_short(), tw_jacobi1d_box_0_long(),
     tw_jacobi1d_box_0(), tw_jacobi1d() */

static inline float tw_jacobi1d_cell_0(const float *row, int64_t x, int64_t n) {
  return ((x >= n) ? 0.5f : ((x < 0) ? 0.5f : row[x]));
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
