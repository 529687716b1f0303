/* wave2d, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_wave2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int t) {
  const int i1 = (TW_THREAD % 64);
  const int i0 = (TW_THREAD / 64);
  const int g1 = (TW_GROUP % tw_ceildiv(n1, 64));
  const int g0 = (TW_GROUP / tw_ceildiv(n1, 64));
  const int x0 = ((g0 * 4) + i0);
  const int x1 = ((g1 * 64) + i1);
  const int inner = ((((((g0 * 4) - 1) >= 0) & ((((g0 + 1) * 4) + 1) <= n0)) & (((g1 * 64) - 1) >= 0)) & ((((g1 + 1) * 64) + 1) <= n1));
  if ((inner | ((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1))))) {
    {
      const tw_wide at = ((((tw_wide)x0) * s0) + ((tw_wide)x1));
      const float t1 = (f0 + (((tw_wide)(t % 2)) * slot))[at];
      const float t2 = (2.0f * t1);
      const float t3 = (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at];
      const float t4 = (t2 - t3);
      const float t6 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + (s0 * (-1)))];
      const float t7 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + s0)];
      const float t8 = (t6 + t7);
      const float t9 = (f0 + (((tw_wide)(t % 2)) * slot))[(at - 1)];
      const float t10 = (t8 + t9);
      const float t11 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + 1)];
      const float t12 = (t10 + t11);
      const float t14 = (4.0f * t1);
      const float t15 = (t12 - t14);
      const float t16 = (0.1f * t15);
      const float t17 = (t4 + t16);
      (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t17;
    }
  }
}
