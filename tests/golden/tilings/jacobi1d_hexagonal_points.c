/* jacobi1d, float32, boundary fixed, tiling hexagonal:t=2,s=4, sources and receivers
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), omp_get_thread_num(),
     tw_thread(), tw_jacobi1d_cells_0(), tw_jacobi1d_box_0_values_short(), tw_jacobi1d_box_0_values_long(),
     tw_jacobi1d_box_0_values(), tw_jacobi1d() */

static __attribute__((noinline)) void tw_jacobi1d_points_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, const int64_t *const *points, int64_t t, int64_t low0,
    int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  float *const target = field[0] + (((t + 1) % 2) * slot);
  {
    const int64_t steps = size[0];
    const int64_t *const rows = points[0];
    const int64_t *const cells = points[1];
    float *const numbers = ((float *)constant[1]) + t;
    const int64_t a0 = tw_max(low0, 0);
    const int64_t b0 = tw_min(high0, n0);
    if (a0 < b0) {
      const int64_t first = rows[a0 / 64];
      const int64_t last = rows[((b0 - 1) / 64) + 1];
      for (int64_t k = first; k < last; ++k) {
        const int64_t at = cells[k];
        if ((at >= a0) & (at < b0)) {
          target[at] = target[at] + numbers[k * steps];
        }
      }
    }
  }
  {
    const int64_t steps = size[0];
    const int64_t *const rows = points[2];
    const int64_t *const cells = points[3];
    float *const numbers = ((float *)constant[2]) + t;
    const int64_t a0 = tw_max(low0, 0);
    const int64_t b0 = tw_min(high0, n0);
    if (a0 < b0) {
      const int64_t first = rows[a0 / 64];
      const int64_t last = rows[((b0 - 1) / 64) + 1];
      for (int64_t k = first; k < last; ++k) {
        const int64_t at = cells[k];
        if ((at >= a0) & (at < b0)) {
          numbers[k * steps] = target[at];
        }
      }
    }
  }
}

static void tw_jacobi1d_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, const int64_t *const *points, int64_t t, int64_t low0, int64_t high0) {
  tw_jacobi1d_box_0_values(field, size, scalar, constant, points, t, low0, high0);
  tw_jacobi1d_points_0(field, size, scalar, constant, points, t, low0, high0);
}
