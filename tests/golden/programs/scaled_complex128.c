/* scaled, complex128, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_C128, TW_TWICE_4, TW_MIX, tw_pick_c128(), tw_imag_v_c128(), tw_real_v_c128(),
     tw_swap_v_c128(), tw_last(), tw_wanted(), tw_goes_on(), tw_beside_high_1_v_c128(),
     tw_beside_low_1_v_c128(), tw_flush(), tw_restore(), tw_mul_c128(), tw_mul_v_c128(), tw_splat_v_c128(),
     omp_get_thread_num(), tw_thread(), tw_scaled_box_0_short(), tw_scaled_box_0(), tw_scaled() */

static void tw_scaled_cells_0(double _Complex *const *field, const int64_t *size,
    const double _Complex *scalar, const double _Complex *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const double _Complex *const v_u = field[0] + ((t % 2) * slot);
  double _Complex *const target = field[0] + (((t + 1) % 2) * slot);
  const double _Complex c_a = scalar[0];
  const double _Complex c_b = scalar[1];
  const double _Complex *const r0 = v_u;
  double _Complex *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const double _Complex t1 = r0[x - 1];
    const double _Complex t2 = r0[x + 1];
    const double _Complex t3 = t1 + t2;
    const double _Complex t4 = tw_mul_c128(c_a, t3);
    const double _Complex t6 = r0[x];
    const double _Complex t7 = tw_mul_c128(c_b, t6);
    const double _Complex t8 = t4 + t7;
    w0[x] = t8;
  }
}

static __attribute__((noinline)) void tw_scaled_box_0_long(double _Complex *const *field,
    const int64_t *size, const double _Complex *scalar, const double _Complex *const *constant, int64_t t, int64_t low0,
    int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const double _Complex *const v_u = field[0] + ((t % 2) * slot);
  double _Complex *const target = field[0] + (((t + 1) % 2) * slot);
  const double _Complex c_a = scalar[0];
  const double _Complex c_b = scalar[1];
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_C128) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_C128) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_C128) ? (first - (first % TW_LANES_C128)) : b0);
  const int64_t end = stop;
  const int64_t beside_from = ((begin < tw_max(start, TW_LANES_C128)) ? (begin + TW_LANES_C128) : begin);
  const int64_t beside_length = (tw_max((tw_min(tw_min(end, stop), (n0 - TW_LANES_C128)) - beside_from), 0) / TW_LANES_C128) * TW_LANES_C128;
  const double _Complex *const r0 = v_u;
  double _Complex *const w0 = target;
  if (0 < beside_length) {
    tw_v_c128 r0_low = *(const tw_u_c128 *)(r0 + (beside_from - TW_LANES_C128));
    tw_v_c128 r0_here = *(const tw_u_c128 *)(r0 + beside_from);
    for (int64_t j = beside_from; j < (beside_from + beside_length); j += TW_LANES_C128) {
      const tw_v_c128 r0_high = *(const tw_u_c128 *)(r0 + (j + TW_LANES_C128));
      const tw_v_c128 l0 = tw_beside_low_1_v_c128(r0_here, r0_low);
      const tw_v_c128 t0_1 = l0;
      const tw_v_c128 l1 = tw_beside_high_1_v_c128(r0_here, r0_high);
      const tw_v_c128 t0_2 = l1;
      const tw_v_c128 t0_3 = t0_1 + t0_2;
      const tw_v_c128 t0_4 = tw_mul_v_c128(tw_splat_v_c128(c_a), t0_3);
      const tw_v_c128 l2 = r0_here;
      const tw_v_c128 t0_6 = l2;
      const tw_v_c128 t0_7 = tw_mul_v_c128(tw_splat_v_c128(c_b), t0_6);
      const tw_v_c128 t0_8 = t0_4 + t0_7;
      *(tw_u_c128 *)(w0 + j) = t0_8;
      r0_low = r0_here;
      r0_here = r0_high;
    }
  }
  for (int64_t part = 0; part < (((0 < beside_length) ? 1 : 0) + 1); ++part) {
    const int64_t low = ((part == 0) ? begin : (beside_from + beside_length));
    const int64_t high = (((part + 1) < (((0 < beside_length) ? 1 : 0) + 1)) ? beside_from : end);
    {
      int64_t j = tw_max(start, tw_min(low, (stop - TW_LANES_C128)));
      for (int64_t i = low; i < high; i += TW_LANES_C128) {
        const tw_v_c128 l0 = *(const tw_u_c128 *)(r0 + (j - 1));
        const tw_v_c128 t0_1 = l0;
        const tw_v_c128 l1 = *(const tw_u_c128 *)(r0 + (j + 1));
        const tw_v_c128 t0_2 = l1;
        const tw_v_c128 t0_3 = t0_1 + t0_2;
        const tw_v_c128 t0_4 = tw_mul_v_c128(tw_splat_v_c128(c_a), t0_3);
        const tw_v_c128 l2 = *(const tw_u_c128 *)(r0 + j);
        const tw_v_c128 t0_6 = l2;
        const tw_v_c128 t0_7 = tw_mul_v_c128(tw_splat_v_c128(c_b), t0_6);
        const tw_v_c128 t0_8 = t0_4 + t0_7;
        *(tw_u_c128 *)(w0 + j) = t0_8;
        j = tw_min((i + TW_LANES_C128), (stop - TW_LANES_C128));
      }
    }
  }
  if (a0 < start) {
    tw_scaled_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_scaled_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}
