/* copies of rows by the kernels' threads
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_U8, tw_last(), tw_wanted(), tw_goes_on(), omp_get_thread_num(), tw_thread(), TW_LOW_u8,
     TW_ROLLED, tw_turn_u8(), tw_lift_u8(), tw_lower_u8(), tw_wrap_u8(), tw_prefetch_u8(), tw_again_u8(),
     tw_copy_u8(), tw_fill_u8(), tw_stream_u8() */

void tw_copy(uint8_t *const *array, const int64_t *size, uint8_t *work, uint8_t *value) {
  int64_t tw_last_round = INT64_MAX;
  uint8_t *const target = array[0];
  uint8_t *const source = array[1];
  const int64_t threads = size[0];
  const int64_t planes = size[1];
  const int64_t rows = size[2];
  const int64_t bytes = size[3];
  const int64_t to_plane = size[4];
  const int64_t to_row = size[5];
  const int64_t from_plane = size[6];
  const int64_t from_row = size[7];
  #pragma omp parallel num_threads(threads)
  {
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    #pragma omp for schedule(static)
    for (int64_t line = 0; line < (planes * rows); ++line) {
      if (!tw_wanted(&tw_own)) continue;
      const int64_t plane = line / rows;
      const int64_t row = line % rows;
      uint8_t *const to = (target + (plane * to_plane)) + (row * to_row);
      uint8_t *const begin = (source + (plane * from_plane)) + (row * from_row);
      tw_copy_u8(to, begin, bytes);
    }
  }
}
