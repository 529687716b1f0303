/* lcs, int32
   starts as every text of its language does, see prelude/
   not shown: GCC, TW_LANES_I32, TW_LANES_I64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on(),
     sched_yield(), tw_await(), tw_maximum_i32(), tw_publish(), omp_get_thread_num(), tw_thread(),
     omp_get_num_threads(), tw_threads(), tw_where_i32() */

static inline void tw_table_lcs_cells(const int32_t *restrict c_1, const int32_t *restrict c_2,
    int32_t *restrict c_0, const int32_t *restrict at_a, const int32_t *restrict at_b, int64_t low, int64_t high,
    int64_t n) {
#pragma GCC ivdep
  for (int64_t r = low; r < (high + 1); ++r) {
    const int32_t v0_0 = c_1[r - 1];
    const int32_t v0_1 = c_1[r];
    const int32_t v0_2 = tw_maximum_i32(v0_0, v0_1);
    const int32_t v0_3 = c_2[r - 1];
    const int32_t v0_4 = at_a[r];
    const int32_t v0_5 = at_b[r];
    const int v0_6 = v0_4 == v0_5;
    const int32_t v0_9 = tw_where_i32(v0_6, 1, 0);
    const int32_t v0_10 = v0_3 + v0_9;
    const int32_t v0_11 = tw_maximum_i32(v0_2, v0_10);
    const int32_t now_c = v0_11;
    c_0[r] = now_c;
  }
}

static void tw_table_lcs_keep(int32_t *restrict whole, int64_t n, const int32_t *restrict kept,
    int64_t apart, int64_t d, int64_t rows, int64_t columns) {
  const int64_t first = d - (d % 16);
  const int64_t end = tw_min((rows - 1), d);
  for (int64_t r = tw_max(((first - columns) + 1), 0); r < (end + 1); ++r) {
    const int64_t from = tw_max(first, r);
    const int64_t to = tw_min(d, ((r + columns) - 1));
    int32_t *const row = whole + (r * (n - 1));
    const int32_t *const column = (kept + r) - (first * apart);
    if ((to - from) == 15) {
      for (int64_t e = 0; e < 16; ++e) {
        row[first + e] = column[(first + e) * apart];
      }
    } else {
      for (int64_t e = from; e < (to + 1); ++e) {
        row[e] = column[e * apart];
      }
    }
  }
}

