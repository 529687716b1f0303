/* jacobi1d, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), omp_get_thread_num(), tw_thread() */

/* subnormal numbers are zero from here on, read or made; the value is what to restore behind it */
static inline uint64_t tw_flush(void) {
#if defined(__SSE2__)
  const unsigned mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | 0x8040);
  return mode;
#elif defined(__aarch64__)
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1 << 24));
  return mode;
#else
  return 0;
#endif
}
static inline void tw_restore(uint64_t mode) {
#if defined(__SSE2__)
  __builtin_ia32_ldmxcsr((unsigned)mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  (void)mode;
#endif
}

static void tw_jacobi1d_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u;
  float *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r0[x - 1];
    const float t1 = r0[x];
    const float t2 = t0 + t1;
    const float t3 = r0[x + 1];
    const float t4 = t2 + t3;
    const float t6 = t4 * 0.33333334f;
    w0[x] = t6;
  }
}

static __attribute__((noinline)) void tw_jacobi1d_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b0);
  const int64_t end = stop;
  const float *const r0 = v_u;
  float *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
    for (int64_t i = begin; i < end; i += TW_LANES_F32) {
      const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
      const tw_v_f32 t0_0 = l0;
      const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
      const tw_v_f32 t0_1 = l1;
      const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
      const tw_v_f32 t0_2 = l2;
      const tw_v_f32 t0_3 = t0_0 + t0_1;
      const tw_v_f32 t0_4 = t0_3 + t0_2;
      const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
      *(tw_u_f32 *)(w0 + j) = t0_6;
      j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
    }
  }
  if (a0 < start) {
    tw_jacobi1d_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_jacobi1d_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}

static __attribute__((noinline)) void tw_jacobi1d_box_0_long(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b0);
  const int64_t end = stop;
  const int64_t beside_from = ((begin < tw_max(start, TW_LANES_F32)) ? (begin + TW_LANES_F32) : begin);
  const int64_t beside_length = (tw_max((tw_min(tw_min(end, stop), (n0 - TW_LANES_F32)) - beside_from), 0) / TW_LANES_F32) * TW_LANES_F32;
  const float *const r0 = v_u;
  float *const w0 = target;
  if (0 < beside_length) {
    tw_v_f32 r0_low = *(const tw_u_f32 *)(r0 + (beside_from - TW_LANES_F32));
    tw_v_f32 r0_here = *(const tw_u_f32 *)(r0 + beside_from);
    for (int64_t j = beside_from; j < (beside_from + beside_length); j += TW_LANES_F32) {
      const tw_v_f32 r0_high = *(const tw_u_f32 *)(r0 + (j + TW_LANES_F32));
      const tw_v_f32 l0 = tw_beside_low_1_v_f32(r0_here, r0_low);
      const tw_v_f32 t0_0 = l0;
      const tw_v_f32 l1 = r0_here;
      const tw_v_f32 t0_1 = l1;
      const tw_v_f32 l2 = tw_beside_high_1_v_f32(r0_here, r0_high);
      const tw_v_f32 t0_2 = l2;
      const tw_v_f32 t0_3 = t0_0 + t0_1;
      const tw_v_f32 t0_4 = t0_3 + t0_2;
      const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
      *(tw_u_f32 *)(w0 + j) = t0_6;
      r0_low = r0_here;
      r0_here = r0_high;
    }
  }
  for (int64_t part = 0; part < (((0 < beside_length) ? 1 : 0) + 1); ++part) {
    const int64_t low = ((part == 0) ? begin : (beside_from + beside_length));
    const int64_t high = (((part + 1) < (((0 < beside_length) ? 1 : 0) + 1)) ? beside_from : end);
    {
      int64_t j = tw_max(start, tw_min(low, (stop - TW_LANES_F32)));
      for (int64_t i = low; i < high; i += TW_LANES_F32) {
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + (j - 1));
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r0 + (j + 1));
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 t0_3 = t0_0 + t0_1;
        const tw_v_f32 t0_4 = t0_3 + t0_2;
        const tw_v_f32 t0_6 = t0_4 * 0.33333334f;
        *(tw_u_f32 *)(w0 + j) = t0_6;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
  }
  if (a0 < start) {
    tw_jacobi1d_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_jacobi1d_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}

static inline void tw_jacobi1d_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low0, int64_t high0) {
  if ((TW_BYTES == 64) & ((high0 - low0) >= (TW_LANES_F32 * 7))) {
    tw_jacobi1d_box_0_long(field, size, scalar, constant, t, low0, high0);
  } else {
    tw_jacobi1d_box_0_short(field, size, scalar, constant, t, low0, high0);
  }
}

void tw_jacobi1d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const int64_t parts = tw_min(tw_ceildiv(n0, 2048), threads);
  const int64_t piece = 262144;
  const int64_t stretch = tw_max(1, tw_min((262144 / n0), 64));
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t since = 0; since < steps && tw_goes_on(&tw_own); since += stretch) {
      for (int64_t t = tw_max(since, 0); t < tw_min((since + stretch), steps); ++t) {
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = ((tw_ceildiv(n0, 2048) * part) / parts) * 2048;
          const int64_t last = tw_min((((tw_ceildiv(n0, 2048) * (part + 1)) / parts) * 2048), n0);
          for (int64_t low = first; low < last; low += piece) {
            if ((low == first) || tw_wanted(&tw_own)) {
              tw_jacobi1d_box_0(field, size, scalar, constant, t, low, tw_min((low + piece), last));
            }
          }
        }
      }
    }
    tw_restore(mode);
  }
}
