/* pipeline mean, float32, border wrap, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     tw_prefetch_near, tw_put(), omp_get_thread_num(), tw_thread(), tw_map_wrap(), tw_p0(), tw_tile(), tw() */

static void tw_ends_G1(float *row, int64_t a, int64_t b, int64_t n) {
  for (int64_t x = a; x < tw_min(b, 0); ++x) {
    row[x - a] = row[tw_map_wrap(x, n) - a];
  }
  for (int64_t x = tw_max(a, n); x < b; ++x) {
    row[x - a] = row[tw_map_wrap(x, n) - a];
  }
}

static inline float *tw_row_G1(uint8_t *own, int64_t y, int64_t n0) {
  float *found = ((float *)own);
  found = found + (tw_floormod(y, 1) * 80);
  return found;
}

static __attribute__((optimize("O3"))) void tw_fetch_G1(float *to, const float *from, int64_t a, int64_t b,
    int64_t n) {
  for (int64_t x = a; x < b; ++x) {
    to[x - a] = from[tw_map_wrap(x, n)];
  }
}
