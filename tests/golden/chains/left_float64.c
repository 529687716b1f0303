/* (A1 A2) A3 with A1 A2 in tiles, float64
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_U8, tw_pick_f64(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_splat_v_f64(), omp_get_thread_num(), tw_thread() */

static void micro1_1(int64_t k, const double *a, int64_t sa, const double *b, double *c, int64_t sc, int64_t add) {
  tw_v_f64 c0_0 = tw_splat_v_f64(0.0);
  if (add != 0) {
    c0_0 = *(const tw_u_f64 *)(c + 0);
  }
  for (int64_t d = 0; d < k; ++d) {
    const double *const row = b + (d * TW_LANES_F64);
    const tw_v_f64 b0 = *(const tw_u_f64 *)(row + 0);
    c0_0 = c0_0 + (a[d] * b0);
  }
  *(tw_u_f64 *)(c + 0) = c0_0;
}

static void micro2_1(int64_t k, const double *a, int64_t sa, const double *b, double *c, int64_t sc, int64_t add) {
  tw_v_f64 c0_0 = tw_splat_v_f64(0.0);
  tw_v_f64 c1_0 = tw_splat_v_f64(0.0);
  if (add != 0) {
    c0_0 = *(const tw_u_f64 *)(c + 0);
    c1_0 = *(const tw_u_f64 *)(c + sc);
  }
  for (int64_t d = 0; d < k; ++d) {
    const double *const row = b + (d * TW_LANES_F64);
    const tw_v_f64 b0 = *(const tw_u_f64 *)(row + 0);
    c0_0 = c0_0 + (a[d] * b0);
    c1_0 = c1_0 + (a[d + sa] * b0);
  }
  *(tw_u_f64 *)(c + 0) = c0_0;
  *(tw_u_f64 *)(c + sc) = c1_0;
}

static void block(int64_t m, int64_t n, int64_t k, const double *a, int64_t sa, const double *b, int64_t pb, double *c,
    int64_t sc, int64_t pc, int64_t add) {
  const int64_t panel_columns = TW_LANES_F64;
  double edge[16];
  for (int64_t k0 = 0; k0 < k; k0 += 16) {
    const int64_t deep = tw_min((k - k0), 16);
    const int more = (add != 0) | (k0 > 0);
    for (int64_t j = 0; j < n; j += panel_columns) {
      const double *const panel = (b + ((j / panel_columns) * pb)) + (k0 * panel_columns);
      double *const target = c + ((j / panel_columns) * pc);
      const int64_t wide = tw_min(panel_columns, (n - j));
      const int64_t vectors = ((wide + TW_LANES_F64) - 1) / TW_LANES_F64;
      for (int64_t i = 0; i < m; i += 2) {
        const int64_t tall = tw_min((m - i), 2);
        const double *const left = (a + (i * sa)) + k0;
        double *const result = target + (i * sc);
        if (wide == (vectors * TW_LANES_F64)) {
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

static void pack(int64_t k, int64_t n, int64_t first, const double *restrict a, int64_t sa, int64_t ta,
    double *restrict panel) {
  const int64_t columns = TW_LANES_F64;
  const int64_t wide = tw_min(columns, (n - first));
  for (int64_t i = 0; i < k; ++i) {
    const double *const row = (a + (i * sa)) + (first * ta);
    double *const to = panel + (i * columns);
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
      to[j] = 0.0;
    }
  }
}

void tw_fused_left(uint8_t *const *array, const int64_t *size, double *work, uint8_t *unused) {
  int64_t tw_last_round = INT64_MAX;
  const double *const a1 = ((const double *)array[0]);
  const double *const a2 = ((const double *)array[1]);
  const double *const a3 = ((const double *)array[2]);
  double *const r = ((double *)array[3]);
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
  const int64_t panel = TW_LANES_F64;
  const int64_t columns = (((y + panel) - 1) / panel) * panel;
  const int64_t per = ((y + panel) - 1) / panel;
  const int64_t full = p2 / y;
  const int64_t second = (full * per) + ((((p2 - (full * y)) + panel) - 1) / panel);
  const int64_t third = ((p3 + panel) - 1) / panel;
  double *const packed2 = work;
  double *const packed3 = packed2 + ((second * panel) * p1);
  double *const tiles = packed3 + ((third * panel) * p2);
  #pragma omp parallel num_threads(size[12])
  {
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    #pragma omp for schedule(static)
    for (int64_t n = 0; n < second; ++n) {
      if (!tw_wanted(&tw_own)) continue;
      const int64_t j0 = (n / per) * y;
      pack(p1, tw_min(y, (p2 - j0)), (n % per) * panel, a2 + (j0 * t2), s2, t2, packed2 + ((n * panel) * p1));
    }
    #pragma omp for schedule(static)
    for (int64_t n = 0; n < third; ++n) {
      if (!tw_wanted(&tw_own)) continue;
      pack(p2, p3, n * panel, a3, s3, t3, packed3 + ((n * panel) * p2));
    }
    #pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < p0; i += x) {
      if (!tw_wanted(&tw_own)) continue;
      const int64_t tall = tw_min(x, (p0 - i));
      double *const tile = tiles + ((tw_thread() * x) * columns);
      for (int64_t j = 0; j < p2; j += y) {
        if (tw_wanted(&tw_own)) {
          const int64_t wide = tw_min(y, (p2 - j));
          block(tall, (((wide + TW_LANES_F64) - 1) / TW_LANES_F64) * TW_LANES_F64, p1, a1 + (i * s1), s1, packed2 + ((((j / y) * per) * panel) * p1), panel * p1, tile, columns, panel, 0);
          block(tall, p3, wide, tile, columns, packed3 + (j * panel), panel * p2, r + (i * sr), sr, panel, j > 0);
        }
      }
    }
  }
}
