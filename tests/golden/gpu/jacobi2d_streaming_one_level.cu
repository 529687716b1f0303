/* jacobi2d, float32, boundary fixed, tiling streaming:t=1,s=8x16
   starts as every text of its language does, see prelude/ */

TW_KERNEL(32) tw_jacobi2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int levels, int source, int target, int tiles1) {
  TW_SHARED float chip[72];
  /* streaming tiles, streaming:s=8x16,threads=1x32: 1 levels, rings of 4 */
  const int i1 = TW_THREAD;
  const int tile1 = (TW_GROUP % tiles1);
  const int tile0 = (TW_GROUP / tiles1);
  const int low0 = (tile0 * 8);
  const int high0 = tw_min((low0 + 8), n0);
  const int low1 = (tile1 * 16);
  const int high1 = tw_min((low1 + 16), n1);
  const int origin1 = (low1 - 1);
  const int begin = (tw_max((low0 - levels), 0) - 2);
  const int advances = ((tw_min(high0, n0) + ((levels - 1) * 2)) - begin);
  if ((levels == 1)) {
    const int place = i1;
    const int at1 = (origin1 + i1);
    const int grid0 = ((at1 >= 0) & (at1 < n1));
    const int free0_0 = ((at1 >= 1) & (at1 < (n1 - 1)));
    const tw_wide out0 = ((tw_wide)at1);
    const int load0_0_from = ((tw_max((low0 - 1), 0) - 2) - begin);
    const int load0_0_to = ((tw_min((high0 + 1), n0) - 2) - begin);
    const int unit0_0_from = (tw_max(low0, 0) - begin);
    const int unit0_0_to = (tw_min(high0, n0) - begin);
    float ahead0_0[1];
    float own0_0_0[4];
    TW_UNROLL_BY(1)
    for (int k = 0; k < advances; k += 4) {
      {
        const int now = k;
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0 & (i1 < 18))) {
            ahead0_0[0] = line[out0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((i1 >= 1) & (i1 < 17))) {
            if ((free0_0 & open0)) {
              {
                const float t0 = own0_0_0[3];
                const float t1 = chip[(place - 1)];
                const float t2 = (t0 + t1);
                const float t3 = own0_0_0[0];
                const float t4 = (t2 + t3);
                const float t5 = chip[(place + 1)];
                const float t6 = (t4 + t5);
                const float t7 = own0_0_0[1];
                const float t8 = (t6 + t7);
                const float t10 = (t8 * 0.2f);
                const float value = t10;
                if (((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0 & (i1 < 18))) {
            chip[(place + 36)] = ahead0_0[0];
            own0_0_0[2] = ahead0_0[0];
          }
        }
        TW_BARRIER();
      }
      {
        const int now = (k + 1);
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0 & (i1 < 18))) {
            ahead0_0[0] = line[out0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((i1 >= 1) & (i1 < 17))) {
            if ((free0_0 & open0)) {
              {
                const float t0 = own0_0_0[0];
                const float t1 = chip[(place + 17)];
                const float t2 = (t0 + t1);
                const float t3 = own0_0_0[1];
                const float t4 = (t2 + t3);
                const float t5 = chip[(place + 19)];
                const float t6 = (t4 + t5);
                const float t7 = own0_0_0[2];
                const float t8 = (t6 + t7);
                const float t10 = (t8 * 0.2f);
                const float value = t10;
                if (((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0 & (i1 < 18))) {
            chip[(place + 54)] = ahead0_0[0];
            own0_0_0[3] = ahead0_0[0];
          }
        }
        TW_BARRIER();
      }
      {
        const int now = (k + 2);
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0 & (i1 < 18))) {
            ahead0_0[0] = line[out0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((i1 >= 1) & (i1 < 17))) {
            if ((free0_0 & open0)) {
              {
                const float t0 = own0_0_0[1];
                const float t1 = chip[(place + 35)];
                const float t2 = (t0 + t1);
                const float t3 = own0_0_0[2];
                const float t4 = (t2 + t3);
                const float t5 = chip[(place + 37)];
                const float t6 = (t4 + t5);
                const float t7 = own0_0_0[3];
                const float t8 = (t6 + t7);
                const float t10 = (t8 * 0.2f);
                const float value = t10;
                if (((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0 & (i1 < 18))) {
            chip[place] = ahead0_0[0];
            own0_0_0[0] = ahead0_0[0];
          }
        }
        TW_BARRIER();
      }
      {
        const int now = (k + 3);
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)((begin + now) + 2)) * s0));
          if ((grid0 & (i1 < 18))) {
            ahead0_0[0] = line[out0];
          }
        }
        if (((now >= unit0_0_from) & (now < unit0_0_to))) {
          const int row = (begin + now);
          const int open0 = ((row >= 1) & (row < (n0 - 1)));
          if (((i1 >= 1) & (i1 < 17))) {
            if ((free0_0 & open0)) {
              {
                const float t0 = own0_0_0[2];
                const float t1 = chip[(place + 53)];
                const float t2 = (t0 + t1);
                const float t3 = own0_0_0[3];
                const float t4 = (t2 + t3);
                const float t5 = chip[(place + 55)];
                const float t6 = (t4 + t5);
                const float t7 = own0_0_0[0];
                const float t8 = (t6 + t7);
                const float t10 = (t8 * 0.2f);
                const float value = t10;
                if (((((row >= low0) & (row < high0)) & (i1 >= 1)) & (i1 < 17))) {
                  ((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)row) * s0))[out0] = value;
                }
              }
            }
          }
        }
        if (((now >= load0_0_from) & (now < load0_0_to))) {
          if ((grid0 & (i1 < 18))) {
            chip[(place + 18)] = ahead0_0[0];
            own0_0_0[1] = ahead0_0[0];
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
          for (int x1 = (tw_max(origin1, 0) + i1); x1 < tw_min((origin1 + 18), n1); x1 += 32) {
            chip[(((((x0 - begin) + 8) % 4) * 18) + (x1 - origin1))] = (f0 + (((tw_wide)((source + 2) % 2)) * slot))[((((tw_wide)x0) * s0) + ((tw_wide)x1))];
          }
        }
      }
      TW_UNROLL_BY(1)
      for (int t = 0; t < levels; ++t) {
        {
          const int left = ((levels - 1) - t);
          const int x0 = (front - (t * 2));
          if (((x0 >= tw_max((low0 - left), 0)) & (x0 < tw_min((high0 + left), n0)))) {
            for (int x1 = (tw_max((low1 - left), 0) + i1); x1 < tw_min((high1 + left), n1); x1 += 32) {
              if (((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1)))) {
                {
                  const float t0 = chip[((t * 72) + ((((((x0 - 1) - begin) + 8) % 4) * 18) + (x1 - origin1)))];
                  const float t1 = chip[((t * 72) + (((((x0 - begin) + 8) % 4) * 18) + ((x1 - 1) - origin1)))];
                  const float t2 = (t0 + t1);
                  const float t3 = chip[((t * 72) + (((((x0 - begin) + 8) % 4) * 18) + (x1 - origin1)))];
                  const float t4 = (t2 + t3);
                  const float t5 = chip[((t * 72) + (((((x0 - begin) + 8) % 4) * 18) + ((x1 + 1) - origin1)))];
                  const float t6 = (t4 + t5);
                  const float t7 = chip[((t * 72) + ((((((x0 + 1) - begin) + 8) % 4) * 18) + (x1 - origin1)))];
                  const float t8 = (t6 + t7);
                  const float t10 = (t8 * 0.2f);
                  const float value = t10;
                  if (((t + 1) < 1)) {
                    chip[(((t + 1) * 72) + (((((x0 - begin) + 8) % 4) * 18) + (x1 - origin1)))] = value;
                  }
                  if (((((((levels - (t + 1)) < 1) & (x0 >= low0)) & (x0 < high0)) & (x1 >= low1)) & (x1 < high1))) {
                    (f0 + (((tw_wide)(((target - (levels - (t + 1))) + 2) % 2)) * slot))[((((tw_wide)x0) * s0) + ((tw_wide)x1))] = value;
                  }
                }
              } else {
                if (((t + 1) < 1)) {
                  chip[(((t + 1) * 72) + (((((x0 - begin) + 8) % 4) * 18) + (x1 - origin1)))] = chip[((t * 72) + (((((x0 - begin) + 8) % 4) * 18) + (x1 - origin1)))];
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
