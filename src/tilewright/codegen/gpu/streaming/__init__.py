"""Kernels of streaming tiles (N.5D) for GPUs: see :mod:`tilewright.codegen.gpu.streaming.kernels`."""
