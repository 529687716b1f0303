/* large, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_flush(), tw_restore(),
     tw_hold_v_f32(), tw_opaque(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), TW_LOW_f32, TW_ROLLED,
     tw_turn_f32(), tw_lift_f32(), tw_lower_f32(), tw_wrap_f32(), tw_prefetch_f32(), tw_again_f32(),
     tw_copy_f32(), tw_fill_f32(), tw_stream_f32(), tw_large_sum_0_of_4(), tw_large() */

static void tw_large_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t x0, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float * rows[9];
  for (int64_t d0 = 0; d0 < 9; ++d0) {
    const int64_t at0 = (x0 - 4) + d0;
    const float *const from0 = v_u + (at0 * s0);
    rows[d0] = from0;
  }
  float *const w0 = target + (x0 * s0);
  for (int64_t x = low; x < high; ++x) {
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
    float s0_0 = 0.0f;
    float s0_1 = 0.0f;
    float s0_2 = 0.0f;
    float s0_3 = 0.0f;
    for (int64_t near0 = 0; near0 < 9; ++near0) {
      const int64_t at = (x - 4) + near0;
      const float *const w = tw_again_f32(factors + (near0 * 9));
      const float l0 = rows[0][at];
      s0_0 = s0_0 + (w[0] * l0);
      const float l1 = rows[1][at];
      s0_1 = s0_1 + (w[1] * l1);
      const float l2 = rows[2][at];
      s0_2 = s0_2 + (w[2] * l2);
      const float l3 = rows[3][at];
      s0_3 = s0_3 + (w[3] * l3);
      const float l4 = rows[4][at];
      s0_0 = s0_0 + (w[4] * l4);
      const float l5 = rows[5][at];
      s0_1 = s0_1 + (w[5] * l5);
      const float l6 = rows[6][at];
      s0_2 = s0_2 + (w[6] * l6);
      const float l7 = rows[7][at];
      s0_3 = s0_3 + (w[7] * l7);
      const float l8 = rows[8][at];
      s0_0 = s0_0 + (w[8] * l8);
    }
    w0[x] = ((s0_0 + s0_1) + s0_2) + s0_3;
  }
}

static __attribute__((noinline)) void tw_large_sum_0_of_1(const float *const *rows, float *to,
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
  tw_v_f32 s0_2 = tw_splat_v_f32(0.0f);
  tw_v_f32 s0_3 = tw_splat_v_f32(0.0f);
  for (int64_t near0 = 0; near0 < 9; ++near0) {
    const int64_t at = (place - 4) + near0;
    const float *const w = tw_again_f32(factors + (near0 * 9));
    const tw_v_f32 l0 = *(const tw_u_f32 *)(rows[0] + at);
    s0_0 = s0_0 + (w[0] * l0);
    const tw_v_f32 l1 = *(const tw_u_f32 *)(rows[1] + at);
    s0_1 = s0_1 + (w[1] * l1);
    const tw_v_f32 l2 = *(const tw_u_f32 *)(rows[2] + at);
    s0_2 = s0_2 + (w[2] * l2);
    const tw_v_f32 l3 = *(const tw_u_f32 *)(rows[3] + at);
    s0_3 = s0_3 + (w[3] * l3);
    const tw_v_f32 l4 = *(const tw_u_f32 *)(rows[4] + at);
    s0_0 = s0_0 + (w[4] * l4);
    const tw_v_f32 l5 = *(const tw_u_f32 *)(rows[5] + at);
    s0_1 = s0_1 + (w[5] * l5);
    const tw_v_f32 l6 = *(const tw_u_f32 *)(rows[6] + at);
    s0_2 = s0_2 + (w[6] * l6);
    const tw_v_f32 l7 = *(const tw_u_f32 *)(rows[7] + at);
    s0_3 = s0_3 + (w[7] * l7);
    const tw_v_f32 l8 = *(const tw_u_f32 *)(rows[8] + at);
    s0_0 = s0_0 + (w[8] * l8);
  }
  *(tw_u_f32 *)(to + into) = ((s0_0 + s0_1) + s0_2) + s0_3;
}

static __attribute__((noinline)) void tw_large_box_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 4);
  const int64_t b0 = tw_min(high0, (n0 - 4));
  const int64_t a1 = tw_max(low1, 4);
  const int64_t b1 = tw_min(high1, (n1 - 4));
  const int64_t first = tw_max(a1, 4);
  const int64_t last = tw_min(b1, (n1 - 4));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b1);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b1);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b1);
  const int64_t end = stop;
  const int64_t whole = a0 + (tw_max((b0 - a0), 0) - (tw_max((b0 - a0), 0) % 4));
  for (int64_t row = a0; row < whole; row += 4) {
    const int64_t x0 = tw_opaque(row);
    const float * rows[12];
    for (int64_t d0 = 0; d0 < 12; ++d0) {
      const int64_t at0 = (x0 - 4) + d0;
      const float *const from0 = v_u + (at0 * s0);
      rows[d0] = from0;
    }
    float *const w0 = target + (x0 * s0);
    float *const w1 = target + ((x0 + 1) * s0);
    float *const w2 = target + ((x0 + 2) * s0);
    float *const w3 = target + ((x0 + 3) * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        tw_large_sum_0_of_4(rows, w0, s0, j, j);
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_large_cells_0(field, size, scalar, constant, t, x0, a1, start);
      tw_large_cells_0(field, size, scalar, constant, t, x0 + 1, a1, start);
      tw_large_cells_0(field, size, scalar, constant, t, x0 + 2, a1, start);
      tw_large_cells_0(field, size, scalar, constant, t, x0 + 3, a1, start);
    }
    if (stop < b1) {
      tw_large_cells_0(field, size, scalar, constant, t, x0, stop, b1);
      tw_large_cells_0(field, size, scalar, constant, t, x0 + 1, stop, b1);
      tw_large_cells_0(field, size, scalar, constant, t, x0 + 2, stop, b1);
      tw_large_cells_0(field, size, scalar, constant, t, x0 + 3, stop, b1);
    }
  }
  for (int64_t row = whole; row < b0; ++row) {
    const int64_t x0 = tw_opaque(row);
    const float * rows[9];
    for (int64_t d0 = 0; d0 < 9; ++d0) {
      const int64_t at0 = (x0 - 4) + d0;
      const float *const from0 = v_u + (at0 * s0);
      rows[d0] = from0;
    }
    float *const w0 = target + (x0 * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        tw_large_sum_0_of_1(rows, w0, s0, j, j);
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_large_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_large_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}
