/* laplacian3d, float32, boundary fixed, tiling streaming:t=1,s=4x8x16
   starts as every text of its language does, see prelude/ */

TW_KERNEL(320) tw_laplacian3d_0(TW_GLOBAL float *f0, int n0, int n1, int n2, tw_wide s0, tw_wide s1, tw_wide slot, int levels, int source, int target, int tiles1, int tiles2) {
  TW_SHARED float chip[720];
  /* streaming tiles, streaming:s=4x8x16,threads=1x10x32: 1 levels, rings of 4 */
  const int i2 = (TW_THREAD % 32);
  const int i1 = (TW_THREAD / 32);
  const int tile2 = (TW_GROUP % tiles2);
  const int tile1 = ((TW_GROUP / tiles2) % tiles1);
  const int tile0 = ((TW_GROUP / tiles2) / tiles1);
  const int low0 = (tile0 * 4);
  const int high0 = tw_min((low0 + 4), n0);
  const int low1 = (tile1 * 8);
  const int high1 = tw_min((low1 + 8), n1);
  const int origin1 = (low1 - 1);
  const int low2 = (tile2 * 16);
  const int high2 = tw_min((low2 + 16), n2);
  const int origin2 = (low2 - 1);
  const int begin = (tw_max((low0 - levels), 0) - 2);
  const int advances = ((tw_min(high0, n0) + ((levels - 1) * 2)) - begin);
  if ((levels == 1)) {
    const int place = ((i1 * 18) + i2);
    const int at1 = (origin1 + i1);
    const int at2 = (origin2 + i2);
    const int grid0_0 = ((((at1 >= 0) & (at1 < n1)) & (at2 >= 0)) & (at2 < n2));
    const int free0_0_0 = ((((at1 >= 1) & (at1 < (n1 - 1))) & (at2 >= 1)) & (at2 < (n2 - 1)));
    const tw_wide out0_0 = ((((tw_wide)at1) * s1) + ((tw_wide)at2));
    const int load0_0_from = ((tw_max((low0 - 1), 0) - 2) - begin);
    const int load0_0_to = ((tw_min((high0 + 1), n0) - 2) - begin);
    const int unit0_0_from = (tw_max(low0, 0) - begin);
    const int unit0_0_to = (tw_min(high0, n0) - begin);
    float ahead0_0[1];
    float own0_0_0_0[4];
    TW_UNROLL_BY(1)
    for (int k = 0; k < advances; k += 4) {
      {
        const int now = k;
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0_0 & (i2 < 18))) {
            ahead0_0[0] = line[out0_0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
            if ((free0_0_0 & open0)) {
              {
                const float t1 = own0_0_0_0[0];
                const float t2 = (0.5f * t1);
                const float t4 = own0_0_0_0[3];
                const float t5 = own0_0_0_0[1];
                const float t6 = (t4 + t5);
                const float t7 = chip[(place - 18)];
                const float t8 = (t6 + t7);
                const float t9 = chip[(place + 18)];
                const float t10 = (t8 + t9);
                const float t11 = chip[(place - 1)];
                const float t12 = (t10 + t11);
                const float t13 = chip[(place + 1)];
                const float t14 = (t12 + t13);
                const float t15 = (0.083333336f * t14);
                const float t16 = (t2 + t15);
                const float value = t16;
                if (((((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0_0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0_0 & (i2 < 18))) {
            chip[(place + 360)] = ahead0_0[0];
            own0_0_0_0[2] = ahead0_0[0];
          }
        }
        TW_BARRIER();
      }
      {
        const int now = (k + 1);
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0_0 & (i2 < 18))) {
            ahead0_0[0] = line[out0_0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
            if ((free0_0_0 & open0)) {
              {
                const float t1 = own0_0_0_0[1];
                const float t2 = (0.5f * t1);
                const float t4 = own0_0_0_0[0];
                const float t5 = own0_0_0_0[2];
                const float t6 = (t4 + t5);
                const float t7 = chip[(place + 162)];
                const float t8 = (t6 + t7);
                const float t9 = chip[(place + 198)];
                const float t10 = (t8 + t9);
                const float t11 = chip[(place + 179)];
                const float t12 = (t10 + t11);
                const float t13 = chip[(place + 181)];
                const float t14 = (t12 + t13);
                const float t15 = (0.083333336f * t14);
                const float t16 = (t2 + t15);
                const float value = t16;
                if (((((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0_0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0_0 & (i2 < 18))) {
            chip[(place + 540)] = ahead0_0[0];
            own0_0_0_0[3] = ahead0_0[0];
          }
        }
        TW_BARRIER();
      }
      {
        const int now = (k + 2);
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0_0 & (i2 < 18))) {
            ahead0_0[0] = line[out0_0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
            if ((free0_0_0 & open0)) {
              {
                const float t1 = own0_0_0_0[2];
                const float t2 = (0.5f * t1);
                const float t4 = own0_0_0_0[1];
                const float t5 = own0_0_0_0[3];
                const float t6 = (t4 + t5);
                const float t7 = chip[(place + 342)];
                const float t8 = (t6 + t7);
                const float t9 = chip[(place + 378)];
                const float t10 = (t8 + t9);
                const float t11 = chip[(place + 359)];
                const float t12 = (t10 + t11);
                const float t13 = chip[(place + 361)];
                const float t14 = (t12 + t13);
                const float t15 = (0.083333336f * t14);
                const float t16 = (t2 + t15);
                const float value = t16;
                if (((((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0_0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0_0 & (i2 < 18))) {
            chip[place] = ahead0_0[0];
            own0_0_0_0[0] = ahead0_0[0];
          }
        }
        TW_BARRIER();
      }
      {
        const int now = (k + 3);
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0_0 & (i2 < 18))) {
            ahead0_0[0] = line[out0_0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
            if ((free0_0_0 & open0)) {
              {
                const float t1 = own0_0_0_0[3];
                const float t2 = (0.5f * t1);
                const float t4 = own0_0_0_0[2];
                const float t5 = own0_0_0_0[0];
                const float t6 = (t4 + t5);
                const float t7 = chip[(place + 522)];
                const float t8 = (t6 + t7);
                const float t9 = chip[(place + 558)];
                const float t10 = (t8 + t9);
                const float t11 = chip[(place + 539)];
                const float t12 = (t10 + t11);
                const float t13 = chip[(place + 541)];
                const float t14 = (t12 + t13);
                const float t15 = (0.083333336f * t14);
                const float t16 = (t2 + t15);
                const float value = t16;
                if (((((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0_0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0_0 & (i2 < 18))) {
            chip[(place + 180)] = ahead0_0[0];
            own0_0_0_0[1] = ahead0_0[0];
          }
        }
        TW_BARRIER();
      }
    }
  } else {
    TW_UNROLL_BY(1)
    for (int k = 0; k < advances; ++k) {
      const int front = (begin + k);
      {
        const int x0 = (front + 2);
        if (((x0 >= tw_max((low0 - levels), 0)) & (x0 < tw_min((high0 + levels), n0)))) {
          for (int x1 = (tw_max(origin1, 0) + i1); x1 < tw_min((origin1 + 10), n1); x1 += 10) {
            for (int x2 = (tw_max(origin2, 0) + i2); x2 < tw_min((origin2 + 18), n2); x2 += 32) {
              chip[(((((((x0 - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + (x2 - origin2))] = (f0 + (((tw_wide)((source + 2) % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)))];
            }
          }
        }
      }
      TW_UNROLL_BY(1)
      for (int t = 0; t < levels; ++t) {
        {
          const int left = ((levels - 1) - t);
          const int x0 = (front - (t * 2));
          if (((x0 >= tw_max((low0 - left), 0)) & (x0 < tw_min((high0 + left), n0)))) {
            for (int x1 = (tw_max((low1 - left), 0) + i1); x1 < tw_min((high1 + left), n1); x1 += 10) {
              for (int x2 = (tw_max((low2 - left), 0) + i2); x2 < tw_min((high2 + left), n2); x2 += 32) {
                if (((((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1))) & (x2 >= 1)) & (x2 < (n2 - 1)))) {
                  {
                    const float t1 = chip[((t * 720) + (((((((x0 - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + (x2 - origin2)))];
                    const float t2 = (0.5f * t1);
                    const float t4 = chip[((t * 720) + ((((((((x0 - 1) - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + (x2 - origin2)))];
                    const float t5 = chip[((t * 720) + ((((((((x0 + 1) - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + (x2 - origin2)))];
                    const float t6 = (t4 + t5);
                    const float t7 = chip[((t * 720) + (((((((x0 - begin) + 8) % 4) * 10) + ((x1 - 1) - origin1)) * 18) + (x2 - origin2)))];
                    const float t8 = (t6 + t7);
                    const float t9 = chip[((t * 720) + (((((((x0 - begin) + 8) % 4) * 10) + ((x1 + 1) - origin1)) * 18) + (x2 - origin2)))];
                    const float t10 = (t8 + t9);
                    const float t11 = chip[((t * 720) + (((((((x0 - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + ((x2 - 1) - origin2)))];
                    const float t12 = (t10 + t11);
                    const float t13 = chip[((t * 720) + (((((((x0 - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + ((x2 + 1) - origin2)))];
                    const float t14 = (t12 + t13);
                    const float t15 = (0.083333336f * t14);
                    const float t16 = (t2 + t15);
                    const float value = t16;
                    if (((t + 1) < 1)) {
                      chip[(((t + 1) * 720) + (((((((x0 - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + (x2 - origin2)))] = value;
                    }
                    if (((((((((levels - (t + 1)) < 1) & (x0 >= low0)) & (x0 < high0)) & (x1 >= low1)) & (x1 < high1)) & (x2 >= low2)) & (x2 < high2))) {
                      (f0 + (((tw_wide)(((target - (levels - (t + 1))) + 2) % 2)) * slot))[((((tw_wide)x1) * s1) + ((((tw_wide)x0) * s0) + ((tw_wide)x2)))] = value;
                    }
                  }
                } else {
                  if (((t + 1) < 1)) {
                    chip[(((t + 1) * 720) + (((((((x0 - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + (x2 - origin2)))] = chip[((t * 720) + (((((((x0 - begin) + 8) % 4) * 10) + (x1 - origin1)) * 18) + (x2 - origin2)))];
                  }
                }
              }
            }
          }
        }
      }
      TW_BARRIER();
    }
  }
}
