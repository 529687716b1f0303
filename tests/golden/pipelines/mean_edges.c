/* pipeline mean_edges, float32, border nearest, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, TW_LANES_U8, tw_pick_f32(), tw_abs_v_f32(), tw_last(), tw_wanted(),
     tw_goes_on(), tw_fence(), tw_prefetch_near, tw_put(), omp_get_thread_num(), tw_thread(),
     tw_map_nearest(), tw_ends_G1(), tw_row_G1(), tw_row_G2(), tw_fetch_G1(), tw() */

static void tw_p0(const float *const *in, float *const *out, int64_t n, const double *scalar) {
  const float *const p0 = in[0];
  float *const q0 = out[0];
  for (int64_t i = 0; i < n; i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(p0 + (i - 1));
    const tw_v_f32 t0_0_0 = r0;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(p0 + i);
    const tw_v_f32 t0_0_1 = r1;
    const tw_v_f32 t0_0_2 = t0_0_0 + t0_0_1;
    const tw_v_f32 r2 = *(const tw_u_f32 *)(p0 + (i + 1));
    const tw_v_f32 t0_0_3 = r2;
    const tw_v_f32 t0_0_4 = t0_0_2 + t0_0_3;
    const tw_v_f32 t0_0_6 = t0_0_4 / 3.0f;
    *(tw_u_f32 *)(q0 + i) = t0_0_6;
  }
}

static void tw_p1(const float *const *in, float *const *out, int64_t n, const double *scalar) {
  const float *const p0 = in[0];
  const float *const p1 = in[1];
  const float *const p2 = in[2];
  const float *const p3 = in[3];
  float *const q0 = out[0];
  for (int64_t i = 0; i < n; i += TW_LANES_F32) {
    const tw_v_f32 r0 = *(const tw_u_f32 *)(p3 + i);
    const tw_v_f32 t1_0_0 = r0;
    const tw_v_f32 r1 = *(const tw_u_f32 *)(p1 + i);
    const tw_v_f32 t1_0_1 = r1;
    const tw_v_f32 t1_0_2 = t1_0_0 - t1_0_1;
    const tw_v_f32 t1_0_3 = tw_abs_v_f32(t1_0_2);
    const tw_v_f32 r2 = *(const tw_u_f32 *)(p0 + i);
    const tw_v_f32 t1_0_4 = r2;
    const tw_v_f32 t1_0_5 = t1_0_3 + t1_0_4;
    *(tw_u_f32 *)(q0 + i) = t1_0_5;
  }
}

