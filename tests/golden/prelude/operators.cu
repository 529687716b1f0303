/* operators that are calls */

#define TW_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
#define TW_FUNCTION static __device__ __forceinline__
#define TW_GLOBAL
#define TW_LOCAL
#define TW_SHARED __shared__ __align__(16)
#define TW_ROOM_PARAM(type, name)
#define TW_ROOM(type, name) extern __shared__ __align__(16) unsigned char tw_room[]; type *const name = (type *)tw_room;
#define TW_GROUP ((int)blockIdx.x)
#define TW_GROUPS ((int)gridDim.x)
#define TW_THREAD ((int)threadIdx.x)
#define TW_BARRIER() __syncthreads()
#define TW_BARRIER_MEMORY() __syncthreads()
#define TW_COUNT(at) atomicAdd(at, 1u)
#define TW_ALIGNED(type, pointer, bytes) ((type)__builtin_assume_aligned(pointer, bytes))
#define TW_READ(type, pointer) __ldca((const type *)(pointer))
#define TW_WRITE(type, pointer, vector) __stwb((type *)(pointer), vector)
#define TW_PRAGMA(text) _Pragma(#text)
#define TW_UNROLL TW_PRAGMA(unroll)
#define TW_UNROLL_BY(n) TW_PRAGMA(unroll n)
#define TW_INF_f32 __int_as_float(0x7f800000)
#define TW_NAN_f32 __int_as_float(0x7fc00000)
#define TW_INF_f64 __longlong_as_double(0x7ff0000000000000L)
#define TW_NAN_f64 __longlong_as_double(0x7ff8000000000000L)
typedef long long tw_wide;
typedef unsigned long long tw_unsigned;
TW_FUNCTION int TW_OPAQUE(int a) { asm volatile("" : "+r"(a)); return a; }
TW_FUNCTION int tw_min(int a, int b) { return a < b ? a : b; }
TW_FUNCTION int tw_max(int a, int b) { return a > b ? a : b; }
TW_FUNCTION int tw_floordiv(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
TW_FUNCTION int tw_ceildiv(int a, int b) { return tw_floordiv(a + b - 1, b); }
TW_FUNCTION int tw_floormod(int a, int b) { return a - b * tw_floordiv(a, b); }
TW_FUNCTION float tw_abs_f32(float a) { return fabsf(a); }
TW_FUNCTION float tw_maximum_f32(float a, float b) { return (a > b || a != a) ? a : b; }
TW_FUNCTION float tw_minimum_f32(float a, float b) { return (a < b || a != a) ? a : b; }
TW_FUNCTION int tw_not_f32(int a) { return !a; }
TW_FUNCTION float tw_number_f32(int a) { return a ? 1 : 0; }
TW_FUNCTION float tw_over_sqrt_f32(float a, float x) { return a * rsqrtf(x); }
TW_FUNCTION float tw_pow_f32(float a, float b) { return powf(a, b); }
TW_FUNCTION float tw_sqrt_f32(float a) { return sqrtf(a); }
TW_FUNCTION float tw_where_f32(int a, float b, float c) { return a ? b : c; }
