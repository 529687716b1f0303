/* Bratu problem
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_I64, TW_LANES_U8, tw_pick_f64(), tw_fence(), tw_past_v_f64(),
     tw_splat_v_f64(), omp_get_thread_num(), tw_thread(), omp_get_num_threads(), tw_threads(),
     tw_where_v_f64(), row_past_diagonal(), row_diagonal(), row(), rows() */

static inline tw_v_f64 exponential(tw_v_f64 x) {
  const tw_v_f64 most = tw_splat_v_f64(800.0);
  const tw_v_f64 lowest = tw_splat_v_f64((-800.0));
  const tw_v_f64 below = tw_where_v_f64((x > most), most, x);
  const tw_v_f64 inside = tw_where_v_f64((below < lowest), lowest, below);
  const tw_v_f64 magic = tw_splat_v_f64(6755399441055744.0);
  const tw_v_f64 shifted = (inside * 1.4426950408889634) + magic;
  const tw_v_f64 n = shifted - magic;
  const tw_v_f64 r = (inside - (n * 0.6931471805582987)) - (n * 1.6465949582897082e-12);
  tw_v_f64 p = tw_splat_v_f64(1.6059043836821613e-10);
  p = (p * r) + 2.08767569878681e-09;
  p = (p * r) + 2.505210838544172e-08;
  p = (p * r) + 2.755731922398589e-07;
  p = (p * r) + 2.7557319223985893e-06;
  p = (p * r) + 2.48015873015873e-05;
  p = (p * r) + 0.0001984126984126984;
  p = (p * r) + 0.001388888888888889;
  p = (p * r) + 0.008333333333333333;
  p = (p * r) + 0.041666666666666664;
  p = (p * r) + 0.16666666666666666;
  p = (p * r) + 0.5;
  p = (p * r) + 1.0;
  p = (p * r) + 1.0;
  /* 2^n in two factors: it may be a subnormal number or overflow */
  const tw_v_i64 power = ((tw_v_i64)shifted) - ((tw_v_i64)magic);
  const tw_v_i64 half = power >> 1LL;
  const tw_v_f64 first = ((tw_v_f64)((half + 1023LL) << 52LL));
  const tw_v_f64 second = ((tw_v_f64)(((power - half) + 1023LL) << 52LL));
  return ((p * first) * second);
}

static void row_past(const double *u, const double *n, const double *s, double *f, int64_t columns, double east,
    double north, double source) {
  const double edge = (east + north) * 2.0;
  f[0] = edge * u[0];
  if (columns > 2) {
    const int64_t second = 1;
    const tw_v_f64 e = exponential(tw_splat_v_f64(u[second]));
    f[second] = (((((u[second] * 2.0) - ((second > 1) ? u[second - 1] : 0.0)) - (((second + 2) < columns) ? u[second + 1] : 0.0)) * east) + ((((u[second] * 2.0) - n[second]) - s[second]) * north)) - (source * e[0]);
  }
  if (columns > 3) {
    const int64_t inner = columns - 2;
    {
      int64_t i = 2;
      while ((i < inner) & ((((int64_t)(f + i)) % TW_BYTES) != 0)) {
        const tw_v_f64 e = exponential(tw_splat_v_f64(u[i]));
        f[i] = (((((u[i] * 2.0) - ((i > 1) ? u[i - 1] : 0.0)) - (((i + 2) < columns) ? u[i + 1] : 0.0)) * east) + ((((u[i] * 2.0) - n[i]) - s[i]) * north)) - (source * e[0]);
        i = i + 1;
      }
      const int64_t step = TW_LANES_F64 * 2;
      for (int64_t at = i; at < ((inner - step) + 1); at += step) {
        const tw_v_f64 c0 = *(const tw_u_f64 *)(u + at);
        const tw_v_f64 e0 = exponential(c0);
        const tw_v_f64 v0 = (((((c0 * 2.0) - *(const tw_u_f64 *)(u + (at - 1))) - *(const tw_u_f64 *)(u + (at + 1))) * east) + ((((c0 * 2.0) - *(const tw_u_f64 *)(n + at)) - *(const tw_u_f64 *)(s + at)) * north)) - (source * e0);
        const tw_v_f64 c1 = *(const tw_u_f64 *)(u + (at + TW_LANES_F64));
        const tw_v_f64 e1 = exponential(c1);
        const tw_v_f64 v1 = (((((c1 * 2.0) - *(const tw_u_f64 *)(u + ((at + TW_LANES_F64) - 1))) - *(const tw_u_f64 *)(u + ((at + TW_LANES_F64) + 1))) * east) + ((((c1 * 2.0) - *(const tw_u_f64 *)(n + (at + TW_LANES_F64))) - *(const tw_u_f64 *)(s + (at + TW_LANES_F64))) * north)) - (source * e1);
        tw_past_v_f64(f + at, v0);
        tw_past_v_f64(f + (at + TW_LANES_F64), v1);
      }
      const int64_t whole = ((inner - i) / step) * step;
      for (int64_t rest = whole + i; rest < inner; ++rest) {
        const tw_v_f64 e = exponential(tw_splat_v_f64(u[rest]));
        f[rest] = (((((u[rest] * 2.0) - ((rest > 1) ? u[rest - 1] : 0.0)) - (((rest + 2) < columns) ? u[rest + 1] : 0.0)) * east) + ((((u[rest] * 2.0) - n[rest]) - s[rest]) * north)) - (source * e[0]);
      }
    }
    const tw_v_f64 e = exponential(tw_splat_v_f64(u[inner]));
    f[inner] = (((((u[inner] * 2.0) - ((inner > 1) ? u[inner - 1] : 0.0)) - (((inner + 2) < columns) ? u[inner + 1] : 0.0)) * east) + ((((u[inner] * 2.0) - n[inner]) - s[inner]) * north)) - (source * e[0]);
  }
  if (columns > 1) {
    f[columns - 1] = edge * u[columns - 1];
  }
}

void tw_bratu(uint8_t *const *array, const int64_t *size, uint8_t *work, const double *weight) {
  const int64_t n = size[0];
  if (size[2] > 1) {
    #pragma omp parallel num_threads(size[2])
    {
      rows(((const double *)array[0]), ((double *)array[1]), ((const double *)array[2]), (n * tw_thread()) / tw_threads(), (n * (tw_thread() + 1)) / tw_threads(), size, weight[0], weight[1], weight[2]);
    }
  } else {
    rows(((const double *)array[0]), ((double *)array[1]), ((const double *)array[2]), 0, n, size, weight[0], weight[1], weight[2]);
  }
}
