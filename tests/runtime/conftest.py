"""Every test of this layer gets a kernel cache of its own."""

import pytest

from tilewright.runtime import cpu, warn
from tilewright.runtime.devices import opencl
from tilewright.runtime.toolchains import cpu as toolchain


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    """An empty cache directory, and no memory of kernels, compilers or warnings."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    forget(monkeypatch)
    return tmp_path / "cache"


def forget(monkeypatch):
    """Forget what this process has loaded, as a new process would."""
    monkeypatch.setattr(cpu, "_loaded", {})
    toolchain.known.cache_clear()
    warn.forget_warnings()


@pytest.fixture(scope="module")
def device():
    """The interpreter of OpenCL kernels, with its detection of races."""
    pytest.importorskip("pyopencl")
    opencl.prepare_oclgrind()
    return opencl.select("oclgrind")
