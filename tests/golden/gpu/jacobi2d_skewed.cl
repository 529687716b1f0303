/* jacobi2d, float32, boundary fixed, tiling skewed:t=2,s=8x8
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_jacobi2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int first_band, int lag, int tiles0, int tiles1, int total, int wave) {
  /* parallelograms of 2 rows, 8x8 cells */
  const int i1 = (TW_THREAD % 64);
  const int i0 = (TW_THREAD / 64);
  const int tile1 = (TW_GROUP % tiles1);
  const int place_band = (TW_GROUP / tiles1);
  const int band = (first_band + place_band);
  const int tile0 = ((wave - (band * lag)) - tile1);
  if (((tile0 >= 0) & (tile0 < tiles0))) {
    const int start = (band * 2);
    TW_UNROLL_BY(1)
    for (int tau = start; tau < tw_min((start + 2), total); ++tau) {
      const int row = (tau - start);
      const int from0 = ((tile0 * 8) - row);
      const int from1 = ((tile1 * 8) - row);
      for (int x0 = (tw_max(from0, 0) + i0); x0 < tw_min((from0 + 8), n0); x0 += 4) {
        for (int x1 = (tw_max(from1, 0) + i1); x1 < tw_min((from1 + 8), n1); x1 += 64) {
          if (((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1)))) {
            {
              const tw_wide at = ((((tw_wide)x0) * s0) + ((tw_wide)x1));
              const float t0 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)(x0 - 1)) * s0) + ((tw_wide)x1))];
              const float t1 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x0) * s0) + ((tw_wide)(x1 - 1)))];
              const float t2 = (t0 + t1);
              const float t3 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x0) * s0) + ((tw_wide)x1))];
              const float t4 = (t2 + t3);
              const float t5 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)x0) * s0) + ((tw_wide)(x1 + 1)))];
              const float t6 = (t4 + t5);
              const float t7 = (f0 + (((tw_wide)(tau % 2)) * slot))[((((tw_wide)(x0 + 1)) * s0) + ((tw_wide)x1))];
              const float t8 = (t6 + t7);
              const float t10 = (t8 * 0.2f);
              (f0 + (((tw_wide)((tau + 1) % 2)) * slot))[at] = t10;
            }
          }
        }
      }
      TW_BARRIER_MEMORY();
    }
  }
}
