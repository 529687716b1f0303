/* jacobi1d, float32, boundary reflect, tiling hexagonal:t=2,s=4
   starts as every text of its language does, see prelude/ */

TW_KERNEL(32) tw_jacobi1d_0(TW_GLOBAL float *f0, int n0, tw_wide slot, int colour, int start, int total) {
  TW_SHARED float chip[12];
  /* hexagons of 2 rows, base 4, slope 1, pitch 8, hexagonal:t=2,s=4 */
  const int i0 = TW_THREAD;
  const int left = ((TW_GROUP * 8) + (colour * 4));
  const int row0 = (tw_max(start, 0) - start);
  const int row1 = (tw_min((start + 2), total) - start);
  const int turn2 = tw_floormod(start, 2);
  const int whole = ((((row0 == 0) & (row1 == 2)) & ((left - 1) >= 0)) & ((left + 5) <= n0));
  const int fresh = 0;
  if (whole) {
    {
      TW_LOCAL float *const to = chip;
      TW_UNROLL_BY(4)
      for (int x_first = (-1); x_first < 5; x_first += 32) {
        const int x = (x_first + i0);
        if ((x < 5)) {
          to[(x + 1)] = (f0 + (((tw_wide)(turn2 % 2)) * slot))[(left + x)];
        }
      }
    }
    {
      TW_LOCAL float *const to = (chip + 6);
      TW_UNROLL_BY(4)
      for (int x_first = (-1); x_first < 0; x_first += 32) {
        const int x = (x_first + i0);
        if ((x < 0)) {
          to[(x + 1)] = (f0 + (((tw_wide)((turn2 + 1) % 2)) * slot))[(left + x)];
        }
      }
    }
    {
      TW_LOCAL float *const to = (chip + 6);
      TW_UNROLL_BY(4)
      for (int x_first = 4; x_first < 5; x_first += 32) {
        const int x = (x_first + i0);
        if ((x < 5)) {
          to[(x + 1)] = (f0 + (((tw_wide)((turn2 + 1) % 2)) * slot))[(left + x)];
        }
      }
    }
    TW_BARRIER_MEMORY();
    TW_UNROLL_BY(1)
    for (int row = 0; row < 2; ++row) {
      const int grow = tw_min(row, (1 - row));
      const int step = row;
      {
        TW_LOCAL float *const u0 = (chip + ((step % 2) * 6));
        TW_LOCAL float *const u0_new = (chip + (((step + 1) % 2) * 6));
        const int low = (0 - grow);
        const int high = (grow + 4);
        TW_UNROLL_BY(1)
        for (int x = (i0 + low); x < high; x += 32) {
          const float r0 = u0[((x - 1) + 1)];
          const float r1 = u0[(x + 1)];
          const float r2 = u0[((x + 1) + 1)];
          const float t0 = r0;
          const float t1 = r1;
          const float t2 = (t0 + t1);
          const float t3 = r2;
          const float t4 = (t2 + t3);
          const float t6 = (t4 * 0.33333334f);
          u0_new[(x + 1)] = t6;
        }
        const int all = ((row + 2) >= 2);
        const int later = tw_min((row + 2), (1 - (row + 2)));
        const int kept0 = (all ? high : tw_min(high, tw_max(low, (0 - later))));
        const int kept1 = (all ? high : tw_min(high, tw_max(low, (later + 4))));
        TW_GLOBAL float *const out = ((f0 + (((tw_wide)((turn2 + ((step + 1) % 2)) % 2)) * slot)) + ((tw_wide)left));
        TW_UNROLL_BY(1)
        for (int x = (i0 + low); x < high; x += 32) {
          if (((x < kept0) | (x >= kept1))) {
            out[x] = u0_new[(x + 1)];
          }
        }
      }
      TW_BARRIER();
    }
  } else {
    {
      TW_LOCAL float *const to = chip;
      TW_UNROLL_BY(1)
      for (int x = (i0 + tw_max((-1), (0 - left))); x < tw_min(5, (n0 - left)); x += 32) {
        to[(x + 1)] = (f0 + (((tw_wide)(turn2 % 2)) * slot))[(left + x)];
      }
    }
    {
      TW_LOCAL float *const to = (chip + 6);
      TW_UNROLL_BY(1)
      for (int x = (i0 + tw_max((-1), (0 - left))); x < tw_min(5, (n0 - left)); x += 32) {
        to[(x + 1)] = (f0 + (((tw_wide)((turn2 + 1) % 2)) * slot))[(left + x)];
      }
    }
    TW_BARRIER_MEMORY();
    TW_UNROLL_BY(1)
    for (int row = row0; row < row1; ++row) {
      const int grow = tw_min(row, (1 - row));
      const int step = row;
      {
        TW_LOCAL float *const u0 = (chip + ((step % 2) * 6));
        TW_LOCAL float *const u0_new = (chip + (((step + 1) % 2) * 6));
        TW_UNROLL_BY(1)
        for (int x = (i0 - grow); x < (grow + 4); x += 32) {
          const int x0 = (left + x);
          if (((x0 >= 0) & (x0 < n0))) {
            const float t0 = u0[(((((x0 - 1) >= n0) ? tw_min(tw_floormod((x0 - 1), (n0 * 2)), (((n0 * 2) - 1) - tw_floormod((x0 - 1), (n0 * 2)))) : (((x0 - 1) < 0) ? tw_min(tw_floormod((x0 - 1), (n0 * 2)), (((n0 * 2) - 1) - tw_floormod((x0 - 1), (n0 * 2)))) : (x0 - 1))) - left) + 1)];
            const float t1 = u0[((x0 - left) + 1)];
            const float t2 = (t0 + t1);
            const float t3 = u0[(((((x0 + 1) >= n0) ? tw_min(tw_floormod((x0 + 1), (n0 * 2)), (((n0 * 2) - 1) - tw_floormod((x0 + 1), (n0 * 2)))) : (((x0 + 1) < 0) ? tw_min(tw_floormod((x0 + 1), (n0 * 2)), (((n0 * 2) - 1) - tw_floormod((x0 + 1), (n0 * 2)))) : (x0 + 1))) - left) + 1)];
            const float t4 = (t2 + t3);
            const float t6 = (t4 * 0.33333334f);
            const float v = t6;
            u0_new[(x + 1)] = v;
            if ((((row + 2) >= row1) | ((x < (0 - tw_min((row + 2), (1 - (row + 2))))) | (x >= (tw_min((row + 2), (1 - (row + 2))) + 4))))) {
              (f0 + (((tw_wide)((turn2 + ((step + 1) % 2)) % 2)) * slot))[x0] = v;
            }
          }
        }
      }
      TW_BARRIER();
    }
  }
}
