"""Compiled code between a compiler and a loader: plain values, which may come from another process."""

import ctypes
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.conftest import forget

from tilewright.base.errors import ToolchainError
from tilewright.codegen.source import c_source
from tilewright.runtime import cache, call
from tilewright.runtime.toolchains.artifact import Artifact, open_library

TEXT = """
void tw_twice(double *const *array, const long *size, void *work, const double *value) {
  for (long i = 0; i < size[0]; ++i) array[0][i] = 2 * array[0][i] + value[0];
}
"""
SOURCE = c_source(TEXT, "tw_twice")


def twice(artifact: Artifact[None]) -> list[float]:
    (function,) = call.load(artifact)
    values = np.arange(3.0)
    function([values], [3], values=np.array([0.5]))
    return values.tolist()


def test_what_is_compiled_elsewhere_is_loaded_here_without_a_compiler(private_cache, monkeypatch, tmp_path):
    made = tmp_path / "artifact"
    code = (
        "import pickle, sys\nfrom tilewright.codegen.source import c_source\nfrom tilewright.runtime import call\n"
        f"artifact = call.compile_source(c_source({TEXT!r}, 'tw_twice'))\n"
        f"open({str(made)!r}, 'wb').write(pickle.dumps(artifact))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

    call._calls()  # what calls kernels is compiled by whoever comes first

    def refused(*_, **__):
        raise ToolchainError("there is no compiler")

    monkeypatch.setattr(call, "shared_object", refused)
    monkeypatch.setattr(cache, "load", lambda *_: None)
    artifact = pickle.loads(made.read_bytes())  # noqa: S301  (our own)
    assert artifact.source == SOURCE
    assert twice(artifact) == [0.5, 2.5, 4.5]


def test_compiling_loads_nothing_and_what_is_loaded_is_neither_read_nor_compiled_again(private_cache, monkeypatch):
    first = call.compile_source(SOURCE)
    assert call._loaded == {}
    assert twice(first) == [0.5, 2.5, 4.5]
    for name in ("load", "save"):
        monkeypatch.setattr(cache, name, lambda *_, name=name: pytest.fail(f"the cache was asked to {name}"))
    monkeypatch.setattr(call, "shared_object", lambda *_, **__: pytest.fail("it was compiled again"))
    again = call.compile_source(SOURCE)
    assert again == first
    assert twice(again) == [0.5, 2.5, 4.5]


def test_an_artifact_says_how_it_was_made(private_cache):
    plain, strict = (call.compile_source(c_source(TEXT, "tw_twice", strict=strict)) for strict in (False, True))
    assert "-ffp-contract=fast" in plain.command
    assert "-ffp-contract=off" in strict.command
    assert plain.key != strict.key
    assert plain.resources is None


def test_what_is_no_library_is_compiled_once_more_and_else_one_sentence(private_cache, monkeypatch):
    spoilt = Artifact(source=SOURCE, content=b"no library", command=call.compile_source(SOURCE).command, key="spoilt")
    assert twice(spoilt) == [0.5, 2.5, 4.5]
    with pytest.raises(OSError, match=r"invalid|short|header"):
        open_library(b"no library")
    forget(monkeypatch)
    monkeypatch.setattr(call, "shared_object", lambda *_, **__: b"no library either")
    with pytest.raises(ToolchainError, match="the compiled kernel cannot be loaded"):
        call.load(spoilt)


@pytest.mark.parametrize(("system", "suffix"), [("linux", ".so"), ("darwin", ".dylib"), ("win32", ".dll")])
def test_libraries_are_loaded_from_files_named_as_the_system_does(private_cache, monkeypatch, tmp_path, system, suffix):
    content = call.compile_source(SOURCE).content
    real, seen = ctypes.CDLL, []
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(ctypes, "CDLL", lambda path: (seen.append(Path(path)), real(path))[1])
    monkeypatch.setattr(sys, "platform", system)
    assert open_library(content).tw_twice
    assert [each.suffix for each in seen] == [suffix]
    assert list(folder.iterdir()) == []


def test_where_loaded_libraries_cannot_be_removed_what_is_left_goes_later(private_cache, monkeypatch, tmp_path):
    """As on Windows, which keeps the file of a library as long as a process has it."""
    content, real, loaded = call.compile_source(SOURCE).content, Path.unlink, set()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    library = ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda path: (loaded.add(Path(path)), library(path))[1])

    def unlink(path, missing_ok=False):
        if path in loaded:
            raise PermissionError(13, "Access is denied", str(path))
        real(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    for _ in range(2):
        assert open_library(content).tw_twice
    assert set(folder.iterdir()) == loaded
    (ended, running), new = sorted(loaded), folder / "tilewright-new.so"
    new.write_bytes(content)  # another process is about to load it
    os.utime(ended, (0, 0))
    os.utime(running, (0, 0))
    loaded.remove(ended)  # its process has ended
    assert open_library(content).tw_twice
    assert set(folder.iterdir()) == {*loaded, new}
    assert ended not in loaded
