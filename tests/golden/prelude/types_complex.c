/* vectors of complex numbers */

#define TW_LANES_C64 ((int64_t)(TW_BYTES / 8))
typedef float tw_v_c64 __attribute__((vector_size(TW_BYTES)));
typedef float tw_u_c64 __attribute__((vector_size(TW_BYTES), aligned(sizeof(float)), may_alias));
typedef int32_t tw_m_c64 __attribute__((vector_size(TW_BYTES)));

/* two numbers in turn */
#if TW_BYTES == 64
#define TW_TWICE_4(a, b) {a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b}
#define TW_TWICE_8(a, b) {a, b, a, b, a, b, a, b}
#elif TW_BYTES == 32
#define TW_TWICE_4(a, b) {a, b, a, b, a, b, a, b}
#define TW_TWICE_8(a, b) {a, b, a, b}
#elif TW_BYTES == 16
#define TW_TWICE_4(a, b) {a, b, a, b}
#define TW_TWICE_8(a, b) {a, b}
#endif
