/* every OpenCL text */

#define TW_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define TW_FUNCTION static inline
#define TW_GLOBAL __global
#define TW_LOCAL __local
#define TW_SHARED __local
#define TW_ROOM_PARAM(type, name) , __local type *name
#define TW_ROOM(type, name)
#define TW_GROUP ((int)get_group_id(0))
#define TW_GROUPS ((int)get_num_groups(0))
#define TW_THREAD ((int)get_local_id(0))
#define TW_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define TW_BARRIER_MEMORY() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TW_COUNT(at) atomic_inc(at)
#define TW_ALIGNED(type, pointer, bytes) (pointer)
#define TW_READ(type, pointer) (*(__global const type *)(pointer))
#define TW_WRITE(type, pointer, vector) *(__global type *)(pointer) = vector
#define TW_OPAQUE(a) (a)
#if defined(__NV_CL_C_VERSION)
#define TW_PRAGMA(text) _Pragma(#text)
#define TW_UNROLL TW_PRAGMA(unroll)
#define TW_UNROLL_BY(n) TW_PRAGMA(unroll n)
#else
#define TW_UNROLL
#define TW_UNROLL_BY(n)
#endif
#define TW_INF_f32 INFINITY
#define TW_NAN_f32 NAN
#define TW_INF_f64 ((double)INFINITY)
#define TW_NAN_f64 ((double)NAN)
typedef long tw_wide;
typedef ulong tw_unsigned;
TW_FUNCTION int tw_min(int a, int b) { return a < b ? a : b; }
TW_FUNCTION int tw_max(int a, int b) { return a > b ? a : b; }
TW_FUNCTION int tw_floordiv(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
TW_FUNCTION int tw_ceildiv(int a, int b) { return tw_floordiv(a + b - 1, b); }
TW_FUNCTION int tw_floormod(int a, int b) { return a - b * tw_floordiv(a, b); }
