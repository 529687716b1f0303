/* y = A x of diagonals, two per pass, float64
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_U8, tw_fence(), tw_past_v_f64(), omp_get_thread_num(), tw_thread(),
     omp_get_num_threads(), tw_threads() */

static void dia_pass1(const double *const *a, const double *const *x, double *y, int64_t n, int64_t stream,
    int64_t add) {
  const double *const a0 = a[0];
  const double *const x0 = x[0];
  if (stream != 0) {
    if (add != 0) {
      {
        int64_t i = 0;
        while ((i < n) & ((((int64_t)(y + i)) % TW_BYTES) != 0)) {
          double s = y[i] + (a0[i] * x0[i]);
          y[i] = s;
          i = i + 1;
        }
        const int64_t step = TW_LANES_F64;
        for (int64_t at = i; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(y + at) + (*(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at));
          tw_past_v_f64(y + at, s0);
        }
        const int64_t whole = ((n - i) / step) * step;
        for (int64_t rest = whole + i; rest < n; ++rest) {
          double s = y[rest] + (a0[rest] * x0[rest]);
          y[rest] = s;
        }
      }
    } else {
      {
        int64_t i = 0;
        while ((i < n) & ((((int64_t)(y + i)) % TW_BYTES) != 0)) {
          double s = a0[i] * x0[i];
          y[i] = s;
          i = i + 1;
        }
        const int64_t step = TW_LANES_F64;
        for (int64_t at = i; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at);
          tw_past_v_f64(y + at, s0);
        }
        const int64_t whole = ((n - i) / step) * step;
        for (int64_t rest = whole + i; rest < n; ++rest) {
          double s = a0[rest] * x0[rest];
          y[rest] = s;
        }
      }
    }
  } else {
    if (add != 0) {
      {
        const int64_t step = TW_LANES_F64;
        for (int64_t at = 0; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(y + at) + (*(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at));
          *(tw_u_f64 *)(y + at) = s0;
        }
        const int64_t whole = (n / step) * step;
        for (int64_t rest = whole; rest < n; ++rest) {
          double s = y[rest] + (a0[rest] * x0[rest]);
          y[rest] = s;
        }
      }
    } else {
      {
        const int64_t step = TW_LANES_F64;
        for (int64_t at = 0; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at);
          *(tw_u_f64 *)(y + at) = s0;
        }
        const int64_t whole = (n / step) * step;
        for (int64_t rest = whole; rest < n; ++rest) {
          double s = a0[rest] * x0[rest];
          y[rest] = s;
        }
      }
    }
  }
}

static void dia_pass2(const double *const *a, const double *const *x, double *y, int64_t n, int64_t stream,
    int64_t add) {
  const double *const a0 = a[0];
  const double *const a1 = a[1];
  const double *const x0 = x[0];
  const double *const x1 = x[1];
  if (stream != 0) {
    if (add != 0) {
      {
        int64_t i = 0;
        while ((i < n) & ((((int64_t)(y + i)) % TW_BYTES) != 0)) {
          double s = y[i] + (a0[i] * x0[i]);
          s = s + (a1[i] * x1[i]);
          y[i] = s;
          i = i + 1;
        }
        const int64_t step = TW_LANES_F64;
        for (int64_t at = i; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(y + at) + (*(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at));
          s0 = s0 + (*(const tw_u_f64 *)(a1 + at) * *(const tw_u_f64 *)(x1 + at));
          tw_past_v_f64(y + at, s0);
        }
        const int64_t whole = ((n - i) / step) * step;
        for (int64_t rest = whole + i; rest < n; ++rest) {
          double s = y[rest] + (a0[rest] * x0[rest]);
          s = s + (a1[rest] * x1[rest]);
          y[rest] = s;
        }
      }
    } else {
      {
        int64_t i = 0;
        while ((i < n) & ((((int64_t)(y + i)) % TW_BYTES) != 0)) {
          double s = a0[i] * x0[i];
          s = s + (a1[i] * x1[i]);
          y[i] = s;
          i = i + 1;
        }
        const int64_t step = TW_LANES_F64;
        for (int64_t at = i; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at);
          s0 = s0 + (*(const tw_u_f64 *)(a1 + at) * *(const tw_u_f64 *)(x1 + at));
          tw_past_v_f64(y + at, s0);
        }
        const int64_t whole = ((n - i) / step) * step;
        for (int64_t rest = whole + i; rest < n; ++rest) {
          double s = a0[rest] * x0[rest];
          s = s + (a1[rest] * x1[rest]);
          y[rest] = s;
        }
      }
    }
  } else {
    if (add != 0) {
      {
        const int64_t step = TW_LANES_F64;
        for (int64_t at = 0; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(y + at) + (*(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at));
          s0 = s0 + (*(const tw_u_f64 *)(a1 + at) * *(const tw_u_f64 *)(x1 + at));
          *(tw_u_f64 *)(y + at) = s0;
        }
        const int64_t whole = (n / step) * step;
        for (int64_t rest = whole; rest < n; ++rest) {
          double s = y[rest] + (a0[rest] * x0[rest]);
          s = s + (a1[rest] * x1[rest]);
          y[rest] = s;
        }
      }
    } else {
      {
        const int64_t step = TW_LANES_F64;
        for (int64_t at = 0; at < ((n - step) + 1); at += step) {
          tw_v_f64 s0 = *(const tw_u_f64 *)(a0 + at) * *(const tw_u_f64 *)(x0 + at);
          s0 = s0 + (*(const tw_u_f64 *)(a1 + at) * *(const tw_u_f64 *)(x1 + at));
          *(tw_u_f64 *)(y + at) = s0;
        }
        const int64_t whole = (n / step) * step;
        for (int64_t rest = whole; rest < n; ++rest) {
          double s = a0[rest] * x0[rest];
          s = s + (a1[rest] * x1[rest]);
          y[rest] = s;
        }
      }
    }
  }
}

