/* Bratu problem
   not shown: least(), most(), past(), settle(), share() */

static inline vec choose(lanes mask, vec a, vec b) { return (vec)(((lanes)a & mask) | ((lanes)b & ~mask)); }
static inline vec exponential(vec x) {
  const vec zero = {0}, most = zero + 800.0;
  x = choose(x > most, most, x);
  x = choose(x < -most, -most, x);
  const vec shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52, n = shifted - 0x1.8p52;
  const vec r = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
  vec p = zero + (real)0x1.6124613a86d09p-33;
  p = p * r + (real)0x1.1eed8eff8d898p-29;
  p = p * r + (real)0x1.ae64567f544e4p-26;
  p = p * r + (real)0x1.27e4fb7789f5cp-22;
  p = p * r + (real)0x1.71de3a556c734p-19;
  p = p * r + (real)0x1.a01a01a01a01ap-16;
  p = p * r + (real)0x1.a01a01a01a01ap-13;
  p = p * r + (real)0x1.6c16c16c16c17p-10;
  p = p * r + (real)0x1.1111111111111p-7;
  p = p * r + (real)0x1.5555555555555p-5;
  p = p * r + (real)0x1.5555555555555p-3;
  p = p * r + (real)0x1.0000000000000p-1;
  p = p * r + (real)0x1.0000000000000p+0;
  p = p * r + (real)0x1.0000000000000p+0;
  /* 2^n in two factors: it may be a subnormal number or overflow */
  const lanes whole = (lanes)shifted - (lanes)(zero + 0x1.8p52), half = whole >> 1;
  p *= (vec)((half + 1023) << 52);
  return p * (vec)((whole - half + 1023) << 52);
}

struct weights { real east, north, source; };
/* One vector of cells, inside; n and s are the rows above and below. */
static inline vec cells(const real *u, const real *n, const real *s, int64_t i, struct weights k, const int diagonal) {
  const vec c = *(const vec *)(u + i), e = exponential(c);
  if (diagonal) return (2 * (k.east + k.north)) - k.source * e;
  const vec w = *(const vec *)(u + i - 1), o = *(const vec *)(u + i + 1);
  const vec a = *(const vec *)(n + i), b = *(const vec *)(s + i);
  return (2 * c - w - o) * k.east + (2 * c - a - b) * k.north - k.source * e;
}
static inline real cell(const real *u, const real *n, const real *s, int64_t i, int64_t columns, struct weights k,
                        const int diagonal) {
  const real w = i > 1 ? u[i - 1] : 0, o = i + 2 < columns ? u[i + 1] : 0;
  vec c = {0};
  c[0] = u[i];
  const real e = exponential(c)[0];
  if (diagonal) return 2 * (k.east + k.north) - k.source * e;
  return (2 * u[i] - w - o) * k.east + (2 * u[i] - n[i] - s[i]) * k.north - k.source * e;
}
static inline __attribute__((always_inline)) void row(const real *u, const real *n, const real *s, real *f,
    int64_t columns, struct weights k, const int stream, const int diagonal) {
  const real edge = 2 * (k.east + k.north);
  int64_t i = 1;
  f[0] = diagonal ? edge : edge * u[0];
  if (columns > 2) f[i] = cell(u, n, s, i, columns, k, diagonal);
  ++i;
  if (stream)
    for (; i + 2 < columns && ((uintptr_t)(f + i) & (BYTES - 1)); ++i) f[i] = cell(u, n, s, i, columns, k, diagonal);
  for (; i + 2 * LANES + 1 < columns; i += 2 * LANES) {
    const vec v0 = cells(u, n, s, i + 0 * LANES, k, diagonal);
    const vec v1 = cells(u, n, s, i + 1 * LANES, k, diagonal);
    if (stream) { past(f + i + 0 * LANES, v0); past(f + i + 1 * LANES, v1); } else { *(vec *)(f + i + 0 * LANES) = v0; *(vec *)(f + i + 1 * LANES) = v1; }
  }
  for (; i + 1 < columns; ++i) f[i] = cell(u, n, s, i, columns, k, diagonal);
  if (columns > 1) f[columns - 1] = diagonal ? edge : edge * u[columns - 1];
}
static void rows(const real *u, real *f, const real *none, int64_t from, int64_t to, const int64_t *size,
                 struct weights k) {
  const int64_t high = size[0], wide = size[1];
  const real edge = 2 * (k.east + k.north);
  for (int64_t j = from; j < to; ++j) {
    const real *c = u + j * wide, *n = j > 1 ? c - wide : none, *s = j + 2 < high ? c + wide : none;
    real *t = f + j * wide;
    if (j == 0 || j == high - 1) {
      for (int64_t i = 0; i < wide; ++i) t[i] = size[4] ? edge : edge * c[i];
    } else if (size[4]) {
      size[3] ? row(c, n, s, t, wide, k, 1, 1) : row(c, n, s, t, wide, k, 0, 1);
    } else {
      size[3] ? row(c, n, s, t, wide, k, 1, 0) : row(c, n, s, t, wide, k, 0, 0);
    }
  }
  if (size[3]) settle();
}

void tw_bratu(void *const *array, const int64_t *size, void *work, const double *weight) {
  (void)work;
  const struct weights k = {(real)weight[0], (real)weight[1], (real)weight[2]};
#ifdef _OPENMP
  if (size[2] > 1) {
#pragma omp parallel num_threads((int)size[2])
    {
      const int64_t t = omp_get_thread_num(), all = omp_get_num_threads();
      rows(array[0], array[1], array[2], size[0] * t / all, size[0] * (t + 1) / all, size, k);
    }
    return;
  }
#endif
  rows(array[0], array[1], array[2], 0, size[0], size, k);
}
