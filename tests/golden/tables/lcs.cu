/* lcs, int32, 32 sub-tiles of 4 columns
   starts as every text of its language does, see prelude/ */

typedef int real;
enum { TABLES = 1, UP = 1, LEFT = 1, SUB = 4, THREADS = 32, HALO = 1 };
TW_FUNCTION real fold(real a, real b) { return ((b > a)) ? b : a; }

#define AT(c) tw_min(j0 + (c), n - 1)
#define ROW(a, u) ((tw_wide)((a) % 3 * UP + UP - (u)) * (LEFT + n))
#define LEFTS(b) (((tw_wide)((b) & 1) * m + i) * LEFT)
#define PASSED(d, p, k) (((((d) & 1) * THREADS + (p)) * TABLES + (k)) * HALO)
TW_KERNEL(32) tw_table_lcs(
    TW_GLOBAL real *above_c, TW_GLOBAL real *beside_c, TW_GLOBAL real *whole_c,
    TW_GLOBAL const int *in_a,
    TW_GLOBAL const int *in_b,
    TW_GLOBAL real *last, TW_GLOBAL real *folded, TW_GLOBAL const real *scalars,
    int m, int n, int t, int wave, int first, int wanted, int joined) {
  TW_SHARED real passed[2 * THREADS * TABLES * HALO];
  const int a = first + TW_GROUP, b = wave - a, p = TW_THREAD;
  const int tall = (m + t - 1) / t, i0 = a * t, rows = tw_min(t, m - i0);
  const int j0 = (b * THREADS + p) * SUB, own = tw_min(SUB, n - j0);
  int x_b[SUB];
  TW_UNROLL
  for (int c = 0; c < SUB; ++c) x_b[c] = in_b[AT(c)];
  real w_c[UP + 1][LEFT + SUB];
  TW_UNROLL
  for (int u = 1; u <= UP; ++u)
    TW_UNROLL
    for (int c = 0; c < LEFT + SUB; ++c)
      w_c[u][c] = above_c[ROW(a, u) + tw_min(j0 + c, LEFT + n - 1)];
  if (b == 0 && p == 0 && a + 1 < tall)
    for (int u = 1; u <= UP; ++u)
      for (int q = 0; q < LEFT; ++q) { const tw_wide z = (tw_wide)(i0 + t - u) * LEFT + q; above_c[ROW(a + 1, u) + q] = beside_c[z]; }
  real sum = folded[a * THREADS + p];
  TW_BARRIER();
  for (int d = 0; d < rows + THREADS - 1; ++d) {
    const int r = d - p;
    if (r >= 0 && r < rows) {
      const int i = i0 + r;
      const int y_a = in_a[i];
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q)
        w_c[0][q] = p ? passed[PASSED(d + 1, p - 1, 0) + q] : beside_c[LEFTS(b) + q];
      TW_UNROLL
      for (int c = 0; c < SUB; ++c) {
        const real v0_0 = w_c[1][c + 1];
        const real v0_1 = w_c[0][c + 0];
        const real v0_2 = (real)(((v0_0 > v0_1)) ? v0_0 : v0_1);
        const real v0_3 = w_c[1][c + 0];
        const int v0_4 = y_a;
        const int v0_5 = x_b[c];
        const int v0_6 = v0_4 == v0_5;
        const real v0_7 = ((real)1);
        const real v0_8 = ((real)0);
        const real v0_9 = (real)(v0_6 ? v0_7 : v0_8);
        const real v0_10 = (real)((unsigned int)v0_3 + (unsigned int)v0_9);
        const real v0_11 = (real)(((v0_2 > v0_10)) ? v0_2 : v0_10);
        const real now_c = (real)v0_11;
        w_c[0][LEFT + c] = now_c;
        if (wanted && c < own) { whole_c[(tw_wide)i * n + j0 + c] = now_c; }
        if (joined && c < own) sum = fold(sum, now_c);
        if (i == m - 1 && j0 + c == n - 1) *last = now_c;
      }
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q) {
        if (p == THREADS - 1) beside_c[LEFTS(b + 1) + q] = w_c[0][SUB + q];
        else passed[PASSED(d, p, 0) + q] = w_c[0][SUB + q];
      }
      TW_UNROLL
      for (int u = UP; u > 0; --u)
        TW_UNROLL
        for (int c = 0; c < LEFT + SUB; ++c) w_c[u][c] = w_c[u - 1][c];
    }
    TW_BARRIER();
  }
  if (a + 1 < tall) {
    TW_UNROLL
    for (int u = 1; u <= UP; ++u)
      TW_UNROLL
      for (int c = 0; c < SUB; ++c)
        if (c < own) above_c[ROW(a + 1, u) + LEFT + j0 + c] = w_c[u][LEFT + c];
  }
  folded[a * THREADS + p] = sum;
}
