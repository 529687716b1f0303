/* jacobi2d, float32, boundary fixed, tiling streaming:t=1,s=8x16
   starts as every text of its language does, see prelude/ */

TW_KERNEL(32) tw_jacobi2d_0(TW_GLOBAL float *f0, int n0, int n1, tw_wide s0, tw_wide slot, int source, int target, int tiles0, int tiles1) {
  TW_SHARED float chip[72];
  /* streaming tiles, streaming:s=8x16,threads=1x32: 1 levels */
  /* Strides of rows and slots are multiples of 4 values. */
  float own0_0_0[2];
  own0_0_0[0] = 0.0f;
  own0_0_0[1] = 0.0f;
  float ahead0_0[1];
  TW_UNROLL_BY(1)
  for (int place_on_chip = TW_THREAD; place_on_chip < 72; place_on_chip += 32) {
    chip[place_on_chip] = 0.0f;
  }
  TW_BARRIER();
  TW_UNROLL_BY(1)
  for (int part = 0; part < 2; ++part) {
    const int thread = TW_OPAQUE(TW_THREAD);
    const int group = TW_OPAQUE(TW_GROUP);
    const int i1 = thread;
    const int turn0 = (group % tiles0);
    const int turn1 = (group / tiles0);
    const int tile1 = (((turn1 % 2) == 1) ? (tiles1 - ((turn1 / 2) + 1)) : (turn1 / 2));
    const int low0 = (turn0 * 8);
    const int high0 = tw_min((low0 + 8), n0);
    const int low1 = (tile1 * 16);
    const int high1 = tw_min((low1 + 16), n1);
    const int origin1 = (low1 - 1);
    const int begin = (tw_max((low0 - 1), 0) - 1);
    const int advances = (tw_min(high0, n0) - begin);
    int at1 = (origin1 + i1);
    const int place = (i1 + 1);
    int mine0 = (((at1 >= low1) & (at1 < high1)) ? 1 : 0);
    int free0_0 = (((at1 >= 1) & (at1 < (n1 - 1))) ? 1 : 0);
    const int free = (((tw_max(tw_max((1 - begin), (low0 - begin)), ((-2) - begin)) + 3) / 4) * 4);
    const int rounds = (tw_max((tw_min(tw_min(((n0 - 1) - begin), (high0 - begin)), ((n0 - 2) - begin)) - free), 0) / 4);
    const int first = ((rounds > 0) ? free : 0);
    const int last = ((rounds > 0) ? (free + (rounds * 4)) : 0);
    const int until = ((part == 0) ? first : advances);
    if ((part == 0)) {
      {
        at1 = TW_OPAQUE(at1);
        mine0 = TW_OPAQUE(mine0);
        free0_0 = TW_OPAQUE(free0_0);
        TW_GLOBAL const float *const line = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)tw_max(0, tw_min((begin + 1), (n0 - 1)))) * s0)) + at1);
        ahead0_0[0] = line[(tw_max(0, tw_min(at1, (n1 - 1))) - at1)];
      }
    }
    TW_UNROLL_BY(1)
    for (int k = (part * last); k < until; k += 2) {
      {
        const int now = k;
        float next0_0[1];
        {
          at1 = TW_OPAQUE(at1);
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          TW_GLOBAL const float *const line = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)tw_max(0, tw_min(((begin + (now + 1)) + 1), (n0 - 1)))) * s0)) + at1);
          next0_0[0] = line[(tw_max(0, tw_min(at1, (n1 - 1))) - at1)];
        }
        const float near0_0 = chip[(place - 1)];
        const float near0_1 = chip[(place + 1)];
        const float held0_0 = own0_0_0[1];
        const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[0])) + (0.2f * near0_1));
        own0_0_0[1] = ahead0_0[0];
        chip[(place + 36)] = ahead0_0[0];
        {
          at1 = TW_OPAQUE(at1);
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          const int row = (begin + now);
          const float value0_0 = (part0_0 + (0.2f * own0_0_0[1]));
          const float new0_0 = ((((row >= 1) & (row < (n0 - 1))) & ((free0_0 & 1) > 0)) ? value0_0 : own0_0_0[0]);
          if (((row >= low0) & (row < high0))) {
            at1 = TW_OPAQUE(at1);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL float *const out = (((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)tw_max(0, tw_min(row, (n0 - 1)))) * s0)) + at1);
            if (((mine0 & 1) > 0)) {
              out[0] = new0_0;
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
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          TW_GLOBAL const float *const line = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)tw_max(0, tw_min(((begin + (now + 1)) + 1), (n0 - 1)))) * s0)) + at1);
          next0_0[0] = line[(tw_max(0, tw_min(at1, (n1 - 1))) - at1)];
        }
        const float near0_0 = chip[(place + 35)];
        const float near0_1 = chip[(place + 37)];
        const float held0_0 = own0_0_0[0];
        const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[1])) + (0.2f * near0_1));
        own0_0_0[0] = ahead0_0[0];
        chip[place] = ahead0_0[0];
        {
          at1 = TW_OPAQUE(at1);
          mine0 = TW_OPAQUE(mine0);
          free0_0 = TW_OPAQUE(free0_0);
          const int row = (begin + now);
          const float value0_0 = (part0_0 + (0.2f * own0_0_0[0]));
          const float new0_0 = ((((row >= 1) & (row < (n0 - 1))) & ((free0_0 & 1) > 0)) ? value0_0 : own0_0_0[1]);
          if (((row >= low0) & (row < high0))) {
            at1 = TW_OPAQUE(at1);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL float *const out = (((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)tw_max(0, tw_min(row, (n0 - 1)))) * s0)) + at1);
            if (((mine0 & 1) > 0)) {
              out[0] = new0_0;
            }
          }
        }
        ahead0_0[0] = next0_0[0];
        TW_BARRIER();
      }
    }
    TW_GLOBAL const float *from0_0 = (((f0 + (((tw_wide)((source + 2) % 2)) * slot)) + (((tw_wide)tw_max(0, tw_min(((begin + (until + 1)) + 1), (n0 - 1)))) * s0)) + at1);
    TW_GLOBAL float *into0_0 = (((f0 + (((tw_wide)((target + 2) % 2)) * slot)) + (((tw_wide)tw_max(0, tw_min((begin + until), (n0 - 1)))) * s0)) + at1);
    if (((low1 >= 1) & ((low1 + 31) <= n1))) {
      TW_UNROLL_BY(1)
      for (int k = until; k < last; k += 4) {
        {
          const int now = k;
          float next0_0[1];
          {
            TW_GLOBAL const float *const line = from0_0;
            next0_0[0] = line[0];
          }
          const float near0_0 = chip[(place - 1)];
          const float near0_1 = chip[(place + 1)];
          const float held0_0 = own0_0_0[1];
          const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[0])) + (0.2f * near0_1));
          own0_0_0[1] = ahead0_0[0];
          chip[(place + 36)] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0 = (part0_0 + (0.2f * own0_0_0[1]));
            {
              TW_GLOBAL float *const out = into0_0;
              if (((i1 >= 1) & (i1 < 17))) {
                out[0] = new0_0;
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
            TW_GLOBAL const float *const line = from0_0;
            next0_0[0] = line[0];
          }
          const float near0_0 = chip[(place + 35)];
          const float near0_1 = chip[(place + 37)];
          const float held0_0 = own0_0_0[0];
          const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[1])) + (0.2f * near0_1));
          own0_0_0[0] = ahead0_0[0];
          chip[place] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0 = (part0_0 + (0.2f * own0_0_0[0]));
            {
              TW_GLOBAL float *const out = into0_0;
              if (((i1 >= 1) & (i1 < 17))) {
                out[0] = new0_0;
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
            TW_GLOBAL const float *const line = from0_0;
            next0_0[0] = line[0];
          }
          const float near0_0 = chip[(place - 1)];
          const float near0_1 = chip[(place + 1)];
          const float held0_0 = own0_0_0[1];
          const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[0])) + (0.2f * near0_1));
          own0_0_0[1] = ahead0_0[0];
          chip[(place + 36)] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0 = (part0_0 + (0.2f * own0_0_0[1]));
            {
              TW_GLOBAL float *const out = into0_0;
              if (((i1 >= 1) & (i1 < 17))) {
                out[0] = new0_0;
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
            TW_GLOBAL const float *const line = from0_0;
            next0_0[0] = line[0];
          }
          const float near0_0 = chip[(place + 35)];
          const float near0_1 = chip[(place + 37)];
          const float held0_0 = own0_0_0[0];
          const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[1])) + (0.2f * near0_1));
          own0_0_0[0] = ahead0_0[0];
          chip[place] = ahead0_0[0];
          {
            const int row = (begin + now);
            const float new0_0 = (part0_0 + (0.2f * own0_0_0[0]));
            {
              TW_GLOBAL float *const out = into0_0;
              if (((i1 >= 1) & (i1 < 17))) {
                out[0] = new0_0;
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
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL const float *const line = from0_0;
            next0_0[0] = line[(tw_max(0, tw_min(at1, (n1 - 1))) - at1)];
          }
          const float near0_0 = chip[(place - 1)];
          const float near0_1 = chip[(place + 1)];
          const float held0_0 = own0_0_0[1];
          const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[0])) + (0.2f * near0_1));
          own0_0_0[1] = ahead0_0[0];
          chip[(place + 36)] = ahead0_0[0];
          {
            at1 = TW_OPAQUE(at1);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            const int row = (begin + now);
            const float value0_0 = (part0_0 + (0.2f * own0_0_0[1]));
            const float new0_0 = (((free0_0 & 1) > 0) ? value0_0 : own0_0_0[0]);
            {
              at1 = TW_OPAQUE(at1);
              mine0 = TW_OPAQUE(mine0);
              free0_0 = TW_OPAQUE(free0_0);
              TW_GLOBAL float *const out = into0_0;
              if (((mine0 & 1) > 0)) {
                out[0] = new0_0;
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
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            TW_GLOBAL const float *const line = from0_0;
            next0_0[0] = line[(tw_max(0, tw_min(at1, (n1 - 1))) - at1)];
          }
          const float near0_0 = chip[(place + 35)];
          const float near0_1 = chip[(place + 37)];
          const float held0_0 = own0_0_0[0];
          const float part0_0 = ((((0.2f * held0_0) + (0.2f * near0_0)) + (0.2f * own0_0_0[1])) + (0.2f * near0_1));
          own0_0_0[0] = ahead0_0[0];
          chip[place] = ahead0_0[0];
          {
            at1 = TW_OPAQUE(at1);
            mine0 = TW_OPAQUE(mine0);
            free0_0 = TW_OPAQUE(free0_0);
            const int row = (begin + now);
            const float value0_0 = (part0_0 + (0.2f * own0_0_0[0]));
            const float new0_0 = (((free0_0 & 1) > 0) ? value0_0 : own0_0_0[1]);
            {
              at1 = TW_OPAQUE(at1);
              mine0 = TW_OPAQUE(mine0);
              free0_0 = TW_OPAQUE(free0_0);
              TW_GLOBAL float *const out = into0_0;
              if (((mine0 & 1) > 0)) {
                out[0] = new0_0;
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
