/* laplacian3d, float32, boundary fixed, tiling streaming:t=1,s=4x8x16,threads=1x10x18
   starts as every text of its language does, see prelude/ */

TW_KERNEL(180) tw_laplacian3d_0(TW_GLOBAL float *f0, int n0, int n1, int n2, tw_wide s0, tw_wide s1, tw_wide slot, int source, int target, int tiles0, int tiles1, int tiles2) {
  TW_SHARED float chip[440];
  /* streaming tiles, streaming:s=4x8x16,threads=1x10x18: 1 levels */
  /* Strides of rows and slots are multiples of 4 values. */
  float own0_0_0_0[2];
  own0_0_0_0[0] = 0.0f;
  own0_0_0_0[1] = 0.0f;
  float ahead0_0[1];
  TW_UNROLL_BY(1)
  for (int place_on_chip = TW_THREAD; place_on_chip < 440; place_on_chip += 180) {
    chip[place_on_chip] = 0.0f;
  }
  TW_BARRIER();
  TW_UNROLL_BY(1)
  for (int part = 0; part < 2; ++part) {
    const int thread = TW_OPAQUE(TW_THREAD);
    const int group = TW_OPAQUE(TW_GROUP);
    const int i2 = (thread % 18);
    const int i1 = (thread / 18);
    const int turn0 = (group % tiles0);
    const int turn2 = ((group / tiles0) % tiles2);
    const int turn1 = ((group / tiles0) / tiles2);
    const int sides = (tiles1 - tw_max(0, tw_min(((n1 - 9) / 8), (tiles1 - 1))));
    const int ahead = ((sides * tiles2) * tiles0);
    const int later0 = ((group - ahead) % tiles0);
    const int later1 = (((group - ahead) / tiles0) % tw_max((tiles1 - sides), 1));
    const int later2 = (((group - ahead) / tiles0) / tw_max((tiles1 - sides), 1));
    const int in_turn2 = ((group < ahead) ? turn2 : later2);
    const int in_turn1 = ((group < ahead) ? turn1 : (later1 + sides));
    const int in_turn0 = ((group < ahead) ? turn0 : later0);
    const int tile1 = (((in_turn1 % 2) == 1) ? (tiles1 - ((in_turn1 / 2) + 1)) : (in_turn1 / 2));
    const int tile2 = (((in_turn2 % 2) == 1) ? (tiles2 - ((in_turn2 / 2) + 1)) : (in_turn2 / 2));
    const int low0 = (in_turn0 * 4);
    const int high0 = tw_min((low0 + 4), n0);
    const int low1 = (tile1 * 8);
    const int high1 = tw_min((low1 + 8), n1);
    const int origin1 = (low1 - 1);
    const int low2 = (tile2 * 16);
    const int high2 = tw_min((low2 + 16), n2);
    const int origin2 = (low2 - 1);
    const int begin = (tw_max((low0 - 1), 0) - 1);
    const int advances = (tw_min(high0, n0) - begin);
    int at1 = (origin1 + i1);
    int at2 = (origin2 + i2);
    const int place = (((i1 + 1) * 18) + (i2 + 1));
    int mine0 = (((((at1 >= low1) & (at1 < high1)) & (at2 >= low2)) & (at2 < high2)) ? 1 : 0);
    int free0_0 = (((((at1 >= 1) & (at1 < (n1 - 1))) & (at2 >= 1)) & (at2 < (n2 - 1))) ? 1 : 0);
    const int free = (((tw_max(tw_max((1 - begin), (low0 - begin)), ((-2) - begin)) + 3) / 4) * 4);
    const int rounds = (tw_max((tw_min(tw_min(((n0 - 1) - begin), (high0 - begin)), ((n0 - 2) - begin)) - free), 0) / 4);
    const int first = ((rounds > 0) ? free : 0);
    const int last = ((rounds > 0) ? (free + (rounds * 4)) : 0);
    const int until = ((part == 0) ? first : advances);
    if ((part == 0)) {
      {
        at1 = TW_OPAQUE(at1);
        at2 = TW_OPAQUE(at2);
        mine0 = TW_OPAQUE(mine0);
        free0_0 = TW_OPAQUE(free0_0);
        TW_GLOBAL const float *const line0 = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + ((((tw_wide)tw_max(0, tw_min((begin + 1), (n0 - 1)))) * s0) + (((tw_wide)tw_max(0, tw_min(at1, (n1 - 1)))) * s1))) + at2);
        ahead0_0[0] = line0[(tw_max(0, tw_min(at2, (n2 - 1))) - at2)];
      }
    }
    TW_UNROLL_BY(1)
    for (int k = (part * last); k < until; k += 2) {
      {
        const int now = k;
        float next0_0[1];
        {
          at1 = TW_OPAQUE(at1);
          at2 = TW_OPAQUE(at2);
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          TW_GLOBAL const float *const line0 = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + ((((tw_wide)tw_max(0, tw_min(((begin + (now + 1)) + 1), (n0 - 1)))) * s0) + (((tw_wide)tw_max(0, tw_min(at1, (n1 - 1)))) * s1))) + at2);
          next0_0[0] = line0[(tw_max(0, tw_min(at2, (n2 - 1))) - at2)];
        }
        const float near0_0 = chip[(place - 18)];
        const float near0_1 = chip[(place - 1)];
        const float near0_2 = chip[(place + 1)];
        const float near0_3 = chip[(place + 18)];
        const float held0_0 = own0_0_0_0[1];
        const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[0])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
        own0_0_0_0[1] = ahead0_0[0];
        chip[(place + 220)] = ahead0_0[0];
        {
          at1 = TW_OPAQUE(at1);
          at2 = TW_OPAQUE(at2);
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          const int row = (begin + now);
          const float value0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[1]));
          const float new0_0_0 = ((((row >= 1) & (row < (n0 - 1))) & ((free0_0 & 1) > 0)) ? value0_0_0 : own0_0_0_0[0]);
          if (((row >= low0) & (row < high0))) {
            at1 = TW_OPAQUE(at1);
            at2 = TW_OPAQUE(at2);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL float *const out0 = (((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + ((((tw_wide)tw_max(0, tw_min(row, (n0 - 1)))) * s0) + (((tw_wide)at1) * s1))) + at2);
            if (((mine0 & 1) > 0)) {
              out0[0] = new0_0_0;
            }
          }
        }
        ahead0_0[0] = next0_0[0];
        TW_BARRIER();
      }
      {
        const int now = (k + 1);
        float next0_0[1];
        {
          at1 = TW_OPAQUE(at1);
          at2 = TW_OPAQUE(at2);
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          TW_GLOBAL const float *const line0 = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + ((((tw_wide)tw_max(0, tw_min(((begin + (now + 1)) + 1), (n0 - 1)))) * s0) + (((tw_wide)tw_max(0, tw_min(at1, (n1 - 1)))) * s1))) + at2);
          next0_0[0] = line0[(tw_max(0, tw_min(at2, (n2 - 1))) - at2)];
        }
        const float near0_0 = chip[(place + 202)];
        const float near0_1 = chip[(place + 219)];
        const float near0_2 = chip[(place + 221)];
        const float near0_3 = chip[(place + 238)];
        const float held0_0 = own0_0_0_0[0];
        const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[1])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
        own0_0_0_0[0] = ahead0_0[0];
        chip[place] = ahead0_0[0];
        {
          at1 = TW_OPAQUE(at1);
          at2 = TW_OPAQUE(at2);
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          const int row = (begin + now);
          const float value0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[0]));
          const float new0_0_0 = ((((row >= 1) & (row < (n0 - 1))) & ((free0_0 & 1) > 0)) ? value0_0_0 : own0_0_0_0[1]);
          if (((row >= low0) & (row < high0))) {
            at1 = TW_OPAQUE(at1);
            at2 = TW_OPAQUE(at2);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL float *const out0 = (((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + ((((tw_wide)tw_max(0, tw_min(row, (n0 - 1)))) * s0) + (((tw_wide)at1) * s1))) + at2);
            if (((mine0 & 1) > 0)) {
              out0[0] = new0_0_0;
            }
          }
        }
        ahead0_0[0] = next0_0[0];
        TW_BARRIER();
      }
    }
    TW_GLOBAL const float *from0_0 = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + ((((tw_wide)tw_max(0, tw_min(((begin + (until + 1)) + 1), (n0 - 1)))) * s0) + (((tw_wide)at1) * s1))) + at2);
    TW_GLOBAL float *into0_0 = (((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + ((((tw_wide)tw_max(0, tw_min((begin + until), (n0 - 1)))) * s0) + (((tw_wide)at1) * s1))) + at2);
    if (((((low1 >= 1) & ((low1 + 9) <= n1)) & (low2 >= 1)) & ((low2 + 17) <= n2))) {
      TW_UNROLL_BY(1)
      for (int k = until; k < last; k += 4) {
        {
          const int now = k;
          float next0_0[1];
          {
            TW_GLOBAL const float *const line0 = from0_0;
            next0_0[0] = line0[0];
          }
          const float near0_0 = chip[(place - 18)];
          const float near0_1 = chip[(place - 1)];
          const float near0_2 = chip[(place + 1)];
          const float near0_3 = chip[(place + 18)];
          const float held0_0 = own0_0_0_0[1];
          const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[0])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
          own0_0_0_0[1] = ahead0_0[0];
          chip[(place + 220)] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[1]));
            {
              TW_GLOBAL float *const out0 = into0_0;
              if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                out0[0] = new0_0_0;
              }
            }
            into0_0 = (into0_0 + s0);
          }
          from0_0 = (from0_0 + s0);
          ahead0_0[0] = next0_0[0];
          TW_BARRIER();
        }
        {
          const int now = (k + 1);
          float next0_0[1];
          {
            TW_GLOBAL const float *const line0 = from0_0;
            next0_0[0] = line0[0];
          }
          const float near0_0 = chip[(place + 202)];
          const float near0_1 = chip[(place + 219)];
          const float near0_2 = chip[(place + 221)];
          const float near0_3 = chip[(place + 238)];
          const float held0_0 = own0_0_0_0[0];
          const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[1])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
          own0_0_0_0[0] = ahead0_0[0];
          chip[place] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[0]));
            {
              TW_GLOBAL float *const out0 = into0_0;
              if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                out0[0] = new0_0_0;
              }
            }
            into0_0 = (into0_0 + s0);
          }
          from0_0 = (from0_0 + s0);
          ahead0_0[0] = next0_0[0];
          TW_BARRIER();
        }
        {
          const int now = (k + 2);
          float next0_0[1];
          {
            TW_GLOBAL const float *const line0 = from0_0;
            next0_0[0] = line0[0];
          }
          const float near0_0 = chip[(place - 18)];
          const float near0_1 = chip[(place - 1)];
          const float near0_2 = chip[(place + 1)];
          const float near0_3 = chip[(place + 18)];
          const float held0_0 = own0_0_0_0[1];
          const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[0])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
          own0_0_0_0[1] = ahead0_0[0];
          chip[(place + 220)] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[1]));
            {
              TW_GLOBAL float *const out0 = into0_0;
              if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                out0[0] = new0_0_0;
              }
            }
            into0_0 = (into0_0 + s0);
          }
          from0_0 = (from0_0 + s0);
          ahead0_0[0] = next0_0[0];
          TW_BARRIER();
        }
        {
          const int now = (k + 3);
          float next0_0[1];
          {
            TW_GLOBAL const float *const line0 = from0_0;
            next0_0[0] = line0[0];
          }
          const float near0_0 = chip[(place + 202)];
          const float near0_1 = chip[(place + 219)];
          const float near0_2 = chip[(place + 221)];
          const float near0_3 = chip[(place + 238)];
          const float held0_0 = own0_0_0_0[0];
          const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[1])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
          own0_0_0_0[0] = ahead0_0[0];
          chip[place] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[0]));
            {
              TW_GLOBAL float *const out0 = into0_0;
              if (((((i1 >= 1) & (i1 < 9)) & (i2 >= 1)) & (i2 < 17))) {
                out0[0] = new0_0_0;
              }
            }
            into0_0 = (into0_0 + s0);
          }
          from0_0 = (from0_0 + s0);
          ahead0_0[0] = next0_0[0];
          TW_BARRIER();
        }
      }
    } else {
      TW_UNROLL_BY(1)
      for (int k = until; k < last; k += 2) {
        {
          const int now = k;
          float next0_0[1];
          {
            at1 = TW_OPAQUE(at1);
            at2 = TW_OPAQUE(at2);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL const float *const line0 = (from0_0 + (s1 * (tw_max(0, tw_min(at1, (n1 - 1))) - at1)));
            next0_0[0] = line0[(tw_max(0, tw_min(at2, (n2 - 1))) - at2)];
          }
          const float near0_0 = chip[(place - 18)];
          const float near0_1 = chip[(place - 1)];
          const float near0_2 = chip[(place + 1)];
          const float near0_3 = chip[(place + 18)];
          const float held0_0 = own0_0_0_0[1];
          const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[0])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
          own0_0_0_0[1] = ahead0_0[0];
          chip[(place + 220)] = ahead0_0[0];
          {
            at1 = TW_OPAQUE(at1);
            at2 = TW_OPAQUE(at2);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            const int row = (begin + now);
            const float value0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[1]));
            const float new0_0_0 = (((free0_0 & 1) > 0) ? value0_0_0 : own0_0_0_0[0]);
            {
              at1 = TW_OPAQUE(at1);
              at2 = TW_OPAQUE(at2);
              mine0 = TW_OPAQUE(mine0);
              free0_0 = TW_OPAQUE(free0_0);
              TW_GLOBAL float *const out0 = into0_0;
              if (((mine0 & 1) > 0)) {
                out0[0] = new0_0_0;
              }
            }
            into0_0 = (into0_0 + s0);
          }
          from0_0 = (from0_0 + s0);
          ahead0_0[0] = next0_0[0];
          TW_BARRIER();
        }
        {
          const int now = (k + 1);
          float next0_0[1];
          {
            at1 = TW_OPAQUE(at1);
            at2 = TW_OPAQUE(at2);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL const float *const line0 = (from0_0 + (s1 * (tw_max(0, tw_min(at1, (n1 - 1))) - at1)));
            next0_0[0] = line0[(tw_max(0, tw_min(at2, (n2 - 1))) - at2)];
          }
          const float near0_0 = chip[(place + 202)];
          const float near0_1 = chip[(place + 219)];
          const float near0_2 = chip[(place + 221)];
          const float near0_3 = chip[(place + 238)];
          const float held0_0 = own0_0_0_0[0];
          const float part0_0_0 = ((((((0.083333336f * held0_0) + (0.083333336f * near0_0)) + (0.083333336f * near0_1)) + (0.5f * own0_0_0_0[1])) + (0.083333336f * near0_2)) + (0.083333336f * near0_3));
          own0_0_0_0[0] = ahead0_0[0];
          chip[place] = ahead0_0[0];
          {
            at1 = TW_OPAQUE(at1);
            at2 = TW_OPAQUE(at2);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            const int row = (begin + now);
            const float value0_0_0 = (part0_0_0 + (0.083333336f * own0_0_0_0[0]));
            const float new0_0_0 = (((free0_0 & 1) > 0) ? value0_0_0 : own0_0_0_0[1]);
            {
              at1 = TW_OPAQUE(at1);
              at2 = TW_OPAQUE(at2);
              mine0 = TW_OPAQUE(mine0);
              free0_0 = TW_OPAQUE(free0_0);
              TW_GLOBAL float *const out0 = into0_0;
              if (((mine0 & 1) > 0)) {
                out0[0] = new0_0_0;
              }
            }
            into0_0 = (into0_0 + s0);
          }
          from0_0 = (from0_0 + s0);
          ahead0_0[0] = next0_0[0];
          TW_BARRIER();
        }
      }
    }
  }
}
