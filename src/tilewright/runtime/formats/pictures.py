"""Pictures with their depth: 8 and 16 bits, grey and colour, as whole numbers or as planes of float32 from 0 to 1.

Pillow reads and writes everything but colour of 16 bits per channel, which it cuts to 8 without a word. OpenCV (the
extra ``image``) reads and writes that. A grey TIFF file may hold ``float32``.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import check_place, check_there, written
from tilewright.runtime.memory import Array

PICTURES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""File name endings that are read and written as pictures."""
FLOATS = 32  # bits of a picture that holds ``float32`` values as they are: a grey TIFF file
_EIGHT_BIT = frozenset({".jpg", ".jpeg", ".bmp", ".gif", ".webp"})
_FLOATING = frozenset({".tif", ".tiff"})
_ORIENTATION = 0x0112
_INSTALL = "install it: pip install 'tilewright[image]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture."""

    pixels: Array  # grey, or with red, green and blue as a last axis: whole numbers, or float32
    bits: int  # bits per channel, 8 or 16, or :data:`FLOATS`

    @property
    def planes(self) -> tuple[Array, ...]:
        """One plane of grey, or three of colour, float32 from 0 to 1."""
        values = self.pixels.astype(np.float32) / np.float32(1 if self.bits == FLOATS else 2**self.bits - 1)
        return (values,) if values.ndim == 2 else tuple(np.ascontiguousarray(values[..., i]) for i in range(3))


def luminance(red: Any, green: Any, blue: Any) -> Any:  # noqa: ANN401  (arrays, or what a stencil reads)
    """Return the luminance: 0.2125 red, 0.7154 green, 0.0721 blue."""
    return 0.2125 * red + 0.7154 * green + 0.0721 * blue


def read_picture(path: Path) -> Picture:
    """Read a picture as cameras mean it to be held; transparency is dropped."""
    if not is_picture(path):
        raise UsageError(
            f"a picture ends in {' '.join(sorted(PICTURES))}, got {path.name!r}", "arrays are for `tilewright run`"
        )
    check_there(path, "a picture")
    check_pillow(path)
    from PIL import Image

    try:
        # By its name Pillow maps a TIFF file, and mixes up the rows of one that is to be turned.
        with path.open("rb") as stream, Image.open(stream) as picture:
            bits = _bits(picture)
            if bits == 16 and len(picture.getbands()) > 1:
                pixels = _with_opencv(path)
            elif bits == FLOATS:
                pixels = np.asarray(picture)
            elif bits == 16:
                pixels = np.clip(np.asarray(picture).astype(np.int64), 0, 65535)
            elif picture.mode in {"1", "L", "LA", "La"}:
                pixels = np.asarray(picture.convert("L"))
            else:
                pixels = np.asarray(picture.convert("RGBA").convert("RGB"))
            if picture.format != "TIFF":  # those are turned by both libraries
                pixels = _turned_pixels(pixels, picture.getexif().get(_ORIENTATION, 1))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ArrayError(f"{str(path)!r} is no readable picture: {error}", "convert it to PNG") from None
    kind = {8: np.uint8, 16: np.uint16, FLOATS: np.float32}[bits]
    return Picture(pixels=pixels.astype(kind, copy=False), bits=bits)


def is_picture(path: Path) -> bool:
    """Whether a file's name is that of a picture."""
    return path.suffix.lower() in PICTURES


def picture_bits(path: Path) -> int:
    """Return the bits per channel of a picture as :func:`read_picture` does; only its head is read."""
    from PIL import Image

    with Image.open(path) as picture:
        return _bits(picture)


