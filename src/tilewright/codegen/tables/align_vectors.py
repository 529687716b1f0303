"""Vectors of scores for the alignment kernel: saturating arithmetic on 8 and 16 bits, clamped on 32.

A score is kept as its distance from the type's lowest value, so that an addition that saturates there is the local
alignment's maximum with zero, for nothing. On 32 bits nothing saturates: the lowest value is 0 and is written out.
"""

HEAD = """#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#if defined(__AVX512BW__)
#define TW_BYTES 64
typedef __m512i tw_raw;
#define TW_OP(name, bits) _mm512_##name##_epi##bits
#define TW_ANY_GREATER(a, b, bits) (_mm512_cmpgt_epi##bits##_mask((tw_raw)(a), (tw_raw)(b)) != 0)
#elif defined(__AVX2__)
#define TW_BYTES 32
typedef __m256i tw_raw;
#define TW_OP(name, bits) _mm256_##name##_epi##bits
#define TW_ANY_GREATER(a, b, bits) \\
  (_mm256_movemask_epi8(_mm256_cmpgt_epi##bits((tw_raw)(a), (tw_raw)(b))) != 0)
#else
#define TW_BYTES 16
#endif
static inline int64_t tw_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tw_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tw_ceildiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Moves a vector's bytes up by a number of places and fills with those of another vector. */
#if defined(__AVX512BW__)
#define TW_MOVE(x, fill, count) ((count) < 16 \\
  ? _mm512_alignr_epi8((tw_raw)(x), _mm512_alignr_epi64((tw_raw)(x), (tw_raw)(fill), 6), (16 - (count)) & 15) \\
  : (count) == 16 ? _mm512_alignr_epi64((tw_raw)(x), (tw_raw)(fill), 6) \\
                  : _mm512_alignr_epi64((tw_raw)(x), (tw_raw)(fill), 4))
#elif defined(__AVX2__)
#define TW_MOVE(x, fill, count) ((count) < 16 \\
  ? _mm256_alignr_epi8((tw_raw)(x), _mm256_permute2x128_si256((tw_raw)(x), (tw_raw)(fill), 0x02), \\
                       (16 - (count)) & 15) \\
  : _mm256_permute2x128_si256((tw_raw)(x), (tw_raw)(fill), 0x02))
#endif
"""

TYPE = """
typedef int{B}_t tw_t{B};
typedef tw_t{B} tw_v{B} __attribute__((vector_size(TW_BYTES), may_alias));
#define TW_LANES{B} ((int64_t)(TW_BYTES / sizeof(tw_t{B})))
#define TW_LOW{B} ((tw_t{B}){low})
#define TW_HIGH{B} {high}
static inline tw_v{B} tw_splat{B}(tw_t{B} a) {{ return a - (tw_v{B}){{0}}; }}
#if defined(__AVX2__)
static inline tw_v{B} tw_max{B}(tw_v{B} a, tw_v{B} b) {{ return (tw_v{B})TW_OP(max, {B})((tw_raw)a, (tw_raw)b); }}
static inline int tw_above{B}(tw_v{B} a, tw_v{B} b) {{ return TW_ANY_GREATER(a, b, {B}); }}
#else
static inline tw_v{B} tw_max{B}(tw_v{B} a, tw_v{B} b) {{
  const tw_v{B} m = (tw_v{B})(a > b);
  return (a & m) | (b & ~m);
}}
static inline int tw_above{B}(tw_v{B} a, tw_v{B} b) {{
  const tw_v{B} m = (tw_v{B})(a > b);
  int64_t part[TW_BYTES / 8], any = 0;
  memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
}}
#endif
{arithmetic}
#if defined(__AVX2__)
#define TW_UP{B}(x, steps) (tw_v{B})TW_MOVE(x, tw_splat{B}(TW_LOW{B}), (steps) * (int)sizeof(tw_t{B}))
#else
static inline tw_v{B} tw_up{B}(tw_v{B} x, int64_t steps) {{
  tw_v{B} r = tw_splat{B}(TW_LOW{B});
  for (int64_t i = steps; i < TW_LANES{B}; ++i) r[i] = x[i - steps];
  return r;
}}
#define TW_UP{B}(x, steps) tw_up{B}(x, steps)
#endif
"""

SATURATING = """#if defined(__AVX2__)
static inline tw_v{B} tw_add{B}(tw_v{B} a, tw_v{B} b) {{ return (tw_v{B})TW_OP(adds, {B})((tw_raw)a, (tw_raw)b); }}
static inline tw_v{B} tw_sub{B}(tw_v{B} a, tw_v{B} b) {{ return (tw_v{B})TW_OP(subs, {B})((tw_raw)a, (tw_raw)b); }}
#else
/* Where the sum's sign differs from both operands', it overflowed towards their side. */
static inline tw_v{B} tw_add{B}(tw_v{B} a, tw_v{B} b) {{
  const tw_v{B} r = a + b, m = (tw_v{B})(((a ^ r) & (b ^ r)) < 0);
  return (r & ~m) | (((a >> ({B} - 1)) ^ tw_splat{B}(TW_HIGH{B})) & m);
}}
static inline tw_v{B} tw_sub{B}(tw_v{B} a, tw_v{B} b) {{
  const tw_v{B} r = a - b, m = (tw_v{B})(((a ^ b) & (a ^ r)) < 0);
  return (r & ~m) | (((a >> ({B} - 1)) ^ tw_splat{B}(TW_HIGH{B})) & m);
}}
#endif"""

CLAMPED = """static inline tw_v{B} tw_add{B}(tw_v{B} a, tw_v{B} b) {{ return tw_max{B}(a + b, (tw_v{B}){{0}}); }}
static inline tw_v{B} tw_sub{B}(tw_v{B} a, tw_v{B} b) {{ return tw_max{B}(a - b, (tw_v{B}){{0}}); }}"""


def vectors(bits: int) -> str:
    """Return the type and the operations of scores of so many bits: 8, 16 or 32."""
    low, high, arithmetic = {
        8: ("-128", "127", SATURATING),
        16: ("-32768", "32767", SATURATING),
        32: ("0", "2147483647", CLAMPED),
    }[bits]
    return TYPE.format(B=bits, low=low, high=high, arithmetic=arithmetic.format(B=bits))
