/* monotone_paths, bool
   starts as every text of its language does, see prelude/
   not shown: GCC, TW_LANES_I32, TW_LANES_I64, TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on(),
     sched_yield(), tw_await(), tw_number_u8(), tw_publish(), omp_get_thread_num(), tw_thread(),
     omp_get_num_threads(), tw_threads(), tw_table_monotone_paths_keep(), tw_table_monotone_paths() */

static inline void tw_table_monotone_paths_cells(const uint8_t *restrict p_1, uint8_t *restrict p_0,
    const int32_t *restrict at_free, int64_t low, int64_t high, int64_t n) {
#pragma GCC ivdep
  for (int64_t r = low; r < (high + 1); ++r) {
    const int32_t v0_0 = at_free[r * (n - 1)];
    const int v0_2 = v0_0 != 0;
    const uint8_t v0_3 = p_1[r - 1];
    const uint8_t v0_4 = p_1[r];
    const int v0_5 = (v0_3 != 0) | (v0_4 != 0);
    const int v0_6 = v0_2 & v0_5;
    const uint8_t now_p = tw_number_u8(v0_6);
    p_0[r] = now_p;
  }
}
