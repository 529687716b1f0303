/* scores of two sequences
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
     tw_tile32(), tw_try8(), tw_try16(), tw_try32(), tw_align_trace() */

static void tw_plain(uint8_t *mine, int64_t span, int64_t width, int64_t *state) {
  if (state[0] == 8) {
    tw_unpack8(((int32_t *)(mine + (span * 16))), ((const int8_t *)mine), width);
    tw_unpack8(((int32_t *)(mine + (span * 20))), ((const int8_t *)(mine + (span * 4))), width);
  }
  if (state[0] == 16) {
    tw_unpack16(((int32_t *)(mine + (span * 16))), ((const int16_t *)mine), width);
    tw_unpack16(((int32_t *)(mine + (span * 20))), ((const int16_t *)(mine + (span * 4))), width);
  }
  if (state[0] == 32) {
    tw_unpack32(((int32_t *)(mine + (span * 16))), ((const int32_t *)mine), width);
    tw_unpack32(((int32_t *)(mine + (span * 20))), ((const int32_t *)(mine + (span * 4))), width);
  }
}

void tw_align_score(uint8_t *const *array, const int64_t *size, uint8_t *work, uint8_t *const *unused) {
  int64_t tw_last_round = INT64_MAX;
  const uint8_t *const x = ((const uint8_t *)array[0]);
  const uint8_t *const y = ((const uint8_t *)array[1]);
  const int32_t *const matrix = ((const int32_t *)array[2]);
  int32_t *const vertical_h = ((int32_t *)array[3]);
  int32_t *const vertical_e = ((int32_t *)array[4]);
  int32_t *const horizontal_h = ((int32_t *)array[5]);
  int32_t *const horizontal_g = ((int32_t *)array[6]);
  int32_t *const tile_best = ((int32_t *)array[7]);
  uint8_t *const tile_bits = array[8];
  int64_t *const flags = ((int64_t *)array[9]);
  const int64_t m = size[0];
  const int64_t n = size[1];
  const int64_t letters = size[2];
  const int64_t open = size[3];
  const int64_t extend = size[4];
  const int64_t t = size[5];
  const int64_t s = size[6];
  const int64_t threads = size[7];
  const int64_t keep = size[8];
  const int64_t size_bits = size[9];
  const int64_t lowest = size[10];
  const int64_t own = size[11];
  const int64_t tall = ((m + t) - 1) / t;
  const int64_t wide = ((n + s) - 1) / s;
  int64_t largest = 0;
  for (int64_t a = 0; a < (letters * letters); ++a) {
    const int64_t score = ((int64_t)matrix[a]);
    largest = tw_max(largest, tw_max(score, (-score)));
  }
  #pragma omp parallel num_threads(threads)
  {
    tw_asks tw_own = {&tw_last_round, 0, tw_thread() ? INT64_MAX : 0};
    uint8_t *const mine = work + (tw_thread() * own);
    for (int64_t b = tw_thread(); b < wide; b += tw_threads()) {
      const int64_t j0 = b * s;
      const int64_t width = tw_min(s, (n - j0));
      const int64_t span = ((s + 63) / 64) * 64;
      int64_t state[5];
      for (int64_t z = 0; z < 5; ++z) {
        state[z] = 0;
      }
      const uint8_t *const from = y + j0;
      for (int64_t z = 0; z < width; ++z) {
        ((int32_t *)(mine + (span * 16)))[z] = 0;
        ((int32_t *)(mine + (span * 20)))[z] = 0;
      }
      int64_t corner = 0;
      int64_t bits = size_bits;
      for (int64_t a = 0; a < tall; ++a) {
        if (b != 0) {
          tw_await(flags + ((b - 1) * 16), a + 1);
        }
        if (tw_wanted(&tw_own)) {
          const int64_t i0 = a * t;
          const int64_t rows = tw_min(t, (m - i0));
          int32_t *const left_h = (vertical_h + ((keep != 0) ? (b * m) : 0)) + i0;
          int32_t *const left_e = (vertical_e + ((keep != 0) ? (b * m) : 0)) + i0;
          int32_t *const right_h = (vertical_h + ((keep != 0) ? ((b + 1) * m) : 0)) + i0;
          int32_t *const right_e = (vertical_e + ((keep != 0) ? ((b + 1) * m) : 0)) + i0;
          const int64_t next = ((int64_t)left_h[rows - 1]);
          int64_t found[1];
          int64_t used = 0;
          if ((bits > size_bits) & (state[1] < 64)) {
            bits = size_bits;
          }
          if ((used == 0) & (bits <= 8)) {
            const int64_t good = tw_try8(mine, state, from, matrix, span, width, letters, t, open, extend, lowest, largest, x + i0, rows, left_h, left_e, corner, right_h, right_e, found);
            if (good != 0) {
              used = 8;
            }
          }
          if ((used == 0) & (bits <= 16)) {
            const int64_t good = tw_try16(mine, state, from, matrix, span, width, letters, t, open, extend, lowest, largest, x + i0, rows, left_h, left_e, corner, right_h, right_e, found);
            if (good != 0) {
              used = 16;
            }
          }
          if ((used == 0) & (bits <= 32)) {
            const int64_t good = tw_try32(mine, state, from, matrix, span, width, letters, t, open, extend, lowest, largest, x + i0, rows, left_h, left_e, corner, right_h, right_e, found);
            if (good != 0) {
              used = 32;
            }
          }
          bits = used;
          corner = next;
          tile_best[(a * wide) + b] = ((int32_t)found[0]);
          tile_bits[(a * wide) + b] = ((uint8_t)used);
          if (keep != 0) {
            tw_plain(mine, span, width, state);
            for (int64_t z = 0; z < width; ++z) {
              horizontal_h[(((a + 1) * n) + (b * s)) + z] = ((int32_t *)(mine + (span * 16)))[z];
              horizontal_g[(((a + 1) * n) + (b * s)) + z] = ((int32_t *)(mine + (span * 20)))[z];
            }
          }
        }
        tw_publish(flags + (b * 16), a + 1);
      }
    }
  }
}
