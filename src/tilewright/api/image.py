"""The pipelines on pictures: ``tilewright image`` and ``tw.image``."""

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.api.pipelines import StencilPipeline, pipeline
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_seconds
from tilewright.programs import pipelines as catalogue
from tilewright.programs.problem import BoundarySpec
from tilewright.runtime.hysteresis import hysteresis
from tilewright.runtime.pictures import check_picture, read_picture, write_picture

Array = npt.NDArray[Any]
LOW, HIGH = 0.1, 0.2
"""scikit-image's default thresholds, as fractions of the picture's range."""
OPERATIONS = ("blur", "canny", "sobel")


def blur(image: Any, sigma: float = 1.0, *, border: BoundarySpec = "reflect", **options: Any) -> Array:  # noqa: ANN401
    """Blur with a Gaussian filter, as ``scipy.ndimage.gaussian_filter`` defines it.

    Args:
        image: Two-dimensional, float32 or float64.
        sigma: Standard deviation in cells.
        border: What lies outside, with ``scipy.ndimage``'s names.
        **options: What a pipeline takes: ``threads``, ``fusion``, ``strict``, ``out``.

    Returns:
        The blurred picture.
    """
    result: Array = pipeline("blur", sigma=float(sigma))(_floats(image), border=border, **options)
    return result


def sobel(image: Any, *, border: BoundarySpec = "reflect", **options: Any) -> Array:  # noqa: ANN401
    """Return the length of Sobel's gradient, scaled as ``skimage.filters.sobel`` does: 1 is the steepest edge.

    Args:
        image: Two-dimensional, float32 or float64.
        border: What lies outside.
        **options: What a pipeline takes.
    """
    length: Array = pipeline("sobel")(_floats(image), border=border, **options)
    scaled: Array = length / length.dtype.type(4 * math.sqrt(2))
    return scaled


def canny(
    image: Any,  # noqa: ANN401
    sigma: float = 1.0,
    low: float = LOW,
    high: float = HIGH,
    *,
    border: BoundarySpec | None = None,
    **options: Any,  # noqa: ANN401
) -> npt.NDArray[np.uint8]:
    """Find edges as ``skimage.feature.canny`` defines them.

    Args:
        image: Two-dimensional, float32 or float64.
        sigma: Standard deviation of the blur in cells.
        low: Lower threshold of the gradient's length.
        high: Upper threshold.
        border: What lies outside; by default nothing does, and the blur's weights are those of the cells inside, as
            scikit-image's ``mode="constant"``.
        **options: What a pipeline takes.

    Returns:
        255 on edges, 0 elsewhere.

    Raises:
        UsageError: If the thresholds are not 0 <= low <= high.
    """
    if not (math.isfinite(low) and math.isfinite(high) and 0 <= low <= high):
        raise UsageError(f"the thresholds are numbers with 0 <= low <= high, got low {low!r} and high {high!r}")
    values = _floats(image)
    strength = _suppressed(values, float(sigma), border, options)
    strength[[0, -1], :] = 0  # who knows what lies beyond the edge of the picture
    strength[:, [0, -1]] = 0
    return hysteresis(strength, low, high)


def _suppressed(values: Array, sigma: float, border: BoundarySpec | None, options: dict[str, Any]) -> Array:
    """Canny up to non-maximum suppression, every operation rounded as scikit-image's."""
    result: Array
    exactly = {"strict": True, **options}
    if border is not None:
        whole = StencilPipeline(catalogue.canny_as_scikit(sigma, False))
        result = whole(values, border=border, **exactly)
        return result
    share = StencilPipeline(catalogue.blur_as_scipy(sigma))(np.ones_like(values), border="constant", **exactly)
    weight = share + np.finfo(values.dtype).eps
    spec = {"image": "constant", "weight": "nearest", "G3": "constant"}
    result = StencilPipeline(catalogue.canny_as_scikit(sigma, True))(values, weight, border=spec, **exactly)
    return result


def _floats(image: Any) -> Array:  # noqa: ANN401
    values = np.asarray(image)
    if values.ndim != 2 or 0 in values.shape:
        raise ArrayError(f"a picture has two dimensions of at least 1 cell, got {values.shape}", "give one plane")
    if values.dtype not in {np.dtype("float32"), np.dtype("float64")}:
        raise ArrayError(
            f"a picture is float32 or float64, got {values.dtype}", "divide it by the largest value: image / 255"
        )
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Processed:
    """What ``tilewright image`` did."""

    operation: str
    source: str
    target: str
    shape: tuple[int, ...]
    channels: int
    bits: int
    seconds: float
    edges: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        found = "" if self.edges is None else f", {self.edges} edge cells"
        kind = "colour" if self.channels == 3 else "grey"
        return (
            f"{self.operation}: {self.source} -> {self.target}, {size} {kind}, {self.bits} bits, "
            f"computed in {format_seconds(self.seconds)}{found}"
        )


def process(
    operation: str,
    source: Path,
    target: Path,
    *,
    sigma: float = 1.0,
    low: float = LOW,
    high: float = HIGH,
    border: str | None = None,
    threads: int | None = None,
) -> Processed:
    """Apply a pipeline to a picture in a file.

    Args:
        operation: One of :data:`OPERATIONS`. A blur keeps colours; the other two look at the luminance.
        source: The picture.
        target: Where the result goes; it keeps the picture's depth where its format can.
        sigma: Standard deviation of the blur, for ``blur`` and ``canny``.
        low: Lower threshold of ``canny``, as a fraction of the picture's range.
        high: Upper threshold.
        border: What lies outside the picture; ``reflect`` by default, for ``canny`` scikit-image's way.
        threads: Threads to use.

    Returns:
        What was done.

    Raises:
        UsageError: If an option is wrong.
        ArrayError: If the picture cannot be read.
    """
    if operation not in OPERATIONS:
        raise UsageError(f"the operation on a picture is one of {', '.join(OPERATIONS)}, got {operation!r}")
    check_picture(target, 1, 8)
    picture = read_picture(source)
    check_picture(target, len(picture.planes) if operation == "blur" else 1, picture.bits)
    begin = time.perf_counter()
    edges = None
    bits = picture.bits
    if operation == "blur":
        planes = tuple(blur(plane, sigma, border=border or "reflect", threads=threads) for plane in picture.planes)
    elif operation == "sobel":
        planes = (sobel(picture.grey, border=border or "reflect", threads=threads),)
    else:
        found = canny(picture.grey.astype(np.float64), sigma, low, high, border=border, threads=threads)
        edges, bits, planes = int(np.count_nonzero(found)), 8, ((found / np.float32(255)),)
    seconds = time.perf_counter() - begin
    written = write_picture(target, planes, bits)
    return Processed(
        operation=operation,
        source=str(source),
        target=str(target),
        shape=picture.planes[0].shape,
        channels=len(planes),
        bits=written,
        seconds=seconds,
        edges=edges,
    )
