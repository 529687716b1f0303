"""The pipelines on pictures: ``tilewright image`` and ``tw.image``."""

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.arguments import checked
from tilewright.base.errors import ArrayError, UsageError, one_of
from tilewright.base.records import Record
from tilewright.base.units import format_seconds
from tilewright.inputs.arrays import as_array
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.runtime.formats.pictures import FLOATS, check_picture, luminance, read_picture, write_picture
from tilewright.workloads.pipelines import catalogue
from tilewright.workloads.pipelines.hysteresis import hysteresis
from tilewright.workloads.pipelines.verbs import StencilPipeline, pipeline

Array = npt.NDArray[Any]
LOW, HIGH = 0.1, 0.2
"""scikit-image's default thresholds, as fractions of the picture's range."""
_BYTE = 255
OPERATIONS = ("blur", "canny", "sobel")


@checked
def blur(
    image: Any,  # noqa: ANN401
    sigma: float = 1.0,
    *,
    boundary: BoundarySpec | None = None,
    **options: Any,  # noqa: ANN401
) -> Array:
    """Blur with a Gaussian filter, as ``scipy.ndimage.gaussian_filter`` defines it.

    Args:
        image: Grey ``(rows, columns)`` or colour ``(rows, columns, 3 or 4)``, of which each channel is blurred by
            itself; float32, float64, uint8 or uint16.
        sigma: Standard deviation in cells.
        boundary: What lies outside, ``reflect`` by default, with ``scipy.ndimage``'s names.
        **options: What a pipeline takes: ``threads``, ``fusion``, ``strict``; of a grey picture of floats ``out``.

    Returns:
        The blurred picture, of the shape and type of the one given; whole numbers are rounded.

    Raises:
        ArrayError: If it is no picture.

    Examples:
        >>> import numpy as np
        >>> blur(np.full((4, 6, 3), 200, dtype=np.uint8)).dtype
        dtype('uint8')
    """
    values, limit = _picture(image)
    how = pipeline("blur", sigma=sigma)
    if values.ndim == 2:
        soft: Array = how(values, boundary=boundary, **options)
    else:
        planes = map(np.ascontiguousarray, np.moveaxis(values, -1, 0))
        soft = np.stack([how(plane, boundary=boundary, **options) for plane in planes], axis=-1)
    if limit is None:
        return soft
    return np.rint(soft * np.float32(limit)).astype(np.uint8 if limit == _BYTE else np.uint16)


@checked
def sobel(
    image: Any,  # noqa: ANN401
    *,
    boundary: BoundarySpec | None = None,
    **options: Any,  # noqa: ANN401
) -> Array:
    """Return the length of Sobel's gradient, scaled as ``skimage.filters.sobel`` does: 1 is the steepest edge.

    Args:
        image: As for :func:`blur`; of colour the luminance is taken, whole numbers are scaled to 0 to 1.
        boundary: What lies outside, ``reflect`` by default.
        **options: What a pipeline takes.

    Returns:
        The lengths, ``(rows, columns)``, in floating point.
    """
    values, _ = _grey(image)
    length: Array = pipeline("sobel")(values, boundary=boundary, **options)
    scaled: Array = length / length.dtype.type(4 * math.sqrt(2))
    return scaled


@checked
def canny(
    image: Any,  # noqa: ANN401
    sigma: float = 1.0,
    low: float = LOW,
    high: float = HIGH,
    *,
    boundary: BoundarySpec | None = None,
    **options: Any,  # noqa: ANN401
) -> npt.NDArray[np.uint8]:
    """Find edges as ``skimage.feature.canny`` defines them.

    Args:
        image: As for :func:`sobel`; whole numbers are computed in float64.
        sigma: Standard deviation of the blur in cells.
        low: Lower threshold of the gradient's length.
        high: Upper threshold.
        boundary: What lies outside; by default nothing does, and the blur's weights are those of the cells inside, as
            scikit-image's ``mode="constant"``.
        **options: What a pipeline takes.

    Returns:
        255 on edges, 0 elsewhere.

    Raises:
        UsageError: If the thresholds are not 0 <= low <= high.
    """
    if not (math.isfinite(low) and math.isfinite(high) and 0 <= low <= high):
        raise UsageError(f"the thresholds are numbers with 0 <= low <= high, got low {low!r} and high {high!r}")
    values, limit = _grey(image)
    values = values if limit is None else values.astype(np.float64)
    strength = _suppressed(values, sigma, boundary, options)
    strength[[0, -1], :] = 0  # who knows what lies beyond the edge of the picture
    strength[:, [0, -1]] = 0
    return hysteresis(strength, low, high)


