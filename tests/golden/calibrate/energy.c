/* single operations of a CPU */

#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define TW_BYTES 64
#define TW_MAX(a, b) ((tw_i)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#include <immintrin.h>
#define TW_BYTES 32
#define TW_MAX(a, b) ((tw_i)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#elif defined(__SSE4_1__)
#include <immintrin.h>
#define TW_BYTES 16
#define TW_MAX(a, b) ((tw_i)_mm_max_epi32((__m128i)(a), (__m128i)(b)))
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#define TW_BYTES 16
#define TW_MAX(a, b) ((tw_i)vmaxq_s32((int32x4_t)(a), (int32x4_t)(b)))
#else
#define TW_BYTES 16
#define TW_MAX(a, b) (((a) & ((a) > (b))) | ((b) & ~((a) > (b))))
#endif
#if defined(__x86_64__)
#define TW_REGISTER "x"
#define TW_REST __asm__ volatile("pause")
#elif defined(__aarch64__)
#define TW_REGISTER "w"
#define TW_REST __asm__ volatile("isb")
#else
#error "single operations are metered on x86-64 and AArch64"
#endif
#define TW_VALUES ((int64_t)(TW_BYTES / 4))
typedef float tw_f __attribute__((vector_size(TW_BYTES), may_alias));
typedef int32_t tw_i __attribute__((vector_size(TW_BYTES), may_alias));
#define TW_FADD(a, b) ((a) + (b))
#define TW_FMUL(a, b) ((a) * (b))
#define TW_FDIV(a, b) ((a) / (b))
#define TW_IADD(a, b) ((a) + (b))
#define TW_RENEW(k) __asm__ volatile("" : "+" TW_REGISTER(k[0]), "+" TW_REGISTER(k[1]), "+" TW_REGISTER(k[2]), \
  "+" TW_REGISTER(k[3]), "+" TW_REGISTER(k[4]), "+" TW_REGISTER(k[5]), "+" TW_REGISTER(k[6]), "+" TW_REGISTER(k[7]))
#define TW_ONE(T, OP, a, b) { T r = OP(a, b); __asm__ volatile("" : : TW_REGISTER(r)); }
#define TW_EIGHT(T, OP) TW_RENEW(k); \
  TW_ONE(T, OP, k[0], k[1]) TW_ONE(T, OP, k[2], k[3]) TW_ONE(T, OP, k[4], k[5]) TW_ONE(T, OP, k[6], k[7]) \
  TW_ONE(T, OP, k[1], k[2]) TW_ONE(T, OP, k[3], k[4]) TW_ONE(T, OP, k[5], k[6]) TW_ONE(T, OP, k[7], k[0])
#define TW_FOUR_TIMES(X) X X X X
#define TW_KERNEL(NAME) void NAME(float **field, const int64_t *size, const float *scalar, const float **constant)

/* size: values per thread, threads, repetitions, distance of the threads' parts */
TW_KERNEL(tw_energy_awake) {
  const int64_t threads = size[1], turns = size[0] * size[2];
  (void)field; (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t i = 0; i < turns; ++i) TW_REST;
}

TW_KERNEL(tw_energy_load) {
  const int64_t values = size[0], threads = size[1], repeats = size[2], apart = size[3];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t n = 0; n < repeats; ++n) {
      const float *from = field[0] + t * apart;
      for (int64_t i = 0; i < values; i += 64 * TW_VALUES)
#pragma GCC unroll 64
        for (int64_t j = 0; j < 64; ++j) {
          tw_f r = *(const tw_f *)(from + i + j * TW_VALUES);
          __asm__ volatile("" : : TW_REGISTER(r) : "memory");
        }
    }
}

TW_KERNEL(tw_energy_add) {
  const int64_t values = size[0], threads = size[1], repeats = size[2];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t) {
    tw_f k[8];
    for (int64_t j = 0; j < 8; ++j) k[j] = *(const tw_f *)(field[0] + j * TW_VALUES);
    for (int64_t i = 0; i < values * repeats; i += 128 * TW_VALUES) {
      TW_FOUR_TIMES(TW_FOUR_TIMES(TW_EIGHT(tw_f, TW_FADD)))
    }
  }
}

TW_KERNEL(tw_energy_multiply) {
  const int64_t values = size[0], threads = size[1], repeats = size[2];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t) {
    tw_f k[8];
    for (int64_t j = 0; j < 8; ++j) k[j] = *(const tw_f *)(field[0] + j * TW_VALUES);
    for (int64_t i = 0; i < values * repeats; i += 128 * TW_VALUES) {
      TW_FOUR_TIMES(TW_FOUR_TIMES(TW_EIGHT(tw_f, TW_FMUL)))
    }
  }
}

TW_KERNEL(tw_energy_int_add) {
  const int64_t values = size[0], threads = size[1], repeats = size[2];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t) {
    tw_i k[8];
    for (int64_t j = 0; j < 8; ++j) k[j] = *(const tw_i *)(field[0] + j * TW_VALUES);
    for (int64_t i = 0; i < values * repeats; i += 128 * TW_VALUES) {
      TW_FOUR_TIMES(TW_FOUR_TIMES(TW_EIGHT(tw_i, TW_IADD)))
    }
  }
}

TW_KERNEL(tw_energy_int_max) {
  const int64_t values = size[0], threads = size[1], repeats = size[2];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t) {
    tw_i k[8];
    for (int64_t j = 0; j < 8; ++j) k[j] = *(const tw_i *)(field[0] + j * TW_VALUES);
    for (int64_t i = 0; i < values * repeats; i += 128 * TW_VALUES) {
      TW_FOUR_TIMES(TW_FOUR_TIMES(TW_EIGHT(tw_i, TW_MAX)))
    }
  }
}

TW_KERNEL(tw_energy_divide) {
  const int64_t values = size[0], threads = size[1], repeats = size[2];
  (void)scalar; (void)constant;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < threads; ++t) {
    tw_f k[8];
    for (int64_t j = 0; j < 8; ++j) k[j] = *(const tw_f *)(field[0] + j * TW_VALUES);
    for (int64_t i = 0; i < values * repeats; i += 128 * TW_VALUES) {
      TW_FOUR_TIMES(TW_FOUR_TIMES(TW_EIGHT(tw_f, TW_FDIV)))
    }
  }
}
