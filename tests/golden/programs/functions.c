/* functions, float64, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, tw_pick_f64(), tw_fma_f64(), tw_scaled_f64(), tw_nearest_f64(), tw_any_f64(),
     tw_last(), tw_wanted(), tw_goes_on(), tw_exp_v_f64(), tw_flush(), tw_restore(), tw_lanes_sin_f64(),
     tw_sin_v_f64(), tw_sqrt_v_f64(), omp_get_thread_num(), tw_thread(), tw_functions_box_0(), tw_functions() */

static void tw_functions_cells_0(double *const *field, const int64_t *size, const double *scalar,
    const double *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const double *const v_u = field[0] + ((t % 2) * slot);
  double *const target = field[0] + (((t + 1) % 2) * slot);
  const double *const r0 = v_u;
  double *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const double t0 = r0[x];
    const double t1 = (-t0);
    const double t2 = __builtin_exp(t1);
    const double t3 = r0[x + 1];
    const double t4 = __builtin_sin(t3);
    const double t5 = t2 + t4;
    const double t6 = r0[x - 1];
    const double t8 = __builtin_pow(t6, 2.5);
    const double t9 = t5 + t8;
    w0[x] = t9;
  }
}
