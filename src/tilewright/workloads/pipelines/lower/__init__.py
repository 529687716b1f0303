"""Kernels of fused pipelines."""
