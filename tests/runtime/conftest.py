"""Every test of this layer starts as a new process would; kernels are kept, but for tests with a cache of their own."""

import pytest
from tests.runtime.fake_cuda import FakeDriver, installed, settled  # noqa: F401  (a fixture)

from tilewright.runtime import call, warn
from tilewright.runtime.devices import opencl
from tilewright.runtime.toolchains import cpu as toolchain


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """No memory of kernels, compilers or warnings."""
    forget(monkeypatch)


@pytest.fixture
def private_cache(tmp_path, monkeypatch):
    """An empty cache directory, for tests of what is kept in it, and of compilers that are none."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def forget(monkeypatch):
    """Forget what this process has loaded, as a new process would."""
    monkeypatch.setattr(call, "_loaded", {})
    toolchain.known.cache_clear()
    warn.forget_warnings()


@pytest.fixture(scope="module")
def device():
    """The interpreter of OpenCL kernels, with its detection of races."""
    pytest.importorskip("pyopencl")
    opencl.prepare_oclgrind()
    return opencl.select("oclgrind")


@pytest.fixture
def driver(settled):  # noqa: F811
    """A driver of CUDA that keeps memory in this process."""
    with installed(FakeDriver()) as fake:
        yield fake
