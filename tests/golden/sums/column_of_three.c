/* column, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(),
     tw_restore(), tw_hold_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(),
     tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(),
     tw_fill_f32(), tw_stream_f32(), tw_column_ends_0(), tw_column_border_0(), tw_column_fetch(),
     tw_column_ahead_0(), tw_column_load_0(), tw_column_store_0(), tw_column_tile(), tw_column() */

#if TW_REGISTERS == 32
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_column_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 r1 = *(const tw_u_f32 *)(u_now_fresh + i);
    const tw_v_f32 up1 = r0 + r1;
    const tw_v_f32 up2 = r1 - r0;
    const tw_v_f32 up3 = 0.195f * up1;
    const tw_v_f32 up4 = 0.065f * up2;
    const tw_v_f32 up5 = tw_hold_v_f32(up3);
    const tw_v_f32 up6 = tw_hold_v_f32(up4);
    const tw_v_f32 up7 = up5 + up6;
    const tw_v_f32 up8 = up5 - up6;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 up9 = r2 - r1;
    const tw_v_f32 up10 = r3 - r0;
    const tw_v_f32 up11 = up7 + (0.1f * up9);
    const tw_v_f32 up12 = up8 + (0.16f * up10);
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u_1 = up11 + (0.19f * r4);
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u_2 = u_1 + (0.22f * r5);
    const tw_v_f32 r6 = *(const tw_u_f32 *)(u_now_fresh + (i - V));
    const tw_v_f32 u_3 = up12 + (0.19f * r6);
    const tw_v_f32 r7 = *(const tw_u_f32 *)(u_now_fresh + (i + V));
    const tw_v_f32 u_4 = u_3 + (0.22f * r7);
    *(tw_u_f32 *)(u_out_fresh + i) = u_2;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u_4;
  }
  tw_column_ends_0(u_out_fresh, u_now_older + slab, gx, n, edge);
  tw_column_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
#endif

#if TW_REGISTERS == 16
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_column_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u00_1 = r0;
    const tw_v_f32 u00_2 = 0.1f * u00_1;
    const tw_v_f32 r1 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u00_4 = r1;
    const tw_v_f32 u00_5 = 0.13f * u00_4;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_fresh + i);
    const tw_v_f32 u00_7 = r2;
    const tw_v_f32 u00_8 = 0.16f * u00_7;
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u00_10 = r3;
    const tw_v_f32 u00_11 = 0.19f * u00_10;
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u00_13 = r4;
    const tw_v_f32 u00_14 = 0.22f * u00_13;
    const tw_v_f32 u00_15 = u00_2 + u00_5;
    const tw_v_f32 u00_16 = u00_15 + u00_8;
    const tw_v_f32 u00_17 = u00_16 + u00_11;
    const tw_v_f32 u00_18 = u00_17 + u00_14;
    const tw_v_f32 u10_1 = r1;
    const tw_v_f32 u10_2 = 0.1f * u10_1;
    const tw_v_f32 u10_4 = r2;
    const tw_v_f32 u10_5 = 0.13f * u10_4;
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u10_7 = r5;
    const tw_v_f32 u10_8 = 0.16f * u10_7;
    const tw_v_f32 r6 = *(const tw_u_f32 *)(u_now_fresh + (i - V));
    const tw_v_f32 u10_10 = r6;
    const tw_v_f32 u10_11 = 0.19f * u10_10;
    const tw_v_f32 r7 = *(const tw_u_f32 *)(u_now_fresh + (i + V));
    const tw_v_f32 u10_13 = r7;
    const tw_v_f32 u10_14 = 0.22f * u10_13;
    const tw_v_f32 u10_15 = u10_2 + u10_5;
    const tw_v_f32 u10_16 = u10_15 + u10_8;
    const tw_v_f32 u10_17 = u10_16 + u10_11;
    const tw_v_f32 u10_18 = u10_17 + u10_14;
    *(tw_u_f32 *)(u_out_fresh + i) = u00_18;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u10_18;
  }
  tw_column_ends_0(u_out_fresh, u_now_older + slab, gx, n, edge);
  tw_column_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
#endif
