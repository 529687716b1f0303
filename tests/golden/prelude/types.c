/* vectors */

#define TW_LANES_F32 ((int64_t)(TW_BYTES / sizeof(float)))
typedef float tw_v_f32 __attribute__((vector_size(TW_BYTES)));
typedef float tw_u_f32 __attribute__((vector_size(TW_BYTES), aligned(sizeof(float)), may_alias));
typedef int32_t tw_m_f32 __attribute__((vector_size(TW_BYTES)));

#define TW_LANES_I64 ((int64_t)(TW_BYTES / sizeof(int64_t)))
typedef int64_t tw_v_i64 __attribute__((vector_size(TW_BYTES)));
typedef int64_t tw_u_i64 __attribute__((vector_size(TW_BYTES), aligned(sizeof(int64_t)), may_alias));
typedef int64_t tw_m_i64 __attribute__((vector_size(TW_BYTES)));
