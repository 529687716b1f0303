"""CUDA C++, as NVRTC compiles it."""

from tilewright.codegen.print.base import Macros

_WORDS = {
    "kernel": 'extern "C" __global__ void',
    "space": "",
    "shared": "__shared__",
    "barrier": "__syncthreads()",
    "thread": "(int)threadIdx.x",
    "group": "(int)blockIdx.x",
    "groups": "(int)gridDim.x",
}
_MACROS = f"""#define TW_KERNEL(threads) {_WORDS["kernel"]} __launch_bounds__(threads, 1)
#define TW_FUNCTION static __device__ __forceinline__
#define TW_GLOBAL
#define TW_LOCAL
#define TW_SHARED {_WORDS["shared"]} __align__(16)
#define TW_ROOM_PARAM(type, name)
#define TW_ROOM(type, name) extern __shared__ __align__(16) unsigned char tw_room[]; type *const name = (type *)tw_room;
#define TW_GROUP ({_WORDS["group"]})
#define TW_GROUPS ({_WORDS["groups"]})
#define TW_THREAD ({_WORDS["thread"]})
#define TW_BARRIER() {_WORDS["barrier"]}
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
typedef unsigned long long tw_unsigned;
TW_FUNCTION int TW_OPAQUE(int a) {{ asm volatile("" : "+r"(a)); return a; }}"""

CUDA = Macros(
    **_WORDS,
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
