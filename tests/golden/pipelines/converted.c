/* pipeline converted, int16, border reflect, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, tw_map_reflect(), omp_get_thread_num(), tw_me(), tw_put(),
     tw_done(), tw_row_G1(), tw_row_G2(), tw_row_G3(), tw() */

static void tw_p1(const float *const *in, float *const *out, int64_t n, const double *scalar) {
  const float *const p0 = in[0];
  float *const q0 = out[0];
  const float c_part = scalar[0];
  for (int64_t i = 0; i < n; i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(p0 + i);
    const tw_v_f32 t1_0_0 = r0;
    const tw_v_f32 t1_0_2 = t1_0_0 * c_part;
    *(tw_u_f32 *)(q0 + i) = t1_0_2;
  }
}

static inline float tw_p0_one(int16_t x) {
  return (float)x;
}
__attribute__((optimize("O3"))) static void tw_p0(const int16_t *const *in, float *const *out, int64_t n,
                                                   const double *scalar) {
  (void)scalar;
  for (int r = 0; r < 1; ++r) {
    const int16_t *restrict from = in[r];
    float *restrict to = out[r];
    for (int64_t i = 0; i < n; ++i) to[i] = tw_p0_one(from[i]);
  }
}

static inline uint8_t tw_p2_one(float x) {
  if (x != x) return 0;
  if (x >= 256.0f) return 255;
  if (x <= -1.0f) return (1 - 1);
  const float whole = __builtin_floorf(x);
  return whole > (float)255 ? 255 : whole < (float)(1 - 1) ? (1 - 1) : (uint8_t)whole;
}
__attribute__((optimize("O3"))) static void tw_p2(const float *const *in, uint8_t *const *out, int64_t n,
                                                   const double *scalar) {
  (void)scalar;
  for (int r = 0; r < 1; ++r) {
    const float *restrict from = in[r];
    uint8_t *restrict to = out[r];
    for (int64_t i = 0; i < n; ++i) to[i] = tw_p2_one(from[i]);
  }
}

static void tw_fetch_G1(int16_t *to, const int16_t *from, int64_t a, int64_t b, int64_t n) {
  const int64_t low = tw_max(a, 0), high = tw_min(b, n);
  if (high > low) memcpy(to + (low - a), from + low, (size_t)(high - low) * sizeof(int16_t));
}

