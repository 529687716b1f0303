/* vectors that go past the caches */

/* store to a vector's own boundary, past the caches where the processor can */
static inline void tw_past_v_f64(double *to, tw_v_f64 v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, (tw_v_f64 *)to);
#elif defined(__AVX512F__)
  typedef float row16 __attribute__((vector_size(64)));
  __builtin_ia32_movntps512((float *)to, (row16)v);
#elif defined(__AVX__)
  typedef float row8 __attribute__((vector_size(32)));
  __builtin_ia32_movntps256((float *)to, (row8)v);
#elif defined(__SSE__)
  typedef float row4 __attribute__((vector_size(16)));
  __builtin_ia32_movntps((float *)to, (row4)v);
#else
  *(tw_u_f64 *)to = v;
#endif
}
