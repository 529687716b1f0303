/* jacobi2d, float32, boundary fixed, tiling hybrid:t=2,s=4x8
   starts as every text of its language does, see prelude/ */

TW_KERNEL(128) tw_jacobi2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int colour, int start, int total) {
  TW_SHARED float chip[132];
  /* hexagons of 2 rows, base 4, slope 1, pitch 8, hybrid:t=2,s=4x8 */
  const int i1 = (TW_THREAD % 32);
  const int i0 = (TW_THREAD / 32);
  const int left = ((TW_GROUP * 8) + (colour * 4));
  const int row0 = (tw_max(start, 0) - start);
  const int row1 = (tw_min((start + 2), total) - start);
  const int turn2 = tw_floormod(start, 2);
  const int whole = ((((row0 == 0) & (row1 == 2)) & ((left - 1) >= 0)) & ((left + 5) <= n0));
  TW_UNROLL_BY(1)
  for (int classic1 = 0; classic1 < tw_ceildiv((n1 + 1), 8); ++classic1) {
    const int z1 = (classic1 * 8);
    const int fresh = ((classic1 > 0) ? 3 : 0);
    const int ring = (z1 % 11);
    if ((((whole & (((z1 - 1) - 1) >= 0)) & (((z1 + 8) + 2) <= n1)) & (classic1 > 0))) {
      {
        TW_LOCAL float *const to = chip;
        TW_UNROLL_BY(4)
        for (int x_first = (-1); x_first < 5; x_first += 4) {
          const int x = (x_first + i0);
          if ((x < 5)) {
            TW_GLOBAL const float *const line = ((f0 + (((tw_wide)(turn2 % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
            TW_UNROLL_BY(1)
            for (int q1_first = 3; q1_first < 11; q1_first += 32) {
              const int q1 = (q1_first + i1);
              if ((q1 < 11)) {
                to[(((x + 1) * 11) + (((q1 + ring) >= 11) ? ((q1 + ring) - 11) : (q1 + ring)))] = line[((z1 - 2) + q1)];
              }
            }
          }
        }
      }
      {
        TW_LOCAL float *const to = (chip + 66);
        TW_UNROLL_BY(4)
        for (int x_first = (-1); x_first < 0; x_first += 4) {
          const int x = (x_first + i0);
          if ((x < 0)) {
            TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((turn2 + 1) % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
            TW_UNROLL_BY(1)
            for (int q1_first = 3; q1_first < 11; q1_first += 32) {
              const int q1 = (q1_first + i1);
              if ((q1 < 11)) {
                to[(((x + 1) * 11) + (((q1 + ring) >= 11) ? ((q1 + ring) - 11) : (q1 + ring)))] = line[((z1 - 2) + q1)];
              }
            }
          }
        }
      }
      {
        TW_LOCAL float *const to = (chip + 66);
        TW_UNROLL_BY(4)
        for (int x_first = 4; x_first < 5; x_first += 4) {
          const int x = (x_first + i0);
          if ((x < 5)) {
            TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((turn2 + 1) % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
            TW_UNROLL_BY(1)
            for (int q1_first = 3; q1_first < 11; q1_first += 32) {
              const int q1 = (q1_first + i1);
              if ((q1 < 11)) {
                to[(((x + 1) * 11) + (((q1 + ring) >= 11) ? ((q1 + ring) - 11) : (q1 + ring)))] = line[((z1 - 2) + q1)];
              }
            }
          }
        }
      }
      TW_BARRIER_MEMORY();
      TW_UNROLL_BY(1)
      for (int row = 0; row < 2; ++row) {
        const int grow = tw_min(row, (1 - row));
        const int step = row;
        {
          TW_LOCAL float *const u0 = (chip + ((step % 2) * 66));
          TW_LOCAL float *const u0_new = (chip + (((step + 1) % 2) * 66));
          const int low = (0 - grow);
          const int high = (grow + 4);
          TW_UNROLL_BY(1)
          for (int y1_first = 0; y1_first < 8; y1_first += 32) {
            const int y1 = (y1_first + i1);
            if ((y1 < 8)) {
              const int own = ((y1 - row) + 2);
              const int cm1 = ((((own - 1) + ring) >= 11) ? (((own - 1) + ring) - 11) : ((own - 1) + ring));
              const int cp0 = (((own + ring) >= 11) ? ((own + ring) - 11) : (own + ring));
              const int cp1 = ((((own + 1) + ring) >= 11) ? (((own + 1) + ring) - 11) : ((own + 1) + ring));
              TW_UNROLL_BY(1)
              for (int x = (i0 + low); x < high; x += 4) {
                const float r0 = u0[((((x - 1) + 1) * 11) + cp0)];
                const float r1 = u0[(((x + 1) * 11) + cm1)];
                const float r2 = u0[(((x + 1) * 11) + cp0)];
                const float r3 = u0[(((x + 1) * 11) + cp1)];
                const float r4 = u0[((((x + 1) + 1) * 11) + cp0)];
                const float t0 = r0;
                const float t1 = r1;
                const float t2 = (t0 + t1);
                const float t3 = r2;
                const float t4 = (t2 + t3);
                const float t5 = r3;
                const float t6 = (t4 + t5);
                const float t7 = r4;
                const float t8 = (t6 + t7);
                const float t10 = (t8 * 0.2f);
                u0_new[(((x + 1) * 11) + cp0)] = t10;
              }
              const int all = ((row + 2) >= 2);
              const int later = tw_min((row + 2), (1 - (row + 2)));
              const int kept0 = (all ? high : tw_min(high, tw_max(low, (0 - later))));
              const int kept1 = (all ? high : tw_min(high, tw_max(low, (later + 4))));
              TW_GLOBAL float *const out = (((f0 + (((tw_wide)((turn2 + ((step + 1) % 2)) % 2)) * slot)) + (((tw_wide)left) * s0)) + (z1 + (y1 - row)));
              TW_UNROLL_BY(1)
              for (int x = (i0 + low); x < high; x += 4) {
                if (((x < kept0) | (x >= kept1))) {
                  out[(((tw_wide)x) * s0)] = u0_new[(((x + 1) * 11) + cp0)];
                }
              }
            }
          }
        }
        TW_BARRIER();
      }
    } else {
      {
        TW_LOCAL float *const to = chip;
        TW_UNROLL_BY(1)
        for (int x = (i0 + tw_max((-1), (0 - left))); x < tw_min(5, (n0 - left)); x += 4) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)(turn2 % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
          TW_UNROLL_BY(1)
          for (int q1 = (i1 + tw_max(fresh, (0 - (z1 - 2)))); q1 < tw_min(11, (n1 - (z1 - 2))); q1 += 32) {
            to[(((x + 1) * 11) + (((q1 + ring) >= 11) ? ((q1 + ring) - 11) : (q1 + ring)))] = line[((z1 - 2) + q1)];
          }
        }
      }
      {
        TW_LOCAL float *const to = (chip + 66);
        TW_UNROLL_BY(1)
        for (int x = (i0 + tw_max((-1), (0 - left))); x < tw_min(5, (n0 - left)); x += 4) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((turn2 + 1) % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
          TW_UNROLL_BY(1)
          for (int q1 = (i1 + tw_max(fresh, (0 - (z1 - 2)))); q1 < tw_min(11, (n1 - (z1 - 2))); q1 += 32) {
            to[(((x + 1) * 11) + (((q1 + ring) >= 11) ? ((q1 + ring) - 11) : (q1 + ring)))] = line[((z1 - 2) + q1)];
          }
        }
      }
      TW_BARRIER_MEMORY();
      TW_UNROLL_BY(1)
      for (int row = row0; row < row1; ++row) {
        const int grow = tw_min(row, (1 - row));
        const int step = row;
        {
          TW_LOCAL float *const u0 = (chip + ((step % 2) * 66));
          TW_LOCAL float *const u0_new = (chip + (((step + 1) % 2) * 66));
          TW_UNROLL_BY(1)
          for (int x = (i0 - grow); x < (grow + 4); x += 4) {
            TW_UNROLL_BY(1)
            for (int y1_first = 0; y1_first < 8; y1_first += 32) {
              const int y1 = (y1_first + i1);
              if ((y1 < 8)) {
                const int x0 = (left + x);
                const int x1 = (z1 + (y1 - row));
                if (((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1)))) {
                  const float t0 = u0[(((((x0 - 1) - left) + 1) * 11) + (((((x1 - z1) + 2) + ring) >= 11) ? ((((x1 - z1) + 2) + ring) - 11) : (((x1 - z1) + 2) + ring)))];
                  const float t1 = u0[((((x0 - left) + 1) * 11) + ((((((x1 - 1) - z1) + 2) + ring) >= 11) ? (((((x1 - 1) - z1) + 2) + ring) - 11) : ((((x1 - 1) - z1) + 2) + ring)))];
                  const float t2 = (t0 + t1);
                  const float t3 = u0[((((x0 - left) + 1) * 11) + (((((x1 - z1) + 2) + ring) >= 11) ? ((((x1 - z1) + 2) + ring) - 11) : (((x1 - z1) + 2) + ring)))];
                  const float t4 = (t2 + t3);
                  const float t5 = u0[((((x0 - left) + 1) * 11) + ((((((x1 + 1) - z1) + 2) + ring) >= 11) ? (((((x1 + 1) - z1) + 2) + ring) - 11) : ((((x1 + 1) - z1) + 2) + ring)))];
                  const float t6 = (t4 + t5);
                  const float t7 = u0[(((((x0 + 1) - left) + 1) * 11) + (((((x1 - z1) + 2) + ring) >= 11) ? ((((x1 - z1) + 2) + ring) - 11) : (((x1 - z1) + 2) + ring)))];
                  const float t8 = (t6 + t7);
                  const float t10 = (t8 * 0.2f);
                  const float v = t10;
                  u0_new[(((x + 1) * 11) + (((((y1 - row) + 2) + ring) >= 11) ? ((((y1 - row) + 2) + ring) - 11) : (((y1 - row) + 2) + ring)))] = v;
                  if ((((row + 2) >= row1) | ((x < (0 - tw_min((row + 2), (1 - (row + 2))))) | (x >= (tw_min((row + 2), (1 - (row + 2))) + 4))))) {
                    (f0 + (((tw_wide)((turn2 + ((step + 1) % 2)) % 2)) * slot))[((((tw_wide)x0) * s0) + x1)] = v;
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
}
