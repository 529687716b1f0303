"""Our own PNG files against Pillow's, and damaged ones."""

import importlib.util
import io
import zlib

import numpy as np
import pytest
from PIL import Image

from tilewright.base.errors import ArrayError, UsageError
from tilewright.runtime import files, pictures, png

RANDOM = np.random.default_rng(5)
MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")


def _picture(mode, height, width):
    """Smooth with noise, so that Pillow picks every filter."""
    y, x = np.mgrid[:height, :width]
    planes = [(8 * x + 5 * y * (i + 1) + RANDOM.integers(0, 3, (height, width))) % 256 for i in range(4)]
    if mode == "I;16":
        return Image.fromarray((planes[0] * 256 + planes[1]).astype(np.uint16))
    rgba = Image.fromarray(np.stack(planes, axis=-1).astype(np.uint8))
    return rgba.convert(mode)


def _bytes(picture):
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.fixture
def no_pillow(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "PIL" else found(name, *rest))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 1), (33, 50), (70, 31)])
def test_it_reads_what_pillow_writes(mode, shape):
    picture = _picture(mode, *shape)
    read = png.read_png(_bytes(picture))
    grey = mode in {"1", "L", "LA", "I;16"}
    wanted = np.asarray(picture if mode == "I;16" else picture.convert("L") if grey else picture.convert("RGB"))
    assert read.bits == (16 if mode == "I;16" else 8)
    np.testing.assert_array_equal(read.values, wanted)


@pytest.mark.parametrize("colours", [2, 3, 9])
def test_palettes_of_few_bits(colours):
    picture = _picture("RGB", 21, 13).quantize(colours)
    data = _bytes(picture)
    assert data[24] < 8
    np.testing.assert_array_equal(png.read_png(data).values, np.asarray(picture.convert("RGB")))


def test_every_filter_is_undone():
    values = RANDOM.integers(0, 256, (40, 60, 3), dtype=np.uint8)
    data = png.write_png(values)
    place = data.index(b"IDAT")
    length = int.from_bytes(data[place - 4 : place])
    rows = np.frombuffer(zlib.decompress(data[place + 4 : place + 4 + length]), dtype=np.uint8).reshape(40, -1).copy()
    rows[:, 0] = np.arange(40) % 5
    packed = zlib.compress(rows.tobytes())
    part = b"IDAT" + packed
    filtered = data[: place - 4] + len(packed).to_bytes(4) + part + zlib.crc32(part).to_bytes(4) + data[-12:]
    with Image.open(io.BytesIO(filtered)) as picture:
        np.testing.assert_array_equal(png.read_png(filtered).values, np.asarray(picture))


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_what_it_writes_others_read(shape, dtype):
    values = RANDOM.integers(0, np.iinfo(dtype).max + 1, shape, dtype=dtype)
    data = png.write_png(values)
    np.testing.assert_array_equal(png.read_png(data).values, values)
    if dtype == "uint8" or len(shape) == 2:  # Pillow has no colour of 16 bits
        with Image.open(io.BytesIO(data)) as picture:
            np.testing.assert_array_equal(np.asarray(picture), values)


def test_damaged_files_are_refused():
    """Every cut, and a flipped bit in every byte: refused, but for a cut or a flip in the last mark after the rows."""
    data = _bytes(_picture("RGB", 6, 5))
    wanted = png.read_png(data).values
    tail = data.index(b"IEND") - 4
    for cut in range(tail):
        with pytest.raises(ValueError, match=r"cut|begin|ends|no head"):
            png.read_png(data[:cut])
    for place in range(len(data)):
        flipped = data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]
        try:
            values = png.read_png(flipped).values
        except ValueError:
            continue
        assert place >= tail
        np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\0\0\0\5\0\0\0\6\x08\x02\0\0\1", "interlaced"),
        (b"\0\0\0\5\0\0\0\6\x07\x02\0\0\0", "7 bits"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\x08\x02\0\0\0", "pixels"),
        (b"\0\0\0\0\0\0\0\6\x08\x02\0\0\0", "pixels"),
        (b"\0\1\0\1\0\0\0\1\x08\x02\0\0\0", "row or column"),
        (b"\0\0\0\5\0\0\0\x7f\x08\x02\0\0\0", "last row"),
        (b"\0", "length"),
    ],
)
def test_hostile_heads(head, said):
    data = png.write_png(np.zeros((6, 5, 3), dtype=np.uint8))
    part = b"IHDR" + head
    hostile = png.SIGNATURE + len(head).to_bytes(4) + part + zlib.crc32(part).to_bytes(4) + data[33:]
    with pytest.raises(ValueError, match=said):
        png.read_png(hostile)


def test_without_pillow_a_picture_of_colour_comes_back(tmp_path, no_pillow):
    planes = tuple(RANDOM.random((3, 12, 9), dtype=np.float32))
    assert files.write_planes(tmp_path / "a.png", planes) == 0
    for back, plane in zip(files.read_planes(tmp_path / "a.png"), planes, strict=True):
        assert np.abs(back - plane).max() <= 0.5 / 255 + 1e-6
    for bits in (8, 16):  # 16 bits of colour need no OpenCV here
        assert pictures.write_picture(tmp_path / "b.png", planes, bits) == bits
        again = pictures.read_picture(tmp_path / "b.png")
        assert again.bits == bits
        for back, plane in zip(again.planes, planes, strict=True):
            assert np.abs(back - plane).max() <= 0.5 / (2**bits - 1) + 1e-6


def test_without_pillow_other_formats_say_what_to_install(tmp_path, no_pillow):
    Image.new("L", (4, 4)).save(tmp_path / "a.jpg")
    for action in (
        lambda: files.read_planes(tmp_path / "a.jpg"),
        lambda: pictures.read_picture(tmp_path / "a.jpg"),
        lambda: files.check_output(tmp_path / "b.jpg"),
    ):
        with pytest.raises(UsageError, match="Pillow") as raised:
            action()
        assert "tilewright[picture]" in str(raised.value.hint)
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(ArrayError, match="begin"):
        files.read_planes(tmp_path / "text.png")
