/* axpy, float64
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     omp_get_thread_num(), tw_thread() */

static void tw_vectors_block(uint8_t *const *array, int64_t from, int64_t n, int64_t stream,
    const double *scalar, double *sum) {
  const double *const p_x = ((const double *)array[0]) + from;
  double *const p_y = ((double *)array[1]) + from;
  const double a = scalar[0];
  {
    const int64_t step = TW_LANES_F64;
    for (int64_t at = 0; at < ((n - step) + 1); at += step) {
      const tw_v_f64 e_x_0 = *(const tw_u_f64 *)(p_x + at);
      const tw_v_f64 e_y_0 = *(const tw_u_f64 *)(p_y + at);
      const tw_v_f64 y0_0 = (a * e_x_0) + e_y_0;
      *(tw_u_f64 *)(p_y + at) = y0_0;
    }
    const int64_t whole = (n / step) * step;
    for (int64_t rest = whole; rest < n; ++rest) {
      const double e_x = p_x[rest];
      const double e_y = p_y[rest];
      const double y0 = (a * e_x) + e_y;
      p_y[rest] = y0;
    }
  }
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
        tw_vectors_block(array, b * 4096, tw_min((n - (b * 4096)), 4096), stream, scalar, work);
        if (stream != 0) {
          tw_fence();
        }
      }
    }
  } else {
    for (int64_t b = 0; b < blocks && tw_wanted(&tw_own); ++b) {
      tw_vectors_block(array, b * 4096, tw_min((n - (b * 4096)), 4096), stream, scalar, work);
      if (stream != 0) {
        tw_fence();
      }
    }
  }
}
