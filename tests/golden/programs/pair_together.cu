/* pair, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_pair_0(TW_GLOBAL float *f0, TW_GLOBAL float *f1, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  if (((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0))) {
    {
      const tw_wide at = ((tw_wide)x0);
      TW_GLOBAL const float *const line0_0 = (f0 + at);
      TW_GLOBAL const float *const line1_0 = (f1 + at);
      TW_GLOBAL float *const out0_1 = (f0 + at);
      const float v0_0_0 = line0_0[0];
      const float v1_0_0 = line1_0[0];
      const float v1_0_m1 = line1_0[(-1)];
      const float t0_0 = v0_0_0;
      const float t0_2 = v1_0_0;
      const float t0_3 = v1_0_m1;
      const float t0_4 = (t0_2 - t0_3);
      const float t0_5 = (0.5f * t0_4);
      const float t0_6 = (t0_0 - t0_5);
      const float new0 = t0_6;
      out0_1[0] = new0;
    }
  } else {
    if (((x0 >= 1) & (x0 < n0))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const float t0 = f0[((tw_wide)x0)];
        const float t2 = f1[((tw_wide)x0)];
        const float t3 = f1[((tw_wide)(x0 - 1))];
        const float t4 = (t2 - t3);
        const float t5 = (0.5f * t4);
        const float t6 = (t0 - t5);
        f0[at] = t6;
      }
    }
  }
}

TW_KERNEL(256) tw_pair_1(TW_GLOBAL float *f0, TW_GLOBAL float *f1, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  if (((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0))) {
    {
      const tw_wide at = ((tw_wide)x0);
      TW_GLOBAL const float *const line1_0 = (f1 + at);
      TW_GLOBAL const float *const line0_1 = (f0 + at);
      TW_GLOBAL float *const out1_1 = (f1 + at);
      const float v1_0_0 = line1_0[0];
      const float v0_1_1 = line0_1[1];
      const float v0_1_0 = line0_1[0];
      const float t0_0 = v1_0_0;
      const float t0_2 = v0_1_1;
      const float t0_3 = v0_1_0;
      const float t0_4 = (t0_2 - t0_3);
      const float t0_5 = (0.5f * t0_4);
      const float t0_6 = (t0_0 - t0_5);
      const float new0 = t0_6;
      out1_1[0] = new0;
    }
  } else {
    if (((x0 >= 0) & (x0 < (n0 - 1)))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const float t0 = f1[((tw_wide)x0)];
        const float t2 = f0[((tw_wide)(x0 + 1))];
        const float t3 = f0[((tw_wide)x0)];
        const float t4 = (t2 - t3);
        const float t5 = (0.5f * t4);
        const float t6 = (t0 - t5);
        f1[at] = t6;
      }
    }
  }
}
