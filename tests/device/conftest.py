"""A GPU for the tests that need one."""

import pytest
from tests.runtime.fake_cuda import settled  # noqa: F401  (a fixture)

from tilewright.base.errors import TilewrightError
from tilewright.runtime.devices import cuda, nvrtc


@pytest.fixture(autouse=True)
def private_cache(tmp_path_factory, monkeypatch):
    """A kernel cache that these tests share, and nothing else."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "device"))


@pytest.fixture
def card():
    """The first CUDA device; without one, or without a compiler for it, the test is skipped with the reason."""
    try:
        nvrtc.version()
        return cuda.select()
    except TilewrightError as error:
        pytest.skip(f"needs a GPU: {error}")