void tw_table_lcs(uint8_t *const *array, const int64_t *size, uint8_t *work, int32_t *const *scalar) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t m = size[0];
  const int64_t n = size[1];
  const int64_t t = size[2];
  const int64_t s = size[3];
  const int64_t tall = ((m + t) - 1) / t;
  const int64_t wide = ((n + s) - 1) / s;
  const int32_t *const in_a = ((const int32_t *)array[3]);
  const int32_t *const in_b = ((const int32_t *)array[4]);
  int64_t *const flags = ((int64_t *)array[5]);
  int32_t *const last = ((int32_t *)array[6]);
  int32_t *const folded = ((int32_t *)array[7]);
  const int64_t wanted = size[5];
  const int64_t folds = size[6];
  #pragma omp parallel num_threads(size[4])
  {
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    const int64_t me = tw_thread();
    uint8_t *const mine = work + (me * size[7]);
    int32_t *const ring = ((int32_t *)mine);
    int32_t *const beside = ring + ((t + 1) * 3);
    int32_t *corner = beside + t;
    int32_t *next = corner + 1;
    int32_t *const kept = next + 1;
    const int64_t used = (kept - ring) + ((t + 16) * 16);
    uint8_t *const backs = mine + (((((used * 4) + 64) - 1) / 64) * 64);
    int32_t *const back_b = ((int32_t *)backs);
    for (int64_t a = me; a < tall; a += tw_threads()) {
      const int64_t i0 = a * t;
      const int64_t rows = tw_min(t, (m - i0));
      int32_t sum = folded[a];
      for (int64_t k = 0; k < 1; ++k) {
        const int32_t *const edge = ((const int32_t *)array[(k * 3) + 1]);
        for (int64_t z = 0; z < rows; ++z) {
          beside[(k * t) + z] = edge[i0 + z];
        }
        for (int64_t p = 0; p < 1; ++p) {
          for (int64_t q = 0; q < 1; ++q) {
            if (a != 0) {
              corner[(k + p) + q] = edge[((i0 - 1) + p) + q];
            } else {
              corner[(k + p) + q] = ((int32_t *)array[k * 3])[(p * (n + 1)) + q];
            }
          }
        }
      }
      for (int64_t b = 0; b < wide; ++b) {
        const int64_t j0 = b * s;
        const int64_t columns = tw_min(s, (n - j0));
        if (a != 0) {
          tw_await(flags + ((a - 1) * 16), b + 1);
        }
        for (int64_t c = 0; c < columns; ++c) {
          back_b[(columns - 1) - c] = in_b[j0 + c];
        }
        if (tw_wanted(&tw_own)) {
          for (int64_t k = 0; k < 1; ++k) {
            for (int64_t p = 0; p < 1; ++p) {
              for (int64_t q = 0; q < 1; ++q) {
                if (((columns - 1) + q) >= 0) {
                  next[(k + p) + q] = ((int32_t *)array[k * 3])[(((p * (n + 1)) + j0) + columns) + q];
                }
              }
            }
          }
          for (int64_t d = (-2); d < ((rows + columns) - 1); ++d) {
            for (int64_t k = 0; k < 1; ++k) {
              int32_t *const row = (ring + (((k * 3) + ((d + 6) % 3)) * (t + 1))) + 1;
              for (int64_t r = (-1); r < 0; ++r) {
                const int64_t c = d - r;
                if ((c >= (-1)) & (c < columns)) {
                  if (c < 0) {
                    row[r] = corner[(((k + r) + 1) + c) + 1];
                  } else {
                    row[r] = ((int32_t *)array[k * 3])[((((r + 1) * (n + 1)) + 1) + j0) + c];
                  }
                }
              }
              for (int64_t c = (-1); c < 0; ++c) {
                if (((d - c) >= 0) & ((d - c) < rows)) {
                  row[d - c] = beside[((((k * t) + d) - c) + c) + 1];
                }
              }
            }
            if (d >= 0) {
              const int64_t low = tw_max(((d - columns) + 1), 0);
              const int64_t high = tw_min((rows - 1), d);
              tw_table_lcs_cells((ring + ((((d - 1) + 6) % 3) * (t + 1))) + 1, (ring + ((((d - 2) + 6) % 3) * (t + 1))) + 1, (ring + (((d + 6) % 3) * (t + 1))) + 1, in_a + i0, ((back_b + columns) - 1) - d, low, high, n);
              for (int64_t k = 0; k < 1; ++k) {
                int32_t *const row = (ring + (((k * 3) + ((d + 6) % 3)) * (t + 1))) + 1;
                for (int64_t r = tw_max(low, (rows - 1)); r < (high + 1); ++r) {
                  ((int32_t *)array[k * 3])[((((((r - rows) + 1) * (n + 1)) + 1) + j0) + d) - r] = row[r];
                }
                for (int64_t c = tw_max((columns - 1), 0); c < columns; ++c) {
                  if (((d - c) >= low) & ((d - c) <= high)) {
                    beside[(((((k * t) + d) - c) + c) - columns) + 1] = row[d - c];
                  }
                }
                if (wanted != 0) {
                  int32_t *const diagonal = kept + (((k * 16) + (d % 16)) * (t + 16));
#pragma GCC ivdep
                  for (int64_t r = low; r < (high + 1); ++r) {
                    diagonal[r] = row[r];
                  }
                  if (((d % 16) == 15) | (d == ((rows + columns) - 2))) {
                    tw_table_lcs_keep((((int32_t *)array[(k * 3) + 2]) + (i0 * n)) + j0, n, kept + ((k * 16) * (t + 16)), t + 16, d, rows, columns);
                  }
                }
              }
              if (folds != 0) {
                int32_t *const row = (ring + (((d + 6) % 3) * (t + 1))) + 1;
                for (int64_t r = low; r < (high + 1); ++r) {
                  sum = tw_maximum_i32(row[r], sum);
                }
              }
              if (((a == (tall - 1)) & (b == (wide - 1))) & (d == ((rows + columns) - 2))) {
                last[0] = ((ring + (((d + 6) % 3) * (t + 1))) + 1)[rows - 1];
              }
            }
          }
          int32_t *const old = corner;
          corner = next;
          next = old;
        }
        tw_publish(flags + (a * 16), b + 1);
      }
      folded[a] = sum;
    }
  }
}
