/* jacobi1d, float32, boundary fixed, tiling skewed:t=2,s=8
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_jacobi1d_0(TW_GLOBAL float *f0, int n0, tw_wide slot, int first_band, int lag, int tiles0, int total, int wave) {
  /* parallelograms of 2 rows, 8 cells */
  const int i0 = TW_THREAD;
  const int place_band = TW_GROUP;
  const int band = (first_band + place_band);
  const int tile0 = (wave - (band * lag));
  if (((tile0 >= 0) & (tile0 < tiles0))) {
    const int start = (band * 2);
    TW_UNROLL_BY(1)
    for (int tau = start; tau < tw_min((start + 2), total); ++tau) {
      const int row = (tau - start);
      const int from0 = ((tile0 * 8) - row);
      for (int x0 = (tw_max(from0, 0) + i0); x0 < tw_min((from0 + 8), n0); x0 += 256) {
        if (((x0 >= 1) & (x0 < (n0 - 1)))) {
          {
            const tw_wide at = ((tw_wide)x0);
            const float t0 = (f0 + (((tw_wide)(tau % 2)) * slot))[((tw_wide)(x0 - 1))];
            const float t1 = (f0 + (((tw_wide)(tau % 2)) * slot))[((tw_wide)x0)];
            const float t2 = (t0 + t1);
            const float t3 = (f0 + (((tw_wide)(tau % 2)) * slot))[((tw_wide)(x0 + 1))];
            const float t4 = (t2 + t3);
            const float t6 = (t4 * 0.33333334f);
            (f0 + (((tw_wide)((tau + 1) % 2)) * slot))[at] = t6;
          }
        }
      }
      TW_BARRIER_MEMORY();
    }
  }
}
