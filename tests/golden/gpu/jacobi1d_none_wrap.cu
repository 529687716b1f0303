/* jacobi1d, float32, boundary wrap, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_jacobi1d_0(TW_GLOBAL float *f0, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  const int inner = ((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0));
  if (inner) {
    {
      const tw_wide at = ((tw_wide)x0);
      const float t0 = (f0 + (((tw_wide)(t % 2)) * slot))[(at - 1)];
      const float t1 = (f0 + (((tw_wide)(t % 2)) * slot))[at];
      const float t2 = (t0 + t1);
      const float t3 = (f0 + (((tw_wide)(t % 2)) * slot))[(at + 1)];
      const float t4 = (t2 + t3);
      const float t6 = (t4 * 0.33333334f);
      (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t6;
    }
  } else {
    if (((x0 >= 0) & (x0 < n0))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const float t0 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(((x0 - 1) >= n0) ? tw_floormod((x0 - 1), n0) : (((x0 - 1) < 0) ? tw_floormod((x0 - 1), n0) : (x0 - 1))))];
        const float t1 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)x0)];
        const float t2 = (t0 + t1);
        const float t3 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(((x0 + 1) >= n0) ? tw_floormod((x0 + 1), n0) : (((x0 + 1) < 0) ? tw_floormod((x0 + 1), n0) : (x0 + 1))))];
        const float t4 = (t2 + t3);
        const float t6 = (t4 * 0.33333334f);
        (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t6;
      }
    }
  }
}
