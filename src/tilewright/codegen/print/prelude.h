/* C that every unit starts with, and the small functions that units use: each of those only where it is used.
   A block stands behind its name, and behind what has to stand before it. Words that begin with @ differ by the type of
   elements: @s and @u end names (f32, F32), @T is a lane of vectors, @own a value, @memory what lies in memory, @v a
   vector, @m a mask of its lanes, @mask a lane of that, @lanes how many there are, @f what library names end with. */

//: head
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
//: types
#define TW_LANES_@u ((int64_t)(TW_BYTES / @size))
typedef @T tw_v_@s __attribute__((vector_size(TW_BYTES)));
typedef @T tw_u_@s __attribute__((vector_size(TW_BYTES), aligned(sizeof(@T)), may_alias));
typedef @mask tw_m_@s __attribute__((vector_size(TW_BYTES)));
//: types narrow
#define TW_LANES_@u ((int64_t)(TW_BYTES / @size))
typedef @T tw_v_@s __attribute__((vector_size(TW_BYTES)));
typedef @memory tw_h_@s __attribute__((vector_size(TW_BYTES / 2)));
typedef @memory tw_u_@s __attribute__((vector_size(TW_BYTES / 2), aligned(sizeof(@memory)), may_alias));
typedef @mask tw_m_@s __attribute__((vector_size(TW_BYTES)));
//: converted float16
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
//: converted bfloat16
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
//: mix
/* any lanes of two vectors */
#if defined(__clang__)
#define TW_MIX(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TW_MIX(mask, a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif
#if TW_BYTES == 64 && !defined(__clang__)
typedef int tw_d __attribute__((vector_size(64)));
typedef long long tw_q __attribute__((vector_size(64)));
#define TW_ALIGN_4(v, a, b, n) (v) __builtin_ia32_alignd512_mask((tw_d)a, (tw_d)b, n, (tw_d){0}, (unsigned short)-1)
#define TW_ALIGN_8(v, a, b, n) (v) __builtin_ia32_alignq512_mask((tw_q)a, (tw_q)b, n, (tw_q){0}, (unsigned char)-1)
#endif
//: pick
static inline tw_v_@s tw_pick_@s(tw_m_@s m, tw_v_@s a, tw_v_@s b) {
  return (tw_v_@s)(((tw_m_@s)a & m) | ((tw_m_@s)b & ~m));
}
//: asks
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
//: put
#if defined(__clang__)
#define TW_PAST_512(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_256(to, v) __builtin_nontemporal_store(v, (row *)(to))
#define TW_PAST_128(to, v) __builtin_nontemporal_store(v, (row *)(to))
#else
#define TW_PAST_512 __builtin_ia32_movntps512
#define TW_PAST_256 __builtin_ia32_movntps256
#define TW_PAST_128 __builtin_ia32_movntps
#endif
/* Write a row to memory, past the caches if it will not be read soon. */
static inline void tw_put(void *target, const void *source, int64_t bytes, int64_t stream) {
  char *to = target;
  const char *from = source;
#if defined(__SSE2__)
  if (stream) {
    const int64_t head = tw_min(bytes, (int64_t)(-(uintptr_t)to & 63));
    __builtin_memcpy(to, from, (unsigned long)head);
    int64_t i = head;
#if TW_BYTES == 64
    typedef float row __attribute__((vector_size(64)));
    typedef float loose __attribute__((vector_size(64), aligned(1), may_alias));
    for (; i + 64 <= bytes; i += 64) TW_PAST_512((float *)(to + i), (row)*(const loose *)(from + i));
#elif TW_BYTES == 32
    typedef float row __attribute__((vector_size(32)));
    typedef float loose __attribute__((vector_size(32), aligned(1), may_alias));
    for (; i + 32 <= bytes; i += 32) TW_PAST_256((float *)(to + i), (row)*(const loose *)(from + i));
#else
    typedef float row __attribute__((vector_size(16)));
    typedef float loose __attribute__((vector_size(16), aligned(1), may_alias));
    for (; i + 16 <= bytes; i += 16) TW_PAST_128((float *)(to + i), (row)*(const loose *)(from + i));
#endif
    __builtin_memcpy(to + i, from + i, (unsigned long)(bytes - i));
    return;
  }
#endif
  (void)stream;
  __builtin_memcpy(to, from, (unsigned long)bytes);
}
//: prefetch_near
/* ask for a line that is used soon */
#define tw_prefetch_near(at) __builtin_prefetch(at, 0, 3)
//: opaque
/* the same index, of which a compiler knows nothing: addresses are made from it anew, not carried along */
static inline __attribute__((always_inline)) int64_t tw_opaque(int64_t i) {
  __asm__("" : "+r"(i));
  return i;
}
//: thread
#if defined(_OPENMP)
extern int omp_get_thread_num(void);
static inline int64_t tw_thread(void) { return omp_get_thread_num(); }
#else
static inline int64_t tw_thread(void) { return 0; }
#endif
//: threads
#if defined(_OPENMP)
extern int omp_get_num_threads(void);
static inline int64_t tw_threads(void) { return omp_get_num_threads(); }
#else
static inline int64_t tw_threads(void) { return 1; }
#endif
//: await
/* what was written before a number was published is seen behind the wait for it */
extern int sched_yield(void);
static void tw_await(const int64_t *flag, int64_t value) {
  for (int64_t turn = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < value; ++turn)
    if (turn > 256) sched_yield();
}
//: publish
static inline void tw_publish(int64_t *flag, int64_t value) {
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}
//: fence
/* what was streamed is seen by every thread that is later told so */
static inline void tw_fence(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
//: flush
/* subnormal numbers are zero from here on, read or made; the value is what to restore behind it */
static inline uint64_t tw_flush(void) {
#if defined(__SSE2__)
  const unsigned mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | 0x8040);
  return mode;
#elif defined(__aarch64__)
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1 << 24));
  return mode;