static void tw_tile(void *const *array, const int64_t *size, char *own, const double *scalar,
                              int64_t ya, int64_t yb, int64_t x0, int64_t x1) {
  const int64_t n0 = size[3]; const int64_t n1 = size[4];
  const int64_t stream = size[2];
  const int16_t *const in_G1 = array[0];
  const int64_t in_G1_s0 = size[5];
  uint8_t *const to_G4 = array[1];
  const int64_t to_G4_s0 = size[6];
  const int64_t edge = x0 < 0 || x1 + 32 > n1;
  int64_t first = tw_max(0, ya - 0) + 0, stop = tw_min(n0, yb + 0) + 0;
  first = tw_min(first, tw_max(0, ya - 0) + 0); stop = tw_max(stop, tw_min(n0, yb + 0) + 0);
  first = tw_min(first, tw_max(0, ya - 0) + 0); stop = tw_max(stop, tw_min(n0, yb + 0) + 0);
  first = tw_min(first, tw_max(0, ya - 0) + 0); stop = tw_max(stop, tw_min(n0, yb + 0) + 0);
  for (int64_t at = first; at < stop; at += 1) {
    if (edge) {
      for (int64_t y = tw_max(at, tw_max(0, ya - 0)); y < tw_min(at + 1, tw_min(n0, yb + 0)); ++y)
          tw_fetch_G1(tw_row_G1(own, y, n0), in_G1 + y * in_G1_s0, x0 - 0, x1 + 0, n1);
    }
    else {
      for (int64_t y = tw_max(at + 1, tw_max(0, ya - 0)); y < tw_min(at + 2, tw_min(n0, yb + 0)); ++y)
        for (int64_t x = x0 - 0; x < x1 + 0; x += 32)
          __builtin_prefetch(in_G1 + y * in_G1_s0 + x, 0, 3);
    }

    {
      const int64_t y0 = at - 0, low = tw_max(0, ya - 0), high = tw_min(n0, yb + 0);
      if (y0 + 1 > low && y0 < high) {
        const int64_t xs = tw_max(0, x0 - 0), n = tw_min(n1, x1 + 0) - xs;
        const int16_t *in[1];
        float *out[1];
        if (edge) {
          if (y0 + 0 >= 0 && y0 + 0 < n0) {
            int64_t k = tw_floormod(y0 + 0, 1);
            for (int j = 0; j < 1; ++j) { in[0 + j] = ((int16_t *)(own + 0)) + k * 96 + (xs - (x0 - 0)); k = k + 1 == 1 ? 0 : k + 1; }
          } else
            for (int j = 0; j < 1; ++j) in[0 + j] = tw_row_G1(own, y0 + 0 + j, n0) + (xs - (x0 - 0));
        } else {
          for (int j = 0; j < 1; ++j) {
            int64_t y = y0 + 0 + j;
            if (y < 0) y = tw_map_reflect(y, n0);
            if (y >= n0) y = tw_map_reflect(y, n0);
            in[0 + j] = in_G1 + y * in_G1_s0 + xs;
          }
        }
        for (int r = 0; r < 1; ++r) out[0 + r] = (float *)(own + 192) + tw_floormod(y0 + r, 1) * 48 + (xs - (x0 - 0));
        tw_p0(in, out, n, scalar);
      }
    }
    {
      const int64_t y0 = at - 0, low = tw_max(0, ya - 0), high = tw_min(n0, yb + 0);
      if (y0 + 1 > low && y0 < high) {
        const int64_t xs = tw_max(0, x0 - 0), n = tw_min(n1, x1 + 0) - xs;
        const float *in[1];
        float *out[1];
        {
          if (y0 + 0 >= 0 && y0 + 0 < n0) {
            int64_t k = tw_floormod(y0 + 0, 1);
            for (int j = 0; j < 1; ++j) { in[0 + j] = ((float *)(own + 192)) + k * 48 + (xs - (x0 - 0)); k = k + 1 == 1 ? 0 : k + 1; }
          } else
            for (int j = 0; j < 1; ++j) in[0 + j] = tw_row_G2(own, y0 + 0 + j, n0) + (xs - (x0 - 0));
        }
        for (int r = 0; r < 1; ++r) out[0 + r] = (float *)(own + 384) + tw_floormod(y0 + r, 1) * 48 + (xs - (x0 - 0));
        tw_p1(in, out, n, scalar);
      }
    }
    {
      const int64_t y0 = at - 0, low = tw_max(0, ya - 0), high = tw_min(n0, yb + 0);
      if (y0 + 1 > low && y0 < high) {
        const int64_t xs = tw_max(0, x0 - 0), n = tw_min(n1, x1 + 0) - xs;
        const float *in[1];
        uint8_t *out[1];
        {
          if (y0 + 0 >= 0 && y0 + 0 < n0) {
            int64_t k = tw_floormod(y0 + 0, 1);
            for (int j = 0; j < 1; ++j) { in[0 + j] = ((float *)(own + 384)) + k * 48 + (xs - (x0 - 0)); k = k + 1 == 1 ? 0 : k + 1; }
          } else
            for (int j = 0; j < 1; ++j) in[0 + j] = tw_row_G3(own, y0 + 0 + j, n0) + (xs - (x0 - 0));
        }
        for (int r = 0; r < 1; ++r) out[0 + r] = (uint8_t *)(own + 576) + tw_floormod(y0 + r, 1) * 192 + (xs - (x0 - 0));
        tw_p2(in, out, n, scalar);
        for (int64_t y = tw_max(y0, ya); y < tw_min(y0 + 1, yb); ++y)
          tw_put((char *)(to_G4 + y * to_G4_s0 + x0), (const char *)(out[0 + (y - y0)] + (x0 - xs)), (x1 - x0) * (int64_t)sizeof(uint8_t), stream);
      }
    }
  }
  (void)stream;
}
