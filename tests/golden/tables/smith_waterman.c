/* smith_waterman, int32
   not shown: min64(), max64(), fold(), keep(), await() */

void tw_table_smith_waterman(void *const *array, const int64_t *size, char *work, void *const *scalar) {
  const int64_t m = size[0], n = size[1], t = size[2], s = size[3];
  const int64_t tall = (m + t - 1) / t, wide = (n + s - 1) / s;
  (void)scalar;
  const int32_t *const in_a = array[9];
  const int32_t *const in_b = array[10];
  const int32_t *const in_score = array[11];
  flag *const flags = array[12];
  real *const last = array[13], *const folded = array[14];
  const int64_t wide_score = size[8];
  const real c_gap_open = *(const real *)scalar[0];
  const real c_gap_extend = *(const real *)scalar[1];
#define AT(k, d) (ring + ((k) * RING + ((d) + 2 * RING) % RING) * (t + UP) + UP)
#define above(k) ((real *)array[3 * (k)])
  #pragma omp parallel num_threads((int)size[4])
  {
#ifdef _OPENMP
    const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
#else
    const int64_t me = 0, all = 1;
#endif
    char *const mine = work + me * size[7];
    real *const ring = (real *)mine, *const beside = ring + TABLES * RING * (t + UP);
    real *corner = beside + TABLES * t * LEFT, *next = corner + TABLES * UP * LEFT;
    real *const kept = next + TABLES * UP * LEFT;
    char *const backs = (char *)(((uintptr_t)(kept + TABLES * KEPT * (t + KEPT)) + 63) & ~(uintptr_t)63);
    (void)backs;
    for (int64_t a = me; a < tall; a += all) {
      const int64_t i0 = a * t, rows = min64(t, m - i0);
      real sum = folded[a];
      for (int64_t k = 0; k < TABLES; ++k) {
        const real *const edge = (const real *)array[3 * k + 1];
        memcpy(beside + k * t * LEFT, edge + i0 * LEFT, (size_t)(rows * LEFT) * sizeof(real));
        for (int64_t p = 0; p < UP; ++p)
          for (int64_t q = 0; q < LEFT; ++q)
            corner[(k * UP + p) * LEFT + q] = a ? edge[(i0 - UP + p) * LEFT + q] : above(k)[p * (LEFT + n) + q];
      }
      for (int64_t b = 0; b < wide; ++b) {
        const int64_t j0 = b * s, columns = min64(s, n - j0);
        if (a) await(flags + a - 1, b + 1);
        int32_t *const back_b = (int32_t *)(backs + 0 * 8 * s);
        for (int64_t c = 0; c < columns; ++c) back_b[columns - 1 - c] = in_b[j0 + c];

      for (int64_t k = 0; k < TABLES; ++k)
        for (int64_t p = 0; p < UP; ++p)
          for (int64_t q = 0; q < LEFT; ++q)
            if (columns - LEFT + q >= 0)
              next[(k * UP + p) * LEFT + q] = above(k)[p * (LEFT + n) + j0 + columns + q];
      for (int64_t d = -(UP + LEFT); d < rows + columns - 1; ++d) {
        for (int64_t k = 0; k < TABLES; ++k) {
          real *const row = AT(k, d);
          for (int64_t r = -UP; r < 0; ++r) {
            const int64_t c = d - r;
            if (c >= -LEFT && c < columns)
              row[r] = c < 0 ? corner[(k * UP + r + UP) * LEFT + c + LEFT]
                             : above(k)[(r + UP) * (LEFT + n) + LEFT + j0 + c];
          }
          for (int64_t c = -LEFT; c < 0; ++c)
            if (d - c >= 0 && d - c < rows) row[d - c] = beside[(k * t + d - c) * LEFT + c + LEFT];
        }
        const int64_t low = max64(0, d - columns + 1), high = min64(rows - 1, d);
        if (d < 0) continue;
        const real *restrict const e_1 = AT(1, d - 1);
        const real *restrict const f_1 = AT(2, d - 1);
        const real *restrict const h_1 = AT(0, d - 1);
        const real *restrict const h_2 = AT(0, d - 2);
        real *restrict const h_0 = AT(0, d);
        real *restrict const e_0 = AT(1, d);
        real *restrict const f_0 = AT(2, d);
        const int32_t *restrict const at_a = in_a + i0;
        const int32_t *restrict const at_b = back_b + columns - 1 - d;
#pragma GCC ivdep
        for (int64_t r = low; r <= high; ++r) {
          const __auto_type v0_0 = e_1[r - 0];
          const int32_t v0_1 = c_gap_extend;
          const int32_t v0_2 = (int32_t)(v0_0 - v0_1);
          const __auto_type v0_3 = h_1[r - 0];
          const int32_t v0_4 = c_gap_open;
          const int32_t v0_5 = (int32_t)(v0_3 - v0_4);
          const int32_t v0_6 = (int32_t)(((v0_2 > v0_5)) ? v0_2 : v0_5);
          const real now_e = (int32_t)v0_6;
          e_0[r] = now_e;
          const __auto_type v1_0 = f_1[r - 1];
          const int32_t v1_1 = c_gap_extend;
          const int32_t v1_2 = (int32_t)(v1_0 - v1_1);
          const __auto_type v1_3 = h_1[r - 1];
          const int32_t v1_4 = c_gap_open;
          const int32_t v1_5 = (int32_t)(v1_3 - v1_4);
          const int32_t v1_6 = (int32_t)(((v1_2 > v1_5)) ? v1_2 : v1_5);
          const real now_f = (int32_t)v1_6;
          f_0[r] = now_f;
          const __auto_type v2_0 = h_2[r - 1];
          const __auto_type v2_1 = at_a[r];
          const __auto_type v2_2 = at_b[r];
          const int32_t v2_3 = (int32_t)(in_score[v2_1 * wide_score + v2_2]);
          const int32_t v2_4 = (int32_t)(v2_0 + v2_3);
          const __auto_type v2_5 = now_e;
          const int32_t v2_6 = (int32_t)(((v2_4 > v2_5)) ? v2_4 : v2_5);
          const __auto_type v2_7 = now_f;
          const int32_t v2_8 = (int32_t)(((v2_6 > v2_7)) ? v2_6 : v2_7);
          const int32_t v2_9 = ((int32_t)0);
          const int32_t v2_10 = (int32_t)(((v2_8 > v2_9)) ? v2_8 : v2_9);
          const real now_h = (int32_t)v2_10;
          h_0[r] = now_h;
        }
        for (int64_t k = 0; k < TABLES; ++k) {
          const real *const row = AT(k, d);
          for (int64_t r = max64(low, rows - UP); r <= high; ++r)
            above(k)[(r - rows + UP) * (LEFT + n) + LEFT + j0 + d - r] = row[r];
          for (int64_t c = max64(0, columns - LEFT); c < columns; ++c)
            if (d - c >= low && d - c <= high) beside[(k * t + d - c) * LEFT + c - columns + LEFT] = row[d - c];
          if (size[5]) {
            memcpy(kept + (k * KEPT + d % KEPT) * (t + KEPT) + low, row + low, (size_t)(high - low + 1) * sizeof(real));
            if (d % KEPT == KEPT - 1 || d == rows + columns - 2)
              keep((real *)array[3 * k + 2] + i0 * n + j0, n, kept + k * KEPT * (t + KEPT), t + KEPT, d, rows, columns);
          }
        }
        if (size[6]) {
          const real *const row = AT(0, d);
          for (int64_t r = low; r <= high; ++r) sum = fold(sum, row[r]);
        }
        if (a == tall - 1 && b == wide - 1 && d == rows + columns - 2) *last = AT(0, d)[rows - 1];
      }
      real *const old = corner;
      corner = next;
      next = old;

        __atomic_store_n(&flags[a].value, b + 1, __ATOMIC_RELEASE);
      }
      folded[a] = sum;
    }
  }
}