static void dia_range(int64_t columns, int64_t count, const int64_t *offset, const double *const *diagonal,
    int64_t first, int64_t last, const double *x, double *y, int64_t from, int64_t to, int64_t stream, int64_t add) {
  const int one = (last - first) <= 2;
  const int64_t high = (one ? (to - from) : 1024);
  if ((first == last) & (add == 0)) {
    for (int64_t i = from; i < to; ++i) {
      y[i] = 0.0;
    }
  }
  for (int64_t step = 0; step < ((((to - from) + high) - 1) / tw_max(high, 1)); ++step) {
    const int64_t row = from + (step * high);
    const int64_t n = tw_min(high, (to - row));
    for (int64_t d = first; d < last; d += 2) {
      const int64_t k = tw_min((last - d), 2);
      const double * a[2];
      const double * b[2];
      for (int64_t j = 0; j < k; ++j) {
        const int64_t o = offset[d + j];
        a[j] = (diagonal[d + j] + row) + tw_min(o, 0);
        b[j] = (x + row) + o;
      }
      if (k == 1) {
        dia_pass1(a, b, y + row, n, (stream != 0) & one, (add != 0) | (d > first));
      }
      if (k == 2) {
        dia_pass2(a, b, y + row, n, (stream != 0) & one, (add != 0) | (d > first));
      }
    }
  }
}

static void dia_rows(int64_t columns, int64_t count, const int64_t *offset, const double *const *diagonal,
    const double *x, double *y, int64_t from, int64_t to, int64_t stream, int64_t add) {
  int64_t row = from;
  while (row < to) {
    int64_t first = 0;
    int64_t last = count;
    int64_t end = to;
    for (int64_t d = 0; d < count; ++d) {
      first = first + (offset[d] < (-row));
      last = last - (offset[d] >= (columns - row));
    }
    last = tw_max(first, last);
    /* the next row that meets one more below, or one less above */
    if (first > 0) {
      end = tw_min(end, (-offset[first - 1]));
    }
    if (last > first) {
      end = tw_min(end, (columns - offset[last - 1]));
    }
    dia_range(columns, count, offset, diagonal, first, last, x, y, row, end, stream, add);
    row = end;
  }
  if (stream != 0) {
    tw_fence();
  }
}

void tw_dia(uint8_t *const *array, const int64_t *size, uint8_t *work, uint8_t *unused) {
  const int64_t rows = size[0];
  if (size[3] > 1) {
    #pragma omp parallel num_threads(size[3])
    {
      dia_rows(size[1], size[2], ((const int64_t *)array[2]), ((const double *const *)array[3]), ((const double *)array[0]), ((double *)array[1]), tw_min(rows, (((((rows + 63) / 64) * tw_thread()) / tw_threads()) * 64)), tw_min(rows, (((((rows + 63) / 64) * (tw_thread() + 1)) / tw_threads()) * 64)), size[4], size[5]);
    }
  } else {
    dia_rows(size[1], size[2], ((const int64_t *)array[2]), ((const double *const *)array[3]), ((const double *)array[0]), ((double *)array[1]), 0, rows, size[4], size[5]);
  }
}
