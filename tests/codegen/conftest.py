"""What the tests of GPU texts share."""

import ctypes
from pathlib import Path

import pytest

from tilewright.runtime.devices.opencl import prepare_oclgrind


@pytest.fixture(scope="session")
def nvrtc():
    """Compile CUDA text for an architecture, without a driver and without a GPU."""
    package = pytest.importorskip("nvidia.cuda_nvrtc", reason="needs pip install 'tilewright[cuda]'")
    found = sorted(path for root in package.__path__ for path in Path(root).glob("lib/libnvrtc.so*"))
    if not found:
        pytest.skip("nvidia-cuda-nvrtc-cu12 has no library for this system")
    library = ctypes.CDLL(str(found[0]))

    def compile_cuda(text, architecture):
        program = ctypes.c_void_p()
        assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None) == 0
        # Texts start with all functions of indices, used or not: that one is not called is no news.
        options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--diag-suppress=177")
        status = library.nvrtcCompileProgram(program, 2, options)
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        assert status == 0, log.value.decode()
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        assert size.value > 0
        return log.value.decode()

    return compile_cuda


@pytest.fixture(scope="module")
def device():
    """A context and queue on Oclgrind, which interprets kernels and reports races and accesses out of bounds."""
    prepare_oclgrind()
    cl = pytest.importorskip("pyopencl", reason="needs pip install 'tilewright[opencl]'")
    platforms = [each for each in cl.get_platforms() if "Oclgrind" in each.name]
    if not platforms:
        pytest.skip("there is no Oclgrind: pip install 'tilewright[opencl]'")
    context = cl.Context(platforms[0].get_devices()[:1])
    return cl, context, cl.CommandQueue(context)
