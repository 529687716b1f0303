"""Paths as callers give them, files that take the place of others as a whole, and files read up to a bound."""

import bz2
import csv
import errno
import gzip
import lzma
import os
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_bytes

_UNPACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LOCKED_FOLDER = {errno.EACCES, errno.EPERM, errno.EROFS}


def as_path(value: object, name: str) -> Path:
    """Return a path that a caller gave, whether or not anything is there.

    >>> as_path("u.npy", "the result").suffix
    '.npy'
    """
    if not isinstance(value, str | os.PathLike) or value == "":
        raise UsageError(f"{name} is a path, got {value!r:.60}")
    try:
        path = Path(value)
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError, TypeError) as error:  # a name that is too long, or with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{name} is a path, got {value!r:.60}: {reason}") from None
    return path


@contextmanager
def replaced(path: Path, mode: int = 0o666, *, synchronize: bool = True, follow: bool = True) -> Iterator[Path]:
    """Give a file beside another to write to, which takes the other's place when the block ends, and never in part.

    Of a link the target is replaced; permissions and owner stay where the system lets them. Pipes, devices and what
    standard output or error is redirected to are written to as they are, as is a file in a folder that takes no new
    ones. If the block fails or is interrupted nothing is left beside the file. A new file gets ``mode`` less the
    process's mask; with ``synchronize`` it is on the disk first, so that a failing computer keeps one or the other.
    """
    # Not to be followed in folders of ours, where somebody may have put a link or a pipe: a plain file takes its place.
    status = _status(path) if follow else None
    if status is not None and (not stat.S_ISREG(status.st_mode) or _is_standard_stream(status)):
        yield path
        return
    target = Path(os.path.realpath(path)) if follow else path
    temporary = _beside(target)
    try:
        if not _create(temporary, mode, status):
            yield path
            return
        yield temporary
        if synchronize:
            _synchronize(temporary)
        try:
            temporary.replace(target)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            shutil.copyfile(temporary, target)  # a single file that is mounted
    finally:
        temporary.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    """Return what is known of a file, or None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return status


def _is_standard_stream(status: os.stat_result) -> bool:
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(number)):
                return True
    return False


def _beside(target: Path) -> Path:
    return target.with_name(f".new-{secrets.token_hex(8)}{target.suffix}")


def _create(temporary: Path, mode: int, status: os.stat_result | None) -> bool:
    """Make an empty file with the permissions of another; False where the folder forbids it and that one is there."""
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except OSError as error:
        if status is None or error.errno not in _LOCKED_FOLDER:
            raise
        return False
    if status is not None:
        if hasattr(os, "chown"):
            with suppress(OSError):
                os.chown(temporary, -1, status.st_gid)
                os.chown(temporary, status.st_uid, -1)
        temporary.chmod(stat.S_IMODE(status.st_mode))
    return True


def _synchronize(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_LATE_WRITES: tuple[float, ...] = (0.0, 0.05, 0.2)
"""Seconds before each look at a folder that was not finished: threads that an interrupt did not reach write on."""


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Give the name of a folder to make, which takes the place of another, or of nothing, when the block ends."""
    target = Path(os.path.realpath(path))
    temporary, former, unfinished = (_beside(target) for _ in range(3))

    def tidy() -> None:
        if not target.exists():
            with suppress(FileNotFoundError):
                former.rename(target)
        with suppress(FileNotFoundError):  # under another name no thread of the block adds to it
            temporary.rename(unfinished)
        for each in (unfinished, former):
            each.unlink() if each.is_file() else shutil.rmtree(each, ignore_errors=True)

    pauses = _LATE_WRITES
    try:
        yield temporary
        with suppress(FileNotFoundError):
            target.rename(former)
        temporary.rename(target)
        pauses = (0.0,)
    finally:
        try:
            for pause in pauses:
                time.sleep(pause)
                tidy()
        except KeyboardInterrupt:
            tidy()
            raise


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Replace a file that a user named, see :func:`replaced`."""
    try:
        with replaced(path) as target:
            yield target
    except OSError as error:
        # NumPy and Pillow say of a full disk how much they wrote, not why.
        hint = "" if error.strerror else "is the disk full?"
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror or error}", hint) from None


def write_text(path: Path, text: str) -> None:
    """Replace a file that a user named by a text in UTF-8, see :func:`written`."""
    with written(path) as target:
        target.write_text(text, encoding="utf-8", newline="")  # as it is, on every system


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Replace a file that a user named by a table in CSV, see :func:`written`."""
    with written(path) as target, target.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)


def make_folder(path: Path) -> None:
    """Make a folder that a user named, and those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {str(path)!r} cannot be made: {error.strerror}") from None


def check_place(path: Path) -> None:
    """Check before any computation that there can be a file."""
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {str(path.parent)!r} for {path.name!r}", "create it first")
    if path.is_dir():
        raise UsageError(f"{str(path)!r} is a folder, where a file is to be written", "give another name")


def check_there(path: Path, kind: str) -> None:
    """Check that there is a file to read."""
    if path.is_dir():
        raise ArrayError(f"{str(path)!r} is a folder, where a file is to be read", f"give the path of {kind}")
    if not path.is_file():
        raise ArrayError(f"there is no file {str(path)!r}", f"give the path of {kind}")


def read_bounded(path: Path, most: int, kind: str) -> bytes:
    """Read a file that a user named, unpacked if its name ends in ``.gz``, ``.bz2`` or ``.xz``."""
    try:
        with _UNPACKED.get(path.suffix.lower(), open)(path, "rb") as stream:
            data: bytes = stream.read(most + 1)  # unpacked bytes; a device has no end
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the {kind} {str(path)!r} cannot be read: {reason}") from None
    if len(data) > most:
        raise UsageError(f"the {kind} {str(path)!r} may have at most {format_bytes(most)}, and has more")
    return data