#else
  return 0;
#endif
}
static inline void tw_restore(uint64_t mode) {
#if defined(__SSE2__)
  __builtin_ia32_ldmxcsr((unsigned)mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  (void)mode;
#endif
}
//: minimum scalar
static inline @own tw_minimum_@s(@own a, @own b) { const @own c = a < b ? a : b; return a != a ? a : c; }
//: maximum scalar
static inline @own tw_maximum_@s(@own a, @own b) { const @own c = a > b ? a : b; return a != a ? a : c; }
//: where scalar
static inline @own tw_where_@s(int a, @own b, @own c) { return a ? b : c; }
//: number scalar
static inline @own tw_number_@s(int a) { return a ? 1 : 0; }
//: not scalar
static inline int tw_not_@s(int a) { return !a; }
//: abs scalar
static inline @own tw_abs_@s(@own a) { return a < 0 ? -a : a; }
//: minimum vector
static inline @v tw_minimum_v_@s(@v a, @v b) { return tw_pick_@s((a < b) | (a != a), a, b); }
//: maximum vector
static inline @v tw_maximum_v_@s(@v a, @v b) { return tw_pick_@s((a > b) | (a != a), a, b); }
//: where vector
static inline @v tw_where_v_@s(@m a, @v b, @v c) { return tw_pick_@s(a, b, c); }
//: number vector
static inline @v tw_number_v_@s(@m a) { return tw_pick_@s(a, (@v){0} + 1, (@v){0}); }
//: not vector
static inline @m tw_not_v_@s(@m a) { return ~a; }
//: splat vector
static inline @v tw_splat_v_@s(@own a) { return a - (@v){0}; }
//: sign vector
static inline @v tw_sign_v_@s(@v a) { const @v one = (@v){0} + 1; return tw_pick_@s(a > 0, one, tw_pick_@s(a < 0, -one, tw_pick_@s(a == 0, (@v){0}, a))); }
//: sign whole vector
static inline @v tw_sign_v_@s(@v a) { return (@v)((a < 0) - (a > 0)); }
//: abs whole vector
static inline @v tw_abs_v_@s(@v a) { return tw_pick_@s(a < 0, -a, a); }
//: keep vector
static inline @v tw_keep_v_@s(@v old, @v value, int64_t done) {
  @m lane;
  for (int64_t i = 0; i < @lanes; ++i) lane[i] = (@mask)@number;
  return tw_pick_@s(lane < (@mask)done, old, value);
}
//: hold vector
/* the same value, kept in a register */
static inline __attribute__((always_inline)) @v tw_hold_v_@s(@v a) {
#if defined(__SSE2__)
  __asm__("" : "+v"(a));
#elif defined(__aarch64__)
  __asm__("" : "+w"(a));
#endif
  return a;
}
//: fresh vector
/* a value that never changes, kept in a register from here on, not from before a loop */
static inline __attribute__((always_inline)) @v tw_fresh_v_@s(@v a) {
#if defined(__SSE2__)
  __asm__ volatile("" : "+v"(a));
#endif
  return a;
}
//: past vector
/* store to a vector's own boundary, past the caches where the processor can */
static inline void tw_past_v_@s(@memory *to, @v v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, (@v *)to);
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
  *(tw_u_@s *)to = v;
#endif
}
//: over_sqrt vector
static inline tw_v_f32 tw_over_sqrt_v_f32(tw_v_f32 a, tw_v_f32 x) {
#if defined(__AVX512F__)
  const tw_v_f32 y = (tw_v_f32)__builtin_ia32_rsqrt14ps512_mask(x, (tw_v_f32){0}, (unsigned short)-1);
  const tw_v_f32 z = y + y * (0.5f - (x * y) * (0.5f * y));
  /* where x is +-0 the result is an infinity of its sign, where it is +infinity 0 */
  const tw_m_f32 repair = (tw_m_f32){0} + 0x800600;
  return a * (tw_v_f32)__builtin_ia32_fixupimmps512_mask(z, x, repair, 0, (unsigned short)-1, 4);
#elif defined(__SSE__)
  /* where x is +-0 or infinite 1 - x y y is no number; the minimum is 1 then, and the sum still y */
#if TW_BYTES == 32
  const tw_v_f32 y = __builtin_ia32_rsqrtps256(x);
  const tw_v_f32 h = __builtin_ia32_minps256(1.0f - (x * y) * y, (tw_v_f32){0} + 1.0f);
#else
  const tw_v_f32 y = __builtin_ia32_rsqrtps(x);
  const tw_v_f32 h = __builtin_ia32_minps(1.0f - (x * y) * y, (tw_v_f32){0} + 1.0f);
#endif
  return a * (y + (y * h) * (0.5f + 0.375f * h));
#else
  tw_v_f32 r;
  for (int64_t i = 0; i < TW_LANES_F32; ++i) r[i] = a[i] / __builtin_sqrtf(x[i]);
  return r;
#endif
}
//: halves
/* gcc converts half a register of whole numbers one by one, processors in an instruction */
#if !defined(__clang__) && (defined(__AVX512BW__) || (TW_BYTES == 32 && defined(__AVX2__)))
typedef char tw_8x16 __attribute__((vector_size(16)));
typedef short tw_16x8 __attribute__((vector_size(16)));
typedef int tw_32x4 __attribute__((vector_size(16)));
typedef int tw_32x8 __attribute__((vector_size(32)));
typedef long long tw_64x2 __attribute__((vector_size(16)));
typedef int tw_row4 __attribute__((aligned(1), may_alias));
typedef long long tw_row8 __attribute__((aligned(1), may_alias));
typedef long long tw_row16 __attribute__((vector_size(16), aligned(1), may_alias));
#define TW_ROW4(at) (tw_32x4){*(const tw_row4 *)(at)}
#define TW_ROW8(at) (tw_64x2){*(const tw_row8 *)(at)}
#if TW_BYTES == 64
typedef short tw_16x16 __attribute__((vector_size(32)));
typedef int tw_32x16 __attribute__((vector_size(64)));
typedef long long tw_row32 __attribute__((vector_size(32), aligned(1), may_alias));
#define TW_ALL(how, x) __builtin_ia32_##how##512_mask(x, (tw_32x16){}, (unsigned short)-1)
#define TW_FROM_u8_4(at) TW_ALL(pmovzxbd, (tw_8x16)*(const tw_row16 *)(at))
#define TW_FROM_u8_8(at) __builtin_ia32_pmovzxbd256((tw_8x16)TW_ROW8(at))
#define TW_FROM_u16_4(at) TW_ALL(pmovzxwd, (tw_16x16)*(const tw_row32 *)(at))
#define TW_FROM_u16_8(at) __builtin_ia32_pmovzxwd256((tw_16x8)*(const tw_row16 *)(at))
#define TW_FROM_i16_4(at) TW_ALL(pmovsxwd, (tw_16x16)*(const tw_row32 *)(at))
#define TW_FROM_i16_8(at) __builtin_ia32_pmovsxwd256((tw_16x8)*(const tw_row16 *)(at))
#else
#define TW_FROM_u8_4(at) __builtin_ia32_pmovzxbd256((tw_8x16)TW_ROW8(at))
#define TW_FROM_u8_8(at) __builtin_ia32_pmovzxbd128((tw_8x16)TW_ROW4(at))
#define TW_FROM_u16_4(at) __builtin_ia32_pmovzxwd256((tw_16x8)*(const tw_row16 *)(at))
#define TW_FROM_u16_8(at) __builtin_ia32_pmovzxwd128((tw_16x8)TW_ROW8(at))
#define TW_FROM_i16_4(at) __builtin_ia32_pmovsxwd256((tw_16x8)*(const tw_row16 *)(at))
#define TW_FROM_i16_8(at) __builtin_ia32_pmovsxwd128((tw_16x8)TW_ROW8(at))
#define TW_PACKED(how, x) __builtin_ia32_##how(__builtin_ia32_vextractf128_si256(x, 0), __builtin_ia32_vextractf128_si256(x, 1))
static inline void tw_into_u8_f32(void *to, tw_32x8 x) {
  const tw_16x8 words = TW_PACKED(packssdw128, x);
  *(tw_row8 *)to = ((tw_64x2)__builtin_ia32_packuswb128(words, words))[0];
}
static inline void tw_into_u8_f64(void *to, tw_32x4 x) {
  const tw_16x8 words = __builtin_ia32_packssdw128(x, x);
  *(tw_row4 *)to = ((tw_32x4)__builtin_ia32_packuswb128(words, words))[0];
}
static inline void tw_into_u16_f32(void *to, tw_32x8 x) { *(tw_row16 *)to = (tw_64x2)TW_PACKED(packusdw128, x); }
#define TW_INTO_u8_f32 tw_into_u8_f32
#define TW_INTO_u8_f64 tw_into_u8_f64
#define TW_INTO_u16_f32 tw_into_u16_f32
#endif
#endif
//: from
static inline @v @called(const @from *from) {
  typedef @from row __attribute__((vector_size(TW_BYTES / sizeof(@T) * sizeof(@from)), aligned(sizeof(@from)), may_alias));
  return __builtin_convertvector(*(const row *)from, @v);
}
//: from halves
static inline @v @called(const @from *from) {
  typedef int32_t whole __attribute__((vector_size(TW_BYTES / sizeof(@T) * 4)));
#ifdef TW_FROM_@a_@bytes
  return __builtin_convertvector((whole)TW_FROM_@a_@bytes(from), @v);
#else
  typedef @from row __attribute__((vector_size(TW_BYTES / sizeof(@T) * sizeof(@from)), aligned(sizeof(@from)), may_alias));
  return __builtin_convertvector(__builtin_convertvector(*(const row *)from, whole), @v);
#endif
}
//: into
static inline void @called(@from *to, @v value) {
  typedef @from row __attribute__((vector_size(TW_BYTES / sizeof(@T) * sizeof(@from)), aligned(sizeof(@from)), may_alias));
  *(row *)to = __builtin_convertvector(value, row);
}
//: into whole
static inline void @called(@from *to, @v value) {
  typedef @from row __attribute__((vector_size(TW_BYTES / sizeof(@T) * sizeof(@from)), aligned(sizeof(@from)), may_alias));
  const @v least = (@v){} + (@T)@low, most = (@v){} + (@T)@high;
  value = tw_pick_@s(value < least, least, tw_pick_@s(value > most, most, value));
  *(row *)to = __builtin_convertvector(value, row);
}
//: into halves
static inline void @called(@from *to, @v value) {
  typedef int32_t whole __attribute__((vector_size(TW_BYTES / sizeof(@T) * 4)));
  const @v most = (@v){} + (@T)@high;
#ifdef TW_INTO_@a_@s
  /* the second one where it is not a number, which is the least whole one */
  TW_INTO_@a_@s(to, __builtin_convertvector(__builtin_ia32_minp@single256(most, value), whole));
#else
  typedef @from row __attribute__((vector_size(TW_BYTES / sizeof(@T) * sizeof(@from)), aligned(sizeof(@from)), may_alias));
  const @v least = (@v){} + (@T)@low;
  value = tw_pick_@s(value < least, least, tw_pick_@s(value > most, most, value));
  value = tw_pick_@s(value == value, value, (@v){});
  *(row *)to = __builtin_convertvector(__builtin_convertvector(value, whole), row);
#endif
}
//: into lanes
static inline void @called(@from *to, @v value) {
  for (int64_t i = 0; i < @lanes; ++i) {
    const @from inside = value[i] <= (@T)@low ? @low : (@from)value[i];
    to[i] = value[i] != value[i] ? 0 : value[i] >= (@T)@high ? @high : inside;
  }
}
//: by_lane
static inline @v @called(@v a) {
  @v r;
  for (int64_t i = 0; i < @lanes; ++i) r[i] = @scalar(a[i]);
  return r;
}
//: by_lane pair
static inline @v @called(@v a, @v b) {
  @v r;
  for (int64_t i = 0; i < @lanes; ++i) r[i] = @scalar(a[i], b[i]);
  return r;
}
//: splat complex vector
static inline @v tw_splat_v_@s(@T _Complex a) { return (@v)@twice(__real__ a, __imag__ a); }
//: complex complex vector
static inline @v tw_complex_v_@s(@v a) { return (@v)((@m)a & (@m)@twice(-1, 0)); }
//: conj complex vector
static inline @v tw_conj_v_@s(@v a) { return (@v)((@m)a ^ (@m)(@v)@twice(0, -(@T)0)); }
//: times_i complex vector: swap
static inline @v tw_times_i_v_@s(@T c, @v a) { return (@v)@twice(-c, c) * tw_swap_v_@s(a); }
//: mul complex vector: swap real imag
static inline @v tw_mul_v_@s(@v a, @v b) {
  const @v im = (@v)((@m)tw_imag_v_@s(a) ^ (@m)(@v)@twice(-(@T)0, 0));
  return tw_real_v_@s(a) * b + im * tw_swap_v_@s(b);
}
//: div complex vector: swap real imag
static inline @v tw_div_v_@s(@v a, @v b) {
  /* R. L. Smith, "Algorithm 116: Complex division" (CACM 1962), as NumPy divides */
  const @v re = tw_real_v_@s(b), im = tw_imag_v_@s(b), turned = (@v)((@m)tw_swap_v_@s(a) ^ (@m)(@v)@twice(0, -(@T)0));
  const @m sign = (@m)(@v)@twice(-(@T)0, -(@T)0), big = (@v)((@m)re & ~sign) >= (@v)((@m)im & ~sign);
  const @v p = tw_pick_@s(big, re, im), q = tw_pick_@s(big, im, re), ratio = q / p;
  const @v sum = tw_pick_@s(big, a + turned * ratio, a * ratio + turned);
  return sum / (p + q * ratio);
}
//: modulus complex vector: swap
static inline @v tw_modulus_v_@s(@v a) {
  const @m sign = (@m)(@v)@twice(-(@T)0, -(@T)0);
  const @v x = (@v)((@m)a & ~sign), y = tw_swap_v_@s(x);
  const @v p = tw_pick_@s(x > y, x, y), least = tw_pick_@s(x > y, y, x);
  const @v ratio = tw_pick_@s(x == y, (@v){0} + 1, least / p), s = 1 + ratio * ratio;
  @v r;
  for (int64_t i = 0; i < TW_BYTES / (int64_t)sizeof(@T); ++i) r[i] = __builtin_sqrt@f(s[i]);
  return p * r;
}
//: complex complex scalar
static inline @T _Complex tw_complex_@s(@T a) { return __builtin_complex(a, (@T)0); }
//: real complex scalar
static inline @T tw_real_@s(@T _Complex a) { return __real__ a; }
//: imag complex scalar
static inline @T tw_imag_@s(@T _Complex a) { return __imag__ a; }
//: conj complex scalar
static inline @T _Complex tw_conj_@s(@T _Complex a) { return __builtin_complex(__real__ a, -__imag__ a); }
//: times_i complex scalar
static inline @T _Complex tw_times_i_@s(@T c, @T _Complex a) { return __builtin_complex(-c * __imag__ a, c * __real__ a); }
//: mul complex scalar
static inline @T _Complex tw_mul_@s(@T _Complex a, @T _Complex b) {
  const @T p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b;
  return __builtin_complex(p * r - q * s, p * s + q * r);
}
//: div complex scalar
static inline @T _Complex tw_div_@s(@T _Complex a, @T _Complex b) {
  const @T x = __real__ a, y = __imag__ a, re = __real__ b, im = __imag__ b;
  const int big = __builtin_fabs@f(re) >= __builtin_fabs@f(im);
  const @T p = big ? re : im, q = big ? im : re, ratio = q / p, d = p + q * ratio;
  return big ? __builtin_complex((x + y * ratio) / d, (y - x * ratio) / d)
             : __builtin_complex((x * ratio + y) / d, (y * ratio - x) / d);
}
//: pow complex scalar: mul div
static inline @T _Complex tw_pow_@s(@T _Complex a, @T _Complex b) {
  /* as NumPy has it: C's own makes a number of zero to the power zero that is none */
  const @T n = __real__ b;
  if (b == 0) return 1;
  if (a == 0) return n > 0 && __imag__ b == 0 ? 0 : __builtin_complex((@T)__builtin_nan(""), (@T)__builtin_nan(""));
  if (b == 1) return a;
  if (__imag__ b != 0 || n != __builtin_trunc@f(n) || n <= -100 || n >= 100) return __builtin_cpow@f(a, b);
  @T _Complex r = 1, p = a;
  for (int k = n < 0 ? (int)-n : (int)n; k; k >>= 1, p = tw_mul_@s(p, p)) r = k & 1 ? tw_mul_@s(r, p) : r;
  return n < 0 ? tw_div_@s(1, r) : r;
}
//: modulus complex scalar
static inline @T tw_modulus_@s(@T _Complex a) {
  const @T x = __builtin_fabs@f(__real__ a), y = __builtin_fabs@f(__imag__ a);
  const @T p = x > y ? x : y, ratio = x == y ? 1 : (x > y ? y : x) / p;
  return p * __builtin_sqrt@f(1 + ratio * ratio);
}
//: by_number
static inline @v @called(@v a) {
  @v r;
  for (int64_t i = 0; i < 2 * TW_LANES_@u; i += 2) {
    const @T _Complex x = __builtin_complex(a[i], a[i + 1]);
    const @T _Complex z = @scalar(x);
    r[i] = __real__ z, r[i + 1] = __imag__ z;
  }
  return r;
}
//: by_number pair
static inline @v @called(@v a, @v b) {
  @v r;
  for (int64_t i = 0; i < 2 * TW_LANES_@u; i += 2) {
    const @T _Complex x = __builtin_complex(a[i], a[i + 1]);
    const @T _Complex y = __builtin_complex(b[i], b[i + 1]);
    const @T _Complex z = @scalar(x, y);
    r[i] = __real__ z, r[i + 1] = __imag__ z;
  }
  return r;
}
//: instruction
static inline @v @called(@v a, @v b) {
#if defined(@feature) && !defined(__clang__)
  typedef @raw raw __attribute__((vector_size(64)));
  return (@v)__builtin_ia32_@builtin512_mask((raw)a, (raw)b, (raw)b, (@every)-1);
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef @raw raw __attribute__((vector_size(32)));
  return (@v)__builtin_ia32_@builtin256((raw)a, (raw)b);
#else
@plain
#endif
}
//: no instruction
static inline @v @called(@v a, @v b) {
@plain
}
//: plain extremum
  return tw_pick_@s(a @sign b, a, b);
