"""CUDA C++, as NVRTC compiles it."""

from tilewright.codegen.print.base import Macros

CUDA = Macros(
    kernel='extern "C" __global__ void',
    space="",
    shared="__shared__",
    barrier="__syncthreads()",
    thread="(int)threadIdx.x",
    group="(int)blockIdx.x",
    groups="(int)gridDim.x",
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
