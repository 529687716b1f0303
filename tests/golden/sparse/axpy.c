/* axpy, float64 */

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

/* Elements from ... from + n - 1; their sums go to sum. */
static void block(void *const *array, int64_t from, int64_t n, int stream, const double *scalar, double *sum) {
  const real *const p_x = (real *)array[0] + from; real *const p_y = (real *)array[1] + from;
  const real a = (real)scalar[0];
  const vec zero = {0};
  
  
  int64_t i = 0;
  (void)zero; (void)scalar; (void)sum; (void)stream;

  if (stream && 0)
    for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    y_0 = a * x_0 + y_0;
      *(vec *)(p_y + i) = y_0;
    }
  for (; i + 1 * LANES <= n; i += 1 * LANES) {
    vec x_0 = *(const vec *)(p_x + i); vec y_0 = *(const vec *)(p_y + i);
    y_0 = a * x_0 + y_0;
      *(vec *)(p_y + i) = y_0;
  }
  for (; i < n; ++i) { real x = p_x[i]; real y = p_y[i]; y = a * x + y; p_y[i] = y; }
  
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
