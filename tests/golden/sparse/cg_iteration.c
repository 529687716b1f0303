/* an iteration of CG
   not shown: least(), most(), past(), settle(), share(), dia_loop1(), dia_pass1(), dia_loop2(), dia_pass2(),
     dia_loop3(), dia_pass3(), dia_loop4(), dia_pass4(), dia_loop5(), dia_pass5(), dia_loop6(), dia_pass6(),
     dia_loop7(), dia_pass7(), dia_loop8(), dia_pass8(), dia_range(), dia_rows() */

static inline double lanes_of(vec v) {
  double s = 0;
  for (int l = 0; l < LANES; ++l) s += v[l];
  return s;
}
/* x += a p and p' = r + b p on elements from ... to - 1. */
static void direct(real *x, const real *r, const real *p, real *next, int64_t from, int64_t to, real a, real b) {
  int64_t i = from;
  for (; i + 2 * LANES <= to; i += 2 * LANES) {
    const vec p0 = *(const vec *)(p + i), p1 = *(const vec *)(p + i + LANES);
    *(vec *)(x + i) += a * p0;
    *(vec *)(x + i + LANES) += a * p1;
    *(vec *)(next + i) = *(const vec *)(r + i) + b * p0;
    *(vec *)(next + i + LANES) = *(const vec *)(r + i + LANES) + b * p1;
  }
  for (; i < to; ++i) {
    x[i] += a * p[i];
    next[i] = r[i] + b * p[i];
  }
}
static double dot(const real *x, const real *y, int64_t n) {
  vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  double s = 0;
  int64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    s0 += *(const vec *)(x + i) * *(const vec *)(y + i);
    s1 += *(const vec *)(x + i + LANES) * *(const vec *)(y + i + LANES);
    s2 += *(const vec *)(x + i + 2 * LANES) * *(const vec *)(y + i + 2 * LANES);
    s3 += *(const vec *)(x + i + 3 * LANES) * *(const vec *)(y + i + 3 * LANES);
  }
  for (; i < n; ++i) s += (double)x[i] * y[i];
  return s + lanes_of((s0 + s1) + (s2 + s3));
}
/* r -= a q; returns r.r. */
static double reduce(real *r, const real *q, int64_t n, real a) {
  vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  double s = 0;
  int64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    const vec r0 = *(vec *)(r + i) - a * *(const vec *)(q + i);
    const vec r1 = *(vec *)(r + i + LANES) - a * *(const vec *)(q + i + LANES);
    const vec r2 = *(vec *)(r + i + 2 * LANES) - a * *(const vec *)(q + i + 2 * LANES);
    const vec r3 = *(vec *)(r + i + 3 * LANES) - a * *(const vec *)(q + i + 3 * LANES);
    *(vec *)(r + i) = r0;
    *(vec *)(r + i + LANES) = r1;
    *(vec *)(r + i + 2 * LANES) = r2;
    *(vec *)(r + i + 3 * LANES) = r3;
    s0 += r0 * r0; s1 += r1 * r1; s2 += r2 * r2; s3 += r3 * r3;
  }
  for (; i < n; ++i) {
    r[i] -= a * q[i];
    s += (double)r[i] * r[i];
  }
  return s + lanes_of((s0 + s1) + (s2 + s3));
}
static inline double total(const double *part, int64_t n) {
  double s = 0;
  for (int64_t b = 0; b < n; ++b) s += part[b];
  return s;
}

void tw_cg(void *const *array, const int64_t *size, double *work, const void *unused) {
  (void)unused;
  const int64_t n = size[0], reach = size[3], blocks = (n + 4096 - 1) / 4096;
  const struct dia m = {n, n, size[1], array[5], array[6]};
  real *x = array[0], *r = array[1], *next = array[3], *q = array[4];
  const real *p = array[2];
  const int first = (int)size[4];
  const real a = (real)work[0], b = (real)work[1];
  double *part = work + 5;
#ifdef _OPENMP
#pragma omp parallel num_threads((int)size[2])
#endif
  {
#ifdef _OPENMP
    const int t = omp_get_thread_num(), threads = omp_get_num_threads();
#else
    const int t = 0, threads = 1;
#endif
    const int64_t begin = blocks * t / threads, end = blocks * (t + 1) / threads;
    const int64_t low = least(begin * 4096, n), high = least(end * 4096, n);
    /* what the neighbours need of mine */
    const int64_t head = t > 0 ? least(low + reach, high) : low;
    const int64_t tail = t + 1 < threads ? most(high - reach, head) : high;
    int64_t done = head;
    if (!first) {
      direct(x, r, p, next, low, head, a, b);
      direct(x, r, p, next, tail, high, a, b);
    }
#ifdef _OPENMP
#pragma omp barrier
#endif
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = k * 4096, until = least(row + 4096, n), ahead = least(until + reach, tail);
      if (!first && ahead > done) {
        direct(x, r, p, next, done, ahead, a, b);
        done = ahead;
      }
      dia_rows(&m, next, q, row, until, 0, 0);
      part[k] = dot(next + row, q + row, until - row);
    }
#ifdef _OPENMP
#pragma omp barrier
#pragma omp single
#endif
    {
      work[2] = total(part, blocks);
      work[3] = work[4] / work[2];
    }
    const real step = (real)work[3];
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = k * 4096;
      part[k] = reduce(r + row, q + row, least(4096, n - row), step);
    }
  }
  work[4] = total(part, blocks);
}
