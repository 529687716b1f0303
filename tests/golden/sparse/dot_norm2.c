/* dot_norm2, float64
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_U8, tw_pick_f64(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     tw_splat_v_f64(), omp_get_thread_num(), tw_thread() */

static void tw_vectors_block(uint8_t *const *array, int64_t from, int64_t n, int64_t stream,
    const double *scalar, double *sum) {
  const double *const p_x = ((const double *)array[0]) + from;
  const double *const p_y = ((const double *)array[1]) + from;
  tw_v_f64 t0_0 = tw_splat_v_f64(0.0);
  tw_v_f64 t1_0 = tw_splat_v_f64(0.0);
  double t0 = 0.0;
  double t1 = 0.0;
  {
    const int64_t step = TW_LANES_F64;
    for (int64_t at = 0; at < ((n - step) + 1); at += step) {
      const tw_v_f64 e_x_0 = *(const tw_u_f64 *)(p_x + at);
      const tw_v_f64 e_y_0 = *(const tw_u_f64 *)(p_y + at);
      t0_0 = t0_0 + (e_x_0 * e_y_0);
      t1_0 = t1_0 + (e_x_0 * e_x_0);
    }
    const int64_t whole = (n / step) * step;
    for (int64_t rest = whole; rest < n; ++rest) {
      const double e_x = p_x[rest];
      const double e_y = p_y[rest];
      t0 = t0 + (e_x * e_y);
      t1 = t1 + (e_x * e_x);
    }
  }
  const tw_v_f64 all0 = t0_0;
  double s0 = t0;
  for (int64_t lane = 0; lane < TW_LANES_F64; ++lane) {
    s0 = s0 + all0[lane];
  }
  sum[0] = s0;
  const tw_v_f64 all1 = t1_0;
  double s1 = t1;
  for (int64_t lane = 0; lane < TW_LANES_F64; ++lane) {
    s1 = s1 + all1[lane];
  }
  sum[1] = s1;
}

void tw_vectors(uint8_t *const *array, const int64_t *size, double *work, const double *scalar) {
  int64_t tw_last_round = INT64_MAX;
  tw_asks tw_own = {&tw_last_round, 0, 0};
  const int64_t n = size[0];
  const int64_t stream = size[2];
  const int64_t blocks = (n + 4095) / 4096;
  if (size[1] > 1) {
    #pragma omp parallel num_threads(size[1])
    {
      tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
      #pragma omp for schedule(static)
      for (int64_t b = 0; b < blocks; ++b) {
        if (!tw_wanted(&tw_own)) continue;
        tw_vectors_block(array, b * 4096, tw_min((n - (b * 4096)), 4096), stream, scalar, work + (b * 2));
        if (stream != 0) {
          tw_fence();
        }
      }
    }
  } else {
    for (int64_t b = 0; b < blocks && tw_wanted(&tw_own); ++b) {
      tw_vectors_block(array, b * 4096, tw_min((n - (b * 4096)), 4096), stream, scalar, work + (b * 2));
      if (stream != 0) {
        tw_fence();
      }
    }
  }
  double total0 = 0.0;
  for (int64_t b = 0; b < blocks; ++b) {
    total0 = total0 + work[b * 2];
  }
  work[0] = total0;
  double total1 = 0.0;
  for (int64_t b = 0; b < blocks; ++b) {
    total1 = total1 + work[(b * 2) + 1];
  }
  work[1] = total1;
}
