"""What host programs in CUDA and in C for OpenCL start with."""

from tilewright.codegen.print.base import blocks

_HEADS = blocks("host_heads.h")
CUDA_HEAD = _HEADS["cuda"].text
OPENCL_HEAD = _HEADS["opencl"].text
