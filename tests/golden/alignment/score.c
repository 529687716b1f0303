/* scores of two sequences
   not shown: tw_min(), tw_max(), tw_ceildiv(), TW_MOVE, tw_splat8(), tw_max8(), tw_above8(), tw_add8(),
     tw_sub8(), tw_up8(), tw_splat16(), tw_max16(), tw_above16(), tw_add16(), tw_sub16(), tw_up16(),
     tw_splat32(), tw_max32(), tw_above32(), tw_add32(), tw_sub32(), tw_up32(), tw_profile8(), tw_pack8(),
     tw_unpack8(), tw_profile16(), tw_pack16(), tw_unpack16(), tw_profile32(), tw_pack32(), tw_unpack32(),
     tw_fall8(), tw_carry8(), tw_tile8(), tw_fall16(), tw_carry16(), tw_tile16(), tw_try16(), tw_fall32(),
     tw_carry32(), tw_tile32(), tw_try32(), tw_await(), tw_align_trace() */

/* The state as plain 32-bit numbers. */
static void tw_plain(tw_column *c) {
  const int64_t width = c->width;
#define TW_PLAIN(B) if (c->ready == B) { \
  tw_unpack##B(c->plain_h, (const tw_v##B *)c->h, width, tw_ceildiv(width, TW_LANES##B)); \
  tw_unpack##B(c->plain_g, (const tw_v##B *)c->g, width, tw_ceildiv(width, TW_LANES##B)); }
  TW_PLAIN(8) else TW_PLAIN(16) else TW_PLAIN(32)
}
enum { TW_LEVEL8, TW_LEVEL16, TW_LEVEL32 };

/* Computes a tile on 8 bits from 32-bit edges; leaves everything as it was and returns 0 if that is too narrow. */
static int tw_try8(tw_column *c, const uint8_t *x, int64_t rows, const int32_t *left_h, const int32_t *left_e,
                     int32_t corner, int32_t *right_h, int32_t *right_e, int64_t *found) {
  const int64_t k = tw_ceildiv(c->width, TW_LANES8);
  const int64_t most = (int64_t)TW_HIGH8 - TW_LOW8 - 1;
  if (8 < 32) {
    int64_t edge = corner;
    for (int64_t i = 0; i < rows; ++i) edge = tw_max(edge, tw_max(left_h[i], left_e[i]));
    if (edge > most || c->most > most || c->gap_open > TW_HIGH8 || c->gap_extend > TW_HIGH8
        || c->largest > TW_HIGH8) return 0;
  }
  tw_v8 *const profile = (tw_v8 *)c->profile[TW_LEVEL8];
  const size_t bytes = (size_t)k * sizeof(tw_v8);
  if (c->ready != 8) {
    tw_plain(c);
    if (!c->profiled[TW_LEVEL8])
      tw_profile8(profile, c->codes, c->matrix, c->letters, c->y, c->width, k, c->lowest);
    c->profiled[TW_LEVEL8] = 1;
    tw_pack8((tw_v8 *)c->h, c->plain_h, c->width, k);
    tw_pack8((tw_v8 *)c->g, c->plain_g, c->width, k);
    c->ready = 8;
  }
  tw_t8 *in_h = (tw_t8 *)c->edge, *in_e = in_h + c->tall, *out_h = in_e + c->tall, *out_e = out_h + c->tall;
  for (int64_t i = 0; i < rows; ++i) in_h[i] = (tw_t8)(left_h[i] + TW_LOW8);
  for (int64_t i = 0; i < rows; ++i) in_e[i] = (tw_t8)(left_e[i] + TW_LOW8);
  memcpy(c->old_h, c->h, bytes);
  memcpy(c->old_g, c->g, bytes);
  const int good = tw_tile8(profile, x, rows, k, (tw_v8 *)c->h, (tw_v8 *)c->g, in_h, in_e,
                              (tw_t8)(corner + TW_LOW8), out_h, out_e, c->gap_open, c->gap_extend, found);
  if (!good) {
    memcpy(c->h, c->old_h, bytes);
    memcpy(c->g, c->old_g, bytes);
    return 0;
  }
  for (int64_t i = 0; i < rows; ++i) right_h[i] = (int32_t)out_h[i] - TW_LOW8;
  for (int64_t i = 0; i < rows; ++i) right_e[i] = (int32_t)out_e[i] - TW_LOW8;
  tw_v8 high = tw_splat8(TW_LOW8);
  for (int64_t v = 0; v < k; ++v) high = tw_max8(high, ((const tw_v8 *)c->h)[v]);
  c->most = 0;
  for (int64_t i = 0; i < TW_LANES8; ++i) c->most = tw_max(c->most, (int64_t)high[i] - TW_LOW8);
  return 1;
}

