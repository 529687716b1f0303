/* the path through a tile
   starts as every text of its language does, see prelude/
   not shown: GCC, TW_LANES_I16, TW_LANES_I32, TW_LANES_I64, TW_LANES_I8, TW_LANES_U8, TW_MIX, tw_pick_i16(),
     tw_pick_i32(), tw_pick_i8(), tw_adds_v_i16(), tw_adds_v_i8(), tw_any_gt_v_i16(), tw_any_gt_v_i32(),
     tw_any_gt_v_i8(), tw_last(), tw_wanted(), tw_goes_on(), sched_yield(), tw_await(),
     tw_beside_low_1_v_i16(), tw_beside_low_1_v_i32(), tw_beside_low_1_v_i8(), tw_beside_low_16_v_i16(),
     tw_beside_low_16_v_i8(), tw_beside_low_2_v_i16(), tw_beside_low_2_v_i32(), tw_beside_low_2_v_i8(),
     tw_beside_low_32_v_i8(), tw_beside_low_4_v_i16(), tw_beside_low_4_v_i32(), tw_beside_low_4_v_i8(),
     tw_beside_low_8_v_i16(), tw_beside_low_8_v_i32(), tw_beside_low_8_v_i8(), tw_maximum_v_i16(),
     tw_maximum_v_i32(), tw_maximum_v_i8(), tw_publish(), tw_splat_v_i16(), tw_splat_v_i32(), tw_splat_v_i8(),
     tw_subs_v_i16(), tw_subs_v_i8(), omp_get_thread_num(), tw_thread(), omp_get_num_threads(), tw_threads(),
     tw_translate_i16(), tw_translate_i32(), tw_translate_i8(), tw_profile8(), tw_pack8(), tw_unpack8(),
     tw_fall8(), tw_carry8(), tw_tile8(), tw_profile16(), tw_pack16(), tw_unpack16(), tw_fall16(),
     tw_carry16(), tw_tile16(), tw_profile32(), tw_pack32(), tw_unpack32(), tw_fall32(), tw_carry32(),
     tw_tile32(), tw_plain(), tw_try8(), tw_try16(), tw_try32(), tw_align_score() */

void tw_align_trace(uint8_t *const *array, int64_t *size, uint8_t *work, uint8_t *const *unused) {
  int64_t tw_last_round = INT64_MAX;
  tw_asks tw_own = {&tw_last_round, 0, 0};
  uint8_t *const way = array[7];
  uint8_t *const operation = array[8];
  const int64_t columns = size[1];
  int64_t i = size[6];
  int64_t j = size[7];
  int64_t state = size[8];
  const int64_t rows = size[0];
  const int64_t letters = size[2];
  const int64_t open = size[3];
  const int64_t extend = size[4];
  const int64_t best = size[9];
  int32_t *const h = ((int32_t *)work);
  int32_t *const g = h + columns;
  for (int64_t q = 0; q < columns; ++q) {
    h[q] = ((const int32_t *)array[5])[q];
    g[q] = ((const int32_t *)array[6])[q];
  }
  int64_t corner = size[5];
  const int search = i < 0;
  for (int64_t r = 0; r < rows && tw_wanted(&tw_own); ++r) {
    int64_t diagonal = corner;
    int64_t e = ((int64_t)((const int32_t *)array[4])[r]);
    int64_t beside = ((int64_t)((const int32_t *)array[3])[r]);
    corner = beside;
    for (int64_t q = 0; q < columns; ++q) {
      const int64_t fresh = tw_max((beside - open), 0);
      const int64_t longer = e - ((q > 0) ? extend : 0);
      const int across = longer > fresh;
      e = ((across | (q == 0)) ? longer : fresh);
      const int64_t above = ((int64_t)h[q]);
      const int64_t older = ((int64_t)g[q]) - extend;
      const int64_t newer = tw_max((above - open), 0);
      const int down = older > newer;
      const int64_t v = tw_max(older, newer);
      g[q] = ((int32_t)v);
      int64_t value = diagonal + ((int64_t)((const int32_t *)array[2])[(((int64_t)((const uint8_t *)array[0])[r]) * letters) + ((int64_t)((const uint8_t *)array[1])[q])]);
      int64_t from = 1;
      if (e > value) {
        value = e;
        from = 2;
      }
      if (v > value) {
        value = v;
        from = 3;
      }
      if (value <= 0) {
        value = 0;
        from = 0;
      }
      diagonal = above;
      beside = value;
      h[q] = ((int32_t)value);
      way[(r * columns) + q] = ((uint8_t)(((((int64_t)across) * 4) + (((int64_t)down) * 8)) + from));
      if ((search & (i < 0)) & (value == best)) {
        i = r;
        j = q;
      }
    }
  }
  size[10] = i;
  size[11] = j;
  int64_t count = 0;
  while (((i >= 0) & (j >= 0)) & (state != 3)) {
    const int64_t bits = ((int64_t)way[(i * columns) + j]);
    if (state == 0) {
      const int64_t from = bits % 4;
      if (from == 0) {
        state = 3;
      }
      if (from == 1) {
        operation[count] = 0;
        count = count + 1;
        i = i - 1;
        j = j - 1;
      }
      if (from > 1) {
        state = from - 1;
      }
    } else {
      const int across = state == 1;
      const int64_t goes_on = (across ? (bits / 4) : (bits / 8)) % 2;
      operation[count] = ((uint8_t)(2 - across));
      count = count + 1;
      if (across) {
        j = j - 1;
      } else {
        i = i - 1;
      }
      if (goes_on == 0) {
        state = 0;
      }
    }
  }
  size[6] = i;
  size[7] = j;
  size[8] = state;
  size[9] = count;
}