def _suppressed(values: Array, sigma: float, boundary: BoundarySpec | None, options: dict[str, Any]) -> Array:
    """Canny up to non-maximum suppression, every operation rounded as scikit-image's."""
    result: Array
    exactly = {"strict": True, **options}
    if boundary is not None:
        whole = StencilPipeline(catalogue.canny_as_scikit(sigma, False))
        result = whole(values, boundary=boundary, **exactly)
        return result
    share = StencilPipeline(catalogue.blur_as_scipy(sigma))(np.ones_like(values), boundary="constant", **exactly)
    weight = share + np.finfo(values.dtype).eps
    spec = {"image": "constant", "weight": "nearest", "G3": "constant"}
    result = StencilPipeline(catalogue.canny_as_scikit(sigma, True))(values, weight, boundary=spec, **exactly)
    return result


def _picture(image: Any) -> tuple[Array, int | None]:  # noqa: ANN401
    """Return a picture in floating point, transparency included, and the largest whole number of its type, if any."""
    values = as_array(image, "image")
    flat = values.ndim == 2 or (values.ndim == 3 and values.shape[-1] in {3, 4})
    if not flat or 0 in values.shape:
        raise ArrayError(
            f"a picture is grey, of two dimensions of at least 1 cell, or colour, with 3 or 4 channels last, "
            f"got {values.shape}"
        )
    if values.dtype in {np.dtype("uint8"), np.dtype("uint16")}:
        limit = int(np.iinfo(values.dtype).max)
        return values.astype(np.float32) / np.float32(limit), limit
    if values.dtype not in {np.dtype("float32"), np.dtype("float64")}:
        raise ArrayError(
            f"a picture is float32, float64, uint8 or uint16, got {values.dtype}",
            "divide it by the largest value: image / 255",
        )
    return values, None


def _grey(image: Any) -> tuple[Array, int | None]:  # noqa: ANN401
    """Return the luminance in floating point, and the largest whole number of the picture's type, if any."""
    values, limit = _picture(image)
    if values.ndim == 2:
        return values, limit
    return luminance(values[..., 0], values[..., 1], values[..., 2]).astype(values.dtype), limit


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Processed(Record):
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


@checked
def process(
    operation: str,
    source: Path,
    target: Path,
    *,
    sigma: float = 1.0,
    low: float = LOW,  # ``canny``'s thresholds, as fractions of the picture's range
    high: float = HIGH,
    boundary: str | None = None,  # ``reflect`` by default, for ``canny`` scikit-image's way
    threads: int | None = None,
) -> Processed:
    """Apply one of :data:`OPERATIONS` to a picture in a file; a blur keeps colours, the others take the luminance."""
    one_of("the operation on a picture", operation, OPERATIONS)
    check_picture(target, 1, 8)
    picture = read_picture(source)
    if picture.bits == FLOATS:
        raise ArrayError(f"{source.name!r} holds floats, not 8 or 16 bits", "use `tilewright run` for it")
    check_picture(target, len(picture.planes) if operation == "blur" else 1, picture.bits)
    begin = time.perf_counter()
    edges = None
    bits = picture.bits
    if operation == "blur":
        planes = tuple(blur(plane, sigma, boundary=boundary, threads=threads) for plane in picture.planes)
    elif operation == "sobel":
        planes = (sobel(picture.grey, boundary=boundary, threads=threads),)
    else:
        found = canny(picture.grey.astype(np.float64), sigma, low, high, boundary=boundary, threads=threads)
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
