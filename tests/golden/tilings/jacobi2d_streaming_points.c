/* jacobi2d, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=1, sources and receivers
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_jacobi2d_ends_0(), tw_jacobi2d_border_0(), tw_jacobi2d_fetch(), tw_jacobi2d_ahead_0(),
     tw_jacobi2d_load_0(), tw_jacobi2d_store_0(), tw_jacobi2d_stage_0(), tw_jacobi2d_tile(), tw_jacobi2d() */

/* Adds the sources of u to the rows of one advance, and records the tile's own cells. */
static __attribute__((noinline)) void tw_jacobi2d_points_0(const int64_t *size,
    const float *const *constant, const int64_t *const *points, int64_t t, float *u_out_passing, float *u_out_fresh,
    int64_t y0, int64_t n0, int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge, int64_t ya, int64_t yb,
    int64_t za, int64_t zb, int64_t x0, int64_t x1) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  {
    const int64_t steps = size[0];
    const int64_t *const rows = points[0];
    const int64_t *const cells = points[1];
    float *const numbers = ((float *)constant[1]) + t;
    if ((y0 >= 0) & (y0 < n0)) {
      const int64_t first = rows[y0];
      const int64_t last = rows[y0 + 1];
      if (first < last) {
        float *const row_out = u_out_fresh + slab;
        for (int64_t k = first; k < last; ++k) {
          const int64_t at = cells[k];
          if ((at >= tw_max(gx, 0)) & (at < tw_min((gx + 32), n))) {
            row_out[(((at - gx) % vectors) * V) + ((at - gx) / vectors)] = row_out[(((at - gx) % vectors) * V) + ((at - gx) / vectors)] + numbers[k * steps];
          }
        }
        tw_jacobi2d_ends_0(row_out, row_out, gx, n, edge);
      }
    }
  }
  {
    const int64_t steps = size[0];
    const int64_t *const rows = points[2];
    const int64_t *const cells = points[3];
    float *const numbers = ((float *)constant[2]) + t;
    if ((y0 >= ya) & (y0 < yb)) {
      const int64_t first = rows[y0];
      const int64_t last = rows[y0 + 1];
      if (first < last) {
        float *const row_out = u_out_fresh + slab;
        for (int64_t k = first; k < last; ++k) {
          const int64_t at = cells[k];
          if ((at >= x0) & (at < x1)) {
            numbers[k * steps] = row_out[(((at - gx) % vectors) * V) + ((at - gx) / vectors)];
          }
        }
      }
    }
  }
}
