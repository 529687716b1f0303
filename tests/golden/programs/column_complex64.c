/* column, complex64, boundary fixed, tiling streaming:t=2,s=8x16
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_C64, TW_TWICE_4, tw_pick_c64(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     tw_flush(), tw_restore(), tw_hold_v_c64(), omp_get_thread_num(), tw_thread(), TW_LOW_c64, TW_ROLLED,
     tw_turn_c64(), tw_lift_c64(), tw_lower_c64(), tw_wrap_c64(), tw_prefetch_c64(), tw_again_c64(),
     tw_copy_c64(), tw_fill_c64(), tw_stream_c64(), tw_column_ends_0(), tw_column_border_0(),
     tw_column_fetch(), tw_column_ahead_0(), tw_column_load_0(), tw_column_store_0(), tw_column_tile(),
     tw_column() */

#if TW_REGISTERS == 32
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_column_stage_0(const float _Complex *restrict scalar,
    const float _Complex *restrict u_now_passing, const float _Complex *restrict u_now_fresh,
    const float _Complex *restrict u_now_older, float _Complex *restrict u_out_passing,
    float _Complex *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_C64;
  const int64_t vectors = 24 / TW_LANES_C64;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_C64;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_C64) {
    const tw_v_c64 r0 = *(const tw_u_c64 *)((u_now_older + slab) + i);
    const tw_v_c64 r1 = *(const tw_u_c64 *)(u_now_passing + i);
    const tw_v_c64 up1 = r0 + r1;
    const tw_v_c64 up2 = r1 - r0;
    const tw_v_c64 up3 = 0.195f * up1;
    const tw_v_c64 up4 = 0.065f * up2;
    const tw_v_c64 up5 = tw_hold_v_c64(up3);
    const tw_v_c64 up6 = tw_hold_v_c64(up4);
    const tw_v_c64 up7 = up5 + up6;
    const tw_v_c64 up8 = up5 - up6;
    const tw_v_c64 r2 = *(const tw_u_c64 *)(u_now_older + i);
    const tw_v_c64 r3 = *(const tw_u_c64 *)((u_now_passing + slab) + i);
    const tw_v_c64 up9 = r2 - r1;
    const tw_v_c64 up10 = r3 - r0;
    const tw_v_c64 up11 = up7 + (0.1f * up9);
    const tw_v_c64 up12 = up8 + (0.16f * up10);
    const tw_v_c64 r4 = *(const tw_u_c64 *)(u_now_fresh + i);
    const tw_v_c64 up13 = r3 + r4;
    const tw_v_c64 up14 = r4 - r3;
    const tw_v_c64 up15 = 0.195f * up13;
    const tw_v_c64 up16 = 0.065f * up14;
    const tw_v_c64 up17 = tw_hold_v_c64(up15);
    const tw_v_c64 up18 = tw_hold_v_c64(up16);
    const tw_v_c64 up19 = up17 + up18;
    const tw_v_c64 up20 = up17 - up18;
    const tw_v_c64 r5 = *(const tw_u_c64 *)((u_now_fresh + slab) + i);
    const tw_v_c64 up21 = r1 - r4;
    const tw_v_c64 up22 = r5 - r3;
    const tw_v_c64 up23 = up19 + (0.1f * up21);
    const tw_v_c64 up24 = up20 + (0.16f * up22);
    const tw_v_c64 r6 = *(const tw_u_c64 *)((u_now_older + slab) + (i - V));
    const tw_v_c64 u_1 = up11 + (0.19f * r6);
    const tw_v_c64 r7 = *(const tw_u_c64 *)((u_now_older + slab) + (i + V));
    const tw_v_c64 u_2 = u_1 + (0.22f * r7);
    const tw_v_c64 r8 = *(const tw_u_c64 *)(u_now_passing + (i - V));
    const tw_v_c64 u_3 = up12 + (0.19f * r8);
    const tw_v_c64 r9 = *(const tw_u_c64 *)(u_now_passing + (i + V));
    const tw_v_c64 u_4 = u_3 + (0.22f * r9);
    const tw_v_c64 r10 = *(const tw_u_c64 *)((u_now_passing + slab) + (i - V));
    const tw_v_c64 u_5 = up23 + (0.19f * r10);
    const tw_v_c64 r11 = *(const tw_u_c64 *)((u_now_passing + slab) + (i + V));
    const tw_v_c64 u_6 = u_5 + (0.22f * r11);
    const tw_v_c64 r12 = *(const tw_u_c64 *)(u_now_fresh + (i - V));
    const tw_v_c64 u_7 = up24 + (0.19f * r12);
    const tw_v_c64 r13 = *(const tw_u_c64 *)(u_now_fresh + (i + V));
    const tw_v_c64 u_8 = u_7 + (0.22f * r13);
    *(tw_u_c64 *)(u_out_passing + i) = u_2;
    *(tw_u_c64 *)((u_out_passing + slab) + i) = u_4;
    *(tw_u_c64 *)(u_out_fresh + i) = u_6;
    *(tw_u_c64 *)((u_out_fresh + slab) + i) = u_8;
  }
  tw_column_ends_0(u_out_passing, u_now_older + slab, gx, n, edge);
  tw_column_ends_0(u_out_passing + slab, u_now_passing, gx, n, edge);
  tw_column_ends_0(u_out_fresh, u_now_passing + slab, gx, n, edge);
  tw_column_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
#endif

