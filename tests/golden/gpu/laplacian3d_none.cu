/* laplacian3d, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_laplacian3d_0(TW_GLOBAL float *f0, int n0, int n1, int n2, tw_wide s0, tw_wide s1, tw_wide slot, int t) {
  const int i2 = (TW_THREAD % 32);
  const int i1 = ((TW_THREAD / 32) % 4);
  const int i0 = ((TW_THREAD / 32) / 4);
  const int g2 = (TW_GROUP % tw_ceildiv(n2, 32));
  const int g1 = ((TW_GROUP / tw_ceildiv(n2, 32)) % tw_ceildiv(n1, 4));
  const int g0 = ((TW_GROUP / tw_ceildiv(n2, 32)) / tw_ceildiv(n1, 4));
  const int x0 = ((g0 * 2) + i0);
  const int x1 = ((g1 * 4) + i1);
  const int x2 = ((g2 * 32) + i2);
  const int inner = ((((((((g0 * 2) - 1) >= 0) & ((((g0 + 1) * 2) + 1) <= n0)) & (((g1 * 4) - 1) >= 0)) & ((((g1 + 1) * 4) + 1) <= n1)) & (((g2 * 32) - 1) >= 0)) & ((((g2 + 1) * 32) + 1) <= n2));
  if ((inner | ((((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1))) & (x2 >= 1)) & (x2 < (n2 - 1))))) {
    {
      const tw_wide at = ((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)));
      const float t1 = (f0 + (((tw_wide)(t % 2)) * slot))[at];
      const float t2 = (0.5f * t1);
      const float t4 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + (s0 * (-1)))];
      const float t5 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + s0)];
      const float t6 = (t4 + t5);
      const float t7 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + (s1 * (-1)))];
      const float t8 = (t6 + t7);
      const float t9 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + s1)];
      const float t10 = (t8 + t9);
      const float t11 = (f0 + (((tw_wide)(t % 2)) * slot))[(at - 1)];
      const float t12 = (t10 + t11);
      const float t13 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + 1)];
      const float t14 = (t12 + t13);
      const float t15 = (0.083333336f * t14);
      const float t16 = (t2 + t15);
      (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t16;
    }
  }
}
