/* large, float32, boundary reflect, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_flush(),
     tw_restore(), tw_hold_v_f32(), tw_opaque(), tw_outside_high_reflect_1_v_f32(),
     tw_outside_high_reflect_2_v_f32(), tw_outside_high_reflect_3_v_f32(), tw_outside_high_reflect_4_v_f32(),
     tw_outside_low_reflect_1_v_f32(), tw_outside_low_reflect_2_v_f32(), tw_outside_low_reflect_3_v_f32(),
     tw_outside_low_reflect_4_v_f32(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32,
     TW_ROLLED, tw_turn_f32(), tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(),
     tw_again_f32(), tw_copy_f32(), tw_fill_f32(), tw_stream_f32(), tw_large_cell_0(), tw_large_cells_0(),
     tw_large_sum_0_of_1(), tw_large_box_0(), tw_large() */

static __attribute__((noinline)) void tw_large_sum_0_of_4(const float *const *rows, float *to,
    int64_t stride, int64_t place, int64_t into) {
  static const float factors[81] = {
    0.001f, 0.01f, 0.019f, 0.028f, 0.037f, 0.046f, 0.055f, 0.064f,
    0.073f, 0.002f, 0.011f, 0.02f, 0.029f, 0.038f, 0.047f, 0.056f,
    0.065f, 0.074f, 0.003f, 0.012f, 0.021f, 0.03f, 0.039f, 0.048f,
    0.057f, 0.066f, 0.075f, 0.004f, 0.013f, 0.022f, 0.031f, 0.04f,
    0.049f, 0.058f, 0.067f, 0.076f, 0.005f, 0.014f, 0.023f, 0.032f,
    0.041f, 0.05f, 0.059f, 0.068f, 0.077f, 0.006f, 0.015f, 0.024f,
    0.033f, 0.042f, 0.051f, 0.06f, 0.069f, 0.078f, 0.007f, 0.016f,
    0.025f, 0.034f, 0.043f, 0.052f, 0.061f, 0.07f, 0.079f, 0.008f,
    0.017f, 0.026f, 0.035f, 0.044f, 0.053f, 0.062f, 0.071f, 0.08f,
    0.009f, 0.018f, 0.027f, 0.036f, 0.045f, 0.054f, 0.063f, 0.072f,
    0.081f,
  };
  tw_v_f32 s0_0 = tw_splat_v_f32(0.0f);
  tw_v_f32 s0_1 = tw_splat_v_f32(0.0f);
  tw_v_f32 s1_0 = tw_splat_v_f32(0.0f);
  tw_v_f32 s1_1 = tw_splat_v_f32(0.0f);
  tw_v_f32 s2_0 = tw_splat_v_f32(0.0f);
  tw_v_f32 s2_1 = tw_splat_v_f32(0.0f);
  tw_v_f32 s3_0 = tw_splat_v_f32(0.0f);
  tw_v_f32 s3_1 = tw_splat_v_f32(0.0f);
  for (int64_t near0 = 0; near0 < 9; ++near0) {
    const int64_t at = (place - 4) + near0;
    const float *const w = tw_again_f32(factors + (near0 * 9));
    const tw_v_f32 l0 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[0] + at));
    s0_0 = s0_0 + (w[0] * l0);
    const tw_v_f32 l1 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[1] + at));
    s0_1 = s0_1 + (w[1] * l1);
    s1_0 = s1_0 + (w[0] * l1);
    const tw_v_f32 l2 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[2] + at));
    s0_0 = s0_0 + (w[2] * l2);
    s1_1 = s1_1 + (w[1] * l2);
    s2_0 = s2_0 + (w[0] * l2);
    const tw_v_f32 l3 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[3] + at));
    s0_1 = s0_1 + (w[3] * l3);
    s1_0 = s1_0 + (w[2] * l3);
    s2_1 = s2_1 + (w[1] * l3);
    s3_0 = s3_0 + (w[0] * l3);
    const tw_v_f32 l4 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[4] + at));
    s0_0 = s0_0 + (w[4] * l4);
    s1_1 = s1_1 + (w[3] * l4);
    s2_0 = s2_0 + (w[2] * l4);
    s3_1 = s3_1 + (w[1] * l4);
    const tw_v_f32 l5 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[5] + at));
    s0_1 = s0_1 + (w[5] * l5);
    s1_0 = s1_0 + (w[4] * l5);
    s2_1 = s2_1 + (w[3] * l5);
    s3_0 = s3_0 + (w[2] * l5);
    const tw_v_f32 l6 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[6] + at));
    s0_0 = s0_0 + (w[6] * l6);
    s1_1 = s1_1 + (w[5] * l6);
    s2_0 = s2_0 + (w[4] * l6);
    s3_1 = s3_1 + (w[3] * l6);
    const tw_v_f32 l7 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[7] + at));
    s0_1 = s0_1 + (w[7] * l7);
    s1_0 = s1_0 + (w[6] * l7);
    s2_1 = s2_1 + (w[5] * l7);
    s3_0 = s3_0 + (w[4] * l7);
    const tw_v_f32 l8 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[8] + at));
    s0_0 = s0_0 + (w[8] * l8);
    s1_1 = s1_1 + (w[7] * l8);
    s2_0 = s2_0 + (w[6] * l8);
    s3_1 = s3_1 + (w[5] * l8);
    const tw_v_f32 l9 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[9] + at));
    s1_0 = s1_0 + (w[8] * l9);
    s2_1 = s2_1 + (w[7] * l9);
    s3_0 = s3_0 + (w[6] * l9);
    const tw_v_f32 l10 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[10] + at));
    s2_0 = s2_0 + (w[8] * l10);
    s3_1 = s3_1 + (w[7] * l10);
    const tw_v_f32 l11 = tw_hold_v_f32(*(const tw_u_f32 *)(rows[11] + at));
    s3_0 = s3_0 + (w[8] * l11);
  }
  *(tw_u_f32 *)(to + into) = s0_0 + s0_1;
  *(tw_u_f32 *)(to + (into + stride)) = s1_0 + s1_1;
  *(tw_u_f32 *)(to + (into + (stride * 2))) = s2_0 + s2_1;
  *(tw_u_f32 *)(to + (into + (stride * 3))) = s3_0 + s3_1;
}

static void tw_large_sum_0_low(const float *row, float *to, int64_t n1) {
  *(tw_u_f32 *)(to + (-4)) = tw_outside_low_reflect_4_v_f32(*(const tw_u_f32 *)(row + 0), *(const tw_u_f32 *)(row + 0));
  *(tw_u_f32 *)(to + 4) = *(const tw_u_f32 *)(row + 4);
  *(tw_u_f32 *)(to + 0) = *(const tw_u_f32 *)(row + 0);
}

static void tw_large_sum_0_high(const float *row, float *to, int64_t n1) {
  *(tw_u_f32 *)(to + (-4)) = *(const tw_u_f32 *)(row + ((n1 - TW_LANES_F32) - 4));
  *(tw_u_f32 *)(to + 4) = tw_outside_high_reflect_4_v_f32(*(const tw_u_f32 *)(row + (n1 - TW_LANES_F32)), *(const tw_u_f32 *)(row + (n1 - TW_LANES_F32)));
  *(tw_u_f32 *)(to + 0) = *(const tw_u_f32 *)(row + (n1 - TW_LANES_F32));
}
