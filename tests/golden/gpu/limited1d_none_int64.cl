/* limited, int64, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: tw_abs_i64(), tw_maximum_i64(), tw_minimum_i64() */

TW_KERNEL(256) tw_limited_0(TW_GLOBAL tw_wide *f0, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  if (((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0))) {
    {
      const tw_wide at = ((tw_wide)x0);
      TW_GLOBAL const tw_wide *const line0_0 = ((f0 + (((tw_wide)(t % 2)) * slot)) + at);
      TW_GLOBAL tw_wide *const out0_1 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + at);
      const tw_wide v0_0_m1 = line0_0[(-1)];
      const tw_wide v0_0_1 = line0_0[1];
      const tw_wide v0_0_0 = line0_0[0];
      const tw_wide t0_0 = v0_0_m1;
      const tw_wide t0_1 = v0_0_1;
      const tw_wide t0_2 = (t0_0 + t0_1);
      const tw_wide t0_4 = tw_minimum_i64(t0_2, 100L);
      const tw_wide t0_5 = v0_0_0;
      const tw_wide t0_6 = tw_abs_i64(t0_5);
      const tw_wide t0_7 = tw_maximum_i64(t0_4, t0_6);
      const tw_wide new0 = t0_7;
      out0_1[0] = new0;
    }
  } else {
    if (((x0 >= 1) & (x0 < (n0 - 1)))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const tw_wide t0 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 - 1))];
        const tw_wide t1 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 + 1))];
        const tw_wide t2 = (t0 + t1);
        const tw_wide t4 = tw_minimum_i64(t2, 100L);
        const tw_wide t5 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)x0)];
        const tw_wide t6 = tw_abs_i64(t5);
        const tw_wide t7 = tw_maximum_i64(t4, t6);
        (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t7;
      }
    }
  }
}
