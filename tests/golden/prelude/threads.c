/* threads that tell each other, and rows that go past the caches */

/* what was written before a number was published is seen behind the wait for it */
extern int sched_yield(void);
static void tw_await(const int64_t *flag, int64_t value) {
  for (int64_t turn = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < value; ++turn)
    if (turn > 256) sched_yield();
}

/* what was streamed is seen by every thread that is later told so */
static inline void tw_fence(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

/* ask for a line that is used soon */
#define tw_prefetch_near(at) __builtin_prefetch(at, 0, 3)

static inline void tw_publish(int64_t *flag, int64_t value) {
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

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
static inline void tw_put(void *target, const void *source, int64_t bytes, int64_t stream) {
  char *to = target;
  const char *from = source;
#if defined(__SSE2__)
  if (stream) {
    const int64_t head = tw_min(bytes, (int64_t)(-(uintptr_t)to & 63));
    __builtin_memcpy(to, from, (unsigned long)head);
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
    __builtin_memcpy(to + i, from + i, (unsigned long)(bytes - i));
    return;
  }
#endif
  (void)stream;
  __builtin_memcpy(to, from, (unsigned long)bytes);
}

#if defined(_OPENMP)
extern int omp_get_num_threads(void);
static inline int64_t tw_threads(void) { return omp_get_num_threads(); }
#else
static inline int64_t tw_threads(void) { return 1; }
#endif
