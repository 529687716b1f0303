/* calls that may end early */

/* Whether the results of a call are still wanted: who calls may set tw_interrupted, which the calling
   thread asks now and then. It says how often not to ask again, or less than 0: then the call ends soon, its results
   undefined. All threads leave a loop in whose every iteration they meet in the same one, that after the end. */
__attribute__((common)) int64_t (*tw_interrupted)(void);
typedef struct {
  int64_t *last, round, patience;
} tw_asks;
static inline int64_t tw_last(tw_asks *own) {
  if (--own->patience < 0) {
    own->patience = tw_interrupted ? tw_interrupted() : INT64_MAX;
    if (own->patience < 0) {
      own->patience = INT64_MAX;
      __atomic_store_n(own->last, own->round, __ATOMIC_RELAXED);
    }
  }
  return __atomic_load_n(own->last, __ATOMIC_RELAXED);
}
static inline int tw_wanted(tw_asks *own) { return tw_last(own) > own->round; }
static inline int tw_goes_on(tw_asks *own) {
  ++own->round;
  return tw_last(own) >= own->round;
}
