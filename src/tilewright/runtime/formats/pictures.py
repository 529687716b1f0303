"""Pictures with their depth: 8 and 16 bits, grey and colour, as planes of float32 from 0 to 1.

Pillow reads and writes everything but colour of 16 bits per channel, which it cuts to 8 without a word. OpenCV (the
extra ``image``) reads and writes that.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError
from tilewright.runtime.formats.files import PICTURES, check_output, check_pillow, check_there

Array = npt.NDArray[Any]
_EIGHT_BIT = frozenset({".jpg", ".jpeg", ".bmp", ".gif", ".webp"})
_INSTALL = "install it: pip install 'tilewright[image]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture.

    Attributes:
        planes: One plane of grey, or three of colour (red, green, blue), float32 from 0 to 1.
        bits: Bits per channel, 8 or 16.
    """

    planes: tuple[Array, ...]
    bits: int

    @property
    def grey(self) -> Array:
        """The luminance."""
        return self.planes[0] if len(self.planes) == 1 else luminance(*self.planes).astype(np.float32)


def luminance(red: Array, green: Array, blue: Array) -> Array:
    """Return the luminance: 0.2125 red, 0.7154 green, 0.0721 blue."""
    return np.asarray(0.2125 * red + 0.7154 * green + 0.0721 * blue)


def read_picture(path: Path) -> Picture:
    """Read a picture; transparency is dropped.

    Raises:
        ArrayError: If there is no such file, or it is no picture.
        UsageError: If its ending is no picture's, or it needs Pillow or OpenCV, which is not there.
    """
    if path.suffix.lower() not in PICTURES:
        raise UsageError(
            f"a picture ends in {' '.join(sorted(PICTURES))}, got {path.name!r}", "arrays are for `tilewright run`"
        )
    check_there(path, "a picture")
    check_pillow(path)
    deep_colour, pixels, bits = _with_pillow(path)
    if deep_colour:
        pixels, bits = _with_opencv(path), 16
    values = pixels.astype(np.float32) / np.float32(2**bits - 1)
    if values.ndim == 2:
        return Picture(planes=(values,), bits=bits)
    return Picture(planes=tuple(np.ascontiguousarray(values[..., i]) for i in range(3)), bits=bits)


def _with_pillow(path: Path) -> tuple[bool, Array, int]:
    """Whether the picture has deep colour, else its pixels and bits."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            if _has_deep_colour(picture, path):
                return True, np.empty(0), 16
            if picture.mode in {"I;16", "I;16B", "I;16L", "I;16N", "I"}:
                return False, np.clip(np.asarray(picture).astype(np.int64), 0, 65535), 16
            if picture.mode == "F":
                raise ArrayError(f"{path.name!r} holds floats, not 8 or 16 bits", "use `tilewright run` for it")
            if picture.mode in {"1", "L", "LA", "La"}:
                return False, np.asarray(picture.convert("L")), 8
            return False, np.asarray(picture.convert("RGBA").convert("RGB")), 8
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ArrayError(f"{str(path)!r} is no readable picture: {error}", "convert it to PNG") from None


def _has_deep_colour(picture: Any, path: Path) -> bool:  # noqa: ANN401  (a PIL image, which is an optional type here)
    """Whether a picture has 16 bits in several channels; Pillow shows it as one of 8 bits."""
    if path.suffix.lower() == ".png":
        with path.open("rb") as file:
            head = file.read(26)
        return len(head) == 26 and head[24] == 16 and head[25] in {2, 4, 6}
    if picture.format == "TIFF":
        bits = picture.tag_v2.get(258, (8,))
        depths = bits if isinstance(bits, tuple) else (bits,)
        return len(depths) > 1 and max(depths) == 16
    return False


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
    """Write planes of 0 to 1 as a picture.

    Args:
        path: Where; its ending decides the format. Formats of 8 bits are written with 8.
        planes: One of grey, or three of colour.
        bits: 8 or 16 per channel.

    Returns:
        The bits written.

    Raises:
        UsageError: If the ending is no picture's, its folder does not exist, or OpenCV is needed and not there.
    """
    check_picture(path, len(planes), bits)
    depth = 8 if path.suffix.lower() in _EIGHT_BIT else bits
    values = planes[0] if len(planes) == 1 else np.stack(planes, axis=-1)
    shown = np.nan_to_num(np.clip(values.astype(np.float64), 0.0, 1.0), nan=0.0)
    pixels = np.rint(shown * (2**depth - 1)).astype(np.uint8 if depth == 8 else np.uint16)
    if depth == 16 and pixels.ndim == 3:
        cv2 = _opencv()
        if not cv2.imwrite(str(path), pixels[..., ::-1]):
            raise ArrayError(f"{str(path)!r} cannot be written", "write a .png or .tif file")
        return depth
    from PIL import Image

    Image.fromarray(pixels).save(path)
    return depth


def check_picture(path: Path, planes: int, bits: int) -> None:
    """Check before any computation that a picture can be written.

    Raises:
        UsageError: If it cannot.
    """
    if path.suffix.lower() not in PICTURES:
        raise UsageError(f"a picture ends in {' '.join(sorted(PICTURES))}, got {path.name!r}", "use .png")
    check_output(path)
    if planes == 3 and bits == 16 and path.suffix.lower() not in _EIGHT_BIT:
        _opencv()
