import bz2
import errno
import gzip
import lzma
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tilewright.base import paths
from tilewright.base.errors import UsageError
from tilewright.base.paths import as_path, read_bounded, replaced, replaced_folder, write_rows, write_text, written


@pytest.mark.parametrize("given", [None, 3, b"x", "", "a\0b", "x" * 5000, ["a"]])
def test_what_is_no_path_is_one_sentence(given):
    with pytest.raises(UsageError, match="the result is a path, got"):
        as_path(given, "the result")


def test_a_path_may_be_of_anything_that_is_there_or_not(tmp_path):
    assert as_path(tmp_path, "a folder") == tmp_path
    assert as_path(str(tmp_path / "none" / "u.npy"), "a file") == tmp_path / "none" / "u.npy"


def _failing(path, error):
    with replaced(path) as target:
        target.write_text("half of")
        raise error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
@pytest.mark.parametrize("there", [True, False])
def test_what_fails_leaves_the_former_file_and_nothing_beside(tmp_path, error, there):
    path = tmp_path / "a.txt"
    if there:
        path.write_text("former")
    with pytest.raises(type(error)):
        _failing(path, error)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["former"] * there


def test_permissions_stay_and_new_files_follow_the_mask(tmp_path):
    path, before = tmp_path / "a.txt", os.umask(0o027)
    try:
        write_text(path, "1")
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o604)
        write_text(path, "2")
    finally:
        os.umask(before)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("2", 0o604)


def test_of_links_the_target_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link, chain = tmp_path / "folder" / "target.txt", tmp_path / "link.txt", tmp_path / "chain.txt"
    link.symlink_to(Path("folder") / "target.txt")
    chain.symlink_to(link)
    for text in ("made", "replaced"):  # a link to nothing, then to a file
        write_text(chain, text)
        assert (target.read_text(), link.is_symlink(), chain.is_symlink()) == (text, True, True)
    assert list((tmp_path / "folder").iterdir()) == [target]
    link.unlink()
    link.symlink_to(link.name)
    with pytest.raises(UsageError, match="cannot be written: Too many levels of symbolic links"):
        write_text(link, "round")


def test_pipes_and_devices_are_written_as_they_are(tmp_path):
    write_text(Path("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(UsageError, match=r"'/dev/full' cannot be written: No space left on device"):
        write_text(Path("/dev/full"), "full")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "through")
        assert reader.communicate()[0] == b"through"
    assert pipe.is_fifo()


def test_what_standard_output_goes_to_keeps_what_it_holds(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("before\n")
    code = (
        "import pathlib; from tilewright.base.paths import write_text; write_text(pathlib.Path('/dev/stdout'), 'x\\n')"
    )
    with target.open("a") as stream:
        subprocess.run([sys.executable, "-c", f"{code}; print('after')"], stdout=stream, check=True)
    assert target.read_text().splitlines()[-1] == "after"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC])
def test_a_folder_that_takes_no_new_files_is_not_in_the_way(tmp_path, monkeypatch, reason):
    path = tmp_path / "a.txt"
    path.write_text("former")

    def refused(*_):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(paths.os, "open", refused)
    with suppress(UsageError) if reason != errno.ENOSPC else pytest.raises(UsageError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == ("former" if reason == errno.ENOSPC else "new")


def test_a_file_that_is_mounted_is_copied_to(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("former")

    def busy(*_):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "replace", busy)
    write_text(path, "new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["new"]


def test_what_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("former")
    monkeypatch.setattr(paths.os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="Permission denied"):
        write_text(path, "new")
    with pytest.raises(UsageError, match="cannot be written: Is a directory"):
        write_text(tmp_path, "new")
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        write_rows(tmp_path / "nowhere" / "a.csv", ("a",), [(1,)])
    assert path.read_text() == "former"


def test_an_error_without_a_reason_is_told_with_a_hint(tmp_path):
    said = r"cannot be written: 10 requested and 3 written \(hint: is the disk full\?\)"
    with pytest.raises(UsageError, match=said), written(tmp_path / "a.npy"):
        raise OSError("10 requested and 3 written")


@pytest.mark.parametrize("former", ["nothing", "a file", "a folder", "a link"])
@pytest.mark.parametrize("fails", [False, True])
def test_a_folder_takes_the_place_of_another_as_a_whole(tmp_path, former, fails):
    path = tmp_path / "u.zarr"
    if former == "a file":
        path.write_text("former")
    elif former != "nothing":
        (tmp_path / "other" if former == "a link" else path).mkdir()
        if former == "a link":
            path.symlink_to("other")
        (path / "former").touch()
    with suppress(KeyboardInterrupt), replaced_folder(path) as target:
        target.mkdir()
        (target / "new").touch()
        if fails:
            raise KeyboardInterrupt
    if fails:
        assert path.exists() == (former != "nothing")
        assert path.is_file() == (former == "a file")
        assert former in {"nothing", "a file"} or [each.name for each in path.iterdir()] == ["former"]
    else:
        assert [each.name for each in path.iterdir()] == ["new"]
    assert {each.name for each in tmp_path.iterdir()} <= {"u.zarr", "other"}
    assert path.is_symlink() == (former == "a link")


@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_files_are_read_up_to_a_bound_however_they_are_packed(tmp_path, ending, pack):
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(pack(b"7" * 1024))
    assert read_bounded(path, 1024, "file of sevens") == b"7" * 1024
    with pytest.raises(UsageError, match=r"the file of sevens '.*' may have at most 1023 B, and has more"):
        read_bounded(path, 1023, "file of sevens")
    path.write_bytes(pack(b"7" * 1024)[:-9] if ending else b"")
    if ending:
        with pytest.raises(UsageError, match=r"the file of sevens '.*' cannot be read: "):
            read_bounded(path, 1024, "file of sevens")
    with pytest.raises(UsageError, match="has more"):
        read_bounded(Path("/dev/zero"), 2**20, "file of sevens")
