/* pair, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_pair_0(TW_GLOBAL float *f0, TW_GLOBAL float *f1, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  const int inner = ((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0));
  if ((inner | ((x0 >= 1) & (x0 < n0)))) {
    {
      const tw_wide at = ((tw_wide)x0);
      const float t0 = f0[at];
      const float t2 = f1[at];
      const float t3 = f1[(at - 1)];
      const float t4 = (t2 - t3);
      const float t5 = (0.5f * t4);
      const float t6 = (t0 - t5);
      f0[at] = t6;
    }
  }
}

TW_KERNEL(256) tw_pair_1(TW_GLOBAL float *f0, TW_GLOBAL float *f1, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  const int inner = ((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0));
  if ((inner | ((x0 >= 0) & (x0 < (n0 - 1))))) {
    {
      const tw_wide at = ((tw_wide)x0);
      const float t0 = f1[at];
      const float t2 = f0[(at + 1)];
      const float t3 = f0[at];
      const float t4 = (t2 - t3);
      const float t5 = (0.5f * t4);
      const float t6 = (t0 - t5);
      f1[at] = t6;
    }
  }
}