//: plain saturated
  /* where the result's sign says so, it went beyond the end of the range that the first operand is nearer to */
  const @v r = a @sign b, m = (@v)(((a ^ @side) & (a ^ r)) < 0);
  return (r & ~m) | (((a >> @last) ^ ((@v){0} + @most)) & m);
//: any_gt
static inline int @called(@v a, @v b) {
#if defined(@feature) && !defined(__clang__)
  typedef @raw raw __attribute__((vector_size(64)));
  return __builtin_ia32_@builtin512_mask((raw)a, (raw)b, 6, (@every)-1) != 0;
#elif defined(__AVX2__) && TW_BYTES == 32 && !defined(__clang__)
  typedef char bytes __attribute__((vector_size(32)));
  return __builtin_ia32_pmovmskb256((bytes)(a > b)) != 0;
#else
  const @v m = (@v)(a > b);
  int64_t part[TW_BYTES / 8], any = 0;
  __builtin_memcpy(part, &m, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) any |= part[i];
  return any != 0;
#endif
}
//: translate scalar
/* bytes that become entries of a table: a permutation, where a register holds the table */
static void tw_translate_@s(@memory *to, const uint8_t *from, const @memory *table, int64_t entries, int64_t n) {
  int64_t i = 0;
@permuted  (void)entries;
  for (; i < n; ++i) to[i] = table[from[i]];
}
//: permuted
#if defined(__AVX512VBMI__) && !defined(__clang__)
  typedef char raw __attribute__((vector_size(64)));
  typedef char loose __attribute__((vector_size(64), aligned(1), may_alias));
  if (entries <= 64) {
    const unsigned long long every = -1;
    raw all = {0};
    __builtin_memcpy(&all, table, (unsigned long)entries);
    for (; i + 64 <= n; i += 64)
      *(loose *)(to + i) = __builtin_ia32_permvarqi512_mask(all, *(const loose *)(from + i), all, every);
  }
