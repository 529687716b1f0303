"""The kernel cache: compiled objects and small facts by content fingerprint, digest checked on every load.

An entry is one file: 32 hexadecimal digits of the digest of the rest, a newline, the rest. Entries appear by atomic
renaming, so readers and writers need no lock. What fails its digest is as good as absent. A cache that has grown beyond
its limit drops the entries that were written or read longest ago.
"""

import contextlib
import os
import stat
from pathlib import Path

from tilewright.base.documents import user_folder
from tilewright.base.fingerprint import digest
from tilewright.base.paths import replaced
from tilewright.runtime.warn import warn_once

_VARIABLE = "TILEWRIGHT_CACHE"
_LIMIT = "TILEWRIGHT_CACHE_MIB"
_DEFAULT_MIB = 1024
_OPEN = "can be written by other users"
_LEFT = 0.8  # what is left of a full cache, so that not every new entry looks for old ones


def directory() -> Path | None:
    """Return the cache's directory, or None; ``TILEWRIGHT_CACHE`` overrides the user's cache directory."""
    loss = "the kernel cache cannot be used, so kernels are compiled anew in every process"
    return private_directory("cache", _VARIABLE, "the kernel cache", loss, ("kernels",))


def private_directory(
    kind: str,
    variable: str,  # overrides the user's directory of this kind
    name: str,  # in warnings
    loss: str,  # what cannot be done without it
    below: tuple[str, ...] = (),
) -> Path | None:
    """Return a directory of ours, made if need be, or None where none can be used (after one warning).

    A directory that others may write to, or that belongs to another user, is refused: a kernel there may be anyone's.
    """
    try:
        root = user_folder(kind, variable)
        path = root.joinpath(*below)
        make_private(path)
        problem = distrust(path, variable) or (distrust(root, variable) if below else "")
    except (OSError, RuntimeError) as error:
        warn_once(f"{loss}: {error}")
        return None
    if problem:
        warn_once(f"{name} {problem}")
        return None
    return path


def make_private(path: Path) -> None:
    """Make a directory and those above it that are not there, for this user alone whatever the process's mask."""
    if not path.parent.exists():
        make_private(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def distrust(path: Path, variable: str) -> str:
    """Say that a directory is not used, why, and what to do about it; or an empty string.

    Nothing is mended: what others could write to may hold anything by now.
    """
    problem = _problem(path)
    mend = f"`chmod go-w '{path}'` if nobody else wrote to it, else delete it; or " if problem == _OPEN else ""
    another = f"(hint: {mend}set {variable} to a directory of your own)"
    return f"{str(path)!r} {problem}, so it is not used {another}" if problem else ""


def _problem(path: Path) -> str:
    if not hasattr(os, "getuid"):
        return ""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        status = path.stat()
        if path.lstat().st_uid not in {os.getuid(), 0}:
            return "is another user's link"
    if status.st_uid not in {os.getuid(), 0}:
        return "belongs to another user"
    bits = status.st_mode & (stat.S_IWOTH | stat.S_IWGRP)
    sticky = status.st_mode & stat.S_ISVTX and path.name != "kernels"  # others may add to it, but not rename ours
    return _OPEN if bits and not sticky else ""


def load(store: Path | None, key: str) -> bytes | None:
    """Return an entry's content, or None if there is none, it is another user's, or its digest does not match."""
    if store is None:
        return None
    try:
        place = store / key
        with place.open("rb") as file:
            status = os.fstat(file.fileno())  # of what is read, whatever becomes of the name meanwhile
            if hasattr(os, "getuid") and (status.st_uid not in {os.getuid(), 0} or status.st_mode & stat.S_IWOTH):
                return None
            data = file.read()
    except OSError:
        return None
    with contextlib.suppress(OSError):  # its time says when it was used; a cache may be another user's, or read-only
        os.utime(place)
    head, separator, content = data[:32], data[32:33], data[33:]
    is_intact = separator == b"\n" and head == digest(content).encode()
    return content if is_intact else None


def save(store: Path | None, key: str, content: bytes) -> None:
    """Write an entry; a disk that is full or read-only costs one warning, never the result."""
    if store is None:
        return
    try:
        with replaced(store / key, 0o600, synchronize=False, follow=False) as place:  # what is torn fails its digest
            place.write_bytes(digest(content).encode() + b"\n" + content)
    except OSError as error:
        warn_once(f"the kernel cache cannot be written, so kernels are compiled anew in every process: {error}")
        return
    _shrink(store, key)


def _limit() -> int:
    """Bytes that the cache may hold; 0 for any number."""
    text = os.environ.get(_LIMIT, "").strip()
    if not text.isdecimal():
        if text:
            warn_once(f"{_LIMIT} is a whole number of MiB, 0 for no limit, got {text!r}; it is {_DEFAULT_MIB} now")
        return _DEFAULT_MIB << 20
    return int(text) << 20


def _shrink(store: Path, newest: str) -> None:
    """Drop what was used longest ago where the cache is larger than its limit; other processes may do the same."""
    limit = _limit()
    files = []
    with contextlib.suppress(OSError), os.scandir(store) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    files.append((status.st_mtime_ns, status.st_size, entry.name))
    total = sum(size for _, size, _ in files)
    if not limit or total <= limit:
        return
    for _, size, name in sorted(files):
        if total <= _LEFT * limit:
            return
        if name != newest and not name.startswith(".new-"):
            with contextlib.suppress(OSError):
                (store / name).unlink()
                total -= size


def load_text(store: Path | None, key: str) -> str | None:
    """Return an entry's text, or None."""
    content = load(store, key)
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def save_text(store: Path | None, key: str, text: str) -> None:
    """Write an entry of text."""
    save(store, key, text.encode())
