/* A1 (A2 A3) with A2 A3 in tiles, float32 */

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
typedef float real;
typedef real vector __attribute__((vector_size(32), aligned(sizeof(real)), may_alias));
enum { LANES = 8, ROWS = 2, VECTORS = 1, PANEL = VECTORS * LANES, DEPTH = 16 };
static inline long least(long a, long b) { return a < b ? a : b; }
static void micro1_1(long k, const real *a, long sa, const real *b, real *c, long sc, int add) {
  const vector zero = {0};
  vector c0_0 = add ? *(vector *)(c + 0 * sc + 0 * LANES) : zero;
  for (; k > 0; --k, ++a, b += PANEL) { const vector b0 = *(const vector *)(b + 0 * LANES); c0_0 += a[0 * sa] * b0; }
  *(vector *)(c + 0 * sc + 0 * LANES) = c0_0;
}
static void micro2_1(long k, const real *a, long sa, const real *b, real *c, long sc, int add) {
  const vector zero = {0};
  vector c0_0 = add ? *(vector *)(c + 0 * sc + 0 * LANES) : zero; vector c1_0 = add ? *(vector *)(c + 1 * sc + 0 * LANES) : zero;
  for (; k > 0; --k, ++a, b += PANEL) { const vector b0 = *(const vector *)(b + 0 * LANES); c0_0 += a[0 * sa] * b0; c1_0 += a[1 * sa] * b0; }
  *(vector *)(c + 0 * sc + 0 * LANES) = c0_0; *(vector *)(c + 1 * sc + 0 * LANES) = c1_0;
}
typedef void kernel(long, const real *, long, const real *, real *, long, int);
static kernel *const kernels[ROWS][VECTORS] = {{micro1_1}, {micro2_1}};

/* C[m x n] (+)= A[m x k] B. Row stride of A: sa; panels of B lie pb apart; rows of C sc, its panels pc. */
static void block(long m, long n, long k, const real *a, long sa, const real *b, long pb, real *c, long sc, long pc,
                  int add) {
  for (long k0 = 0; k0 < k; k0 += DEPTH) {
    const long deep = least(DEPTH, k - k0);
    const int more = add || k0;
    for (long j = 0; j < n; j += PANEL) {
      const real *panel = b + j / PANEL * pb + k0 * PANEL;
      real *target = c + j / PANEL * pc;
      const long wide = least(PANEL, n - j), vectors = (wide + LANES - 1) / LANES;
      for (long i = 0; i < m; i += ROWS) {
        const long tall = least(ROWS, m - i);
        kernel *run = kernels[tall - 1][vectors - 1];
        if (wide == vectors * LANES) {
          run(deep, a + i * sa + k0, sa, panel, target + i * sc, sc, more);
        } else {
          real edge[ROWS * PANEL] __attribute__((aligned(64)));
          if (more)
            for (long r = 0; r < tall; ++r) memcpy(edge + r * PANEL, target + (i + r) * sc, wide * sizeof(real));
          run(deep, a + i * sa + k0, sa, panel, edge, PANEL, more);
          for (long r = 0; r < tall; ++r) memcpy(target + (i + r) * sc, edge + r * PANEL, wide * sizeof(real));
        }
      }
    }
  }
}

/* Columns first … first + PANEL - 1 of A[k x n] as a panel; columns from n on are zeros. */
static void pack(long k, long n, long first, const real *a, long sa, long ta, real *panel) {
  const long wide = least(PANEL, n - first);
  for (long i = 0; i < k; ++i, panel += PANEL) {
    const real *row = a + i * sa + first * ta;
    if (ta == 1) memcpy(panel, row, wide * sizeof(real));
    else for (long j = 0; j < wide; ++j) panel[j] = row[j * ta];
    for (long j = wide; j < PANEL; ++j) panel[j] = 0;
  }
}
static inline long panels(long n) { return (n + PANEL - 1) / PANEL; }
static inline long whole(long n) { return (n + LANES - 1) / LANES * LANES; }

void tw_fused_right(void *const *array, const long *size, real *work, const void *unused) {
  (void)unused;
  const real *a1 = array[0], *a2 = array[1], *a3 = array[2];
  real *r = array[3];
  const long p0 = size[0], p1 = size[1], p2 = size[2], p3 = size[3], s1 = size[4], s2 = size[5], t2 = size[6];
  const long s3 = size[7], t3 = size[8], sr = size[9], x = size[10], y = size[11];
  const int threads = (int)size[12];
  const long columns = panels(y) * PANEL;
  (void)threads; (void)t2;
  #pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (long j = 0; j < p3; j += y) {
    const long wide = least(y, p3 - j), count = panels(wide);
#ifdef _OPENMP
    real *const own = work + omp_get_thread_num() * (p2 + x) * columns;
#else
    real *const own = work;
#endif
    real *const tile = own + p2 * columns;
    for (long n = 0; n < count; ++n) pack(p2, wide, n * PANEL, a3 + j * t3, s3, t3, own + n * PANEL * p2);
    for (long i = 0; i < p1; i += x) {
      const long tall = least(x, p1 - i);
      block(tall, whole(wide), p2, a2 + i * s2, s2, own, PANEL * p2, tile, PANEL, x * PANEL, 0);
      block(p0, wide, tall, a1 + i, s1, tile, x * PANEL, r + j, sr, PANEL, i > 0);
    }
  }
}
