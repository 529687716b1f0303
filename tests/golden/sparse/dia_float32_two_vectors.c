/* a pass over one diagonal, two vectors per iteration, float32
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_U8, tw_fence(), tw_past_v_f32(), omp_get_thread_num(), tw_thread(),
     omp_get_num_threads(), tw_threads(), dia_range(), tw_dia() */

static void dia_pass1(const float *const *a, const float *const *x, float *y, int64_t n, int64_t stream, int64_t add) {
  const float *const a0 = a[0];
  const float *const x0 = x[0];
  if (stream != 0) {
    if (add != 0) {
      {
        int64_t i = 0;
        while ((i < n) & ((((int64_t)(y + i)) % TW_BYTES) != 0)) {
          float s = y[i] + (a0[i] * x0[i]);
          y[i] = s;
          i = i + 1;
        }
        const int64_t step = TW_LANES_F32 * 2;
        for (int64_t at = i; at < ((n - step) + 1); at += step) {
          tw_v_f32 s0 = *(const tw_u_f32 *)(y + at) + (*(const tw_u_f32 *)(a0 + at) * *(const tw_u_f32 *)(x0 + at));
          tw_v_f32 s1 = *(const tw_u_f32 *)(y + (at + TW_LANES_F32)) + (*(const tw_u_f32 *)(a0 + (at + TW_LANES_F32)) * *(const tw_u_f32 *)(x0 + (at + TW_LANES_F32)));
          tw_past_v_f32(y + at, s0);
          tw_past_v_f32(y + (at + TW_LANES_F32), s1);
        }
        const int64_t whole = ((n - i) / step) * step;
        for (int64_t rest = whole + i; rest < n; ++rest) {
          float s = y[rest] + (a0[rest] * x0[rest]);
          y[rest] = s;
        }
      }
    } else {
      {
        int64_t i = 0;
        while ((i < n) & ((((int64_t)(y + i)) % TW_BYTES) != 0)) {
          float s = a0[i] * x0[i];
          y[i] = s;
          i = i + 1;
        }
        const int64_t step = TW_LANES_F32 * 2;
        for (int64_t at = i; at < ((n - step) + 1); at += step) {
          tw_v_f32 s0 = *(const tw_u_f32 *)(a0 + at) * *(const tw_u_f32 *)(x0 + at);
          tw_v_f32 s1 = *(const tw_u_f32 *)(a0 + (at + TW_LANES_F32)) * *(const tw_u_f32 *)(x0 + (at + TW_LANES_F32));
          tw_past_v_f32(y + at, s0);
          tw_past_v_f32(y + (at + TW_LANES_F32), s1);
        }
        const int64_t whole = ((n - i) / step) * step;
        for (int64_t rest = whole + i; rest < n; ++rest) {
          float s = a0[rest] * x0[rest];
          y[rest] = s;
        }
      }
    }
  } else {
    if (add != 0) {
      {
        const int64_t step = TW_LANES_F32 * 2;
        for (int64_t at = 0; at < ((n - step) + 1); at += step) {
          tw_v_f32 s0 = *(const tw_u_f32 *)(y + at) + (*(const tw_u_f32 *)(a0 + at) * *(const tw_u_f32 *)(x0 + at));
          tw_v_f32 s1 = *(const tw_u_f32 *)(y + (at + TW_LANES_F32)) + (*(const tw_u_f32 *)(a0 + (at + TW_LANES_F32)) * *(const tw_u_f32 *)(x0 + (at + TW_LANES_F32)));
          *(tw_u_f32 *)(y + at) = s0;
          *(tw_u_f32 *)(y + (at + TW_LANES_F32)) = s1;
        }
        const int64_t whole = (n / step) * step;
        for (int64_t rest = whole; rest < n; ++rest) {
          float s = y[rest] + (a0[rest] * x0[rest]);
          y[rest] = s;
        }
      }
    } else {
      {
        const int64_t step = TW_LANES_F32 * 2;
        for (int64_t at = 0; at < ((n - step) + 1); at += step) {
          tw_v_f32 s0 = *(const tw_u_f32 *)(a0 + at) * *(const tw_u_f32 *)(x0 + at);
          tw_v_f32 s1 = *(const tw_u_f32 *)(a0 + (at + TW_LANES_F32)) * *(const tw_u_f32 *)(x0 + (at + TW_LANES_F32));
          *(tw_u_f32 *)(y + at) = s0;
          *(tw_u_f32 *)(y + (at + TW_LANES_F32)) = s1;
        }
        const int64_t whole = (n / step) * step;
        for (int64_t rest = whole; rest < n; ++rest) {
          float s = a0[rest] * x0[rest];
          y[rest] = s;
        }
      }
    }
  }
}

static void dia_rows(int64_t columns, int64_t count, const int64_t *offset, const float *const *diagonal,
    const float *x, float *y, int64_t from, int64_t to, int64_t stream, int64_t add) {
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
