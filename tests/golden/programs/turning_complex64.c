/* turning, complex64, boundary fixed, tiling none
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_C64, TW_LANES_F32X2, TW_TWICE_4, TW_MIX, tw_pick_c64(), tw_imag_v_c64(),
     tw_real_v_c64(), tw_swap_v_c64(), tw_last(), tw_wanted(), tw_goes_on(), tw_conj_c64(), tw_conj_v_c64(),
     tw_div_c64(), tw_div_v_c64(), tw_flush(), tw_restore(), tw_imag_c64(), tw_modulus_c64(),
     tw_modulus_v_c64(), tw_real_c64(), omp_get_thread_num(), tw_thread(), tw_times_i_c64(),
     tw_times_i_v_c64(), tw_where_c64(), tw_where_v_c64(), tw_turning() */

static void tw_turning_cells_0(float _Complex *const *field, const int64_t *size,
    const float _Complex *scalar, const float _Complex *const *constant, int64_t t, int64_t low, int64_t high) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float _Complex *const v_u = field[0] + ((t % 2) * slot);
  float _Complex *const target = field[0] + (((t + 1) % 2) * slot);
  const float _Complex *const r0 = v_u;
  float _Complex *const w0 = target;
  for (int64_t x = low; x < high; ++x) {
    const float _Complex t0 = r0[x];
    const float _Complex t1 = r0[x + 1];
    const float t2 = tw_modulus_c64(t1);
    const float _Complex t3 = t2 * t0;
    const float _Complex t4 = r0[x - 1];
    const float _Complex t5 = t4 + t1;
    const float _Complex t6 = tw_div_c64(t3, t5);
    const float t9 = tw_real_c64(t0);
    const float t9_2 = tw_imag_c64(t0);
    const int t9_3 = t9 == 0.0f;
    const int t9_4 = t9_2 == 0.0f;
    const int t9_5 = t9_3 & t9_4;
    const float _Complex t10 = tw_conj_c64(t0);
    const float _Complex t11 = tw_where_c64(t9_5, t5, t10);
    const float _Complex t12 = tw_times_i_c64(0.1f, t11);
    const float _Complex t13 = t6 + t12;
    w0[x] = t13;
  }
}

static __attribute__((noinline)) void tw_turning_box_0(float _Complex *const *field, const int64_t *size,
    const float _Complex *scalar, const float _Complex *const *constant, int64_t t, int64_t low0, int64_t high0) {
  const int64_t n0 = size[2];
  const int64_t slot = size[3];
  const float _Complex *const v_u = field[0] + ((t % 2) * slot);
  float _Complex *const target = field[0] + (((t + 1) % 2) * slot);
  const int64_t a0 = tw_max(low0, 1);
  const int64_t b0 = tw_min(high0, (n0 - 1));
  const int64_t first = tw_max(a0, 1);
  const int64_t last = tw_min(b0, (n0 - 1));
  const int64_t start = (((last - first) >= TW_LANES_C64) ? first : b0);
  const int64_t stop = (((last - first) >= TW_LANES_C64) ? last : b0);
  const int64_t begin = (((last - first) >= TW_LANES_C64) ? (first - (first % TW_LANES_C64)) : b0);
  const int64_t end = stop;
  const float _Complex *const r0 = v_u;
  float _Complex *const w0 = target;
  {
    int64_t j = tw_max(start, tw_min(begin, (stop - TW_LANES_C64)));
    for (int64_t i = begin; i < end; i += TW_LANES_C64) {
      const tw_v_c64 l0 = *(const tw_u_c64 *)(r0 + j);
      const tw_v_c64 t0_0 = l0;
      const tw_v_c64 l1 = *(const tw_u_c64 *)(r0 + (j + 1));
      const tw_v_c64 t0_1 = l1;
      const tw_v_f32x2 t0_2 = tw_modulus_v_c64(t0_1);
      const tw_v_c64 t0_3 = t0_2 * t0_0;
      const tw_v_c64 l2 = *(const tw_u_c64 *)(r0 + (j - 1));
      const tw_v_c64 t0_4 = l2;
      const tw_v_c64 t0_5 = t0_4 + t0_1;
      const tw_v_c64 t0_6 = tw_div_v_c64(t0_3, t0_5);
      const tw_v_f32x2 t0_9 = tw_real_v_c64(t0_0);
      const tw_v_f32x2 t0_9_2 = tw_imag_v_c64(t0_0);
      const tw_m_c64 t0_9_3 = t0_9 == 0.0f;
      const tw_m_c64 t0_9_4 = t0_9_2 == 0.0f;
      const tw_m_c64 t0_9_5 = t0_9_3 & t0_9_4;
      const tw_v_c64 t0_10 = tw_conj_v_c64(t0_0);
      const tw_v_c64 t0_11 = tw_where_v_c64(t0_9_5, t0_5, t0_10);
      const tw_v_c64 t0_12 = tw_times_i_v_c64(0.1f, t0_11);
      const tw_v_c64 t0_13 = t0_6 + t0_12;
      *(tw_u_c64 *)(w0 + j) = t0_13;
      j = tw_min((i + TW_LANES_C64), (stop - TW_LANES_C64));
    }
  }
  if (a0 < start) {
    tw_turning_cells_0(field, size, scalar, constant, t, a0, start);
  }
  if (stop < b0) {
    tw_turning_cells_0(field, size, scalar, constant, t, stop, b0);
  }
}
