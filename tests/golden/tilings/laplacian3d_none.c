/* laplacian3d, float32, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_hold_v_f32(),
     tw_opaque(), tw_prefetch_near, omp_get_thread_num(), tw_thread(), tw_laplacian3d_cells_0(),
     tw_laplacian3d_box_0_long(), tw_laplacian3d_box_0() */

static __attribute__((noinline)) void tw_laplacian3d_box_0_short(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1, int64_t low2, int64_t high2) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t n2 = size[4];
  const int64_t s0 = size[5];
  const int64_t s1 = size[6];
  const int64_t slot = size[7];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t a2 = tw_max(low2, 1);
  const int64_t b2 = tw_min(high2, (n2 - 1));
  const int64_t first = tw_max(a2, 1);
  const int64_t last = tw_min(b2, (n2 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F32) ? first : b2);
  const int64_t stop = (((last - first) >= TW_LANES_F32) ? last : b2);
  const int64_t begin = (((last - first) >= TW_LANES_F32) ? (first - (first % TW_LANES_F32)) : b2);
  const int64_t end = stop;
  const int64_t ahead = ((1048576 < ((n0 * s0) * 4)) ? 1 : 0);
  for (int64_t x0 = a0; x0 < b0; ++x0) {
    const int64_t whole = ((((n0 * s0) * 4) <= 16777216) ? (a1 + (tw_max((b1 - a1), 0) - (tw_max((b1 - a1), 0) % 2))) : a1);
    for (int64_t row = a1; row < whole; row += 2) {
      const int64_t x1 = tw_opaque(row);
      const float *const r0 = (v_u + ((x0 - 1) * s0)) + (x1 * s1);
      const float *const r1 = (v_u + ((x0 - 1) * s0)) + ((x1 + 1) * s1);
      const float *const r2 = (v_u + (x0 * s0)) + ((x1 - 1) * s1);
      const float *const r3 = (v_u + (x0 * s0)) + (x1 * s1);
      const float *const r4 = (v_u + (x0 * s0)) + ((x1 + 1) * s1);
      const float *const r5 = (v_u + (x0 * s0)) + ((x1 + 2) * s1);
      const float *const r6 = (v_u + ((x0 + 1) * s0)) + (x1 * s1);
      const float *const r7 = (v_u + ((x0 + 1) * s0)) + ((x1 + 1) * s1);
      float *const w0 = (target + (x0 * s0)) + (x1 * s1);
      float *const w1 = (target + (x0 * s0)) + ((x1 + 1) * s1);
      {
        int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
        for (int64_t i = begin; i < end; i += TW_LANES_F32) {
          if (ahead != 0) {
            tw_prefetch_near(r6 + (j + 256));
            tw_prefetch_near(r7 + (j + 256));
            tw_prefetch_near(w0 + (j + 256));
            tw_prefetch_near(w1 + (j + 256));
          }
          const tw_v_f32 l0 = tw_hold_v_f32(*(const tw_u_f32 *)(r3 + j));
          const tw_v_f32 t0_1 = l0;
          const tw_v_f32 t0_2 = 0.5f * t0_1;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 t0_4 = l1;
          const tw_v_f32 l2 = *(const tw_u_f32 *)(r6 + j);
          const tw_v_f32 t0_5 = l2;
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r2 + j);
          const tw_v_f32 t0_6 = l3;
          const tw_v_f32 l4 = tw_hold_v_f32(*(const tw_u_f32 *)(r4 + j));
          const tw_v_f32 t0_7 = l4;
          const tw_v_f32 l5 = *(const tw_u_f32 *)(r3 + (j - 1));
          const tw_v_f32 t0_8 = l5;
          const tw_v_f32 l6 = *(const tw_u_f32 *)(r3 + (j + 1));
          const tw_v_f32 t0_9 = l6;
          const tw_v_f32 t0_10 = t0_8 + t0_9;
          const tw_v_f32 t0_11 = t0_6 + t0_7;
          const tw_v_f32 t0_12 = t0_11 + t0_10;
          const tw_v_f32 t0_13 = t0_4 + t0_5;
          const tw_v_f32 t0_14 = t0_13 + t0_12;
          const tw_v_f32 t0_15 = 0.083333336f * t0_14;
          const tw_v_f32 t0_16 = t0_2 + t0_15;
          const tw_v_f32 t1_1 = l4;
          const tw_v_f32 t1_2 = 0.5f * t1_1;
          const tw_v_f32 l7 = *(const tw_u_f32 *)(r1 + j);
          const tw_v_f32 t1_4 = l7;
          const tw_v_f32 l8 = *(const tw_u_f32 *)(r7 + j);
          const tw_v_f32 t1_5 = l8;
          const tw_v_f32 t1_6 = l0;
          const tw_v_f32 l9 = *(const tw_u_f32 *)(r5 + j);
          const tw_v_f32 t1_7 = l9;
          const tw_v_f32 l10 = *(const tw_u_f32 *)(r4 + (j - 1));
          const tw_v_f32 t1_8 = l10;
          const tw_v_f32 l11 = *(const tw_u_f32 *)(r4 + (j + 1));
          const tw_v_f32 t1_9 = l11;
          const tw_v_f32 t1_10 = t1_8 + t1_9;
          const tw_v_f32 t1_11 = t1_6 + t1_7;
          const tw_v_f32 t1_12 = t1_11 + t1_10;
          const tw_v_f32 t1_13 = t1_4 + t1_5;
          const tw_v_f32 t1_14 = t1_13 + t1_12;
          const tw_v_f32 t1_15 = 0.083333336f * t1_14;
          const tw_v_f32 t1_16 = t1_2 + t1_15;
          *(tw_u_f32 *)(w0 + j) = t0_16;
          *(tw_u_f32 *)(w1 + j) = t1_16;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
      if (a2 < start) {
        tw_laplacian3d_cells_0(field, size, scalar, constant, t, x0, x1, a2, start);
        tw_laplacian3d_cells_0(field, size, scalar, constant, t, x0, x1 + 1, a2, start);
      }
      if (stop < b2) {
        tw_laplacian3d_cells_0(field, size, scalar, constant, t, x0, x1, stop, b2);
        tw_laplacian3d_cells_0(field, size, scalar, constant, t, x0, x1 + 1, stop, b2);
      }
    }
    for (int64_t row = whole; row < b1; ++row) {
      const int64_t x1 = tw_opaque(row);
      const float *const r0 = (v_u + ((x0 - 1) * s0)) + (x1 * s1);
      const float *const r1 = (v_u + (x0 * s0)) + ((x1 - 1) * s1);
      const float *const r2 = (v_u + (x0 * s0)) + (x1 * s1);
      const float *const r3 = (v_u + (x0 * s0)) + ((x1 + 1) * s1);
      const float *const r4 = (v_u + ((x0 + 1) * s0)) + (x1 * s1);
      float *const w0 = (target + (x0 * s0)) + (x1 * s1);
      {
        int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F32)));
        for (int64_t i = begin; i < end; i += TW_LANES_F32) {
          if (ahead != 0) {
            tw_prefetch_near(r4 + (j + 256));
            tw_prefetch_near(w0 + (j + 256));
          }
          const tw_v_f32 l0 = *(const tw_u_f32 *)(r2 + j);
          const tw_v_f32 t0_1 = l0;
          const tw_v_f32 t0_2 = 0.5f * t0_1;
          const tw_v_f32 l1 = *(const tw_u_f32 *)(r0 + j);
          const tw_v_f32 t0_4 = l1;
          const tw_v_f32 l2 = *(const tw_u_f32 *)(r4 + j);
          const tw_v_f32 t0_5 = l2;
          const tw_v_f32 l3 = *(const tw_u_f32 *)(r1 + j);
          const tw_v_f32 t0_6 = l3;
          const tw_v_f32 l4 = *(const tw_u_f32 *)(r3 + j);
          const tw_v_f32 t0_7 = l4;
          const tw_v_f32 l5 = *(const tw_u_f32 *)(r2 + (j - 1));
          const tw_v_f32 t0_8 = l5;
          const tw_v_f32 l6 = *(const tw_u_f32 *)(r2 + (j + 1));
          const tw_v_f32 t0_9 = l6;
          const tw_v_f32 t0_10 = t0_8 + t0_9;
          const tw_v_f32 t0_11 = t0_6 + t0_7;
          const tw_v_f32 t0_12 = t0_11 + t0_10;
          const tw_v_f32 t0_13 = t0_4 + t0_5;
          const tw_v_f32 t0_14 = t0_13 + t0_12;
          const tw_v_f32 t0_15 = 0.083333336f * t0_14;
          const tw_v_f32 t0_16 = t0_2 + t0_15;
          *(tw_u_f32 *)(w0 + j) = t0_16;
          j = tw_min((i + TW_LANES_F32), (stop - TW_LANES_F32));
        }
      }
      if (a2 < start) {
        tw_laplacian3d_cells_0(field, size, scalar, constant, t, x0, x1, a2, start);
      }
      if (stop < b2) {
        tw_laplacian3d_cells_0(field, size, scalar, constant, t, x0, x1, stop, b2);
      }
    }
  }
}

