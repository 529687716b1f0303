"""Fixtures that several files of tests share."""

import pytest

from tilewright.runtime import warn
from tilewright.runtime.store import folder as store


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A kernel cache for all tests of a file: its keys hold the compiler, a faulty one too."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def private_folders(tmp_path, monkeypatch, kernels):
    """A store of the test's own, and two threads."""
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(kernels))
    monkeypatch.setenv("TILEWRIGHT_THREADS", "2")
    warn.forget_warnings()


@pytest.fixture
def records():
    """Return all records of the tuning logs in a folder's store."""

    def read(folder):
        return [record for log in (folder / "store" / "tunes").glob("*.jsonl") for record in store.read(log)]

    return read
