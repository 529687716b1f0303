/* pipeline converted, int16, border mirror, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: tw_floor_f32(), tw_map_mirror() */

TW_KERNEL(32) tw_pipe(TW_GLOBAL const short *in_G1, TW_GLOBAL unsigned char *to_G4, int n0, int n1, float given_part) {
  TW_SHARED tw_wide memory[32];
  TW_LOCAL short *const tile_G1 = ((TW_LOCAL short *)memory);
  TW_LOCAL float *const tile_G2 = ((TW_LOCAL float *)(memory + 16));
  TW_LOCAL float *const tile_G3 = ((TW_LOCAL float *)memory);
  const int across = ((n1 + 7) / 8);
  const int y0 = ((TW_GROUP / across) * 4);
  const int x0 = ((TW_GROUP % across) * 8);
  const int ty = (TW_THREAD / 8);
  const int tx = (TW_THREAD % 8);
  for (int y = (y0 + ty); y < tw_min((y0 + 4), n0); y += 4) {
    for (int x = (x0 + tx); x < tw_min((x0 + 8), n1); x += 8) {
      short value = 0;
      int v = y;
      int u = x;
      u = ((u < 0) ? tw_map_mirror(u, n1) : u);
      u = ((u >= n1) ? tw_map_mirror(u, n1) : u);
      v = ((v < 0) ? tw_map_mirror(v, n0) : v);
      v = ((v >= n0) ? tw_map_mirror(v, n0) : v);
      value = in_G1[((((tw_wide)v) * n1) + u)];
      tile_G1[(((y - y0) * 8) + (x - x0))] = value;
    }
  }
  TW_BARRIER();
  /* S1 to_float32 */
  for (int y = (y0 + ty); y < tw_min((y0 + 4), n0); y += 4) {
    for (int x = (x0 + tx); x < tw_min((x0 + 8), n1); x += 8) {
      if ((((y >= 0) & (y < n0)) & ((x >= 0) & (x < n1)))) {
        const short t0 = tile_G1[(((y - y0) * 8) + (x - x0))];
        const short found = t0;
        const float result = ((float)found);
        tile_G2[(((y - y0) * 8) + (x - x0))] = result;
      }
    }
  }
  TW_BARRIER();
  /* S2 share */
  for (int y = (y0 + ty); y < tw_min((y0 + 4), n0); y += 4) {
    for (int x = (x0 + tx); x < tw_min((x0 + 8), n1); x += 8) {
      if ((((y >= 0) & (y < n0)) & ((x >= 0) & (x < n1)))) {
        const float c_part = given_part;
        const float t0 = tile_G2[(((y - y0) * 8) + (x - x0))];
        const float t2 = (t0 * c_part);
        const float result = t2;
        tile_G3[(((y - y0) * 8) + (x - x0))] = result;
      }
    }
  }
  TW_BARRIER();
  /* S3 to_uint8 */
  for (int y = (y0 + ty); y < tw_min((y0 + 4), n0); y += 4) {
    for (int x = (x0 + tx); x < tw_min((x0 + 8), n1); x += 8) {
      {
        const float t0 = tile_G3[(((y - y0) * 8) + (x - x0))];
        const float found = t0;
        const float whole = tw_floor_f32(found);
        const unsigned char result = ((found != found) ? 0 : ((whole >= 255.0f) ? 255 : ((whole <= 0.0f) ? 0 : ((unsigned char)whole))));
        if ((((y >= y0) & (y < tw_min((y0 + 4), n0))) & ((x >= x0) & (x < tw_min((x0 + 8), n1))))) {
          to_G4[((((tw_wide)y) * n1) + x)] = result;
        }
      }
    }
  }
}
