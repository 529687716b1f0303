/* laplacian3d, float32, boundary fixed, tiling skewed:t=2,s=8x8x8
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_laplacian3d_0(TW_GLOBAL float *f0, int n0, int n1, int n2, tw_wide s0, tw_wide s1, tw_wide slot, int first_band, int lag, int tiles0, int tiles1, int tiles2, int total, int wave) {
  /* parallelograms of 2 rows, 8x8x8 cells */
  const int i2 = (TW_THREAD % 32);
  const int i1 = ((TW_THREAD / 32) % 4);
  const int i0 = ((TW_THREAD / 32) / 4);
  const int tile2 = (TW_GROUP % tiles2);
  const int tile1 = ((TW_GROUP / tiles2) % tiles1);
  const int place_band = ((TW_GROUP / tiles2) / tiles1);
  const int band = (first_band + place_band);
  const int tile0 = (((wave - (band * lag)) - tile1) - tile2);
  if (((tile0 >= 0) & (tile0 < tiles0))) {
    const int start = (band * 2);
    TW_UNROLL_BY(1)
    for (int tau = start; tau < tw_min((start + 2), total); ++tau) {
      const int row = (tau - start);
      const int from0 = ((tile0 * 8) - row);
      const int from1 = ((tile1 * 8) - row);
      const int from2 = ((tile2 * 8) - row);
      for (int x0 = (tw_max(from0, 0) + i0); x0 < tw_min((from0 + 8), n0); x0 += 2) {
        for (int x1 = (tw_max(from1, 0) + i1); x1 < tw_min((from1 + 8), n1); x1 += 4) {
          for (int x2 = (tw_max(from2, 0) + i2); x2 < tw_min((from2 + 8), n2); x2 += 32) {
            if (((((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1))) & (x2 >= 1)) & (x2 < (n2 - 1)))) {
              {
                const tw_wide at = ((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)));
                const float t1 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)))];
                const float t2 = (0.5f * t1);
                const float t4 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)(x0 - 1)) * s0) + ((tw_wide)x2)))];
                const float t5 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)(x0 + 1)) * s0) + ((tw_wide)x2)))];
                const float t6 = (t4 + t5);
                const float t7 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)(x1 - 1)) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)))];
                const float t8 = (t6 + t7);
                const float t9 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)(x1 + 1)) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)))];
                const float t10 = (t8 + t9);
                const float t11 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)(x2 - 1))))];
                const float t12 = (t10 + t11);
                const float t13 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)(x2 + 1))))];
                const float t14 = (t12 + t13);
                const float t15 = (0.083333336f * t14);
                const float t16 = (t2 + t15);
                (f0 + (((tw_wide)((tau + 1) % 2)) * slot))[at] = t16;
              }
            }
          }
        }
      }
      TW_BARRIER_MEMORY();
    }
  }
}
