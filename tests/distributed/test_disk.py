"""Arrays on disk by their rows: the same bytes whether whole pages pass the page cache by or not."""

import errno
import os

import numpy as np
import pytest

from tilewright.distributed import disk
from tilewright.runtime.memory import allocate

SHAPE = (700, 1031)
"""Rows that are no multiple of a page, in all a few times what is worth a call of its own."""


def saved(path, offset):
    """Write random bytes behind some others, and return them."""
    values = np.random.default_rng(offset).integers(0, 2**32, SHAPE, np.uint32)
    path.write_bytes(b"\0" * offset + values.tobytes())
    return values


def moved(monkeypatch, refuse=()):
    """Count the bytes that pass the cache by, and let calls fail or be short."""
    found = {"direct": 0}
    original = disk.FileRows._move

    def move(self, transfer, view, at, *, direct):
        if direct and found["direct"] in refuse:
            view = view[: len(view) // 2 // 4096 * 4096 + 512]  # as a call that a signal ends
        done = original(self, transfer, view, at, direct=direct)
        found["direct"] += done if direct else 0
        return done

    monkeypatch.setattr(disk.FileRows, "_move", move)
    return found


def round_trip(tmp_path, offset, low, high, *, at_its_place=True):
    """Read rows, and write them changed."""
    path = tmp_path / "array"
    values = saved(path, offset)
    mapped = np.memmap(path, np.uint32, "r+", offset, SHAPE)
    rows = disk.open_rows(mapped, "it", writes=True)
    size = (high - low) * SHAPE[1] * 4
    memory = allocate(disk.buffer_bytes(size))
    part = disk.placed(memory, rows, low, (high - low, SHAPE[1]), "uint32")
    if not at_its_place:
        part = np.empty((high - low, SHAPE[1] + 16), np.uint32).ravel()[: size // 4].reshape(part.shape)
    rows.read(low, high, part)
    assert np.array_equal(part, values[low:high])
    part ^= 0x5A5A5A5A
    rows.write(low, part)
    rows.sync()
    rows.close()
    values[low:high] ^= 0x5A5A5A5A
    assert path.read_bytes() == b"\0" * offset + values.tobytes()
    assert np.array_equal(mapped, values)  # what maps the file sees it, too
    return size


@pytest.mark.parametrize(
    ("offset", "low", "high"), [(128, 0, 700), (0, 0, 700), (4, 3, 699), (4096, 1, 600), (100, 7, 9)]
)
def test_rows_are_read_and_written_past_the_cache(offset, low, high, tmp_path, monkeypatch):
    found = moved(monkeypatch)
    size = round_trip(tmp_path, offset, low, high)
    if hasattr(os, "O_DIRECT") and high - low > 300:
        assert found["direct"] >= 2 * (size - 2 * 4096)
    else:
        assert found["direct"] == 0


def test_memory_that_lies_elsewhere_goes_through_the_cache(tmp_path, monkeypatch):
    found = moved(monkeypatch)
    round_trip(tmp_path, 1028, 0, 700, at_its_place=False)
    assert found["direct"] == 0


def test_calls_that_end_within_a_page_are_gone_on_with(tmp_path, monkeypatch):
    moved(monkeypatch, refuse={0})
    round_trip(tmp_path, 128, 0, 700)


@pytest.mark.parametrize("failing", ["open", "transfer"])
def test_systems_that_cannot_go_through_the_cache(failing, tmp_path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise OSError(errno.EINVAL, "Invalid argument")

    if failing == "open":
        original = os.open
        monkeypatch.setattr(
            os, "open", lambda path, flags, *rest: refuse() if flags & os.O_DIRECT else original(path, flags, *rest)
        )
    else:
        monkeypatch.setattr(disk, "_open_directly", lambda *_, **__: os.open(tmp_path, os.O_RDONLY))
        original = disk.FileRows._move

        def move(self, transfer, view, at, *, direct):
            return original(
                self,
                lambda file, *rest: refuse() if file == self._direct else transfer(file, *rest),
                view,
                at,
                direct=direct,
            )

        monkeypatch.setattr(disk.FileRows, "_move", move)
    round_trip(tmp_path, 128, 0, 700)


def test_a_file_that_was_cut_short_is_told(tmp_path):
    path = tmp_path / "array"
    saved(path, 0)
    rows = disk.open_rows(np.memmap(path, np.uint32, "r", 0, SHAPE), "it")
    os.truncate(path, 2**21 + 5)
    part = disk.placed(allocate(disk.buffer_bytes(SHAPE[0] * SHAPE[1] * 4)), rows, 0, SHAPE, "uint32")
    with pytest.raises(disk.ArrayError, match="ends before its array does"):
        rows.read(0, SHAPE[0], part)


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="the system has no policies to ask for")
@pytest.mark.parametrize(("policy", "raised"), [("SCHED_OTHER", []), ("SCHED_FIFO", [21]), ("SCHED_RR", [21])])
def test_transfers_come_before_computing_under_a_real_time_policy(monkeypatch, policy, raised):
    asked = []
    monkeypatch.setattr(os, "sched_getscheduler", lambda _: getattr(os, policy))
    monkeypatch.setattr(os, "sched_getparam", lambda _: os.sched_param(20))

    def refused(thread, parameters):
        assert thread == 0
        asked.append(parameters.sched_priority)
        raise PermissionError

    monkeypatch.setattr(os, "sched_setparam", refused)
    with disk.thread() as thread:
        assert thread.submit(lambda: 3).result() == 3
    assert asked == raised


@pytest.mark.parametrize(("size", "parts"), [(1, [1, 1, 1]), (40, [1, 1, 1]), (80, [2, 1]), (1000, [3])])
def test_rows_are_converted_in_parts_of_a_size_but_one_at_least(tmp_path, monkeypatch, size, parts):
    np.save(tmp_path / "u.npy", np.zeros((3, 5)))
    monkeypatch.setattr(disk, "_CONVERTED_BYTES", size)
    rows = disk.open_rows(tmp_path / "u.npy", "u")
    assert [last - first for first, last in rows._parts(0, 3)] == parts
    rows.close()
