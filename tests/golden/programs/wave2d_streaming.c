/* wave2d, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_wave2d_ends_0(), tw_wave2d_border_0(), tw_wave2d_fetch(), tw_wave2d_ahead_0(), tw_wave2d_tile(),
     tw_wave2d() */

/* Reads the rows of one advance from memory (u). */
static __attribute__((noinline)) void tw_wave2d_load_0(int64_t n0, int64_t n1, int64_t s0,
    float *u_out_passing, float *u_out_fresh, const float *base, float *spare, int64_t y0, int64_t gx, int64_t gy,
    int64_t n, int64_t edge, int64_t lifted_in) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  const int64_t cells = n0 * s0;
  if ((y0 >= 0) & (y0 < n0)) {
    if (lifted_in) {
      tw_copy_f32(u_out_fresh + slab, base + (y0 * s0), 32);
    }
    if (lifted_in == 0) {
      tw_lift_f32(u_out_fresh + slab, tw_wave2d_fetch(spare, base, base + (y0 * s0), gx, n, cells), vectors);
    }
    tw_wave2d_ends_0(u_out_fresh + slab, u_out_fresh + slab, gx, n, edge);
  }
}

/* Writes a tile's own cells of the rows of one advance to memory (u). */
static __attribute__((noinline)) void tw_wave2d_store_0(int64_t n0, int64_t n1, int64_t s0,
    float *u_out_passing, float *u_out_fresh, float *base, float *spare, int64_t y0, int64_t ya, int64_t yb, int64_t za,
    int64_t zb, int64_t x0, int64_t x1, int64_t gx, int64_t gy, int64_t count, int64_t lifted_out) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  if ((y0 >= ya) & (y0 < yb)) {
    if (lifted_out) {
      tw_stream_f32((base + (y0 * s0)) + x0, u_out_fresh + slab, 32);
    }
    if (lifted_out == 0) {
      tw_lower_f32(spare, u_out_fresh + slab, vectors);
      tw_stream_f32((base + (y0 * s0)) + x0, spare + (x0 - gx), count);
    }
  }
}

/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_wave2d_stage_0(const float *restrict scalar,
    const float *restrict u_prev_passing, const float *restrict u_prev_fresh, const float *restrict u_prev_older,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u00_1 = r0;
    const tw_v_f32 u00_2 = 2.0f * u00_1;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(u_prev_older + i);
    const tw_v_f32 u00_3 = r1;
    const tw_v_f32 u00_4 = u00_2 - u00_3;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u00_6 = r2;
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u00_7 = r3;
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u00_8 = r4;
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u00_9 = r5;
    const tw_v_f32 u00_10 = u00_6 + u00_7;
    const tw_v_f32 u00_11 = u00_10 + u00_8;
    const tw_v_f32 u00_12 = u00_11 + u00_9;
    const tw_v_f32 u00_14 = 4.0f * u00_1;
    const tw_v_f32 u00_15 = u00_12 - u00_14;
    const tw_v_f32 u00_16 = 0.1f * u00_15;
    const tw_v_f32 u00_17 = u00_4 + u00_16;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u00_17;
  }
  tw_wave2d_ends_0(u_out_fresh + slab, u_now_older + slab, gx, n, edge);
}
