/* monotone_paths, bool, 32 sub-tiles of 4 columns
   starts as every text of its language does, see prelude/
   not shown: tw_number_u8() */

TW_KERNEL(32) tw_table_monotone_paths(TW_GLOBAL unsigned char *above_p, TW_GLOBAL unsigned char *beside_p, TW_GLOBAL unsigned char *whole_p, TW_GLOBAL const int *in_free, TW_GLOBAL unsigned char *last, TW_GLOBAL unsigned char *folded, TW_GLOBAL const unsigned char *scalars, int m, int n, int t, int wave, int first, int wanted, int joined) {
  TW_SHARED unsigned char passed[64];
  const int a = (first + TW_GROUP);
  const int p = TW_THREAD;
  const int b = (wave - a);
  const int tall = (((m + t) - 1) / t);
  const int i0 = (a * t);
  const int rows = tw_min(t, (m - i0));
  const int j0 = (((b * 32) + p) * 4);
  const int own = tw_min((n - j0), 4);
  unsigned char w_p[10];
  TW_UNROLL
  for (int u = 1; u < 2; ++u) {
    TW_UNROLL
    for (int c = 0; c < 5; ++c) {
      w_p[((u * 5) + c)] = above_p[((((tw_wide)(((a % 3) + 1) - u)) * (n + 1)) + tw_min((j0 + c), ((n + 1) - 1)))];
    }
  }
  if ((((b == 0) & (p == 0)) & ((a + 1) < tall))) {
    for (int u = 1; u < 2; ++u) {
      for (int q = 0; q < 1; ++q) {
        const tw_wide z = (((tw_wide)((i0 + t) - u)) + q);
        above_p[((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + q)] = beside_p[z];
      }
    }
  }
  unsigned char sum = folded[((a * 32) + p)];
  TW_BARRIER();
  for (int d = 0; d < ((rows + 32) - 1); ++d) {
    const int r = (d - p);
    if (((r >= 0) & (r < rows))) {
      const int i = (i0 + r);
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p != 0)) {
          w_p[q] = passed[(((((d + 1) % 2) * 32) + (p - 1)) + q)];
        } else {
          w_p[q] = beside_p[(((((tw_wide)(b % 2)) * m) + i) + q)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 4; ++c) {
        const int v0_0 = in_free[((((tw_wide)i) * n) + tw_min((j0 + c), (n - 1)))];
        const int v0_2 = (v0_0 != 0);
        const unsigned char v0_3 = w_p[((c + 1) + 5)];
        const unsigned char v0_4 = w_p[c];
        const int v0_5 = ((v0_3 != 0) | (v0_4 != 0));
        const int v0_6 = (v0_2 & v0_5);
        const unsigned char now_p = tw_number_u8(v0_6);
        w_p[(c + 1)] = now_p;
        if (((wanted != 0) & (c < own))) {
          const tw_wide at = (((((tw_wide)i) * n) + j0) + c);
          whole_p[at] = now_p;
        }
        if (((joined != 0) & (c < own))) {
          sum = tw_number_u8(((sum != 0) | (now_p != 0)));
        }
        if (((i == (m - 1)) & ((j0 + c) == (n - 1)))) {
          last[0] = now_p;
        }
      }
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p == 31)) {
          beside_p[(((((tw_wide)((b + 1) % 2)) * m) + i) + q)] = w_p[(q + 4)];
        } else {
          passed[((((d % 2) * 32) + p) + q)] = w_p[(q + 4)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 5; ++c) {
        w_p[(c + 5)] = w_p[c];
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
          above_p[((((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + 1) + j0) + c)] = w_p[((c + 1) + (u * 5))];
        }
      }
    }
  }
  folded[((a * 32) + p)] = sum;
}
