/* smith_waterman, int32, 32 sub-tiles of 4 columns, matrices on chip
   starts as every text of its language does, see prelude/
   not shown: OPENCL */

typedef int real;
enum { TABLES = 3, UP = 1, LEFT = 1, SUB = 4, THREADS = 32, HALO = 1 };
TW_FUNCTION real fold(real a, real b) { return ((b > a)) ? b : a; }

#define AT(c) tw_min(j0 + (c), n - 1)
#define ROW(a, u) ((tw_wide)((a) % 3 * UP + UP - (u)) * (LEFT + n))
#define LEFTS(b) (((tw_wide)((b) & 1) * m + i) * LEFT)
#define PASSED(d, p, k) (((((d) & 1) * THREADS + (p)) * TABLES + (k)) * HALO)
TW_KERNEL(32) tw_table_smith_waterman(
    TW_GLOBAL real *above_h, TW_GLOBAL real *beside_h, TW_GLOBAL real *whole_h,
    TW_GLOBAL real *above_e, TW_GLOBAL real *beside_e, TW_GLOBAL real *whole_e,
    TW_GLOBAL real *above_f, TW_GLOBAL real *beside_f, TW_GLOBAL real *whole_f,
    TW_GLOBAL const int *in_a,
    TW_GLOBAL const int *in_b,
    TW_GLOBAL const real *in_score,
    TW_GLOBAL real *last, TW_GLOBAL real *folded, TW_GLOBAL const real *scalars,
    int m, int n, int t, int wave, int first, int wanted, int joined, int tall_score, int wide_score TW_ROOM_PARAM(real, room)) {
  TW_ROOM(real, room)
  TW_SHARED real passed[2 * THREADS * TABLES * HALO];
  const int a = first + TW_GROUP, b = wave - a, p = TW_THREAD;
  const int tall = (m + t - 1) / t, i0 = a * t, rows = tw_min(t, m - i0);
  const int j0 = (b * THREADS + p) * SUB, own = tw_min(SUB, n - j0);
  const real c_gap_open = scalars[0];
  const real c_gap_extend = scalars[1];
  TW_LOCAL real *const chip_score = room;
  for (int z = p; z < tall_score * wide_score; z += THREADS) chip_score[z] = in_score[z];
  int x_b[SUB];
  TW_UNROLL
  for (int c = 0; c < SUB; ++c) x_b[c] = in_b[AT(c)];
  real w_h[UP + 1][LEFT + SUB];
  TW_UNROLL
  for (int u = 1; u <= UP; ++u)
    TW_UNROLL
    for (int c = 0; c < LEFT + SUB; ++c)
      w_h[u][c] = above_h[ROW(a, u) + tw_min(j0 + c, LEFT + n - 1)];
  real w_e[UP + 1][LEFT + SUB];
  TW_UNROLL
  for (int u = 1; u <= UP; ++u)
    TW_UNROLL
    for (int c = 0; c < LEFT + SUB; ++c)
      w_e[u][c] = above_e[ROW(a, u) + tw_min(j0 + c, LEFT + n - 1)];
  real w_f[UP + 1][LEFT + SUB];
  TW_UNROLL
  for (int u = 1; u <= UP; ++u)
    TW_UNROLL
    for (int c = 0; c < LEFT + SUB; ++c)
      w_f[u][c] = above_f[ROW(a, u) + tw_min(j0 + c, LEFT + n - 1)];
  if (b == 0 && p == 0 && a + 1 < tall)
    for (int u = 1; u <= UP; ++u)
      for (int q = 0; q < LEFT; ++q) { const tw_wide z = (tw_wide)(i0 + t - u) * LEFT + q; above_h[ROW(a + 1, u) + q] = beside_h[z]; above_e[ROW(a + 1, u) + q] = beside_e[z]; above_f[ROW(a + 1, u) + q] = beside_f[z]; }
  real sum = folded[a * THREADS + p];
  TW_BARRIER();
  for (int d = 0; d < rows + THREADS - 1; ++d) {
    const int r = d - p;
    if (r >= 0 && r < rows) {
      const int i = i0 + r;
      const int y_a = in_a[i];
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q)
        w_h[0][q] = p ? passed[PASSED(d + 1, p - 1, 0) + q] : beside_h[LEFTS(b) + q];
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q)
        w_e[0][q] = p ? passed[PASSED(d + 1, p - 1, 1) + q] : beside_e[LEFTS(b) + q];
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q)
        w_f[0][q] = p ? passed[PASSED(d + 1, p - 1, 2) + q] : beside_f[LEFTS(b) + q];
      TW_UNROLL
      for (int c = 0; c < SUB; ++c) {
        const real v0_0 = w_e[0][c + 0];
        const real v0_1 = c_gap_extend;
        const real v0_2 = (real)((uint)v0_0 - (uint)v0_1);
        const real v0_3 = w_h[0][c + 0];
        const real v0_4 = c_gap_open;
        const real v0_5 = (real)((uint)v0_3 - (uint)v0_4);
        const real v0_6 = (real)(((v0_2 > v0_5)) ? v0_2 : v0_5);
        const real now_e = (real)v0_6;
        w_e[0][LEFT + c] = now_e;
        const real v1_0 = w_f[1][c + 1];
        const real v1_1 = c_gap_extend;
        const real v1_2 = (real)((uint)v1_0 - (uint)v1_1);
        const real v1_3 = w_h[1][c + 1];
        const real v1_4 = c_gap_open;
        const real v1_5 = (real)((uint)v1_3 - (uint)v1_4);
        const real v1_6 = (real)(((v1_2 > v1_5)) ? v1_2 : v1_5);
        const real now_f = (real)v1_6;
        w_f[0][LEFT + c] = now_f;
        const real v2_0 = w_h[1][c + 0];
        const int v2_1 = y_a;
        const int v2_2 = x_b[c];
        const real v2_3 = (real)(chip_score[v2_1 * wide_score + v2_2]);
        const real v2_4 = (real)((uint)v2_0 + (uint)v2_3);
        const real v2_5 = now_e;
        const real v2_6 = (real)(((v2_4 > v2_5)) ? v2_4 : v2_5);
        const real v2_7 = now_f;
        const real v2_8 = (real)(((v2_6 > v2_7)) ? v2_6 : v2_7);
        const real v2_9 = ((real)0);
        const real v2_10 = (real)(((v2_8 > v2_9)) ? v2_8 : v2_9);
        const real now_h = (real)v2_10;
        w_h[0][LEFT + c] = now_h;
        if (wanted && c < own) { whole_h[(tw_wide)i * n + j0 + c] = now_h; whole_e[(tw_wide)i * n + j0 + c] = now_e; whole_f[(tw_wide)i * n + j0 + c] = now_f; }
        if (joined && c < own) sum = fold(sum, now_h);
        if (i == m - 1 && j0 + c == n - 1) *last = now_h;
      }
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q) {
        if (p == THREADS - 1) beside_h[LEFTS(b + 1) + q] = w_h[0][SUB + q];
        else passed[PASSED(d, p, 0) + q] = w_h[0][SUB + q];
      }
      TW_UNROLL
      for (int u = UP; u > 0; --u)
        TW_UNROLL
        for (int c = 0; c < LEFT + SUB; ++c) w_h[u][c] = w_h[u - 1][c];
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q) {
        if (p == THREADS - 1) beside_e[LEFTS(b + 1) + q] = w_e[0][SUB + q];
        else passed[PASSED(d, p, 1) + q] = w_e[0][SUB + q];
      }
      TW_UNROLL
      for (int u = UP; u > 0; --u)
        TW_UNROLL
        for (int c = 0; c < LEFT + SUB; ++c) w_e[u][c] = w_e[u - 1][c];
      TW_UNROLL
      for (int q = 0; q < LEFT; ++q) {
        if (p == THREADS - 1) beside_f[LEFTS(b + 1) + q] = w_f[0][SUB + q];
        else passed[PASSED(d, p, 2) + q] = w_f[0][SUB + q];
      }
      TW_UNROLL
      for (int u = UP; u > 0; --u)
        TW_UNROLL
        for (int c = 0; c < LEFT + SUB; ++c) w_f[u][c] = w_f[u - 1][c];
    }
    TW_BARRIER();
  }
  if (a + 1 < tall) {
    TW_UNROLL
    for (int u = 1; u <= UP; ++u)
      TW_UNROLL
      for (int c = 0; c < SUB; ++c)
        if (c < own) above_h[ROW(a + 1, u) + LEFT + j0 + c] = w_h[u][LEFT + c];
    TW_UNROLL
    for (int u = 1; u <= UP; ++u)
      TW_UNROLL
      for (int c = 0; c < SUB; ++c)
        if (c < own) above_e[ROW(a + 1, u) + LEFT + j0 + c] = w_e[u][LEFT + c];
    TW_UNROLL
    for (int u = 1; u <= UP; ++u)
      TW_UNROLL
      for (int c = 0; c < SUB; ++c)
        if (c < own) above_f[ROW(a + 1, u) + LEFT + j0 + c] = w_f[u][LEFT + c];
  }
  folded[a * THREADS + p] = sum;
}
