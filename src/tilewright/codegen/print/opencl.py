"""OpenCL C 1.2."""

from tilewright.codegen.print.base import Macros

OPENCL = Macros(
    kernel="__kernel void",
    space="__global ",
    shared="__local",
    barrier="barrier(CLK_LOCAL_MEM_FENCE)",
    thread="(int)get_local_id(0)",
    group="(int)get_group_id(0)",
    groups="(int)get_num_groups(0)",
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
