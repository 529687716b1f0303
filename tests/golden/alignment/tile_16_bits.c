/* a tile of 16-bit scores
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
     tw_fall8(), tw_carry8(), tw_tile8(), tw_profile16(), tw_pack16(), tw_unpack16(), tw_profile32(),
     tw_pack32(), tw_unpack32(), tw_fall32(), tw_carry32(), tw_tile32(), tw_plain(), tw_try8(), tw_try16(),
     tw_try32(), tw_align_score(), tw_align_trace() */

static inline tw_v_i16 tw_fall16(tw_v_i16 x, int64_t fall) {
  const int64_t first = tw_min(fall, 32767);
  tw_v_i16 less = tw_subs_v_i16(x, tw_splat_v_i16(((int16_t)first)));
  if (fall > first) {
    less = tw_subs_v_i16(less, tw_splat_v_i16(((int16_t)(fall - first))));
  }
  return less;
}

static inline tw_v_i16 tw_carry16(tw_v_i16 x, int64_t cost) {
  tw_v_i16 found = x;
  int64_t fall = cost;
  if ((TW_BYTES > 2) & (fall < 65534)) {
    found = tw_maximum_v_i16(found, tw_fall16(tw_beside_low_1_v_i16(found, tw_splat_v_i16((-32767 - 1))), fall));
    fall = fall + fall;
  }
  if ((TW_BYTES > 4) & (fall < 65534)) {
    found = tw_maximum_v_i16(found, tw_fall16(tw_beside_low_2_v_i16(found, tw_splat_v_i16((-32767 - 1))), fall));
    fall = fall + fall;
  }
  if ((TW_BYTES > 8) & (fall < 65534)) {
    found = tw_maximum_v_i16(found, tw_fall16(tw_beside_low_4_v_i16(found, tw_splat_v_i16((-32767 - 1))), fall));
    fall = fall + fall;
  }
  if ((TW_BYTES > 16) & (fall < 65534)) {
    found = tw_maximum_v_i16(found, tw_fall16(tw_beside_low_8_v_i16(found, tw_splat_v_i16((-32767 - 1))), fall));
    fall = fall + fall;
  }
  if ((TW_BYTES > 32) & (fall < 65534)) {
    found = tw_maximum_v_i16(found, tw_fall16(tw_beside_low_16_v_i16(found, tw_splat_v_i16((-32767 - 1))), fall));
    fall = fall + fall;
  }
  return found;
}

static int64_t tw_tile16(const int16_t *restrict profile, const uint8_t *restrict x, int64_t rows, int64_t k,
    int16_t *restrict h, int16_t *restrict g, const int16_t *restrict left_h, const int16_t *restrict left_e,
    int16_t corner, int16_t *restrict right_h, int16_t *restrict right_e, int64_t gap_open, int64_t gap_extend,
    int64_t *restrict found) {
  const int64_t lanes = TW_LANES_I16;
  const tw_v_i16 low = tw_splat_v_i16((-32767 - 1));
  const tw_v_i16 opening = tw_splat_v_i16(((int16_t)gap_open));
  const tw_v_i16 extending = tw_splat_v_i16(((int16_t)gap_extend));
  tw_v_i16 best = low;
  int64_t carried = 0;
  int16_t beside = corner;
  int64_t fits = 1;
  const int64_t last_at = (k - 1) * lanes;
  int64_t i = 0;
  while ((i < rows) & (fits != 0)) {
    const int16_t *const p = profile + ((((int64_t)x[i]) * k) * lanes);
    tw_v_i16 diagonal = tw_beside_low_1_v_i16(*(const tw_u_i16 *)(h + last_at), tw_splat_v_i16(beside));
    tw_v_i16 e = low;
    beside = left_h[i];
    for (int64_t v = 0; v < k; ++v) {
      const int64_t at = v * lanes;
      const tw_v_i16 old = *(const tw_u_i16 *)(h + at);
      const tw_v_i16 gap = tw_maximum_v_i16(tw_subs_v_i16(*(const tw_u_i16 *)(g + at), extending), tw_subs_v_i16(old, opening));
      const tw_v_i16 own = tw_maximum_v_i16(tw_adds_v_i16(diagonal, *(const tw_u_i16 *)(p + at)), gap);
      *(tw_u_i16 *)(g + at) = gap;
      best = tw_maximum_v_i16(best, own);
      *(tw_u_i16 *)(h + at) = tw_maximum_v_i16(own, e);
      e = tw_maximum_v_i16(tw_subs_v_i16(e, extending), tw_subs_v_i16(own, opening));
      diagonal = old;
    }
    tw_v_i16 in = tw_beside_low_1_v_i16(e, tw_splat_v_i16(left_e[i]));
    tw_v_i16 last = in;
    int64_t again = 1;
    while (again != 0) {
      if (carried != 0) {
        in = tw_carry16(in, gap_extend * k);
      }
      last = in;
      int64_t alive = 1;
      int64_t v = 0;
      while ((v < k) & (alive != 0)) {
        const int64_t end = tw_min((v + 4), k);
        tw_v_i16 before = tw_splat_v_i16((-32767 - 1));
        for (int64_t q = v; q < end; ++q) {
          const int64_t at = q * TW_LANES_I16;
          before = *(const tw_u_i16 *)(h + at);
          *(tw_u_i16 *)(h + at) = tw_maximum_v_i16(before, last);
          last = tw_subs_v_i16(last, tw_splat_v_i16(((int16_t)gap_extend)));
        }
        v = end;
        alive = tw_any_gt_v_i16(last, tw_subs_v_i16(before, opening));
      }
      if ((carried != 0) | (alive == 0)) {
        carried = alive;
        again = 0;
      } else {
        carried = 1;
      }
    }
    const tw_v_i16 end_h = *(const tw_u_i16 *)(h + last_at);
    e = tw_maximum_v_i16(e, tw_subs_v_i16(end_h, opening));
    if (carried != 0) {
      e = tw_maximum_v_i16(e, last);
    }
    right_h[i] = end_h[lanes - 1];
    right_e[i] = e[lanes - 1];
    if (((i % 64) == 63) | (i == (rows - 1))) {
      fits = tw_any_gt_v_i16(best, tw_splat_v_i16(32766)) == 0;
    }
    i = i + 1;
  }
  int64_t largest_score = 0;
  for (int64_t lane = 0; lane < TW_LANES_I16; ++lane) {
    largest_score = tw_max(largest_score, (((int64_t)best[lane]) + 32768));
  }
  found[0] = largest_score;
  return fits;
}
