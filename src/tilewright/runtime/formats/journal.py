"""Changes of a file that are made as a whole, for a library that would make them one by one.

HDF5 changes a file in a dozen places for every record. A process that is killed between two of them leaves a file that
nobody can read, and after an error at one of them HDF5 cannot close it any more, and the process dies at its end. So
what is written behind the file's end goes there at once, and what changes before it is held back, put into a journal
beside the file, and then made::

    append, journal written  |  changes made, journal deleted

Whoever is killed before the bar leaves the file as it was, and a journal that is found is carried out first. A
computer that loses its power is another matter: then the system may have written some of it and not the rest.
"""

import io
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tilewright.base.paths import read_bounded, replaced

_MOST_BYTES = 2**28

Change = tuple[int, bytes]  # where in a file, and what is written there


class HeldBack:
    """A file to read and write, of which nothing that was there changes yet.

    Reading and writing raise nothing, since HDF5 recovers from no error; :meth:`check` raises the first.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file, self._place = file, 0
        self.former_size = self.size = file.seek(0, os.SEEK_END)
        self.changes: list[Change] = []
        self._error: BaseException | None = None

    def check(self) -> None:
        """Raise the first error."""
        if self._error is not None:
            raise self._error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.size}[whence]
        return self._place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    def read(self, count: int = -1) -> bytes:
        """Return bytes as they will be."""
        buffer = bytearray(max(0, self.size - self._place) if count < 0 else count)
        return bytes(buffer[: self.readinto(buffer)])

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  (whatever has memory)
        """Read bytes as they will be; behind the end there are zeros."""
        view = memoryview(buffer).cast("B")
        start, end = self._place, self._place + len(view)
        view[:] = bytes(len(view))
        try:
            self._file.seek(start)
            self._file.readinto(view)
        except BaseException as error:  # noqa: BLE001
            self._error = self._error or error
        for offset, content in self.changes:
            low, high = max(start, offset), min(end, offset + len(content))
            if low < high:
                view[low - start : high - start] = content[low - offset : high - offset]
        self._place = end
        return len(view)

    def write(self, data: Any) -> int:  # noqa: ANN401
        """Write behind what was there, or note a change of it."""
        view = memoryview(data).cast("B")
        overlap = view[: max(0, self.former_size - self._place)]
        if overlap:
            self.changes.append((self._place, bytes(overlap)))
        try:
            _write_all(self._file, (self._place + len(overlap), view[len(overlap) :]))
        except BaseException as error:  # noqa: BLE001
            self._error = self._error or error
        self._place += len(view)
        self.size = max(self.size, self._place)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Note the size that the file is to have."""
        self.size = self._place if size is None else size
        return self.size

    def flush(self) -> None:
        """Do nothing: all of it is kept when the block ends."""


@contextmanager
def _signals_held() -> Iterator[None]:
    """Answer signals behind the block: what a handler raises in a function that HDF5 calls is lost."""
    signals: list[tuple[int, FrameType | None]] = []
    before: dict[int, Callable[[int, FrameType | None], object]] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, lambda *each: signals.append(each))
    try:
        yield
    finally:
        for which, former in before.items():
            signal.signal(which, former)
        for which, frame in signals:
            before[which](which, frame)


@contextmanager
def changed(path: Path) -> Iterator[HeldBack]:
    """Give a file to change; all of it is there when the block ends, or the file is as it was."""
    carry_out(path)
    with _signals_held():
        with path.open("r+b", buffering=0) as file:
            writer = HeldBack(file)
            try:
                yield writer
                writer.check()
                file.truncate(max(writer.size, writer.former_size))
                os.fsync(file.fileno())  # some file systems say only now that they are full; changes need no more room
                if writer.changes:
                    entries = [[offset, content.hex()] for offset, content in writer.changes]
                    with replaced(_place(path), synchronize=False) as place:
                        place.write_text(json.dumps({"size": writer.size, "changes": entries}), encoding="ascii")
            except BaseException:
                file.truncate(writer.former_size)
                raise
        carry_out(path)


def carry_out(path: Path) -> None:
    """Make the changes that a journal beside a file holds, if there is one."""
    place = _place(path)
    if not place.exists():
        return
    journal = json.loads(read_bounded(place, _MOST_BYTES, "journal"))
    with path.open("r+b", buffering=0) as file:
        if file.seek(0, os.SEEK_END) >= journal["size"]:  # else it is of another file
            for offset, content in journal["changes"]:
                _write_all(file, (offset, memoryview(bytes.fromhex(content))))
            file.truncate(journal["size"])
    discard(path)


def discard(path: Path) -> None:
    """Delete the journal beside a file that is replaced."""
    _place(path).unlink(missing_ok=True)


def _place(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def _write_all(file: io.FileIO, change: tuple[int, memoryview]) -> None:
    offset, left = change
    if left:
        file.seek(offset)
    while left:
        left = left[file.write(left) :]
