/* masked, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: tw_where_f32() */

TW_KERNEL(256) tw_masked_0(TW_GLOBAL float *f0, TW_GLOBAL const float *f1, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  if (((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0))) {
    {
      const tw_wide at = ((tw_wide)x0);
      TW_GLOBAL const float *const line1_0 = (f1 + at);
      TW_GLOBAL const float *const line0_0 = ((f0 + (((tw_wide)(t % 2)) * slot)) + at);
      TW_GLOBAL float *const out0_1 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + at);
      const float v1_0_0 = line1_0[0];
      const float v0_0_m1 = line0_0[(-1)];
      const float v0_0_1 = line0_0[1];
      const float v0_0_0 = line0_0[0];
      const float t0_0 = v1_0_0;
      const int t0_2 = (t0_0 > 0.0f);
      const float t0_4 = v0_0_m1;
      const float t0_5 = v0_0_1;
      const float t0_6 = (t0_4 + t0_5);
      const float t0_7 = (0.5f * t0_6);
      const float t0_8 = v0_0_0;
      const float t0_9 = tw_where_f32(t0_2, t0_7, t0_8);
      const float new0 = t0_9;
      out0_1[0] = new0;
    }
  } else {
    if (((x0 >= 1) & (x0 < (n0 - 1)))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const float t0 = f1[((tw_wide)x0)];
        const int t2 = (t0 > 0.0f);
        const float t4 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 - 1))];
        const float t5 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 + 1))];
        const float t6 = (t4 + t5);
        const float t7 = (0.5f * t6);
        const float t8 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)x0)];
        const float t9 = tw_where_f32(t2, t7, t8);
        (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t9;
      }
    }
  }
}
