"""Arrays in files: NumPy's ``.npy`` and ``.npz``, and pictures.

A picture's values are numbers from 0 (black) to 1 (white). A grey picture is one plane, a colour picture three planes
(red, green, blue; transparency is dropped). Nothing is unpickled.
"""

import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import check_place, check_there, written
from tilewright.runtime.formats.pictures import FLOATS, PICTURES, check_pillow, read_picture, write_picture
from tilewright.runtime.memory import Array, check_memory

_DAMAGE = (ValueError, EOFError, OverflowError, SyntaxError, RecursionError, tokenize.TokenError)
"""What reading a damaged array can raise: its header is Python's text for a dictionary."""
_ARCHIVE_DAMAGE = (
    *_DAMAGE, MemoryError, NotImplementedError, OSError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a damaged archive of arrays can raise besides."""


class ArrayStream:
    """A file whose methods alone NumPy calls to read or write an array.

    Of a file that it knows by its number it asks in C whether that is a path; an interrupt meanwhile is lost behind a
    TypeError.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.read, self.write = file.read, file.write


def read_planes(path: Path, dtype: str | None = None) -> tuple[Array, ...]:
    """Read an array, or a picture's planes, one or three of height x width; ``.npy`` keeps its type by default."""
    _check_format(path)
    check_there(path, "a .npy file or a picture")
    planes = (_read_npy(path),) if path.suffix.lower() == ".npy" else read_picture(path).planes
    return tuple(plane if dtype is None else plane.astype(dtype, copy=False) for plane in planes)


def write_planes(path: Path, planes: tuple[Array, ...], bits: int = 8) -> int:
    """Write an array, or planes as a picture; returns how many values outside 0 to 1 were clipped, 0 for ``.npy``."""
    check_output(path)
    if path.suffix.lower() == ".npy":
        with written(path) as target, target.open("wb") as file:
            np.save(ArrayStream(file), planes[0] if len(planes) == 1 else np.stack(planes, axis=-1), allow_pickle=False)
        return 0
    if planes[0].ndim != 2 or planes[0].dtype.kind == "c":
        raise ArrayError(
            f"a picture has two dimensions of real values, got {planes[0].ndim} of {planes[0].dtype}",
            "write a .npy file instead",
        )
    if write_picture(path, planes, bits) == FLOATS:
        return 0
    return sum(int(np.count_nonzero(~((plane >= 0) & (plane <= 1)))) for plane in planes)


def is_archive(path: Path) -> bool:
    """Whether a file's name is that of an archive of arrays, ``.npz``."""
    return path.suffix.lower() == ".npz"


def read_archive(path: Path) -> dict[str, Array]:
    """Read the arrays of a ``.npz`` file by their names."""
    check_there(path, "a .npz file")
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            check_memory(sum(member.file_size for member in members))
            for member in members:
                with archive.open(member) as file:
                    arrays[member.filename.removesuffix(".npy")] = np.lib.format.read_array(file, allow_pickle=False)
    except _ARCHIVE_DAMAGE as error:
        raise ArrayError(
            f"{str(path)!r} is no .npz file of plain numbers: {error}", "write it with numpy.savez"
        ) from None
    return arrays


def write_archive(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays by their names to a ``.npz`` file, without compression; it is replaced if it exists."""
    with written(path) as target, zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(values), allow_pickle=False)


def check_output(path: Path) -> None:
    """Check before any computation that a result can be written."""
    _check_format(path)
    check_place(path)


def _check_format(path: Path) -> None:
    if path.suffix.lower() not in PICTURES | {".npy"}:
        raise UsageError(
            f"a file of data ends in .npy or a picture's ending, got {path.name!r}",
            f"the pictures are {' '.join(sorted(PICTURES))}",
        )
    if path.suffix.lower() in PICTURES:
        check_pillow(path)


def _read_npy(path: Path) -> Array:
    try:
        with path.open("rb") as file:
            values: Array = np.lib.format.read_array(ArrayStream(file), allow_pickle=False)
    except _DAMAGE as error:
        raise ArrayError(
            f"{str(path)!r} is no .npy file of plain numbers: {error}", "write it with numpy.save"
        ) from None
    return values
