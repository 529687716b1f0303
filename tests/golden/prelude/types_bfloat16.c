/* vectors of 16-bit numbers */

#define TW_LANES_BF16 ((int64_t)(TW_BYTES / sizeof(float)))
typedef float tw_v_bf16 __attribute__((vector_size(TW_BYTES)));
typedef uint16_t tw_h_bf16 __attribute__((vector_size(TW_BYTES / 2)));
typedef uint16_t tw_u_bf16 __attribute__((vector_size(TW_BYTES / 2), aligned(sizeof(uint16_t)), may_alias));
typedef int32_t tw_m_bf16 __attribute__((vector_size(TW_BYTES)));

static inline float tw_get_bf16(uint16_t bits) {
  const union { uint32_t u; float f; } x = {(uint32_t)bits << 16};
  return x.f;
}
static inline uint16_t tw_put_bf16(float value) {
  const union { float f; uint32_t u; } x = {value};
  return value != value ? (uint16_t)(x.u >> 16 | 0x40) : (uint16_t)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}
typedef uint32_t tw_w_bf16 __attribute__((vector_size(TW_BYTES)));
static inline tw_v_bf16 tw_load_bf16(tw_h_bf16 bits) {
  return (tw_v_bf16)(__builtin_convertvector(bits, tw_w_bf16) << 16);
}
static inline tw_h_bf16 tw_store_bf16(tw_v_bf16 value) {
  const tw_w_bf16 x = (tw_w_bf16)value, rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;
  const tw_w_bf16 none = (tw_w_bf16)(value != value);
  return __builtin_convertvector(((x >> 16 | 0x40) & none) | (rounded & ~none), tw_h_bf16);
}
