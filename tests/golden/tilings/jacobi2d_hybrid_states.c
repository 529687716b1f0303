/* jacobi2d, float32, boundary fixed, tiling hybrid:t=2,s=4x16,rows=1, states kept
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_fence(), tw_flush(), tw_restore(), tw_opaque(),
     tw_put(), omp_get_thread_num(), tw_thread(), tw_jacobi2d_box_0_values_short(),
     tw_jacobi2d_box_0_values_long(), tw_jacobi2d_box_0_values(), tw_jacobi2d() */

static void tw_jacobi2d_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t x0, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + (((t == 0) ? 2 : (t % 2)) * slot);
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

static __attribute__((noinline)) void tw_jacobi2d_state_0(float *const *field, const int64_t *size,
    const float *scalar, const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  float *const target = field[0] + (((t + 1) % 2) * slot);
  float *const state = field[0] + ((t + 3) * slot);
  const int64_t cells = (n0 * s0) * 28;
  const int64_t past = cells > 33554432;
  const int64_t first = (((a1 == 1) & (b1 == (n1 - 1))) ? 0 : a1);
  const int64_t last = (((a1 == 1) & (b1 == (n1 - 1))) ? (tw_ceildiv(n1, 16) * 16) : b1);
  if (a1 < b1) {
    for (int64_t x0 = a0; x0 < b0; ++x0) {
      tw_put(state + (first + (x0 * s0)), target + (first + (x0 * s0)), (last - first) * 4, past);
    }
    tw_fence();
  }
}

static void tw_jacobi2d_box_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1, int64_t high1) {
  tw_jacobi2d_box_0_values(field, size, scalar, constant, t, low0, high0, low1, high1);
  tw_jacobi2d_state_0(field, size, scalar, constant, t, low0, high0, low1, high1);
}
