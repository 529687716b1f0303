/* jacobi2d, float32, boundary fixed, tiling hybrid:t=2,s=4x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_opaque(), omp_get_thread_num(), tw_thread() */

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

static void tw_jacobi2d_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t x0, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const float *const r0 = v_u + ((x0 - 1) * s0);
  const float *const r1 = v_u + (x0 * s0);
  const float *const r2 = v_u + ((x0 + 1) * s0);
  float *const w0 = target + (x0 * s0);
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r0[x];
    const float t1 = r1[x - 1];
    const float t2 = t0 + t1;
    const float t3 = r1[x];
    const float t4 = t2 + t3;
    const float t5 = r1[x + 1];
    const float t6 = t4 + t5;
    const float t7 = r2[x];
    const float t8 = t6 + t7;
    const float t10 = t8 * 0.2f;
    w0[x] = t10;
  }
}

static __attribute__((noinline)) void tw_jacobi2d_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t first = tw_max(a1, 1);
  const int64_t last = tw_min(b1, (n1 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b1);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b1);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b1);
  const int64_t end = stop;
  for (int64_t row = a0; row < b0; ++row) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    float *const w0 = target + (x0 * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
      for (int64_t i = begin; i < end; i += TW_LANES_F32) {
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = *(const tw_u_f32 *)(r1 + (j - 1));
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = *(const tw_u_f32 *)(r1 + j);
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j + 1));
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r2 + j);
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 t0_5 = t0_0 + t0_1;
        const tw_v_f32 t0_6 = t0_5 + t0_2;
        const tw_v_f32 t0_7 = t0_6 + t0_3;
        const tw_v_f32 t0_8 = t0_7 + t0_4;
        const tw_v_f32 t0_10 = t0_8 * 0.2f;
        *(tw_u_f32 *)(w0 + j) = t0_10;
        j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
      }
    }
    if (a1 < start) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}

static __attribute__((noinline)) void tw_jacobi2d_box_0_long(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t first = tw_max(a1, 1);
  const int64_t last = tw_min(b1, (n1 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b1);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b1);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b1);
  const int64_t end = stop;
  const int64_t beside_from = ((begin < tw_max(start, TW_LANES_F32)) ? (begin + TW_LANES_F32) : begin);
  const int64_t beside_length = (tw_max((tw_min(tw_min(end, stop), (n1 - TW_LANES_F32)) - beside_from), 0) / TW_LANES_F32) * TW_LANES_F32;
  for (int64_t row = a0; row < b0; ++row) {
    const int64_t x0 = tw_opaque(row);
    const float *const r0 = v_u + ((x0 - 1) * s0);
    const float *const r1 = v_u + (x0 * s0);
    const float *const r2 = v_u + ((x0 + 1) * s0);
    float *const w0 = target + (x0 * s0);
    if (0 < beside_length) {
      tw_v_f32 r1_low = *(const tw_u_f32 *)(r1 + (beside_from - TW_LANES_F32));
      tw_v_f32 r1_here = *(const tw_u_f32 *)(r1 + beside_from);
      for (int64_t j = beside_from; j < (beside_from + beside_length); j += TW_LANES_F32) {
        const tw_v_f32 r1_high = *(const tw_u_f32 *)(r1 + (j + TW_LANES_F32));
        const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
        const tw_v_f32 t0_0 = l0;
        const tw_v_f32 l1 = tw_beside_low_1_v_f32(r1_here, r1_low);
        const tw_v_f32 t0_1 = l1;
        const tw_v_f32 l2 = r1_here;
        const tw_v_f32 t0_2 = l2;
        const tw_v_f32 l3 = tw_beside_high_1_v_f32(r1_here, r1_high);
        const tw_v_f32 t0_3 = l3;
        const tw_v_f32 l4 = *(const tw_u_f32 *)(r2 + j);
        const tw_v_f32 t0_4 = l4;
        const tw_v_f32 t0_5 = t0_0 + t0_1;
        const tw_v_f32 t0_6 = t0_5 + t0_2;
        const tw_v_f32 t0_7 = t0_6 + t0_3;
        const tw_v_f32 t0_8 = t0_7 + t0_4;
        const tw_v_f32 t0_10 = t0_8 * 0.2f;
        *(tw_u_f32 *)(w0 + j) = t0_10;
        r1_low = r1_here;
        r1_here = r1_high;
      }
    }
    for (int64_t part = 0; part < (((0 < beside_length) ? 1 : 0) + 1); ++part) {
      const int64_t low = ((part == 0) ? begin : (beside_from + beside_length));
      const int64_t high = (((part + 1) < (((0 < beside_length) ? 1 : 0) + 1)) ? beside_from : end);
      {
        int64_t j = tw_max(start, tw_min(low, (stop - TW_LANES_F32)));
        for (int64_t i = low; i < high; i += TW_LANES_F32) {
          const tw_v_f32 l0 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 t0_0 = l0;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r1 + (j - 1));
          const tw_v_f32 t0_1 = l1;
          const tw_v_f32 l2 = *(const tw_u_f32 *)(r1 + j);
          const tw_v_f32 t0_2 = l2;
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + (j + 1));
          const tw_v_f32 t0_3 = l3;
          const tw_v_f32 l4 = *(const tw_u_f32 *)(r2 + j);
          const tw_v_f32 t0_4 = l4;
          const tw_v_f32 t0_5 = t0_0 + t0_1;
          const tw_v_f32 t0_6 = t0_5 + t0_2;
          const tw_v_f32 t0_7 = t0_6 + t0_3;
          const tw_v_f32 t0_8 = t0_7 + t0_4;
          const tw_v_f32 t0_10 = t0_8 * 0.2f;
          *(tw_u_f32 *)(w0 + j) = t0_10;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
    }
    if (a1 < start) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, a1, start);
    }
    if (stop < b1) {
      tw_jacobi2d_cells_0(field, size, scalar, constant, t, x0, stop, b1);
    }
  }
}

static inline void tw_jacobi2d_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1, int64_t high1) {
  if ((TW_BYTES == 64) & ((high1 - low1) >= (TW_LANES_F32 * 7))) {
    tw_jacobi2d_box_0_long(field, size, scalar, constant, t, low0, high0, low1, high1);
  } else {
    tw_jacobi2d_box_0_short(field, size, scalar, constant, t, low0, high0, low1, high1);
  }
}

void tw_jacobi2d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  /* hexagons of 2 rows, base 4, slope 1, pitch 8 */
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t wave = 0; wave < (tw_ceildiv((steps + 1), 2) * 2) && tw_goes_on(&tw_own); ++wave) {
      const int64_t colour = wave % 2;
      const int64_t start = ((wave / 2) * 2) - (1 - colour);
      #pragma omp for schedule(dynamic, 1)
      for (int64_t tile = 0; tile < tw_ceildiv((n0 - (colour * 4)), 8); ++tile) {
        if (!tw_wanted(&tw_own)) continue;
        const int64_t left = (tile * 8) + (colour * 4);
        for (int64_t classic1 = 0; classic1 < tw_ceildiv((n1 + 1), 16); ++classic1) {
          for (int64_t tau = tw_max(start, 0); tau < tw_min((start + 2), steps); ++tau) {
            const int64_t row = tau - start;
            const int64_t grow = tw_min(row, (1 - row));
            const int64_t from1 = (classic1 * 16) - row;
            tw_jacobi2d_box_0(field, size, scalar, constant, tau, left - grow, (left + 4) + grow, from1, from1 + 16);
          }
        }
      }
    }
    tw_restore(mode);
  }
}
