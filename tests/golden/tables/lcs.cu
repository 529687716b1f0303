/* lcs, int32, 32 sub-tiles of 4 columns
   starts as every text of its language does, see prelude/
   not shown: tw_maximum_i32(), tw_where_i32() */

TW_KERNEL(32) tw_table_lcs(TW_GLOBAL int *above_c, TW_GLOBAL int *beside_c, TW_GLOBAL int *whole_c, TW_GLOBAL const int *in_a, TW_GLOBAL const int *in_b, TW_GLOBAL int *last, TW_GLOBAL int *folded, TW_GLOBAL const int *scalars, int m, int n, int t, int wave, int first, int wanted, int joined) {
  TW_SHARED int passed[64];
  const int a = (first + TW_GROUP);
  const int p = TW_THREAD;
  const int b = (wave - a);
  const int tall = (((m + t) - 1) / t);
  const int i0 = (a * t);
  const int rows = tw_min(t, (m - i0));
  const int j0 = (((b * 32) + p) * 4);
  const int own = tw_min((n - j0), 4);
  int x_b[4];
  TW_UNROLL
  for (int c = 0; c < 4; ++c) {
    x_b[c] = in_b[tw_min((j0 + c), (n - 1))];
  }
  int w_c[10];
  TW_UNROLL
  for (int u = 1; u < 2; ++u) {
    TW_UNROLL
    for (int c = 0; c < 5; ++c) {
      w_c[((u * 5) + c)] = above_c[((((tw_wide)(((a % 3) + 1) - u)) * (n + 1)) + tw_min((j0 + c), ((n + 1) - 1)))];
    }
  }
  if ((((b == 0) & (p == 0)) & ((a + 1) < tall))) {
    for (int u = 1; u < 2; ++u) {
      for (int q = 0; q < 1; ++q) {
        const tw_wide z = (((tw_wide)((i0 + t) - u)) + q);
        above_c[((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + q)] = beside_c[z];
      }
    }
  }
  int sum = folded[((a * 32) + p)];
  TW_BARRIER();
  for (int d = 0; d < ((rows + 32) - 1); ++d) {
    const int r = (d - p);
    if (((r >= 0) & (r < rows))) {
      const int i = (i0 + r);
      const int y_a = in_a[i];
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p != 0)) {
          w_c[q] = passed[(((((d + 1) % 2) * 32) + (p - 1)) + q)];
        } else {
          w_c[q] = beside_c[(((((tw_wide)(b % 2)) * m) + i) + q)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 4; ++c) {
        const int v0_0 = w_c[((c + 1) + 5)];
        const int v0_1 = w_c[c];
        const int v0_2 = tw_maximum_i32(v0_0, v0_1);
        const int v0_3 = w_c[(c + 5)];
        const int v0_4 = y_a;
        const int v0_5 = x_b[c];
        const int v0_6 = (v0_4 == v0_5);
        const int v0_9 = tw_where_i32(v0_6, 1, 0);
        const int v0_10 = ((int)(((unsigned int)v0_3) + ((unsigned int)v0_9)));
        const int v0_11 = tw_maximum_i32(v0_2, v0_10);
        const int now_c = v0_11;
        w_c[(c + 1)] = now_c;
        if (((wanted != 0) & (c < own))) {
          const tw_wide at = (((((tw_wide)i) * n) + j0) + c);
          whole_c[at] = now_c;
        }
        if (((joined != 0) & (c < own))) {
          sum = tw_maximum_i32(now_c, sum);
        }
        if (((i == (m - 1)) & ((j0 + c) == (n - 1)))) {
          last[0] = now_c;
        }
      }
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p == 31)) {
          beside_c[(((((tw_wide)((b + 1) % 2)) * m) + i) + q)] = w_c[(q + 4)];
        } else {
          passed[((((d % 2) * 32) + p) + q)] = w_c[(q + 4)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 5; ++c) {
        w_c[(c + 5)] = w_c[c];
      }
    }
    TW_BARRIER();
  }
  if (((a + 1) < tall)) {
    TW_UNROLL
    for (int u = 1; u < 2; ++u) {
      TW_UNROLL
      for (int c = 0; c < 4; ++c) {
        if ((c < own)) {
          above_c[((((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + 1) + j0) + c)] = w_c[((c + 1) + (u * 5))];
        }
      }
    }
  }
  folded[((a * 32) + p)] = sum;
}
