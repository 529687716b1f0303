/* bytes as entries of a table */

/* bytes that become entries of a table: a permutation, where a register holds the table */
static void tw_translate_i8(int8_t *to, const uint8_t *from, const int8_t *table, int64_t entries, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512VBMI__) && !defined(__clang__)
  typedef char raw __attribute__((vector_size(64)));
  typedef char loose __attribute__((vector_size(64), aligned(1), may_alias));
  if (entries <= 64) {
    const unsigned long long every = -1;
    raw all = {0};
    __builtin_memcpy(&all, table, (unsigned long)entries);
    for (; i + 64 <= n; i += 64)
      *(loose *)(to + i) = __builtin_ia32_permvarqi512_mask(all, *(const loose *)(from + i), all, every);
  }
#endif
  (void)entries;
  for (; i < n; ++i) to[i] = table[from[i]];
}
