/* limited, int64, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: tw_abs_i64(), tw_maximum_i64(), tw_minimum_i64() */

TW_KERNEL(256) tw_limited_0(TW_GLOBAL tw_wide *f0, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  const int inner = ((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0));
  if ((inner | ((x0 >= 1) & (x0 < (n0 - 1))))) {
    {
      const tw_wide at = ((tw_wide)x0);
      const tw_wide t0 = (f0 + (((tw_wide)(t % 2)) * slot))[(at - 1)];
      const tw_wide t1 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + 1)];
      const tw_wide t2 = (t0 + t1);
      const tw_wide t4 = tw_minimum_i64(t2, 100L);
      const tw_wide t5 = (f0 + (((tw_wide)(t % 2)) * slot))[at];
      const tw_wide t6 = tw_abs_i64(t5);
      const tw_wide t7 = tw_maximum_i64(t4, t6);
      (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t7;
    }
  }
}