#endif
//: remainder float scalar
@function @T tw_remainder_@s(@T a, @T b) {
  const @T m = @fmod(a, b);
  return m == 0 ? @copysign(0, b) : (m < 0) != (b < 0) ? m + b : m;
}
//: floor_divide float scalar
@function @T tw_floor_divide_@s(@T a, @T b) {
  const @T m = @fmod(a, b), q = (a - m) / b, d = m != 0 && (m < 0) != (b < 0) ? q - 1 : q, f = @floor(d);
  return b == 0 ? a / b : d == 0 ? @copysign(0, a / b) : d - f > (@T)0.5 ? f + 1 : f;
}
//: sign float scalar
@function @T tw_sign_@s(@T a) { return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; }
//: remainder signed scalar
@function @T tw_remainder_@s(@T a, @T b) {
  if (b == 0 || b == -1) return 0;
  const @T m = (@T)(a % b);
  return m != 0 && (m < 0) != (b < 0) ? (@T)(m + b) : m;
}
//: floor_divide signed scalar
@function @T tw_floor_divide_@s(@T a, @T b) {
  if (b == 0) return 0;
  if (b == -1) return (@T)((@U)0 - (@U)a);
  const @T q = (@T)(a / b);
  return q * b != a && (a < 0) != (b < 0) ? (@T)(q - 1) : q;
}
//: sign signed scalar
@function @T tw_sign_@s(@T a) { return (@T)((a > 0) - (a < 0)); }
//: pow signed scalar
@function @T tw_pow_@s(@T a, @T b) {
  if (b < 0) return a == 1 || (a == -1 && b % 2 == 0) ? 1 : a == -1 ? -1 : 0;
  @U r = 1, p = (@U)a;
  for (; b; b >>= 1, p = (@U)(1u * p * p)) r = b & 1 ? (@U)(1u * r * p) : r;
  return (@T)r;
}
//: remainder unsigned scalar
@function @T tw_remainder_@s(@T a, @T b) { return b == 0 ? 0 : (@T)(a % b); }
//: floor_divide unsigned scalar
@function @T tw_floor_divide_@s(@T a, @T b) { return b == 0 ? 0 : (@T)(a / b); }
//: sign unsigned scalar
@function @T tw_sign_@s(@T a) { return a > 0; }
//: pow unsigned scalar
@function @T tw_pow_@s(@T a, @T b) {
  @T r = 1;
  for (; b; b >>= 1, a = (@T)(1u * a * a)) r = b & 1 ? (@T)(1u * r * a) : r;
  return r;
}
//: by_quotient
static inline @v @called(@v a, @v b) {
  @v r;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  const @m sign = (@m)-(@v){0};
  const @v x = a / b;
  @v q;
  for (int64_t i = 0; i < @lanes; ++i) q[i] = __builtin_trunc@f(x[i]);
  for (int64_t i = 0; i < @lanes; ++i) r[i] = __builtin_fma@f(-q[i], b[i], a[i]);
  const @m near = (x < @limit) & (x > -@limit) & (b - b == 0);
  int64_t part[TW_BYTES / 8], all = -1;
  __builtin_memcpy(part, &near, sizeof part);
  for (int i = 0; i < TW_BYTES / 8; ++i) all &= part[i];
  if (all == -1) {
    const @m turned = (r != 0) & ((r < 0) ^ (b < 0));
    @result
  }
#endif
  for (int64_t i = 0; i < @lanes; ++i) r[i] = @scalar(a[i], b[i]);
  return r;
}
//: remainder by_quotient
    return tw_pick_@s(r == 0, (@v)((@m)b & sign), tw_pick_@s(turned, r + b, r));
