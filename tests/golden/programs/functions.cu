/* functions, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: tw_exp_f32(), tw_sin_f32(), tw_sqrt_f32() */

TW_KERNEL(256) tw_functions_0(TW_GLOBAL float *f0, int n0, tw_wide slot, int t) {
  const int i0 = TW_THREAD;
  const int g0 = TW_GROUP;
  const int x0 = ((g0 * 256) + i0);
  if (((((g0 * 256) - 1) >= 0) & ((((g0 + 1) * 256) + 1) <= n0))) {
    {
      const tw_wide at = ((tw_wide)x0);
      TW_GLOBAL const float *const line0_0 = ((f0 + (((tw_wide)(t % 2)) * slot)) + at);
      TW_GLOBAL float *const out0_1 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + at);
      const float v0_0_0 = line0_0[0];
      const float v0_0_1 = line0_0[1];
      const float v0_0_m1 = line0_0[(-1)];
      const float t0_0 = v0_0_0;
      const float t0_1 = (-t0_0);
      const float t0_2 = tw_exp_f32(t0_1);
      const float t0_3 = v0_0_1;
      const float t0_4 = tw_sin_f32(t0_3);
      const float t0_5 = (t0_2 + t0_4);
      const float t0_6 = v0_0_m1;
      const float t0_8 = tw_sqrt_f32(t0_6);
      const float t0_9 = (t0_6 * t0_6);
      const float t0_10 = (t0_8 * t0_9);
      const float t0_11 = (t0_5 + t0_10);
      const float new0 = t0_11;
      out0_1[0] = new0;
    }
  } else {
    if (((x0 >= 1) & (x0 < (n0 - 1)))) {
      {
        const tw_wide at = ((tw_wide)x0);
        const float t0 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)x0)];
        const float t1 = (-t0);
        const float t2 = tw_exp_f32(t1);
        const float t3 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 + 1))];
        const float t4 = tw_sin_f32(t3);
        const float t5 = (t2 + t4);
        const float t6 = (f0 + (((tw_wide)(t % 2)) * slot))[((tw_wide)(x0 - 1))];
        const float t8 = tw_sqrt_f32(t6);
        const float t9 = (t6 * t6);
        const float t10 = (t8 * t9);
        const float t11 = (t5 + t10);
        (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t11;
      }
    }
  }
}
