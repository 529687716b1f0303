/* pipeline mean, float32, border mirror, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, tw_map_mirror(), tw_p0(), omp_get_thread_num(), tw_me(), tw_put(),
     tw_done(), tw_tile(), tw() */

static void tw_ends_G1(float *row, int64_t a, int64_t b, int64_t n) {
  for (int64_t x = a; x < tw_min(b, 0); ++x) row[x - a] = row[tw_map_mirror(x, n) - a];
  for (int64_t x = tw_max(a, n); x < b; ++x) row[x - a] = row[tw_map_mirror(x, n) - a];
}

static inline float *tw_row_G1(char *own, int64_t y, int64_t n0) {
  if (y < 0) y = tw_map_mirror(y, n0);
  else if (y >= n0) y = tw_map_mirror(y, n0);
  return (float *)(own + 0) + tw_floormod(y, 1) * 80;
}

static void tw_fetch_G1(float *to, const float *from, int64_t a, int64_t b, int64_t n) {
  const int64_t low = tw_max(a, 0), high = tw_min(b, n);
  if (high > low) memcpy(to + (low - a), from + low, (size_t)(high - low) * sizeof(float));
  tw_ends_G1(to, a, b, n);
}
