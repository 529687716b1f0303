import abc
import importlib.util
import io
import itertools
import os

import numpy as np
import pytest
from PIL import Image

from tilewright.base.errors import ArrayError, UsageError
from tilewright.runtime.formats.files import check_output, read_planes, write_planes
from tilewright.runtime.formats.pictures import read_picture
from tilewright.verbs.gradients.checkpoints import StatesOnDisk

GREY = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_an_array_comes_back(tmp_path, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    assert write_planes(tmp_path / "a.npy", (values,)) == 0
    (back,) = read_planes(tmp_path / "a.npy")
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


def test_an_interrupt_while_an_array_is_read_or_written_is_no_error(tmp_path, monkeypatch):
    """NumPy asks in C whether an open file is a path, and what Python raises meanwhile becomes a TypeError."""
    asked = abc.ABCMeta.__instancecheck__

    def interrupted(cls, instance):
        if cls is os.PathLike and isinstance(instance, io.BufferedReader | io.BufferedWriter):
            raise KeyboardInterrupt
        return asked(cls, instance)

    monkeypatch.setattr(abc.ABCMeta, "__instancecheck__", interrupted)
    values = np.arange(1 << 18).astype(float)  # several of the pieces that are written and read
    write_planes(tmp_path / "a.npy", (values,))
    (back,) = read_planes(tmp_path / "a.npy")
    np.testing.assert_array_equal(back, values)
    (kept,) = StatesOnDisk(tmp_path).keep({"u": (values,)})["u"]
    np.testing.assert_array_equal(kept, values)


def test_a_grey_picture_comes_back_to_half_a_step(tmp_path):
    assert write_planes(tmp_path / "a.png", (GREY,)) == 0
    (back,) = read_planes(tmp_path / "a.png")
    assert back.dtype == np.float32
    assert np.abs(back - GREY).max() <= 0.5 / 255 + 1e-6


def test_a_colour_picture_has_three_planes(tmp_path):
    planes = (GREY, GREY[::-1], 1 - GREY)
    write_planes(tmp_path / "a.png", planes)
    back = read_planes(tmp_path / "a.png", "float64")
    assert len(back) == 3
    for plane, original in zip(back, planes, strict=True):
        assert plane.dtype == np.float64
        assert np.abs(plane - original).max() <= 0.5 / 255 + 1e-6


def test_modes_of_pictures(tmp_path):
    deep = np.array([[0, 65535], [32768, 1]], dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_allclose(read_planes(tmp_path / "deep.png")[0], deep / 65535, rtol=1e-6)
    Image.fromarray(np.full((2, 2, 4), 255, dtype=np.uint8), "RGBA").convert("P").save(tmp_path / "palette.png")
    assert len(read_planes(tmp_path / "palette.png")) == 3
    Image.new("1", (3, 2), 1).save(tmp_path / "bits.png")
    np.testing.assert_array_equal(read_planes(tmp_path / "bits.png")[0], np.ones((2, 3)))


def test_pictures_are_turned_as_cameras_mean_them(tmp_path):
    for orientation, (ending, dtype, channels) in itertools.product(
        range(1, 9),
        [
            ("jpg", "u1", 1),
            ("jpg", "u1", 3),
            ("png", "u1", 3),
            ("png", "u2", 1),
            ("tif", "u1", 1),
            ("tif", "u2", 1),
            ("tif", "f4", 1),
        ],
    ):
        rng = np.random.default_rng(0)
        blocks = np.kron(rng.random((4, 6)), np.ones((16, 16))) * {"u1": 255, "u2": 65535, "f4": 1}[dtype]
        pixels = blocks.astype(dtype)
        shown = np.stack([pixels] * channels, axis=-1) if channels == 3 else pixels
        exif = Image.Exif()
        exif[0x0112] = orientation
        Image.fromarray(shown).save(
            tmp_path / f"a.{ending}", exif=exif, **({"quality": 100} if ending == "jpg" else {})
        )
        first = pixels.T if orientation > 4 else pixels
        first = first[::-1] if orientation in {3, 4, 7, 8} else first
        expected = first[:, ::-1] if orientation in {2, 3, 6, 7} else first
        for planes in (read_planes(tmp_path / f"a.{ending}"), read_picture(tmp_path / f"a.{ending}").planes):
            assert len(planes) == channels, (orientation, ending, dtype, channels)
            scale = 1 if dtype == "f4" else np.iinfo(dtype).max
            np.testing.assert_allclose(planes[0], expected / scale, atol=0.02 if ending == "jpg" else 1e-6)


def test_values_that_a_picture_cannot_show_are_counted(tmp_path):
    values = np.array([[-1.0, 0.5], [np.nan, 2.0]])
    assert write_planes(tmp_path / "a.png", (values,)) == 3
    np.testing.assert_allclose(read_planes(tmp_path / "a.png")[0], [[0, 128 / 255], [0, 1]], rtol=1e-6)


def test_what_cannot_be_read_is_refused_in_one_sentence(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    whole = tmp_path / "whole.npy"
    np.save(whole, GREY)
    (tmp_path / "cut.npy").write_bytes(whole.read_bytes()[:-5])
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "empty.npy").touch()
    (tmp_path / "text.png").write_text("hello")
    for name in ("objects.npy", "cut.npy", "text.npy", "empty.npy", "text.png", "absent.npy", "absent.png"):
        with pytest.raises(ArrayError, match=name):
            read_planes(tmp_path / name)
    with pytest.raises(UsageError, match=r"ends in \.npy"):
        read_planes(tmp_path / "a.csv")


def test_where_a_result_can_be_written_is_checked_first(tmp_path):
    check_output(tmp_path / "a.npy")
    with pytest.raises(UsageError, match="no folder"):
        check_output(tmp_path / "nowhere" / "a.npy")
    with pytest.raises(UsageError, match=r"ends in \.npy"):
        check_output(tmp_path / "a.doc")
    with pytest.raises(ArrayError, match="two dimensions"):
        write_planes(tmp_path / "a.png", (np.zeros(3),))


def test_pictures_without_pillow_name_the_extra(tmp_path, monkeypatch):
    Image.new("L", (3, 2)).save(tmp_path / "a.png")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for call in (
        lambda: read_planes(tmp_path / "a.png"),
        lambda: check_output(tmp_path / "b.png"),
        lambda: read_picture(tmp_path / "a.png"),
    ):
        with pytest.raises(UsageError, match=r"needs? Pillow.*tilewright\[picture\]"):
            call()
    assert write_planes(tmp_path / "a.npy", (GREY,)) == 0