#if TW_REGISTERS == 16
/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_column_stage_0(const float _Complex *restrict scalar,
    const float _Complex *restrict u_now_passing, const float _Complex *restrict u_now_fresh,
    const float _Complex *restrict u_now_older, float _Complex *restrict u_out_passing,
    float _Complex *restrict u_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_C64;
  const int64_t vectors = 24 / TW_LANES_C64;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_C64;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_C64) {
    const tw_v_c64 r0 = *(const tw_u_c64 *)(u_now_older + i);
    const tw_v_c64 u00_1 = r0;
    const tw_v_c64 u00_2 = 0.1f * u00_1;
    const tw_v_c64 r1 = *(const tw_u_c64 *)((u_now_older + slab) + i);
    const tw_v_c64 u00_4 = r1;
    const tw_v_c64 u00_5 = 0.13f * u00_4;
    const tw_v_c64 r2 = *(const tw_u_c64 *)(u_now_passing + i);
    const tw_v_c64 u00_7 = r2;
    const tw_v_c64 u00_8 = 0.16f * u00_7;
    const tw_v_c64 r3 = *(const tw_u_c64 *)((u_now_older + slab) + (i - V));
    const tw_v_c64 u00_10 = r3;
    const tw_v_c64 u00_11 = 0.19f * u00_10;
    const tw_v_c64 r4 = *(const tw_u_c64 *)((u_now_older + slab) + (i + V));
    const tw_v_c64 u00_13 = r4;
    const tw_v_c64 u00_14 = 0.22f * u00_13;
    const tw_v_c64 u00_15 = u00_2 + u00_5;
    const tw_v_c64 u00_16 = u00_15 + u00_8;
    const tw_v_c64 u00_17 = u00_16 + u00_11;
    const tw_v_c64 u00_18 = u00_17 + u00_14;
    const tw_v_c64 u10_1 = r1;
    const tw_v_c64 u10_2 = 0.1f * u10_1;
    const tw_v_c64 u10_4 = r2;
    const tw_v_c64 u10_5 = 0.13f * u10_4;
    const tw_v_c64 r5 = *(const tw_u_c64 *)((u_now_passing + slab) + i);
    const tw_v_c64 u10_7 = r5;
    const tw_v_c64 u10_8 = 0.16f * u10_7;
    const tw_v_c64 r6 = *(const tw_u_c64 *)(u_now_passing + (i - V));
    const tw_v_c64 u10_10 = r6;
    const tw_v_c64 u10_11 = 0.19f * u10_10;
    const tw_v_c64 r7 = *(const tw_u_c64 *)(u_now_passing + (i + V));
    const tw_v_c64 u10_13 = r7;
    const tw_v_c64 u10_14 = 0.22f * u10_13;
    const tw_v_c64 u10_15 = u10_2 + u10_5;
    const tw_v_c64 u10_16 = u10_15 + u10_8;
    const tw_v_c64 u10_17 = u10_16 + u10_11;
    const tw_v_c64 u10_18 = u10_17 + u10_14;
    const tw_v_c64 u20_1 = r2;
    const tw_v_c64 u20_2 = 0.1f * u20_1;
    const tw_v_c64 u20_4 = r5;
    const tw_v_c64 u20_5 = 0.13f * u20_4;
    const tw_v_c64 r8 = *(const tw_u_c64 *)(u_now_fresh + i);
    const tw_v_c64 u20_7 = r8;
    const tw_v_c64 u20_8 = 0.16f * u20_7;
    const tw_v_c64 r9 = *(const tw_u_c64 *)((u_now_passing + slab) + (i - V));
    const tw_v_c64 u20_10 = r9;
    const tw_v_c64 u20_11 = 0.19f * u20_10;
    const tw_v_c64 r10 = *(const tw_u_c64 *)((u_now_passing + slab) + (i + V));
    const tw_v_c64 u20_13 = r10;
    const tw_v_c64 u20_14 = 0.22f * u20_13;
    const tw_v_c64 u20_15 = u20_2 + u20_5;
    const tw_v_c64 u20_16 = u20_15 + u20_8;
    const tw_v_c64 u20_17 = u20_16 + u20_11;
    const tw_v_c64 u20_18 = u20_17 + u20_14;
    const tw_v_c64 u30_1 = r5;
    const tw_v_c64 u30_2 = 0.1f * u30_1;
    const tw_v_c64 u30_4 = r8;
    const tw_v_c64 u30_5 = 0.13f * u30_4;
    const tw_v_c64 r11 = *(const tw_u_c64 *)((u_now_fresh + slab) + i);
    const tw_v_c64 u30_7 = r11;
    const tw_v_c64 u30_8 = 0.16f * u30_7;
    const tw_v_c64 r12 = *(const tw_u_c64 *)(u_now_fresh + (i - V));
    const tw_v_c64 u30_10 = r12;
    const tw_v_c64 u30_11 = 0.19f * u30_10;
    const tw_v_c64 r13 = *(const tw_u_c64 *)(u_now_fresh + (i + V));
    const tw_v_c64 u30_13 = r13;
    const tw_v_c64 u30_14 = 0.22f * u30_13;
    const tw_v_c64 u30_15 = u30_2 + u30_5;
    const tw_v_c64 u30_16 = u30_15 + u30_8;
    const tw_v_c64 u30_17 = u30_16 + u30_11;
    const tw_v_c64 u30_18 = u30_17 + u30_14;
    *(tw_u_c64 *)(u_out_passing + i) = u00_18;
    *(tw_u_c64 *)((u_out_passing + slab) + i) = u10_18;
    *(tw_u_c64 *)(u_out_fresh + i) = u20_18;
    *(tw_u_c64 *)((u_out_fresh + slab) + i) = u30_18;
  }
  tw_column_ends_0(u_out_passing, u_now_older + slab, gx, n, edge);
  tw_column_ends_0(u_out_passing + slab, u_now_passing, gx, n, edge);
  tw_column_ends_0(u_out_fresh, u_now_passing + slab, gx, n, edge);
  tw_column_ends_0(u_out_fresh + slab, u_now_fresh, gx, n, edge);
}
#endif
