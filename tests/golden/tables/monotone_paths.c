/* monotone_paths, bool
   not shown: tw_table_monotone_paths() */

#include <stdint.h>
#include <string.h>
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
typedef uint8_t real;
typedef struct { int64_t value; char away[120]; } flag;
enum { TABLES = 1, UP = 1, LEFT = 1, RING = UP + LEFT + 1, KEPT = 16 };
static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline real fold(real a, real b) { return a | b; }
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
