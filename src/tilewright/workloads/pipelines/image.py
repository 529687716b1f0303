"""The pipelines on pictures: ``tilewright image`` and ``tw.image``."""

import functools
import itertools
import math
import time
from collections.abc import Callable, Mapping
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
from tilewright.runtime.call import compiled, or_by_numpy
from tilewright.runtime.formats.pictures import FLOATS, Picture, check_picture, read_picture, write_picture
from tilewright.runtime.memory import check_memory
from tilewright.runtime.session import SHARED
from tilewright.verbs.options import ImageOptions, refuse
from tilewright.workloads.pipelines import catalogue, recursive
from tilewright.workloads.pipelines.problem import Pipeline, convert
from tilewright.workloads.pipelines.verbs import StencilPipeline

Array = npt.NDArray[Any]
_BATCH = 4  # axes of a batch of pictures
_TYPES = ("float32", "float64", "uint8", "uint16")  # of pictures
OPERATIONS = ("blur", "canny", "sobel")
_WHITE, _STRONG = 255, 2
_BYTE, _DOUBLE, _PLACE = (ir.element(name) for name in ("uint8", "float64", "int64"))


@checked
def blur(
    image: Any,  # noqa: ANN401
    sigma: float | tuple[float, float] = 1.0,
    *,
    boundary: BoundarySpec | None = None,
    **options: Any,  # noqa: ANN401
) -> Array:
    """Blur with a Gaussian filter, as ``scipy.ndimage.gaussian_filter`` defines it.

    Whole numbers are read and written as they are and computed in float32: results are those of real numbers, rounded,
    but for ties within the accuracy of float32. A filter of more than 64 cells to a side, of sigma above 16.1, is a
    recursion in float64, whose results lie within 1e-4 of the range of the values from those of a Gaussian that is not
    cut off.

    Args:
        image: Grey ``(rows, columns)`` or colour ``(rows, columns, 3 or 4)``, of which each channel is blurred by
            itself; float32, float64, uint8 or uint16. With four axes, ``(pictures, rows, columns, 1, 3 or 4)``, it is
            a batch.
        sigma: Standard deviation in cells, or a pair of those along the columns and along the rows, of which 0 leaves
            an axis as it is.
        boundary: What lies outside, ``reflect`` by default, with ``scipy.ndimage``'s names. Constants are numbers
            from 0 to 1, also of whole numbers.
        **options: What a pipeline takes: ``threads``, ``backend``, ``out``; and ``fusion`` and ``strict``, which a
            recursion does not.

    Returns:
        The blurred picture, of the shape and type of the one given; whole numbers are rounded.

    Raises:
        ArrayError: If it is no picture.
        UsageError: If sigma or an option is none.

    Examples:
        >>> import numpy as np
        >>> blur(np.full((4, 6, 3), 200, dtype=np.uint8)).dtype
        dtype('uint8')
    """
    values, sigmas = _pictures(image), _sigmas(sigma)
    if values.ndim == _BATCH:
        batch = _each(values, functools.partial(blur, sigma=sigmas, boundary=boundary), options)
        return batch if batch.shape == values.shape else batch.reshape(values.shape)
    if max(sigmas) and catalogue.gaussian_radius(max(sigmas)) > catalogue.MAX_RADIUS:
        return _wide_blur(values, sigmas, boundary or "reflect", options)
    program = catalogue.blur_as_scipy(sigmas, str(values.dtype))
    borders = _borders(program, boundary or "reflect", values.dtype)
    result: Array = StencilPipeline(program, interleaved=values.ndim == 3)(values, boundary=borders, **options)
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
    values = _pictures(image)
    if values.ndim == _BATCH:
        return _each(values, functools.partial(sobel, boundary=boundary), options)
    planes, colour = _planes(values)
    program = catalogue.sobel_of_pictures(str(values.dtype), colour)
    borders = _borders(program, boundary or "reflect", values.dtype)
    result: Array = StencilPipeline(program)(*planes, boundary=borders, **options)
    return result


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
    values = _pictures(image)
    if values.ndim == _BATCH:
        return _each(values, functools.partial(canny, sigma=sigma, low=low, high=high, boundary=boundary), options)
    planes, colour = _planes(values)
    edges = StencilPipeline(catalogue.canny_as_scikit(sigma, boundary is None, str(values.dtype), colour))
    if boundary is None:
        one = np.ones((len(values), 1), values.dtype if values.dtype.kind == "f" else np.float64)
        inside = StencilPipeline(catalogue.sums_inside(sigma))(one, boundary="constant", backend="numpy")
        planes.append(np.broadcast_to(inside, values.shape[:2]))
        columns = next(each for each in edges.program.stencils if each.title == "blur_columns")
        boundary = dict.fromkeys((*columns.inputs, columns.output, "inside"), "constant")
    borders = _borders(edges.program, boundary, values.dtype, counted=False)
    return hysteresis(edges(*planes, boundary=borders, low=low, high=high, **{"strict": True, **options}))


