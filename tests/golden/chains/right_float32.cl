/* A1 (A2 A3) with A2 A3 in shared memory, float32
   starts as every text of its language does, see prelude/ */

TW_FUNCTION void stage(TW_GLOBAL const float *a, TW_LOCAL float *to, int i0, int i1, int j0, int j1, int columns, int down, int across) {
  for (int n = TW_THREAD; n < (down * across); n += 64) {
    const int i = (i0 + (n / across));
    const int j = (j0 + (n % across));
    if (((i < i1) & (j < j1))) {
      to[n] = a[((((tw_wide)i) * columns) + j)];
    } else {
      to[n] = 0.0f;
    }
  }
}

TW_FUNCTION void multiply(TW_LOCAL const float *left, int pitch, TW_LOCAL const float *right, int deep, float *cell) {
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

TW_FUNCTION void fill(TW_GLOBAL const float *a, TW_GLOBAL const float *b, TW_LOCAL float *t, TW_LOCAL float *sa, TW_LOCAL float *sb, int i0, int n, int j0, int m, int depth) {
  float cell[4];
  for (int c = 0; c < 4; ++c) {
    cell[c] = 0.0f;
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

TW_FUNCTION void add(TW_GLOBAL float *r, float *cell, int i0, int n, int j0, int m, int more) {
  for (int c = 0; c < 4; ++c) {
    const int i = (((TW_THREAD / 8) + ((c / 2) * 8)) + i0);
    const int j = (((TW_THREAD % 8) + ((c % 2) * 8)) + j0);
    if (((i < n) & (j < m))) {
      const tw_wide at = ((((tw_wide)i) * m) + j);
      float before = 0.0f;
      if ((more != 0)) {
        before = r[at];
      }
      r[at] = (before + cell[c]);
    }
  }
}

TW_KERNEL(64) tw_fused_right(TW_GLOBAL const float *a1, TW_GLOBAL const float *a2, TW_GLOBAL const float *a3, TW_GLOBAL float *r, int p0, int p1, int p2, int p3) {
  TW_SHARED float t[256];
  TW_SHARED float sa[128];
  TW_SHARED float sb[128];
  float cell[4];
  const int j0 = (TW_GROUP * 16);
  for (int i0 = 0; i0 < p1; i0 += 16) {
    fill(a2, a3, t, sa, sb, i0, p1, j0, p3, p2);
    const int end = tw_min((i0 + 16), p1);
    for (int l0 = 0; l0 < p0; l0 += 16) {
      for (int c = 0; c < 4; ++c) {
        cell[c] = 0.0f;
      }
      for (int k0 = 0; k0 < tw_min((p1 - i0), 16); k0 += 8) {
        stage(a1, sa, l0, p0, (i0 + k0), end, p1, 16, 8);
        TW_BARRIER();
        multiply(sa, 8, (t + (k0 * 16)), tw_min((16 - k0), 8), cell);
        TW_BARRIER();
      }
      add(r, cell, l0, p0, j0, p3, (i0 > 0));
    }
  }
}
