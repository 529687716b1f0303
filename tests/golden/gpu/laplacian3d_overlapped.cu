/* laplacian3d, float32, boundary fixed, tiling overlapped:t=2,s=4x4x16
   starts as every text of its language does, see prelude/ */

TW_KERNEL(256) tw_laplacian3d_0(TW_GLOBAL float *f0, int n0, int n1, int n2, tw_wide s0, tw_wide s1, tw_wide slot, int begin, int levels, int tiles1, int tiles2) {
  TW_SHARED float chip[2560];
  /* overlapped tiles of 4x4x16 cells, bands of at most 2 steps */
  const int i2 = (TW_THREAD % 32);
  const int i1 = ((TW_THREAD / 32) % 4);
  const int i0 = ((TW_THREAD / 32) / 4);
  const int tile2 = (TW_GROUP % tiles2);
  const int tile1 = ((TW_GROUP / tiles2) % tiles1);
  const int tile0 = ((TW_GROUP / tiles2) / tiles1);
  const int low0 = (tile0 * 4);
  const int high0 = tw_min((low0 + 4), n0);
  const int low1 = (tile1 * 4);
  const int high1 = tw_min((low1 + 4), n1);
  const int low2 = (tile2 * 16);
  const int high2 = tw_min((low2 + 16), n2);
  const int origin0 = (low0 - 2);
  const int origin1 = (low1 - 2);
  const int origin2 = (low2 - 2);
  for (int x0 = (tw_max((low0 - levels), 0) + i0); x0 < tw_min((high0 + levels), n0); x0 += 2) {
    for (int x1 = (tw_max((low1 - levels), 0) + i1); x1 < tw_min((high1 + levels), n1); x1 += 4) {
      for (int x2 = (tw_max((low2 - levels), 0) + i2); x2 < tw_min((high2 + levels), n2); x2 += 32) {
        {
          const float value = (f0 + (((tw_wide)(begin % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)))];
          chip[((((((x0 - origin0) * 8) + (x1 - origin1)) * 20) + (x2 - origin2)) + ((0 % 2) * 1280))] = value;
          chip[((((((x0 - origin0) * 8) + (x1 - origin1)) * 20) + (x2 - origin2)) + ((1 % 2) * 1280))] = value;
        }
      }
    }
  }
  TW_BARRIER();
  TW_UNROLL_BY(1)
  for (int t = 0; t < levels; ++t) {
    const int left = ((levels - 1) - t);
    for (int x0 = (tw_max((low0 - left), 0) + i0); x0 < tw_min((high0 + left), n0); x0 += 2) {
      for (int x1 = (tw_max((low1 - left), 0) + i1); x1 < tw_min((high1 + left), n1); x1 += 4) {
        for (int x2 = (tw_max((low2 - left), 0) + i2); x2 < tw_min((high2 + left), n2); x2 += 32) {
          if (((((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1))) & (x2 >= 1)) & (x2 < (n2 - 1)))) {
            {
              const float t1 = chip[((((((x0 - origin0) * 8) + (x1 - origin1)) * 20) + (x2 - origin2)) + (((begin + t) % 2) * 1280))];
              const float t2 = (0.5f * t1);
              const float t4 = chip[(((((((x0 - 1) - origin0) * 8) + (x1 - origin1)) * 20) + (x2 - origin2)) + (((begin + t) % 2) * 1280))];
              const float t5 = chip[(((((((x0 + 1) - origin0) * 8) + (x1 - origin1)) * 20) + (x2 - origin2)) + (((begin + t) % 2) * 1280))];
              const float t6 = (t4 + t5);
              const float t7 = chip[((((((x0 - origin0) * 8) + ((x1 - 1) - origin1)) * 20) + (x2 - origin2)) + (((begin + t) % 2) * 1280))];
              const float t8 = (t6 + t7);
              const float t9 = chip[((((((x0 - origin0) * 8) + ((x1 + 1) - origin1)) * 20) + (x2 - origin2)) + (((begin + t) % 2) * 1280))];
              const float t10 = (t8 + t9);
              const float t11 = chip[((((((x0 - origin0) * 8) + (x1 - origin1)) * 20) + ((x2 - 1) - origin2)) + (((begin + t) % 2) * 1280))];
              const float t12 = (t10 + t11);
              const float t13 = chip[((((((x0 - origin0) * 8) + (x1 - origin1)) * 20) + ((x2 + 1) - origin2)) + (((begin + t) % 2) * 1280))];
              const float t14 = (t12 + t13);
              const float t15 = (0.083333336f * t14);
              const float t16 = (t2 + t15);
              chip[((((((x0 - origin0) * 8) + (x1 - origin1)) * 20) + (x2 - origin2)) + ((((begin + t) + 1) % 2) * 1280))] = t16;
            }
          }
        }
      }
    }
    TW_BARRIER();
  }
  for (int x0 = (tw_max(low0, 0) + i0); x0 < tw_min(high0, n0); x0 += 2) {
    for (int x1 = (tw_max(low1, 0) + i1); x1 < tw_min(high1, n1); x1 += 4) {
      for (int x2 = (tw_max(low2, 0) + i2); x2 < tw_min(high2, n2); x2 += 32) {
        (f0 + (((tw_wide)((begin + levels) % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)))] = chip[((((((x0 - origin0) * 8) + (x1 - origin1)) * 20) + (x2 - origin2)) + (((begin + levels) % 2) * 1280))];
      }
    }
  }
}
