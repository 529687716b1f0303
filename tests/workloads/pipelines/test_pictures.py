"""Pictures as they are: whole numbers, channels side by side, boundaries, sizes and how they lie in memory."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError
from tilewright.workloads.pipelines.problem import DTYPES, ROUNDINGS, convert

TYPES = ("uint8", "uint16", "float32", "float64")
TOLERANCE = {"uint8": 0.51, "uint16": 0.6, "float32": 2e-6, "float64": 1e-13}
"""Of a result from that of real numbers: half a count, where it is rounded."""
BORDERS = ("reflect", "nearest", "mirror", "wrap", "constant:0.3", "constant:1.0")


def picture(dtype, shape, seed=0):
    values = np.random.default_rng(seed).random(shape)
    return (values * largest(dtype)).astype(dtype)


def largest(dtype):
    return 1.0 if dtype.startswith("f") else float(np.iinfo(dtype).max)


def by_channel(image, function):
    """Apply a function to each channel, in float64."""
    values = image.astype(np.float64)
    if image.ndim == 2:
        return function(values)
    return np.stack([function(values[..., k]) for k in range(image.shape[-1])], axis=-1)


def smooth(image, sigma, border="reflect"):
    """SciPy's blur, not cut off where it is wide."""
    mode, _, value = border.partition(":")
    cval = float(value or 0) * largest(str(image.dtype))

    def along_both(plane):
        for axis, each in enumerate(sigma if isinstance(sigma, tuple) else (sigma, sigma)):
            if each:
                truncate = 6.0 if each > 16 else 4.0
                plane = ndimage.gaussian_filter1d(plane, each, axis, mode=mode, cval=cval, truncate=truncate)
        return plane

    return by_channel(image, along_both)


def assert_near(found, image, expected):
    assert found.dtype == image.dtype
    assert found.shape == image.shape
    assert np.abs(found - expected).max() <= TOLERANCE[str(image.dtype)]


