"""What is kept between runs: append-only files of records, one line of JSON each, that survive being cut anywhere.

A record is written as ``newline, JSON, newline`` by one call, so that one that was torn spoils no other. Each carries
the digest of its content; what fails its digest, or is no record, is skipped. Several processes may append to a file.
"""

import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tilewright.base.fingerprint import digest
from tilewright.runtime import cache
from tilewright.runtime.warn import warn_once

Record = Mapping[str, Any]  # plain data: texts, finite numbers, booleans, None, lists and mappings of them
VARIABLE = "TILEWRIGHT_STORE"
_LARGEST_FILE = 2**28
_LARGEST_RECORD = 2**16
_LOCK_SECONDS = 5.0
_LOCK_POLL = 0.005


def directory() -> Path | None:
    """Return the directory of what is kept, or None; ``TILEWRIGHT_STORE`` overrides the user's data directory."""
    return cache.private_directory("data", VARIABLE, "the store", "what is measured cannot be kept for later runs")


def encode(record: Record) -> bytes:
    """Return a record's line: its JSON with the digest of the rest as its last entry.

    >>> decode(encode({"a": 1}).strip())
    {'a': 1}
    """
    content = _canonical(record)
    sealed = content[:-1] + (b"," if record else b"") + b'"digest":"' + digest(content).encode() + b'"}'
    return b"\n" + sealed + b"\n"


def decode(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line without its digest, or None if it is torn, changed or no record."""
    if len(line) > _LARGEST_RECORD:
        return None
    try:
        record = json.loads(line)
        if not isinstance(record, dict):
            return None
        sealed = record.pop("digest", None)
        return record if sealed == digest(_canonical(record)) else None
    except (ValueError, RecursionError):
        return None


def _canonical(record: Record) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def read(path: Path) -> list[dict[str, Any]]:
    """Return every complete record of a file, in the order written; none if there is no file."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            warn_once(f"{str(path)!r} is too large to be ours, so it is not read")
            return []
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    return [record for record in map(decode, lines) if record is not None]


def append(path: Path, record: Record) -> bool:
    """Add a record to a file, or return False; a disk that is full or read-only costs one warning, never the result."""
    line = encode(record)
    try:
        with _file_lock(path):
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            try:
                written = os.write(handle, line)
            finally:
                os.close(handle)
        reason = "" if written == len(line) else os.strerror(errno.ENOSPC)
    except OSError as error:
        reason = str(error)
    if reason:
        warn_once(f"what is measured cannot be kept for later runs: {reason}")
    return not reason


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Hold the lock beside a file where the system has one; without it a torn record is still seen and skipped."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = -1
    with suppress(OSError):
        handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        end = time.monotonic() + _LOCK_SECONDS
        while handle >= 0:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    break
                time.sleep(_LOCK_POLL)
            except OSError:
                break  # a file system without locks
        yield
    finally:
        if handle >= 0:
            os.close(handle)