//: floor_divide by_quotient
    const @v d = tw_pick_@s(turned, q - 1, q);
    return tw_pick_@s(d == 0, (@v)((@m)x & sign), d);
//: lifted
#ifndef TW_ROLLED
#if defined(__clang__)
#define TW_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TW_ROLLED
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
#define TW_REGISTERS 32
#else
#define TW_REGISTERS 16
#endif
#endif

/* transpose a square of lanes: each round interleaves the first half of the vectors with the second */
static inline __attribute__((always_inline)) void tw_turn_@s(@loaded *a) {
  @loaded b[TW_WIDE_@s];
#pragma GCC unroll 4
  for (int round = 0; round < TW_ROUNDS_@s; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < TW_WIDE_@s / 2; ++i) {
      b[2 * i] = TW_LOW_@s(a[i], a[i + TW_WIDE_@s / 2]);
      b[2 * i + 1] = TW_HIGH_@s(a[i], a[i + TW_WIDE_@s / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) a[i] = b[i];
  }
}

/* line -> lifted row of nv vectors; of fewer than lanes, up to a vector behind the line is read and dropped */
static void tw_lift_@s(@memory *row, const @memory *line, int64_t nv) {
  for (int64_t at = 0; at < nv; at += TW_WIDE_@s) {
    const int64_t j = tw_max(tw_min(at, nv - TW_WIDE_@s), 0);
    @loaded a[TW_WIDE_@s];
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) a[i] = *(const tw_u_@s *)(line + i * nv + j);
    tw_turn_@s(a);
    if (nv < TW_WIDE_@s) {
#pragma GCC unroll 16
      for (int i = 0; i < TW_WIDE_@s; ++i)
        if (i < nv) *(tw_u_@s *)(row + i * TW_WIDE_@s) = a[i];
      return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) *(tw_u_@s *)(row + (j + i) * TW_WIDE_@s) = a[i];
  }
}

