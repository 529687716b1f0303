"""The pipelines on pictures: ``tilewright image`` and ``tw.image``."""

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.arguments import checked
from tilewright.base.errors import ArrayError, UsageError, one_of
from tilewright.base.records import Record
from tilewright.base.units import format_seconds
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.source import KernelSource, c_source
from tilewright.inputs.arrays import as_array
from tilewright.programs.stencil.boundaries import BoundarySpec, parse_boundary, sides_of
from tilewright.runtime.call import compiled, or_by_numpy, packed, scratch
from tilewright.runtime.formats.pictures import FLOATS, check_picture, luminance, read_picture, write_picture
from tilewright.verbs.options import ImageOptions, refuse
from tilewright.workloads.pipelines import catalogue
from tilewright.workloads.pipelines.verbs import StencilPipeline, pipeline

Array = npt.NDArray[Any]
_TYPES = ("float32", "float64", "uint8", "uint16")  # of pictures
OPERATIONS = ("blur", "canny", "sobel")
_WHITE = 255
_BYTE, _DOUBLE, _PLACE = (ir.element(name) for name in ("uint8", "float64", "int64"))


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
    values = _picture(image)
    blurred = StencilPipeline(catalogue.blur_as_scipy(sigma, str(values.dtype)), interleaved=values.ndim == 3)
    result: Array = blurred(values, boundary=_counted(boundary or "reflect", values.dtype), **options)
    return result


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
    low: float = 0.1,
    high: float = 0.2,
    *,
    boundary: BoundarySpec | None = None,
    **options: Any,  # noqa: ANN401
) -> npt.NDArray[np.uint8]:
    """Find edges as ``skimage.feature.canny`` defines them.

    Args:
        image: As for :func:`sobel`; whole numbers are computed in float64.
        sigma: Standard deviation of the blur in cells.
        low: Lower threshold of the gradient's length, by default scikit-image's fraction of the picture's range.
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
    strength = _suppression(values, sigma, boundary, options)
    strength[[0, -1], :] = 0  # who knows what lies beyond the edge of the picture
    strength[:, [0, -1]] = 0
    return hysteresis(strength, low, high)


def _suppression(values: Array, sigma: float, boundary: BoundarySpec | None, options: dict[str, Any]) -> Array:
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


def _picture(image: Any) -> Array:  # noqa: ANN401
    """Return a picture as it is, transparency included."""
    values = as_array(image, "image")
    flat = values.ndim == 2 or (values.ndim == 3 and values.shape[-1] in {3, 4})
    if not flat or 0 in values.shape:
        raise ArrayError(
            f"a picture is grey, of two dimensions of at least 1 cell, or colour, with 3 or 4 channels last, "
            f"got {values.shape}"
        )
    if str(values.dtype) not in _TYPES:
        raise ArrayError(
            f"a picture is float32, float64, uint8 or uint16, got {values.dtype}",
            "divide it by the largest value: image / 255",
        )
    return values


def _counted(boundary: BoundarySpec, dtype: np.dtype[Any]) -> BoundarySpec:
    """Return the boundaries of a picture, whose constants are of numbers from 0 to 1, in counts of its type."""
    if dtype.kind == "f":
        return boundary
    spec = parse_boundary(boundary) if isinstance(boundary, str) else boundary
    if isinstance(spec, Mapping):
        counted = {grid: _counted(each, dtype) for grid, each in spec.items()}
        return {**counted, "G2": counted.get("image", "reflect")}  # the image in another type
    limit = np.iinfo(dtype).max
    return tuple(tuple(replace(side, value=side.value * limit) for side in pair) for pair in sides_of(2, spec))


def _grey(image: Any) -> tuple[Array, int | None]:  # noqa: ANN401
    """Return the luminance in floating point, and the largest whole number of the picture's type, if any."""
    values, limit = _picture(image), None
    if values.dtype.kind == "u":
        limit = int(np.iinfo(values.dtype).max)
        values = values.astype(np.float32) / np.float32(limit)
    if values.ndim == 2:
        return values, limit
    return luminance(values[..., 0], values[..., 1], values[..., 2]).astype(values.dtype), limit


