/* two kernels in one
   not shown: least(), most(), past(), settle(), share(), tw_vectors() */

/* Elements from ... from + n - 1; their sums go to sum. */
static void block(void *const *array, int64_t from, int64_t n, int stream, const double *scalar, double *sum) {
  const real *const p_x = (real *)array[0] + from; real *const p_y = (real *)array[1] + from;
  const real a = (real)scalar[0];
  const vec zero = {0};
  vec t0_0 = zero; vec t0_1 = zero;
  real t0 = 0;
  int64_t i = 0;
  (void)zero; (void)scalar; (void)sum; (void)stream;

  if (stream && 0)
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    y_0 = a * x_0 + y_0; t0_0 += y_0 * y_0;
    vec x_1 = *(const vec *)(p_x + i + 1 * LANES); vec y_1 = *(const vec *)(p_y + i + 1 * LANES);
    y_1 = a * x_1 + y_1; t0_1 += y_1 * y_1;
      *(vec *)(p_y + i) = y_0;
      *(vec *)(p_y + i + 1 * LANES) = y_1;
    }
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    y_0 = a * x_0 + y_0; t0_0 += y_0 * y_0;
    vec x_1 = *(const vec *)(p_x + i + 1 * LANES); vec y_1 = *(const vec *)(p_y + i + 1 * LANES);
    y_1 = a * x_1 + y_1; t0_1 += y_1 * y_1;
      *(vec *)(p_y + i) = y_0;
      *(vec *)(p_y + i + 1 * LANES) = y_1;
  }
  for (; i < n; ++i) { real x = p_x[i]; real y = p_y[i]; y = a * x + y; t0 += y * y; p_y[i] = y; }
  { double s = t0; { const vec all = (t0_0 + t0_1); for (int l = 0; l < LANES; ++l) s += all[l]; } sum[0] = s; }
}
