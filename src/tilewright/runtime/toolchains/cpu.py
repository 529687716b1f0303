"""The C compiler: finding it, knowing it, calling it. Argument lists only, never a shell."""

import functools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tilewright.base import documents
from tilewright.base.errors import ToolchainError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.machines.defaults import CpuDescription
from tilewright.runtime import cache
from tilewright.runtime.host import cpu_features, describe_cpu
from tilewright.runtime.warn import warn_once

_INSTALL = {
    "darwin": "install a C compiler: `xcode-select --install`, or `pip install ziglang`",
    "win32": "install a C compiler: MinGW-w64's gcc, or `pip install ziglang`",
}
INSTALL_HINT = _INSTALL.get(
    sys.platform, "install a C compiler: `apt install gcc` (or clang), or `pip install ziglang`"
)
_OPENMP = {
    "darwin": "install its OpenMP library: `brew install libomp`, or name another compiler by TILEWRIGHT_CC",
    "win32": "name a compiler that has it by TILEWRIGHT_CC, such as MinGW-w64's gcc",
}
_PREFIXES = (Path("/opt/homebrew/opt/libomp"), Path("/usr/local/opt/libomp"))
"""Where Homebrew keeps the OpenMP library that Apple's clang comes without."""
_VARIABLES = ("TILEWRIGHT_CC", "CC")
_NAMES = ("cc", "gcc", "clang")
_COMMON = (
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=default",
)
_MANY_REGISTERS_BITS = 512  # width of vectors from which on x86 has 32 vector registers
_FEW_REGISTERS = ("-fno-predictive-commoning",)
"""Flags for x86 without AVX-512, that is for 16 vector registers: GCC keeps what one iteration loads for the next one,
a vector per row of a block and per neighbour, which spills; loading it again from L1 takes half the instructions."""
_PROBE = """int tw_probe(int n) {
  int s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < n; ++i) s += i;
  return s;
}
"""
_PROCESSOR = ("-march=", "-mcpu=")  # options of a command that say which processor to compile for
_SYNTAX_BYTES = 2**31  # what looking at the syntax of a file may take
# The shell limits itself and becomes the compiler, so no moment is left in which a compiler runs without its limit.
_LIMITED = ("/bin/sh", "-c", 'ulimit -v "$0" 2>/dev/null; exec "$@"')
COMPILE_SECONDS = 120.0
"""Limit on one call of the compiler. GCC takes less than a second for every kernel of the catalogue; this leaves room
for texts of many kernels (a calibration's; those of random programs have taken over a minute on a busy machine), large
expressions, and other compilers (that of the ziglang wheel builds its libraries on its first call)."""


class CompilerTimeoutError(ToolchainError):
    """The compiler took longer than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A C compiler that works."""

    command: tuple[str, ...]  # how it is called
    identity: str  # what it says about itself, with its file's size and time of change
    openmp: bool  # whether OpenMP code links
    # flags that select this CPU and suit it; those of a command that names a processor are its own
    native: tuple[str, ...]
    simd_bits: int = 0  # width of the vectors that it makes
    fused: bool = True  # whether it makes a multiplication and an addition one instruction
    openmp_flags: tuple[str, ...] = ("-fopenmp",)  # for OpenMP

    def flags(self, *, strict: bool, text: str = "") -> tuple[str, ...]:
        """Flags of a compilation, in order.

        Errors of functions and traps are not observed, so the compiler need not keep them; nothing else of IEEE
        arithmetic is given up. Fused multiply-adds are allowed unless ``strict``. GCC 12's vectorizers make
        ``vfmaddsub`` of a difference and a sum of products side by side even where contraction is off, so they are off
        too then: that of straight-line code, and that of loops where the unit computes with complex numbers.
        """
        contract: tuple[str, ...] = (
            ("-ffp-contract=off", "-fno-tree-slp-vectorize") if strict else ("-ffp-contract=fast",)
        )
        contract += ("-fno-tree-loop-vectorize",) * (strict and "_Complex" in text)
        openmp = self.openmp_flags if self.openmp else ("-Wno-unknown-pragmas",)
        return (*_common_flags(), *contract, *self.native, *openmp)


def _common_flags() -> tuple[str, ...]:
    """Flags of every compilation; all code for Windows is independent of its position, and clang refuses to be told."""
    return tuple(flag for flag in _COMMON if flag != "-fPIC" or sys.platform != "win32")


