/* a pass over one diagonal, two vectors per iteration, float32
   not shown: least(), most(), past(), settle(), share(), tw_dia() */

static inline __attribute__((always_inline)) void dia_loop1(const real *const *a, const real *const *x, real *y,
                                                                 int64_t n, const int stream, const int add) {
  const real *const a0 = a[0], *const x0 = x[0];
  int64_t i = 0;
  if (stream)
    for (; i < n && ((uintptr_t)(y + i) & (BYTES - 1)); ++i) {
      real s; if (add) { s = y[i]; s += a0[i] * x0[i]; } else s = a0[i] * x0[i];  y[i] = s;
    }
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    vec s0;
    if (add) { s0 = *(const vec *)(y + i); s0 += *(const vec *)(a0 + i) * *(const vec *)(x0 + i); }
    else s0 = *(const vec *)(a0 + i) * *(const vec *)(x0 + i);
    vec s1;
    if (add) { s1 = *(const vec *)(y + i + 1 * LANES); s1 += *(const vec *)(a0 + i + 1 * LANES) * *(const vec *)(x0 + i + 1 * LANES); }
    else s1 = *(const vec *)(a0 + i + 1 * LANES) * *(const vec *)(x0 + i + 1 * LANES);
    if (stream) {
      past(y + i + 0 * LANES, s0);
      past(y + i + 1 * LANES, s1);
    } else {
      *(vec *)(y + i + 0 * LANES) = s0;
      *(vec *)(y + i + 1 * LANES) = s1;
    }
  }
  for (; i < n; ++i) {
    real s; if (add) { s = y[i]; s += a0[i] * x0[i]; } else s = a0[i] * x0[i];  y[i] = s;
  }
}
static void dia_pass1(const real *const *a, const real *const *x, real *y, int64_t n, int stream, int add) {
  if (stream) add ? dia_loop1(a, x, y, n, 1, 1) : dia_loop1(a, x, y, n, 1, 0);
  else add ? dia_loop1(a, x, y, n, 0, 1) : dia_loop1(a, x, y, n, 0, 0);
}

struct dia { int64_t rows, columns, count; const int64_t *offset; const real *const *diagonal; };
typedef void dia_pass(const real *const *, const real *const *, real *, int64_t, int, int);
static dia_pass *const dia_passes[1] = {dia_pass1};
/* y[from ... to - 1] (+)= the products of diagonals first ... last - 1, which all these rows meet. */
static void dia_range(const struct dia *m, int64_t first, int64_t last, const real *x, real *y, int64_t from,
                      int64_t to, int stream, int add) {
  const int one = last - first <= 1;
  const int64_t high = one ? to - from : 1024;
  if (first == last && !add)
    for (int64_t i = from; i < to; ++i) y[i] = 0;
  for (int64_t row = from; row < to; row += high) {
    const int64_t n = least(high, to - row);
    for (int64_t d = first; d < last; d += 1) {
      const int64_t k = least(1, last - d);
      const real *a[1], *b[1];
      for (int64_t j = 0; j < k; ++j) {
        const int64_t o = m->offset[d + j];
        a[j] = m->diagonal[d + j] + (o < 0 ? row + o : row);
        b[j] = x + row + o;
      }
      dia_passes[k - 1](a, b, y + row, n, one && stream, add || d > first);
    }
  }
}
/* y[from ... to - 1] (+)= these rows of A x. */
static void dia_rows(const struct dia *m, const real *x, real *y, int64_t from, int64_t to, int stream, int add) {
  for (int64_t row = from; row < to;) {
    int64_t first = 0, last = m->count, end = to;
    while (first < last && m->offset[first] < -row) ++first;
    while (last > first && m->offset[last - 1] >= m->columns - row) --last;
    /* the next row that meets one more below, or one less above */
    if (first > 0) end = least(end, -m->offset[first - 1]);
    if (last > first) end = least(end, m->columns - m->offset[last - 1]);
    dia_range(m, first, last, x, y, row, end, stream, add);
    row = end;
  }
  if (stream) settle();
}
