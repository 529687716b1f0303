/* vectors of 16-bit numbers */

#define TW_LANES_F16 ((int64_t)(TW_BYTES / sizeof(float)))
typedef float tw_v_f16 __attribute__((vector_size(TW_BYTES)));
typedef uint16_t tw_h_f16 __attribute__((vector_size(TW_BYTES / 2)));
typedef uint16_t tw_u_f16 __attribute__((vector_size(TW_BYTES / 2), aligned(sizeof(uint16_t)), may_alias));
typedef int32_t tw_m_f16 __attribute__((vector_size(TW_BYTES)));

#if defined(__F16C__)
#include <immintrin.h>
static inline float tw_get_f16(uint16_t bits) { return _cvtsh_ss(bits); }
static inline uint16_t tw_put_f16(float value) { return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT); }
#else
static inline float tw_get_f16(uint16_t bits) {
  /* exponents and fractions move up by 13 bits; a product makes subnormal numbers normal ones */
  union { uint32_t u; float f; } x = {(uint32_t)(bits & 0x7fff) << 13};
  x.f *= 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00) x.u |= 0x7f800000;
  x.u |= (uint32_t)(bits & 0x8000) << 16;
  return x.f;
}
static inline uint16_t tw_put_f16(float value) {
  union { float f; uint32_t u; } x = {value}, y;
  const uint32_t sign = x.u >> 16 & 0x8000;
  x.u &= 0x7fffffff;
  if (x.u > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (x.u >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (x.u < 0x38800000) { /* subnormal: the addition rounds */
    y.f = x.f + 0.5f;
    return (uint16_t)(sign | (y.u - 0x3f000000));
  }
  return (uint16_t)(sign | ((x.u - 0x38000000 + 0xfff + (x.u >> 13 & 1)) >> 13));
}
#endif
typedef uint32_t tw_w_f16 __attribute__((vector_size(TW_BYTES)));
static inline tw_v_f16 tw_load_f16(tw_h_f16 bits) {
#if TW_BYTES == 64
  return (tw_v_f16)_mm512_cvtph_ps((__m256i)bits);
#elif TW_BYTES == 32 && defined(__F16C__)
  return (tw_v_f16)_mm256_cvtph_ps((__m128i)bits);
#else
  tw_v_f16 value;
  for (int64_t i = 0; i < TW_LANES_F16; ++i) value[i] = tw_get_f16(bits[i]);
  return value;
#endif
}
static inline tw_h_f16 tw_store_f16(tw_v_f16 value) {
#if TW_BYTES == 64
  return (tw_h_f16)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT);
#elif TW_BYTES == 32 && defined(__F16C__)
  return (tw_h_f16)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
#else
  tw_h_f16 bits;
  for (int64_t i = 0; i < TW_LANES_F16; ++i) bits[i] = tw_put_f16(value[i]);
  return bits;
#endif
}
