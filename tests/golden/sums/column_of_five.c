/* star2, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(),
     tw_restore(), tw_hold_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(),
     tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(),
     tw_fill_f32(), tw_stream_f32(), tw_star2_ends_0(), tw_star2_border_0(), tw_star2_fetch(),
     tw_star2_ahead_0(), tw_star2_load_0(), tw_star2_store_0(), tw_star2_tile(), tw_star2() */

#if TW_REGISTERS == 32
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_star2_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 4) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + i);
    const tw_v_f32 up1 = r0 + r1;
    const tw_v_f32 up2 = r1 - r0;
    const tw_v_f32 up3 = 0.195f * up1;
    const tw_v_f32 up4 = 0.065f * up2;
    const tw_v_f32 r2 = *(const tw_u_f32 *)((u_now_fresh + (slab * 2)) + i);
    const tw_v_f32 up5 = up3 + (0.41f * r2);
    const tw_v_f32 up6 = tw_hold_v_f32(up4);
    const tw_v_f32 up7 = up5 + up6;
    const tw_v_f32 up8 = up5 - up6;
    const tw_v_f32 r3 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + i);
    const tw_v_f32 up9 = r3 - r1;
    const tw_v_f32 up10 = r4 - r0;
    const tw_v_f32 up11 = up7 + (0.1f * up9);
    const tw_v_f32 up12 = up8 + (0.16f * up10);
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_fresh + (slab * 3)) + i);
    const tw_v_f32 up13 = r4 - r2;
    const tw_v_f32 up14 = r5 - r2;
    const tw_v_f32 up15 = up11 + (0.19f * up13);
    const tw_v_f32 up16 = up12 + (0.22f * up14);
    const tw_v_f32 r6 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i - (V * 2)));
    const tw_v_f32 u_1 = up15 + (0.25f * r6);
    const tw_v_f32 r7 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i - V));
    const tw_v_f32 u_2 = u_1 + (0.28f * r7);
    const tw_v_f32 r8 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i + V));
    const tw_v_f32 u_3 = u_2 + (0.31f * r8);
    const tw_v_f32 r9 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i + (V * 2)));
    const tw_v_f32 u_4 = u_3 + (0.34f * r9);
    const tw_v_f32 r10 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i - (V * 2)));
    const tw_v_f32 u_5 = up16 + (0.25f * r10);
    const tw_v_f32 r11 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i - V));
    const tw_v_f32 u_6 = u_5 + (0.28f * r11);
    const tw_v_f32 r12 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i + V));
    const tw_v_f32 u_7 = u_6 + (0.31f * r12);
    const tw_v_f32 r13 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i + (V * 2)));
    const tw_v_f32 u_8 = u_7 + (0.34f * r13);
    *(tw_u_f32 *)((u_out_fresh + (slab * 2)) + i) = u_4;
    *(tw_u_f32 *)((u_out_fresh + (slab * 3)) + i) = u_8;
  }
  tw_star2_ends_0(u_out_fresh + (slab * 2), u_now_older + (slab * 2), gx, n, edge);
  tw_star2_ends_0(u_out_fresh + (slab * 3), u_now_older + (slab * 3), gx, n, edge);
}
#endif

#if TW_REGISTERS == 16
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_star2_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 4) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u_1 = tw_hold_v_f32((0.1f * r0));
    const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u_2 = tw_hold_v_f32((u_1 + (0.13f * r1)));
    const tw_v_f32 u_3 = tw_hold_v_f32((0.1f * r1));
    const tw_v_f32 r2 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + i);
    const tw_v_f32 u_4 = tw_hold_v_f32((u_2 + (0.16f * r2)));
    const tw_v_f32 u_5 = tw_hold_v_f32((u_3 + (0.13f * r2)));
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + i);
    const tw_v_f32 u_6 = tw_hold_v_f32((u_4 + (0.19f * r3)));
    const tw_v_f32 u_7 = tw_hold_v_f32((u_5 + (0.16f * r3)));
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_fresh + (slab * 2)) + i);
    const tw_v_f32 u_8 = tw_hold_v_f32((u_6 + (0.22f * r4)));
    const tw_v_f32 u_9 = tw_hold_v_f32((u_7 + (0.19f * r4)));
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_fresh + (slab * 3)) + i);
    const tw_v_f32 u_10 = tw_hold_v_f32((u_9 + (0.22f * r5)));
    const tw_v_f32 r6 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i - (V * 2)));
    const tw_v_f32 u_11 = tw_hold_v_f32((u_8 + (0.25f * r6)));
    const tw_v_f32 r7 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i - (V * 2)));
    const tw_v_f32 u_12 = tw_hold_v_f32((u_10 + (0.25f * r7)));
    const tw_v_f32 r8 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i - V));
    const tw_v_f32 u_13 = tw_hold_v_f32((u_11 + (0.28f * r8)));
    const tw_v_f32 r9 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i - V));
    const tw_v_f32 u_14 = tw_hold_v_f32((u_12 + (0.28f * r9)));
    const tw_v_f32 r10 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i + V));
    const tw_v_f32 u_15 = tw_hold_v_f32((u_13 + (0.31f * r10)));
    const tw_v_f32 r11 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i + V));
    const tw_v_f32 u_16 = tw_hold_v_f32((u_14 + (0.31f * r11)));
    const tw_v_f32 r12 = *(const tw_u_f32 *)((u_now_older + (slab * 2)) + (i + (V * 2)));
    const tw_v_f32 u_17 = tw_hold_v_f32((u_15 + (0.34f * r12)));
    const tw_v_f32 r13 = *(const tw_u_f32 *)((u_now_older + (slab * 3)) + (i + (V * 2)));
    const tw_v_f32 u_18 = tw_hold_v_f32((u_16 + (0.34f * r13)));
    *(tw_u_f32 *)((u_out_fresh + (slab * 2)) + i) = u_17;
    *(tw_u_f32 *)((u_out_fresh + (slab * 3)) + i) = u_18;
  }
  tw_star2_ends_0(u_out_fresh + (slab * 2), u_now_older + (slab * 2), gx, n, edge);
  tw_star2_ends_0(u_out_fresh + (slab * 3), u_now_older + (slab * 3), gx, n, edge);
}
#endif
