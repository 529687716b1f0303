/* star2, float32, boundary nearest, tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_star2_fetch(), tw_star2_ahead_0(), tw_star2_load_0(), tw_star2_store_0(), tw_star2_stage_0(),
     tw_star2_tile(), tw_star2() */

/* Ends of a lifted row: cells that keep their values, cells outside the grid, shifted vectors. */
static inline void tw_star2_ends_0(float *row, const float *old, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  if (edge) {
    if (gx <= (-1)) {
      row[((((-1) - gx) % vectors) * V) + (((-1) - gx) / vectors)] = row[(((0 - gx) % vectors) * V) + ((0 - gx) / vectors)];
    }
    if (gx <= (-2)) {
      row[((((-2) - gx) % vectors) * V) + (((-2) - gx) / vectors)] = row[(((0 - gx) % vectors) * V) + ((0 - gx) / vectors)];
    }
    if ((n - gx) < 32) {
      row[(((n - gx) % vectors) * V) + ((n - gx) / vectors)] = row[((tw_max(((n - gx) - 1), 0) % vectors) * V) + (tw_max(((n - gx) - 1), 0) / vectors)];
    }
    if (((n + 1) - gx) < 32) {
      row[((((n + 1) - gx) % vectors) * V) + (((n + 1) - gx) / vectors)] = row[((tw_max(((n - gx) - 1), 0) % vectors) * V) + (tw_max(((n - gx) - 1), 0) / vectors)];
    }
  }
  tw_wrap_f32(row, vectors, 2, 2);
}

/* Rows that keep their values, and rows outside the grid. */
static __attribute__((noinline)) void tw_star2_border_0(float *u_out_passing, float *u_out_fresh,
    float *u_out_older, const float *u_now_passing, const float *u_now_fresh, const float *u_now_older, int64_t y0,
    int64_t fresh, int64_t n0, int64_t n1, int64_t n, int64_t gx, int64_t gy, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 4) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  if (((((-1) - y0) >= (-4)) & (((-1) - y0) < 1)) & (((0 - y0) >= (-4)) & ((0 - y0) < 1))) {
    const int64_t to = (-1) - y0;
    const int64_t from = 0 - y0;
    tw_copy_f32(((to < 0) ? (u_out_older + ((to + 4) * slab)) : ((to < (-3)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 3) * slab)))) - (2 * V), ((from < 0) ? (u_out_older + ((from + 4) * slab)) : ((from < (-3)) ? (u_out_passing + (from * slab)) : (u_out_fresh + ((from + 3) * slab)))) - (2 * V), slab);
  }
  if (((((-2) - y0) >= (-4)) & (((-2) - y0) < 1)) & (((0 - y0) >= (-4)) & ((0 - y0) < 1))) {
    const int64_t to = (-2) - y0;
    const int64_t from = 0 - y0;
    tw_copy_f32(((to < 0) ? (u_out_older + ((to + 4) * slab)) : ((to < (-3)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 3) * slab)))) - (2 * V), ((from < 0) ? (u_out_older + ((from + 4) * slab)) : ((from < (-3)) ? (u_out_passing + (from * slab)) : (u_out_fresh + ((from + 3) * slab)))) - (2 * V), slab);
  }
  if ((((n0 - y0) >= (-4)) & ((n0 - y0) < 1)) & ((((n0 - 1) - y0) >= (-4)) & (((n0 - 1) - y0) < 1))) {
    const int64_t to = n0 - y0;
    const int64_t from = (n0 - 1) - y0;
    tw_copy_f32(((to < 0) ? (u_out_older + ((to + 4) * slab)) : ((to < (-3)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 3) * slab)))) - (2 * V), ((from < 0) ? (u_out_older + ((from + 4) * slab)) : ((from < (-3)) ? (u_out_passing + (from * slab)) : (u_out_fresh + ((from + 3) * slab)))) - (2 * V), slab);
  }
  if (((((n0 + 1) - y0) >= (-4)) & (((n0 + 1) - y0) < 1)) & ((((n0 - 1) - y0) >= (-4)) & (((n0 - 1) - y0) < 1))) {
    const int64_t to = (n0 + 1) - y0;
    const int64_t from = (n0 - 1) - y0;
    tw_copy_f32(((to < 0) ? (u_out_older + ((to + 4) * slab)) : ((to < (-3)) ? (u_out_passing + (to * slab)) : (u_out_fresh + ((to + 3) * slab)))) - (2 * V), ((from < 0) ? (u_out_older + ((from + 4) * slab)) : ((from < (-3)) ? (u_out_passing + (from * slab)) : (u_out_fresh + ((from + 3) * slab)))) - (2 * V), slab);
  }
}
