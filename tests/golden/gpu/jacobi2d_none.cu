/* jacobi2d, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_jacobi2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int t) {
  const int i1 = (TW_THREAD % 64);
  const int i0 = (TW_THREAD / 64);
  const int g1 = (TW_GROUP % tw_ceildiv(n1, 64));
  const int g0 = (TW_GROUP / tw_ceildiv(n1, 64));
  const int x0 = ((g0 * 16) + (i0 * 4));
  const int x1 = ((g1 * 64) + i1);
  if (((((((g0 * 16) - 1) >= 0) & ((((g0 + 1) * 16) + 1) <= n0)) & (((g1 * 64) - 1) >= 0)) & ((((g1 + 1) * 64) + 1) <= n1))) {
    {
      const tw_wide at = ((((tw_wide)x0) * s0) + ((tw_wide)x1));
      TW_GLOBAL const float *const line0_0_m1 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * (-1))));
      TW_GLOBAL const float *const line0_0_0 = ((f0 + (((tw_wide)(t % 2)) * slot)) + at);
      TW_GLOBAL const float *const line0_0_1 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + s0));
      TW_GLOBAL float *const out0_1_0 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + at);
      TW_GLOBAL const float *const line0_0_2 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * 2)));
      TW_GLOBAL float *const out0_1_1 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + s0));
      TW_GLOBAL const float *const line0_0_3 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * 3)));
      TW_GLOBAL float *const out0_1_2 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + (s0 * 2)));
      TW_GLOBAL const float *const line0_0_4 = ((f0 + (((tw_wide)(t % 2)) * slot)) + (at + (s0 * 4)));
      TW_GLOBAL float *const out0_1_3 = ((f0 + (((tw_wide)((t + 1) % 2)) * slot)) + (at + (s0 * 3)));
      const float v0_0_m1_0 = line0_0_m1[0];
      const float v0_0_0_m1 = line0_0_0[(-1)];
      const float v0_0_0_0 = line0_0_0[0];
      const float v0_0_0_1 = line0_0_0[1];
      const float v0_0_1_0 = line0_0_1[0];
      const float v0_0_1_m1 = line0_0_1[(-1)];
      const float v0_0_1_1 = line0_0_1[1];
      const float v0_0_2_0 = line0_0_2[0];
      const float v0_0_2_m1 = line0_0_2[(-1)];
      const float v0_0_2_1 = line0_0_2[1];
      const float v0_0_3_0 = line0_0_3[0];
      const float v0_0_3_m1 = line0_0_3[(-1)];
      const float v0_0_3_1 = line0_0_3[1];
      const float v0_0_4_0 = line0_0_4[0];
      const float t0_0 = v0_0_m1_0;
      const float t0_1 = v0_0_0_m1;
      const float t0_2 = (t0_0 + t0_1);
      const float t0_3 = v0_0_0_0;
      const float t0_4 = (t0_2 + t0_3);
      const float t0_5 = v0_0_0_1;
      const float t0_6 = (t0_4 + t0_5);
      const float t0_7 = v0_0_1_0;
      const float t0_8 = (t0_6 + t0_7);
      const float t0_10 = (t0_8 * 0.2f);
      const float new0 = t0_10;
      const float t1_0 = v0_0_0_0;
      const float t1_1 = v0_0_1_m1;
      const float t1_2 = (t1_0 + t1_1);
      const float t1_3 = v0_0_1_0;
      const float t1_4 = (t1_2 + t1_3);
      const float t1_5 = v0_0_1_1;
      const float t1_6 = (t1_4 + t1_5);
      const float t1_7 = v0_0_2_0;
      const float t1_8 = (t1_6 + t1_7);
      const float t1_10 = (t1_8 * 0.2f);
      const float new1 = t1_10;
      const float t2_0 = v0_0_1_0;
      const float t2_1 = v0_0_2_m1;
      const float t2_2 = (t2_0 + t2_1);
      const float t2_3 = v0_0_2_0;
      const float t2_4 = (t2_2 + t2_3);
      const float t2_5 = v0_0_2_1;
      const float t2_6 = (t2_4 + t2_5);
      const float t2_7 = v0_0_3_0;
      const float t2_8 = (t2_6 + t2_7);
      const float t2_10 = (t2_8 * 0.2f);
      const float new2 = t2_10;
      const float t3_0 = v0_0_2_0;
      const float t3_1 = v0_0_3_m1;
      const float t3_2 = (t3_0 + t3_1);
      const float t3_3 = v0_0_3_0;
      const float t3_4 = (t3_2 + t3_3);
      const float t3_5 = v0_0_3_1;
      const float t3_6 = (t3_4 + t3_5);
      const float t3_7 = v0_0_4_0;
      const float t3_8 = (t3_6 + t3_7);
      const float t3_10 = (t3_8 * 0.2f);
      const float new3 = t3_10;
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
          const float t0 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)(row - 1)) * s0) + ((tw_wide)x1))];
          const float t1 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)row) * s0) + ((tw_wide)(x1 - 1)))];
          const float t2 = (t0 + t1);
          const float t3 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)row) * s0) + ((tw_wide)x1))];
          const float t4 = (t2 + t3);
          const float t5 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)row) * s0) + ((tw_wide)(x1 + 1)))];
          const float t6 = (t4 + t5);
          const float t7 = (f0 + (((tw_wide)(t % 2)) * slot))[((((tw_wide)(row + 1)) * s0) + ((tw_wide)x1))];
          const float t8 = (t6 + t7);
          const float t10 = (t8 * 0.2f);
          (f0 + (((tw_wide)((t + 1) % 2)) * slot))[at] = t10;
        }
      }
    }
  }
}
