/* 8-bit scores
   not shown: tw_min(), tw_max(), tw_ceildiv(), TW_MOVE, tw_splat16(), tw_max16(), tw_above16(), tw_add16(),
     tw_sub16(), tw_up16(), tw_splat32(), tw_max32(), tw_above32(), tw_add32(), tw_sub32(), tw_up32(),
     tw_profile8(), tw_pack8(), tw_unpack8(), tw_profile16(), tw_pack16(), tw_unpack16(), tw_profile32(),
     tw_pack32(), tw_unpack32(), tw_plain(), tw_fall8(), tw_carry8(), tw_tile8(), tw_try8(), tw_fall16(),
     tw_carry16(), tw_tile16(), tw_try16(), tw_fall32(), tw_carry32(), tw_tile32(), tw_try32(), tw_await(),
     tw_align_score(), tw_align_trace() */

typedef int8_t tw_t8;
typedef tw_t8 tw_v8 __attribute__((vector_size(TW_BYTES), may_alias));
#define TW_LANES8 ((int64_t)(TW_BYTES / sizeof(tw_t8)))
#define TW_LOW8 ((tw_t8)-128)
#define TW_HIGH8 127
static inline tw_v8 tw_splat8(tw_t8 a) { return a - (tw_v8){0}; }
#if defined(__AVX2__)
static inline tw_v8 tw_max8(tw_v8 a, tw_v8 b) { return (tw_v8)TW_OP(max, 8)((tw_raw)a, (tw_raw)b); }
static inline int tw_above8(tw_v8 a, tw_v8 b) { return TW_ANY_GREATER(a, b, 8); }
#else
static inline tw_v8 tw_max8(tw_v8 a, tw_v8 b) {
  const tw_v8 m = (tw_v8)(a > b);
  return (a & m) | (b & ~m);
}
static inline int tw_above8(tw_v8 a, tw_v8 b) {
  const tw_v8 m = (tw_v8)(a > b);
  int64_t part[TW_BYTES / 8], any = 0;
  memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
}
#endif
#if defined(__AVX2__)
static inline tw_v8 tw_add8(tw_v8 a, tw_v8 b) { return (tw_v8)TW_OP(adds, 8)((tw_raw)a, (tw_raw)b); }
static inline tw_v8 tw_sub8(tw_v8 a, tw_v8 b) { return (tw_v8)TW_OP(subs, 8)((tw_raw)a, (tw_raw)b); }
#else
/* Where the sum's sign differs from both operands', it overflowed towards their side. */
static inline tw_v8 tw_add8(tw_v8 a, tw_v8 b) {
  const tw_v8 r = a + b, m = (tw_v8)(((a ^ r) & (b ^ r)) < 0);
  return (r & ~m) | (((a >> (8 - 1)) ^ tw_splat8(TW_HIGH8)) & m);
}
static inline tw_v8 tw_sub8(tw_v8 a, tw_v8 b) {
  const tw_v8 r = a - b, m = (tw_v8)(((a ^ b) & (a ^ r)) < 0);
  return (r & ~m) | (((a >> (8 - 1)) ^ tw_splat8(TW_HIGH8)) & m);
}
#endif
#if defined(__AVX2__)
#define TW_UP8(x, steps) (tw_v8)TW_MOVE(x, tw_splat8(TW_LOW8), (steps) * (int)sizeof(tw_t8))
#else
static inline tw_v8 tw_up8(tw_v8 x, int64_t steps) {
  tw_v8 r = tw_splat8(TW_LOW8);
  for (int64_t i = steps; i < TW_LANES8; ++i) r[i] = x[i - steps];
  return r;
}
#define TW_UP8(x, steps) tw_up8(x, steps)
#endif
