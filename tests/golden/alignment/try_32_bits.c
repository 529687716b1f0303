/* a tile on 32 bits
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
     tw_tile32(), tw_plain(), tw_try8(), tw_try16(), tw_align_score(), tw_align_trace() */

static int64_t tw_try32(uint8_t *mine, int64_t *state, const uint8_t *y, const int32_t *matrix, int64_t span,
    int64_t width, int64_t letters, int64_t tall, int64_t gap_open, int64_t gap_extend, int64_t lowest, int64_t largest,
    const uint8_t *x, int64_t rows, const int32_t *left_h, const int32_t *left_e, int64_t corner, int32_t *right_h,
    int32_t *right_e, int64_t *found) {
  int64_t good = 1;
  if (good != 0) {
    const int64_t k = ((width + TW_LANES_I32) - 1) / TW_LANES_I32;
    const int64_t lanes = TW_LANES_I32;
    int32_t *const h = ((int32_t *)mine);
    int32_t *const g = ((int32_t *)(mine + (span * 4)));
    int32_t *const old_h = ((int32_t *)(mine + (span * 8)));
    int32_t *const old_g = ((int32_t *)(mine + (span * 12)));
    if (state[0] != 32) {
      tw_plain(mine, span, width, state);
      if (state[4] == 0) {
        tw_profile32(mine, state, y, matrix, span, width, letters, tall, gap_open, gap_extend, lowest, largest);
      }
      state[4] = 1;
      tw_pack32(h, ((int32_t *)(mine + (span * 16))), width);
      tw_pack32(g, ((int32_t *)(mine + (span * 20))), width);
      state[0] = 32;
    }
    int32_t *const in_h = ((int32_t *)((mine + (span * 24)) + ((letters * span) * 7)));
    int32_t *const in_e = ((int32_t *)((mine + (span * 24)) + ((letters * span) * 7))) + tall;
    int32_t *const out_h = ((int32_t *)((mine + (span * 24)) + ((letters * span) * 7))) + (tall * 2);
    int32_t *const out_e = ((int32_t *)((mine + (span * 24)) + ((letters * span) * 7))) + (tall * 3);
    for (int64_t i = 0; i < rows; ++i) {
      in_h[i] = ((int32_t)((int64_t)left_h[i]));
      in_e[i] = ((int32_t)((int64_t)left_e[i]));
    }
    const int64_t count = k * lanes;
    for (int64_t z = 0; z < count; ++z) {
      old_h[z] = h[z];
      old_g[z] = g[z];
    }
    good = tw_tile32(((int32_t *)((mine + (span * 24)) + ((letters * span) * 3))), x, rows, k, h, g, in_h, in_e, ((int32_t)corner), out_h, out_e, gap_open, gap_extend, found);
    if (good != 0) {
      for (int64_t i = 0; i < rows; ++i) {
        right_h[i] = ((int32_t)((int64_t)out_h[i]));
        right_e[i] = ((int32_t)((int64_t)out_e[i]));
      }
      tw_v_i32 high = tw_splat_v_i32(0);
      for (int64_t v = 0; v < k; ++v) {
        high = tw_maximum_v_i32(high, *(const tw_u_i32 *)(h + (v * lanes)));
      }
      int64_t largest_score = 0;
      for (int64_t lane = 0; lane < TW_LANES_I32; ++lane) {
        largest_score = tw_max(largest_score, ((int64_t)high[lane]));
      }
      (state + 1)[0] = largest_score;
    } else {
      for (int64_t z = 0; z < count; ++z) {
        h[z] = old_h[z];
        g[z] = old_g[z];
      }
    }
  }
  return good;
}