@pytest.mark.parametrize(("dtype", "channels"), [*itertools.product(TYPES, ((), (3,))), ("uint8", (4,))])
def test_blurs_are_those_of_real_numbers(dtype, channels):
    draw = np.random.default_rng(len(dtype) + len(channels))
    for border in BORDERS:
        shape = tuple(draw.choice((1, 2, 7, 30, 301), 2))
        image = picture(dtype, (*map(int, shape), *channels))
        expected = smooth(image, 1.3, border)
        assert_near(tw.image.blur(image, 1.3, boundary=border), image, expected)
        assert_near(tw.image.blur(image, 1.3, boundary=border, backend="numpy"), image, expected)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_however_a_picture_lies(channels):
    image = picture("uint8", (60, 90, *channels))
    expected = tw.image.blur(image, 1.0)
    wide = np.zeros((60, 200, *channels), np.uint8)
    wide[:, 20:110] = image
    deep = np.zeros((*image.shape, 2), np.uint8)
    deep[..., 0] = image
    turned = np.ascontiguousarray(np.swapaxes(image, 0, 1)).swapaxes(0, 1)
    for view in (wide[:, 20:110], deep[..., 0], turned, image[::-1].copy()[::-1], image[:, ::-1].copy()[:, ::-1]):
        np.testing.assert_array_equal(tw.image.blur(view, 1.0), expected)
    out = np.empty_like(image)
    assert tw.image.blur(image, 1.0, out=out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(tw.image.blur(image, 1.0, out=image), expected)


def test_a_side_by_name_and_constants_between_counts():
    image = picture("uint8", (20, 30))
    assert_near(tw.image.blur(image, 1.0, boundary={"image": "wrap", "G3": "wrap"}), image, smooth(image, 1.0, "wrap"))
    mixed = ndimage.gaussian_filter(image.astype(float), 1.0, mode=("nearest", "wrap"))
    assert_near(tw.image.blur(image, 1.0, boundary=("nearest", "wrap")), image, mixed)


@pytest.mark.parametrize("source", DTYPES)
def test_conversions_are_those_of_numpy(source):
    numbers = [0, 1, 2, 127, 128, 254, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2.0**40]
    if source.startswith("f"):
        numbers += [0.5, 1.5, 2.5, 254.5, 255.5, 0.49, 3.99, np.inf, np.nan]
        values = np.array([*numbers, *(-np.array(numbers))], dtype=source)
    else:
        kind = np.iinfo(source)
        values = np.array([n for n in (*numbers, *(-np.array(numbers))) if kind.min <= n <= kind.max], dtype=source)
    values = np.resize(values, (3, 45))
    cases = [(target, rounding) for target in DTYPES for rounding in ROUNDINGS]
    turned = tw.pipeline(lambda u: tuple(u.astype(*case) for case in cases), name="turned")
    for (target, rounding), found in zip(cases, turned(values, fusion="full"), strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, convert(values, target, rounding), f"{target} {rounding}")


def luminance(image):
    values = image / largest(str(image.dtype))
    return values if image.ndim == 2 else values[..., :3] @ [0.2125, 0.7154, 0.0721]


@pytest.mark.parametrize(("dtype", "channels"), [*itertools.product(TYPES, ((), (3,))), ("uint8", (4,))])
def test_gradients_are_those_of_the_luminance(dtype, channels):
    tolerance = 1e-13 if dtype == "float64" else 2e-6
    for border, shape in zip(BORDERS, ((1, 1), (2, 40), (40, 2), (33, 70), (5, 301), (64, 64)), strict=True):
        image = picture(dtype, (*shape, *channels))
        mode, _, value = border.partition(":")
        along = [ndimage.sobel(luminance(image), k, mode=mode, cval=float(value or 0)) for k in range(2)]
        kind = "float64" if dtype == "float64" else "float32"
        for backend in ("c", "numpy"):
            found = tw.image.sobel(image, boundary=border, backend=backend)
            assert found.dtype == kind
            if mode != "constant":  # constants stand beyond what lies between the axes too
                np.testing.assert_allclose(found, np.hypot(*along) / 32**0.5, atol=tolerance)
        np.testing.assert_allclose(found, tw.image.sobel(image, boundary=border), atol=tolerance)


@pytest.mark.parametrize(("dtype", "channels"), [("uint8", ()), ("uint8", (3,)), ("uint16", ()), ("float32", (3,))])
def test_edges_are_those_of_the_luminance(dtype, channels):
    from skimage import feature

    image = smooth(picture(dtype, (64, 90, *channels)), 2.0).astype(dtype)
    grey = luminance(image).astype(np.float32 if dtype == "float32" else np.float64)
    for mode in (None, "nearest", "reflect"):
        options = {} if mode is None else {"mode": mode}
        expected = feature.canny(grey, 1.2, low_threshold=0.01, high_threshold=0.05, **options)
        found = tw.image.canny(image, 1.2, 0.01, 0.05, boundary=mode)
        assert 20 < np.count_nonzero(expected) < expected.size / 2
        assert np.count_nonzero(expected != (found > 0)) <= 3  # a colour's last bit may decide between equals
        np.testing.assert_array_equal(found, tw.image.canny(image, 1.2, 0.01, 0.05, boundary=mode, backend="numpy"))
        wide = np.repeat(image, 2, axis=1)[:, ::2]
        np.testing.assert_array_equal(found, tw.image.canny(wide, 1.2, 0.01, 0.05, boundary=mode, threads=1))


def test_values_of_a_row_that_lie_apart_are_read_where_they_are():
    image = picture("float32", (40, 50, 4))
    blur = tw.pipeline("blur", radius=2)
    for plane in (image[..., 1], image[:, ::2, 0], image[:1, :, 0].repeat(3, 0), image[:, :1, 2], image[..., 3].T):
        for border in ("reflect", "wrap"):
            expected = blur(np.ascontiguousarray(plane), boundary=border)
            np.testing.assert_array_equal(blur(plane, boundary=border), expected)
        np.testing.assert_array_equal(blur(plane, iterations=2), blur(blur(np.ascontiguousarray(plane))))
    row = np.broadcast_to(image[:, :1, 0], (40, 50))
    np.testing.assert_array_equal(blur(row), blur(row.copy()))


@pytest.mark.parametrize("sigmas", [(1.0, 3.0), (0, 2.0), (2.0, 0), (0, 0)])
def test_a_pair_of_sigmas(sigmas):
    image = picture("uint8", (30, 41, 3))
    assert_near(tw.image.blur(image, sigmas), image, smooth(image, sigmas))
    assert_near(tw.image.blur(image[..., 0], sigmas), image[..., 0], smooth(image[..., 0], sigmas))


@pytest.mark.parametrize(("shape", "channels"), [((60, 90), (3,)), ((300, 40), ()), ((5, 7), (4,)), ((1, 1), (3,))])
def test_wide_blurs_are_recursions(shape, channels):
    every = ((20.0,) * 2, (17.0, 0), (2.0, 33.0), (50.0,) * 2, (18.0,) * 2, (0, 400.0))
    for border, sigmas in zip(BORDERS, every, strict=True):
        for dtype in TYPES:
            image = picture(dtype, (*shape, *channels))
            span = np.ptp(image.astype(np.float64)) + largest(dtype) * border.startswith("constant")
            found = tw.image.blur(image, sigmas, boundary=border)
            assert found.dtype == image.dtype
            rounding = 0.5 if dtype.startswith("u") else 1e-7
            assert np.abs(found - smooth(image, sigmas, border)).max() <= 1e-4 * span + rounding


def test_batches_are_computed_picture_by_picture():
    video = picture("uint8", (3, 40, 50, 3))
    for compute in (lambda x, **o: tw.image.blur(x, 1.3, **o), tw.image.sobel, tw.image.canny):
        found = compute(video)
        for number, each in enumerate(video):
            np.testing.assert_array_equal(found[number], compute(each))
        grey = video[..., :1]
        np.testing.assert_array_equal(np.squeeze(compute(grey)[1]), compute(grey[1, ..., 0]))
    out = np.empty_like(video)
    assert tw.image.blur(video, 1.3, out=out) is out
    np.testing.assert_array_equal(out, tw.image.blur(video, 1.3))
    assert tw.image.blur(video[..., :1]).shape == (3, 40, 50, 1)


def test_mistakes_in_pictures_are_one_sentence():
    image = np.zeros((8, 9, 3), np.uint8)
    for sigma, message in (
        (0.0, "positive number"),
        ((1.0, -1.0), "positive number"),
        ((1.0, 2.0, 3.0), "a pair of numbers"),
    ):
        with pytest.raises(UsageError, match=message):
            tw.image.blur(image, sigma)
    with pytest.raises(UsageError, match="is a recursion, which takes no option 'strict'"):
        tw.image.blur(image, 40.0, strict=True)
    with pytest.raises(ArrayError, match="of memory but"):
        tw.image.blur(image, 1e12)
    for shape in ((2, 8, 9, 2), (0, 8, 9, 3), (2, 8, 0, 1), (8, 9, 1)):
        with pytest.raises(ArrayError, match="a picture is grey, of two dimensions of at least 1 cell, or colour"):
            tw.image.blur(np.zeros(shape, np.uint8))
