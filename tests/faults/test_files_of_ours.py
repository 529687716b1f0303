"""Rows 1, 2, 6 and 10 of the standard: kernels, logs and wisdom that are cut, flipped, shared or planted."""

import os
import random
from itertools import pairwise

import numpy as np
import pytest
from tests import forked
from tests.faults.writers import write_store

import tilewright as tw
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import cache, call, warn
from tilewright.runtime.cpu import stencil_kernels
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import wisdom
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules.tiling import NONE
from tilewright.verbs.tuning.meter import read_history

from .conftest import forget, sizes

PROBLEM = make_problem(program("jacobi1d"), (40,), 3)
SOURCE = emit_tiling(PROBLEM, NONE)
U = np.linspace(0, 1, 40, dtype=np.float32) ** 2
REBUILT = 60
"""Kernels that are rebuilt and run; a process can map only so many libraries."""


def _result():
    (kernel,) = stencil_kernels(SOURCE, toolchain())
    return execute(kernel, PROBLEM, Inputs(arrays={"u": [U]}, scalars={}), 1)["u"]


class _Kernel:
    """A compiled kernel in the cache, which can be damaged again and again."""

    def __init__(self, folders, monkeypatch):
        self.expected, self.patch = _result(), monkeypatch
        self.path = folders / "cache" / "kernels" / f"{call.compile_source(SOURCE, toolchain()).key}.so"
        self.good, self.compiled = self.path.read_bytes(), 0
        library = self.good[33:]

        def compile_again(*args, **options):
            self.compiled += 1
            return library

        monkeypatch.setattr(call, "shared_object", compile_again)

    def detected(self, data: bytes) -> bool:
        self.path.write_bytes(data)
        return cache.load(self.path.parent, self.path.name) is None

    def rebuilt(self) -> bool:
        """Whether the damaged entry is compiled anew, gives the right result and is whole again."""
        before = self.compiled
        self.patch.setattr(call, "_loaded", {})
        right = bool((_result() == self.expected).all())
        return right and self.compiled == before + 1 and self.path.read_bytes() == self.good


