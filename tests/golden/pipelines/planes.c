/* pipeline planes, float32, border reflect, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, tw_map_reflect(), tw_p0(), omp_get_thread_num(), tw_me(), tw_put(),
     tw_done(), tw_row_G1(), tw_fetch_G1(), tw() */

static void tw_tile(void *const *array, const int64_t *size, char *own, const double *scalar,
                              int64_t ya, int64_t yb, int64_t l0, int64_t l1, int64_t x0, int64_t x1) {
  const int64_t n0 = size[3]; const int64_t n1 = size[4]; const int64_t n2 = size[5];
  const int64_t stream = size[2];
  const float *const in_G1 = array[0];
  const int64_t in_G1_s0 = size[6], in_G1_s1 = size[7];
  float *const to_G2 = array[1];
  const int64_t to_G2_s0 = size[8], to_G2_s1 = size[9];
  const int64_t edge = x0 < 0 || x1 + 16 > n2;
  int64_t first = tw_max(0, ya - 1) + 0, stop = tw_min(n0, yb + 1) + 0;
  first = tw_min(first, tw_max(0, ya - 0) + 1); stop = tw_max(stop, tw_min(n0, yb + 0) + 1);
  for (int64_t at = first; at < stop; at += 1) {
    {
      for (int64_t y = tw_max(at, tw_max(0, ya - 1)); y < tw_min(at + 1, tw_min(n0, yb + 1)); ++y)
          for (int64_t l = tw_max(0, l0 - 0); l < tw_min(n1, l1 + 0); ++l)
            tw_fetch_G1(tw_row_G1(own, y, n0, l, n1, l0), in_G1 + y * in_G1_s0 + l * in_G1_s1, x0 - 0, x1 + 0, n2);
    }

    {
      const int64_t y0 = at - 1, low = tw_max(0, ya - 0), high = tw_min(n0, yb + 0);
      if (y0 + 1 > low && y0 < high) {
        const int64_t xs = tw_max(0, x0 - 0), n = tw_min(n2, x1 + 0) - xs;
        const float *in[3];
        float *out[1];
        for (int64_t l = tw_max(0, l0 - 0); l < tw_min(n1, l1 + 0); ++l) {
          for (int j = 0; j < 3; ++j) in[0 + j] = tw_row_G1(own, y0 + -1 + j / 1, n0, l + 0 + j % 1, n1, l0) + (xs - (x0 - 0));
          out[0] = (float *)(own + 576) + tw_floormod(y0, 1) * 48 + (l - l0 + 0) * 48 + (xs - (x0 - 0));
          tw_p0(in, out, n, scalar);
          if (y0 >= ya && y0 < yb && l >= l0 && l < l1)
            tw_put((char *)(to_G2 + y0 * to_G2_s0 + l * to_G2_s1 + x0), (const char *)(out[0] + (x0 - xs)), (x1 - x0) * (int64_t)sizeof(float), stream);
        }
      }
    }
  }
  (void)stream;
}
