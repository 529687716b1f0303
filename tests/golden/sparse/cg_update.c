/* cg_update, float64
   not shown: least(), most(), past(), settle(), share(), tw_vectors() */

/* Elements from ... from + n - 1; their sums go to sum. */
static void block(void *const *array, int64_t from, int64_t n, int stream, const double *scalar, double *sum) {
  const real *const p_p = (real *)array[0] + from; const real *const p_q = (real *)array[1] + from; real *const p_x = (real *)array[2] + from; real *const p_r = (real *)array[3] + from;
  const real a = (real)scalar[0];
  const vec zero = {0};
  vec t0_0 = zero;
  real t0 = 0;
  int64_t i = 0;
  (void)zero; (void)scalar; (void)sum; (void)stream;

  if (stream && 0)
    for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec p_0 = *(const vec *)(p_p + i); vec q_0 = *(const vec *)(p_q + i); vec x_0 = *(const vec *)(p_x + i); vec r_0 = *(const vec *)(p_r + i);
    x_0 = a * p_0 + x_0; r_0 = r_0 - a * q_0; t0_0 += r_0 * r_0;
      *(vec *)(p_x + i) = x_0; *(vec *)(p_r + i) = r_0;
    }
  for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec p_0 = *(const vec *)(p_p + i); vec q_0 = *(const vec *)(p_q + i); vec x_0 = *(const vec *)(p_x + i); vec r_0 = *(const vec *)(p_r + i);
    x_0 = a * p_0 + x_0; r_0 = r_0 - a * q_0; t0_0 += r_0 * r_0;
      *(vec *)(p_x + i) = x_0; *(vec *)(p_r + i) = r_0;
  }
  for (; i < n; ++i) { real p = p_p[i]; real q = p_q[i]; real x = p_x[i]; real r = p_r[i]; x = a * p + x; r = r - a * q; t0 += r * r; p_x[i] = x; p_r[i] = r; }
  { double s = t0; { const vec all = t0_0; for (int l = 0; l < LANES; ++l) s += all[l]; } sum[0] = s; }
}
