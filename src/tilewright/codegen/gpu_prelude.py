"""The thin layer of macros that makes one kernel text OpenCL C and CUDA C++, and the helpers that a text may use.

Every GPU text of this package starts with it and uses nothing of either language but these names:

- ``TW_KERNEL(threads)`` starts a kernel of groups of so many threads, ``TW_FUNCTION`` any other function,
- ``TW_GLOBAL`` and ``TW_LOCAL`` qualify pointers to memory and to the chip, ``TW_SHARED`` declares an array on chip,
- ``TW_ROOM_PARAM`` and ``TW_ROOM`` declare one whose size is given at the launch,
- ``TW_GROUP`` and ``TW_THREAD`` number groups and threads, ``TW_BARRIER()`` lets the threads of a group meet,
- ``TW_ALIGNED`` says of a pointer that its address is a multiple of some bytes,
- ``TW_UNROLL`` and ``TW_UNROLL_BY(n)`` ask for unrolling where the compiler is one that gains by it.
"""

from collections.abc import Iterable

from tilewright.base.errors import UsageError
from tilewright.programs.operators import FUNCTIONS

DIALECTS = ("opencl", "cuda")
TYPES = {"float32": "float", "float64": "double", "int32": "int", "int64": "tw_wide"}
SUFFIX = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}

_OPENCL = """#define TW_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define TW_FUNCTION static inline
#define TW_GLOBAL __global
#define TW_LOCAL __local
#define TW_SHARED __local
#define TW_ROOM_PARAM(type, name) , __local type *name
#define TW_ROOM(type, name)
#define TW_GROUP ((int)get_group_id(0))
#define TW_THREAD ((int)get_local_id(0))
#define TW_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define TW_BARRIER_MEMORY() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TW_COUNT(at) atomic_inc(at)
#define TW_ALIGNED(type, pointer, bytes) (pointer)
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
typedef long tw_wide;"""

_CUDA = """#define TW_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
#define TW_FUNCTION static __device__ __forceinline__
#define TW_GLOBAL
#define TW_LOCAL
#define TW_SHARED __shared__
#define TW_ROOM_PARAM(type, name)
#define TW_ROOM(type, name) extern __shared__ __align__(16) unsigned char tw_room[]; type *const name = (type *)tw_room;
#define TW_GROUP ((int)blockIdx.x)
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
typedef long long tw_wide;"""

_INDEX = """TW_FUNCTION int tw_min(int a, int b) { return a < b ? a : b; }
TW_FUNCTION int tw_max(int a, int b) { return a > b ? a : b; }
TW_FUNCTION int tw_floordiv(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
TW_FUNCTION int tw_ceildiv(int a, int b) { return tw_floordiv(a + b - 1, b); }
TW_FUNCTION int tw_floormod(int a, int b) { return a - b * tw_floordiv(a, b); }"""

_BODY = {
    "minimum": ("{t}", "{t} a, {t} b", "(a < b || a != a) ? a : b"),
    "maximum": ("{t}", "{t} a, {t} b", "(a > b || a != a) ? a : b"),
    "where": ("{t}", "int a, {t} b, {t} c", "a ? b : c"),
    "number": ("{t}", "int a", "a ? 1 : 0"),
    "not": ("int", "int a", "!a"),
}
_ABS = {"opencl": ("{t}", "{t} a", "({t})abs(a)"), "cuda": ("{t}", "{t} a", "a < 0 ? -a : a")}


def prelude(
    dialect: str,
    dtypes: Iterable[str] = (),
    helpers: Iterable[tuple[str, str]] = (),
    *,
    strict: bool = False,
    index: bool = True,
) -> str:
    """Return the start of a text.

    Args:
        dialect: One of :data:`DIALECTS`.
        dtypes: Element types that the text uses.
        helpers: Operators that it writes as calls, each with its element type.
        strict: Keep the rounding of every operation; in CUDA an option of the compiler does it.
        index: With the functions of indices, ``tw_min`` and the like.

    Raises:
        UsageError: If there is no such dialect.
    """
    if dialect not in DIALECTS:
        raise UsageError(f"the dialect of a GPU is one of {', '.join(DIALECTS)}, got {dialect!r}")
    lines = []
    if dialect == "opencl" and "float64" in set(dtypes):
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if dialect == "opencl" and strict:
        lines.append("#pragma OPENCL FP_CONTRACT OFF")
    lines += [_OPENCL if dialect == "opencl" else _CUDA, *([_INDEX] if index else [])]
    lines += [_helper(name, dtype, dialect) for name, dtype in sorted(set(helpers))]
    return "\n".join(lines) + "\n"


def helper_name(name: str, dtype: str) -> str:
    """Return the name of the function that an operator is written as.

    >>> helper_name("sqrt", "float32")
    'tw_sqrt_f32'
    """
    return f"tw_{name}_{SUFFIX[dtype]}"


def _helper(name: str, dtype: str, dialect: str) -> str:
    kind = TYPES[dtype]
    if name == "over_sqrt":
        root = "rsqrt" if dialect == "opencl" or dtype == "float64" else "rsqrtf"
        result, params, body = kind, f"{kind} a, {kind} x", f"a * {root}(x)"
    elif name in FUNCTIONS or (name == "abs" and dtype.startswith("float")):
        called = "fabs" if name == "abs" else name
        called += "f" if dialect == "cuda" and dtype == "float32" else ""
        params, args = (f"{kind} a, {kind} b", "a, b") if name == "pow" else (f"{kind} a", "a")
        result, body = kind, f"{called}({args})"
    else:
        result, params, body = (part.format(t=kind) for part in (_ABS[dialect] if name == "abs" else _BODY[name]))
    return f"TW_FUNCTION {result} {helper_name(name, dtype)}({params}) {{ return {body}; }}"
