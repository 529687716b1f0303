/* smith_waterman, int32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: tw_maximum_i32() */

TW_KERNEL(128) tw_smith_waterman_0(TW_GLOBAL int *f0, TW_GLOBAL const int *f1, int n0, int n1, tw_wide s0, tw_wide slot, int t, int plane) {
  const int line = ((TW_GROUP * 128) + TW_THREAD);
  const int x0 = line;
  const int x1 = (plane - x0);
  if (((((x0 >= 1) & (x0 < n0)) & (x1 >= 1)) & (x1 < n1))) {
    {
      const tw_wide at = ((((tw_wide)x0) * s0) + ((tw_wide)x1));
      const int t0 = f0[((((tw_wide)(x0 - 1)) * s0) + ((tw_wide)(x1 - 1)))];
      const int t1 = f1[((((tw_wide)x0) * s0) + ((tw_wide)x1))];
      const int t2 = (t0 + t1);
      const int t4 = tw_maximum_i32(t2, 0);
      const int t5 = f0[((((tw_wide)(x0 - 1)) * s0) + ((tw_wide)x1))];
      const int t6 = f0[((((tw_wide)x0) * s0) + ((tw_wide)(x1 - 1)))];
      const int t7 = tw_maximum_i32(t5, t6);
      const int t9 = (t7 - 1);
      const int t10 = tw_maximum_i32(t4, t9);
      f0[at] = t10;
    }
  }
}
