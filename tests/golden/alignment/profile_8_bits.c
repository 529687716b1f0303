/* 8-bit scores
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
     tw_translate_i16(), tw_translate_i32(), tw_translate_i8(), tw_fall8(), tw_carry8(), tw_tile8(),
     tw_profile16(), tw_pack16(), tw_unpack16(), tw_fall16(), tw_carry16(), tw_tile16(), tw_profile32(),
     tw_pack32(), tw_unpack32(), tw_fall32(), tw_carry32(), tw_tile32(), tw_plain(), tw_try8(), tw_try16(),
     tw_try32(), tw_align_score(), tw_align_trace() */

static void tw_profile8(uint8_t *mine, int64_t *state, const uint8_t *y, const int32_t *matrix, int64_t span,
    int64_t width, int64_t letters, int64_t tall, int64_t gap_open, int64_t gap_extend, int64_t lowest,
    int64_t largest) {
  const int64_t k = ((width + TW_LANES_I8) - 1) / TW_LANES_I8;
  const int64_t lanes = TW_LANES_I8;
  uint8_t *const codes = ((mine + (span * 24)) + ((letters * span) * 7)) + ((((tall * 16) + 63) / 64) * 64);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    for (int64_t v = 0; v < k; ++v) {
      const int64_t j = (lane * k) + v;
      if (j < width) {
        codes[(v * lanes) + lane] = y[j];
      } else {
        codes[(v * lanes) + lane] = ((uint8_t)letters);
      }
    }
  }
  int8_t *const profile = ((int8_t *)(mine + (span * 24)));
  int8_t score[256];
  for (int64_t a = 0; a < letters; ++a) {
    for (int64_t c = 0; c < letters; ++c) {
      score[c] = ((int8_t)matrix[(a * letters) + c]);
    }
    score[letters] = ((int8_t)lowest);
    tw_translate_i8(profile + ((a * k) * lanes), codes, score, letters + 1, k * lanes);
  }
}

static void tw_pack8(int8_t *to, const int32_t *from, int64_t width) {
  const int64_t k = ((width + TW_LANES_I8) - 1) / TW_LANES_I8;
  const int64_t lanes = TW_LANES_I8;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    for (int64_t v = 0; v < k; ++v) {
      const int64_t j = (lane * k) + v;
      int64_t score = (-128);
      if (j < width) {
        score = ((int64_t)from[j]) - 128;
      }
      to[(v * lanes) + lane] = ((int8_t)score);
    }
  }
}

static void tw_unpack8(int32_t *to, const int8_t *from, int64_t width) {
  const int64_t k = ((width + TW_LANES_I8) - 1) / TW_LANES_I8;
  const int64_t lanes = TW_LANES_I8;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    for (int64_t v = 0; v < tw_min(k, (width - (lane * k))); ++v) {
      to[(lane * k) + v] = ((int32_t)(((int64_t)from[(v * lanes) + lane]) + 128));
    }
  }
}
