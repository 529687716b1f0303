/* pipeline converted, int16, border reflect, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, TW_LANES_I16, TW_LANES_U8, tw_into_u8_f32(), tw_into_u8_f64(),
     tw_into_u16_f32(), tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(), tw_fence(), tw_floor_v_f32(),
     tw_from_int16_v_f32(), tw_into_uint8_v_f32(), tw_prefetch_near, tw_put(), omp_get_thread_num(),
     tw_thread(), tw_map_reflect(), tw_row_G1(), tw_row_G3(), tw() */

static __attribute__((optimize("O3"))) void tw_fetch_G1(int16_t *to, const int16_t *from, int64_t a,
    int64_t b, int64_t n) {
#pragma GCC ivdep
  for (int64_t x = tw_max(a, 0); x < tw_min(b, n); ++x) {
    to[x - a] = from[x];
  }
}

static void tw_p0(const int16_t *const *in, uint8_t *const *out, int64_t n, const double *scalar) {
  const int16_t *const p0 = in[0];
  uint8_t *const q0 = out[0];
  const float c_part = scalar[0];
  for (int64_t i = 0; i < n; i += TW_LANES_F32) {
    const tw_v_f32 r0 = tw_from_int16_v_f32(p0 + i);
    const tw_v_f32 t1_0_0 = r0;
    const tw_v_f32 t1_0_2 = t1_0_0 * c_part;
    tw_into_uint8_v_f32(q0 + i, tw_floor_v_f32(t1_0_2));
  }
}

static void tw_tile(uint8_t *const *array, const int64_t *size, uint8_t *own, const double *scalar,
    int64_t ya, int64_t yb, int64_t x0, int64_t x1) {
  const int64_t n0 = size[3];
  const int64_t n1 = size[4];
  const int64_t stream = size[2];
  const int16_t *const in_G1 = ((const int16_t *)array[0]);
  const int64_t in_G1_s0 = size[5];
  uint8_t *const to_G4 = array[1];
  const int64_t to_G4_s0 = size[6];
  const int edge = (x0 < 0) | ((x1 + 32) > n1);
  int64_t first = tw_max(ya, 0);
  int64_t stop = tw_min(n0, yb);
  first = tw_min(first, tw_max(ya, 0));
  stop = tw_max(stop, tw_min(n0, yb));
  for (int64_t at = first; at < stop; ++at) {
    if (edge) {
      for (int64_t y = tw_max(at, tw_max(ya, 0)); y < tw_min((at + 1), tw_min(n0, yb)); ++y) {
        tw_fetch_G1(tw_row_G1(own, y, n0), in_G1 + (y * in_G1_s0), x0, x1, n1);
      }
    } else {
      for (int64_t y = tw_max((at + 1), tw_max(ya, 0)); y < tw_min((at + 2), tw_min(n0, yb)); ++y) {
        const int16_t *const row = in_G1 + (y * in_G1_s0);
        for (int64_t x = x0; x < x1; x += 32) {
          tw_prefetch_near(row + x);
        }
      }
    }
    {
      const int64_t y0 = at;
      if (((y0 + 1) > tw_max(ya, 0)) & (y0 < tw_min(n0, yb))) {
        const int64_t xs = tw_max(x0, 0);
        const int64_t n = tw_min(n1, x1) - xs;
        const int16_t * in[1];
        uint8_t * out[1];
        if (edge) {
          const int64_t shift_G1 = xs - x0;
          if ((y0 >= 0) & (y0 < n0)) {
            int64_t k = tw_floormod(y0, 1);
            for (int64_t j = 0; j < 1; ++j) {
              in[j] = (((int16_t *)own) + (k * 96)) + shift_G1;
              k = (((k + 1) == 1) ? 0 : (k + 1));
            }
          } else {
            for (int64_t j = 0; j < 1; ++j) {
              in[j] = tw_row_G1(own, y0 + j, n0) + shift_G1;
            }
          }
        } else {
          for (int64_t j = 0; j < 1; ++j) {
            int64_t y = y0 + j;
            y = ((y < 0) ? tw_map_reflect(y, n0) : y);
            y = ((y >= n0) ? tw_map_reflect(y, n0) : y);
            in[j] = (in_G1 + (y * in_G1_s0)) + xs;
          }
        }
        for (int64_t r = 0; r < 1; ++r) {
          out[r] = ((own + 384) + (tw_floormod((y0 + r), 1) * 192)) + (xs - x0);
        }
        tw_p0(in, out, n, scalar);
        for (int64_t y = tw_max(y0, ya); y < tw_min((y0 + 1), yb); ++y) {
          tw_put((to_G4 + (y * to_G4_s0)) + x0, out[y - y0] + (x0 - xs), x1 - x0, stream);
        }
      }
    }
  }
}
