/* laplacian3d, float32, boundary fixed, tiling hybrid:t=2,s=4x8x16,rows=1, sources and receivers
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_opaque(),
     omp_get_thread_num(), tw_thread(), tw_laplacian3d_cells_0(), tw_laplacian3d_box_0_values_short(),
     tw_laplacian3d_box_0_values_long(), tw_laplacian3d_box_0_values(), tw_laplacian3d_box_0(),
     tw_laplacian3d() */

static __attribute__((noinline)) void tw_laplacian3d_points_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, const int64_t *const *points, int64_t t, int64_t low0,
    int64_t high0, int64_t low1, int64_t high1, int64_t low2, int64_t high2) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t n2 = size[4];
  const int64_t s0 = size[5];
  const int64_t s1 = size[6];
  const int64_t slot = size[7];
  float *const target = field[0] + (((t + 1) % 2) * slot);
  {
    const int64_t steps = size[0];
    const int64_t *const rows = points[0];
    const int64_t *const cells = points[1];
    float *const numbers = ((float *)constant[1]) + t;
    const int64_t a0 = tw_max(low0, 0);
    const int64_t b0 = tw_min(high0, n0);
    const int64_t a1 = tw_max(low1, 0);
    const int64_t b1 = tw_min(high1, n1);
    const int64_t a2 = tw_max(low2, 0);
    const int64_t b2 = tw_min(high2, n2);
    if (((a0 < b0) & (a1 < b1)) & (a2 < b2)) {
      for (int64_t x0 = a0; x0 < b0; ++x0) {
        const int64_t first = rows[(x0 * n1) + a1];
        const int64_t last = rows[(x0 * n1) + b1];
        if (first < last) {
          for (int64_t row = a1; row < b1; ++row) {
            const int64_t first = rows[(x0 * n1) + row];
            const int64_t last = rows[((x0 * n1) + row) + 1];
            float *const line = (target + (row * s1)) + (x0 * s0);
            for (int64_t k = first; k < last; ++k) {
              const int64_t at = cells[k];
              if ((at >= a2) & (at < b2)) {
                line[at] = line[at] + numbers[k * steps];
              }
            }
          }
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
    const int64_t a1 = tw_max(low1, 0);
    const int64_t b1 = tw_min(high1, n1);
    const int64_t a2 = tw_max(low2, 0);
    const int64_t b2 = tw_min(high2, n2);
    if (((a0 < b0) & (a1 < b1)) & (a2 < b2)) {
      for (int64_t x0 = a0; x0 < b0; ++x0) {
        const int64_t first = rows[(x0 * n1) + a1];
        const int64_t last = rows[(x0 * n1) + b1];
        if (first < last) {
          for (int64_t row = a1; row < b1; ++row) {
            const int64_t first = rows[(x0 * n1) + row];
            const int64_t last = rows[((x0 * n1) + row) + 1];
            float *const line = (target + (row * s1)) + (x0 * s0);
            for (int64_t k = first; k < last; ++k) {
              const int64_t at = cells[k];
              if ((at >= a2) & (at < b2)) {
                numbers[k * steps] = line[at];
              }
            }
          }
        }
      }
    }
  }
}
