"""Fixtures of injected faults: a reduced number by default, all with ``-m stress``."""

import pytest

from tilewright.runtime import call, warn
from tilewright.runtime.toolchains import cpu as toolchain


def sizes(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with few faults by default, and with many under ``-m stress``."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.stress)])


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty cache and an empty store, and no memory of kernels, compilers or warnings."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    forget(monkeypatch)
    return tmp_path


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process has loaded, as a new process would."""
    monkeypatch.setattr(call, "_loaded", {})
    toolchain.known.cache_clear()
    warn.forget_warnings()
