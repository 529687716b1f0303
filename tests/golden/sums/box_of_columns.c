/* distinct, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(),
     tw_restore(), tw_hold_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(),
     tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(),
     tw_fill_f32(), tw_stream_f32(), tw_distinct_ends_0(), tw_distinct_border_0(), tw_distinct_fetch(),
     tw_distinct_ahead_0(), tw_distinct_load_0(), tw_distinct_store_0(), tw_distinct_tile(), tw_distinct() */

#if TW_REGISTERS == 32
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_distinct_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 r1 = *(const tw_u_f32 *)(u_now_fresh + (i + V));
    const tw_v_f32 up1 = r0 + r1;
    const tw_v_f32 up2 = r1 - r0;
    const tw_v_f32 up3 = 0.9f * up1;
    const tw_v_f32 up4 = 0.3f * up2;
    const tw_v_f32 up5 = tw_hold_v_f32(up3);
    const tw_v_f32 up6 = tw_hold_v_f32(up4);
    const tw_v_f32 up7 = up5 + up6;
    const tw_v_f32 up8 = up5 - up6;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_older + (i + V));
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i + V));
    const tw_v_f32 up9 = r2 - r1;
    const tw_v_f32 up10 = r3 - r0;
    const tw_v_f32 up11 = up7 + (0.3f * up9);
    const tw_v_f32 up12 = up8 + (0.9f * up10);
    const tw_v_f32 r4 = *(const tw_u_f32 *)(u_now_older + (i - V));
    const tw_v_f32 u_1 = up11 + (0.1f * r4);
    const tw_v_f32 r5 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u_2 = u_1 + (0.2f * r5);
    const tw_v_f32 r6 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u_3 = u_2 + (0.4f * r6);
    const tw_v_f32 u_4 = up12 + (0.1f * r6);
    const tw_v_f32 r7 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u_5 = u_3 + (0.5f * r7);
    const tw_v_f32 u_6 = u_4 + (0.2f * r7);
    const tw_v_f32 r8 = *(const tw_u_f32 *)(u_now_fresh + (i - V));
    const tw_v_f32 u_7 = u_5 + (0.7f * r8);
    const tw_v_f32 u_8 = u_6 + (0.4f * r8);
    const tw_v_f32 r9 = *(const tw_u_f32 *)(u_now_fresh + i);
    const tw_v_f32 u_9 = u_7 + (0.8f * r9);
    const tw_v_f32 u_10 = u_8 + (0.5f * r9);
    const tw_v_f32 r10 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i - V));
    const tw_v_f32 u_11 = u_10 + (0.7f * r10);
    const tw_v_f32 r11 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u_12 = u_11 + (0.8f * r11);
    *(tw_u_f32 *)(u_out_fresh + i) = u_9;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u_12;
  }
  tw_distinct_ends_0(u_out_fresh, u_now_older + slab, gx, n, edge);
  tw_distinct_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
#endif

#if TW_REGISTERS == 16
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_distinct_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + (i - V));
    const tw_v_f32 u_1 = tw_hold_v_f32((0.1f * r0));
    const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u_2 = tw_hold_v_f32((u_1 + (0.4f * r1)));
    const tw_v_f32 u_3 = tw_hold_v_f32((0.1f * r1));
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_fresh + (i - V));
    const tw_v_f32 u_4 = tw_hold_v_f32((u_2 + (0.7f * r2)));
    const tw_v_f32 u_5 = tw_hold_v_f32((u_3 + (0.4f * r2)));
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i - V));
    const tw_v_f32 u_6 = tw_hold_v_f32((u_5 + (0.7f * r3)));
    const tw_v_f32 r4 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u_7 = tw_hold_v_f32((u_4 + (0.2f * r4)));
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u_8 = tw_hold_v_f32((u_7 + (0.5f * r5)));
    const tw_v_f32 u_9 = tw_hold_v_f32((u_6 + (0.2f * r5)));
    const tw_v_f32 r6 = *(const tw_u_f32 *)(u_now_fresh + i);
    const tw_v_f32 u_10 = tw_hold_v_f32((u_8 + (0.8f * r6)));
    const tw_v_f32 u_11 = tw_hold_v_f32((u_9 + (0.5f * r6)));
    const tw_v_f32 r7 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u_12 = tw_hold_v_f32((u_11 + (0.8f * r7)));
    const tw_v_f32 r8 = *(const tw_u_f32 *)(u_now_older + (i + V));
    const tw_v_f32 u_13 = tw_hold_v_f32((u_10 + (0.3f * r8)));
    const tw_v_f32 r9 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u_14 = tw_hold_v_f32((u_13 + (0.6f * r9)));
    const tw_v_f32 u_15 = tw_hold_v_f32((u_12 + (0.3f * r9)));
    const tw_v_f32 r10 = *(const tw_u_f32 *)(u_now_fresh + (i + V));
    const tw_v_f32 u_16 = tw_hold_v_f32((u_14 + (0.9f * r10)));
    const tw_v_f32 u_17 = tw_hold_v_f32((u_15 + (0.6f * r10)));
    const tw_v_f32 r11 = *(const tw_u_f32 *)((u_now_fresh + slab) + (i + V));
    const tw_v_f32 u_18 = tw_hold_v_f32((u_17 + (0.9f * r11)));
    *(tw_u_f32 *)(u_out_fresh + i) = u_16;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u_18;
  }
  tw_distinct_ends_0(u_out_fresh, u_now_older + slab, gx, n, edge);
  tw_distinct_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
#endif
