/* every C text */

#include <stdint.h>

#if defined(__AVX512F__)
#define TW_BYTES 64
#elif defined(__AVX__)
#define TW_BYTES 32
#else
#define TW_BYTES 16
#endif

static inline int64_t tw_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tw_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tw_floordiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
static inline int64_t tw_ceildiv(int64_t a, int64_t b) { return tw_floordiv(a + b - 1, b); }
static inline int64_t tw_floormod(int64_t a, int64_t b) { return a - b * tw_floordiv(a, b); }
