/* pipeline planes, float32, border reflect, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on(), tw_fence(),
     tw_put(), omp_get_thread_num(), tw_thread(), tw_map_reflect(), tw_row_G1(), tw_fetch_G1(), tw_p0(), tw() */

static void tw_tile(uint8_t *const *array, const int64_t *size, uint8_t *own, const double *scalar,
    int64_t ya, int64_t yb, int64_t l0, int64_t l1, int64_t x0, int64_t x1) {
  const int64_t n0 = size[3];
  const int64_t n1 = size[4];
  const int64_t n2 = size[5];
  const int64_t stream = size[2];
  const float *const in_G1 = ((const float *)array[0]);
  const int64_t in_G1_s0 = size[6];
  const int64_t in_G1_s1 = size[7];
  float *const to_G2 = ((float *)array[1]);
  const int64_t to_G2_s0 = size[8];
  const int64_t to_G2_s1 = size[9];
  const int edge = (x0 < 0) | ((x1 + 16) > n2);
  int64_t first = tw_max((ya - 1), 0);
  int64_t stop = tw_min(n0, (yb + 1));
  first = tw_min(first, (tw_max(ya, 0) + 1));
  stop = tw_max(stop, (tw_min(n0, yb) + 1));
  for (int64_t at = first; at < stop; ++at) {
    for (int64_t y = tw_max(at, tw_max((ya - 1), 0)); y < tw_min((at + 1), tw_min(n0, (yb + 1))); ++y) {
      const float *const plane = in_G1 + (y * in_G1_s0);
      for (int64_t l = tw_max(l0, 0); l < tw_min(n1, l1); ++l) {
        tw_fetch_G1(tw_row_G1(own, y, n0, l, n1, l0), plane + (l * in_G1_s1), x0, x1, n2);
      }
    }
    {
      const int64_t y0 = at - 1;
      if (((y0 + 1) > tw_max(ya, 0)) & (y0 < tw_min(n0, yb))) {
        const int64_t xs = tw_max(x0, 0);
        const int64_t n = tw_min(n2, x1) - xs;
        const float * in[3];
        float * out[1];
        for (int64_t l = tw_max(l0, 0); l < tw_min(n1, l1); ++l) {
          for (int64_t j = 0; j < 3; ++j) {
            in[j] = tw_row_G1(own, (y0 - 1) + (j / 1), n0, l + (j % 1), n1, l0) + (xs - x0);
          }
          out[0] = ((((float *)(own + 576)) + (tw_floormod(y0, 1) * 48)) + ((l - l0) * 48)) + (xs - x0);
          tw_p0(in, out, n, scalar);
          if ((((y0 >= ya) & (y0 < yb)) & (l >= l0)) & (l < l1)) {
            tw_put(((to_G2 + (y0 * to_G2_s0)) + (l * to_G2_s1)) + x0, out[0] + (x0 - xs), (x1 - x0) * 4, stream);
          }
        }
      }
    }
  }
}
