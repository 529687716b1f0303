/* wave2d, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_wave2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int t) {
  const int i1 = (TW_THREAD % 64);
  const int i0 = (TW_THREAD / 64);
  const int g1 = (TW_GROUP % tw_ceildiv(n1, 64));
  const int g0 = (TW_GROUP / tw_ceildiv(n1, 64));
  const int x0 = ((g0 * 16) + (i0 * 4));
  const int x1 = ((g1 * 64) + i1);
  if (((((((g0 * 16) - 1) >= 0) & ((((g0 + 1) * 16) + 1) <= n0)) & (((g1 * 64) - 1) >= 0)) & ((((g1 + 1) * 64) + 1) <= n1))) {
    {
      const tw_wide at = ((((tw_wide)x0) * s0) + ((tw_wide)x1));
      TW_GLOBAL const float *const line0_0_0 = ((f0 + (((tw_wide)(t % 2)) * slot)) + at);
      TW_GLOBAL const float *const line0_m1_0 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + at);
      TW_GLOBAL const float *const line0_0_m1 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * (-1))));
      TW_GLOBAL const float *const line0_0_1 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + s0));
      TW_GLOBAL float *const out0_1_0 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + at);
      TW_GLOBAL const float *const line0_m1_1 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + s0));
      TW_GLOBAL const float *const line0_0_2 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * 2)));
      TW_GLOBAL float *const out0_1_1 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + s0));
      TW_GLOBAL const float *const line0_m1_2 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + (s0 * 2)));
      TW_GLOBAL const float *const line0_0_3 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * 3)));
      TW_GLOBAL float *const out0_1_2 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + (s0 * 2)));
      TW_GLOBAL const float *const line0_m1_3 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + (s0 * 3)));
      TW_GLOBAL const float *const line0_0_4 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * 4)));
      TW_GLOBAL float *const out0_1_3 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + (s0 * 3)));
      const float v0_0_0_0 = line0_0_0[0];
      const float v0_m1_0_0 = line0_m1_0[0];
      const float v0_0_m1_0 = line0_0_m1[0];
      const float v0_0_1_0 = line0_0_1[0];
      const float v0_0_0_m1 = line0_0_0[(-1)];
      const float v0_0_0_1 = line0_0_0[1];
      const float v0_m1_1_0 = line0_m1_1[0];
      const float v0_0_2_0 = line0_0_2[0];
      const float v0_0_1_m1 = line0_0_1[(-1)];
      const float v0_0_1_1 = line0_0_1[1];
      const float v0_m1_2_0 = line0_m1_2[0];
      const float v0_0_3_0 = line0_0_3[0];
      const float v0_0_2_m1 = line0_0_2[(-1)];
      const float v0_0_2_1 = line0_0_2[1];
      const float v0_m1_3_0 = line0_m1_3[0];
      const float v0_0_4_0 = line0_0_4[0];
      const float v0_0_3_m1 = line0_0_3[(-1)];
      const float v0_0_3_1 = line0_0_3[1];
      const float t0_1 = v0_0_0_0;
      const float t0_2 = (2.0f * t0_1);
      const float t0_3 = v0_m1_0_0;
      const float t0_4 = (t0_2 - t0_3);
      const float t0_6 = v0_0_m1_0;
      const float t0_7 = v0_0_1_0;
      const float t0_8 = (t0_6 + t0_7);
      const float t0_9 = v0_0_0_m1;
      const float t0_10 = (t0_8 + t0_9);
      const float t0_11 = v0_0_0_1;
      const float t0_12 = (t0_10 + t0_11);
      const float t0_14 = (4.0f * t0_1);
      const float t0_15 = (t0_12 - t0_14);
      const float t0_16 = (0.1f * t0_15);
      const float t0_17 = (t0_4 + t0_16);
      const float new0 = t0_17;
      const float t1_1 = v0_0_1_0;
      const float t1_2 = (2.0f * t1_1);
      const float t1_3 = v0_m1_1_0;
      const float t1_4 = (t1_2 - t1_3);
      const float t1_6 = v0_0_0_0;
      const float t1_7 = v0_0_2_0;
      const float t1_8 = (t1_6 + t1_7);
      const float t1_9 = v0_0_1_m1;
      const float t1_10 = (t1_8 + t1_9);
      const float t1_11 = v0_0_1_1;
      const float t1_12 = (t1_10 + t1_11);
      const float t1_14 = (4.0f * t1_1);
      const float t1_15 = (t1_12 - t1_14);
      const float t1_16 = (0.1f * t1_15);
      const float t1_17 = (t1_4 + t1_16);
      const float new1 = t1_17;
      const float t2_1 = v0_0_2_0;
      const float t2_2 = (2.0f * t2_1);
      const float t2_3 = v0_m1_2_0;
      const float t2_4 = (t2_2 - t2_3);
      const float t2_6 = v0_0_1_0;
      const float t2_7 = v0_0_3_0;
      const float t2_8 = (t2_6 + t2_7);
      const float t2_9 = v0_0_2_m1;
      const float t2_10 = (t2_8 + t2_9);
      const float t2_11 = v0_0_2_1;
      const float t2_12 = (t2_10 + t2_11);
      const float t2_14 = (4.0f * t2_1);
      const float t2_15 = (t2_12 - t2_14);
      const float t2_16 = (0.1f * t2_15);
      const float t2_17 = (t2_4 + t2_16);
      const float new2 = t2_17;
      const float t3_1 = v0_0_3_0;
      const float t3_2 = (2.0f * t3_1);
      const float t3_3 = v0_m1_3_0;
      const float t3_4 = (t3_2 - t3_3);
      const float t3_6 = v0_0_2_0;
      const float t3_7 = v0_0_4_0;
      const float t3_8 = (t3_6 + t3_7);
      const float t3_9 = v0_0_3_m1;
      const float t3_10 = (t3_8 + t3_9);
      const float t3_11 = v0_0_3_1;
      const float t3_12 = (t3_10 + t3_11);
      const float t3_14 = (4.0f * t3_1);
      const float t3_15 = (t3_12 - t3_14);
      const float t3_16 = (0.1f * t3_15);
      const float t3_17 = (t3_4 + t3_16);
      const float new3 = t3_17;
      out0_1_0[0] = new0;
      out0_1_1[0] = new1;
      out0_1_2[0] = new2;
      out0_1_3[0] = new3;
    }
  } else {
    TW_UNROLL_BY(1)
    for (int row = x0; row < (x0 + 4); ++row) {
      if (((((row >= 1) & (row < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1)))) {
        {
          const tw_wide at = ((((tw_wide)row) * s0) + ((tw_wide)x1));
          const float t1 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)row) * s0) + ((tw_wide)x1))];
          const float t2 = (2.0f * t1);
          const float t3 = (f0 + (((tw_wide)((t + 1) % 2)) * slot))[((((tw_wide)row) * s0) + ((tw_wide)x1))];
          const float t4 = (t2 - t3);
          const float t6 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)(row - 1)) * s0) + ((tw_wide)x1))];
          const float t7 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)(row + 1)) * s0) + ((tw_wide)x1))];
          const float t8 = (t6 + t7);
          const float t9 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)row) * s0) + ((tw_wide)(x1 - 1)))];
          const float t10 = (t8 + t9);
          const float t11 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)row) * s0) + ((tw_wide)(x1 + 1)))];
          const float t12 = (t10 + t11);
          const float t14 = (4.0f * t1);
          const float t15 = (t12 - t14);
          const float t16 = (0.1f * t15);
          const float t17 = (t4 + t16);
          (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t17;
        }
      }
    }
  }
}
