"""OpenCL C 1.2."""

from tilewright.codegen.print.base import Macros

_WORDS = {
    "kernel": "__kernel void",
    "space": "__global ",
    "shared": "__local",
    "barrier": "barrier(CLK_LOCAL_MEM_FENCE)",
    "thread": "(int)get_local_id(0)",
    "group": "(int)get_group_id(0)",
    "groups": "(int)get_num_groups(0)",
}
_MACROS = f"""#define TW_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define TW_FUNCTION static inline
#define TW_GLOBAL __global
#define TW_LOCAL __local
#define TW_SHARED {_WORDS["shared"]}
#define TW_ROOM_PARAM(type, name) , __local type *name
#define TW_ROOM(type, name)
#define TW_GROUP ({_WORDS["group"]})
#define TW_GROUPS ({_WORDS["groups"]})
#define TW_THREAD ({_WORDS["thread"]})
#define TW_BARRIER() {_WORDS["barrier"]}
#define TW_BARRIER_MEMORY() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TW_COUNT(at) atomic_inc(at)
#define TW_ALIGNED(type, pointer, bytes) (pointer)
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
typedef ulong tw_unsigned;"""

OPENCL = Macros(
    **_WORDS,
    text=_MACROS,
    elements={
        "float32": "float",
        "float64": "double",
        "int8": "char",
        "int16": "short",
        "int32": "int",
        "int64": "long",
        "uint8": "uchar",
        "uint16": "ushort",
        "uint32": "uint",
        "uint64": "ulong",
    },
    double="#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    strict="#pragma OPENCL FP_CONTRACT OFF",
    magnitude="({t})abs(a)",
)
