"""What this machine has, what is missing, and the command that fixes it. Nothing is needed for it to work."""

import importlib
import importlib.util
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from tilewright.base.errors import TilewrightError, ToolchainError
from tilewright.base.records import Record
from tilewright.base.tables import Shown, table
from tilewright.base.units import format_bytes
from tilewright.runtime import cache, host
from tilewright.runtime.store import hosts
from tilewright.runtime.toolchains import cpu as toolchain

_MANAGERS = {
    "apt-get": "sudo apt install",
    "dnf": "sudo dnf install",
    "pacman": "sudo pacman -S",
    "apk": "sudo apk add",
    "brew": "brew install",
}
_REQUIRED = ("numpy", "typer", "rich", "platformdirs")
_OPTIONAL = {
    "pillow": "pictures as input and output",
    "matplotlib": "draws tilings and reports",
    "ziglang": "a C compiler from PyPI, where there is no other",
    "islpy": "checks tilings independently (tests)",
    "scipy": "checks boundaries independently (tests)",
    "numba": "a rival (benchmarks)",
    "pystencils": "a rival (benchmarks)",
}
_PIP = f"{sys.executable} -m pip install"
_OLDEST = (3, 11)
_SIMD = ("avx512f", "avx2", "avx", "fma", "sse4_2", "sve2", "sve", "asimd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str  # what was looked at
    state: str  # ``ok``, ``fault``, or ``absent`` for something optional
    detail: str  # what was found
    fix: str = ""  # the command or the sentence that mends it; empty where nothing is wrong


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Diagnosis(Record):
    """Everything that was looked at."""

    KEYS = "healthy=_healthy checks"

    checks: tuple[Check, ...]

    @property
    def faults(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.state == "fault")

    def _healthy(self) -> bool:
        return not self.faults

    def shown(self) -> Shown:
        """Return what was found, and how much of it is a fault."""
        rows = [(c.state, c.name, c.detail + (f"\nfix: {c.fix}" if c.fix else "")) for c in self.checks]
        count = len(self.faults)
        verdict = f"{count} fault{'s' * (count != 1)}" if count else "everything needed is there"
        return table(("state", "what", "what is there"), rows), verdict


def diagnose() -> Diagnosis:
    """Look at Python, its packages, the compiler, the CPU, memory and the kernel cache."""
    probes: list[Callable[[], tuple[Check, ...]]] = [
        _python,
        _required_packages,
        _compiler,
        _cpu,
        _calibration,
        _threads,
        _memory,
        _cache,
        _optional_packages,
        _petsc,
        _gpus,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Diagnosis(checks=tuple(check for look in probes for check in look()))


def _python() -> tuple[Check, ...]:
    is_recent = sys.version_info >= _OLDEST
    fix = "" if is_recent else "install Python 3.11 or newer"
    detail = f"{platform.python_version()} at {sys.executable} on {platform.system()} {platform.machine()}"
    return (Check(name="python", state="ok" if is_recent else "fault", detail=detail, fix=fix),)


def _required_packages() -> tuple[Check, ...]:
    return tuple(_package(name, "fault") for name in _REQUIRED)


def _optional_packages() -> tuple[Check, ...]:
    return tuple(_package(name, "absent", f"; {use}") for name, use in _OPTIONAL.items())


def _package(name: str, missing: str, use: str = "") -> Check:
    version = _version(name)
    fix = "" if version else f"{_PIP} {name}"
    return Check(name=name, state="ok" if version else missing, detail=f"{version or 'not installed'}{use}", fix=fix)


def _petsc() -> tuple[Check, ...]:
    find = importlib.import_module("tilewright.sparse.petsc").find  # of a workload, which verbs do not import
    use = "solves with diagonal matrices: tilewright petsc"
    try:
        library = find()
    except TilewrightError as error:
        fix = "" if _manager() != "apt-get" else _install("libpetsc-real-dev")
        return (Check(name="petsc", state="absent", detail=f"{error.message}; {use}", fix=fix or error.hint),)
    detail = f"{library.version}, {library.dtype}, built with {' '.join(library.compiler)}; {use}"
    return (Check(name="petsc", state="ok", detail=detail),)


def _gpus() -> tuple[Check, ...]:
    """What the backends opencl and cuda would find, and the compiler that screens candidates for cards elsewhere."""
    from tilewright.runtime.devices import cuda, nvrtc

    probes: tuple[tuple[str, Callable[[], str], str, str], ...] = (
        ("opencl", _opencl, "the backend opencl", f"{_PIP} 'tilewright[opencl]'"),
        ("cuda", lambda: ", ".join(each.name for each in cuda.every()), "the backend cuda", ""),
        ("nvrtc", nvrtc.version, "screens CUDA candidates, without a GPU too", f"{_PIP} 'tilewright[cuda]'"),
    )
    checks = []
    for name, look, use, fix in probes:
        try:
            checks.append(Check(name=name, state="ok", detail=f"{look()}; {use}"))
        except TilewrightError as error:
            checks.append(Check(name=name, state="absent", detail=f"{error.message}; {use}", fix=fix or error.hint))
        else:
            checks += _too_new() if name == "cuda" else []
    return tuple(checks)


def _too_new() -> list[Check]:
    """Whether the bindings of the driver are of a later CUDA than the driver, some of whose calls they may lack."""
    from tilewright.runtime.devices import cuda

    bindings, driver = cuda.versions()
    newest = int(driver.partition(".")[0])
    if int(bindings.partition(".")[0]) <= newest:
        return []
    detail = f"cuda-bindings {bindings} is for a later CUDA than the driver knows, which is {driver}"
    return [Check(name="cuda", state="fault", detail=detail, fix=f"{_PIP} 'cuda-bindings<{newest + 1}'")]


def _opencl() -> str:
    from tilewright.runtime.devices import opencl

    names = [str(device.name) for device in opencl.devices()]
    if not names:
        raise ToolchainError("there is no OpenCL device", opencl.INSTALL)
    return ", ".join(names)


def _compiler() -> tuple[Check, ...]:
    try:
        tools = toolchain.toolchain()
    except TilewrightError as error:
        detail = f"{error.message}; programs run with NumPy, slowly"
        unset = error.hint if error.hint.startswith("unset") else ""
        fix = unset or f"{_install('gcc')}, or: {_PIP} ziglang"
        return (Check(name="compiler", state="fault", detail=detail, fix=fix),)
    named = tools.identity.partition(" ")[2]
    detail = f"{named} ({' '.join(tools.command)}), {' '.join(tools.native) or 'no flags for this CPU'}"
    compiler = Check(name="compiler", state="ok", detail=detail)
    if tools.openmp:
        return compiler, Check(name="openmp", state="ok", detail="links")
    package = "libomp" if "clang" in named else "libgomp"
    names = {"apt-get": {"libomp": "libomp-dev", "libgomp": "libgomp1"}}
    fix = _install(names.get(_manager(), {}).get(package, package))
    return compiler, Check(name="openmp", state="fault", detail="does not link: kernels run on one thread", fix=fix)


def _cpu() -> tuple[Check, ...]:
    cpu = toolchain.target_cpu()
    features = [name for name in _SIMD if name in host.cpu_features()]
    caches = ((f"L{level}", size) for level, size in enumerate((cpu.l1_bytes, cpu.l2_bytes, cpu.l3_bytes), 1))
    detail = (
        f"{cpu.model_name}, {cpu.cores} cores, {cpu.simd_bits}-bit vectors ({', '.join(features) or 'none known'}), "
        + ", ".join(f"{name} {format_bytes(size)}" for name, size in caches if size)
    )
    return (Check(name="cpu", state="ok", detail=detail),)


def _calibration() -> tuple[Check, ...]:
    fix = "tilewright calibrate, once: 90 to 160 seconds on two cores where nothing else runs"
    if not hosts.calibrated():
        return (Check(name="calibration", state="absent", detail="speeds are guessed", fix=fix),)
    return (Check(name="calibration", state="ok", detail="this CPU was measured with this compiler"),)


def _threads() -> tuple[Check, ...]:
    try:
        count = host.thread_count()
    except TilewrightError as error:
        return (Check(name="threads", state="fault", detail=error.message, fix=error.hint),)
    source = next((name for name in ("TILEWRIGHT_THREADS", "OMP_NUM_THREADS") if os.environ.get(name)), "")
    return (Check(name="threads", state="ok", detail=f"{count}, as {source or 'this process may use'}"),)


def _memory() -> tuple[Check, ...]:
    free = host.available_bytes()
    return (Check(name="memory", state="ok", detail=f"{format_bytes(free)} free" if free is not None else "unknown"),)


def _cache() -> tuple[Check, ...]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        place = cache.directory()
    if place is None:
        detail = (
            str(caught[-1].message).partition(" (hint")[0] if caught else "cannot be used: kernels are compiled anew"
        )
        fix = "export TILEWRIGHT_CACHE=DIRECTORY, with a directory that only you can write to"
        return (Check(name="cache", state="fault", detail=detail, fix=fix),)
    entries = [path.stat().st_size for path in place.iterdir() if path.is_file()]
    writable = os.access(place, os.W_OK)
    detail = f"{place}, {len(entries)} entries, {format_bytes(sum(entries))}{'' if writable else ', read-only'}"
    fix = "" if writable else f"chmod u+w {place}"
    return (Check(name="cache", state="ok" if writable else "fault", detail=detail, fix=fix),)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "present" if importlib.util.find_spec(package) else ""


def _manager() -> str:
    return next((name for name in _MANAGERS if shutil.which(name)), "")


def _install(package: str) -> str:
    return f"{_MANAGERS.get(_manager(), 'install')} {package}"
