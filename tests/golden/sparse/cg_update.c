/* cg_update, float64
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_U8, tw_pick_f64(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     tw_splat_v_f64(), omp_get_thread_num(), tw_thread(), tw_vectors() */

static void tw_vectors_block(uint8_t *const *array, int64_t from, int64_t n, int64_t stream,
    const double *scalar, double *sum) {
  const double *const p_p = ((const double *)array[0]) + from;
  const double *const p_q = ((const double *)array[1]) + from;
  double *const p_x = ((double *)array[2]) + from;
  double *const p_r = ((double *)array[3]) + from;
  const double a = scalar[0];
  tw_v_f64 t0_0 = tw_splat_v_f64(0.0);
  double t0 = 0.0;
  {
    const int64_t step = TW_LANES_F64;
    for (int64_t at = 0; at < ((n - step) + 1); at += step) {
      const tw_v_f64 e_p_0 = *(const tw_u_f64 *)(p_p + at);
      const tw_v_f64 e_q_0 = *(const tw_u_f64 *)(p_q + at);
      const tw_v_f64 e_x_0 = *(const tw_u_f64 *)(p_x + at);
      const tw_v_f64 e_r_0 = *(const tw_u_f64 *)(p_r + at);
      const tw_v_f64 x0_0 = (a * e_p_0) + e_x_0;
      const tw_v_f64 r1_0 = e_r_0 - (a * e_q_0);
      t0_0 = t0_0 + (r1_0 * r1_0);
      *(tw_u_f64 *)(p_x + at) = x0_0;
      *(tw_u_f64 *)(p_r + at) = r1_0;
    }
    const int64_t whole = (n / step) * step;
    for (int64_t rest = whole; rest < n; ++rest) {
      const double e_p = p_p[rest];
      const double e_q = p_q[rest];
      const double e_x = p_x[rest];
      const double e_r = p_r[rest];
      const double x0 = (a * e_p) + e_x;
      const double r1 = e_r - (a * e_q);
      t0 = t0 + (r1 * r1);
      p_x[rest] = x0;
      p_r[rest] = r1;
    }
  }
  const tw_v_f64 all0 = t0_0;
  double s0 = t0;
  for (int64_t lane = 0; lane < TW_LANES_F64; ++lane) {
    s0 = s0 + all0[lane];
  }
  sum[0] = s0;
}
