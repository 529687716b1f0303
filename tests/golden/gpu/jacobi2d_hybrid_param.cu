/* jacobi2d, float32, hybrid tiles of any size
   starts as every text of its language does, see prelude/ */

TW_KERNEL(128) tw_jacobi2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int base, int colour, int height, int size1, int start, int total TW_ROOM_PARAM(float, chip)) {
  TW_ROOM(float, chip)
  const int waist = (height / 2);
  const int i1 = (TW_THREAD % 128);
  const int i0 = (TW_THREAD / 128);
  const int left = ((TW_GROUP * ((base + (((height / 2) - 1) * 2)) + base)) + (colour * (base + ((height / 2) - 1))));
  const int row0 = (tw_max(start, 0) - start);
  const int row1 = (tw_min((start + height), total) - start);
  const int turn2 = tw_floormod(start, 2);
  const int whole = ((((row0 == 0) & (row1 == height)) & ((left + ((-1) - ((height / 2) - 1))) >= 0)) & ((left + ((((height / 2) - 1) + base) + 1)) <= n0));
  TW_UNROLL_BY(1)
  for (int classic1 = 0; classic1 < tw_ceildiv((n1 + (height - 1)), size1); ++classic1) {
    const int z1 = (classic1 * size1);
    const int fresh = ((classic1 > 0) ? (((size1 + 1) - ((-1) - (height - 1))) - size1) : 0);
    const int ring = (z1 % ((size1 + 1) - ((-1) - (height - 1))));
    if ((((whole & (((z1 - (height - 1)) - 1) >= 0)) & (((z1 + size1) + 2) <= n1)) & (classic1 > 0))) {
      {
        TW_LOCAL float *const to = chip;
        TW_UNROLL_BY(4)
        for (int x = ((-1) - (waist - 1)); x < ((base + 1) + (waist - 1)); ++x) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)(turn2 % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
          TW_UNROLL_BY(1)
          for (int q1 = (i1 + (((size1 + 1) - ((-1) - (height - 1))) - size1)); q1 < ((size1 + 1) - ((-1) - (height - 1))); q1 += 128) {
            to[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((q1 + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((q1 + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (q1 + ring)))] = line[((z1 + ((-1) - (height - 1))) + q1)];
          }
        }
      }
      {
        TW_LOCAL float *const to = (chip + ((((base + 1) + (waist - 1)) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))));
        TW_UNROLL_BY(4)
        for (int x = ((-1) - (waist - 1)); x < ((base + 1) + (waist - 1)); ++x) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((turn2 + 1) % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
          TW_UNROLL_BY(1)
          for (int q1 = (i1 + (((size1 + 1) - ((-1) - (height - 1))) - size1)); q1 < ((size1 + 1) - ((-1) - (height - 1))); q1 += 128) {
            to[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((q1 + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((q1 + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (q1 + ring)))] = line[((z1 + ((-1) - (height - 1))) + q1)];
          }
        }
      }
      TW_BARRIER_MEMORY();
      TW_UNROLL_BY(1)
      for (int row = 0; row < height; ++row) {
        const int grow = tw_min(row, ((height - 1) - row));
        const int step = row;
        {
          TW_LOCAL float *const u0 = (chip + (((((base + 1) + (waist - 1)) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) * (step % 2)));
          TW_LOCAL float *const u0_new = (chip + (((((base + 1) + (waist - 1)) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) * ((step + 1) % 2)));
          const int low = (0 - grow);
          const int high = (base + grow);
          TW_UNROLL_BY(1)
          for (int y1 = i1; y1 < size1; y1 += 128) {
            const int own = ((y1 - row) - ((-1) - (height - 1)));
            const int cm1 = ((((own - 1) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? (((own - 1) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : ((own - 1) + ring));
            const int cp0 = (((own + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((own + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (own + ring));
            const int cp1 = ((((own + 1) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? (((own + 1) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : ((own + 1) + ring));
            const int end = (high - ((high - low) % 4));
            TW_UNROLL_BY(1)
            for (int x = low; x < end; x += 4) {
              const float r0 = u0[((((x - 1) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
              const float r1 = u0[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cm1)];
              const float r2 = u0[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
              const float r3 = u0[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp1)];
              const float r4 = u0[((((x + 1) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
              const float r5 = u0[((((x + 1) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cm1)];
              const float r6 = u0[((((x + 1) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp1)];
              const float r7 = u0[((((x + 2) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
              const float r8 = u0[((((x + 2) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cm1)];
              const float r9 = u0[((((x + 2) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp1)];
              const float r10 = u0[((((x + 3) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
              const float r11 = u0[((((x + 3) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cm1)];
              const float r12 = u0[((((x + 3) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp1)];
              const float r13 = u0[((((x + 4) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
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
              const float t1_0 = r2;
              const float t1_1 = r5;
              const float t1_2 = (t1_0 + t1_1);
              const float t1_3 = r4;
              const float t1_4 = (t1_2 + t1_3);
              const float t1_5 = r6;
              const float t1_6 = (t1_4 + t1_5);
              const float t1_7 = r7;
              const float t1_8 = (t1_6 + t1_7);
              const float t1_10 = (t1_8 * 0.2f);
              const float t2_0 = r4;
              const float t2_1 = r8;
              const float t2_2 = (t2_0 + t2_1);
              const float t2_3 = r7;
              const float t2_4 = (t2_2 + t2_3);
              const float t2_5 = r9;
              const float t2_6 = (t2_4 + t2_5);
              const float t2_7 = r10;
              const float t2_8 = (t2_6 + t2_7);
              const float t2_10 = (t2_8 * 0.2f);
              const float t3_0 = r7;
              const float t3_1 = r11;
              const float t3_2 = (t3_0 + t3_1);
              const float t3_3 = r10;
              const float t3_4 = (t3_2 + t3_3);
              const float t3_5 = r12;
              const float t3_6 = (t3_4 + t3_5);
              const float t3_7 = r13;
              const float t3_8 = (t3_6 + t3_7);
              const float t3_10 = (t3_8 * 0.2f);
              u0_new[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)] = t10;
              u0_new[((((x + 1) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)] = t1_10;
              u0_new[((((x + 2) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)] = t2_10;
              u0_new[((((x + 3) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)] = t3_10;
            }
            TW_UNROLL_BY(1)
            for (int x = end; x < high; ++x) {
              const float r0 = u0[((((x - 1) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
              const float r1 = u0[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cm1)];
              const float r2 = u0[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
              const float r3 = u0[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp1)];
              const float r4 = u0[((((x + 1) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
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
              u0_new[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)] = t10;
            }
            const int all = ((row + 2) >= height);
            const int later = tw_min((row + 2), ((height - 1) - (row + 2)));
            const int kept0 = (all ? high : tw_min(high, tw_max(low, (0 - later))));
            const int kept1 = (all ? high : tw_min(high, tw_max(low, (base + later))));
            TW_GLOBAL float *const out = (((f0 + (((tw_wide)((turn2 + ((step + 1) % 2)) % 2)) * slot)) + (((tw_wide)left) * s0)) + (z1 + (y1 - row)));
            TW_UNROLL_BY(4)
            for (int x = low; x < kept0; ++x) {
              out[(((tw_wide)x) * s0)] = u0_new[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
            }
            TW_UNROLL_BY(4)
            for (int x = kept1; x < high; ++x) {
              out[(((tw_wide)x) * s0)] = u0_new[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + cp0)];
            }
          }
        }
        TW_BARRIER();
      }
    } else {
      {
        TW_LOCAL float *const to = chip;
        TW_UNROLL_BY(1)
        for (int x = tw_max(((-1) - (waist - 1)), (0 - left)); x < tw_min(((base + 1) + (waist - 1)), (n0 - left)); ++x) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)(turn2 % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
          TW_UNROLL_BY(1)
          for (int q1 = (i1 + tw_max(fresh, (0 - (z1 + ((-1) - (height - 1)))))); q1 < tw_min(((size1 + 1) - ((-1) - (height - 1))), (n1 - (z1 + ((-1) - (height - 1))))); q1 += 128) {
            to[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((q1 + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((q1 + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (q1 + ring)))] = line[((z1 + ((-1) - (height - 1))) + q1)];
          }
        }
      }
      {
        TW_LOCAL float *const to = (chip + ((((base + 1) + (waist - 1)) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))));
        TW_UNROLL_BY(1)
        for (int x = tw_max(((-1) - (waist - 1)), (0 - left)); x < tw_min(((base + 1) + (waist - 1)), (n0 - left)); ++x) {
          TW_GLOBAL const float *const line = ((f0 + (((tw_wide)((turn2 + 1) % 2)) * slot)) + (((tw_wide)(left + x)) * s0));
          TW_UNROLL_BY(1)
          for (int q1 = (i1 + tw_max(fresh, (0 - (z1 + ((-1) - (height - 1)))))); q1 < tw_min(((size1 + 1) - ((-1) - (height - 1))), (n1 - (z1 + ((-1) - (height - 1))))); q1 += 128) {
            to[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((q1 + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((q1 + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (q1 + ring)))] = line[((z1 + ((-1) - (height - 1))) + q1)];
          }
        }
      }
      TW_BARRIER_MEMORY();
      TW_UNROLL_BY(1)
      for (int row = row0; row < row1; ++row) {
        const int grow = tw_min(row, ((height - 1) - row));
        const int step = row;
        {
          TW_LOCAL float *const u0 = (chip + (((((base + 1) + (waist - 1)) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) * (step % 2)));
          TW_LOCAL float *const u0_new = (chip + (((((base + 1) + (waist - 1)) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) * ((step + 1) % 2)));
          TW_UNROLL_BY(1)
          for (int x = (0 - grow); x < (base + grow); ++x) {
            TW_UNROLL_BY(1)
            for (int y1 = i1; y1 < size1; y1 += 128) {
              const int x0 = (left + x);
              const int x1 = (z1 + (y1 - row));
              if (((((x0 >= 1) & (x0 < (n0 - 1))) & (x1 >= 1)) & (x1 < (n1 - 1)))) {
                const float t0 = u0[(((((x0 - 1) - left) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((((x1 - z1) - ((-1) - (height - 1))) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((((x1 - z1) - ((-1) - (height - 1))) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (((x1 - z1) - ((-1) - (height - 1))) + ring)))];
                const float t1 = u0[((((x0 - left) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + ((((((x1 - 1) - z1) - ((-1) - (height - 1))) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? (((((x1 - 1) - z1) - ((-1) - (height - 1))) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : ((((x1 - 1) - z1) - ((-1) - (height - 1))) + ring)))];
                const float t2 = (t0 + t1);
                const float t3 = u0[((((x0 - left) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((((x1 - z1) - ((-1) - (height - 1))) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((((x1 - z1) - ((-1) - (height - 1))) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (((x1 - z1) - ((-1) - (height - 1))) + ring)))];
                const float t4 = (t2 + t3);
                const float t5 = u0[((((x0 - left) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + ((((((x1 + 1) - z1) - ((-1) - (height - 1))) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? (((((x1 + 1) - z1) - ((-1) - (height - 1))) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : ((((x1 + 1) - z1) - ((-1) - (height - 1))) + ring)))];
                const float t6 = (t4 + t5);
                const float t7 = u0[(((((x0 + 1) - left) - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((((x1 - z1) - ((-1) - (height - 1))) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((((x1 - z1) - ((-1) - (height - 1))) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (((x1 - z1) - ((-1) - (height - 1))) + ring)))];
                const float t8 = (t6 + t7);
                const float t10 = (t8 * 0.2f);
                const float v = t10;
                u0_new[(((x - ((-1) - (waist - 1))) * ((size1 + 1) - ((-1) - (height - 1)))) + (((((y1 - row) - ((-1) - (height - 1))) + ring) >= ((size1 + 1) - ((-1) - (height - 1)))) ? ((((y1 - row) - ((-1) - (height - 1))) + ring) - ((size1 + 1) - ((-1) - (height - 1)))) : (((y1 - row) - ((-1) - (height - 1))) + ring)))] = v;
                if ((((row + 2) >= row1) | ((x < (0 - tw_min((row + 2), ((height - 1) - (row + 2))))) | (x >= (base + tw_min((row + 2), ((height - 1) - (row + 2)))))))) {
                  (f0 + (((tw_wide)((turn2 + ((step + 1) % 2)) % 2)) * slot))[((((tw_wide)x0) * s0) + x1)] = v;
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
