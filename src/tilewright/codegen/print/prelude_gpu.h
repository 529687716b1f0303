/* The macros that make one text CUDA C++ or OpenCL C, and the functions that texts use, each only where it is used.
   @T is an element, @s ends names (f32), @f ends names of the library; words such as @kernel are a language's own. */

//: cuda
#define TW_KERNEL(threads) @kernel __launch_bounds__(threads, 1)
#define TW_FUNCTION static __device__ __forceinline__
#define TW_GLOBAL
#define TW_LOCAL
#define TW_SHARED @shared __align__(16)
#define TW_ROOM_PARAM(type, name)
#define TW_ROOM(type, name) extern __shared__ __align__(16) unsigned char tw_room[]; type *const name = (type *)tw_room;
#define TW_GROUP (@group)
#define TW_GROUPS (@groups)
#define TW_THREAD (@thread)
#define TW_BARRIER() @barrier
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
//: opencl
#define TW_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define TW_FUNCTION static inline
#define TW_GLOBAL __global
#define TW_LOCAL __local
#define TW_SHARED @shared
#define TW_ROOM_PARAM(type, name) , __local type *name
#define TW_ROOM(type, name)
#define TW_GROUP (@group)
#define TW_GROUPS (@groups)
#define TW_THREAD (@thread)
#define TW_BARRIER() @barrier
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
//: index
TW_FUNCTION int tw_min(int a, int b) { return a < b ? a : b; }
TW_FUNCTION int tw_max(int a, int b) { return a > b ? a : b; }
TW_FUNCTION int tw_floordiv(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
TW_FUNCTION int tw_ceildiv(int a, int b) { return tw_floordiv(a + b - 1, b); }
TW_FUNCTION int tw_floormod(int a, int b) { return a - b * tw_floordiv(a, b); }
//: minimum
TW_FUNCTION @T tw_minimum_@s(@T a, @T b) { return (a < b || a != a) ? a : b; }
//: maximum
TW_FUNCTION @T tw_maximum_@s(@T a, @T b) { return (a > b || a != a) ? a : b; }
//: where
TW_FUNCTION @T tw_where_@s(int a, @T b, @T c) { return a ? b : c; }
//: number
TW_FUNCTION @T tw_number_@s(int a) { return a ? 1 : 0; }
//: not
TW_FUNCTION int tw_not_@s(int a) { return !a; }
//: abs
TW_FUNCTION @T tw_abs_@s(@T a) { return @magnitude; }
//: over_sqrt
TW_FUNCTION @T tw_over_sqrt_@s(@T a, @T x) { return a * rsqrt@f(x); }
//: library
TW_FUNCTION @T tw_@name_@s(@T a) { return @called@f(a); }
//: library pair
TW_FUNCTION @T tw_@name_@s(@T a, @T b) { return @called@f(a, b); }
//: fetch2
TW_FUNCTION void tw_fetch2_@s(@T *to, TW_GLOBAL const @T *from) {
  const @V v = TW_READ(@V, from);
  to[0] = v.x;
  to[1] = v.y;
}
//: fetch4
TW_FUNCTION void tw_fetch4_@s(@T *to, TW_GLOBAL const @T *from) {
  const @V v = TW_READ(@V, from);
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
  to[3] = v.w;
}
//: store2
TW_FUNCTION void tw_store2_@s(TW_GLOBAL @T *to, @T a, @T b) {
  @V v;
  v.x = a;
  v.y = b;
  TW_WRITE(@V, to, v);
}
//: store4
TW_FUNCTION void tw_store4_@s(TW_GLOBAL @T *to, @T a, @T b, @T c, @T d) {
  @V v;
  v.x = a;
  v.y = b;
  v.z = c;
  v.w = d;
  TW_WRITE(@V, to, v);
}
//: stage2
TW_FUNCTION void tw_stage2_@s(TW_LOCAL @T *to, @T a, @T b) {
  @V v;
  v.x = a;
  v.y = b;
  *(TW_LOCAL @V *)to = v;
}
//: stage4
TW_FUNCTION void tw_stage4_@s(TW_LOCAL @T *to, @T a, @T b, @T c, @T d) {
  @V v;
  v.x = a;
  v.y = b;
  v.z = c;
  v.w = d;
  *(TW_LOCAL @V *)to = v;
}
//: pass2
TW_FUNCTION void tw_pass2_@s(TW_GLOBAL @T *to, TW_LOCAL const @T *from) {
  TW_WRITE(@V, to, *(TW_LOCAL const @V *)from);
}
//: pass4
TW_FUNCTION void tw_pass4_@s(TW_GLOBAL @T *to, TW_LOCAL const @T *from) {
  TW_WRITE(@V, to, *(TW_LOCAL const @V *)from);
}
