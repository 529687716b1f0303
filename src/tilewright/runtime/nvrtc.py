"""CUDA text compiled by NVRTC: no driver and no GPU needed; what a kernel takes is read off the compiler's log."""

import ctypes
import functools
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.base.errors import ToolchainError
from tilewright.base.records import Resources

HINT = "pip install 'tilewright[cuda]'"
_KERNEL = re.compile(r"Compiling entry function '(?P<name>\w+)'")
_USED = re.compile(r"Used (?P<registers>\d+) registers(?:.*?(?P<shared>\d+) bytes smem)?")
_STACK = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)


@functools.lru_cache(maxsize=1)
def _library() -> Any:  # noqa: ANN401
    found = importlib.util.find_spec("nvidia")
    roots = [] if found is None or found.submodule_search_locations is None else list(found.submodule_search_locations)
    paths = sorted(path for root in roots for path in Path(root).glob("cuda_nvrtc/lib/libnvrtc.so*"))
    if not paths:
        return None
    return ctypes.CDLL(str(paths[0]))


def available() -> bool:
    """Whether there is a library."""
    return _library() is not None


def compile_kernels(text: str, architecture: str, options: tuple[str, ...] = ()) -> Mapping[str, Resources]:
    """Compile CUDA text.

    Args:
        text: Kernels.
        architecture: Such as ``sm_90``.
        options: Further options of NVRTC.

    Returns:
        What every kernel takes, by name.

    Raises:
        ToolchainError: If there is no NVRTC, or the text does not compile.
    """
    library = _library()
    if library is None:
        raise ToolchainError("CUDA text is compiled by NVRTC, which is missing", HINT)
    program = ctypes.c_void_p()
    if library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"region.cu", 0, None, None):
        raise ToolchainError("NVRTC makes no program of the text")
    try:
        words = (f"--gpu-architecture={architecture}", "--ptxas-options=-v", *options)
        array = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        status = library.nvrtcCompileProgram(program, len(words), array)
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(max(1, size.value))
        library.nvrtcGetProgramLog(program, log)
        said = log.value.decode(errors="replace")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    if status:
        errors = [line for line in said.splitlines() if "error" in line] or said.splitlines()
        raise ToolchainError(f"NVRTC failed: {'; '.join(errors[:3])[:400]}")
    return read_log(said)


def read_log(log: str) -> dict[str, Resources]:
    """Read what kernels take from the log of ``ptxas -v``.

    >>> read_log("info : Compiling entry function 'k' for 'sm_90'\\n 0 bytes stack frame, 0 bytes spill stores, "
    ...          "0 bytes spill loads\\ninfo : Used 16 registers")["k"].registers
    16
    """  # noqa: D301
    found: dict[str, Resources] = {}
    name, stack, spills = "", 0, 0
    for line in log.splitlines():
        if match := _KERNEL.search(line):
            name, stack, spills = match["name"], 0, 0
        elif match := _STACK.search(line):
            stack, spills = int(match["stack"]), int(match["stores"]) + int(match["loads"])
        elif (match := _USED.search(line)) and name:
            found[name] = Resources(
                registers=int(match["registers"]),
                spill_bytes=spills,
                stack_bytes=stack,
                shared_bytes=int(match["shared"] or 0),
            )
    return found
