"""Records of HDF5 that are appended as a whole: the file is looked at after each of the writes that make one."""

import errno
import io
import json
import shutil
import signal

import numpy as np
import pytest

from tilewright.base.errors import ArrayError
from tilewright.runtime.formats import journal, series

h5py = pytest.importorskip("h5py")
LAYOUT = series.Layout(dims=("y", "x"), coords={"x": np.arange(9.0)}, attrs={"fields": "u v", "program": "p"})


def _record(step):
    return {"u": np.full((7, 9), step, "f4"), "v": np.full((7, 9), -step, "f8")}


@pytest.fixture
def path(tmp_path):
    series.create(tmp_path / "u.h5", LAYOUT, 0, _record(0))
    return tmp_path / "u.h5"


def _check(path, least):
    """Every record is whole, and none is missing."""
    saved = series.read(path)
    assert saved.steps.tolist() == list(range(len(saved.steps)))
    assert len(saved.steps) >= least
    for name, sign in (("u", 1), ("v", -1)):
        np.testing.assert_array_equal(saved.values[name][: len(saved.steps)].T, sign * np.ones((9, 7, 1)) * saved.steps)
    return len(saved.steps)


def test_whoever_is_killed_at_any_write_loses_the_last_record_at_most(path, tmp_path, monkeypatch, tally):
    """So many records that HDF5 splits nodes of its trees of chunks, and each write half and whole."""
    real, looked = journal._write_all, []

    def spied(file, change):
        for part in (change[1][: len(change[1]) // 2], change[1]):
            real(file, (change[0], part))
            if file.name == str(path):
                copy = tmp_path / f"{len(looked)}"
                copy.mkdir()
                shutil.copy(path, copy)
                if journal._place(path).exists():
                    shutil.copy(journal._place(path), copy)
                looked.append(copy)

    count = 0
    for step in range(1, 68):
        with monkeypatch.context() as patch:
            if step in {1, 2, 63, 64, 65, 67}:
                patch.setattr(journal, "_write_all", spied)
            series.open_to_append(path).append(step, _record(step))
        for copy in looked:
            found = _check(copy / "u.h5", step)
            if step in {2, 64}:
                series.open_to_append(copy / "u.h5").append(found, _record(found))
                assert _check(copy / "u.h5", found + 1) == found + 1
            shutil.rmtree(copy)
        count += len(looked)
        looked.clear()
    assert _check(path, 68) == 68
    assert count > 100
    tally(f"records of HDF5: {count} instants between and inside writes, at most the last record lost")
    assert [each.name for each in tmp_path.iterdir()] == ["u.h5"]


@pytest.mark.parametrize("room", [0, 100, 300])
def test_what_does_not_fit_leaves_the_file_as_it_was(path, monkeypatch, room):
    real, left = journal._write_all, [room]

    def full(file, change):
        if len(change[1]) > left[0]:
            real(file, (change[0], change[1][: left[0]]))
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= len(change[1])
        real(file, change)

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_write_all", full)
        with pytest.raises(ArrayError, match=r"a state cannot be written to '.*u\.h5': No space left on device"):
            series.open_to_append(path).append(1, _record(1))
    assert path.read_bytes() == before
    series.open_to_append(path).append(1, _record(1))
    assert _check(path, 2) == 2


def test_an_interrupt_inside_hdf5_is_raised_after_it(path, monkeypatch):
    real = journal._write_all

    def interrupted(file, change):
        raise KeyboardInterrupt

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_write_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            series.open_to_append(path).append(1, _record(1))
    assert (path.read_bytes(), journal._write_all) == (before, real)


def test_a_journal_of_another_file_is_not_carried_out(path):
    journal._place(path).write_text(json.dumps({"size": 2**20, "changes": [[0, "00" * 100]]}))
    assert _check(path, 1) == 1
    assert not journal._place(path).exists()
    journal._place(path).write_text("no journal")
    with pytest.raises(ArrayError, match="is no series that a run wrote"):
        series.read(path)
    series.create(path, LAYOUT, 0, _record(0))
    assert _check(path, 1) == 1


def test_what_is_held_back_reads_as_it_will_be(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    with journal.changed(path) as file:
        file.seek(8)
        assert file.write(b"abcd") == 4
        file.seek(-5, io.SEEK_CUR)
        assert file.tell() == 7
        assert file.write(b"x") == 1
        file.seek(6)
        assert file.read() == b"6xabcd"
        file.seek(0, io.SEEK_END)
        assert file.tell() == 12
        assert path.read_bytes() == b"0123456789cd"
    assert path.read_bytes() == b"0123456xabcd"


def test_a_signal_is_answered_behind_a_change_that_is_whole_then(tmp_path):
    path = tmp_path / "u"
    path.write_bytes(b"former")

    def change():
        with journal.changed(path) as file:
            signal.raise_signal(signal.SIGINT)
            file.seek(0)
            file.write(b"latter, and more")

    with pytest.raises(KeyboardInterrupt):
        change()
    assert path.read_bytes() == b"latter, and more"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
