/* three products
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     omp_get_thread_num(), tw_thread(), tw_vectors() */

static void tw_vectors_block(uint8_t *const *array, int64_t from, int64_t n, int64_t stream,
    const double *scalar, double *sum) {
  const float *const p_x0 = ((const float *)array[0]) + from;
  const float *const p_x1 = ((const float *)array[1]) + from;
  const float *const p_x2 = ((const float *)array[2]) + from;
  float *const p_y = ((float *)array[3]) + from;
  const float a0 = ((float)scalar[0]);
  const float a1 = ((float)scalar[1]);
  const float a2 = ((float)scalar[2]);
  {
    const int64_t step = TW_LANES_F32;
    for (int64_t at = 0; at < ((n - step) + 1); at += step) {
      const tw_v_f32 e_x0_0 = *(const tw_u_f32 *)(p_x0 + at);
      const tw_v_f32 e_x1_0 = *(const tw_u_f32 *)(p_x1 + at);
      const tw_v_f32 e_x2_0 = *(const tw_u_f32 *)(p_x2 + at);
      const tw_v_f32 e_y_0 = *(const tw_u_f32 *)(p_y + at);
      const tw_v_f32 y0_0 = ((e_y_0 + (a0 * e_x0_0)) + (a1 * e_x1_0)) + (a2 * e_x2_0);
      *(tw_u_f32 *)(p_y + at) = y0_0;
    }
    const int64_t whole = (n / step) * step;
    for (int64_t rest = whole; rest < n; ++rest) {
      const float e_x0 = p_x0[rest];
      const float e_x1 = p_x1[rest];
      const float e_x2 = p_x2[rest];
      const float e_y = p_y[rest];
      const float y0 = ((e_y + (a0 * e_x0)) + (a1 * e_x1)) + (a2 * e_x2);
      p_y[rest] = y0;
    }
  }
}
