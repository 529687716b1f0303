import os
import warnings

import numpy as np
import pytest
from tests import forked

from tilewright.base.errors import TilewrightWarning
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import cache, call
from tilewright.runtime.cpu import stencil_kernels
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import hosts
from tilewright.runtime.toolchains.cpu import compile_shared, toolchain
from tilewright.schedules.tiling import NONE

from .conftest import forget

pytestmark = pytest.mark.usefixtures("private_cache")

PROBLEM = make_problem(program("jacobi1d"), (40,), 3)
SOURCE = emit_tiling(PROBLEM, NONE)
U = np.linspace(0, 1, 40, dtype=np.float32) ** 2


def _result():
    (kernel,) = stencil_kernels(SOURCE, toolchain())
    return execute(kernel, PROBLEM, Inputs(arrays={"u": [U]}, scalars={}), 1)["u"]


def _entry(private_cache):
    (path,) = (private_cache / "kernels").glob("*.so")
    return path


@pytest.fixture(autouse=True, scope="module")
def heeded():
    """What answers signals is compiled once per process, whichever kernel is the first: here before what is counted."""
    call._calls()


@pytest.fixture
def compilations(monkeypatch):
    calls = []
    real = call.shared_object
    monkeypatch.setattr(call, "shared_object", lambda *a, **k: calls.append(1) or real(*a, **k))
    return calls


def test_a_second_process_does_not_compile(private_cache, compilations, monkeypatch):
    first = _result()
    forget(monkeypatch)
    np.testing.assert_array_equal(_result(), first)
    assert len(compilations) == 1


def test_an_entry_that_is_no_library_is_built_again(private_cache, compilations, monkeypatch):
    first = _result()
    cache.save(cache.directory(), _entry(private_cache).name, b"not a library, but with a good digest")
    forget(monkeypatch)
    np.testing.assert_array_equal(_result(), first)
    assert len(compilations) == 2


def test_an_entry_without_its_function_is_built_again(private_cache, compilations, monkeypatch):
    first = _result()
    name = _entry(private_cache).name
    other = compile_shared(toolchain(), "int tw_another(void) { return 1; }", strict=False)
    cache.save(cache.directory(), name, other)
    forget(monkeypatch)
    np.testing.assert_array_equal(_result(), first)
    assert len(compilations) == 2
    assert cache.load(cache.directory(), name) not in {None, other}


@pytest.mark.parametrize("mask", [0o002, 0o000, 0o022, 0o077])
def test_directories_of_ours_are_private_whatever_the_mask(tmp_path, monkeypatch, mask, recwarn):
    monkeypatch.delenv("TILEWRIGHT_CACHE", raising=False)
    monkeypatch.delenv("TILEWRIGHT_STORE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "b" / "data"))
    before = os.umask(mask)
    try:
        first, second = cache.directory(), store.directory()
        assert hosts.keep(hosts.host()) is not None
        cache.save(first, "a", b"1")
    finally:
        os.umask(before)
    assert (first, second) == (cache.directory(), store.directory())
    assert cache.load(first, "a") == b"1"
    made = [each for each in tmp_path.rglob("*") if each.is_dir()]
    assert len(made) >= 8
    assert {each.stat().st_mode & 0o777 for each in made} == {0o700}
    assert {each.stat().st_mode & 0o777 for each in tmp_path.rglob("*") if each.is_file()} == {0o600}
    assert not recwarn.list


@pytest.mark.parametrize("which", ["cache", "store"])
def test_a_directory_that_others_could_write_to_says_what_to_do(tmp_path, monkeypatch, which):
    place = tmp_path / "tilewright"
    (place / "kernels").mkdir(parents=True)
    place.chmod(0o775)
    monkeypatch.setenv(f"TILEWRIGHT_{which.upper()}", str(place))
    with pytest.warns(TilewrightWarning) as caught:
        assert (cache if which == "cache" else store).directory() is None
    (said,) = (str(each.message) for each in caught)
    assert f"{str(place)!r} can be written by other users, so it is not used (hint: `chmod go-w '{place}'` if" in said
    place.chmod(0o755)
    (place / "kernels").chmod(0o700)
    assert (cache if which == "cache" else store).directory() is not None


def _save_twice():
    cache.save(cache.directory(), "a", b"1")
    cache.save(cache.directory(), "b", b"2")


def test_a_cache_that_cannot_be_written_costs_one_warning(private_cache, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    cache.directory()
    monkeypatch.setattr(cache, "replaced", full)
    with pytest.warns(TilewrightWarning, match="cannot be written.*No space left") as caught:
        _save_twice()
    assert len(caught) == 1
    assert not list((private_cache / "kernels").iterdir())


def test_no_home(monkeypatch, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(blocker / "below"))
    with pytest.warns(TilewrightWarning, match="the kernel cache cannot be used"):
        result = _result()
    assert result.shape == (40,)


def test_processes_that_write_at_the_same_time(private_cache):
    code = (
        "import numpy as np, tilewright as tw\n"
        "u = np.arange(50, dtype='f') ** 2\n"
        "print(float(tw.run('jacobi1d', u, steps=3, backend='c').sum()))\n"
    )
    workers = [forked.start(forked.execute, code) for _ in range(4)]
    (answer,) = {forked.end(*worker) for worker in workers}
    assert answer[0] == 0
    assert not list((private_cache / "kernels").glob(".new-*"))


def test_a_full_cache_drops_what_was_used_longest_ago(private_cache, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MIB", "1")
    store = cache.directory()
    content = bytes(200_000)
    for number in range(5):
        cache.save(store, f"entry{number}", content)
        os.utime(store / f"entry{number}", (number, number))
    assert cache.load(store, "entry0") == content  # so that it is the newest now
    cache.save(store, "entry5", content)
    left = {path.name for path in store.iterdir()}
    assert left == {"entry0", "entry3", "entry4", "entry5"}
    assert sum(path.stat().st_size for path in store.iterdir()) <= 0.8 * 2**20


@pytest.mark.parametrize(("limit", "warned"), [("0", False), ("many", True), ("", False)])
def test_a_cache_without_a_small_limit_keeps_everything(private_cache, monkeypatch, limit, warned):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MIB", limit)
    store = cache.directory()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        forget(monkeypatch)
        for number in range(8):
            cache.save(store, f"entry{number}", bytes(200_000))
    assert len(list(store.iterdir())) == 8
    assert [("TILEWRIGHT_CACHE_MIB" in str(each.message)) for each in found] == [True] * warned