@sizes(120, 1000)
def test_a_kernel_cut_anywhere_is_rebuilt(folders, monkeypatch, tally, count):
    kernel = _Kernel(folders, monkeypatch)
    ends = np.unique(np.linspace(0, len(kernel.good) - 1, 4 * count).astype(int))
    cuts = sorted({*range(count // 4), *(int(i) for i in ends[-3 * count // 4 :]), *(int(i) for i in ends[::4])})
    assert len(cuts) >= count
    found = sum(kernel.detected(kernel.good[:cut]) for cut in cuts)
    again = 0
    for cut in cuts[:: max(1, len(cuts) // REBUILT)]:
        assert kernel.detected(kernel.good[:cut])
        assert kernel.rebuilt()
        again += 1
    tally(f"cached kernel cut at {len(cuts)} offsets: {found} detected, {again} of {again} rebuilt and right")
    assert found == len(cuts)


@sizes(600, 10_000)
def test_a_flipped_bit_is_seen_anywhere(folders, monkeypatch, tally, count):
    kernel = _Kernel(folders, monkeypatch)
    draw = random.Random(20)  # noqa: S311
    places = draw.sample(range(8 * len(kernel.good)), count)
    found = again = 0
    for number, place in enumerate(places):
        data = bytearray(kernel.good)
        data[place // 8] ^= 1 << place % 8
        found += kernel.detected(bytes(data))
        if number % (count // REBUILT) == 0:
            assert kernel.rebuilt()
            again += 1
    tally(f"cached kernel with one bit flipped, {count} times: {found} detected, {again} of {again} rebuilt and right")
    assert found == count


def _tuning_log(path, candidates):
    """What a tuning writes, and after every record the history up to there."""
    data, histories = [b""], [read_history(path)]
    for number in range(candidates):
        tile = f"hybrid:t={2 + 2 * (number % 6)},s={4 + number}x64"
        kinds = [{"kind": "begin", "tiling": tile}]
        failed = number % 5 == 4
        kinds += [{"kind": "sample", "tiling": tile, "seconds": None if failed else 0.1 + number / 7,
                   "outcome": "crash" if failed else "ok", "detail": "ended by SIGSEGV" if failed else ""}]  # fmt: skip
        for record in kinds:
            assert store.append(path, record)
            data.append(path.read_bytes())
            histories.append(read_history(path))
    return data, histories


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.stress)])
def test_a_tuning_log_cut_at_every_byte_keeps_every_complete_record(folders, tally, step):
    path = folders / "log.jsonl"
    data, histories = _tuning_log(path, 16)
    whole, cuts = data[-1], 0
    for (before, after), (old, new) in zip(pairwise(data), pairwise(histories), strict=True):
        for cut in range(len(before), len(after), step):
            path.write_bytes(whole[:cut])
            # The closing newline may be missing: the record before it is complete.
            assert read_history(path) == (new if cut == len(after) - 1 else old)
            cuts += 1
    tally(f"tuning log of {len(whole)} bytes cut at {cuts} bytes: every complete record kept each time")
    assert step > 1 or cuts == len(whole)


def _entry(number: int) -> wisdom.Wisdom:
    here = wisdom.Circumstances(device="a", device_key="1" * 32, compiler="c", compiler_key="2" * 32, version="3")
    return wisdom.Wisdom(
        program="heat2d", problem_key="0" * 31 + "abcdef"[number % 6], dtype="float32", shape=(64 + number, 64),
        steps=8, threads=2, tiling="hybrid:t=4,s=8x64", seconds=1.0 + number, circumstances=here, when=wisdom.now(),
    )  # fmt: skip


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.stress)])
def test_a_wisdom_store_cut_at_every_byte_keeps_every_complete_entry(folders, tally, step):
    entries = [_entry(number) for number in range(6)]
    path, ends = None, []
    for entry in entries:
        wisdom.remember([entry])
        (path,) = (folders / "store").glob("*.jsonl")
        ends.append(path.stat().st_size - 1)
    whole, cuts = path.read_bytes(), 0
    for cut in range(0, len(whole), step):
        path.write_bytes(whole[:cut])
        kept = {entry.id for entry in wisdom.load()}
        assert kept == {entry.id for entry, end in zip(entries, ends, strict=True) if cut >= end}
        cuts += 1
    tally(f"wisdom store of {len(whole)} bytes cut at {cuts} bytes: every complete entry kept each time")


@sizes(200, 5000)
def test_a_log_with_a_flipped_bit_gives_no_record_that_nobody_wrote(folders, tally, count):
    path = folders / "log.jsonl"
    written = [{"kind": "sample", "tiling": f"hybrid:t=4,s={n}x64", "seconds": n / 3} for n in range(1, 30)]
    for record in written:
        store.append(path, record)
    whole, draw = path.read_bytes(), random.Random(3)  # noqa: S311
    least = len(written)
    for place in draw.sample(range(8 * len(whole)), count):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        kept = store.read(path)
        assert all(record in written for record in kept)
        least = min(least, len(kept))
    tally(f"log with one bit flipped, {count} times: no invented record, at least {least} of {len(written)} kept")
    assert least >= len(written) - 2


DISKS = ("local", "without locks", "in halves", "in halves without locks")
"""File systems: over a network there may be no locks, and what one call appends may arrive in parts."""


@pytest.mark.parametrize(
    ("writers", "keys", "disk"),
    [(4, 50, "local"), (3, 20, DISKS[-1]), *(pytest.param(16, 200, disk, marks=pytest.mark.stress) for disk in DISKS)],
)
def test_many_writers_on_one_store(folders, tally, writers, keys, disk):
    log, kernels = folders / "log.jsonl", folders / "kernels"
    kernels.mkdir()
    names = [f"writer{number}" for number in range(writers)]
    running = [forked.start(write_store, log, kernels, name, keys, disk) for name in names]
    assert [forked.end(*each) for each in running] == [(0, "")] * writers
    records = store.read(log)
    torn = disk == DISKS[-1]  # halves of two records side by side are none: their digests do not hold
    assert len(records) == writers * keys or (torn and len(records) < writers * keys)
    for name in names:
        mine = [record for record in records if record["writer"] == name]
        found = [record["key"] for record in mine]
        assert found == list(range(keys)) or (torn and found == sorted(set(found)))
        assert all(record["padding"] == name * (record["key"] % 40) for record in mine)
    entries = sorted(path.name for path in kernels.iterdir())
    assert entries == sorted(f"{key}.so" for key in range(keys))
    assert all(cache.load(kernels, name) is not None for name in entries)
    tally(f"{writers} writers x {keys} keys on one log and one cache, {disk}: {len(records)} records whole, none mixed")


BY_OTHERS, OF_ANOTHER = "can be written by other users", "belongs to another user"


class _Planted:
    """A cache whose folders can be spoilt and put back."""

    def __init__(self, folders, monkeypatch):
        self.kernel, self.patch = _Kernel(folders, monkeypatch), monkeypatch
        self.home = folders / "cache"
        self.kernels = self.home / "kernels"

    def refused(self, reason: str) -> bool:
        """Whether the cache is not used, which is said, and the kernel compiled anew instead."""
        forget(self.patch)
        before = self.kernel.compiled
        with pytest.warns(tw.TilewrightWarning, match=f"{reason}, so it is not used"):
            right = bool((_result() == self.kernel.expected).all())
        warn.forget_warnings()
        with pytest.warns(tw.TilewrightWarning, match=f"{reason}, so it is not used"):
            assert cache.directory() is None
        return right and self.kernel.compiled == before + 1


def test_caches_that_others_may_write_to_are_not_loaded(folders, monkeypatch, tally):
    """A kernel that somebody else could have put there is not run, whatever its digest says."""
    planted = _Planted(folders, monkeypatch)
    modes = [(planted.kernels, mode) for mode in (0o777, 0o775, 0o757, 0o722, 0o702, 0o720, 0o1777, 0o1770)]
    modes += [(planted.home, mode) for mode in (0o777, 0o775, 0o757, 0o722)]
    for folder, mode in modes:
        folder.chmod(mode)
        assert planted.refused(BY_OTHERS), (folder, oct(mode))
        folder.chmod(0o700)
    tally(f"caches that others may write to: {len(modes)} kinds, none loaded")


def test_caches_of_other_users_and_behind_links_are_not_loaded(folders, monkeypatch, tally):
    planted = _Planted(folders, monkeypatch)
    real = type(planted.home).lstat

    def of_a_stranger(path):
        status = real(path)
        return os.stat_result((*status[:4], 4321, *status[5:])) if path == planted.kernels else status

    with monkeypatch.context() as patch:
        patch.setattr(type(planted.home), "lstat", of_a_stranger)
        assert planted.refused(OF_ANOTHER)
    elsewhere = planted.kernels.rename(folders / "elsewhere")
    planted.kernels.symlink_to(elsewhere, target_is_directory=True)
    elsewhere.chmod(0o777)
    assert planted.refused(BY_OTHERS)
    with monkeypatch.context() as patch:
        elsewhere.chmod(0o700)
        patch.setattr(type(planted.home), "lstat", of_a_stranger)
        assert planted.refused("is another user's link")
    tally("caches of another user or behind a link: 3 kinds, none loaded")


def test_a_kernel_of_another_user_is_not_loaded(folders, monkeypatch, tally):
    """Whoever swaps a folder between its check and the reading of a file cannot make a file of ours."""
    kernel, real = _Kernel(folders, monkeypatch), os.fstat

    def compiled_anew() -> bool:
        forget(monkeypatch)
        before = kernel.compiled
        return bool((_result() == kernel.expected).all()) and kernel.compiled == before + 1

    assert not compiled_anew()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", lambda file: os.stat_result((*real(file)[:4], 4321, *real(file)[5:])))
        assert compiled_anew()
    kernel.path.chmod(0o666)
    assert compiled_anew()
    tally("kernels of another user in a folder of ours: 2 kinds, none loaded")


def test_nothing_is_written_through_a_link_in_the_cache(folders, monkeypatch, tally):
    kernel, victim = _Kernel(folders, monkeypatch), folders / "victim"
    for content in ("mine", "", "x" * 100_000):
        victim.write_text(content)
        kernel.path.unlink()
        kernel.path.symlink_to(victim)
        forget(monkeypatch)
        assert (_result() == kernel.expected).all()
        assert victim.read_text() == content
        assert not kernel.path.is_symlink()
        assert kernel.path.read_bytes() == kernel.good
    tally("links in place of kernels: 3 of 3 replaced, their targets untouched")


def test_planted_stores_are_not_read(folders, tally):
    wisdom.remember([_entry(1)])
    root, cases = folders / "store", 0
    assert len(wisdom.load()) == 1
    for mode in (0o777, 0o775, 0o757, 0o722):
        root.chmod(mode)
        warn.forget_warnings()
        with pytest.warns(tw.TilewrightWarning, match=f"{BY_OTHERS}, so it is not used"):
            assert wisdom.load() == ()
        cases += 1
    root.chmod(0o700)
    (path,) = root.glob("*.jsonl")
    target = folders / "target"
    target.write_text("mine")
    path.unlink()
    path.symlink_to(target)
    warn.forget_warnings()
    with pytest.warns(tw.TilewrightWarning, match="cannot be kept"):
        wisdom.remember([_entry(2)])
    assert target.read_text() == "mine"
    tally(f"planted stores: {cases + 1} kinds, none read or written through")


def test_nothing_lies_at_a_predictable_place_of_the_temporary_folder(tmp_path, tally):
    """Two runs in one temporary folder: whatever they put there was gone at the end, and was never the same name."""
    text = """
import os, sys, tempfile, numpy as np
seen = set()
sys.addaudithook(lambda event, args: seen.add(str(args[0])) if event == "open" and args[0] else None)
import tilewright as tw
tempfile.tempdir, os.environ["TMPDIR"], os.environ["TILEWRIGHT_CACHE"] = None, {tmp!r}, {cache!r}
tw.run("jacobi1d", np.ones(50, dtype="f"), steps=3)
print(*(os.path.relpath(each, {tmp!r}) for each in seen if each.startswith({tmp!r} + "/")))
"""
    names, tmp = [], tmp_path / "tmp"
    tmp.mkdir()
    for number in range(2):
        place = text.format(tmp=str(tmp), cache=str(tmp_path / f"cache{number}"))
        status, told = forked.run(forked.execute, place)
        assert status == 0
        names.append(set(told.split()))
    assert names[0]
    assert not names[0] & names[1]
    assert not list((tmp_path / "tmp").iterdir())
    tally(f"temporary files of two runs: {len(names[0] | names[1])} names, none twice, none left behind")
