/* lcs, int32 */

#include <stdint.h>
#include <string.h>
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
typedef int32_t real;
typedef struct { int64_t value; char away[120]; } flag;
enum { TABLES = 1, UP = 1, LEFT = 1, RING = UP + LEFT + 1, KEPT = 16 };
static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline real fold(real a, real b) { return ((b > a)) ? b : a; }
/* Copies the last anti-diagonals of a tile, up to d, into the table's rows: runs of neighbours, not single cells. */
static void keep(real *whole, int64_t n, const real *kept, int64_t apart, int64_t d, int64_t rows, int64_t columns) {
  const int64_t first = d - d % KEPT, end = min64(rows - 1, d);
  for (int64_t r = max64(0, first - columns + 1); r <= end; ++r) {
    const int64_t from = max64(first, r), to = min64(d, r + columns - 1);
    real *const row = whole + r * (n - 1);
    const real *const column = kept + r - first * apart;
    if (to - from == KEPT - 1)
      for (int64_t e = 0; e < KEPT; ++e) row[first + e] = column[(first + e) * apart];
    else
      for (int64_t e = from; e <= to; ++e) row[e] = column[e * apart];
  }
}
static void await(const flag *other, int64_t value) {
  for (int64_t turn = 0; __atomic_load_n(&other->value, __ATOMIC_ACQUIRE) < value; ++turn)
    if (turn > 256) sched_yield();
}

void tw_table_lcs(void *const *array, const int64_t *size, char *work, void *const *scalar) {
  const int64_t m = size[0], n = size[1], t = size[2], s = size[3];
  const int64_t tall = (m + t - 1) / t, wide = (n + s - 1) / s;
  (void)scalar;
  const int32_t *const in_a = array[3];
  const int32_t *const in_b = array[4];
  flag *const flags = array[5];
  real *const last = array[6], *const folded = array[7];
#define AT(k, d) (ring + ((k) * RING + ((d) + 2 * RING) % RING) * (t + UP) + UP)
#define above(k) ((real *)array[3 * (k)])
  #pragma omp parallel num_threads((int)size[4])
  {
#ifdef _OPENMP
    const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
#else
    const int64_t me = 0, all = 1;
#endif
    char *const mine = work + me * size[7];
    real *const ring = (real *)mine, *const beside = ring + TABLES * RING * (t + UP);
    real *corner = beside + TABLES * t * LEFT, *next = corner + TABLES * UP * LEFT;
    real *const kept = next + TABLES * UP * LEFT;
    char *const backs = (char *)(((uintptr_t)(kept + TABLES * KEPT * (t + KEPT)) + 63) & ~(uintptr_t)63);
    (void)backs;
    for (int64_t a = me; a < tall; a += all) {
      const int64_t i0 = a * t, rows = min64(t, m - i0);
      real sum = folded[a];
      for (int64_t k = 0; k < TABLES; ++k) {
        const real *const edge = (const real *)array[3 * k + 1];
        memcpy(beside + k * t * LEFT, edge + i0 * LEFT, (size_t)(rows * LEFT) * sizeof(real));
        for (int64_t p = 0; p < UP; ++p)
          for (int64_t q = 0; q < LEFT; ++q)
            corner[(k * UP + p) * LEFT + q] = a ? edge[(i0 - UP + p) * LEFT + q] : above(k)[p * (LEFT + n) + q];
      }
      for (int64_t b = 0; b < wide; ++b) {
        const int64_t j0 = b * s, columns = min64(s, n - j0);
        if (a) await(flags + a - 1, b + 1);
        int32_t *const back_b = (int32_t *)(backs + 0 * 8 * s);
        for (int64_t c = 0; c < columns; ++c) back_b[columns - 1 - c] = in_b[j0 + c];

      for (int64_t k = 0; k < TABLES; ++k)
        for (int64_t p = 0; p < UP; ++p)
          for (int64_t q = 0; q < LEFT; ++q)
            if (columns - LEFT + q >= 0)
              next[(k * UP + p) * LEFT + q] = above(k)[p * (LEFT + n) + j0 + columns + q];
      for (int64_t d = -(UP + LEFT); d < rows + columns - 1; ++d) {
        for (int64_t k = 0; k < TABLES; ++k) {
          real *const row = AT(k, d);
          for (int64_t r = -UP; r < 0; ++r) {
            const int64_t c = d - r;
            if (c >= -LEFT && c < columns)
              row[r] = c < 0 ? corner[(k * UP + r + UP) * LEFT + c + LEFT]
                             : above(k)[(r + UP) * (LEFT + n) + LEFT + j0 + c];
          }
          for (int64_t c = -LEFT; c < 0; ++c)
            if (d - c >= 0 && d - c < rows) row[d - c] = beside[(k * t + d - c) * LEFT + c + LEFT];
        }
        const int64_t low = max64(0, d - columns + 1), high = min64(rows - 1, d);
        if (d < 0) continue;
        const real *restrict const c_1 = AT(0, d - 1);
        const real *restrict const c_2 = AT(0, d - 2);
        real *restrict const c_0 = AT(0, d);
        const int32_t *restrict const at_a = in_a + i0;
        const int32_t *restrict const at_b = back_b + columns - 1 - d;
#pragma GCC ivdep
        for (int64_t r = low; r <= high; ++r) {
          const __auto_type v0_0 = c_1[r - 1];
          const __auto_type v0_1 = c_1[r - 0];
          const int32_t v0_2 = (int32_t)(((v0_0 > v0_1)) ? v0_0 : v0_1);
          const __auto_type v0_3 = c_2[r - 1];
          const __auto_type v0_4 = at_a[r];
          const __auto_type v0_5 = at_b[r];
          const int v0_6 = v0_4 == v0_5;
          const int32_t v0_7 = ((int32_t)1);
          const int32_t v0_8 = ((int32_t)0);
          const int32_t v0_9 = (int32_t)(v0_6 ? v0_7 : v0_8);
          const int32_t v0_10 = (int32_t)(v0_3 + v0_9);
          const int32_t v0_11 = (int32_t)(((v0_2 > v0_10)) ? v0_2 : v0_10);
          const real now_c = (int32_t)v0_11;
          c_0[r] = now_c;
        }
        for (int64_t k = 0; k < TABLES; ++k) {
          const real *const row = AT(k, d);
          for (int64_t r = max64(low, rows - UP); r <= high; ++r)
            above(k)[(r - rows + UP) * (LEFT + n) + LEFT + j0 + d - r] = row[r];
          for (int64_t c = max64(0, columns - LEFT); c < columns; ++c)
            if (d - c >= low && d - c <= high) beside[(k * t + d - c) * LEFT + c - columns + LEFT] = row[d - c];
          if (size[5]) {
            memcpy(kept + (k * KEPT + d % KEPT) * (t + KEPT) + low, row + low, (size_t)(high - low + 1) * sizeof(real));
            if (d % KEPT == KEPT - 1 || d == rows + columns - 2)
              keep((real *)array[3 * k + 2] + i0 * n + j0, n, kept + k * KEPT * (t + KEPT), t + KEPT, d, rows, columns);
          }
        }
        if (size[6]) {
          const real *const row = AT(0, d);
          for (int64_t r = low; r <= high; ++r) sum = fold(sum, row[r]);
        }
        if (a == tall - 1 && b == wide - 1 && d == rows + columns - 2) *last = AT(0, d)[rows - 1];
      }
      real *const old = corner;
      corner = next;
      next = old;

        __atomic_store_n(&flags[a].value, b + 1, __ATOMIC_RELEASE);
      }
      folded[a] = sum;
    }
  }
}
