"""Rows 7 and 8: disks that refuse at every place where something is written, and keys of which one part has changed."""

import builtins
import dataclasses
import errno
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.driver import emit_tiling
from tilewright.inputs import memo
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import call, cpu, warn
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import hosts, wisdom
from tilewright.runtime.toolchains import cpu as toolchain
from tilewright.runtime.toolchains.cpu import compile_shared, shared_object
from tilewright.schedules.tiling import NONE

from .conftest import forget

U = np.linspace(0, 1, 60, dtype=np.float32) ** 2
EXPECTED = tw.run("jacobi1d", U, steps=3, backend="numpy")
REFUSALS = {"no space": errno.ENOSPC, "read-only": errno.EROFS, "no permission": errno.EACCES, "quota": errno.EDQUOT}


class Disk:
    """Counts the calls that change a file system, and lets every one from a given one on fail."""

    def __init__(self, patch: pytest.MonkeyPatch, first: int | None, reason: int) -> None:
        self.calls, self.first, self.reason = 0, first, reason
        self.places: list[str] = []
        for module, name in ((os, "mkdir"), (os, "rename"), (os, "replace"), (os, "write")):
            patch.setattr(module, name, self.wrapped(name, getattr(module, name)))
        patch.setattr(os, "open", self.opening(os.open))
        patch.setattr(io, "open", self.opening(io.open))
        patch.setattr(builtins, "open", self.opening(builtins.open))
        patch.setattr(os, "fdopen", self.wrapped("write to an open file", os.fdopen))

    def reached(self, name: str) -> None:
        self.calls += 1
        self.places.append(name)
        if self.first is not None and self.calls > self.first:
            raise OSError(self.reason, os.strerror(self.reason))

    def wrapped(self, name, real):
        def call(*args, **options):
            if name == "write" and args[0] <= 2:
                return real(*args, **options)
            self.reached(name)
            return real(*args, **options)

        return call

    def opening(self, real):
        def call(path, *args, **options):
            mode = args[0] if args else options.get("mode", "r")
            writes = bool(mode & (os.O_WRONLY | os.O_RDWR)) if isinstance(mode, int) else bool(set(mode) & set("wax+"))
            if writes and not str(path).startswith(("/dev/", "/proc/")):
                self.reached(f"open {Path(str(path)).name[:12]}")
            return real(path, *args, **options)

        return call


def work(folders):
    """Everything that writes to a disk of ours on its own accord: kernels, compilers' facts, logs, wisdom, hosts."""
    memo.forget()
    result = tw.run("jacobi1d", U, steps=3, tiling="none")
    root = store.directory()
    if root is not None:
        store.append(root / "log.jsonl", {"kind": "begin", "tiling": "none"})
    entry = wisdom.Wisdom(
        program="jacobi1d", problem_key="0" * 32, dtype="float32", shape=(60,), steps=3, threads=1, tiling="none",
        seconds=1.0, when=wisdom.now(),
        circumstances=wisdom.Circumstances(device="a", device_key="1", compiler="c", compiler_key="2", version="3"),
    )  # fmt: skip
    wisdom.remember([entry])
    hosts.host()
    return result


@pytest.mark.parametrize(
    "reason", ["no space", *(pytest.param(name, marks=pytest.mark.stress) for name in list(REFUSALS)[1:])]
)
def test_a_disk_that_refuses_at_any_place_costs_a_warning_and_no_result(folders, monkeypatch, tally, reason):
    """The disk refuses from the n-th write on, for every n: whatever is written last, first or in between."""
    good = compile_shared(
        toolchain.toolchain(), emit_tiling(make_problem(program("jacobi1d"), (60,), 3), NONE).text, strict=False
    )
    places = 0
    for first in range(200):
        monkeypatch.setenv("TILEWRIGHT_CACHE", str(folders / f"cache{first}"))
        monkeypatch.setenv("TILEWRIGHT_STORE", str(folders / f"store{first}"))
        forget(monkeypatch)
        with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # The compiler writes to a folder of its own; only its library is needed here.
            patch.setattr(call, "shared_object", lambda *_, **__: good)
            disk = Disk(patch, first, REFUSALS[reason])
            result = work(folders)
        np.testing.assert_allclose(result, EXPECTED, rtol=1e-6)
        texts = [str(each.message) for each in caught]
        assert len(texts) == len(set(texts)), texts
        if disk.calls <= first:
            break
        assert 1 <= len(texts) <= 3, (first, disk.places, texts)
        places += 1
    else:
        pytest.fail("writing never ended")
    assert places >= 8
    tally(f"disk that refuses ({reason}) from each of {places} writes on: right result, 1 to 3 warnings each time")