def _bits(picture: Any) -> int:  # noqa: ANN401  (a PIL image, which is an optional type here)
    """Return 8, 16 or :data:`FLOATS`; Pillow shows colour of 16 bits as of 8, but for how it is to be decoded."""
    if picture.mode == "F":
        return FLOATS
    if picture.mode in {"I;16", "I;16B", "I;16L", "I;16N", "I"}:
        return 16
    if picture.format == "TIFF":
        bits = picture.tag_v2.get(258, (8,))
        return 16 if 16 in (bits if isinstance(bits, tuple) else (bits,)) else 8
    raw = picture.tile[0].args if picture.tile else ""
    deep = "16" in raw if isinstance(raw, str) else picture.format == "PPM" and raw[-1] > 255
    return 16 if deep else 8


def _turned_pixels(pixels: Array, orientation: int) -> Array:
    """Turn a picture to how it is looked at. The orientation is that of EXIF: which sides come first, by rows."""
    turned = pixels.swapaxes(0, 1) if orientation in {5, 6, 7, 8} else pixels
    turned = turned[::-1] if orientation in {3, 4, 7, 8} else turned
    return np.ascontiguousarray(turned[:, ::-1] if orientation in {2, 3, 6, 7} else turned)


def _opencv() -> Any:  # noqa: ANN401  (a module)
    try:
        import cv2
    except ImportError:
        raise UsageError("colour of 16 bits per channel needs OpenCV, which is not installed", _INSTALL) from None
    return cv2


def _with_opencv(path: Path) -> Array:
    cv2 = _opencv()
    pixels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.dtype != np.uint16:
        raise ArrayError(f"{str(path)!r} is no readable picture of 16 bits per channel", "convert it to PNG")
    if pixels.ndim == 2 or pixels.shape[-1] == 2:
        return np.asarray(pixels if pixels.ndim == 2 else pixels[..., 0])
    return np.asarray(pixels[..., 2::-1])


def write_picture(path: Path, planes: tuple[Array, ...], bits: int) -> int:
    """Write planes of 0 to 1 as a picture; returns its bits, 8 where the format takes no more."""
    check_picture(path, len(planes), bits)
    depth = depth_of(path, len(planes), bits)
    values = planes[0] if len(planes) == 1 else np.stack(planes, axis=-1)
    if depth == FLOATS:
        _save(path, values.astype(np.float32))
        return depth
    shown = np.nan_to_num(np.clip(values.astype(np.float64), 0.0, 1.0), nan=0.0)
    pixels = np.rint(shown * (2**depth - 1)).astype(np.uint8 if depth == 8 else np.uint16)
    if depth == 16 and pixels.ndim == 3:
        encoded, content = _opencv().imencode(path.suffix, pixels[..., ::-1])
        if not encoded:
            raise ArrayError(f"{str(path)!r} cannot be written", "write a .png or .tif file")
        with written(path) as target:
            target.write_bytes(content.tobytes())
        return depth
    _save(path, pixels)
    return depth


def depth_of(path: Path, planes: int, bits: int) -> int:
    """Return the bits per channel that a picture of some depth is written with.

    >>> depth_of(Path("a.png"), 1, 16), depth_of(Path("a.jpg"), 1, 16), depth_of(Path("a.tif"), 1, FLOATS)
    (16, 8, 32)
    """
    ending = path.suffix.lower()
    if ending in _EIGHT_BIT:
        return 8
    return bits if planes == 1 and ending in _FLOATING else min(bits, 16)


def _save(path: Path, pixels: Array) -> None:
    from PIL import Image

    with written(path) as target:
        Image.fromarray(pixels).save(target)


def check_picture(path: Path, planes: int, bits: int) -> None:
    """Check before any computation that a picture can be written."""
    if not is_picture(path):
        raise UsageError(f"a picture ends in {' '.join(sorted(PICTURES))}, got {path.name!r}", "use .png")
    check_pillow(path)
    check_place(path)
    if planes == 3 and depth_of(path, planes, bits) == 16:
        _opencv()


def check_pillow(path: Path) -> None:
    """Check that a picture can be read and written."""
    if importlib.util.find_spec("PIL") is None:
        raise UsageError(
            f"{path.name!r} is a picture, which needs Pillow, which is not installed",
            "install it: pip install 'tilewright[picture]'; arrays in .npy files need nothing",
        )
