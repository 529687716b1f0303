/* pipeline mean_edges, float32, border constant:0.5, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: tw_abs_f32() */

TW_KERNEL(32) tw_pipe(TW_GLOBAL const float *in_G1, TW_GLOBAL float *to_G3, int n0, int n1) {
  TW_SHARED tw_wide memory[96];
  TW_LOCAL float *const tile_G1 = ((TW_LOCAL float *)memory);
  TW_LOCAL float *const tile_G2 = ((TW_LOCAL float *)(memory + 64));
  const int across = ((n1 + 7) / 8);
  const int y0 = ((TW_GROUP / across) * 4);
  const int x0 = ((TW_GROUP % across) * 8);
  const int ty = (TW_THREAD / 8);
  const int tx = (TW_THREAD % 8);
  for (int y = ((y0 - 1) + ty); y < (tw_min((y0 + 4), n0) + 1); y += 4) {
    for (int x = ((x0 - 1) + tx); x < (tw_min((x0 + 8), n1) + 1); x += 8) {
      float value = 0.0f;
      int v = y;
      int u = x;
      if ((u < 0)) {
        value = 0.5f;
      } else {
        if ((u >= n1)) {
          value = 0.5f;
        } else {
          if ((v < 0)) {
            value = 0.5f;
          } else {
            if ((v >= n0)) {
              value = 0.5f;
            } else {
              value = in_G1[((((tw_wide)v) * n1) + u)];
            }
          }
        }
      }
      tile_G1[((((y + 1) - y0) * 16) + ((x + 1) - x0))] = value;
    }
  }
  TW_BARRIER();
  /* S1 mean */
  for (int y = ((y0 - 1) + ty); y < (tw_min((y0 + 4), n0) + 1); y += 4) {
    for (int x = (x0 + tx); x < tw_min((x0 + 8), n1); x += 8) {
      if ((((y >= 0) & (y < n0)) & ((x >= 0) & (x < n1)))) {
        const float t0 = tile_G1[((((y + 1) - y0) * 16) + (((x - 1) + 1) - x0))];
        const float t1 = tile_G1[((((y + 1) - y0) * 16) + ((x + 1) - x0))];
        const float t2 = (t0 + t1);
        const float t3 = tile_G1[((((y + 1) - y0) * 16) + (((x + 1) + 1) - x0))];
        const float t4 = (t2 + t3);
        const float t6 = (t4 / 3.0f);
        const float result = t6;
        tile_G2[((((y + 1) - y0) * 8) + (x - x0))] = result;
      }
    }
  }
  TW_BARRIER();
  for (int y = ((y0 - 1) + ty); y < (tw_min((y0 + 4), n0) + 1); y += 4) {
    for (int x = (x0 + tx); x < tw_min((x0 + 8), n1); x += 8) {
      if (((((y >= 0) & (y < n0)) & ((x >= 0) & (x < n1))) == 0)) {
        float value = 0.0f;
        int v = y;
        int u = x;
        if ((u < 0)) {
          value = 0.5f;
        } else {
          if ((u >= n1)) {
            value = 0.5f;
          } else {
            if ((v < 0)) {
              value = 0.5f;
            } else {
              if ((v >= n0)) {
                value = 0.5f;
              } else {
                value = tile_G2[((((v + 1) - y0) * 8) + (u - x0))];
              }
            }
          }
        }
        tile_G2[((((y + 1) - y0) * 8) + (x - x0))] = value;
      }
    }
  }
  TW_BARRIER();
  /* S2 edges */
  for (int y = (y0 + ty); y < tw_min((y0 + 4), n0); y += 4) {
    for (int x = (x0 + tx); x < tw_min((x0 + 8), n1); x += 8) {
      {
        const float t0 = tile_G2[(((((y + 1) + 1) - y0) * 8) + (x - x0))];
        const float t1 = tile_G2[(((((y - 1) + 1) - y0) * 8) + (x - x0))];
        const float t2 = (t0 - t1);
        const float t3 = tw_abs_f32(t2);
        const float t4 = tile_G1[((((y + 1) - y0) * 16) + ((x + 1) - x0))];
        const float t5 = (t3 + t4);
        const float result = t5;
        if ((((y >= y0) & (y < tw_min((y0 + 4), n0))) & ((x >= x0) & (x < tw_min((x0 + 8), n1))))) {
          to_G3[((((tw_wide)y) * n1) + x)] = result;
        }
      }
    }
  }
}
