/* cube, float32, boundary fixed, tiling streaming:t=2,s=4x8x16,rows=2
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_flush(),
     tw_restore(), tw_hold_v_f32(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32,
     TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(),
     tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(), tw_cube_ends_0(), tw_cube_brim_0(),
     tw_cube_border_0(), tw_cube_fetch(), tw_cube_load_0(), tw_cube_store_0(), tw_cube_rows_0_2x1(),
     tw_cube_stage_0(), tw_cube_rows_0_2x2(), tw_cube_tile(), tw_cube() */

#if TW_REGISTERS == 32
/* New values in so many planes and rows of each: 2, 3, of pairs of planes by y0 = (b + c) + a and y1 = (b - c) + e; a table holds the factors. */
static __attribute__((noinline)) void tw_cube_rows_0_2x3(const float *factors, const float *u_now_m2,
    const float *u_now_m1, const float *u_now_0, const float *u_now_1, float *u_out_0, float *u_out_1) {
  const int64_t V = TW_LANES_F32;
  const int64_t vectors = 32 / TW_LANES_F32;
  const int64_t pitch = ((vectors + 2) | 1) * TW_LANES_F32;
  for (int64_t i = 0; i < (vectors * V); i += TW_LANES_F32) {
    tw_v_f32 u_a0 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_b0 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_c0 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_e0 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_a1 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_b1 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_c1 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_e1 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_a2 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_b2 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_c2 = tw_splat_v_f32(0.0f);
    tw_v_f32 u_e2 = tw_splat_v_f32(0.0f);
    for (int64_t near = 0; near < 3; ++near) {
      const int64_t u_at = (i - V) + (near * V);
      const float *const u_w = tw_again_f32(factors + (near * 11));
      const tw_v_f32 u_1 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m2 + (u_at - pitch)));
      u_a0 = u_a0 + (u_w[8] * u_1);
      const tw_v_f32 u_2 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m1 + (u_at - pitch)));
      u_a0 = u_a0 + (u_w[9] * u_2);
      u_e0 = u_e0 + (u_w[8] * u_2);
      const tw_v_f32 u_3 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_0 + (u_at - pitch)));
      u_a0 = u_a0 + (u_w[10] * u_3);
      u_e0 = u_e0 + (u_w[9] * u_3);
      const tw_v_f32 u_4 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_1 + (u_at - pitch)));
      u_e0 = u_e0 + (u_w[10] * u_4);
      const tw_v_f32 u_5 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m2 + u_at));
      const tw_v_f32 u_6 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m1 + u_at));
      const tw_v_f32 u_7 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_0 + u_at));
      const tw_v_f32 u_8 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_1 + u_at));
      const tw_v_f32 u_9 = u_5 - u_7;
      const tw_v_f32 u_10 = u_6 + u_7;
      const tw_v_f32 u_11 = u_7 - u_6;
      const tw_v_f32 u_12 = u_8 - u_6;
      u_a0 = u_a0 + (u_w[0] * u_9);
      u_b0 = u_b0 + (u_w[1] * u_10);
      u_c0 = u_c0 + (u_w[2] * u_11);
      u_e0 = u_e0 + (u_w[3] * u_12);
      u_a1 = u_a1 + (u_w[8] * u_5);
      u_a1 = u_a1 + (u_w[9] * u_6);
      u_e1 = u_e1 + (u_w[8] * u_6);
      u_a1 = u_a1 + (u_w[10] * u_7);
      u_e1 = u_e1 + (u_w[9] * u_7);
      u_e1 = u_e1 + (u_w[10] * u_8);
      const tw_v_f32 u_13 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m2 + (u_at + pitch)));
      const tw_v_f32 u_14 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m1 + (u_at + pitch)));
      const tw_v_f32 u_15 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_0 + (u_at + pitch)));
      const tw_v_f32 u_16 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_1 + (u_at + pitch)));
      const tw_v_f32 u_17 = u_13 - u_15;
      const tw_v_f32 u_18 = u_14 + u_15;
      const tw_v_f32 u_19 = u_15 - u_14;
      const tw_v_f32 u_20 = u_16 - u_14;
      u_a1 = u_a1 + (u_w[0] * u_17);
      u_b1 = u_b1 + (u_w[1] * u_18);
      u_c1 = u_c1 + (u_w[2] * u_19);
      u_e1 = u_e1 + (u_w[3] * u_20);
      u_a0 = u_a0 + (u_w[4] * u_17);
      u_b0 = u_b0 + (u_w[5] * u_18);
      u_c0 = u_c0 + (u_w[6] * u_19);
      u_e0 = u_e0 + (u_w[7] * u_20);
      u_a2 = u_a2 + (u_w[8] * u_13);
      u_a2 = u_a2 + (u_w[9] * u_14);
      u_e2 = u_e2 + (u_w[8] * u_14);
      u_a2 = u_a2 + (u_w[10] * u_15);
      u_e2 = u_e2 + (u_w[9] * u_15);
      u_e2 = u_e2 + (u_w[10] * u_16);
      const tw_v_f32 u_21 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m2 + (u_at + (pitch * 2))));
      const tw_v_f32 u_22 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m1 + (u_at + (pitch * 2))));
      const tw_v_f32 u_23 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_0 + (u_at + (pitch * 2))));
      const tw_v_f32 u_24 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_1 + (u_at + (pitch * 2))));
      const tw_v_f32 u_25 = u_21 - u_23;
      const tw_v_f32 u_26 = u_22 + u_23;
      const tw_v_f32 u_27 = u_23 - u_22;
      const tw_v_f32 u_28 = u_24 - u_22;
      u_a2 = u_a2 + (u_w[0] * u_25);
      u_b2 = u_b2 + (u_w[1] * u_26);
      u_c2 = u_c2 + (u_w[2] * u_27);
      u_e2 = u_e2 + (u_w[3] * u_28);
      u_a1 = u_a1 + (u_w[4] * u_25);
      u_b1 = u_b1 + (u_w[5] * u_26);
      u_c1 = u_c1 + (u_w[6] * u_27);
      u_e1 = u_e1 + (u_w[7] * u_28);
      const tw_v_f32 u_29 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m2 + (u_at + (pitch * 3))));
      const tw_v_f32 u_30 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_m1 + (u_at + (pitch * 3))));
      const tw_v_f32 u_31 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_0 + (u_at + (pitch * 3))));
      const tw_v_f32 u_32 = tw_hold_v_f32(*(const tw_u_f32 *)(u_now_1 + (u_at + (pitch * 3))));
      const tw_v_f32 u_33 = u_29 - u_31;
      const tw_v_f32 u_34 = u_30 + u_31;
      const tw_v_f32 u_35 = u_31 - u_30;
      const tw_v_f32 u_36 = u_32 - u_30;
      u_a2 = u_a2 + (u_w[4] * u_33);
      u_b2 = u_b2 + (u_w[5] * u_34);
      u_c2 = u_c2 + (u_w[6] * u_35);
      u_e2 = u_e2 + (u_w[7] * u_36);
    }
    const tw_v_f32 u_37 = (u_b0 + u_c0) + u_a0;
    const tw_v_f32 u_38 = (u_b1 + u_c1) + u_a1;
    const tw_v_f32 u_39 = (u_b2 + u_c2) + u_a2;
    const tw_v_f32 u_40 = (u_b0 - u_c0) + u_e0;
    const tw_v_f32 u_41 = (u_b1 - u_c1) + u_e1;
    const tw_v_f32 u_42 = (u_b2 - u_c2) + u_e2;
    *(tw_u_f32 *)(u_out_0 + i) = u_37;
    *(tw_u_f32 *)(u_out_0 + (i + pitch)) = u_38;
    *(tw_u_f32 *)(u_out_0 + (i + (pitch * 2))) = u_39;
    *(tw_u_f32 *)(u_out_1 + i) = u_40;
    *(tw_u_f32 *)(u_out_1 + (i + pitch)) = u_41;
    *(tw_u_f32 *)(u_out_1 + (i + (pitch * 2))) = u_42;
  }
}
#endif
