/* monotone_paths, bool, 32 sub-tiles of 4 columns
   starts as every text of its language does, see prelude/ */

typedef unsigned char real;
enum { TABLES = 1, UP = 1, LEFT = 1, SUB = 4, THREADS = 32, HALO = 1 };
TW_FUNCTION real fold(real a, real b) { return a | b; }

#define AT(c) tw_min(j0 + (c), n - 1)
#define ROW(a, u) ((tw_wide)((a) % 3 * UP + UP - (u)) * (LEFT + n))
#define LEFTS(b) (((tw_wide)((b) & 1) * m + i) * LEFT)
#define PASSED(d, p, k) (((((d) & 1) * THREADS + (p)) * TABLES + (k)) * HALO)
TW_KERNEL(32) tw_table_monotone_paths(
    TW_GLOBAL real *above_p, TW_GLOBAL real *beside_p, TW_GLOBAL real *whole_p,
    TW_GLOBAL const int *in_free,
    TW_GLOBAL real *last, TW_GLOBAL real *folded, TW_GLOBAL const real *scalars,
    int m, int n, int t, int wave, int first, int wanted, int joined) {
  TW_SHARED real passed[2 * THREADS * TABLES * HALO];
  const int a = first + TW_GROUP, b = wave - a, p = TW_THREAD;
  const int tall = (m + t - 1) / t, i0 = a * t, rows = tw_min(t, m - i0);
  const int j0 = (b * THREADS + p) * SUB, own = tw_min(SUB, n - j0);
  real w_p[UP + 1][LEFT + SUB];
  TW_UNROLL
  for (int u = 1; u <= UP; ++u)
    TW_UNROLL
    for (int c = 0; c < LEFT + SUB; ++c)
      w_p[u][c] = above_p[ROW(a, u) + tw_min(j0 + c, LEFT + n - 1)];
  if (b == 0 && p == 0 && a + 1 < tall)
    for (int u = 1; u <= UP; ++u)
      for (int q = 0; q < LEFT; ++q) { const tw_wide z = (tw_wide)(i0 + t - u) * LEFT + q; above_p[ROW(a + 1, u) + q] = beside_p[z]; }
  real sum = folded[a * THREADS + p];
  TW_BARRIER();
  for (int d = 0; d < rows + THREADS - 1; ++d) {
    const int r = d - p;
    if (r >= 0 && r < rows) {
      const int i = i0 + r;
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q)
        w_p[0][q] = p ? passed[PASSED(d + 1, p - 1, 0) + q] : beside_p[LEFTS(b) + q];
      TW_UNROLL
      for (int c = 0; c < SUB; ++c) {
        const int v0_0 = in_free[(tw_wide)i * n + AT(c)];
        const real v0_1 = ((real)0);
        const int v0_2 = v0_0 != v0_1;
        const real v0_3 = w_p[1][c + 1];
        const real v0_4 = w_p[0][c + 0];
        const int v0_5 = (v0_3 != 0) | (v0_4 != 0);
        const int v0_6 = v0_2 & v0_5;
        const real now_p = (real)v0_6;
        w_p[0][LEFT + c] = now_p;
        if (wanted && c < own) { whole_p[(tw_wide)i * n + j0 + c] = now_p; }
        if (joined && c < own) sum = fold(sum, now_p);
        if (i == m - 1 && j0 + c == n - 1) *last = now_p;
      }
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q) {
        if (p == THREADS - 1) beside_p[LEFTS(b + 1) + q] = w_p[0][SUB + q];
        else passed[PASSED(d, p, 0) + q] = w_p[0][SUB + q];
      }
      TW_UNROLL
      for (int u = UP; u > 0; --u)
        TW_UNROLL
        for (int c = 0; c < LEFT + SUB; ++c) w_p[u][c] = w_p[u - 1][c];
    }
    TW_BARRIER();
  }
  if (a + 1 < tall) {
    TW_UNROLL
    for (int u = 1; u <= UP; ++u)
      TW_UNROLL
      for (int c = 0; c < SUB; ++c)
        if (c < own) above_p[ROW(a + 1, u) + LEFT + j0 + c] = w_p[u][LEFT + c];
  }
  folded[a * THREADS + p] = sum;
}
