/* pipeline mean, float32, border reflect, 1 row at a time
   starts as every text of its language does, see prelude/
   not shown: TW_LANES_F32, TW_LANES_F64, tw_map_reflect(), tw_p0(), tw_ends_G1(), tw_row_G1(), tw_fetch_G1(),
     tw_tile(), tw() */

#include <string.h>
#if defined(_OPENMP)
extern int omp_get_thread_num(void);
static inline int64_t tw_me(void) { return omp_get_thread_num(); }
#else
static inline int64_t tw_me(void) { return 0; }
#endif
#if defined(__clang__)
#define TW_PAST_512(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_256(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_128(to, v) __builtin_nontemporal_store(v, (row *)(to))
#else
#define TW_PAST_512 __builtin_ia32_movntps512
#define TW_PAST_256 __builtin_ia32_movntps256
#define TW_PAST_128 __builtin_ia32_movntps
#endif
/* Write a row to memory, past the caches if it will not be read soon. */
static inline void tw_put(char *to, const char *from, int64_t bytes, int64_t stream) {
#if defined(__SSE2__)
  if (stream) {
    const int64_t head = tw_min(bytes, (int64_t)(-(uintptr_t)to & 63));
    memcpy(to, from, (size_t)head);
    int64_t i = head;
#if TW_BYTES == 64
    typedef float row __attribute__((vector_size(64)));
    typedef float loose __attribute__((vector_size(64), aligned(1), may_alias));
    for (; i + 64 <= bytes; i += 64) TW_PAST_512((float *)(to + i), (row)*(const loose *)(from + i));
#elif TW_BYTES == 32
    typedef float row __attribute__((vector_size(32)));
    typedef float loose __attribute__((vector_size(32), aligned(1), may_alias));
    for (; i + 32 <= bytes; i += 32) TW_PAST_256((float *)(to + i), (row)*(const loose *)(from + i));
#else
    typedef float row __attribute__((vector_size(16)));
    typedef float loose __attribute__((vector_size(16), aligned(1), may_alias));
    for (; i + 16 <= bytes; i += 16) TW_PAST_128((float *)(to + i), (row)*(const loose *)(from + i));
#endif
    memcpy(to + i, from + i, (size_t)(bytes - i));
    return;
  }
#endif
  (void)stream;
  memcpy(to, from, (size_t)bytes);
}
static inline void tw_done(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
