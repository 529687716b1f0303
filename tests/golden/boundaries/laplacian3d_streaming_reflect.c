/* laplacian3d, float32, boundary reflect, tiling streaming:t=2,s=4x8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_laplacian3d_fetch(), tw_laplacian3d_load_0(), tw_laplacian3d_store_0(), tw_laplacian3d_stage_0(),
     tw_laplacian3d_tile(), tw_laplacian3d() */

/* Ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors. */
static inline void tw_laplacian3d_ends_0(float *row, const float *old, int64_t gx, int64_t n,
    int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  if (edge) {
    if (gx <= (-1)) {
      row[((((-1) - gx) % vectors) * V) + (((-1) - gx) / vectors)] = row[(((0 - gx) % vectors) * V) + ((0 - gx) / vectors)];
    }
    if ((n - gx) < 32) {
      row[(((n - gx) % vectors) * V) + ((n - gx) / vectors)] = row[((tw_max(((n - gx) - 1), 0) % vectors) * V) + (tw_max(((n - gx) - 1), 0) / vectors)];
    }
  }
  tw_wrap_f32(row, vectors, 1, 1);
}

/* First and last rows of a plane: those that keep their values, and those outside the grid. */
static __attribute__((noinline)) void tw_laplacian3d_brim_0(float *plane, const float *old, int64_t fresh,
    int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  if (gy <= (-1)) {
    tw_copy_f32((plane + (((-1) - gy) * pitch)) - (1 * V), (plane + ((0 - gy) * pitch)) - (1 * V), pitch);
  }
  if ((n1 - gy) < 12) {
    tw_copy_f32((plane + ((n1 - gy) * pitch)) - (1 * V), (plane + ((tw_max((n1 - 1), gy) - gy) * pitch)) - (1 * V), pitch);
  }
}

/* Rows that keep their values, and rows outside the grid. */
static __attribute__((noinline)) void tw_laplacian3d_border_0(float *u_out_passing, float *u_out_fresh,
    float *u_out_older, const float *u_now_passing, const float *u_now_fresh, const float *u_now_older, int64_t y0,
    int64_t fresh, int64_t n0, int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch * 12;
  if ((y0 >= 0) & (y0 < n0)) {
    tw_laplacian3d_brim_0(u_out_fresh + slab, u_now_older + slab, fresh, n1, n, gx, gy, edge);
  }
  if (((((-1) - y0) >= (-2)) & (((-1) - y0) < 1)) & (((0 - y0) >= (-2)) & ((0 - y0) < 1))) {
    const int64_t to = (-1) - y0;
    const int64_t from = 0 - y0;
    tw_copy_f32(((to < 0) ? (u_out_older + ((to + 2) * slab)) : ((to < (-1)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 1) * slab)))) - (1 * V), ((from < 0) ? (u_out_older + ((from + 2) * slab)) : ((from < (-1)) ? (u_out_passing + (from * slab)) : (u_out_fresh + ((from + 1) * slab)))) - (1 * V), slab);
  }
  if ((((n0 - y0) >= (-2)) & ((n0 - y0) < 1)) & ((((n0 - 1) - y0) >= (-2)) & (((n0 - 1) - y0) < 1))) {
    const int64_t to = n0 - y0;
    const int64_t from = (n0 - 1) - y0;
    tw_copy_f32(((to < 0) ? (u_out_older + ((to + 2) * slab)) : ((to < (-1)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 1) * slab)))) - (1 * V), ((from < 0) ? (u_out_older + ((from + 2) * slab)) : ((from < (-1)) ? (u_out_passing + (from * slab)) : (u_out_fresh + ((from + 1) * slab)))) - (1 * V), slab);
  }
}
