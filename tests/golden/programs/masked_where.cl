/* masked, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: tw_where_f32() */

TW_KERNEL(256) tw_masked_0(TW_GLOBAL float *f0, TW_GLOBAL const float *f1, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  const int inner = ((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0));
  if ((inner | ((x0 >= 1) & (x0 < (n0 - 1))))) {
    {
      const tw_wide at = ((tw_wide)x0);
      const float t0 = f1[at];
      const int t2 = (t0 > 0.0f);
      const float t4 = (f0 + (((tw_wide)(t % 2)) * slot))[(at - 1)];
      const float t5 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + 1)];
      const float t6 = (t4 + t5);
      const float t7 = (0.5f * t6);
      const float t8 = (f0 + (((tw_wide)(t % 2)) * slot))[at];
      const float t9 = tw_where_f32(t2, t7, t8);
      (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t9;
    }
  }
}
