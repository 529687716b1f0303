"""The pipelines that ship: blend, convrows, blur, sobel, canny, unsharp and harris."""

import functools
import inspect
import math
from collections.abc import Callable, Sequence

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.dtypes import is_rounded
from tilewright.base.errors import UsageError, meant
from tilewright.programs.stencil.expression import Value, apply, as_value
from tilewright.runtime.formats.pictures import luminance
from tilewright.workloads.pipelines.builder import GridBuilder, PipelineBuilder, scalar
from tilewright.workloads.pipelines.problem import Pipeline

TRUNCATE = 4.0  # standard deviations after which ``scipy.ndimage.gaussian_filter`` cuts its weights off
MAX_RADIUS = 64


def gaussian_radius(sigma: float) -> int:
    """Return the radius of a Gaussian filter, as ``scipy.ndimage`` cuts it.

    >>> gaussian_radius(1.4)
    6
    """
    if not (math.isfinite(sigma) and sigma > 0):
        raise UsageError(f"sigma is a positive number of cells, got {sigma!r}")
    return int(TRUNCATE * sigma + 0.5)


def gaussian_weights(sigma: float, radius: int) -> tuple[float, ...]:
    """Return the weights of a Gaussian filter at distances 0 to ``radius``; both sides together sum to one.

    Computed as ``scipy.ndimage`` does, to the last bit.

    >>> [round(w, 3) for w in gaussian_weights(1.0, 1)]
    [0.452, 0.274]
    """
    cells = np.arange(-radius, radius + 1)
    raw = np.exp(-0.5 / (sigma * sigma) * cells**2)
    return tuple(float(w) for w in (raw / raw.sum())[radius:])


def along(grid: GridBuilder, axis: int) -> Callable[[int], Value]:
    """Return reads of a grid at distances along one axis."""
    return lambda k: grid[tuple(k if a == axis else 0 for a in range(2))]


def symmetric(at: Callable[[int], Value], weights: Sequence[float]) -> Value:
    """Return a filter with equal weights on both sides, opposite cells added first: mirrored pictures stay mirrored."""
    total = at(0) * weights[0]
    for k in range(len(weights) - 1, 0, -1):
        total = total + (at(-k) + at(k)) * weights[k]
    return total


def antisymmetric(at: Callable[[int], Value], weights: Sequence[float]) -> Value:
    """Return a derivative filter: the differences of opposite cells at distances 1, 2, … times the weights."""
    total: Value | None = None
    for k, weight in enumerate(weights, 1):
        difference = at(k) - at(-k)
        term = difference if weight == 1.0 else difference * weight
        total = term if total is None else total + term
    assert total is not None  # noqa: S101  (every caller has at least one weight)
    return total


