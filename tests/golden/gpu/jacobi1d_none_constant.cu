/* jacobi1d, float32, boundary constant:0.5, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_jacobi1d_0(TW_GLOBAL float *f0, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  if (((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0))) {
    {
      const tw_wide at = ((tw_wide)x0);
      TW_GLOBAL const float *const line0_0 = ((f0 + (((tw_wide)(t % 2)) * slot)) + at);
      TW_GLOBAL float *const out0_1 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + at);
      const float v0_0_m1 = line0_0[(-1)];
      const float v0_0_0 = line0_0[0];
      const float v0_0_1 = line0_0[1];
      const float t0_0 = v0_0_m1;
      const float t0_1 = v0_0_0;
      const float t0_2 = (t0_0 + t0_1);
      const float t0_3 = v0_0_1;
      const float t0_4 = (t0_2 + t0_3);
      const float t0_6 = (t0_4 * 0.33333334f);
      const float new0 = t0_6;
      out0_1[0] = new0;
    }
  } else {
    if (((x0 >= 0) & (x0 < n0))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const float t0 = (((x0 - 1) >= n0) ? 0.5f : (((x0 - 1) < 0) ? 0.5f : (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 - 1))]));
        const float t1 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)x0)];
        const float t2 = (t0 + t1);
        const float t3 = (((x0 + 1) >= n0) ? 0.5f : (((x0 + 1) < 0) ? 0.5f : (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 + 1))]));
        const float t4 = (t2 + t3);
        const float t6 = (t4 * 0.33333334f);
        (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t6;
      }
    }
  }
}
