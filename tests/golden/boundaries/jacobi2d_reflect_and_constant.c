/* jacobi2d, float32, boundary (reflect, constant:1), tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_MIX, tw_pick_f32(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f32(), tw_beside_low_1_v_f32(), tw_flush(), tw_restore(), tw_hold_v_f32(),
     tw_opaque(), tw_splat_v_f32(), omp_get_thread_num(), tw_thread(), tw_jacobi2d_cell_0(),
     tw_jacobi2d_box_0_short(), tw_jacobi2d_box_0_long(), tw_jacobi2d_box_0(), tw_jacobi2d() */

static void tw_jacobi2d_cells_0(float *const *field, const int64_t *size, const float *scalar,
    const float *const *constant, int64_t t, int64_t x0, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const float *const v_u = field[0] + ((t % 2) * slot);
  float *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t y0_0_m1 = (((x0 - 1) < 0) ? tw_min(tw_floormod((x0 - 1), (n0 * 2)), (((n0 * 2) - 1) - tw_floormod((x0 - 1), (n0 * 2)))) : (x0 - 1));
  const int64_t y0_0_p1 = (((x0 + 1) >= n0) ? tw_min(tw_floormod((x0 + 1), (n0 * 2)), (((n0 * 2) - 1) - tw_floormod((x0 + 1), (n0 * 2)))) : (x0 + 1));
  const float *const r0 = v_u + (y0_0_m1 * s0);
  const float *const r1 = v_u + (x0 * s0);
  const float *const r2 = v_u + (y0_0_p1 * s0);
  float *const w0 = target + (x0 * s0);
  for (int64_t x = low; x < high; ++x) {
    const float t0 = r0[x];
    const float t1 = tw_jacobi2d_cell_0(r1, x - 1, n1);
    const float t2 = t0 + t1;
    const float t3 = r1[x];
    const float t4 = t2 + t3;
    const float t5 = tw_jacobi2d_cell_0(r1, x + 1, n1);
    const float t6 = t4 + t5;
    const float t7 = r2[x];
    const float t8 = t6 + t7;
    const float t10 = t8 * 0.2f;
    w0[x] = t10;
  }
}