HOMES = {
    "missing": {"HOME": None},
    "empty": {"HOME": ""},
    "not there": {"HOME": "file/home"},
    "a device": {"HOME": "/dev/null"},
    "relative": {"HOME": "nowhere"},
    "no XDG folders": {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/a", "XDG_DATA_HOME": "/proc/a"},
}


@pytest.mark.parametrize(
    "kind",
    [
        "missing",
        "a device",
        *(pytest.param(k, marks=pytest.mark.stress) for k in HOMES if k not in ("missing", "a device")),
    ],
)
def test_without_a_home_there_is_a_result(kind, tmp_path, tally):
    code = (
        "import warnings, numpy as np, tilewright as tw\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    u = tw.run('jacobi1d', np.ones(50, dtype='f'), steps=3)\n"
        "    tw.predict('heat2d', shape=(64, 64), steps=4, machine='host')\n"
        "assert (u == 1).all()\n"
        "print(len(caught))\n"
    )
    hidden = {"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TILEWRIGHT_CACHE", "TILEWRIGHT_STORE"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {name: value for name, value in HOMES[kind].items() if value is not None}
    (tmp_path / "file").write_text("")
    if kind in {"missing", "empty"}:  # the password file still knows a home: keep this test out of it
        environment |= {"XDG_CACHE_HOME": str(tmp_path / "c"), "XDG_DATA_HOME": str(tmp_path / "d")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 2, done.stderr
    tally(f"HOME {kind}: a right result, {done.stdout.strip()} warnings")


LIMITS = (0, 1, 33, 1000, 9000)


@pytest.mark.parametrize("size", [0, *(pytest.param(n, marks=pytest.mark.stress) for n in LIMITS[1:])])
def test_files_that_may_not_grow(size, folders, tally):
    """The kernel itself refuses: no file may be longer than so many bytes, in the compiler's process as well."""
    code = (
        "import resource, sys, numpy as np\n"
        "import tilewright as tw\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "u = tw.run('jacobi1d', np.ones(50, dtype='f'), steps=3)\n"
        "assert (u == 1).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert 1 <= done.stderr.count("Warning: ") <= 3, done.stderr
    assert "Traceback" not in done.stderr
    tally(f"no file longer than {size} bytes: a right result, {done.stderr.count('Warning: ')} warnings")


def test_each_part_of_a_kernels_key_changed_alone_misses(folders, monkeypatch, tally):
    problem = make_problem(program("jacobi1d"), (60,), 3)
    source, tools = emit_tiling(problem, NONE), toolchain.toolchain()
    built = []
    monkeypatch.setattr(call, "shared_object", lambda *a, **k: built.append(1) or shared_object(*a, **k))

    def compilations(which, how):
        monkeypatch.setattr(call, "_loaded", {})
        before = len(built)
        cpu.stencil_kernels(which, how)
        return len(built) - before

    assert (compilations(source, tools), compilations(source, tools)) == (1, 0)
    changes = {
        "text": (dataclasses.replace(source, text=source.text + "\n/* changed */\n"), tools),
        "strictness": (dataclasses.replace(source, strict=True), tools),
        "flags": (source, dataclasses.replace(tools, native=(*tools.native, "-g"))),
        "OpenMP": (source, dataclasses.replace(tools, openmp=not tools.openmp)),
        "command": (source, dataclasses.replace(tools, command=(*tools.command, "-pipe"))),
        "identity": (source, dataclasses.replace(tools, identity=tools.identity + "x")),
    }
    for name, (which, how) in changes.items():
        assert (compilations(which, how), compilations(which, how)) == (1, 0), name
    with monkeypatch.context() as patch:
        patch.setattr(call, "cpu_features", lambda: ("another", "cpu"))
        assert compilations(source, tools) == 1
    with monkeypatch.context() as patch:
        patch.setattr(call, "_VERSION", call._VERSION + 1)
        assert compilations(source, tools) == 1
    assert compilations(source, tools) == 0
    tally(
        f"parts of a kernel's key changed alone: {len(changes) + 2} of {len(changes) + 2} miss, the old key still hits"
    )


def test_each_part_of_a_compilers_key_changed_alone_is_probed_anew(folders, monkeypatch, tally):
    command = toolchain.find_command()
    stamp = toolchain._stamp(command)
    probes = []
    real = toolchain._probe
    monkeypatch.setattr(toolchain, "_probe", lambda *a: probes.append(1) or real(*a))

    def looked(*key):
        toolchain.known.cache_clear()
        before = len(probes)
        toolchain.known(*key)
        return len(probes) - before

    assert (looked(command, stamp), looked(command, stamp)) == (1, 0)
    assert looked((*command, "-pipe"), stamp) == 1
    assert looked(command, (*stamp, "changed")) == 1
    for name, value in (("cpu_features", lambda: ("another", "cpu")), ("_COMMON", (*toolchain._COMMON, "-g"))):
        with monkeypatch.context() as patch:
            patch.setattr(toolchain, name, value)
            assert looked(command, stamp) == 1, name
    assert looked(command, stamp) == 0
    tally("parts of a compiler's key changed alone: 4 of 4 probed anew")


def test_each_part_of_wisdoms_key_changed_alone_is_not_used(folders, monkeypatch, tally):
    problem = make_problem(program("heat2d"), (128, 128), 16)
    here = wisdom.circumstances()
    entry = wisdom.Wisdom(
        program="heat2d", problem_key=wisdom.problem_key(problem), dtype="float32", shape=(128, 128), steps=16,
        threads=2, tiling="hybrid:t=4,s=8x64", seconds=1.0, circumstances=here, when=wisdom.now(),
    )  # fmt: skip
    assert wisdom.find([entry], problem, 2, here) == (entry, False)
    misses = 0
    for name in ("device_key", "compiler_key", "version"):
        changed = dataclasses.replace(here, **{name: "changed"})
        assert wisdom.find([entry], problem, 2, changed) == (None, True), name
        misses += 1
    others = {
        "program": make_problem(program("j2d9pt"), (128, 128), 16),
        "dtype": make_problem(program("heat2d"), (128, 128), 16, "float64"),
        "boundary": make_problem(program("heat2d"), (128, 128), 16, "float32", "nearest"),
        "shape": make_problem(program("heat2d"), (128, 300), 16),
        "steps": make_problem(program("heat2d"), (128, 128), 200),
    }
    for name, other in others.items():
        assert wisdom.find([entry], other, 2, here)[0] is None, name
        misses += 1
    assert wisdom.find([entry], problem, 1, here)[0] is None
    count = misses + 1
    tally(f"parts of wisdom's key changed alone: {count} of {count} not used, 3 flagged as stale")
    warn.forget_warnings()
