"""CUDA text -> machine code, what it needs, and its listing: NVIDIA's compiler and disassembler, without any GPU.

The library comes from the package nvidia-cuda-nvrtc-cu12, from nvidia-cuda-nvrtc (CUDA 13) or from an installed
toolkit. Results are kept in the kernel cache, so that a candidate is compiled once per architecture.
"""

import ctypes
import ctypes.util
import functools
import importlib.util
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import ToolchainError, sentence
from tilewright.base.fingerprint import fingerprint
from tilewright.base.records import Resources
from tilewright.runtime import cache

INSTALL = "pip install 'tilewright[cuda]'"
_VERSION = 2  # raised when a stored result could no longer be read
_LOG_LINES = 3
_LISTING_SECONDS = 60.0
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_STACK = re.compile(r"(\d+) bytes stack frame")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Machine code."""

    cubin: bytes
    resources: Resources  # what it needs, the most of any kernel in it
    architecture: str  # ``sm_90`` and so on


def compile_cuda(text: str, architecture: str, *, strict: bool = False) -> Compiled:
    """Compile CUDA C++, or load the result from the cache; ``strict`` fuses no multiplications and additions."""
    options = [f"--gpu-architecture={architecture}", "--ptxas-options=-v", "--std=c++17"]
    if strict:
        options.append("--fmad=false")
    key = f"{fingerprint(_VERSION, text, options, version())}.cubin"
    store = cache.directory()
    stored = cache.load(store, key)
    if stored is not None:
        head, _, cubin = stored.partition(b"\n")
        with suppress(ValueError, TypeError):  # what the cache has is no record of ours: once more from the text
            return Compiled(cubin=cubin, resources=Resources(**json.loads(head)), architecture=architecture)
    cubin, log = _compile(text, options)
    needs = resources(log)
    plain = {name: getattr(needs, name) for name in Resources.__slots__}
    cache.save(store, key, json.dumps(plain).encode() + b"\n" + cubin)
    return Compiled(cubin=cubin, resources=needs, architecture=architecture)


def compile_kernels(text: str, architecture: str, options: tuple[str, ...] = ()) -> dict[str, Resources]:
    """Compile a text of several kernels, and say by name what each of them needs; nothing is kept."""
    _, log = _compile(text, [f"--gpu-architecture={architecture}", "--ptxas-options=-v", *options])
    parts = _ENTRY.split(log)
    return {name: resources(report) for name, report in zip(parts[1::2], parts[2::2], strict=True)}


def resources(log: str) -> Resources:
    r"""Read the assembler's report: the most of any kernel.

    >>> resources("0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\nUsed 40 registers, 96 bytes smem")
    Resources(registers=40, spill_bytes=12, stack_bytes=0, shared_bytes=96)
    """
    return Resources(
        registers=max((int(each) for each in _REGISTERS.findall(log)), default=None),
        spill_bytes=max((int(a) + int(b) for a, b in _SPILLS.findall(log)), default=0),
        stack_bytes=max((int(each) for each in _STACK.findall(log)), default=0),
        shared_bytes=max((int(each) for each in _SHARED.findall(log)), default=0),
    )


@functools.cache
def version() -> str:
    """Return the compiler's version."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def available() -> bool:
    """Whether there is a compiler."""
    try:
        _library()
    except ToolchainError:
        return False
    return True


@functools.cache
def oldest_architecture() -> int:
    """Return the oldest architecture that the compiler makes code for, such as 50 for ``sm_50``."""
    library, count = _library(), ctypes.c_int()
    _check(library.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "")
    architectures = (ctypes.c_int * count.value)()
    _check(library.nvrtcGetSupportedArchs(architectures), "")
    oldest: int = min(architectures)
    return oldest


@functools.cache
def _library() -> ctypes.CDLL:
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise ToolchainError("the compiler for CUDA is missing", INSTALL)


def _candidates() -> Sequence[str]:
    try:
        import nvidia as packages
    except ImportError:
        libraries = []
    else:
        folders = [Path(root) / part / "lib" for part in ("cuda_nvrtc", "cu13") for root in packages.__path__]
        libraries = [str(path) for folder in folders for path in sorted(folder.glob("libnvrtc.so*"))]
    system = ctypes.util.find_library("nvrtc")
    return [*libraries, *([system] if system else [])]


def _compile(text: str, options: Sequence[str]) -> tuple[bytes, str]:
    library, program = _library(), ctypes.c_void_p()
    _check(library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None), "")
    try:
        encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), encoded)
        log = _text(library, "ProgramLog", program).decode(errors="replace").replace("\0", "")
        _check(status, log)
        return _text(library, "CUBIN", program), log
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, kind: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)), "")
    buffer = ctypes.create_string_buffer(size.value)
    _check(getattr(library, f"nvrtcGet{kind}")(program, buffer), "")
    return buffer.raw


def _check(status: int, log: str) -> None:
    if status:
        lines = [line.strip() for line in log.splitlines() if "error" in line] or [f"status {status}"]
        raise ToolchainError(f"the CUDA compiler refuses the kernel: {'; '.join(lines[:_LOG_LINES])}")


def disassemble(cubin: bytes) -> str:
    """Return the listing of a cubin with the encodings of its instructions."""
    refusal = ToolchainError("NVIDIA's disassembler nvdisasm is missing", INSTALL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        for program in _programs():
            command = [program, "-c", "-hex", str(path)]
            try:
                process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LISTING_SECONDS)
            except (OSError, subprocess.TimeoutExpired) as error:
                refusal = ToolchainError(f"nvdisasm did not end: {error}")
                continue
            if not process.returncode:
                return process.stdout
            reason = sentence(process.stderr).removeprefix("nvdisasm fatal").lstrip(" :")
            # Those of CUDA 13.1 and later list no code below sm_75, which NVRTC 12 makes.
            refusal = ToolchainError(
                f"nvdisasm refuses the machine code: {reason:.200}",
                "put the nvdisasm of an older CUDA toolkit on the path",
            )
    raise refusal


@functools.cache
def _programs() -> tuple[str, ...]:
    """The disassemblers of the package nvidia-cuda-nvdisasm and of an installed toolkit."""
    package = importlib.util.find_spec("nvidia")
    roots = [] if package is None or package.submodule_search_locations is None else package.submodule_search_locations
    programs = sorted((str(path) for root in roots for path in Path(root).glob("**/bin/nvdisasm")), reverse=True)
    return (*programs, *filter(None, [shutil.which("nvdisasm")]))