static void tw_tile(uint8_t *const *array, const int64_t *size, uint8_t *own, const double *scalar,
    int64_t ya, int64_t yb, int64_t x0, int64_t x1) {
  const int64_t n0 = size[3];
  const int64_t n1 = size[4];
  const int64_t stream = size[2];
  const float *const in_G1 = ((const float *)array[0]);
  const int64_t in_G1_s0 = size[5];
  float *const to_G3 = ((float *)array[1]);
  const int64_t to_G3_s0 = size[6];
  const int edge = (x0 < 1) | ((x1 + 17) > n1);
  int64_t first = tw_max((ya - 1), 0);
  int64_t stop = tw_min(n0, (yb + 1));
  first = tw_min(first, tw_max((ya - 1), 0));
  stop = tw_max(stop, tw_min(n0, (yb + 1)));
  first = tw_min(first, (tw_max(ya, 0) + 1));
  stop = tw_max(stop, (tw_min(n0, yb) + 1));
  for (int64_t at = first; at < stop; ++at) {
    if (edge) {
      for (int64_t y = tw_max(at, tw_max((ya - 1), 0)); y < tw_min((at + 1), tw_min(n0, (yb + 1))); ++y) {
        tw_fetch_G1(tw_row_G1(own, y, n0), in_G1 + (y * in_G1_s0), x0 - 1, x1 + 1, n1);
      }
    } else {
      for (int64_t y = tw_max((at + 1), tw_max((ya - 1), 0)); y < tw_min((at + 2), tw_min(n0, (yb + 1))); ++y) {
        const float *const row = in_G1 + (y * in_G1_s0);
        for (int64_t x = x0 - 1; x < (x1 + 1); x += 16) {
          tw_prefetch_near(row + x);
        }
      }
    }
    {
      const int64_t y0 = at;
      if (((y0 + 1) > tw_max((ya - 1), 0)) & (y0 < tw_min(n0, (yb + 1)))) {
        const int64_t xs = tw_max(x0, 0);
        const int64_t n = tw_min(n1, x1) - xs;
        const float * in[1];
        float * out[1];
        if (edge) {
          const int64_t shift_G1 = xs - (x0 - 1);
          if ((y0 >= 0) & (y0 < n0)) {
            int64_t k = tw_floormod(y0, 2);
            for (int64_t j = 0; j < 1; ++j) {
              in[j] = (((float *)own) + (k * 80)) + shift_G1;
              k = (((k + 1) == 2) ? 0 : (k + 1));
            }
          } else {
            for (int64_t j = 0; j < 1; ++j) {
              in[j] = tw_row_G1(own, y0 + j, n0) + shift_G1;
            }
          }
        } else {
          for (int64_t j = 0; j < 1; ++j) {
            int64_t y = y0 + j;
            y = ((y < 0) ? tw_map_nearest(y, n0) : y);
            y = ((y >= n0) ? tw_map_nearest(y, n0) : y);
            in[j] = (in_G1 + (y * in_G1_s0)) + xs;
          }
        }
        for (int64_t r = 0; r < 1; ++r) {
          out[r] = (((float *)(own + 640)) + (tw_floormod((y0 + r), 3) * 48)) + (xs - x0);
        }
        tw_p0(in, out, n, scalar);
      }
    }
    {
      const int64_t y0 = at - 1;
      if (((y0 + 1) > tw_max(ya, 0)) & (y0 < tw_min(n0, yb))) {
        const int64_t xs = tw_max(x0, 0);
        const int64_t n = tw_min(n1, x1) - xs;
        const float * in[4];
        float * out[1];
        if (edge) {
          const int64_t shift_G1 = xs - (x0 - 1);
          if ((y0 >= 0) & (y0 < n0)) {
            int64_t k = tw_floormod(y0, 2);
            for (int64_t j = 0; j < 1; ++j) {
              in[j] = (((float *)own) + (k * 80)) + shift_G1;
              k = (((k + 1) == 2) ? 0 : (k + 1));
            }
          } else {
            for (int64_t j = 0; j < 1; ++j) {
              in[j] = tw_row_G1(own, y0 + j, n0) + shift_G1;
            }
          }
        } else {
          for (int64_t j = 0; j < 1; ++j) {
            int64_t y = y0 + j;
            y = ((y < 0) ? tw_map_nearest(y, n0) : y);
            y = ((y >= n0) ? tw_map_nearest(y, n0) : y);
            in[j] = (in_G1 + (y * in_G1_s0)) + xs;
          }
        }
        const int64_t shift_G2 = xs - x0;
        if (((y0 - 1) >= 0) & ((y0 + 1) < n0)) {
          int64_t k = tw_floormod((y0 - 1), 3);
          for (int64_t j = 0; j < 3; ++j) {
            in[j + 1] = (((float *)(own + 640)) + (k * 48)) + shift_G2;
            k = (((k + 1) == 3) ? 0 : (k + 1));
          }
        } else {
          for (int64_t j = 0; j < 3; ++j) {
            in[j + 1] = tw_row_G2(own, (y0 - 1) + j, n0) + shift_G2;
          }
        }
        for (int64_t r = 0; r < 1; ++r) {
          out[r] = (((float *)(own + 1216)) + (tw_floormod((y0 + r), 1) * 48)) + (xs - x0);
        }
        tw_p1(in, out, n, scalar);
        for (int64_t y = tw_max(y0, ya); y < tw_min((y0 + 1), yb); ++y) {
          tw_put((to_G3 + (y * to_G3_s0)) + x0, out[y - y0] + (x0 - xs), (x1 - x0) * 4, stream);
        }
      }
    }
  }
}
