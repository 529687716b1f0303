/* jacobi2d, float32, boundary ((nearest, constant:1), (fixed, mirror)), tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_jacobi2d_ahead_0(), tw_jacobi2d_load_0(), tw_jacobi2d_store_0(), tw_jacobi2d_stage_0(),
     tw_jacobi2d_tile(), tw_jacobi2d() */

/* Ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors. */
static inline void tw_jacobi2d_ends_0(float *row, const float *old, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  if (edge) {
    if (gx <= 0) {
      for (int64_t x = 0; x < 1; ++x) {
        row[(((x - gx) % vectors) * V) + ((x - gx) / vectors)] = old[(((x - gx) % vectors) * V) + ((x - gx) / vectors)];
      }
    }
    if ((n - gx) < 32) {
      row[(((n - gx) % vectors) * V) + ((n - gx) / vectors)] = row[((tw_max(((n - gx) - 2), 0) % vectors) * V) + (tw_max(((n - gx) - 2), 0) / vectors)];
    }
  }
  tw_wrap_f32(row, vectors, 1, 1);
}

/* Rows that keep their values, and rows outside the grid. */
static __attribute__((noinline)) void tw_jacobi2d_border_0(float *u_out_passing, float *u_out_fresh,
    float *u_out_older, const float *u_now_passing, const float *u_now_fresh, const float *u_now_older, int64_t y0,
    int64_t fresh, int64_t n0, int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  if (((((-1) - y0) >= (-2)) & (((-1) - y0) < 1)) & (((0 - y0) >= (-2)) & ((0 - y0) < 1))) {
    const int64_t to = (-1) - y0;
    const int64_t from = 0 - y0;
    tw_copy_f32(((to < 0) ? (u_out_older + ((to + 2) * slab)) : ((to < (-1)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 1) * slab)))) - (1 * V), ((from < 0) ? (u_out_older + ((from + 2) * slab)) : ((from < (-1)) ? (u_out_passing + (from * slab)) : (u_out_fresh + ((from + 1) * slab)))) - (1 * V), slab);
  }
  if (((n0 - y0) >= (-2)) & ((n0 - y0) < 1)) {
    const int64_t to = n0 - y0;
    float *const slab_out = ((to < 0) ? (u_out_older + ((to + 2) * slab)) : ((to < (-1)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 1) * slab))));
    tw_fill_f32(slab_out - (1 * V), 1.0f, slab);
    for (int64_t line = 0; line < 1; ++line) {
      tw_jacobi2d_ends_0(slab_out + (line * pitch), slab_out + (line * pitch), gx, n, edge);
    }
  }
}

/* The cells of a row of memory, copied where some of them would lie outside the array. */
static __attribute__((noinline)) const float *tw_jacobi2d_fetch(float *spare, const float *base,
    const float *line, int64_t gx, int64_t n, int64_t cells) {
  const int64_t low = tw_max(gx, 0);
  const int64_t high = tw_min((gx + 32), n);
  const int64_t start = (line - base) + gx;
  const int64_t whole = (start >= 0) & ((start + 48) <= cells);
  if (whole == 0) {
    tw_copy_f32(spare + (low - gx), line + low, high - low);
  }
  return (whole ? (line + gx) : spare);
}
