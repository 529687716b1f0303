"""Arrays on disk, read and written by rows of their outermost axis: files of NumPy's and zarr arrays.

A file is read and written by calls, not through its mapping: pages of a mapping count as the process's memory, and the
system would keep the whole grid. Whole pages pass the page cache by (``O_DIRECT``) where the system lets them and
memory lies as the file does; copying through the cache costs as much of a processor as many steps do. What goes through
the cache is dropped from it once it is on the disk.
"""

import errno
import math
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.constants import PAGE
from tilewright.base.errors import ArrayError, UsageError, needed, told
from tilewright.base.fingerprint import digest
from tilewright.base.intmath import round_up
from tilewright.base.paths import as_path
from tilewright.runtime.formats.codecs import check_codecs, check_metadata

Array = npt.NDArray[Any]
_DIRTY_BYTES = 2**26
"""Bytes that wait for the disk at most: else all of a pass would wait for it at its end, when nothing is computed."""
_CONVERTED_BYTES = 2**22  # bytes that are converted to another element type at a time
_DIRECT_BYTES = 2**20  # bytes from which a call waits for the disk itself; fewer are gathered by the system


class RowArray(ABC):
    """An array whose rows can be read and written; a row is everything at one index of the outermost axis."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    place: str  # what tells it from others: the file, an ``@`` and where in it

    def transfer_bytes(self, dtype: str) -> int:  # noqa: ARG002
        """Return the memory that reading or writing takes meanwhile, where the values in memory are of a type."""
        return 0

    def phase(self, low: int) -> int:  # noqa: ARG002
        """Return how many bytes past the start of a page memory for the rows from one on best begins, below a page."""
        return 0

    @property
    def missing_bytes(self) -> int:
        """Bytes of disk that writing all of it may still take."""
        return 0

    @abstractmethod
    def read(self, low: int, high: int, target: Array) -> None:
        """Read rows into an array of their shape, converting them to its type."""

    def write(self, low: int, source: Array) -> None:  # noqa: ARG002
        """Write rows from one on, converting them."""
        raise UsageError("a run out of core writes to disk, not to an array in memory", "give out= a path or a memmap")

    def sync(self) -> None:  # noqa: B027  (of most kinds there is nothing to do)
        """Return once everything that was written is on the disk."""

    def close(self) -> None:  # noqa: B027
        """Let go of the file."""


class MemoryRows(RowArray):
    """An array in memory beside others on disk; it is only read."""

    def __init__(self, values: Array) -> None:
        self.shape, self.dtype, self._values = values.shape, values.dtype, values
        each = tuple(slice(0, 1) if step == 0 else slice(None) for step in values.strides)  # repeated along it
        # A run that goes on in another process knows them again.
        self.place = f"memory@{digest(np.ascontiguousarray(values[each]).tobytes())}"

    def read(self, low: int, high: int, target: Array) -> None:
        """Read rows."""
        np.copyto(target, self._values[low:high], casting="unsafe")


class FileRows(RowArray):
    """A C-contiguous array in a file."""

    def __init__(self, path: Path, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, writes: bool) -> None:
        self.shape, self.dtype = shape, dtype
        self._path, self._offset = path, offset
        self._row = math.prod(shape[1:]) * dtype.itemsize
        try:
            self._file = os.open(path, os.O_RDWR if writes else os.O_RDONLY)
            status = os.fstat(self._file)
        except OSError as error:
            raise ArrayError(f"{str(path)!r} cannot be opened: {error.strerror}") from None
        self.place = f"file:{status.st_dev}:{status.st_ino}@{offset}"
        self._dirty = 0
        self._direct = _open_directly(path, writes=writes)

    def transfer_bytes(self, dtype: str) -> int:
        """Return the size of the buffer through which values of another type pass."""
        return 0 if self.dtype == np.dtype(dtype) else max(self._row, _CONVERTED_BYTES)

    def phase(self, low: int) -> int:
        """Return where the rows lie in their page of the file."""
        at = (self._offset + low * self._row) % PAGE
        return 0 if at % self.dtype.alignment else at

    @property
    def missing_bytes(self) -> int:
        """Bytes that the file has holes for."""
        status = os.fstat(self._file)
        return max(0, self.shape[0] * self._row + self._offset - status.st_blocks * 512)

    def read(self, low: int, high: int, target: Array) -> None:
        """Read rows; those of another element type pass through a small buffer."""
        if target.dtype == self.dtype and target.flags.c_contiguous:
            self._read(low, target)
            return
        for first, last in self._parts(low, high):
            part = np.empty((last - first, *self.shape[1:]), self.dtype)
            self._read(first, part)
            np.copyto(target[first - low : last - low], part, casting="unsafe")

    def write(self, low: int, source: Array) -> None:
        """Write rows."""
        if source.dtype == self.dtype and source.flags.c_contiguous:
            self._write(low, source)
            return
        for first, last in self._parts(low, low + len(source)):
            self._write(first, np.ascontiguousarray(source[first - low : last - low], dtype=self.dtype))

    def sync(self) -> None:
        """Wait for the disk, and drop what it has from the page cache."""
        self._dirty = 0
        os.fdatasync(self._file)
        self._forget(0, 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
        if self._direct is not None:
            os.close(self._direct)

    def _parts(self, low: int, high: int) -> list[tuple[int, int]]:
        step = max(1, _CONVERTED_BYTES // max(1, self._row))
        return [(first, min(high, first + step)) for first in range(low, high, step)]

    def _read(self, low: int, target: Array) -> None:
        for at, size in self._cached(os.preadv, low, target):
            self._forget(at, size)

    def _write(self, low: int, source: Array) -> None:
        self._dirty += sum(size for _, size in self._cached(os.pwritev, low, source))
        if self._dirty >= _DIRTY_BYTES:
            self.sync()

    def _cached(self, transfer: Callable[..., int], low: int, values: Array) -> Iterator[tuple[int, int]]:
        """Read or write rows, and yield which bytes of the file passed through the page cache."""
        at, view = self._offset + low * self._row, values.view(np.uint8).reshape(-1)
        for first, last, direct in self._spans(at, view):
            position = first
            while position < last:
                count = self._move(transfer, view[position:last], at + position, direct=direct)
                if count == 0:
                    raise ArrayError(f"{str(self._path)!r} ends before its array does", "it was cut short")
                position += count
            if not direct:
                yield at + first, last - first

    def _spans(self, at: int, view: Array) -> list[tuple[int, int, bool]]:
        """Cut what lies at a place of the file into whole pages, which pass the cache by, and the rest."""
        size = len(view)
        first, last = -at % PAGE, size - (at + size) % PAGE
        if self._direct is None or (view.ctypes.data - at) % PAGE or last - first < _DIRECT_BYTES:
            return [(0, size, False)]
        return [each for each in ((0, first, False), (first, last, True), (last, size, False)) if each[0] < each[1]]

    def _move(self, transfer: Callable[..., int], view: Array, at: int, *, direct: bool) -> int:
        if direct and self._direct is not None:
            try:
                return transfer(self._direct, [view.data], at)
            except OSError as error:
                if error.errno != errno.EINVAL:  # larger units than pages, or part of one that a call left
                    raise
        return transfer(self._file, [view.data], at)

    def _forget(self, at: int, size: int) -> None:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file, at, size, os.POSIX_FADV_DONTNEED)


def _open_directly(path: Path, *, writes: bool) -> int | None:
    if not hasattr(os, "O_DIRECT"):
        return None
    try:
        return os.open(path, os.O_DIRECT | (os.O_RDWR if writes else os.O_RDONLY))
    except OSError:
        return None


class ZarrRows(RowArray):
    """A zarr array, whose chunks are compressed and converted by zarr, which closes every chunk's file."""

    def __init__(self, array: Any) -> None:  # noqa: ANN401  (zarr may not be installed)
        self.array = array
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        root = getattr(array.store, "root", None)
        self._name = str(array.store if root is None else Path(str(root)).resolve())
        self.place = f"zarr:{self._name}:{array.path}@0"
        self._unit = int((getattr(array, "shards", None) or array.chunks)[0])
        if self._unit < 1:
            raise ArrayError(f"the zarr array {self._name!r} has chunks of no rows")

    def transfer_bytes(self, dtype: str) -> int:
        """Return thrice the size of a row of chunks: as zarr has it, compressed, and converted."""
        size = max(self.dtype.itemsize, np.dtype(dtype).itemsize)
        return 3 * self._unit * math.prod(self.shape[1:]) * size

    @property
    def missing_bytes(self) -> int:
        """Bytes that it may grow by, if nothing can be compressed."""
        size = math.prod(self.shape) * self.dtype.itemsize
        return max(0, size - int(self.array.nbytes_stored()))

    def read(self, low: int, high: int, target: Array) -> None:
        """Read rows, those of a few chunks at a time."""
        for first in range(low - low % self._unit, high, self._unit):
            a, b = max(first, low), min(first + self._unit, high)
            with told(f"rows {a} to {b - 1} of the zarr array {self._name!r} cannot be read"):
                np.copyto(target[a - low : b - low], self.array[a:b], casting="unsafe")

    def write(self, low: int, source: Array) -> None:
        """Write rows; a chunk of which only some are written is read first, by zarr."""
        high = low + len(source)
        for first in range(low - low % self._unit, high, self._unit):
            a, b = max(first, low), min(first + self._unit, high)
            with told(f"rows {a} to {b - 1} of the zarr array {self._name!r} cannot be written"):
                self.array[a:b] = source[a - low : b - low].astype(self.dtype, copy=False)


