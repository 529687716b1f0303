/* mean, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(),
     tw_restore(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(),
     tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(),
     tw_fill_f32(), tw_stream_f32(), tw_mean_ends_0(), tw_mean_border_0(), tw_mean_fetch(), tw_mean_ahead_0(),
     tw_mean_load_0(), tw_mean_store_0(), tw_mean_tile(), tw_mean() */

/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_mean_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  {
    tw_v_f32 u_s0_p00_0 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_s0_p00_1 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_s0_p10_0 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_s0_p10_1 = tw_splat_v_f32(0.0f);
    for (int64_t i = 0 - (V * 2); i < 0; i += TW_LANES_F32) {
      const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + (i + V));
      const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
      const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_fresh + (i + V));
      const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i + V));
      const tw_v_f32 u_s0_1 = r1 + r2;
      const tw_v_f32 u_s0_2 = u_s0_1 + r0;
      const tw_v_f32 u_s0_3 = u_s0_1 + r3;
      u_s0_p00_0 = u_s0_p00_1;
      u_s0_p00_1 = u_s0_2;
      u_s0_p10_0 = u_s0_p10_1;
      u_s0_p10_1 = u_s0_3;
    }
    for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
      const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + (i + V));
      const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
      const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_fresh + (i + V));
      const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i + V));
      const tw_v_f32 u_s0_1 = r1 + r2;
      const tw_v_f32 u_s0_2 = u_s0_1 + r0;
      const tw_v_f32 u_s0_3 = u_s0_1 + r3;
      const tw_v_f32 u_s0_4 = u_s0_p00_0 + u_s0_p00_1;
      const tw_v_f32 u_s0_5 = u_s0_4 + u_s0_2;
      const tw_v_f32 u_s0_6 = 0.125f * u_s0_5;
      const tw_v_f32 u_s0_7 = u_s0_p10_0 + u_s0_p10_1;
      const tw_v_f32 u_s0_8 = u_s0_7 + u_s0_3;
      const tw_v_f32 u_s0_9 = 0.125f * u_s0_8;
      *(tw_u_f32 *)(u_out_fresh + i) = u_s0_6;
      *(tw_u_f32 *)((u_out_fresh + slab) + i) = u_s0_9;
      u_s0_p00_0 = u_s0_p00_1;
      u_s0_p00_1 = u_s0_2;
      u_s0_p10_0 = u_s0_p10_1;
      u_s0_p10_1 = u_s0_3;
    }
  }
  tw_mean_ends_0(u_out_fresh, u_now_older + slab, gx, n, edge);
  tw_mean_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
