/* wave2d, bfloat16, boundary fixed, tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_BF16, tw_get_bf16(), tw_put_bf16(), tw_load_bf16(), tw_store_bf16(), TW_LANES_F32,
     tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), omp_get_thread_num(), tw_thread(), TW_LOW_bf16,
     TW_ROLLED, tw_turn_bf16(), tw_lift_bf16(), tw_lower_bf16(), tw_wrap_bf16(), tw_prefetch_bf16(),
     tw_again_bf16(), tw_copy_bf16(), tw_fill_bf16(), tw_stream_bf16(), tw_wave2d_ends_0(),
     tw_wave2d_border_0(), tw_wave2d_fetch(), tw_wave2d_ahead_0(), tw_wave2d_load_0(), tw_wave2d_store_0(),
     tw_wave2d_tile(), tw_wave2d() */

/* New values (u) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_wave2d_stage_0(const float *restrict scalar,
    const uint16_t *restrict u_prev_passing, const uint16_t *restrict u_prev_fresh,
    const uint16_t *restrict u_prev_older, const uint16_t *restrict u_now_passing, const uint16_t *restrict u_now_fresh,
    const uint16_t *restrict u_now_older, uint16_t *restrict u_out_passing, uint16_t *restrict u_out_fresh, int64_t gx,
    int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_BF16;
  const int64_t vectors = 64 / TW_LANES_BF16;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_BF16;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_BF16) {
    const tw_v_bf16 r0 = tw_load_bf16(*(const tw_u_bf16 *)((u_now_older + slab) + i));
    const tw_v_bf16 u00_1 = r0;
    const tw_v_bf16 u00_2 = 2.0f * u00_1;
    const tw_v_bf16 r1 = tw_load_bf16(*(const tw_u_bf16 *)(u_prev_older + i));
    const tw_v_bf16 u00_3 = r1;
    const tw_v_bf16 u00_4 = u00_2 - u00_3;
    const tw_v_bf16 r2 = tw_load_bf16(*(const tw_u_bf16 *)(u_now_older + i));
    const tw_v_bf16 u00_6 = r2;
    const tw_v_bf16 r3 = tw_load_bf16(*(const tw_u_bf16 *)((u_now_fresh + slab) + i));
    const tw_v_bf16 u00_7 = r3;
    const tw_v_bf16 r4 = tw_load_bf16(*(const tw_u_bf16 *)((u_now_older + slab) + (i - V)));
    const tw_v_bf16 u00_8 = r4;
    const tw_v_bf16 r5 = tw_load_bf16(*(const tw_u_bf16 *)((u_now_older + slab) + (i + V)));
    const tw_v_bf16 u00_9 = r5;
    const tw_v_bf16 u00_10 = u00_6 + u00_7;
    const tw_v_bf16 u00_11 = u00_10 + u00_8;
    const tw_v_bf16 u00_12 = u00_11 + u00_9;
    const tw_v_bf16 u00_14 = 4.0f * u00_1;
    const tw_v_bf16 u00_15 = u00_12 - u00_14;
    const tw_v_bf16 u00_16 = 0.1f * u00_15;
    const tw_v_bf16 u00_17 = u00_4 + u00_16;
    *(tw_u_bf16 *)((u_out_fresh + slab) + i) = tw_store_bf16(u00_17);
  }
  tw_wave2d_ends_0(u_out_fresh + slab, u_now_older + slab, gx, n, edge);
}
