"""Fixtures of kernels for GPUs, as those of ``tests/codegen``."""

from tests.codegen.conftest import device, nvrtc

__all__ = ["device", "nvrtc"]
