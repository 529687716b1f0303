/* a tile of 16-bit scores
   not shown: tw_min(), tw_max(), tw_ceildiv(), TW_MOVE, tw_splat8(), tw_max8(), tw_above8(), tw_add8(),
     tw_sub8(), tw_up8(), tw_splat16(), tw_max16(), tw_above16(), tw_add16(), tw_sub16(), tw_up16(),
     tw_splat32(), tw_max32(), tw_above32(), tw_add32(), tw_sub32(), tw_up32(), tw_profile8(), tw_pack8(),
     tw_unpack8(), tw_profile16(), tw_pack16(), tw_unpack16(), tw_profile32(), tw_pack32(), tw_unpack32(),
     tw_plain(), tw_fall8(), tw_carry8(), tw_tile8(), tw_try8(), tw_try16(), tw_fall32(), tw_carry32(),
     tw_tile32(), tw_try32(), tw_await(), tw_align_score(), tw_align_trace() */

/* A score less what a longer gap costs, which may be more than the type's highest number. */
static inline tw_v16 tw_fall16(tw_v16 x, int64_t fall) {
  const int64_t first = tw_min(fall, TW_HIGH16);
  x = tw_sub16(x, tw_splat16((tw_t16)first));
  return fall > first ? tw_sub16(x, tw_splat16((tw_t16)(fall - first))) : x;
}

/* Gaps that come into the lanes, each lane's own among them. */
static inline tw_v16 tw_carry16(tw_v16 x, int64_t fall) {
#if 2 < TW_BYTES
  if (fall >= 2 * (int64_t)TW_HIGH16) return x;
  x = tw_max16(x, tw_fall16(TW_UP16(x, 1), fall));
  fall *= 2;
#endif
#if 4 < TW_BYTES
  if (fall >= 2 * (int64_t)TW_HIGH16) return x;
  x = tw_max16(x, tw_fall16(TW_UP16(x, 2), fall));
  fall *= 2;
#endif
#if 8 < TW_BYTES
  if (fall >= 2 * (int64_t)TW_HIGH16) return x;
  x = tw_max16(x, tw_fall16(TW_UP16(x, 4), fall));
  fall *= 2;
#endif
#if 16 < TW_BYTES
  if (fall >= 2 * (int64_t)TW_HIGH16) return x;
  x = tw_max16(x, tw_fall16(TW_UP16(x, 8), fall));
  fall *= 2;
#endif
#if 32 < TW_BYTES
  if (fall >= 2 * (int64_t)TW_HIGH16) return x;
  x = tw_max16(x, tw_fall16(TW_UP16(x, 16), fall));
  fall *= 2;
#endif
  return x;
}

/* One tile: k vectors of columns, whose H and V are state. Returns 0 if a score did not fit. */
static int tw_tile16(const tw_v16 *profile, const uint8_t *x, int64_t rows, int64_t k, tw_v16 *restrict h,
                      tw_v16 *restrict g, const tw_t16 *left_h, const tw_t16 *left_e, tw_t16 corner,
                      tw_t16 *right_h, tw_t16 *right_e, int64_t gap_open, int64_t gap_extend, int64_t *found) {
  const tw_v16 low = tw_splat16(TW_LOW16);
  const tw_v16 open = tw_splat16((tw_t16)gap_open), extend = tw_splat16((tw_t16)gap_extend);
  tw_v16 best = low;
  int carried = 0;
  tw_t16 beside = corner;
  for (int64_t i = 0; i < rows; ++i) {
    const tw_v16 *p = profile + x[i] * k;
    tw_v16 diagonal = TW_UP16(h[k - 1], 1), e = low;
    diagonal[0] = beside;
    beside = left_h[i];
    for (int64_t v = 0; v < k; ++v) {
      const tw_v16 old = h[v];
      const tw_v16 gap = tw_max16(tw_sub16(g[v], extend), tw_sub16(old, open));
      const tw_v16 own = tw_max16(tw_add16(diagonal, p[v]), gap);
      g[v] = gap;
      best = tw_max16(best, own);
      h[v] = tw_max16(own, e);
      e = tw_max16(tw_sub16(e, extend), tw_sub16(own, open));
      diagonal = old;
    }
    tw_v16 in = TW_UP16(e, 1);
    in[0] = left_e[i];
    tw_v16 last;
    for (;;) {
      if (carried) in = tw_carry16(in, gap_extend * k);
      last = in;
      int alive = 1;
      for (int64_t v = 0; v < k && alive;) {
        const int64_t end = tw_min(v + 4, k);
        tw_v16 before = low;
        for (; v < end; ++v) {
          before = h[v];
          h[v] = tw_max16(before, last);
          last = tw_sub16(last, extend);
        }
        alive = tw_above16(last, tw_sub16(before, open));
      }
      if (carried || !alive) { carried = alive; break; }
      carried = 1;
    }
    e = tw_max16(e, tw_sub16(h[k - 1], open));
    if (carried) e = tw_max16(e, last);
    right_h[i] = h[k - 1][TW_LANES16 - 1];
    right_e[i] = e[TW_LANES16 - 1];
    if (TW_HIGH16 < 32768 && ((i & 63) == 63 || i == rows - 1)
        && tw_above16(best, tw_splat16(TW_HIGH16 - 1))) return 0;
  }
  int64_t most = 0;
  for (int64_t i = 0; i < TW_LANES16; ++i) most = tw_max(most, (int64_t)best[i] - TW_LOW16);
  *found = most;
  return 1;
}