def _pictures(image: Any) -> Array:  # noqa: ANN401
    """Return a picture, or a batch, as it is, transparency included."""
    values = as_array(image, "image")
    flat = values.ndim == 2 or (values.ndim in {3, _BATCH} and values.shape[-1] in {3, 4})
    flat = flat or (values.ndim == _BATCH and values.shape[-1] == 1)
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


def _sigmas(sigma: float | tuple[float, float]) -> tuple[float, float]:
    """Return the standard deviations along both axes."""
    down, across = sigma if isinstance(sigma, tuple) else (sigma, sigma)
    for each in (down, across) if isinstance(sigma, tuple) else (sigma,):
        if each != 0 or each is sigma:
            catalogue.gaussian_radius(each)
    return down, across


def _each(pictures: Array, compute: Callable[..., Array], options: dict[str, Any]) -> Array:
    """Return the results of a batch, one picture after the other, each by all threads."""
    results = options.pop("out", None)
    for number, picture in enumerate(pictures):
        result = compute(picture[..., 0] if picture.shape[-1] == 1 else picture, **options)
        if results is None:
            results = np.empty((len(pictures), *result.shape), result.dtype)
        results[number] = result.reshape(results[number].shape)
    return np.asarray(results)


def _wide_blur(values: Array, sigmas: tuple[float, float], boundary: BoundarySpec, options: dict[str, Any]) -> Array:
    """Blur by recursions along the axes whose filter is wide."""
    out = options.pop("out", None)
    for name in set(options) - {"threads", "backend"}:
        raise UsageError(f"a blur of sigma {max(sigmas):g} is a recursion, which takes no option {name!r}")
    spec = parse_boundary(boundary) if isinstance(boundary, str) else boundary
    spec = spec.get("image", "reflect") if isinstance(spec, Mapping) else spec
    sides = sides_of(2, _counts(spec, float(np.iinfo(values.dtype).max)) if values.dtype.kind == "u" else spec)
    soft = values.reshape(*values.shape[:2], -1).astype(np.float64)
    for axis, sigma in enumerate(sigmas):
        if sigma and catalogue.gaussian_radius(sigma) > catalogue.MAX_RADIUS:
            soft = recursive.smooth(soft, sigma, axis, sides, **options)
        elif sigma:
            narrow = catalogue.blur_as_scipy((sigma, 0.0) if axis == 0 else (0.0, sigma), "float64")
            soft = StencilPipeline(narrow, interleaved=True)(soft, boundary=sides, **options)
    result = convert(soft.reshape(values.shape), str(values.dtype), "nearest")
    if out is not None:
        np.copyto(out, result)
    return result if out is None else np.asarray(out)


def _planes(values: Array) -> tuple[list[Array], bool]:
    """Return a grey picture, or the three colours of another one, and whether it is one."""
    colour = values.ndim == 3
    return ([values[..., k] for k in range(3)] if colour else [values]), colour


def _borders(
    program: Pipeline,
    boundary: BoundarySpec,
    dtype: np.dtype[Any],
    *,
    counted: bool = True,  # whether other grids than the picture hold numbers as large as the picture's
) -> dict[str, BoundarySpec]:
    """Return what lies outside of every grid; constants are numbers from 0 to 1."""
    near = (each.inputs[0] for each in program.stencils if any(any(read.offset) for read in each.reads))
    picture = next(near, program.inputs[0])
    spec = parse_boundary(boundary) if isinstance(boundary, str) else boundary
    by_grid: dict[str, BoundarySpec]
    by_grid = dict(spec) if isinstance(spec, Mapping) else dict.fromkeys(program.grids, spec)
    if "image" in by_grid:
        by_grid[picture] = by_grid.pop("image")
    if dtype.kind == "u":
        limit = float(np.iinfo(dtype).max)
        by_grid |= {grid: _counts(each, limit) for grid, each in by_grid.items() if counted or grid == picture}
    return dict.fromkeys(program.inputs, by_grid.get(picture, "reflect")) | by_grid


def _counts(boundary: BoundarySpec, limit: float) -> BoundarySpec:
    """Return a boundary whose constants are counts."""
    return tuple(tuple(replace(side, value=side.value * limit) for side in pair) for pair in sides_of(2, boundary))


