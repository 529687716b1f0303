/* micro-benchmarks of a CPU */

#include <stdint.h>

#if defined(__AVX512F__)
#define TW_BYTES 64
#elif defined(__AVX__)
#define TW_BYTES 32
#else
#define TW_BYTES 16
#endif
#define TW_LANES ((int64_t)(TW_BYTES / sizeof(float)))
typedef float tw_v __attribute__((vector_size(TW_BYTES)));
typedef float tw_u __attribute__((vector_size(TW_BYTES), aligned(4), may_alias));

static void tw_micro_sweep(float *to, const float *from, int64_t count) {
  for (int64_t i = 0; i + 4 * TW_LANES <= count; i += 4 * TW_LANES)
    for (int64_t j = 0; j < 4; ++j)
      *(tw_u *)(to + i + j * TW_LANES) = 0.5f * *(const tw_u *)(from + i + j * TW_LANES);
}

/* size: elements per thread, threads, repetitions, distance of the threads' parts */
void tw_micro_copy(float **field, const int64_t *size, const float *scalar, const float **constant) {
  const int64_t count = size[0], threads = size[1], repeats = size[2], apart = size[3];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t r = 0; r < repeats; ++r) {
      tw_micro_sweep(field[1] + t * apart, field[0] + t * apart, count);
      __asm__ volatile("" ::: "memory");
    }
}

/* size: unused, threads, repetitions: what ends every wavefront of tiles */
void tw_micro_barrier(float **field, const int64_t *size, const float *scalar, const float **constant) {
  const int64_t threads = size[1], repeats = size[2];
  (void)field; (void)scalar; (void)constant;
#pragma omp parallel num_threads(threads)
  for (int64_t r = 0; r < repeats; ++r) {
#pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < threads; ++t) __asm__ volatile("" ::: "memory");
  }
}

/* size: unused, threads, repetitions: a team of threads that starts and ends */
void tw_micro_team(float **field, const int64_t *size, const float *scalar, const float **constant) {
  const int64_t threads = size[1], repeats = size[2];
  (void)field; (void)scalar; (void)constant;
  for (int64_t r = 0; r < repeats; ++r) {
#pragma omp parallel num_threads(threads)
    __asm__ volatile("" ::: "memory");
  }
}
