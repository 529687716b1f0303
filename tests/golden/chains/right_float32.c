/* A1 (A2 A3) with A2 A3 in tiles, float32
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_U8, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_splat_v_f32(), omp_get_thread_num(), tw_thread() */

static void micro1_1(int64_t k, const float *a, int64_t sa, const float *b, float *c, int64_t sc, int64_t add) {
  tw_v_f32 c0_0 = tw_splat_v_f32(0.0f);
  if (add != 0) {
    c0_0 = *(const tw_u_f32 *)(c + 0);
  }
  for (int64_t d = 0; d < k; ++d) {
    const float *const row = b + (d * TW_LANES_F32);
    const tw_v_f32 b0 = *(const tw_u_f32 *)(row + 0);
    c0_0 = c0_0 + (a[d] * b0);
  }
  *(tw_u_f32 *)(c + 0) = c0_0;
}

static void micro2_1(int64_t k, const float *a, int64_t sa, const float *b, float *c, int64_t sc, int64_t add) {
  tw_v_f32 c0_0 = tw_splat_v_f32(0.0f);
  tw_v_f32 c1_0 = tw_splat_v_f32(0.0f);
  if (add != 0) {
    c0_0 = *(const tw_u_f32 *)(c + 0);
    c1_0 = *(const tw_u_f32 *)(c + sc);
  }
  for (int64_t d = 0; d < k; ++d) {
    const float *const row = b + (d * TW_LANES_F32);
    const tw_v_f32 b0 = *(const tw_u_f32 *)(row + 0);
    c0_0 = c0_0 + (a[d] * b0);
    c1_0 = c1_0 + (a[d + sa] * b0);
  }
  *(tw_u_f32 *)(c + 0) = c0_0;
  *(tw_u_f32 *)(c + sc) = c1_0;
}

static void block(int64_t m, int64_t n, int64_t k, const float *a, int64_t sa, const float *b, int64_t pb, float *c,
    int64_t sc, int64_t pc, int64_t add) {
  const int64_t panel_columns = TW_LANES_F32;
  float edge[32];
  for (int64_t k0 = 0; k0 < k; k0 += 16) {
    const int64_t deep = tw_min((k - k0), 16);
    const int more = (add != 0) | (k0 > 0);
    for (int64_t j = 0; j < n; j += panel_columns) {
      const float *const panel = (b + ((j / panel_columns) * pb)) + (k0 * panel_columns);
      float *const target = c + ((j / panel_columns) * pc);
      const int64_t wide = tw_min(panel_columns, (n - j));
      const int64_t vectors = ((wide + TW_LANES_F32) - 1) / TW_LANES_F32;
      for (int64_t i = 0; i < m; i += 2) {
        const int64_t tall = tw_min((m - i), 2);
        const float *const left = (a + (i * sa)) + k0;
        float *const result = target + (i * sc);
        if (wide == (vectors * TW_LANES_F32)) {
          if ((tall == 2) & (vectors == 1)) {
            micro2_1(deep, left, sa, panel, result, sc, more);
          } else {
            if ((tall == 1) & (vectors == 1)) {
              micro1_1(deep, left, sa, panel, result, sc, more);
            }
          }
        } else {
          if (more) {
            for (int64_t r = 0; r < tall; ++r) {
              for (int64_t q = 0; q < wide; ++q) {
                edge[(r * panel_columns) + q] = result[(r * sc) + q];
              }
            }
          }
          if ((tall == 2) & (vectors == 1)) {
            micro2_1(deep, left, sa, panel, edge, panel_columns, more);
          } else {
            if ((tall == 1) & (vectors == 1)) {
              micro1_1(deep, left, sa, panel, edge, panel_columns, more);
            }
          }
          for (int64_t r = 0; r < tall; ++r) {
            for (int64_t q = 0; q < wide; ++q) {
              result[(r * sc) + q] = edge[(r * panel_columns) + q];
            }
          }
        }
      }
    }
  }
}

static void pack(int64_t k, int64_t n, int64_t first, const float *restrict a, int64_t sa, int64_t ta,
    float *restrict panel) {
  const int64_t columns = TW_LANES_F32;
  const int64_t wide = tw_min(columns, (n - first));
  for (int64_t i = 0; i < k; ++i) {
    const float *const row = (a + (i * sa)) + (first * ta);
    float *const to = panel + (i * columns);
    if (ta == 1) {
      for (int64_t j = 0; j < wide; ++j) {
        to[j] = row[j];
      }
    } else {
      for (int64_t j = 0; j < wide; ++j) {
        to[j] = row[j * ta];
      }
    }
    for (int64_t j = wide; j < columns; ++j) {
      to[j] = 0.0f;
    }
  }
}

void tw_fused_right(uint8_t *const *array, const int64_t *size, float *work, uint8_t *unused) {
  int64_t tw_last_round = INT64_MAX;
  const float *const a1 = ((const float *)array[0]);
  const float *const a2 = ((const float *)array[1]);
  const float *const a3 = ((const float *)array[2]);
  float *const r = ((float *)array[3]);
  const int64_t p0 = size[0];
  const int64_t p1 = size[1];
  const int64_t p2 = size[2];
  const int64_t p3 = size[3];
  const int64_t s1 = size[4];
  const int64_t s2 = size[5];
  const int64_t t2 = size[6];
  const int64_t s3 = size[7];
  const int64_t t3 = size[8];
  const int64_t sr = size[9];
  const int64_t x = size[10];
  const int64_t y = size[11];
  const int64_t panel = TW_LANES_F32;
  const int64_t columns = (((y + panel) - 1) / panel) * panel;
  #pragma omp parallel num_threads(size[12])
  {
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    #pragma omp for schedule(dynamic, 1)
    for (int64_t j = 0; j < p3; j += y) {
      if (!tw_wanted(&tw_own)) continue;
      const int64_t wide = tw_min(y, (p3 - j));
      float *const own = work + ((tw_thread() * (p2 + x)) * columns);
      float *const tile = own + (p2 * columns);
      for (int64_t n = 0; n < (((wide + panel) - 1) / panel); ++n) {
        pack(p2, wide, n * panel, a3 + (j * t3), s3, t3, own + ((n * panel) * p2));
      }
      for (int64_t i = 0; i < p1; i += x) {
        if (tw_wanted(&tw_own)) {
          const int64_t tall = tw_min(x, (p1 - i));
          block(tall, (((wide + TW_LANES_F32) - 1) / TW_LANES_F32) * TW_LANES_F32, p2, a2 + (i * s2), s2, own, panel * p2, tile, panel, x * panel, 0);
          block(p0, wide, tall, a1 + i, s1, tile, x * panel, r + j, sr, panel, i > 0);
        }
      }
    }
  }
}
