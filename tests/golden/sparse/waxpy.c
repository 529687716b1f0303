/* waxpy, float64
   not shown: least(), most(), past(), settle(), share() */

/* Elements from ... from + n - 1; their sums go to sum. */
static void block(void *const *array, int64_t from, int64_t n, int stream, const double *scalar, double *sum) {
  const real *const p_x = (real *)array[0] + from; const real *const p_y = (real *)array[1] + from; real *const p_w = (real *)array[2] + from;
  const real a = (real)scalar[0];
  const vec zero = {0};
  
  
  int64_t i = 0;
  (void)zero; (void)scalar; (void)sum; (void)stream;
  if (stream) for (; i < n && ((uintptr_t)(p_w + i) & (BYTES - 1)); ++i) { real x = p_x[i]; real y = p_y[i]; real w = a * x + y; p_w[i] = w; }
  if (stream && !((uintptr_t)(p_w + i) & (BYTES - 1)))
    for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    vec w_0 = a * x_0 + y_0;
      past(p_w + i, w_0);
    }
  for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    vec w_0 = a * x_0 + y_0;
      *(vec *)(p_w + i) = w_0;
  }
  for (; i < n; ++i) { real x = p_x[i]; real y = p_y[i]; real w = a * x + y; p_w[i] = w; }
  
}

void tw_vectors(void *const *array, const int64_t *size, double *work, const double *scalar) {
  const int64_t n = size[0], blocks = (n + 4096 - 1) / 4096;
  const int stream = (int)size[2];
  double total[1] = {0};
#ifdef _OPENMP
  if (size[1] > 1) {
#pragma omp parallel for schedule(static) num_threads((int)size[1])
    for (int64_t b = 0; b < blocks; ++b) {
      block(array, b * 4096, least(4096, n - b * 4096), stream, scalar, work + b * 0);
      if (stream) settle();
    }
  } else
#endif
  {
    for (int64_t b = 0; b < blocks; ++b)
      block(array, b * 4096, least(4096, n - b * 4096), stream, scalar, work + b * 0);
    if (stream) settle();
  }
  for (int64_t b = 0; b < blocks; ++b)
    for (int k = 0; k < 0; ++k) total[k] += work[b * 0 + k];
  for (int k = 0; k < 0; ++k) work[k] = total[k];
}