def emit_hysteresis(dtype: str) -> KernelSource[None]:
    """Write the kernel for values of a type, ``float32`` or ``float64``.

    An edge is a cell of at least ``high``, or one of at least ``low`` with an edge among its eight neighbours.
    ``array`` holds the values (rows ``size[2]`` elements apart), the edges (bytes) and a stack (one int64 per cell),
    ``size`` rows, columns and that distance; the last argument points to ``low`` and ``high``, as doubles.
    """
    real = ir.element(dtype)
    b = ir.Builder("tw_hysteresis", kind="entry")
    array, size = b.param("array", ir.const_pointer(ir.pointer(_BYTE))), b.param("size", ir.const_pointer(ir.INDEX))
    b.param("unused", ir.pointer(_BYTE))
    scalar = b.param("scalar", ir.const_pointer(_DOUBLE))
    values, edge = b.let("value", array[0].to(ir.const_pointer(real))), b.let("edge", array[1])
    stack = b.let("stack", array[2].to(ir.pointer(_PLACE)))
    rows, columns, stride = (b.let(name, size[k]) for k, name in enumerate(("rows", "columns", "stride")))
    low, high = b.let("low", scalar[0].to(real)), b.let("high", scalar[1].to(real))
    with b.loop("i", 0, rows * columns) as i:
        b.set(edge[i], 0)
    top = b.mutable("top", 0)

    def push(place: ir.Expr) -> None:
        b.set(edge[place], _WHITE)
        b.set(stack[top], place.to(_PLACE))
        b.set(top, top + 1)

    with b.loop("y", 0, rows) as y, b.loop("x", 0, columns) as x:
        first = b.let("first", values[y * stride + x])
        place = b.let("place", y * columns + x)
        with b.when((first > 0.0) & (first >= high) & (first >= low)), b.when(edge[place].equals(0)):
            push(place)
            with b.loop_while(top > 0):
                b.set(top, top - 1)
                at = b.let("at", stack[top].to(ir.INDEX))
                row, column = b.let("row", at / columns), b.let("column", at % columns)
                with (
                    b.loop("v", ir.largest(row - 1, 0), ir.smallest(row + 2, rows)) as v,
                    b.loop("u", ir.largest(column - 1, 0), ir.smallest(column + 2, columns)) as u,
                ):
                    beside = b.let("beside", v * columns + u)
                    with b.when(edge[beside].equals(0)):
                        near = b.let("near", values[v * stride + u])
                        with b.when((near > 0.0) & (near >= low)):
                            push(beside)
    return c_source(c.print_unit((b.function(),)), "tw_hysteresis")


def hysteresis(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """Return 255 where a value is at least ``high``, or at least ``low`` and connected to such a cell, else 0.

    Cells are connected through their eight neighbours. Values that are not positive are never edges.

    >>> hysteresis(np.array([[0.0, 0.2, 0.5], [0.0, 0.0, 0.0], [0.2, 0.0, 0.0]]), 0.1, 0.4).tolist()
    [[0, 255, 255], [0, 0, 0], [0, 0, 0]]
    """
    cells = packed(values)
    kernels = or_by_numpy(lambda: compiled(emit_hysteresis, str(cells.dtype)))
    if kernels is None:
        return _with_numpy(cells, low, high)
    stack, edges = scratch(8 * cells.size, cells.size), np.empty(cells.shape, dtype=np.uint8)
    limits = np.array([low, high], dtype=np.float64)
    kernels[0]((cells, edges, stack), (*cells.shape, cells.shape[1]), values=limits)
    return edges


def _with_numpy(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """Grow the strong cells into the weak ones until nothing changes."""
    weak = (values > 0) & (values >= values.dtype.type(low))
    edges = weak & (values >= values.dtype.type(high))
    count = -1
    while count != (count := int(edges.sum())):
        wide = np.pad(edges, 1)
        grown = np.zeros_like(edges)
        for dy in range(3):
            for dx in range(3):
                grown |= wide[dy : dy + edges.shape[0], dx : dx + edges.shape[1]]
        edges = grown & weak
    return np.asarray(edges, dtype=np.uint8) * np.uint8(_WHITE)


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
        edges = "" if self.edges is None else f", {self.edges} edge cells"
        kind = "colour" if self.channels == 3 else "grey"
        return (
            f"{self.operation}: {self.source} -> {self.target}, {size} {kind}, {self.bits} bits, "
            f"computed in {format_seconds(self.seconds)}{edges}"
        )


@checked
def process(
    operation: str,
    source: Path,
    target: Path,
    *,
    sigma: float = 1.0,
    low: float = 0.1,  # ``canny``'s thresholds, as fractions of the picture's range
    high: float = 0.2,
    boundary: str | None = None,  # ``reflect`` by default, for ``canny`` scikit-image's way
    threads: int | None = None,
) -> Processed:
    """Apply one of :data:`OPERATIONS` to a picture in a file; a blur keeps colours, the others take the luminance."""
    asked = ImageOptions.of(locals())
    one_of("the operation on a picture", operation, OPERATIONS)
    refuse(f"image {operation}", asked)
    check_picture(target, 1, 8)
    picture = read_picture(source)
    if picture.bits == FLOATS:
        raise ArrayError(f"{source.name!r} holds floats, not 8 or 16 bits", "use `tilewright run` for it")
    check_picture(target, len(picture.planes) if operation == "blur" else 1, picture.bits)
    begin = time.perf_counter()
    how: dict[str, Any] = {"boundary": boundary, "threads": threads}
    edges, bits = None, picture.bits
    if operation == "blur":
        planes = tuple(blur(plane, sigma, **how) for plane in picture.planes)
    elif operation == "sobel":
        planes = (sobel(picture.grey, **how),)
    else:
        mask = canny(picture.grey.astype(np.float64), sigma, low, high, **how)
        edges, bits, planes = int(np.count_nonzero(mask)), 8, ((mask / np.float32(255)),)
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
