/* forced, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_forced_ends_0(), tw_forced_ends_1(), tw_forced_border_0(), tw_forced_fetch(), tw_forced_ahead_0(),
     tw_forced_ahead_1(), tw_forced_load_0(), tw_forced_store_0(), tw_forced_tile(), tw_forced() */

/* Reads the rows of one advance from memory (v). */
static __attribute__((noinline)) void tw_forced_load_1(int64_t n0, int64_t n1, int64_t s0,
    float *v_out_passing, float *v_out_fresh, const float *base, float *spare, int64_t y0, int64_t gx, int64_t gy,
    int64_t n, int64_t edge, int64_t lifted_in) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  const int64_t cells = n0 * s0;
  if ((y0 >= 0) & (y0 < n0)) {
    if (lifted_in) {
      tw_copy_f32(v_out_fresh, base + (y0 * s0), 32);
    }
    if (lifted_in == 0) {
      tw_lift_f32(v_out_fresh, tw_forced_fetch(spare, base, base + (y0 * s0), gx, n, cells), vectors);
    }
    tw_forced_ends_1(v_out_fresh, v_out_fresh, gx, n, edge);
  }
}

/* New values (u, v) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_forced_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    const float *restrict v_now_passing, const float *restrict v_now_fresh, const float *restrict v_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, float *restrict v_out_passing,
    float *restrict v_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  const float c_a = scalar[0];
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u00_1 = r0;
    const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u00_2 = r1;
    const tw_v_f32 r2 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u00_3 = r2;
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u00_4 = r3;
    const tw_v_f32 u00_5 = u00_1 + u00_2;
    const tw_v_f32 u00_6 = u00_5 + u00_3;
    const tw_v_f32 u00_7 = u00_6 + u00_4;
    const tw_v_f32 u00_8 = 0.25f * u00_7;
    const tw_v_f32 r4 = *(const tw_u_f32 *)(v_now_older + i);
    const tw_v_f32 u00_10 = r4;
    const tw_v_f32 u00_11 = c_a * u00_10;
    const tw_v_f32 u00_12 = u00_8 + u00_11;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u00_12;
    *(tw_u_f32 *)(v_out_fresh + i) = r4;
  }
  tw_forced_ends_0(u_out_fresh + slab, u_now_older + slab, gx, n, edge);
  tw_forced_ends_1(v_out_fresh, v_now_older, gx, n, edge);
}
