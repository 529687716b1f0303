/* three products
   not shown: least(), most(), past(), settle(), share(), tw_vectors() */

/* Elements from ... from + n - 1; their sums go to sum. */
static void block(void *const *array, int64_t from, int64_t n, int stream, const double *scalar, double *sum) {
  const real *const p_x0 = (real *)array[0] + from; const real *const p_x1 = (real *)array[1] + from; const real *const p_x2 = (real *)array[2] + from; real *const p_y = (real *)array[3] + from;
  const real a0 = (real)scalar[0]; const real a1 = (real)scalar[1]; const real a2 = (real)scalar[2];
  const vec zero = {0};
  
  
  int64_t i = 0;
  (void)zero; (void)scalar; (void)sum; (void)stream;

  if (stream && 0)
    for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x0_0 = *(const vec *)(p_x0 + i); vec x1_0 = *(const vec *)(p_x1 + i); vec x2_0 = *(const vec *)(p_x2 + i); vec y_0 = *(const vec *)(p_y + i);
    y_0 = y_0 + a0 * x0_0 + a1 * x1_0 + a2 * x2_0;
      *(vec *)(p_y + i) = y_0;
    }
  for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x0_0 = *(const vec *)(p_x0 + i); vec x1_0 = *(const vec *)(p_x1 + i); vec x2_0 = *(const vec *)(p_x2 + i); vec y_0 = *(const vec *)(p_y + i);
    y_0 = y_0 + a0 * x0_0 + a1 * x1_0 + a2 * x2_0;
      *(vec *)(p_y + i) = y_0;
  }
  for (; i < n; ++i) { real x0 = p_x0[i]; real x1 = p_x1[i]; real x2 = p_x2[i]; real y = p_y[i]; y = y + a0 * x0 + a1 * x1 + a2 * x2; p_y[i] = y; }
  
}