void tw_laplacian3d(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant) {
  int64_t tw_last_round = INT64_MAX;
  const int64_t steps = size[0];
  const int64_t threads = size[1];
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t n2 = size[4];
  const int64_t s0 = size[5];
  const int64_t s1 = size[6];
  const int64_t slot = size[7];
  const int64_t parts = tw_min(n0, threads);
  const int64_t piece = tw_max(1, (262144 / (s0 * 2))) * 2;
  const int64_t stretch = tw_max(1, tw_min((262144 / (n0 * s0)), 64));
  #pragma omp parallel num_threads(threads)
  {
    const uint64_t mode = tw_flush();
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    for (int64_t since = 0; since < steps && tw_goes_on(&tw_own); since += stretch) {
      for (int64_t t = tw_max(since, 0); t < tw_min((since + stretch), steps); ++t) {
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = (n0 * part) / parts;
          const int64_t last = (n0 * (part + 1)) / parts;
          const int64_t begin = tw_min(tw_max(first, 1), (last - 1));
          for (int64_t low = begin; low < last; low += piece) {
            if ((low == begin) || tw_wanted(&tw_own)) {
              tw_laplacian3d_box_0(field, size, scalar, constant, t, ((begin < low) ? low : first), tw_min((low + piece), last), 0, n1, 0, n2);
            }
          }
        }
      }
    }
    tw_restore(mode);
  }
}