def _openmp() -> tuple[tuple[str, ...], ...]:
    """Ways to ask for OpenMP: the usual one, and that of Apple's clang, whose driver knows none."""
    if sys.platform != "darwin":
        return (("-fopenmp",),)
    apple = (
        ("-Xclang", "-fopenmp", f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", "-lomp")
        for prefix in _PREFIXES
        if prefix.is_dir()
    )
    return (("-fopenmp",), *apple)


def find_command() -> tuple[str, ...]:
    """Find a compiler: TILEWRIGHT_CC, CC, cc, gcc, clang, then the ziglang wheel."""
    for variable in _VARIABLES:
        command = os.environ.get(variable, "").strip()
        if command:
            # CC may carry arguments ("ccache gcc"); a path with spaces is taken whole.
            parts = [command] if Path(command).exists() else _words(variable, command)
            program = shutil.which(parts[0])
            if program is None:
                raise ToolchainError(
                    f"{variable} names the compiler {command!r}, which does not exist", f"unset {variable}"
                )
            return (program, *parts[1:])
    for name in _NAMES:
        program = shutil.which(name)
        if program is not None:
            return (program,)
    import importlib.util

    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise ToolchainError("there is no C compiler on this machine", INSTALL_HINT)


def _words(variable: str, command: str) -> list[str]:
    try:
        return shlex.split(command, posix=sys.platform != "win32")
    except ValueError as error:
        raise ToolchainError(f"{variable} is no command, got {command!r}: {error}", "close the quotation") from None


def toolchain() -> Toolchain:
    """Return this machine's C compiler; what is found out about it is kept on disk until it changes."""
    command = find_command()
    return known(command, _stamp(command))


def compiler_identity() -> str:
    """Return a fingerprint of the compiler's files without running it, or an empty string where there is none."""
    try:
        return fingerprint(_stamp(find_command()))
    except (ToolchainError, OSError):
        return ""


def _stamp(command: tuple[str, ...]) -> tuple[str, ...]:
    """What changes when the compiler changes: the resolved path, size and time of every file of the command."""
    stamps = []
    for part in command:
        path = Path(part)
        if path.is_absolute() and path.exists():
            real = path.resolve()
            status = real.stat()
            stamps.append(f"{real}:{status.st_size}:{status.st_mtime_ns}")
        else:
            stamps.append(part)
    return tuple(stamps)


@functools.lru_cache(maxsize=16)
def known(command: tuple[str, ...], stamp: tuple[str, ...]) -> Toolchain:
    """Return what is known about a compiler, from disk or by trying it."""
    key = fingerprint("toolchain", command, stamp, cpu_features(), _common_flags(), _openmp(), _FEW_REGISTERS)
    store = cache.directory()
    with suppress(UsageError):  # nothing is kept, or no record of ours: the compiler is asked once more
        document = documents.decode_json(cache.load(store, f"cc-{key}") or b"", "what is kept of a compiler")
        return documents.parse(Toolchain, document, "a compiler", complete=True)
    tools = _probe(command, stamp)
    cache.save(store, f"cc-{key}", json.dumps(asdict(tools)).encode())
    return tools


def target_cpu() -> CpuDescription:
    """Describe this machine's CPU as the compiler is told to use it.

    Vectors are as wide as the CPU has them, unless the compiler's command names a processor (``gcc -march=x86-64-v3``)
    that has narrower ones.
    """
    cpu = describe_cpu()
    command = next((text for name in _VARIABLES if (text := os.environ.get(name, "").strip())), "")
    if not any(flag in command for flag in _PROCESSOR):
        return cpu
    try:
        tools = toolchain()
        if not _names_processor(tools.command):
            return cpu
        return replace(cpu, simd_bits=min(cpu.simd_bits, tools.simd_bits), fused=cpu.fused and tools.fused)
    except (ToolchainError, OSError):
        return cpu


def _names_processor(command: Sequence[str]) -> bool:
    return any(part.startswith(_PROCESSOR) for part in command[1:])


def _probe(command: tuple[str, ...], stamp: tuple[str, ...]) -> Toolchain:
    version = _call((*command, "--version"), 30.0)
    first = version.stdout.partition("\n")[0].strip()
    identity = fingerprint(first, stamp) + " " + first
    failure = ""
    for options in _native_flags(command):
        for flags in (*_openmp(), ()):
            openmp = bool(flags)
            candidate = Toolchain(command=command, identity=identity, openmp=openmp, native=options, openmp_flags=flags)
            try:
                compile_shared(
                    candidate,
                    _PROBE,
                    strict=True,
                )
            except CompilerTimeoutError:
                raise  # it would take as long with the other options
            except ToolchainError as error:
                failure = failure or error.message
                continue
            if not openmp:
                warn_once(
                    f"{command[0]} cannot link OpenMP, so kernels run on one thread (hint: {_openmp_hint(first)})"
                )
            bits, fused = _target(candidate)
            return _with_few_registers(replace(candidate, simd_bits=bits, fused=fused))
    raise ToolchainError(failure, INSTALL_HINT)


def _with_few_registers(tools: Toolchain) -> Toolchain:
    """Add the flags for few vector registers, where there are few and the compiler knows the flags without a word."""
    if cpu_features()[0] not in {"x86_64", "AMD64"} or tools.simd_bits >= _MANY_REGISTERS_BITS:
        return tools
    try:
        compile_shared(replace(tools, native=(*tools.native, "-Werror", *_FEW_REGISTERS)), _PROBE, strict=True)
    except ToolchainError:
        return tools
    return replace(tools, native=(*tools.native, *_FEW_REGISTERS))


def _openmp_hint(version: str) -> str:
    package = "libomp-dev" if "clang" in version else "libgomp1"
    return _OPENMP.get(sys.platform, f"install its OpenMP library, on Debian and Ubuntu `apt install {package}`")


def _native_flags(command: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Flags that select this CPU, the best ones first; the processor that a command names stays."""
    wide = "-mprefer-vector-width=512"
    if cpu_features()[0] in {"aarch64", "arm64"}:
        return ((),) if _names_processor(command) else (("-mcpu=native",), ())
    return ((wide,), ()) if _names_processor(command) else (("-march=native", wide), ("-march=native",), ())


def _target(tools: Toolchain) -> tuple[int, bool]:
    result = _call((*tools.command, *tools.native, "-dM", "-E", "-x", "c", os.devnull), 30.0)
    macros = {words[1] for line in result.stdout.splitlines() if len(words := line.split()) > 1}
    if result.returncode or not macros:
        cpu = describe_cpu()
        return cpu.simd_bits, cpu.fused
    bits = 512 if "__AVX512F__" in macros else 256 if "__AVX__" in macros else 128
    return bits, bool(macros & {"__FMA__", "__aarch64__"})


def toolchain_of(command: tuple[str, ...]) -> Toolchain:
    """Return what is known about one compiler, wherever it was found; see :func:`toolchain`."""
    return known(command, _stamp(command))


def compile_shared(tools: Toolchain, text: str, *, strict: bool, options: tuple[str, ...] = ()) -> bytes:
    """Compile C text into a shared object."""
    return shared_object((*tools.command, *tools.flags(strict=strict, text=text), *options), text)


def shared_object(
    command: Sequence[str],  # with the option for shared objects; libraries are put behind the text
    text: str,
    *,
    seconds: float | None = None,
    hint: str = INSTALL_HINT,
    memory: int | None = None,  # bytes that the compiler may take
) -> bytes:
    """Compile C text into a shared object by a whole command."""
    try:
        return _compile(tuple(command), text, COMPILE_SECONDS if seconds is None else seconds, hint, memory)
    except OSError as error:
        # A temporary folder that is full, read-only or missing is as good as no compiler: NumPy still computes.
        raise ToolchainError(
            f"the compiler's files cannot be written: {error.strerror or error}",
            "free some space in the temporary directory, or set TMPDIR to another one",
        ) from error


def _compile(command: tuple[str, ...], text: str, seconds: float, hint: str, memory: int | None) -> bytes:
    with tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
        source.write_text(text, encoding="utf-8")
        words = [word for word in command if not word.startswith("-l")]
        libraries = [word for word in command if word.startswith("-l")]
        math = () if sys.platform == "win32" else ("-lm",)
        result = _call((*words, "-o", str(target), str(source), *libraries, *math), seconds, folder, memory)
        if result.returncode:
            raise ToolchainError(f"the compiler {command[0]!r} failed: {_first_errors(result)}", hint)
        if not target.exists():
            raise ToolchainError(f"the compiler {command[0]!r} wrote no output", hint)
        return target.read_bytes()


def first_error(command: Sequence[str], text: str, path: Path, seconds: float = 10.0) -> str:
    """Return the compiler's first error about a file of C, without the file's folder, or an empty text."""
    with tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True) as folder:
        source = Path(folder) / "file.c"
        flags = ("-std=gnu17", "-fsyntax-only", "-w", "-fopenmp", f"-I{path.parent.resolve()}")
        try:
            source.write_text(text, encoding="utf-8")
            result = _call((*command, *flags, str(source)), seconds, folder, _SYNTAX_BYTES)
        except (ToolchainError, OSError):
            return ""
    errors = [line for line in result.stderr.splitlines() if "error" in line]
    if not result.returncode:
        return ""
    return (errors or [f"exit status {result.returncode}"])[0].replace(str(source), path.name)[:300]


def _first_errors(result: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (result.stderr or result.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines
    return "; ".join(errors[:3])[:500] or f"exit status {result.returncode}"


def _call(
    arguments: tuple[str, ...], seconds: float, folder: str | None = None, memory: int | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return _ended_process(arguments, seconds, folder, memory)
    except subprocess.TimeoutExpired:
        raise CompilerTimeoutError(
            f"the compiler {arguments[0]!r} did not finish in {seconds:g} s",
            "try again when the machine is less busy, or set TILEWRIGHT_CC to another compiler",
        ) from None
    except OSError as error:
        raise ToolchainError(f"the compiler {arguments[0]!r} cannot be run: {error.strerror}", INSTALL_HINT) from None


def _ended_process(
    arguments: tuple[str, ...], seconds: float, folder: str | None, memory: int | None
) -> subprocess.CompletedProcess[str]:
    # A driver that is killed leaves the compiler that it started running and their temporary files where they are; so
    # these are put into a folder of the caller's, and both are killed.
    environment = {**os.environ, "LC_ALL": "C"} | ({} if folder is None else {"TMPDIR": folder})
    command = arguments
    if memory is not None and sys.platform == "linux":
        if shutil.which(command[0]) is None:
            raise FileNotFoundError(f"no such program: {command[0]}")
        command = (*_LIMITED, str(memory // 1024), *command)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        try:
            out, errors = process.communicate(timeout=seconds)
        except BaseException:
            for child in _children(process.pid):
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, errors)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except (OSError, ValueError):  # another system, or one that does not tell
        return []
