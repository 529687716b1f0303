/* jacobi2d, float64, boundary fixed, tiling none, strict
   starts as every text of its language does, see prelude/
   not shown: OPENCL */

TW_KERNEL(256) tw_jacobi2d_0(TW_GLOBAL double *f0, int n0, int n1, tw_wide s0, tw_wide slot, int t) {
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
      const double t0 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + (s0 * (-1)))];
      const double t1 = (f0 + (((tw_wide)(t % 2)) * slot))[(at - 1)];
      const double t2 = (t0 + t1);
      const double t3 = (f0 + (((tw_wide)(t % 2)) * slot))[at];
      const double t4 = (t2 + t3);
      const double t5 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + 1)];
      const double t6 = (t4 + t5);
      const double t7 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + s0)];
      const double t8 = (t6 + t7);
      const double t10 = (t8 * 0.2);
      (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t10;
    }
  }
}
