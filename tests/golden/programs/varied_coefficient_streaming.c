/* heat2d_var, float32, boundary fixed, tiling streaming:t=2,s=8x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(), tw_restore(),
     omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(),
     tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(),
     tw_heat2d_var_ends_0(), tw_heat2d_var_ends_1(), tw_heat2d_var_border_0(), tw_heat2d_var_fetch(),
     tw_heat2d_var_ahead_0(), tw_heat2d_var_ahead_1(), tw_heat2d_var_load_0(), tw_heat2d_var_load_1(),
     tw_heat2d_var_store_0(), tw_heat2d_var_tile(), tw_heat2d_var() */

/* New values (u, k) in the rows of one advance of one level. */
static __attribute__((noinline)) void tw_heat2d_var_stage_0(const float *restrict scalar,
    const float *restrict u_now_passing, const float *restrict u_now_fresh, const float *restrict u_now_older,
    const float *restrict k_now_passing, const float *restrict k_now_fresh, const float *restrict k_now_older,
    float *restrict u_out_passing, float *restrict u_out_fresh, float *restrict k_out_passing,
    float *restrict k_out_fresh, int64_t gx, int64_t n, int64_t edge) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  const int64_t slab = pitch;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)((u_now_older + slab) + i);
    const tw_v_f32 u00_0 = r0;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(k_now_older + i);
    const tw_v_f32 u00_1 = r1;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(u_now_older + i);
    const tw_v_f32 u00_2 = r2;
    const tw_v_f32 r3 = *(const tw_u_f32 *)((u_now_fresh + slab) + i);
    const tw_v_f32 u00_3 = r3;
    const tw_v_f32 r4 = *(const tw_u_f32 *)((u_now_older + slab) + (i - V));
    const tw_v_f32 u00_4 = r4;
    const tw_v_f32 r5 = *(const tw_u_f32 *)((u_now_older + slab) + (i + V));
    const tw_v_f32 u00_5 = r5;
    const tw_v_f32 u00_6 = u00_2 + u00_3;
    const tw_v_f32 u00_7 = u00_6 + u00_4;
    const tw_v_f32 u00_8 = u00_7 + u00_5;
    const tw_v_f32 u00_10 = 4.0f * u00_0;
    const tw_v_f32 u00_11 = u00_8 - u00_10;
    const tw_v_f32 u00_12 = u00_1 * u00_11;
    const tw_v_f32 u00_13 = u00_0 + u00_12;
    *(tw_u_f32 *)((u_out_fresh + slab) + i) = u00_13;
    *(tw_u_f32 *)(k_out_fresh + i) = r1;
  }
  tw_heat2d_var_ends_0(u_out_fresh + slab, u_now_older + slab, gx, n, edge);
  tw_heat2d_var_ends_1(k_out_fresh, k_now_older, gx, n, edge);
}