/* lifted row of nv vectors -> line; of fewer than lanes, up to a vector behind the line is written */
static void tw_lower_@s(@memory *line, const @memory *row, int64_t nv) {
  for (int64_t at = 0; at < nv; at += TW_WIDE_@s) {
    const int64_t j = tw_max(tw_min(at, nv - TW_WIDE_@s), 0);
    @loaded a[TW_WIDE_@s];
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) a[i] = *(const tw_u_@s *)(row + tw_min(j + i, nv - 1) * TW_WIDE_@s);
    tw_turn_@s(a);
#pragma GCC unroll 16
    for (int i = 0; i < TW_WIDE_@s; ++i) *(tw_u_@s *)(line + i * nv + j) = a[i];
  }
}

/* vectors before the first and after the last: the last and the first ones, shifted by one lane */
static inline void tw_wrap_@s(@memory *row, int64_t nv, int before, int after) {
  for (int g = 1; g <= before; ++g)
    *(tw_u_@s *)(row - g * TW_WIDE_@s) = TW_UP_@s(*(const tw_u_@s *)(row + (nv - g) * TW_WIDE_@s));
  for (int g = 0; g < after; ++g)
    *(tw_u_@s *)(row + (nv + g) * TW_WIDE_@s) = TW_DOWN_@s(*(const tw_u_@s *)(row + g * TW_WIDE_@s));
}

