/* two kernels in one
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_U8, tw_pick_f64(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     tw_splat_v_f64(), omp_get_thread_num(), tw_thread(), tw_vectors() */

static void tw_vectors_block(uint8_t *const *array, int64_t from, int64_t n, int64_t stream,
    const double *scalar, double *sum) {
  const double *const p_x = ((const double *)array[0]) + from;
  double *const p_y = ((double *)array[1]) + from;
  const double a = scalar[0];
  tw_v_f64 t0_0 = tw_splat_v_f64(0.0);
  tw_v_f64 t0_1 = tw_splat_v_f64(0.0);
  double t0 = 0.0;
  {
    const int64_t step = TW_LANES_F64 * 2;
    for (int64_t at = 0; at < ((n - step) + 1); at += step) {
      const tw_v_f64 e_x_0 = *(const tw_u_f64 *)(p_x + at);
      const tw_v_f64 e_y_0 = *(const tw_u_f64 *)(p_y + at);
      const tw_v_f64 y0_0 = (a * e_x_0) + e_y_0;
      t0_0 = t0_0 + (y0_0 * y0_0);
      const tw_v_f64 e_x_1 = *(const tw_u_f64 *)(p_x + (at + TW_LANES_F64));
      const tw_v_f64 e_y_1 = *(const tw_u_f64 *)(p_y + (at + TW_LANES_F64));
      const tw_v_f64 y0_1 = (a * e_x_1) + e_y_1;
      t0_1 = t0_1 + (y0_1 * y0_1);
      *(tw_u_f64 *)(p_y + at) = y0_0;
      *(tw_u_f64 *)(p_y + (at + TW_LANES_F64)) = y0_1;
    }
    const int64_t whole = (n / step) * step;
    for (int64_t rest = whole; rest < n; ++rest) {
      const double e_x = p_x[rest];
      const double e_y = p_y[rest];
      const double y0 = (a * e_x) + e_y;
      t0 = t0 + (y0 * y0);
      p_y[rest] = y0;
    }
  }
  const tw_v_f64 all0 = t0_0 + t0_1;
  double s0 = t0;
  for (int64_t lane = 0; lane < TW_LANES_F64; ++lane) {
    s0 = s0 + all0[lane];
  }
  sum[0] = s0;
}
