"""CUDA C++, as NVRTC compiles it."""

from tilewright.codegen.print.base import Macros

_MACROS = """#define TW_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
#define TW_FUNCTION static __device__ __forceinline__
#define TW_GLOBAL
#define TW_LOCAL
#define TW_SHARED __shared__
#define TW_ROOM_PARAM(type, name)
#define TW_ROOM(type, name) extern __shared__ __align__(16) unsigned char tw_room[]; type *const name = (type *)tw_room;
#define TW_GROUP ((int)blockIdx.x)
#define TW_GROUPS ((int)gridDim.x)
#define TW_THREAD ((int)threadIdx.x)
#define TW_BARRIER() __syncthreads()
#define TW_BARRIER_MEMORY() __syncthreads()
#define TW_COUNT(at) atomicAdd(at, 1u)
#define TW_ALIGNED(type, pointer, bytes) ((type)__builtin_assume_aligned(pointer, bytes))
#define TW_PRAGMA(text) _Pragma(#text)
#define TW_UNROLL TW_PRAGMA(unroll)
#define TW_UNROLL_BY(n) TW_PRAGMA(unroll n)
#define TW_INF_f32 __int_as_float(0x7f800000)
#define TW_NAN_f32 __int_as_float(0x7fc00000)
#define TW_INF_f64 __longlong_as_double(0x7ff0000000000000L)
#define TW_NAN_f64 __longlong_as_double(0x7ff8000000000000L)
typedef long long tw_wide;
typedef unsigned long long tw_unsigned;"""

CUDA = Macros(
    text=_MACROS,
    elements={
        "float32": "float",
        "float64": "double",
        "int8": "signed char",
        "int16": "short",
        "int32": "int",
        "int64": "long long",
        "uint8": "unsigned char",
        "uint16": "unsigned short",
        "uint32": "unsigned int",
        "uint64": "unsigned long long",
    },
    single="f",
    magnitude="a < 0 ? -a : a",
)
