"""Processors that are not there: ``pytest --host NAME`` runs the tests as if this machine described itself otherwise.

What :mod:`tilewright.runtime.host` reads is replaced as soon as that module is loaded, here and in every process that a
test starts: Python imports this file there, since ``PYTHONPATH`` holds its folder. Compilers, threads and memory stay
those of the machine, so code is compiled for the processor that runs it: an instruction set that it lacks is left out
of a description, and what is described narrower or wider than it is still runs.
"""

import os
import sys
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace

VARIABLE = "DESCRIBED_HOST"
"""The environment variable that names the description."""
_MODULE = "tilewright.runtime.host"
_EPYC = """\
vendor_id       : AuthenticAMD
cpu family      : 25
model           : 1
model name      : AMD EPYC 7B13
cpu MHz         : 2445.404
flags           : fpu sse sse2 ssse3 sse4_1 sse4_2 avx f16c fma avx2 bmi1 bmi2
"""
_XEON = """\
vendor_id       : GenuineIntel
cpu family      : 6
model           : 173
model name      : INTEL(R) XEON(R) 6980P
cpu MHz         : 2000.000
flags           : fpu sse sse2 ssse3 sse4_1 sse4_2 avx f16c fma avx2 bmi1 bmi2 avx512f avx512dq avx512bw avx512vl
"""
_NEOVERSE = """\
processor       : 0
BogoMIPS        : 2100.00
Features        : fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics sve i8mm bf16
CPU implementer : 0x41
CPU part        : 0xd40
"""


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a processor says.

    Attributes:
        words: The first processor's part of ``/proc/cpuinfo``.
        caches: L1, L2 and L3 in KiB; 0 is one of which nothing is said.
        machine: What ``platform.machine()`` returns; this machine's by default.
        cores: Processors; this machine's by default.
    """

    words: str = ""
    caches: tuple[int, int, int] = (0, 0, 0)
    machine: str = ""
    cores: int = 0


HOSTS = {
    "amd": Described(words=_EPYC, caches=(32, 512, 32 << 10)),
    "intel": Described(words=_XEON, caches=(48, 2 << 10, 480 << 10)),
    "none": Described(),
    "one": Described(words=_EPYC, caches=(32, 512, 32 << 10), cores=1),
    "sixteen": Described(words=_XEON, caches=(48, 2 << 10, 480 << 10), cores=16),
    "aarch64": Described(words=_NEOVERSE, caches=(64, 1 << 10, 32 << 10), machine="aarch64"),
}


def describe(module: ModuleType, host: Described) -> None:
    """Let the module that describes the processor read a description."""
    here = set(module._cpuinfo().get("flags", "").split())
    lines = [
        " ".join(word for word in line.split() if word in {"flags", ":"} | here) if line.startswith("flags") else line
        for line in host.words.splitlines()
    ]
    module._cpuinfo.cache_clear()
    module._CPUINFO = SimpleNamespace(read_text=lambda **_: "\n".join(lines))
    module._cache_bytes = lambda level, kinds: host.caches[level - 1] * 1024
    module._clock = lambda: float(module._cpuinfo().get("cpu MHz", 0)) * 1e6
    if host.machine:
        module.platform = SimpleNamespace(machine=lambda: host.machine, processor=lambda: "")
    if host.cores:
        module._allowed_cpus = lambda: host.cores
        module.whole_machine = lambda: True


class _Finder(MetaPathFinder, Loader):
    """Loads one module as it is, and describes the processor in it."""

    def __init__(self, host: Described) -> None:
        self._host = host

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path) if name == _MODULE else None
        if found is not None:
            self._loader, found.loader = found.loader, self
        return found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        describe(module, self._host)


def install(name: str) -> None:
    """Describe the processor otherwise, in this process and in those that it starts."""
    folder = str(Path(__file__).parent)
    rest = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each not in {"", folder}]
    os.environ |= {VARIABLE: name, "PYTHONPATH": os.pathsep.join([folder, *rest])}
    if not any(type(each).__name__ == _Finder.__name__ for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder(HOSTS[name]))


if asked := os.environ.get(VARIABLE):
    install(asked)
