/* jacobi2d, float32, boundary fixed, tiling overlapped:t=2,s=8x8
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_jacobi2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int begin, int levels, int tiles1) {
  TW_SHARED float chip[288];
  /* overlapped tiles of 8x8 cells, bands of at most 2 steps */
  const int i1 = (TW_THREAD % 64);
  const int i0 = (TW_THREAD / 64);
  const int tile1 = (TW_GROUP % tiles1);
  const int tile0 = (TW_GROUP / tiles1);
  const int low0 = (tile0 * 8);
  const int high0 = tw_min((low0 + 8), n0);
  const int low1 = (tile1 * 8);
  const int high1 = tw_min((low1 + 8), n1);
  const int origin0 = (low0 - 2);
  const int origin1 = (low1 - 2);
  for (int x0 = (tw_max((low0 - levels), 0) + i0); x0 < tw_min((high0 + levels), n0); x0 += 4) {
    for (int x1 = (tw_max((low1 - levels), 0) + i1); x1 < tw_min((high1 + levels), n1); x1 += 64) {
      {
        const float value = (f0 + (((tw_wide)(begin % 2)) * slot))[((((tw_wide)x0) * s0) + ((tw_wide)x1))];
        chip[((((x0 - origin0) * 12) + (x1 - origin1)) + ((0 % 2) * 144))] = value;
        chip[((((x0 - origin0) * 12) + (x1 - origin1)) + ((1 % 2) * 144))] = value;
      }
    }
  }
  TW_BARRIER();
  TW_UNROLL_BY(1)
  for (int t = 0; t < levels; ++t) {
    const int left = ((levels - 1) - t);
    for (int x0 = (tw_max((low0 - left), 0) + i0); x0 < tw_min((high0 + left), n0); x0 += 4) {
      for (int x1 = (tw_max((low1 - left), 0) + i1); x1 < tw_min((high1 + left), n1); x1 += 64) {
        if (((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1)))) {
          {
            const float t0 = chip[(((((x0 - 1) - origin0) * 12) + (x1 - origin1)) + (((begin + t) % 2) * 144))];
            const float t1 = chip[((((x0 - origin0) * 12) + ((x1 - 1) - origin1)) + (((begin + t) % 2) * 144))];
            const float t2 = (t0 + t1);
            const float t3 = chip[((((x0 - origin0) * 12) + (x1 - origin1)) + (((begin + t) % 2) * 144))];
            const float t4 = (t2 + t3);
            const float t5 = chip[((((x0 - origin0) * 12) + ((x1 + 1) - origin1)) + (((begin + t) % 2) * 144))];
            const float t6 = (t4 + t5);
            const float t7 = chip[(((((x0 + 1) - origin0) * 12) + (x1 - origin1)) + (((begin + t) % 2) * 144))];
            const float t8 = (t6 + t7);
            const float t10 = (t8 * 0.2f);
            chip[((((x0 - origin0) * 12) + (x1 - origin1)) + ((((begin + t) + 1) % 2) * 144))] = t10;
          }
        }
      }
    }
    TW_BARRIER();
  }
  for (int x0 = (tw_max(low0, 0) + i0); x0 < tw_min(high0, n0); x0 += 4) {
    for (int x1 = (tw_max(low1, 0) + i1); x1 < tw_min(high1, n1); x1 += 64) {
      (f0 + (((tw_wide)((begin + levels) % 2)) * slot))[((((tw_wide)x0) * s0) + ((tw_wide)x1))] = chip[((((x0 - origin0) * 12) + (x1 - origin1)) + (((begin + levels) % 2) * 144))];
    }
  }
}
