/* mean, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_fence(), omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED,
     tw_turn_f32(), tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(),
     tw_copy_f32(), tw_fill_f32(), tw_stream_f32(), tw_mean_ends_0(), tw_mean_border_0(), tw_mean_fetch(),
     tw_mean_ahead_0(), tw_mean_load_0(), tw_mean_store_0(), tw_mean_tile(), tw_mean() */

/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_mean_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = tw_max(32, (TW_LANES_F32 * TW_LANES_F32)) / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + (i - V));
    const tw_v_f32 u00_1 = r0;
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u10_1 = r3;
    const tw_v_f32 u00_2 = 0.125f * u00_1;
    const tw_v_f32 u10_2 = 0.125f * u10_1;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u00_3 = r1;
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u10_3 = r4;
    const tw_v_f32 u00_4 = 0.125f * u00_3;
    const tw_v_f32 u10_4 = 0.125f * u10_3;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_older + (i + V));
    const tw_v_f32 u00_5 = r2;
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u10_5 = r5;
    const tw_v_f32 u00_6 = 0.125f * u00_5;
    const tw_v_f32 u10_6 = 0.125f * u10_5;
    const tw_v_f32 u00_7 = r3;
    const tw_v_f32 r6 = *(const tw_u_f32 *)(u_now_fresh + (i - V));
    const tw_v_f32 u10_7 = r6;
    const tw_v_f32 u00_8 = 0.125f * u00_7;
    const tw_v_f32 u10_8 = 0.125f * u10_7;
    const tw_v_f32 u00_9 = r4;
    const tw_v_f32 r7 = *(const tw_u_f32 *)(u_now_fresh + i);
    const tw_v_f32 u10_9 = r7;
    const tw_v_f32 u00_10 = 0.125f * u00_9;
    const tw_v_f32 u10_10 = 0.125f * u10_9;
    const tw_v_f32 u00_11 = r5;
    const tw_v_f32 r8 = *(const tw_u_f32 *)(u_now_fresh + (i + V));
    const tw_v_f32 u10_11 = r8;
    const tw_v_f32 u00_12 = 0.125f * u00_11;
    const tw_v_f32 u10_12 = 0.125f * u10_11;
    const tw_v_f32 u00_13 = r6;
    const tw_v_f32 r9 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i - V));
    const tw_v_f32 u10_13 = r9;
    const tw_v_f32 u00_14 = 0.125f * u00_13;
    const tw_v_f32 u10_14 = 0.125f * u10_13;
    const tw_v_f32 u00_15 = r7;
    const tw_v_f32 r10 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u10_15 = r10;
    const tw_v_f32 u00_16 = 0.125f * u00_15;
    const tw_v_f32 u10_16 = 0.125f * u10_15;
    const tw_v_f32 u00_17 = r8;
    const tw_v_f32 r11 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i + V));
    const tw_v_f32 u10_17 = r11;
    const tw_v_f32 u00_18 = 0.125f * u00_17;
    const tw_v_f32 u10_18 = 0.125f * u10_17;
    const tw_v_f32 u00_19 = u00_2 + u00_4;
    const tw_v_f32 u10_19 = u10_2 + u10_4;
    const tw_v_f32 u00_20 = u00_19 + u00_6;
    const tw_v_f32 u10_20 = u10_19 + u10_6;
    const tw_v_f32 u00_21 = u00_20 + u00_8;
    const tw_v_f32 u10_21 = u10_20 + u10_8;
    const tw_v_f32 u00_22 = u00_21 + u00_10;
    const tw_v_f32 u10_22 = u10_21 + u10_10;
    const tw_v_f32 u00_23 = u00_22 + u00_12;
    const tw_v_f32 u10_23 = u10_22 + u10_12;
    const tw_v_f32 u00_24 = u00_23 + u00_14;
    const tw_v_f32 u10_24 = u10_23 + u10_14;
    const tw_v_f32 u00_25 = u00_24 + u00_16;
    const tw_v_f32 u10_25 = u10_24 + u10_16;
    const tw_v_f32 u00_26 = u00_25 + u00_18;
    const tw_v_f32 u10_26 = u10_25 + u10_18;
    *(tw_u_f32 *)(u_out_fresh + i) = u00_26;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u10_26;
  }
  tw_mean_ends_0(u_out_fresh, u_now_older + slab, gx, n, edge);
  tw_mean_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
