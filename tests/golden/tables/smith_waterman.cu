/* smith_waterman, int32, 32 sub-tiles of 4 columns
   starts as every text of its language does, see prelude/
   not shown: tw_maximum_i32() */

TW_KERNEL(32) tw_table_smith_waterman(TW_GLOBAL int *above_h, TW_GLOBAL int *beside_h, TW_GLOBAL int *whole_h, TW_GLOBAL int *above_e, TW_GLOBAL int *beside_e, TW_GLOBAL int *whole_e, TW_GLOBAL int *above_f, TW_GLOBAL int *beside_f, TW_GLOBAL int *whole_f, TW_GLOBAL const int *in_a, TW_GLOBAL const int *in_b, TW_GLOBAL const int *in_score, TW_GLOBAL int *last, TW_GLOBAL int *folded, TW_GLOBAL const int *scalars, int m, int n, int t, int wave, int first, int wanted, int joined, int tall_score, int wide_score) {
  TW_SHARED int passed[192];
  const int a = (first + TW_GROUP);
  const int p = TW_THREAD;
  const int b = (wave - a);
  const int tall = (((m + t) - 1) / t);
  const int i0 = (a * t);
  const int rows = tw_min(t, (m - i0));
  const int j0 = (((b * 32) + p) * 4);
  const int own = tw_min((n - j0), 4);
  const int c_gap_open = scalars[0];
  const int c_gap_extend = scalars[1];
  int x_b[4];
  TW_UNROLL
  for (int c = 0; c < 4; ++c) {
    x_b[c] = in_b[tw_min((j0 + c), (n - 1))];
  }
  int w_h[10];
  TW_UNROLL
  for (int u = 1; u < 2; ++u) {
    TW_UNROLL
    for (int c = 0; c < 5; ++c) {
      w_h[((u * 5) + c)] = above_h[((((tw_wide)(((a % 3) + 1) - u)) * (n + 1)) + tw_min((j0 + c), ((n + 1) - 1)))];
    }
  }
  int w_e[10];
  TW_UNROLL
  for (int u = 1; u < 2; ++u) {
    TW_UNROLL
    for (int c = 0; c < 5; ++c) {
      w_e[((u * 5) + c)] = above_e[((((tw_wide)(((a % 3) + 1) - u)) * (n + 1)) + tw_min((j0 + c), ((n + 1) - 1)))];
    }
  }
  int w_f[10];
  TW_UNROLL
  for (int u = 1; u < 2; ++u) {
    TW_UNROLL
    for (int c = 0; c < 5; ++c) {
      w_f[((u * 5) + c)] = above_f[((((tw_wide)(((a % 3) + 1) - u)) * (n + 1)) + tw_min((j0 + c), ((n + 1) - 1)))];
    }
  }
  if ((((b == 0) & (p == 0)) & ((a + 1) < tall))) {
    for (int u = 1; u < 2; ++u) {
      for (int q = 0; q < 1; ++q) {
        const tw_wide z = (((tw_wide)((i0 + t) - u)) + q);
        above_h[((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + q)] = beside_h[z];
        above_e[((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + q)] = beside_e[z];
        above_f[((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + q)] = beside_f[z];
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
          w_h[q] = passed[((((((d + 1) % 2) * 32) + (p - 1)) * 3) + q)];
        } else {
          w_h[q] = beside_h[(((((tw_wide)(b % 2)) * m) + i) + q)];
        }
      }
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p != 0)) {
          w_e[q] = passed[(((((((d + 1) % 2) * 32) + (p - 1)) * 3) + 1) + q)];
        } else {
          w_e[q] = beside_e[(((((tw_wide)(b % 2)) * m) + i) + q)];
        }
      }
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p != 0)) {
          w_f[q] = passed[(((((((d + 1) % 2) * 32) + (p - 1)) * 3) + 2) + q)];
        } else {
          w_f[q] = beside_f[(((((tw_wide)(b % 2)) * m) + i) + q)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 4; ++c) {
        const int v0_0 = w_e[c];
        const int v0_2 = ((int)(((unsigned int)v0_0) - ((unsigned int)c_gap_extend)));
        const int v0_3 = w_h[c];
        const int v0_5 = ((int)(((unsigned int)v0_3) - ((unsigned int)c_gap_open)));
        const int v0_6 = tw_maximum_i32(v0_2, v0_5);
        const int now_e = v0_6;
        w_e[(c + 1)] = now_e;
        const int v1_0 = w_f[((c + 1) + 5)];
        const int v1_2 = ((int)(((unsigned int)v1_0) - ((unsigned int)c_gap_extend)));
        const int v1_3 = w_h[((c + 1) + 5)];
        const int v1_5 = ((int)(((unsigned int)v1_3) - ((unsigned int)c_gap_open)));
        const int v1_6 = tw_maximum_i32(v1_2, v1_5);
        const int now_f = v1_6;
        w_f[(c + 1)] = now_f;
        const int v2_0 = w_h[(c + 5)];
        const int v2_1 = y_a;
        const int v2_2 = x_b[c];
        const int v2_3 = in_score[((((int)v2_1) * wide_score) + ((int)v2_2))];
        const int v2_4 = ((int)(((unsigned int)v2_0) + ((unsigned int)v2_3)));
        const int v2_5 = now_e;
        const int v2_6 = tw_maximum_i32(v2_4, v2_5);
        const int v2_7 = now_f;
        const int v2_8 = tw_maximum_i32(v2_6, v2_7);
        const int v2_10 = tw_maximum_i32(v2_8, 0);
        const int now_h = v2_10;
        w_h[(c + 1)] = now_h;
        if (((wanted != 0) & (c < own))) {
          const tw_wide at = (((((tw_wide)i) * n) + j0) + c);
          whole_e[at] = now_e;
          whole_f[at] = now_f;
          whole_h[at] = now_h;
        }
        if (((joined != 0) & (c < own))) {
          sum = tw_maximum_i32(now_h, sum);
        }
        if (((i == (m - 1)) & ((j0 + c) == (n - 1)))) {
          last[0] = now_h;
        }
      }
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p == 31)) {
          beside_h[(((((tw_wide)((b + 1) % 2)) * m) + i) + q)] = w_h[(q + 4)];
        } else {
          passed[(((((d % 2) * 32) + p) * 3) + q)] = w_h[(q + 4)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 5; ++c) {
        w_h[(c + 5)] = w_h[c];
      }
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p == 31)) {
          beside_e[(((((tw_wide)((b + 1) % 2)) * m) + i) + q)] = w_e[(q + 4)];
        } else {
          passed[((((((d % 2) * 32) + p) * 3) + 1) + q)] = w_e[(q + 4)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 5; ++c) {
        w_e[(c + 5)] = w_e[c];
      }
      TW_UNROLL
      for (int q = 0; q < 1; ++q) {
        if ((p == 31)) {
          beside_f[(((((tw_wide)((b + 1) % 2)) * m) + i) + q)] = w_f[(q + 4)];
        } else {
          passed[((((((d % 2) * 32) + p) * 3) + 2) + q)] = w_f[(q + 4)];
        }
      }
      TW_UNROLL
      for (int c = 0; c < 5; ++c) {
        w_f[(c + 5)] = w_f[c];
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
          above_h[((((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + 1) + j0) + c)] = w_h[((c + 1) + (u * 5))];
        }
      }
    }
    TW_UNROLL
    for (int u = 1; u < 2; ++u) {
      TW_UNROLL
      for (int c = 0; c < 4; ++c) {
        if ((c < own)) {
          above_e[((((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + 1) + j0) + c)] = w_e[((c + 1) + (u * 5))];
        }
      }
    }
    TW_UNROLL
    for (int u = 1; u < 2; ++u) {
      TW_UNROLL
      for (int c = 0; c < 4; ++c) {
        if ((c < own)) {
          above_f[((((((tw_wide)((((a + 1) % 3) + 1) - u)) * (n + 1)) + 1) + j0) + c)] = w_f[((c + 1) + (u * 5))];
        }
      }
    }
  }
  folded[((a * 32) + p)] = sum;
}
