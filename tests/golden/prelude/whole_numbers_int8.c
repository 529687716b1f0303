/* what processors have one instruction for */

static inline tw_v_i8 tw_pick_i8(tw_m_i8 m, tw_v_i8 a, tw_v_i8 b) {
  return (tw_v_i8)(((tw_m_i8)a & m) | ((tw_m_i8)b & ~m));
}

static inline tw_v_i8 tw_adds_v_i8(tw_v_i8 a, tw_v_i8 b) {
#if defined(__AVX512BW__) && !defined(__clang__)
  typedef char raw __attribute__((vector_size(64)));
  return (tw_v_i8)__builtin_ia32_paddsb512_mask((raw)a, (raw)b, (raw)b, (unsigned long long)-1);
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef char raw __attribute__((vector_size(32)));
  return (tw_v_i8)__builtin_ia32_paddsb256((raw)a, (raw)b);
#else
  /* where the result's sign says so, it went beyond the end of the range that the first operand is nearer to */
  const tw_v_i8 r = a + b, m = (tw_v_i8)(((a ^ ~b) & (a ^ r)) < 0);
  return (r & ~m) | (((a >> 7) ^ ((tw_v_i8){0} + 127)) & m);
#endif
}

static inline int tw_any_gt_v_i8(tw_v_i8 a, tw_v_i8 b) {
#if defined(__AVX512BW__) && !defined(__clang__)
  typedef char raw __attribute__((vector_size(64)));
  return __builtin_ia32_cmpb512_mask((raw)a, (raw)b, 6, (unsigned long long)-1) != 0;
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef char bytes __attribute__((vector_size(32)));
  return __builtin_ia32_pmovmskb256((bytes)(a > b)) != 0;
#else
  const tw_v_i8 m = (tw_v_i8)(a > b);
  int64_t part[TW_BYTES / 8], any = 0;
  __builtin_memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
#endif
}

static inline tw_v_i8 tw_maximum_v_i8(tw_v_i8 a, tw_v_i8 b) {
#if defined(__AVX512BW__) && !defined(__clang__)
  typedef char raw __attribute__((vector_size(64)));
  return (tw_v_i8)__builtin_ia32_pmaxsb512_mask((raw)a, (raw)b, (raw)b, (unsigned long long)-1);
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef char raw __attribute__((vector_size(32)));
  return (tw_v_i8)__builtin_ia32_pmaxsb256((raw)a, (raw)b);
#else
  return tw_pick_i8(a > b, a, b);
#endif
}

static inline tw_v_i8 tw_subs_v_i8(tw_v_i8 a, tw_v_i8 b) {
#if defined(__AVX512BW__) && !defined(__clang__)
  typedef char raw __attribute__((vector_size(64)));
  return (tw_v_i8)__builtin_ia32_psubsb512_mask((raw)a, (raw)b, (raw)b, (unsigned long long)-1);
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef char raw __attribute__((vector_size(32)));
  return (tw_v_i8)__builtin_ia32_psubsb256((raw)a, (raw)b);
#else
  /* where the result's sign says so, it went beyond the end of the range that the first operand is nearer to */
  const tw_v_i8 r = a - b, m = (tw_v_i8)(((a ^ b) & (a ^ r)) < 0);
  return (r & ~m) | (((a >> 7) ^ ((tw_v_i8){0} + 127)) & m);
#endif
}