void tw_align_score(void *const *array, const int64_t *size, void *work, void *const *unused) {
  (void)unused;
  const uint8_t *x = array[0], *y = array[1];
  const int32_t *matrix = array[2];
  int32_t *vertical_h = array[3], *vertical_e = array[4], *horizontal_h = array[5], *horizontal_g = array[6];
  int32_t *tile_best = array[7];
  uint8_t *tile_bits = array[8];
  const int64_t m = size[0], n = size[1], letters = size[2], t = size[5], s = size[6], keep = size[8];
  const int64_t tall = tw_ceildiv(m, t), wide = tw_ceildiv(n, s), own = size[11];
  tw_flag *flags = array[9];
  int64_t largest = 0;
  for (int64_t a = 0; a < letters * letters; ++a) largest = tw_max(largest, labs(matrix[a]));
  #pragma omp parallel num_threads((int)size[7])
  {
#ifdef _OPENMP
    const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
#else
    const int64_t me = 0, all = 1;
#endif
    char *mine = (char *)work + me * own;
    const int64_t columns = (s + 63) / 64 * 64, state = columns * 4;
    for (int64_t b = me; b < wide; b += all) {
      const int64_t j0 = b * s, width = tw_min(s, n - j0);
      tw_column c = {.y = y + j0, .matrix = matrix, .letters = letters, .width = width, .tall = t,
                     .gap_open = size[3], .gap_extend = size[4], .lowest = size[10], .largest = largest};
      c.h = mine; c.g = mine + state; c.old_h = mine + 2 * state; c.old_g = mine + 3 * state;
      c.plain_h = (int32_t *)(mine + 4 * state); c.plain_g = (int32_t *)(mine + 5 * state);
      c.profile[0] = mine + 6 * state;
      c.profile[1] = mine + 6 * state + letters * columns;
      c.profile[2] = mine + 6 * state + 3 * letters * columns;
      c.edge = mine + 6 * state + 7 * letters * columns;
      c.codes = (uint8_t *)c.edge + (16 * t + 63) / 64 * 64;
      memset(c.plain_h, 0, state);
      memset(c.plain_g, 0, state);
      int32_t corner = 0;
      int bits = (int)size[9];
      for (int64_t a = 0; a < tall; ++a) {
        const int64_t i0 = a * t, rows = tw_min(t, m - i0);
        if (b) tw_await(flags + b - 1, a + 1);
        const int32_t *left_h = vertical_h + (keep ? b * m : 0) + i0, *left_e = vertical_e + (keep ? b * m : 0) + i0;
        int32_t *right_h = vertical_h + (keep ? (b + 1) * m : 0) + i0;
        int32_t *right_e = vertical_e + (keep ? (b + 1) * m : 0) + i0;
        const int32_t next = left_h[rows - 1];
        int64_t found = 0;
        int used = 0;
        if (bits > (int)size[9] && c.most < 64) bits = (int)size[9];
        if (bits <= 8 && tw_try8(&c, x + i0, rows, left_h, left_e, corner, right_h, right_e, &found)) used = 8;
        if (!used && bits <= 16 && tw_try16(&c, x + i0, rows, left_h, left_e, corner, right_h, right_e, &found))
          used = 16;
        if (!used) { tw_try32(&c, x + i0, rows, left_h, left_e, corner, right_h, right_e, &found); used = 32; }
        bits = used;
        corner = next;
        tile_best[a * wide + b] = (int32_t)found;
        tile_bits[a * wide + b] = (uint8_t)used;
        if (keep) {
          tw_plain(&c);
          memcpy(horizontal_h + (a + 1) * n + j0, c.plain_h, (size_t)width * 4);
          memcpy(horizontal_g + (a + 1) * n + j0, c.plain_g, (size_t)width * 4);
        }
        __atomic_store_n(&flags[b].value, a + 1, __ATOMIC_RELEASE);
      }
    }
  }
}
