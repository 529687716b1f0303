/* (A1 A2) A3 with A1 A2 in shared memory, float64
   starts as every text of its language does, see prelude/ */

TW_FUNCTION void stage(TW_GLOBAL const double *a, TW_LOCAL double *to, int i0, int i1, int j0, int j1, int columns, int down, int across) {
  for (int n = TW_THREAD; n < (down * across); n += 64) {
    const int i = (i0 + (n / across));
    const int j = (j0 + (n % across));
    if (((i < i1) & (j < j1))) {
      to[n] = a[((((tw_wide)i) * columns) + j)];
    } else {
      to[n] = 0.0;
    }
  }
}

TW_FUNCTION void multiply(TW_LOCAL const double *left, int pitch, TW_LOCAL const double *right, int deep, double *cell) {
  const int i0 = (TW_THREAD / 8);
  const int j0 = (TW_THREAD % 8);
  for (int k = 0; k < deep; ++k) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        cell[((i * 2) + j)] = (cell[((i * 2) + j)] + (left[(((i0 + (i * 8)) * pitch) + k)] * right[(((k * 16) + j0) + (j * 8))]));
      }
    }
  }
}

TW_FUNCTION void fill(TW_GLOBAL const double *a, TW_GLOBAL const double *b, TW_LOCAL double *t, TW_LOCAL double *sa, TW_LOCAL double *sb, int i0, int n, int j0, int m, int depth) {
  double cell[4];
  for (int c = 0; c < 4; ++c) {
    cell[c] = 0.0;
  }
  for (int k0 = 0; k0 < depth; k0 += 8) {
    stage(a, sa, i0, n, k0, depth, depth, 16, 8);
    stage(b, sb, k0, depth, j0, m, m, 8, 16);
    TW_BARRIER();
    multiply(sa, 8, sb, 8, cell);
    TW_BARRIER();
  }
  for (int c = 0; c < 4; ++c) {
    t[((((TW_THREAD / 8) + ((c / 2) * 8)) * 16) + ((TW_THREAD % 8) + ((c % 2) * 8)))] = cell[c];
  }
  TW_BARRIER();
}

TW_FUNCTION void add(TW_GLOBAL double *r, double *cell, int i0, int n, int j0, int m, int more) {
  for (int c = 0; c < 4; ++c) {
    const int i = (((TW_THREAD / 8) + ((c / 2) * 8)) + i0);
    const int j = (((TW_THREAD % 8) + ((c % 2) * 8)) + j0);
    if (((i < n) & (j < m))) {
      const tw_wide at = ((((tw_wide)i) * m) + j);
      double before = 0.0;
      if ((more != 0)) {
        before = r[at];
      }
      r[at] = (before + cell[c]);
    }
  }
}

TW_KERNEL(64) tw_fused_left(TW_GLOBAL const double *a1, TW_GLOBAL const double *a2, TW_GLOBAL const double *a3, TW_GLOBAL double *r, int p0, int p1, int p2, int p3) {
  TW_SHARED double t[256];
  TW_SHARED double sa[128];
  TW_SHARED double sb[128];
  double cell[4];
  const int i0 = (TW_GROUP * 16);
  for (int j0 = 0; j0 < p2; j0 += 16) {
    fill(a1, a2, t, sa, sb, i0, p0, j0, p2, p1);
    const int end = tw_min((j0 + 16), p2);
    for (int l0 = 0; l0 < p3; l0 += 16) {
      for (int c = 0; c < 4; ++c) {
        cell[c] = 0.0;
      }
      for (int k0 = 0; k0 < tw_min((p2 - j0), 16); k0 += 8) {
        stage(a3, sb, (j0 + k0), end, l0, p3, p3, 8, 16);
        TW_BARRIER();
        multiply((t + k0), 16, sb, tw_min((16 - k0), 8), cell);
        TW_BARRIER();
      }
      add(r, cell, i0, p0, l0, p3, (j0 > 0));
    }
  }
}
