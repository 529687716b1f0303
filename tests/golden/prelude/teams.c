/* threads that meet */

/* some threads wait for each other: each says how often it has come, in a cache line of its own */
#define TW_APART 16
#if defined(__unix__) || defined(__APPLE__)
extern int sched_yield(void);
#define TW_YIELD sched_yield()
#else
#define TW_YIELD (void)0
#endif
static void tw_meet(int64_t *come, int64_t first, int64_t count, int64_t own) {
  const int64_t turn = come[TW_APART * own] + 1;
  __atomic_store_n(come + TW_APART * own, turn, __ATOMIC_RELEASE);
  for (int64_t i = first; i < first + count; ++i) {
    for (int64_t spent = 0; __atomic_load_n(come + TW_APART * i, __ATOMIC_ACQUIRE) < turn; ++spent) {
      if (spent > 2000) TW_YIELD;
    }
  }
}
