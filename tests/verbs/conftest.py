"""Fixtures that several files of tests share."""

import pytest

from tilewright.runtime.store import folder as store


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A folder for all tests of a file."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def private_kernels(monkeypatch, kernels):
    """A kernel cache of the file's own: its keys hold the compiler, and some of its tests have faulty ones."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(kernels))


@pytest.fixture
def records():
    """Return all records of the tuning logs in a folder's store."""

    def read(folder):
        return [record for log in (folder / "store" / "tunes").glob("*.jsonl") for record in store.read(log)]

    return read