def sobel_weights(radius: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the smoothing weights at distances 0 … radius and the derivative weights at 1 … radius.

    Radius 1 is Sobel's (1, 2, 1) and (-1, 0, 1), larger ones are its usual extensions by binomial coefficients.

    >>> sobel_weights(1), sobel_weights(3)[1]
    (((2.0, 1.0), (1.0,)), (5.0, 4.0, 1.0))
    """
    if not 1 <= radius <= 8:
        raise UsageError(f"the radius of a gradient is 1 to 8, got {radius!r}")
    smooth = [math.comb(2 * radius, radius + k) for k in range(radius + 1)]
    row = [math.comb(2 * radius - 2, k) for k in range(2 * radius - 1)]
    wide = [0, 0, *row, 0, 0]
    derivative = [wide[i] - wide[i + 2] for i in range(len(wide) - 2)]
    return tuple(map(float, smooth)), tuple(map(float, derivative[radius + 1 :]))


def nonmaximum(row: GridBuilder, column: GridBuilder, magnitude: GridBuilder) -> Value:
    """Return a gradient's magnitude where it is largest across the edge, else 0; ``row`` is the part along axis 0.

    scikit-image's definition: the two neighbours along the gradient are interpolated between cells.
    """

    def where(condition: Value, a: Value, b: Value) -> Value:
        return apply("where", condition, a, b)

    i, j, m = row[0, 0], column[0, 0], magnitude
    same = apply("eq", i > 0, j > 0)
    high, wide = abs(i), abs(j)
    steep = high > wide
    low, top = apply("minimum", high, wide), apply("maximum", high, wide)
    share = low / top
    below, above = where(same, m[1, 0], m[-1, 0]), where(same, m[-1, 0], m[1, 0])
    ahead = where(steep, below, m[0, 1])
    behind = where(steep, above, m[0, -1])
    plus = where(same, m[1, 1], m[-1, 1]) * share + ahead * (1 - share)
    minus = where(same, m[-1, -1], m[1, -1]) * share + behind * (1 - share)
    largest = (plus <= m[0, 0]) & (minus <= m[0, 0])
    return where(largest, m[0, 0], as_value(0))


def _gaussian(
    b: PipelineBuilder, grid: GridBuilder, weights: Sequence[float], axes: tuple[int, ...] = (1, 0)
) -> GridBuilder:
    for axis in axes:
        grid = b.apply(("blur_columns", "blur_rows")[axis], symmetric(along(grid, axis), weights))
    return grid


def _gradients(b: PipelineBuilder, grid: GridBuilder, radius: int) -> tuple[GridBuilder, GridBuilder]:
    """The gradients along axis 1 (X, the paper's S3 and S4) and along axis 0 (Y, its S5 and S6)."""
    smooth, derivative = sobel_weights(radius)
    g4 = b.apply("gradient_x_row", antisymmetric(along(grid, 1), derivative))
    g5 = b.apply("gradient_x_column", symmetric(along(g4, 0), smooth))
    g6 = b.apply("gradient_y_row", symmetric(along(grid, 1), smooth))
    return g5, b.apply("gradient_y_column", antisymmetric(along(g6, 0), derivative))


def _length(b: PipelineBuilder, x: GridBuilder, y: GridBuilder) -> GridBuilder:
    value = apply("sqrt", y[0, 0] * y[0, 0] + x[0, 0] * x[0, 0])
    return b.apply("magnitude", value)


def _radius(radius: int | None, sigma: float | None) -> tuple[int, float]:
    """Radius and sigma of a Gaussian filter; sigma decides the radius unless that is given, and the other way round."""
    if sigma is None:
        chosen = 3 if radius is None else radius
        sigma = max(chosen, 1) / 3.0
    else:
        chosen = gaussian_radius(sigma) if radius is None else radius
        gaussian_radius(sigma)
    if not 0 <= chosen <= MAX_RADIUS:
        raise UsageError(f"the radius of a filter is 0 to {MAX_RADIUS} cells, got {chosen}", "use a smaller sigma")
    return chosen, sigma


def blend(whole: bool = True) -> Pipeline:
    """Two pictures laid over each other: (1 - alpha) a + alpha b (12).

    ``whole``, the default, is the paper's: pictures of bytes, with alpha in 128ths so that products fit 16 bits; the
    result is rounded to nearest. Otherwise pictures are of floats and alpha is 0 to 1.
    """
    b = PipelineBuilder("blend")
    first, second, alpha = b.input("a"), b.input("b"), scalar(b.input("alpha").name)
    if not whole:
        mixed = b.apply("blend", first[0, 0] * (1 - alpha) + second[0, 0] * alpha)
        return b.finish((mixed,), "two pictures laid over each other, with weights 1 - alpha and alpha")
    wide = [grid.astype("int16") for grid in (first, second)]
    mixed = b.apply("blend", (wide[0][0, 0] * (128 - alpha) + wide[1][0, 0] * alpha + 64) >> 7)
    return b.finish((mixed.astype("uint8"),), "two pictures of bytes laid over each other, alpha in 128ths")


def convrows(radius: int | None = None, sigma: float | None = None) -> Pipeline:
    """Convolution on rows with 2 radius + 1 weights (19)."""
    r, s = _radius(radius, sigma)
    b = PipelineBuilder("convrows")
    image = b.input("image")
    result = b.apply("convolve_rows", symmetric(along(image, 1), gaussian_weights(s, r)))
    return b.finish((result,), f"convolution on rows with {2 * r + 1} weights")


def blur(radius: int | None = None, sigma: float | None = None) -> Pipeline:
    """Gaussian blur: rows, then columns (table 2)."""
    r, s = _radius(radius, sigma)
    b = PipelineBuilder("blur")
    image = b.input("image")
    result = _gaussian(b, image, gaussian_weights(s, r))
    return b.finish((result,), f"Gaussian blur of radius {r}, sigma {s:g}")


def sobel(gradient: int = 1) -> Pipeline:
    """Length of Sobel's gradient."""
    b = PipelineBuilder("sobel")
    x, y = _gradients(b, b.input("image"), gradient)
    return b.finish((_length(b, x, y),), "length of Sobel's gradient")


def canny(radius: int | None = None, sigma: float | None = None, gradient: int | None = None) -> Pipeline:
    """Canny's edges up to non-maximum suppression: the paper's eight stencils (table 10).

    Without sigma, the paper's radii: 3 for the blur and 3 for the gradients. With sigma, scikit-image's definition:
    Sobel's gradients of radius 1.
    """
    r, s = _radius(radius, sigma)
    b = PipelineBuilder("canny")
    smooth = _gaussian(b, b.input("image"), gaussian_weights(s, r))
    x, y = _gradients(b, smooth, gradient or (3 if sigma is None else 1))
    m = _length(b, x, y)
    edges = b.apply("nonmaximum", nonmaximum(y, x, m))
    return b.finish((edges,), "Canny's edges up to non-maximum suppression: the eight stencils of the paper")


def _luminance(b: PipelineBuilder, dtype: str, colour: bool, kind: str) -> GridBuilder:
    """The luminance of a picture in floating point: the one grid of a grey one, of colours a mean of the three."""
    given = [b.input(title) for title in (("red", "green", "blue") if colour else ("image",))]
    planes = given if is_rounded(dtype) else [grid.astype(kind) for grid in given]
    if not colour:
        return planes[0]
    return b.apply("luminance", luminance(*(plane[0, 0] for plane in planes)))


def _largest(dtype: str) -> float:
    """The number that stands for 1 in a picture."""
    return 1.0 if is_rounded(dtype) else float(np.iinfo(dtype).max)


@functools.lru_cache(maxsize=16)
def sobel_of_pictures(dtype: str, colour: bool) -> Pipeline:
    """Return the length of Sobel's gradient, at most 1, of a picture as it is; whole numbers are taken in float32."""
    smooth, derivative = sobel_weights(1)
    b = PipelineBuilder("sobel")
    grey = _luminance(b, dtype, colour, "float32")
    across = b.apply("gradient_x_column", symmetric(along(grey, 0), smooth))
    down = b.apply("gradient_y_column", antisymmetric(along(grey, 0), derivative))
    x, y = antisymmetric(along(across, 1), derivative), symmetric(along(down, 1), smooth)
    length = apply("sqrt", y * y + x * x) / (4 * math.sqrt(2) * _largest(dtype))
    return b.finish((b.apply("magnitude", length),))


@functools.lru_cache(maxsize=16)
def canny_as_scikit(sigma: float, weighted: bool, dtype: str, colour: bool) -> Pipeline:
    """Return Canny's edges, every operation in the order of scikit-image and SciPy: columns before rows.

    Where a picture is flat or repeats itself, neighbours on a ridge tie, and the last bit decides which one is an edge.
    Cells are bytes: 2 of at least ``high``, 1 of at least ``low``, 0. Whole numbers are taken in float64. If
    ``weighted``, the blurred picture is divided by the sum of the weights inside it, of which a second input has those
    along the columns.
    """
    weights = gaussian_weights(sigma, _radius(None, sigma)[0])
    smooth, derivative = sobel_weights(1)
    b = PipelineBuilder("canny_as_scikit")
    grey = _luminance(b, dtype, colour, "float64")
    low, high = (scalar(b.input(title).name) for title in ("low", "high"))
    scale = 1 / _largest(dtype)
    reads = along(grey, 0)
    columns = b.apply("blur_columns", symmetric(reads if scale == 1 else lambda k: reads(k) * scale, weights))
    blurred = symmetric(along(columns, 1), weights)
    if weighted:
        epsilon = float(np.finfo(dtype if is_rounded(dtype) else "float64").eps)
        blurred = blurred / (symmetric(along(b.input("inside"), 1), weights) + epsilon)
    soft = b.apply("blur_rows", blurred)
    x = b.apply(
        "gradient_x_column", symmetric(along(b.apply("gx", antisymmetric(along(soft, 1), derivative)), 0), smooth)
    )
    y = b.apply("gradient_y_row", symmetric(along(b.apply("gy", antisymmetric(along(soft, 0), derivative)), 1), smooth))
    m = _length(b, x, y)
    edge = nonmaximum(y, x, m)
    strong = apply("where", edge >= high, as_value(2), as_value(1))
    kind = apply("where", (edge > 0) & (edge >= low), strong, as_value(0))
    return b.finish((b.apply("nonmaximum", kind).astype("uint8", "truncate"),))


@functools.lru_cache(maxsize=16)
def sums_inside(sigma: float) -> Pipeline:
    """Return the sums of a Gaussian filter's weights along the columns, of ones."""
    b = PipelineBuilder("inside")
    return b.finish((_gaussian(b, b.input("one"), gaussian_weights(sigma, _radius(None, sigma)[0]), axes=(0,)),))


@functools.lru_cache(maxsize=16)
def blur_as_scipy(sigmas: tuple[float, float], dtype: str) -> Pipeline:
    """Return a Gaussian blur that filters columns first, as SciPy does; of whole numbers in float32, rounded.

    Along an axis whose standard deviation is 0 nothing is blurred.
    """
    b = PipelineBuilder("blur")
    image = b.input("image")
    soft = image if is_rounded(dtype) else image.astype("float32")
    for axis, sigma in enumerate(sigmas):
        if sigma:
            soft = _gaussian(b, soft, gaussian_weights(sigma, _radius(None, sigma)[0]), axes=(axis,))
    if soft is image:
        soft = b.apply("copy", image[0, 0])
    return b.finish((soft if is_rounded(dtype) else soft.astype(dtype),))


def unsharp(radius: int | None = None, sigma: float | None = None) -> Pipeline:
    """Unsharp mask: the picture plus ``amount`` times what a blur takes away."""
    r, s = _radius(radius, sigma)
    b = PipelineBuilder("unsharp")
    image = b.input("image")
    amount = b.input("amount")
    smooth = _gaussian(b, image, gaussian_weights(s, r))
    factor = scalar(amount.name)
    result = b.apply("sharpen", image[0, 0] + (image[0, 0] - smooth[0, 0]) * factor)
    return b.finish((result,), "unsharp mask: the picture plus `amount` times what a blur takes away")


def harris(radius: int | None = None, sigma: float | None = None) -> Pipeline:
    """Harris's corner response: determinant less k times the squared trace of the smoothed structure tensor."""
    r, s = _radius(radius, sigma)
    b = PipelineBuilder("harris")
    image, k = b.input("image"), b.input("k")
    x, y = _gradients(b, image, 1)
    weights = gaussian_weights(s, r)
    products = [b.apply(name, p[0, 0] * q[0, 0]) for name, p, q in (("xx", x, x), ("xy", x, y), ("yy", y, y))]
    xx, xy, yy = (_gaussian(b, grid, weights) for grid in products)
    trace = xx[0, 0] + yy[0, 0]
    response = xx[0, 0] * yy[0, 0] - xy[0, 0] * xy[0, 0] - trace * trace * scalar(k.name)
    return b.finish((b.apply("response", response),), "Harris's corner response")


MAKERS: dict[str, Callable[..., Pipeline]] = {
    make.__name__: make for make in (blend, convrows, blur, sobel, canny, unsharp, harris)
}
"""What makes each pipeline."""
INPUT_DTYPE = {"blend": "uint8"}  # element types that the paper's listings use, where they are not float32
SCALARS = {"alpha": 64.0, "amount": 1.0, "k": 0.05}  # default values of scalars


@checked
@functools.lru_cache(maxsize=64)
def pipeline(name: str, **options: float | bool | None) -> Pipeline:
    """Return one of :data:`MAKERS`' pipelines, with what its maker takes: ``radius``, ``sigma``, ``gradient``.

    >>> len(pipeline("canny").stencils)
    8
    """
    if name not in MAKERS:
        raise UsageError(
            f"there is no pipeline {name!r}", meant(name, MAKERS, f"the pipelines are {', '.join(MAKERS)}")
        )
    parameters = inspect.signature(MAKERS[name]).parameters
    for option in options:
        if option not in parameters:
            hint = f"it takes {', '.join(parameters)}" if parameters else "it takes none"
            raise UsageError(f"pipeline {name!r} takes no option {option!r}", hint)
    return checked(MAKERS[name])(**options)