/* ask for a line; without the empty instruction gcc takes functions that only prefetch for functions without effect */
static inline void tw_prefetch_@s(const @memory *at) {
  __builtin_prefetch(at, 0, 2);
  __asm__ volatile("" : : "r"(at));
}

/* the same address, but what lies there has to be read again: keeps factors out of registers */
static inline __attribute__((always_inline)) const @memory *tw_again_@s(const @memory *at) {
  __asm__ volatile("" : "+r"(at));
  return at;
}

static void tw_copy_@s(@memory *to, const @memory *from, int64_t n) {
  int64_t i = 0;
  TW_ROLLED
  for (; i + TW_WIDE_@s <= n; i += TW_WIDE_@s) *(tw_u_@s *)(to + i) = *(const tw_u_@s *)(from + i);
  for (const int64_t whole = i; i - whole < n - whole; ++i) to[i] = from[i];
}

static void tw_fill_@s(@memory *to, @own value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = @bits;
}

/* copy past the caches where the target starts at a line */
static void tw_stream_@s(@memory *to, const @memory *from, int64_t n) {
  int64_t i = 0;
@past  tw_copy_@s(to + i, from + i, n - i);
}
//: past lifted
#if defined(__clang__)
  TW_ROLLED
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s)
    __builtin_nontemporal_store(*(const tw_u_@s *)(from + i), (tw_v_@s *)(to + i));
#elif defined(__SSE2__) && TW_BYTES == 64
  typedef float row16 __attribute__((vector_size(64)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s) {
    const tw_v_@s v = *(const tw_u_@s *)(from + i);
    __builtin_ia32_movntps512((float *)(to + i), (row16)v);
  }
#elif defined(__SSE2__) && TW_BYTES == 32
  typedef float row8 __attribute__((vector_size(32)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s) {
    const tw_v_@s v = *(const tw_u_@s *)(from + i);
    __builtin_ia32_movntps256((float *)(to + i), (row8)v);
  }
#elif defined(__SSE2__)
  typedef float row4 __attribute__((vector_size(16)));
  for (; (uintptr_t)to % 64 == 0 && i + TW_WIDE_@s <= n; i += TW_WIDE_@s) {
    const tw_v_@s v = *(const tw_u_@s *)(from + i);
    __builtin_ia32_movntps((float *)(to + i), (row4)v);
  }
#endif
