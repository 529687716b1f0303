/* jacobi2d, float64, boundary fixed, tiling hybrid:t=2,s=4x16,rows=1
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F64, TW_MIX, tw_pick_f64(), tw_last(), tw_wanted(), tw_goes_on(),
     tw_beside_high_1_v_f64(), tw_beside_low_1_v_f64(), tw_flush(), tw_restore(), tw_opaque(),
     omp_get_thread_num(), tw_thread(), tw_jacobi2d_cells_0(), tw_jacobi2d_box_0_long(), tw_jacobi2d_box_0(),
     tw_jacobi2d() */

static __attribute__((noinline)) void tw_jacobi2d_box_0_short(double *const *field, const int64_t *size,
    const double *scalar, const double *const *constant, int64_t t, int64_t low0, int64_t high0, int64_t low1,
    int64_t high1) {
  const int64_t n0 = size[2];
  const int64_t n1 = size[3];
  const int64_t s0 = size[4];
  const int64_t slot = size[5];
  const double *const v_u = field[0] + ((t % 2) * slot);
  double *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t a1 = tw_max(low1, 1);
  const int64_t b1 = tw_min(high1, (n1 - 1));
  const int64_t first = tw_max(a1, 1);
  const int64_t last = tw_min(b1, (n1 - 1));
  const int64_t start = (((last - first) >= TW_LANES_F64) ? first : b1);
  const int64_t stop = (((last - first) >= TW_LANES_F64) ? last : b1);
  const int64_t begin = (((last - first) >= TW_LANES_F64) ? (first - (first % TW_LANES_F64)) : b1);
  const int64_t end = stop;
  for (int64_t row = a0; row < b0; ++row) {
    const int64_t x0 = tw_opaque(row);
    const double *const r0 = v_u + ((x0 - 1) * s0);
    const double *const r1 = v_u + (x0 * s0);
    const double *const r2 = v_u + ((x0 + 1) * s0);
    double *const w0 = target + (x0 * s0);
    {
      int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_F64)));
      for (int64_t i = begin; i < end; i += TW_LANES_F64) {
        const tw_v_f64 l0 = *(const tw_u_f64 *)(r0 + j);
        const tw_v_f64 t0_0 = l0;
        const tw_v_f64 l1 = *(const tw_u_f64 *)(r1 + (j - 1));
        const tw_v_f64 t0_1 = l1;
        const tw_v_f64 l2 = *(const tw_u_f64 *)(r1 + j);
        const tw_v_f64 t0_2 = l2;
        const tw_v_f64 l3 = *(const tw_u_f64 *)(r1 + (j + 1));
        const tw_v_f64 t0_3 = l3;
        const tw_v_f64 l4 = *(const tw_u_f64 *)(r2 + j);
        const tw_v_f64 t0_4 = l4;
        const tw_v_f64 t0_5 = t0_0 + t0_1;
        const tw_v_f64 t0_6 = t0_5 + t0_2;
        const tw_v_f64 t0_7 = t0_6 + t0_3;
        const tw_v_f64 t0_8 = t0_7 + t0_4;
        const tw_v_f64 t0_10 = t0_8 * 0.2;
        *(tw_u_f64 *)(w0 + j) = t0_10;
        j = tw_min((i + TW_LANES_F64), (stop - TW_LANES_F64));
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
