/* 32-bit scores
   not shown: tw_min(), tw_max(), tw_ceildiv(), TW_MOVE, tw_splat8(), tw_max8(), tw_above8(), tw_add8(),
     tw_sub8(), tw_up8(), tw_splat16(), tw_max16(), tw_above16(), tw_add16(), tw_sub16(), tw_up16(),
     tw_profile8(), tw_pack8(), tw_unpack8(), tw_profile16(), tw_pack16(), tw_unpack16(), tw_profile32(),
     tw_pack32(), tw_unpack32(), tw_plain(), tw_fall8(), tw_carry8(), tw_tile8(), tw_try8(), tw_fall16(),
     tw_carry16(), tw_tile16(), tw_try16(), tw_fall32(), tw_carry32(), tw_tile32(), tw_try32(), tw_await(),
     tw_align_score(), tw_align_trace() */

typedef int32_t tw_t32;
typedef tw_t32 tw_v32 __attribute__((vector_size(TW_BYTES), may_alias));
#define TW_LANES32 ((int64_t)(TW_BYTES / sizeof(tw_t32)))
#define TW_LOW32 ((tw_t32)0)
#define TW_HIGH32 2147483647
static inline tw_v32 tw_splat32(tw_t32 a) { return a - (tw_v32){0}; }
#if defined(__AVX2__)
static inline tw_v32 tw_max32(tw_v32 a, tw_v32 b) { return (tw_v32)TW_OP(max, 32)((tw_raw)a, (tw_raw)b); }
static inline int tw_above32(tw_v32 a, tw_v32 b) { return TW_ANY_GREATER(a, b, 32); }
#else
static inline tw_v32 tw_max32(tw_v32 a, tw_v32 b) {
  const tw_v32 m = (tw_v32)(a > b);
  return (a & m) | (b & ~m);
}
static inline int tw_above32(tw_v32 a, tw_v32 b) {
  const tw_v32 m = (tw_v32)(a > b);
  int64_t part[TW_BYTES / 8], any = 0;
  memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
}
#endif
static inline tw_v32 tw_add32(tw_v32 a, tw_v32 b) { return tw_max32(a + b, (tw_v32){0}); }
static inline tw_v32 tw_sub32(tw_v32 a, tw_v32 b) { return tw_max32(a - b, (tw_v32){0}); }
#if defined(__AVX2__)
#define TW_UP32(x, steps) (tw_v32)TW_MOVE(x, tw_splat32(TW_LOW32), (steps) * (int)sizeof(tw_t32))
#else
static inline tw_v32 tw_up32(tw_v32 x, int64_t steps) {
  tw_v32 r = tw_splat32(TW_LOW32);
  for (int64_t i = steps; i < TW_LANES32; ++i) r[i] = x[i - steps];
  return r;
}
#define TW_UP32(x, steps) tw_up32(x, steps)
#endif
