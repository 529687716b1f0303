/* needleman_wunsch, float32
   starts as every text of its language does, see prelude/
   not shown: GCC, TW_LANES_F32, TW_LANES_I32, TW_LANES_I64, TW_LANES_U8, tw_last(), tw_wanted(),
     tw_goes_on(), sched_yield(), tw_await(), tw_maximum_f32(), tw_publish(), omp_get_thread_num(),
     tw_thread(), omp_get_num_threads(), tw_threads(), tw_table_needleman_wunsch_keep(),
     tw_table_needleman_wunsch() */

static inline void tw_table_needleman_wunsch_cells(const float *restrict e_1, const float *restrict f_1,
    const float *restrict h_1, const float *restrict h_2, float *restrict h_0, float *restrict e_0, float *restrict f_0,
    const int32_t *restrict at_a, const int32_t *restrict at_b, const float *restrict at_score, int64_t wide_score,
    float c_gap_open, float c_gap_extend, int64_t low, int64_t high, int64_t n) {
#pragma GCC ivdep
  for (int64_t r = low; r < (high + 1); ++r) {
    const float v0_0 = e_1[r];
    const float v0_2 = v0_0 - c_gap_extend;
    const float v0_3 = h_1[r];
    const float v0_5 = v0_3 - c_gap_open;
    const float v0_6 = tw_maximum_f32(v0_2, v0_5);
    const float now_e = v0_6;
    e_0[r] = now_e;
    const float v1_0 = f_1[r - 1];
    const float v1_2 = v1_0 - c_gap_extend;
    const float v1_3 = h_1[r - 1];
    const float v1_5 = v1_3 - c_gap_open;
    const float v1_6 = tw_maximum_f32(v1_2, v1_5);
    const float now_f = v1_6;
    f_0[r] = now_f;
    const float v2_0 = h_2[r - 1];
    const int32_t v2_1 = at_a[r];
    const int32_t v2_2 = at_b[r];
    const float v2_3 = at_score[(((int64_t)v2_1) * wide_score) + ((int64_t)v2_2)];
    const float v2_4 = v2_0 + v2_3;
    const float v2_5 = now_e;
    const float v2_6 = tw_maximum_f32(v2_4, v2_5);
    const float v2_7 = now_f;
    const float v2_8 = tw_maximum_f32(v2_6, v2_7);
    const float now_h = v2_8;
    h_0[r] = now_h;
  }
}
