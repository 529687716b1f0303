/* jacobi1d, float32, boundary fixed, tiling overlapped:t=2,s=8
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_jacobi1d_0(TW_GLOBAL float *f0, int n0, tw_wide slot, int begin, int levels) {
  TW_SHARED float chip[24];
  /* overlapped tiles of 8 cells, bands of at most 2 steps */
  const int i0 = TW_THREAD;
  const int tile0 = TW_GROUP;
  const int low0 = (tile0 * 8);
  const int high0 = tw_min((low0 + 8), n0);
  const int origin0 = (low0 - 2);
  for (int x0 = (tw_max((low0 - levels), 0) + i0); x0 < tw_min((high0 + levels), n0); x0 += 256) {
    {
      const float value = (f0 + (((tw_wide)(begin % 2)) * slot))[((tw_wide)x0)];
      chip[((x0 - origin0) + ((0 % 2) * 12))] = value;
      chip[((x0 - origin0) + ((1 % 2) * 12))] = value;
    }
  }
  TW_BARRIER();
  TW_UNROLL_BY(1)
  for (int t = 0; t < levels; ++t) {
    const int left = ((levels - 1) - t);
    for (int x0 = (tw_max((low0 - left), 0) + i0); x0 < tw_min((high0 + left), n0); x0 += 256) {
      if (((x0 >= 1) & (x0 < (n0 - 1)))) {
        {
          const float t0 = chip[(((x0 - 1) - origin0) + (((begin + t) % 2) * 12))];
          const float t1 = chip[((x0 - origin0) + (((begin + t) % 2) * 12))];
          const float t2 = (t0 + t1);
          const float t3 = chip[(((x0 + 1) - origin0) + (((begin + t) % 2) * 12))];
          const float t4 = (t2 + t3);
          const float t6 = (t4 * 0.33333334f);
          chip[((x0 - origin0) + ((((begin + t) + 1) % 2) * 12))] = t6;
        }
      }
    }
    TW_BARRIER();
  }
  for (int x0 = (tw_max(low0, 0) + i0); x0 < tw_min(high0, n0); x0 += 256) {
    (f0 + (((tw_wide)((begin + levels) % 2)) * slot))[((tw_wide)x0)] = chip[((x0 - origin0) + (((begin + levels) % 2) * 12))];
  }
}
