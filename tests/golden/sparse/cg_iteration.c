/* an iteration of CG
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_LANES_U8, tw_pick_f64(), tw_fence(), tw_past_v_f64(), tw_splat_v_f64(),
     omp_get_thread_num(), tw_thread(), omp_get_num_threads(), tw_threads(), dia_pass1(), dia_pass2(),
     dia_pass3(), dia_pass4(), dia_pass5(), dia_pass6(), dia_pass7(), dia_pass8(), dia_range(), dia_rows(),
     dot(), reduce(), total() */

static void direct(double *x, const double *r, const double *p, double *next, int64_t from, int64_t to, double a,
    double b) {
  const int64_t n = to - from;
  {
    const int64_t step = TW_LANES_F64 * 2;
    for (int64_t at = 0; at < ((n - step) + 1); at += step) {
      const tw_v_f64 p0 = *(const tw_u_f64 *)(p + (at + from));
      const tw_v_f64 p1 = *(const tw_u_f64 *)(p + ((at + from) + TW_LANES_F64));
      *(tw_u_f64 *)(x + (at + from)) = *(const tw_u_f64 *)(x + (at + from)) + (a * p0);
      *(tw_u_f64 *)(next + (at + from)) = *(const tw_u_f64 *)(r + (at + from)) + (b * p0);
      *(tw_u_f64 *)(x + ((at + from) + TW_LANES_F64)) = *(const tw_u_f64 *)(x + ((at + from) + TW_LANES_F64)) + (a * p1);
      *(tw_u_f64 *)(next + ((at + from) + TW_LANES_F64)) = *(const tw_u_f64 *)(r + ((at + from) + TW_LANES_F64)) + (b * p1);
    }
    const int64_t whole = (n / step) * step;
    for (int64_t rest = whole; rest < n; ++rest) {
      x[rest + from] = x[rest + from] + (a * p[rest + from]);
      next[rest + from] = r[rest + from] + (b * p[rest + from]);
    }
  }
}

void tw_cg(uint8_t *const *array, const int64_t *size, double *work, uint8_t *unused) {
  const int64_t n = size[0];
  const int64_t reach = size[3];
  const int64_t blocks = (n + 4095) / 4096;
  const int64_t count = size[1];
  const int64_t *const offset = ((const int64_t *)array[5]);
  const double *const *const diagonal = ((const double *const *)array[6]);
  double *const x = ((double *)array[0]);
  double *const r = ((double *)array[1]);
  const double *const p = ((const double *)array[2]);
  double *const next = ((double *)array[3]);
  double *const q = ((double *)array[4]);
  const int later = size[4] == 0;
  const double a = work[0];
  const double b = work[1];
  double *const part = work + 5;
  #pragma omp parallel num_threads(size[2])
  {
    const int64_t t = tw_thread();
    const int64_t threads = tw_threads();
    const int64_t begin = (blocks * t) / threads;
    const int64_t end = (blocks * (t + 1)) / threads;
    const int64_t low = tw_min((begin * 4096), n);
    const int64_t high = tw_min((end * 4096), n);
    /* what the neighbours need of mine */
    const int64_t head = ((t > 0) ? tw_min((low + reach), high) : low);
    const int64_t tail = (((t + 1) < threads) ? tw_max((high - reach), head) : high);
    int64_t done = head;
    if (later) {
      direct(x, r, p, next, low, head, a, b);
      direct(x, r, p, next, tail, high, a, b);
    }
    #pragma omp barrier
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = k * 4096;
      const int64_t until = tw_min((row + 4096), n);
      const int64_t ahead = tw_min((until + reach), tail);
      if (later & (ahead > done)) {
        direct(x, r, p, next, done, ahead, a, b);
        done = ahead;
      }
      dia_rows(n, count, offset, diagonal, next, q, row, until, 0, 0);
      part[k] = dot(next + row, q + row, until - row);
    }
    #pragma omp barrier
    if (t == 0) {
      work[2] = total(part, blocks);
      work[3] = work[4] / work[2];
    }
    #pragma omp barrier
    const double step = work[3];
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = k * 4096;
      part[k] = reduce(r + row, q + row, tw_min((n - row), 4096), step);
    }
  }
  work[4] = total(part, blocks);
}
