/* edit_distance, int16
   starts as every text of its language does, see prelude/
   not shown: GCC, TW_LANES_I16, TW_LANES_I32, TW_LANES_I64, TW_LANES_U8, tw_last(), tw_wanted(),
     tw_goes_on(), sched_yield(), tw_await(), tw_minimum_i16(), tw_publish(), omp_get_thread_num(),
     tw_thread(), omp_get_num_threads(), tw_threads(), tw_where_i16(), tw_table_edit_distance_keep(),
     tw_table_edit_distance() */

static inline void tw_table_edit_distance_cells(const int16_t *restrict d_1, const int16_t *restrict d_2,
    int16_t *restrict d_0, const int32_t *restrict at_a, const int32_t *restrict at_b, int64_t low, int64_t high,
    int64_t n) {
#pragma GCC ivdep
  for (int64_t r = low; r < (high + 1); ++r) {
    const int16_t v0_0 = d_2[r - 1];
    const int32_t v0_1 = at_a[r];
    const int32_t v0_2 = at_b[r];
    const int v0_3 = v0_1 == v0_2;
    const int16_t v0_6 = tw_where_i16(v0_3, 0, 1);
    const int16_t v0_7 = v0_0 + v0_6;
    const int16_t v0_8 = d_1[r - 1];
    const int16_t v0_9 = d_1[r];
    const int16_t v0_10 = tw_minimum_i16(v0_8, v0_9);
    const int16_t v0_11 = v0_10 + 1;
    const int16_t v0_12 = tw_minimum_i16(v0_7, v0_11);
    const int16_t now_d = v0_12;
    d_0[r] = now_d;
  }
}
