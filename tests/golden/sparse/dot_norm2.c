/* dot_norm2, float64
   not shown: least(), most(), past(), settle(), share() */

/* Elements from ... from + n - 1; their sums go to sum. */
static void block(void *const *array, int64_t from, int64_t n, int stream, const double *scalar, double *sum) {
  const real *const p_x = (real *)array[0] + from; const real *const p_y = (real *)array[1] + from;
  
  const vec zero = {0};
  vec t0_0 = zero; vec t1_0 = zero;
  real t0 = 0; real t1 = 0;
  int64_t i = 0;
  (void)zero; (void)scalar; (void)sum; (void)stream;

  if (stream && 0)
    for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    t0_0 += x_0 * y_0; t1_0 += x_0 * x_0;
      
    }
  for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    t0_0 += x_0 * y_0; t1_0 += x_0 * x_0;
      
  }
  for (; i < n; ++i) { real x = p_x[i]; real y = p_y[i]; t0 += x * y; t1 += x * x; }
  { double s = t0; { const vec all = t0_0; for (int l = 0; l < LANES; ++l) s += all[l]; } sum[0] = s; } { double s = t1; { const vec all = t1_0; for (int l = 0; l < LANES; ++l) s += all[l]; } sum[1] = s; }
}

void tw_vectors(void *const *array, const int64_t *size, double *work, const double *scalar) {
  const int64_t n = size[0], blocks = (n + 4096 - 1) / 4096;
  const int stream = (int)size[2];
  double total[2] = {0};
#ifdef _OPENMP
  if (size[1] > 1) {
#pragma omp parallel for schedule(static) num_threads((int)size[1])
    for (int64_t b = 0; b < blocks; ++b) {
      block(array, b * 4096, least(4096, n - b * 4096), stream, scalar, work + b * 2);
      if (stream) settle();
    }
  } else
#endif
  {
    for (int64_t b = 0; b < blocks; ++b)
      block(array, b * 4096, least(4096, n - b * 4096), stream, scalar, work + b * 2);
    if (stream) settle();
  }
  for (int64_t b = 0; b < blocks; ++b)
    for (int k = 0; k < 2; ++k) total[k] += work[b * 2 + k];
  for (int k = 0; k < 2; ++k) work[k] = total[k];
}
