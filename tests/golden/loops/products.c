/* products of matrices, columns up to the row, by a blocked kernel
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, tw_pick_f64(), tw_splat_v_f64() */

static void tw_micro_float64_2_2(int64_t k, const double *a, int64_t sa, const double *b, double *c, int64_t sc,
    int64_t add) {
  tw_v_f64 c0_0 = tw_splat_v_f64(0.0);
  tw_v_f64 c0_1 = tw_splat_v_f64(0.0);
  tw_v_f64 c1_0 = tw_splat_v_f64(0.0);
  tw_v_f64 c1_1 = tw_splat_v_f64(0.0);
  if (add != 0) {
    c0_0 = *(const tw_u_f64 *)(c + 0);
    c0_1 = *(const tw_u_f64 *)(c + TW_LANES_F64);
    c1_0 = *(const tw_u_f64 *)(c + sc);
    c1_1 = *(const tw_u_f64 *)(c + (sc + TW_LANES_F64));
  }
  for (int64_t d = 0; d < k; ++d) {
    const double *const row = b + (d * (TW_LANES_F64 * 2));
    const tw_v_f64 b0 = *(const tw_u_f64 *)(row + 0);
    const tw_v_f64 b1 = *(const tw_u_f64 *)(row + TW_LANES_F64);
    c0_0 = c0_0 + (a[d] * b0);
    c0_1 = c0_1 + (a[d] * b1);
    c1_0 = c1_0 + (a[d + sa] * b0);
    c1_1 = c1_1 + (a[d + sa] * b1);
  }
  *(tw_u_f64 *)(c + 0) = c0_0;
  *(tw_u_f64 *)(c + TW_LANES_F64) = c0_1;
  *(tw_u_f64 *)(c + sc) = c1_0;
  *(tw_u_f64 *)(c + (sc + TW_LANES_F64)) = c1_1;
}

static void tw_add_product_float64(int64_t m, int64_t n, int64_t k, const double *a, int64_t sa, const double *b,
    int64_t pb, double *c, int64_t sc, int64_t low, int64_t l, int64_t high, int64_t h) {
  const int64_t wide = TW_LANES_F64 * 2;
  double part[32];
  for (int64_t j = 0; j < n; j += wide) {
    for (int64_t i = 0; i < m; i += 2) {
      const int64_t tall = tw_min((m - i), 2);
      const int64_t last = (i + tall) - 1;
      const int reached = ((j + wide) > tw_min(tw_max((low + (l * i)), 0), tw_max((low + (l * last)), 0))) & (j <= tw_max(tw_min((high + (h * i)), (n - 1)), tw_min((high + (h * last)), (n - 1))));
      const double *const panel = b + ((j / wide) * pb);
      const double *const rows = a + (i * sa);
      if (((j >= tw_max(tw_max((low + (l * i)), 0), tw_max((low + (l * last)), 0))) & ((j + wide) <= (tw_min(tw_min((high + (h * i)), (n - 1)), tw_min((high + (h * last)), (n - 1))) + 1))) & (tall == 2)) {
        tw_micro_float64_2_2(k, rows, sa, panel, (c + (i * sc)) + j, sc, 1);
      } else {
        if (reached) {
          tw_micro_float64_2_2(k, rows, sa, panel, part, wide, 0);
          for (int64_t r = 0; r < tall; ++r) {
            double *const row = c + ((i + r) * sc);
            for (int64_t q = tw_max(tw_max((low + (l * (i + r))), 0), j); q < tw_min((tw_min((high + (h * (i + r))), (n - 1)) + 1), (j + wide)); ++q) {
              row[q] = row[q] + part[(r * wide) + (q - j)];
            }
          }
        }
      }
    }
  }
}
  {
  {
    const int64_t tw_row = 0, tw_rows = (N - 1) - tw_row + 1;
    const int64_t tw_column = 0, tw_columns = (tw_row > tw_row + tw_rows - 1 ? tw_row : tw_row + tw_rows - 1) - tw_column + 1;
    const int64_t tw_inner = 0, tw_depth = (M - 1) - tw_inner + 1;
    const int64_t tw_deep = tw_depth < 64 ? tw_depth : 64;
    const int64_t tw_wide = (2 * (int64_t)(TW_BYTES / 8));
    const int64_t tw_tall = (tw_rows + 1) / 2 * 2;
    const int64_t tw_panels = (tw_columns + tw_wide - 1) / tw_wide;
    double *tw_left = 0;
    if (tw_rows > 0 && tw_columns > 0 && tw_depth > 0) {
      tw_left = (double *)malloc((size_t)((tw_tall + tw_panels * tw_wide) * tw_deep) * sizeof(double));
    }
    if (tw_left) {
      double *const tw_right = tw_left + tw_tall * tw_deep, *const tw_to = &C[tw_row][tw_column];
      const int64_t tw_apart = &C[tw_row + 1][tw_column] - tw_to;
      for (int64_t tw_k = 0; tw_k < tw_depth; tw_k += 64) {
        const int64_t tw_n = tw_depth - tw_k < 64 ? tw_depth - tw_k : 64;
#pragma omp parallel
        {
#pragma omp for schedule(static) nowait
          for (int64_t tw_i = 0; tw_i < tw_tall; tw_i++) {
            const int i = tw_row + tw_i;
            if (tw_i < tw_rows && 0 <= i) {
              for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) {
                const int k = tw_inner + tw_k + tw_d;
                tw_left[tw_i * tw_n + tw_d] = 2.0 * A[i][k];
              }
            } else {
              for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) tw_left[tw_i * tw_n + tw_d] = 0;
            }
          }
#pragma omp for schedule(static)
          for (int64_t tw_p = 0; tw_p < tw_panels; tw_p++) {
            const int64_t tw_from = tw_p * tw_wide;
            const int64_t tw_some = tw_columns - tw_from < tw_wide ? tw_columns - tw_from : tw_wide;
            for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) {
              const int k = tw_inner + tw_k + tw_d;
              double *const tw_line = tw_right + (tw_p * tw_n + tw_d) * tw_wide;
              for (int64_t tw_j = 0; tw_j < tw_some; tw_j++) {
                const int j = tw_column + tw_from + tw_j;
                tw_line[tw_j] = A[j][k];
              }
              for (int64_t tw_j = tw_some; tw_j < tw_wide; tw_j++) tw_line[tw_j] = 0;
            }
          }
#pragma omp for schedule(dynamic, 1)
          for (int64_t tw_r = 0; tw_r < tw_rows; tw_r += 12) {
            const int64_t tw_m = tw_rows - tw_r < 12 ? tw_rows - tw_r : 12;
            tw_add_product_float64(tw_m, tw_columns, tw_n, tw_left + tw_r * tw_n, tw_n, tw_right,
                tw_n * tw_wide, tw_to + tw_r * tw_apart, tw_apart, 0, 0, (tw_row + tw_r) - tw_column, 1);
          }
        }
      }
      free(tw_left);
    } else {
      {
        for (int i = 0; i <= N - 1; i++) {
          for (int j = 0; j <= i; j++) {
            for (int k = 0; k <= M - 1; k++) {
              C[i][j] += 2.0 * A[i][k] * A[j][k];
            }
          }
        }
      }
    }
  }
  }
