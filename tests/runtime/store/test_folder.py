"""Records that survive being cut, flipped, torn and written by several processes."""

import pytest

from tilewright.base.errors import TilewrightWarning
from tilewright.runtime import warn
from tilewright.runtime.store import folder as store

RECORDS = [
    {"kind": "begin", "tiling": "hybrid:t=16,s=8x64"},
    {"kind": "sample", "tiling": "hybrid:t=16,s=8x64", "seconds": 0.1 + 0.2, "outcome": "ok", "detail": ""},
    {},
    {"detail": 'quotes " and\nnewlines, {braces} and ünïcode', "list": [1, 2.5, None, True]},
    {"kind": "confirm", "seconds": 1e-300},
]


@pytest.fixture(autouse=True)
def private_store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def write(path, records=RECORDS):
    for record in records:
        assert store.append(path, record)
    return path.read_bytes()


def test_what_is_appended_is_read(tmp_path):
    write(tmp_path / "log.jsonl")
    assert store.read(tmp_path / "log.jsonl") == RECORDS
    assert store.read(tmp_path / "none.jsonl") == []


def test_cut_at_every_byte_every_complete_record_is_kept(tmp_path):
    """A log that was cut anywhere yields every record before the cut, and goes on from there."""
    path = tmp_path / "log.jsonl"
    data = write(path)
    ends, total = [], 0
    for record in RECORDS:
        total += len(store.encode(record))
        ends.append(total - 1)  # the last newline may be missing
    more = {"after": "the cut"}
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        complete = [record for record, end in zip(RECORDS, ends, strict=True) if cut >= end]
        assert store.read(path) == complete
        store.append(path, more)
        assert store.read(path) == [*complete, more]


def test_lines_that_are_no_records_are_skipped(tmp_path):
    path = tmp_path / "log.jsonl"
    write(path, RECORDS[:1])
    with path.open("ab") as file:
        file.write(b"null\n[1]\n{}\n" + b"[" * 100_000 + b"\n\xff\xfe\x00\n")
        file.write(b'{"a":' + b"9" * 5000 + b"}\n" + b'{"a":NaN,"digest":"0"}\n' + b"x" * 200_000 + b"\n")
    assert store.read(path) == RECORDS[:1]


def test_values_that_json_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        store.encode({"seconds": float("nan")})


def test_writers_need_no_lock(tmp_path, monkeypatch):
    """On a file system without locks a record is still written whole."""
    import fcntl

    def refuse(*_):
        raise OSError(38, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    write(tmp_path / "log.jsonl")
    assert store.read(tmp_path / "log.jsonl") == RECORDS


def test_a_full_disk_costs_one_warning():
    warn.forget_warnings()
    from pathlib import Path

    with pytest.warns(TilewrightWarning, match="cannot be kept"):
        assert not store.append(Path("/dev/full"), {"a": 1})
    assert not store.append(Path("/dev/full"), {"a": 1})


def test_a_folder_that_cannot_be_made_costs_one_warning(monkeypatch, tmp_path):
    warn.forget_warnings()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "file" / "store"))
    with pytest.warns(TilewrightWarning, match="cannot be kept"):
        assert store.directory() is None
    assert store.directory() is None
