"""What a benchmark ran on."""

import datetime as dt
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

_LIBRARIES = (
    "tilewright", "numpy", "scipy", "pystencils", "numba", "llvmlite", "sympy", "torch", "opt_einsum", "halide",
    "devito", "jax", "parasail",
)  # fmt: skip


def describe(threads: int) -> dict[str, Any]:
    """Return CPU, caches, cores, memory, compiler, library versions and date."""
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "cpu_identity": _identity(),
        "cores": cores(),
        "threads": threads,
        "caches": _caches(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "features": _features(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": _compiler(),
        "command": os.environ.get("CC", "gcc"),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "load_average": os.getloadavg()[0],
    }


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _cpuinfo(key: str) -> str:
    return next((line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith(key)), "")


def _cpu_model() -> str:
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def _identity() -> str:
    """Family and model, which tell CPUs apart that a virtual machine calls by the same name; empty where unknown."""
    family, model = _cpuinfo("cpu family"), _cpuinfo("model\t")
    return f"family {family}, model {model}" if family and model else ""


def _features() -> list[str]:
    return [flag for flag in _cpuinfo("flags").split() if flag.startswith(("avx", "fma", "amx"))]


def _caches() -> dict[str, str]:
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ("".join(_lines(str(index / name))) for name in ("level", "type", "size"))
        found[f"L{level} {kind}"] = size
    return found


def _compiler() -> str:
    try:
        command = os.environ.get("CC", "").split() or ["gcc"]
        answer = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.partition("\n")[0]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
