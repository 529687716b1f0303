"""What this machine's CPU says about itself: cores, caches, vector width, memory. Linux first, with fallbacks."""

import functools
import os
import platform
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.units import whole_number
from tilewright.machines.defaults import CpuDescription

_CPUINFO = Path("/proc/cpuinfo")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CGROUP = Path("/sys/fs/cgroup")
THREAD_VARIABLES = ("TILEWRIGHT_THREADS", "OMP_NUM_THREADS")  # what says how many threads to use, the first one set


@functools.cache
def _cpuinfo() -> dict[str, str]:
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    first = text.partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


@functools.cache
def cpu_features() -> tuple[str, ...]:
    """The resolved features of the CPU: part of the key of every kernel compiled for it."""
    info = _cpuinfo()
    flags = info.get("flags") or info.get("Features") or ""
    names = (info.get("model name", ""), info.get("cpu family", ""), info.get("model", ""), info.get("CPU part", ""))
    return (platform.machine(), *names, *sorted(set(flags.split())))


def cpu_name() -> str:
    """Return what the CPU calls itself, with family and model: virtual machines call many of them the same."""
    info = _cpuinfo()
    name, family, model = (info.get(key, "") for key in ("model name", "cpu family", "model"))
    details = f" (family {family}, model {model})" if family and model else ""
    return f"{name or platform.machine()}{details}"


def _cache_bytes(level: int, kinds: tuple[str, ...]) -> int:
    try:
        for index in sorted(_CACHES.glob("index*")):
            if int((index / "level").read_text()) == level and (index / "type").read_text().strip() in kinds:
                return int((index / "size").read_text().strip().rstrip("K")) * 1024
    except (OSError, ValueError):
        pass
    return 0


def _simd_bits() -> int:
    features = set(cpu_features())
    if "avx512f" in features:
        return 512
    return 256 if "avx" in features else 128


def _clock() -> float:
    for path in (
        "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency",
        "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
    ):
        try:
            return float(Path(path).read_text()) * 1e3
        except (OSError, ValueError):
            continue
    try:
        return float(_cpuinfo().get("cpu MHz", "0")) * 1e6
    except ValueError:
        return 0.0


def available_cpus() -> int:
    """CPUs that this process may use: its affinity, cut by the quota of its control group."""
    return max(1, min(_allowed_cpus(), _quota(_CGROUP)))


def whole_machine() -> bool:
    """Whether this process may use every CPU of the machine."""
    return available_cpus() == os.cpu_count()


@functools.cache
def _allowed_cpus() -> int:
    # Asked for once: where OpenMP binds threads (OMP_PROC_BIND), the first parallel kernel leaves the calling thread
    # one CPU, which would then be taken for all.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.lru_cache(maxsize=4)
def _quota(group: Path) -> int:
    try:
        quota, period = (group / "cpu.max").read_text().split()
        return 2**16 if quota == "max" else max(1, round(int(quota) / int(period)))
    except (OSError, ValueError):
        return 2**16


def thread_count(threads: int | None = None) -> int:
    """Threads to use: what is asked for, else TILEWRIGHT_THREADS, else OMP_NUM_THREADS, else every CPU available."""
    if threads is not None:
        return whole_number(threads, "threads", 1, 4096)
    for name in THREAD_VARIABLES:
        text = os.environ.get(name, "").partition(",")[0].strip()
        if text:
            if not text.isdecimal() or not 1 <= int(text) <= 4096:
                raise UsageError(f"{name} is a whole number from 1 to 4096, got {text!r}", f"unset {name}")
            return int(text)
    return available_cpus()


@functools.cache
def describe_cpu() -> CpuDescription:
    """Describe the CPU that this process runs on."""
    return CpuDescription(
        cores=available_cpus(),
        simd_bits=_simd_bits(),
        l1_bytes=_cache_bytes(1, ("Data", "Unified")) or 32 * 1024,
        l2_bytes=_cache_bytes(2, ("Data", "Unified")) or 512 * 1024,
        l3_bytes=_cache_bytes(3, ("Data", "Unified")),
        clock_hz=_clock(),
        model_name=_cpuinfo().get("model name", platform.processor() or platform.machine()),
        fused="fma" in cpu_features() or platform.machine() in {"aarch64", "arm64"},
    )


def available_bytes() -> int | None:
    """Memory that can still be used, in bytes, or None where the system does not say."""
    limits: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        if limit != "max":
            limits.append(max(0, int(limit) - _reclaimable_usage()))
    except (OSError, ValueError):
        pass
    return min(limits, default=None)


def _reclaimable_usage() -> int:
    """What the control group uses and could not give back at once."""
    usage = int((_CGROUP / "memory.current").read_text())
    for line in (_CGROUP / "memory.stat").read_text().splitlines():
        if line.startswith("inactive_file "):
            usage -= int(line.split()[1])
    return usage
