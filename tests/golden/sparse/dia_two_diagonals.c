/* y = A x of diagonals, two per pass, float64 */

#include <stdint.h>
#ifdef _OPENMP
#include <omp.h>
#endif
typedef double real;
typedef real vec __attribute__((vector_size(32), aligned(sizeof(real)), may_alias));
typedef long long lanes __attribute__((vector_size(32), aligned(sizeof(real)), may_alias));
enum { LANES = 4, BYTES = 32 };
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
/* Store to a vector's own boundary, past the caches where the CPU can. */
static inline void past(real *to, vec v) {
#if defined(__clang__)
  typedef real whole __attribute__((vector_size(32), may_alias));
  __builtin_nontemporal_store((whole)v, (whole *)to);
#elif defined(__AVX512F__) && 32 == 64
  typedef float wide __attribute__((vector_size(64)));
  __builtin_ia32_movntps512((float *)to, (wide)v);
#elif defined(__AVX__) && 32 == 32
  typedef float wide __attribute__((vector_size(32)));
  __builtin_ia32_movntps256((float *)to, (wide)v);
#elif defined(__SSE__) && 32 == 16
  typedef float wide __attribute__((vector_size(16)));
  __builtin_ia32_movntps((float *)to, (wide)v);
#else
  *(vec *)to = v;
#endif
}
/* What went past the caches is seen by whoever comes after. */
static inline void settle(void) {
#ifdef __SSE__
  __builtin_ia32_sfence();
#endif
}
/* The share of a thread: consecutive, at whole cache lines. */
static inline int64_t share(int64_t n, int thread, int threads) {
  const int64_t units = (n + 63) / 64;
  return least(n, units * thread / threads * 64);
}

static inline __attribute__((always_inline)) void dia_loop1(const real *const *a, const real *const *x, real *y,
                                                                 int64_t n, const int stream, const int add) {
  const real *const a0 = a[0], *const x0 = x[0];
  int64_t i = 0;
  if (stream)
    for (; i < n && ((uintptr_t)(y + i) & (BYTES - 1)); ++i) {
      real s; if (add) { s = y[i]; s += a0[i] * x0[i]; } else s = a0[i] * x0[i];  y[i] = s;
    }
  for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec s0;
    if (add) { s0 = *(const vec *)(y + i); s0 += *(const vec *)(a0 + i) * *(const vec *)(x0 + i); }
    else s0 = *(const vec *)(a0 + i) * *(const vec *)(x0 + i);
    if (stream) {
      past(y + i + 0 * LANES, s0);
    } else {
      *(vec *)(y + i + 0 * LANES) = s0;
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

static inline __attribute__((always_inline)) void dia_loop2(const real *const *a, const real *const *x, real *y,
                                                                 int64_t n, const int stream, const int add) {
  const real *const a0 = a[0], *const x0 = x[0], *const a1 = a[1], *const x1 = x[1];
  int64_t i = 0;
  if (stream)
    for (; i < n && ((uintptr_t)(y + i) & (BYTES - 1)); ++i) {
      real s; if (add) { s = y[i]; s += a0[i] * x0[i]; } else s = a0[i] * x0[i]; s += a1[i] * x1[i]; y[i] = s;
    }
  for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec s0;
    if (add) { s0 = *(const vec *)(y + i); s0 += *(const vec *)(a0 + i) * *(const vec *)(x0 + i); }
    else s0 = *(const vec *)(a0 + i) * *(const vec *)(x0 + i);
    s0 += *(const vec *)(a1 + i) * *(const vec *)(x1 + i);
    if (stream) {
      past(y + i + 0 * LANES, s0);
    } else {
      *(vec *)(y + i + 0 * LANES) = s0;
    }
  }
  for (; i < n; ++i) {
    real s; if (add) { s = y[i]; s += a0[i] * x0[i]; } else s = a0[i] * x0[i]; s += a1[i] * x1[i]; y[i] = s;
  }
}
static void dia_pass2(const real *const *a, const real *const *x, real *y, int64_t n, int stream, int add) {
  if (stream) add ? dia_loop2(a, x, y, n, 1, 1) : dia_loop2(a, x, y, n, 1, 0);
  else add ? dia_loop2(a, x, y, n, 0, 1) : dia_loop2(a, x, y, n, 0, 0);
}

struct dia { int64_t rows, columns, count; const int64_t *offset; const real *const *diagonal; };
typedef void dia_pass(const real *const *, const real *const *, real *, int64_t, int, int);
static dia_pass *const dia_passes[2] = {dia_pass1, dia_pass2};
/* y[from ... to - 1] (+)= the products of diagonals first ... last - 1, which all these rows meet. */
static void dia_range(const struct dia *m, int64_t first, int64_t last, const real *x, real *y, int64_t from,
                      int64_t to, int stream, int add) {
  const int one = last - first <= 2;
  const int64_t high = one ? to - from : 1024;
  if (first == last && !add)
    for (int64_t i = from; i < to; ++i) y[i] = 0;
  for (int64_t row = from; row < to; row += high) {
    const int64_t n = least(high, to - row);
    for (int64_t d = first; d < last; d += 2) {
      const int64_t k = least(2, last - d);
      const real *a[2], *b[2];
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

void tw_dia(void *const *array, const int64_t *size, void *work, const void *unused) {
  (void)work; (void)unused;
  const struct dia m = {size[0], size[1], size[2], array[2], array[3]};
  const real *x = array[0];
  real *y = array[1];
  const int stream = (int)size[4], add = (int)size[5];
#ifdef _OPENMP
  const int threads = (int)size[3];
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    {
      const int t = omp_get_thread_num(), all = omp_get_num_threads();
      dia_rows(&m, x, y, share(m.rows, t, all), share(m.rows, t + 1, all), stream, add);
    }
    return;
  }
#endif
  dia_rows(&m, x, y, 0, m.rows, stream, add);
}