def emit_hysteresis() -> KernelSource[None]:
    """Write the kernel.

    An edge is a cell of 2, or one of 1 with an edge among its eight neighbours. ``array`` holds the cells (bytes, which
    become 255 or 0, with 7 more behind them; the outermost are 0) and a stack (one int64 per cell), ``size`` rows and
    columns.
    """
    last = ir.Builder("tw_edges", vectorized=True)
    cells, count = last.param("cell", ir.pointer(_BYTE)), last.param("count", ir.INDEX)
    with last.loop("i", 0, count, independent=True) as i:
        last.set(cells[i], ir.select(cells[i].equals(_WHITE), ir.Real(_WHITE, _BYTE), ir.Real(0, _BYTE)))
    finish = last.function()
    b = ir.Builder("tw_hysteresis", kind="entry")
    array, size = b.param("array", ir.const_pointer(ir.pointer(_BYTE))), b.param("size", ir.const_pointer(ir.INDEX))
    b.param("unused", ir.pointer(_BYTE))
    b.param("none", ir.const_pointer(_DOUBLE))
    cell, stack = b.let("cell", array[0]), b.let("stack", array[1].to(ir.pointer(_PLACE)))
    rows, columns = b.let("rows", size[0]), b.let("columns", size[1])
    top = b.mutable("top", 0)

    def push(place: ir.Expr) -> None:
        b.set(cell[place], _WHITE)
        b.set(stack[top], place.to(_PLACE))
        b.set(top, top + 1)

    count = b.let("count", rows * columns)
    with b.loop("start", 0, count, 8) as start:
        eight = b.let("eight", (cell + start).to(ir.const_pointer(_PLACE))[0])
        strong = eight.apply(ir.Operator.BITAND, _PLACE, ir.Real(_STRONG * 0x0101010101010101, _PLACE))
        with (
            b.when(strong.differs(0)),
            b.loop("place", start, ir.smallest(start + 8, count)) as place,
            b.when(cell[place].equals(_STRONG)),
        ):
            push(place)
            with b.loop_while(top > 0):
                b.set(top, top - 1)
                at = b.let("at", stack[top].to(ir.INDEX))
                for down, across in itertools.product((-1, 0, 1), repeat=2):
                    with b.scope():
                        beside = b.let("beside", at + (columns * down + across))
                        with b.when((cell[beside] > 0) & (cell[beside] <= _STRONG)):
                            push(beside)
    b.call(finish, cell, count)
    return c_source(c.print_unit((finish, b.function())), "tw_hysteresis")


def hysteresis(classes: Array) -> npt.NDArray[np.uint8]:
    """Return 255 where a cell is 2, or 1 and connected to such a cell through its eight neighbours, else 0.

    The outermost cells are no edges: who knows what lies beyond them.

    >>> hysteresis(np.array([[0, 0, 2, 0], [0, 1, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])).tolist()
    [[0, 0, 0, 0], [0, 255, 255, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    check_memory(9 * classes.size + 7)
    memory = SHARED.lend(classes.size + 7)
    cells = memory[: classes.size].reshape(classes.shape)
    cells[...] = classes
    cells[[0, -1]] = cells[:, [0, -1]] = 0
    kernels = or_by_numpy(lambda: compiled(emit_hysteresis))
    if kernels is None:
        return _with_numpy(cells)
    kernels[0]((cells, SHARED.lend(8 * cells.size)), cells.shape)
    return cells


def _with_numpy(cells: Array) -> npt.NDArray[np.uint8]:
    """Grow the strong cells into the weak ones until nothing changes."""
    weak, edges = cells > 0, cells == _STRONG
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
    pixels = picture.pixels
    check_picture(target, pixels[0, 0].size if operation == "blur" else 1, picture.bits)
    begin = time.perf_counter()
    how: dict[str, Any] = {"boundary": boundary, "threads": threads}
    edges, bits = None, picture.bits
    if operation == "blur":
        result = blur(pixels, sigma, **how)
    elif operation == "sobel":
        result = sobel(pixels, **how)
    else:
        result = canny(pixels, sigma, low, high, **how)
        edges, bits = int(np.count_nonzero(result)), 8
    seconds = time.perf_counter() - begin
    planes = Picture(pixels=result, bits=FLOATS if result.dtype.kind == "f" else bits).planes
    written = write_picture(target, planes, bits)
    return Processed(
        operation=operation,
        source=str(source),
        target=str(target),
        shape=pixels.shape[:2],
        channels=len(planes),
        bits=written,
        seconds=seconds,
        edges=edges,
    )
