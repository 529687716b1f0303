"""What CUDA C++, as NVRTC compiles it, and OpenCL C 1.2 call things."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.codegen.print.base import blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Macros:
    """What a language for GPUs calls things; the layer of macros over it is ``prelude_gpu.h``."""

    kernel: str  # before a kernel's name
    space: str  # before a pointer to the device's memory
    shared: str  # before memory that a group shares
    barrier: str  # lets the threads of a group meet
    thread: str  # number of the thread in its group
    group: str  # number of the group
    groups: str  # number of groups
    elements: Mapping[str, str]  # the language's own names of element types
    double: str = ""  # a line that texts with numbers of 64 bits need
    strict: str = ""  # a line that keeps every operation's rounding, unless a compiler's option does
    single: str = ""  # what functions of a library end with where they take numbers of 32 bits
    magnitude: str  # the absolute value of a whole number ``a`` of type ``{t}``


def _elements(*names: str) -> Mapping[str, str]:
    floats, widths = ("float32", "float64"), (8, 16, 32, 64)
    integers = (f"{sign}int{width}" for sign in ("", "u") for width in widths)
    return dict(zip((*floats, *integers), names, strict=True))


CUDA = Macros(
    kernel='extern "C" __global__ void',
    space="",
    shared="__shared__",
    barrier="__syncthreads()",
    thread="(int)threadIdx.x",
    group="(int)blockIdx.x",
    groups="(int)gridDim.x",
    elements=_elements(
        *("float", "double", "signed char", "short", "int", "long long"),
        *("unsigned char", "unsigned short", "unsigned int", "unsigned long long"),
    ),
    single="f",
    magnitude="a < 0 ? -a : a",
)
OPENCL = Macros(
    kernel="__kernel void",
    space="__global ",
    shared="__local",
    barrier="barrier(CLK_LOCAL_MEM_FENCE)",
    thread="(int)get_local_id(0)",
    group="(int)get_group_id(0)",
    groups="(int)get_num_groups(0)",
    elements=_elements("float", "double", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong"),
    double="#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    strict="#pragma OPENCL FP_CONTRACT OFF",
    magnitude="({t})abs(a)",
)
DIALECTS = {"opencl": OPENCL, "cuda": CUDA}


def host_head(dialect: str) -> str:
    """Return what a host program starts with: in CUDA, or in C for OpenCL."""
    return blocks("host_heads.h")[dialect].text
