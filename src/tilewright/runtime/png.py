"""PNG pictures without a library, so that a plain install reads and writes them; Pillow reads every other format.

Every depth and colour type of the format (ISO/IEC 15948) is read but interlaced files; 8 bits are written. The five
row filters take left, upper and upper left neighbours, so all pixels of an anti-diagonal are independent of each other
and are undone together.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS, MOST_IN_A_ROW = 2**27, 2**16
"""Larger pictures are refused before their pixels are unpacked: work is per pixel, and per row and column."""

_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_CHANNELS = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8), _RGB: (8, 16), _GREY_ALPHA: (8, 16), _RGBA: (8, 16)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """What a PNG file holds, transparency dropped.

    Attributes:
        values: Height x width, or height x width x 3; from 0 to ``2**bits - 1``.
        bits: 8 or 16; grey of fewer bits is scaled to 8.
    """

    values: npt.NDArray[np.unsignedinteger[Any]]
    bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    width: int
    height: int
    depth: int
    colour: int

    @property
    def pixel_bytes(self) -> int:
        """Distance of the left neighbour, at least 1."""
        return max(1, _CHANNELS[self.colour] * self.depth // 8)

    @property
    def row_bytes(self) -> int:
        return -(-self.width * _CHANNELS[self.colour] * self.depth // 8)


def read_png(data: bytes) -> Pixels:
    """Read the pixels of a PNG file.

    Raises:
        ValueError: If it is cut, damaged, interlaced or larger than ``MOST_PIXELS``.
    """
    head, palette, packed = _parts(data)
    size = head.height * (head.row_bytes + 1)
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(packed, size)
    except zlib.error as error:
        raise ValueError(f"its pixels cannot be unpacked ({error})") from None
    if len(raw) != size:
        raise ValueError("it ends before its last row")
    rows = np.frombuffer(raw, dtype=np.uint8).reshape(head.height, head.row_bytes + 1)
    if int(rows[:, 0].max()) > 4:
        raise ValueError("it names an unknown row filter")
    return _pixels(head, palette, _undo_filters(rows[:, 0], rows[:, 1:], head.pixel_bytes))


def _parts(data: bytes) -> tuple[_Head, bytes, bytes]:
    """The head, the palette and the packed rows."""
    head: _Head | None = None
    palette, packed = b"", []
    for kind, body in _chunks(data):
        if kind == b"IHDR":
            head = _head(body)
        elif kind == b"PLTE":
            palette = body
        elif kind == b"IDAT":
            packed.append(body)
        elif kind == b"IEND":
            break
    if head is None:
        raise ValueError("it has no head")
    return head, palette, b"".join(packed)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(SIGNATURE):
        raise ValueError("it does not begin as a PNG file does")
    place = len(SIGNATURE)
    while place < len(data):
        if place + 12 > len(data):
            raise ValueError("it is cut short")
        length, kind = struct.unpack_from(">I4s", data, place)
        end = place + 8 + length
        if end + 4 > len(data):
            raise ValueError("it is cut short")
        if zlib.crc32(data[place + 4 : end]) != struct.unpack_from(">I", data, end)[0]:
            raise ValueError(f"its part {kind!r} is damaged")
        yield kind, data[place + 8 : end]
        place = end + 4


def _head(body: bytes) -> _Head:
    if len(body) != 13:
        raise ValueError("its head has another length")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
    if depth not in _DEPTHS.get(colour, ()):
        raise ValueError(f"it has colour type {colour} of {depth} bits, which the format does not know")
    if not 0 < width * height <= MOST_PIXELS or max(width, height) > MOST_IN_A_ROW:
        raise ValueError(
            f"it has {width} x {height} pixels, read are {MOST_PIXELS}, {MOST_IN_A_ROW} in a row or column"
        )
    if interlaced:
        raise ValueError("it is interlaced, which needs Pillow: pip install 'tilewright[picture]'")
    return _Head(width=width, height=height, depth=depth, colour=colour)


def _undo_filters(kinds: Bytes, filtered: Bytes, step: int) -> Bytes:
    """Rows of bytes from filtered rows: height x bytes of a row.

    Diagonal ``d`` holds pixel ``d - y`` of every row ``y``. A row and a pixel of zeros stand before the first.
    """
    if not kinds.any():
        return filtered
    height, width = filtered.shape
    columns = -(-width // step)
    done = np.zeros((height + 1, (columns + 1) * step), dtype=np.uint8)
    done[1:, step : step + width] = filtered
    flat, stride = done.reshape(-1), done.shape[1]
    offsets = np.arange(step)
    kind = kinds[:, None]
    for diagonal in range(height + columns - 1):
        first, last = max(0, diagonal - columns + 1), min(height, diagonal + 1)
        rows = np.arange(first, last)[:, None]
        here = (rows + 1) * stride + (diagonal - rows + 1) * step + offsets
        flat[here] += _predicted(
            kind[first:last], flat[here - step], flat[here - stride], flat[here - stride - step]
        )  # modulo 256, as the format says
    return done[1:, step : step + width]


def _predicted(kind: Bytes, left: Bytes, up: Bytes, corner: Bytes) -> Bytes:
    """What each filter subtracted: nothing, left, up, their mean, or whichever is nearest to left + up - corner."""
    a, b, c = (each.astype(np.int16) for each in (left, up, corner))
    to_left, to_up, to_corner = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    paeth = np.where((to_left <= to_up) & (to_left <= to_corner), a, np.where(to_up <= to_corner, b, c))
    chosen = np.select([kind == 1, kind == 2, kind == 3, kind == 4], [a, b, (a + b) >> 1, paeth], np.int16(0))
    return chosen.astype(np.uint8)


def _pixels(head: _Head, palette: bytes, rows: Bytes) -> Pixels:
    if head.depth < 8:
        shifts = np.arange(8 - head.depth, -1, -head.depth, dtype=np.uint8)
        rows = ((rows[..., None] >> shifts) & np.uint8(2**head.depth - 1)).reshape(head.height, -1)[:, : head.width]
    if head.colour == _PALETTE:
        colours = np.frombuffer(palette[: len(palette) // 3 * 3], dtype=np.uint8).reshape(-1, 3)
        if int(rows.max()) >= len(colours):
            raise ValueError("it uses a colour that its palette does not have")
        return Pixels(values=colours[rows], bits=8)
    if head.depth < 8:
        return Pixels(values=rows * np.uint8(255 // (2**head.depth - 1)), bits=8)
    values = np.ascontiguousarray(rows).view(">u2").astype(np.uint16) if head.depth == 16 else rows
    values = values.reshape(head.height, head.width, -1)
    kept = values[..., 0] if head.colour in {_GREY, _GREY_ALPHA} else values[..., :3]
    return Pixels(values=np.ascontiguousarray(kept), bits=head.depth)


def write_png(values: npt.NDArray[np.unsignedinteger[Any]]) -> bytes:
    """A PNG file of grey (height x width) or colour (height x width x 3), 8 or 16 bits as the values are."""
    height, width = values.shape[:2]
    colour = _GREY if values.ndim == 2 else _RGB
    bits = 8 * values.dtype.itemsize
    big_endian = np.ascontiguousarray(values.astype(f">u{values.dtype.itemsize}"))
    rows = np.zeros((height, 1 + big_endian[0].nbytes), dtype=np.uint8)  # filter 0 before every row
    rows[:, 1:] = big_endian.view(np.uint8).reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