def thread() -> ThreadPoolExecutor:
    """Return a thread that reads or writes while others compute, and comes before them where that has to be said."""
    # Most systems let a thread run at once that has slept for a transfer. Under a real-time policy it would wait for
    # those that compute, which never sleep, so that transfers and computing took turns.
    return ThreadPoolExecutor(1, initializer=_come_before)


def _come_before() -> None:
    if not hasattr(os, "sched_getscheduler") or os.sched_getscheduler(0) not in {os.SCHED_FIFO, os.SCHED_RR}:
        return
    higher = os.sched_getparam(0).sched_priority + 1
    with suppress(OSError):  # not allowed, or there is none
        os.sched_setparam(0, os.sched_param(higher))


def buffer_bytes(size: int) -> int:
    """Return the bytes of memory in which rows of so many bytes find a place that suits their file."""
    return size if size < _DIRECT_BYTES else round_up(size, PAGE) + PAGE


def placed(memory: Array, rows: RowArray, low: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Return an array in memory of :func:`buffer_bytes`, which begins at a page, for rows of another from one on."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    start = rows.phase(low) if rows.dtype == np.dtype(dtype) and len(memory) >= buffer_bytes(size) > size else 0
    array: Array = memory[start : start + size].view(dtype).reshape(shape)
    return array


def is_zarr(value: object) -> bool:
    """Whether a value is an array of zarr's; zarr is not imported."""
    return type(value).__module__.partition(".")[0] == "zarr" and hasattr(value, "chunks")


def open_rows(value: Any, name: str, *, writes: bool = False) -> RowArray:  # noqa: ANN401
    """Open by its rows a memmap, a zarr array, the path of a zarr array or ``.npy`` file, or an array in memory."""
    if is_zarr(value):
        if writes and getattr(value, "read_only", False):
            raise ArrayError(f"the zarr array of {name} is read-only", "open it with mode='r+'")
        check_metadata(value.metadata.to_dict(), name)
        return ZarrRows(value)
    if isinstance(value, str | os.PathLike):
        return _open_path(as_path(value, name), name, writes=writes)
    if isinstance(value, np.memmap):
        return _open_memmap(value, name, writes=writes)
    if isinstance(value, np.ndarray) and not writes:
        return MemoryRows(value)
    raise ArrayError(
        f"{name} of a run out of core is a memmap, a zarr array or a path, got {type(value).__name__}",
        "numpy.load(path, mmap_mode='r+') maps a file",
    )


def _open_path(path: Path, name: str, *, writes: bool) -> RowArray:
    if path.suffix == ".npy":
        with told(f"{str(path)!r} of {name} cannot be read as a .npy file"):
            mapped = np.load(path, mmap_mode="r+" if writes else "r", allow_pickle=False)
        return open_rows(mapped, name, writes=writes)
    if path.suffix == ".zarr":
        import_zarr()
        with told(f"{str(path)!r} of {name} cannot be opened as a zarr array"):
            return ZarrRows(open_zarr(path, "r+" if writes else "r"))
    raise ArrayError(f"the path of {name} ends in .npy or .zarr, got {str(path)!r}")


def import_zarr() -> Any:  # noqa: ANN401
    """Import zarr."""
    with needed("zarr", "an array of zarr"):
        import zarr
    return zarr


def open_zarr(path: Path, mode: str) -> Any:  # noqa: ANN401
    """Open a zarr array of which no codec runs code."""
    check_codecs(path)
    return import_zarr().open_array(store=str(path), mode=mode)


def _open_memmap(value: "np.memmap[Any, Any]", name: str, *, writes: bool) -> RowArray:
    mapping = value._mmap  # type: ignore[attr-defined]  # noqa: SLF001  (public in no version)
    if value.filename is None or not isinstance(mapping, mmap.mmap):
        raise ArrayError(f"the memmap of {name} has no file", "np.load(path, mmap_mode='r') makes one that has")
    if not value.flags.c_contiguous:
        raise ArrayError(f"the memmap of {name} is not C-contiguous", "give the whole array, or copy the part")
    if value.mode == "c":
        raise ArrayError(
            f"the memmap of {name} is copied on write, so that its file may differ", "map it with mode='r'"
        )
    if writes and not value.flags.writeable:
        raise ArrayError(f"the memmap of {name} is read-only", "map it with mode='r+'")
    # A view keeps its parent's offset: where its elements are follows from their address.
    base = np.frombuffer(mapping, dtype=np.uint8).ctypes.data
    start = value.offset - value.offset % mmap.ALLOCATIONGRANULARITY
    offset = start + value.ctypes.data - base
    return FileRows(Path(value.filename), offset, value.shape, value.dtype, writes=writes)


def create_npy(path: Path, shape: tuple[int, ...], dtype: str) -> None:
    """Make a ``.npy`` file whose space is taken at once, so that no run ends for want of it."""
    try:
        with path.open("wb") as file:
            header = np.lib.format.header_data_from_array_1_0(np.empty((0,), dtype)) | {"shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            size = file.tell() + math.prod(shape) * np.dtype(dtype).itemsize
            file.truncate(size)
            file.flush()
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ArrayError(
            f"{str(path)!r} cannot be made: {error.strerror}", "a run out of core writes its results to disk"
        ) from None


def create_zarr(path: Path, shape: tuple[int, ...], dtype: str, chunks: tuple[int, ...]) -> Any:  # noqa: ANN401
    """Make an empty zarr array and return it; what was there is replaced."""
    zarr = import_zarr()
    with told(f"the zarr array {str(path)!r} cannot be made"):
        return zarr.create_array(store=str(path), shape=shape, dtype=dtype, chunks=chunks, overwrite=True)


def exists(value: object) -> bool:
    """Whether an array is there: a path may be that of one that is yet to be made."""
    return not isinstance(value, str | os.PathLike) or as_path(value, "an array").exists()


def open_array(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401
    """Return the array at a path as its library has it: a ``numpy.memmap`` or a zarr array, to be read."""
    place = as_path(path, "an array")
    if place.suffix == ".zarr":
        import_zarr()
    with told(f"{str(place)!r} cannot be read as an array"):
        if place.suffix == ".zarr":
            return open_zarr(place, "r")
        return np.load(place, mmap_mode="r", allow_pickle=False)


def path_of(value: Any, name: str) -> Path:  # noqa: ANN401
    """Return where an array is on the disk."""
    if isinstance(value, np.memmap) and value.filename is not None:
        return Path(value.filename).absolute()
    if is_zarr(value):
        root = getattr(value.store, "root", None)
        if root is None:
            raise ArrayError(f"the zarr array of {name} is in no folder, where a run out of core keeps what it needs")
        return Path(str(root)).absolute() / str(value.path)
    if isinstance(value, str | os.PathLike):
        path = as_path(value, name)
        if path.suffix not in {".npy", ".zarr"}:
            raise ArrayError(f"the path of {name} ends in .npy or .zarr, got {str(value)!r}")
        return path.absolute()
    raise ArrayError(
        f"{name} of a run out of core is a memmap, a zarr array or a path, got {type(value).__name__}",
        "numpy.load(path, mmap_mode='r+') maps a file",
    )
