/* jacobi2d, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=1, sums near the sides
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_jacobi2d_ends_0(), tw_jacobi2d_border_0(), tw_jacobi2d_fetch(), tw_jacobi2d_ahead_0(),
     tw_jacobi2d_load_0(), tw_jacobi2d_store_0(), tw_jacobi2d_stage_0(), tw_jacobi2d_tile(), tw_jacobi2d() */

/* Adds the sources of u to the rows of one advance, and records the tile's own cells. */
static __attribute__((noinline)) void tw_jacobi2d_points_0(const int64_t *size,
    const float *const *constant, const int64_t *const *points, int64_t t, float *u_out_passing, float *u_out_fresh,
    float *spare, int64_t y0, int64_t n0, int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge, int64_t ya,
    int64_t yb, int64_t za, int64_t zb, int64_t x0, int64_t x1) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  {
    float *const sums = ((float *)constant[1]);
    const int64_t face_low0 = tw_min(n0, 1);
    const int64_t face_high0 = tw_max(face_low0, (n0 - 2));
    float *const face0 = sums;
    const int64_t face0_by1 = 1;
    const int64_t face0_by0 = face0_by1 * n;
    const int64_t face_low1 = tw_min(n, 1);
    const int64_t face_high1 = tw_max(face_low1, (n - 2));
    float *const face1 = face0 + (face0_by0 * (face_low0 + (n0 - face_high0)));
    const int64_t face1_by1 = 1;
    const int64_t face1_by0 = face1_by1 * (face_low1 + (n - face_high1));
    const int64_t first0 = tw_max(ya, 1);
    const int64_t end0 = tw_min(yb, (n0 - 1));
    const int64_t first1 = tw_max(x0, 1);
    const int64_t end1 = tw_min(x1, (n - 1));
    if ((y0 >= first0) & (y0 < tw_min(end0, face_low0))) {
      tw_lower_f32(spare, u_out_fresh + slab, vectors);
      for (int64_t x = first1; x < end1; ++x) {
        ((face0 + (y0 * face0_by0)) + (x * face0_by1))[0] = ((face0 + (y0 * face0_by0)) + (x * face0_by1))[0] + spare[x - gx];
      }
    }
    if ((y0 >= tw_max(first0, face_high0)) & (y0 < end0)) {
      tw_lower_f32(spare, u_out_fresh + slab, vectors);
      for (int64_t x = first1; x < end1; ++x) {
        ((face0 + ((y0 - (face_high0 - face_low0)) * face0_by0)) + (x * face0_by1))[0] = ((face0 + ((y0 - (face_high0 - face_low0)) * face0_by0)) + (x * face0_by1))[0] + spare[x - gx];
      }
    }
    for (int64_t x = first1; x < tw_min(end1, face_low1); ++x) {
      const int64_t at = (((x - gx) % vectors) * V) + ((x - gx) / vectors);
      if ((y0 >= first0) & (y0 < end0)) {
        ((face1 + (y0 * face1_by0)) + (x * face1_by1))[0] = ((face1 + (y0 * face1_by0)) + (x * face1_by1))[0] + (u_out_fresh + slab)[at];
      }
    }
    for (int64_t x = tw_max(first1, face_high1); x < end1; ++x) {
      const int64_t at = (((x - gx) % vectors) * V) + ((x - gx) / vectors);
      if ((y0 >= first0) & (y0 < end0)) {
        ((face1 + (y0 * face1_by0)) + ((x - (face_high1 - face_low1)) * face1_by1))[0] = ((face1 + (y0 * face1_by0)) + ((x - (face_high1 - face_low1)) * face1_by1))[0] + (u_out_fresh + slab)[at];
      }
    }
  }
}
