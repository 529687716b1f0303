"""Points off the grid: sources that add to a field and receivers that record it, by weights of the cells around them.

*Linear* weights are those of the two nearest cells per axis. *Sinc* weights are the band-limited ones of G. J. Hicks,
"Arbitrary source and receiver positioning in finite-difference schemes using Kaiser windowed sinc functions",
Geophysics 67 (2002), 156-166: eight cells per axis (radius r = 4), window shape b = 4.14, weight at distance d

    sin(pi d) / (pi d) * I0(b * sqrt(1 - (d / r)^2)) / I0(b).

Cells outside the grid are those that the field's boundary puts there: a receiver reads what the boundary says, and a
source adds to a cell what lies outside and stands for it (the transpose). Beyond ``fixed`` sides there is nothing.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import is_number, is_rounded, real_whole_numbers
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_shape, whole_number
from tilewright.programs.stencil.boundaries import Boundary, Sides
from tilewright.programs.stencil.reference import map_index

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

INTERPOLATIONS = ("linear", "sinc")
RADIUS = 4  # cells on each side of a point that Hicks' weights reach
SHAPE = 4.14
"""Shape b of the Kaiser window for this radius, for wavenumbers up to half of the largest one (Hicks, table 1)."""
_FEW = 16  # cells of a grid per entry from which on entries are sorted, not marked on the grid
PIECE = 64  # in 1D, cells of the pieces that take the place of rows in the tables of kernels


class Points:
    """Points of a grid, for ``sources=`` and ``receivers=``.

    Attributes:
        coordinates: Places in cells; shape (n, rank).
        values: What sources add per step, or None for receivers; shape (), (steps,) or (steps, n).
        interpolation: ``linear`` or ``sinc``.
        scale: What the weights of sources are multiplied by: None, a number, an array of the grid's shape, or the name
            of a field that no statement updates.
        every: Receivers record every so many steps; None: as often as the run's ``every`` says, else after every step.

    Examples:
        >>> Points([(2.5, 3.0)], values=[1.0, 0.5])
        Points(1 point in 2D, linear, with values)
        >>> Points([[10.0, 25.0]], spacing=5.0).coordinates
        array([[2., 5.]])
    """

    __slots__ = ("coordinates", "every", "interpolation", "scale", "values")

    def __init__(
        self,
        coordinates: Any,  # noqa: ANN401
        values: Any = None,  # noqa: ANN401
        *,
        interpolation: str = "linear",
        spacing: float | Sequence[float] = 1.0,
        scale: Any = None,  # noqa: ANN401
        every: int | None = None,
    ) -> None:
        """Check points, as far as that needs no grid.

        Args:
            coordinates: One row of coordinates per point, or, in 1D, one number per point; cell 0 is at 0.
            values: What is added per step, for sources: a number, one per step, or one per step and point.
            interpolation: ``linear`` or ``sinc``.
            spacing: Distance of neighbouring cells in units of the coordinates: a number, or one per axis. A point
                that lies within rounding of a grid line lies on it: ``3 * 0.1`` at a spacing of 0.1 is 3 cells.
            scale: What the weights of sources are multiplied by, cell by cell.
            every: For receivers: record every so many steps; by default the run's ``every``, else every step.

        Raises:
            ArrayError: If an array is none of numbers, or not of such a shape.
            UsageError: If an option is not one of those.
        """
        if not isinstance(interpolation, str) or interpolation not in INTERPOLATIONS:
            raise UsageError(f"interpolation is one of {', '.join(INTERPOLATIONS)}, got {interpolation!r:.60}")
        if every is not None:
            every = whole_number(every, "every", 1, 2**62, "of steps, at least 1")
        places = _numbers(coordinates, "coordinates")
        if places.ndim == 1:
            places = places[:, np.newaxis]
        if places.ndim != 2 or not places.size:
            raise ArrayError(
                f"coordinates have one row per point, got an array of shape {_shown(places.shape)}", "write [(8.5, 3)]"
            )
        if not np.isfinite(places).all():
            point = int(np.flatnonzero(~np.isfinite(places).all(axis=1))[0])
            raise ArrayError(f"coordinates are finite, got {tuple(places[point].tolist())} for point {point}")
        steps = _numbers(spacing, "spacing")
        if steps.ndim > 1 or (steps.ndim == 1 and len(steps) != places.shape[1]):
            raise UsageError(f"spacing is a number or one per axis ({places.shape[1]}), got {spacing!r:.60}")
        if not (np.isfinite(steps) & (steps > 0)).all():
            raise UsageError(f"spacing is positive, got {spacing!r:.60}")
        cells = in_cells(coordinates, spacing)
        self.coordinates: Floats = cells[:, np.newaxis] if cells.ndim == 1 else cells
        self.values = None if values is None else _values(values, len(places))
        self.interpolation, self.scale, self.every = interpolation, scale, every

    def __len__(self) -> int:
        return len(self.coordinates)

    def __repr__(self) -> str:
        count, rank = self.coordinates.shape
        kind = "without values" if self.values is None else "with values"
        return f"Points({count} point{'s' * (count != 1)} in {rank}D, {self.interpolation}, {kind})"


SourceList = Points | Sequence[Points | tuple[Any, Any]]
"""Points, or a list of points and of pairs of a cell and what is added to it: a number, or one number per step."""


def in_cells(coordinates: Any, spacing: Any) -> Floats:  # noqa: ANN401
    """Return real coordinates in cells; what lies within rounding of the numbers' type of a grid line lies on it.

    >>> in_cells([0.3, 0.1 + 0.2, 0.25], 0.1).tolist()
    [3.0, 3.0, 2.5]
    """
    places: Floats = np.asarray(coordinates, np.float64) / np.asarray(spacing, np.float64)
    short = {np.dtype(np.float16), np.dtype(np.float32)} & {np.asarray(each).dtype for each in (coordinates, spacing)}
    lines, eps = np.rint(places), np.finfo(np.float32 if short else np.float64).eps
    return np.where(np.abs(places - lines) <= 4 * eps * np.maximum(np.abs(places), 1.0), lines, places)


def _numbers(given: Any, name: str) -> Floats:  # noqa: ANN401
    try:
        array = np.asarray(given)
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)
    except ValueError:
        pass
    raise ArrayError(f"{name} are real numbers, got {given!r:.60}")


def _values(given: Any, count: int) -> Array:  # noqa: ANN401
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.empty(0, dtype=object)
    array = real_whole_numbers(array, "the source value {}")
    if not is_number(array.dtype):
        raise ArrayError(f"values of sources are numbers, got {given!r:.60}")
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != count):
        raise ArrayError(
            f"values of {count} points have the shape (steps,) or (steps, {count}), got {_shown(array.shape)}"
        )
    if is_rounded(array.dtype) and not np.isfinite(array).all():
        raise ArrayError("values of sources are finite numbers, got one that is not")
    return array


def _shown(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Weights:
    """What cells are to points: a sparse matrix with a row per point, and a column per cell that has an entry.

    Entries are ordered by point, then as they are added; every sum is taken in this order, those of cells, too.
    """

    shape: tuple[int, ...]  # of the grid
    cells: Index  # of the columns, ascending, in row-major order of the grid; shape (columns,)
    point: Index  # of every entry, ascending; shape (entries,)
    column: Index  # of every entry; shape (entries,)
    weight: Array  # shape (entries,)
    constant: Array  # what points read beside their cells: what ``constant`` boundaries add; shape (points,)

    @classmethod
    def of(cls, shape: tuple[int, ...], point: Index, cell: Index, weight: Array, constant: Array) -> "Weights":
        """Number the cells of entries."""
        cells, column = numbered(cell)
        return cls(shape=shape, cells=cells, point=point, column=column, weight=weight, constant=constant)

    @property
    def points(self) -> int:
        """How many there are."""
        return len(self.constant)

    @property
    def cell(self) -> Index:
        """The cell of every entry."""
        return self.cells[self.column]

    @cached_property
    def places(self) -> tuple[Index, ...]:
        """The indices of the columns' cells, per axis."""
        return np.unravel_index(self.cells, self.shape)

    @cached_property
    def starts(self) -> Index:
        """Where the entries of each point start, and the end of all; shape (points + 1,)."""
        return np.searchsorted(self.point, np.arange(self.points + 1)).astype(np.int64)

    @cached_property
    def transpose(self) -> "Weights":
        """What points are to cells: reading it injects."""
        order = np.argsort(self.column, kind="stable")
        return Weights(
            shape=(self.points,),
            cells=np.arange(self.points),
            point=self.column[order],
            column=self.point[order],
            weight=self.weight[order],
            constant=np.zeros(len(self.cells)),
        )

    def some(self, entries: npt.NDArray[np.bool_]) -> "Weights":
        """Return some of the entries."""
        if entries.all():
            return self
        return Weights.of(self.shape, self.point[entries], self.cell[entries], self.weight[entries], self.constant)

    def within(self, span: Sequence[tuple[int, int]]) -> "Weights":
        """Return the entries of a part of the grid, whose cells are numbered anew.

        Where the part reaches beyond the grid, copies of the grid surround it, and every copy of a cell has its
        entries.
        """
        shape = tuple(high - low for low, high in span)
        pairs = list(zip(self.shape, span, strict=True))
        turns = [range(-((n - 1 - low) // n), (high - 1) // n + 1) for n, (low, high) in pairs]
        cells, copies = [], []
        for turn in itertools.product(*turns):
            places = [p + k * n - low for p, k, (n, (low, _)) in zip(self.places, turn, pairs, strict=True)]
            held = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(places, shape, strict=True)])
            entries = np.flatnonzero(held[self.column])
            columns = self.column[entries]
            cells.append(np.ravel_multi_index(tuple(p[columns] for p in places), shape))
            copies.append(entries)
        entries = np.concatenate(copies)
        order = np.argsort(entries, kind="stable")
        entries = entries[order]
        return Weights.of(shape, self.point[entries], np.concatenate(cells)[order], self.weight[entries], self.constant)

    def at(self, level: Array) -> Array:
        """Return what the cells of the columns are on a level of a field."""
        values: Array = level[self.places]
        return values

    def add(self, level: Array, terms: Array) -> None:
        """Add terms, one per entry, to the entries' cells on a level of a field."""
        np.add.at(level, tuple(place[self.column] for place in self.places), terms.astype(level.dtype))

    def read(self, table: Array) -> Array:
        """Return what points read, of shape (points, n), where the cells of the columns hold (columns, n)."""
        kind = np.result_type(table.dtype, self.weight.dtype)
        result = np.zeros((self.points, table.shape[1]), dtype=kind)
        result += self.constant[:, np.newaxis].astype(kind)
        if table.shape[1] == 1:
            np.add.at(result[:, 0], self.point, self.weight * table[self.column, 0].astype(kind))
            return result
        lengths = np.diff(self.starts)
        for number in range(int(lengths.max(initial=0))):
            having = np.flatnonzero(lengths > number)
            terms = self.starts[having] + number
            result[having] += self.weight[terms, np.newaxis] * table[self.column[terms]].astype(kind)
        return result

    def inject(self, amplitudes: Array) -> Array:
        """Return what is added to the cells of the columns, of shape (columns, n), by points with (points, n)."""
        return self.transpose.read(amplitudes)


def numbered(cell: Index) -> tuple[Index, Index]:
    """Return the distinct cells, ascending, and the number of every entry's among them."""
    most = int(cell.max(initial=-1)) + 1
    if most > _FEW * len(cell):
        distinct, numbers = np.unique(cell, return_inverse=True)
        return distinct, numbers.reshape(-1).astype(np.int64)
    marked = np.zeros(most, dtype=bool)
    marked[cell] = True
    return np.flatnonzero(marked), (np.cumsum(marked) - 1)[cell]


def inside(cells: Index, shape: tuple[int, ...], box: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Return which cells of a grid, given in row-major order, lie in a box."""
    result = np.ones(len(cells), dtype=bool)
    for place, (low, high) in zip(np.unravel_index(cells, shape), box, strict=True):
        result &= (place >= low) & (place < high)
    return result


def renumbered(cells: Index, shape: tuple[int, ...], span: Sequence[tuple[int, int]]) -> Index:
    """Return the numbers that cells of a grid have in a part that holds them all, or that extends the grid."""
    places = [place - low for place, (low, _) in zip(np.unravel_index(cells, shape), span, strict=True)]
    return np.ravel_multi_index(tuple(places), tuple(high - low for low, high in span)).astype(np.int64)


def joined(parts: Sequence[Weights], shape: tuple[int, ...]) -> Weights:
    """Return the weights of all points, one part after the other."""
    starts = np.cumsum([0, *(part.points for part in parts)])
    empty = np.empty(0, np.int64)
    return Weights.of(
        shape,
        np.concatenate([empty, *(part.point + start for part, start in zip(parts, starts, strict=False))]),
        np.concatenate([empty, *(part.cell for part in parts)]),
        np.concatenate([part.weight for part in parts]) if parts else np.empty(0),
        np.concatenate([np.empty(0), *(part.constant for part in parts)]),
    )


def of_cells(cells: Index, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> Weights:
    """Return the weights of points that are cells."""
    count = len(cells)
    return Weights.of(shape, np.arange(count, dtype=np.int64), cells, np.ones(count, dtype), np.zeros(count))


def weights(points: Points, shape: tuple[int, ...], sides: Sides) -> Weights:
    """Return the weights, but for those of 0, of points on a grid whose field has these boundaries."""
    places = points.coordinates
    if places.shape[1] != len(shape):
        raise UsageError(
            f"points on a grid of {len(shape)} ax{'i' if len(shape) == 1 else 'e'}s have as many coordinates, "
            f"got {places.shape[1]}"
        )
    ends = np.array(
        [np.nextafter(n, 0) if pair[0].kind == "wrap" else n - 1 for n, pair in zip(shape, sides, strict=True)]
    )
    lost = np.flatnonzero(((places < 0) | (places > ends)).any(axis=1))
    if len(lost):
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise UsageError(
            f"point {lost[0]} at {tuple(places[lost[0]].tolist())} cells{more} lies outside the grid "
            f"{format_shape(shape)}",
            "coordinates run from 0 to the extent less 1; spacing= gives them in other units",
        )
    taps = 2 if points.interpolation == "linear" else 2 * RADIUS
    near = [_along(places[:, axis], points.interpolation) for axis in range(len(shape))]
    total = np.ones((len(places), 1))
    cell = np.zeros((len(places), 1), dtype=np.int64)
    beyond = np.full((len(places), 1), np.nan)
    for (index, weight), extent, pair in zip(near, shape, sides, strict=True):
        inside, lies, value = _mapped(index, extent, pair)
        total = (total[:, :, None] * np.where(lies, weight, 0.0)[:, None, :]).reshape(len(places), -1)
        cell = (cell[:, :, None] * extent + inside[:, None, :]).reshape(len(places), -1)
        # The innermost axis whose boundary is a constant says what lies outside, as everywhere.
        constants = np.broadcast_to(value[:, None, :], (len(places), beyond.shape[1], taps))
        beyond = np.where(np.isnan(constants), beyond[:, :, None], constants).reshape(len(places), -1)
    outside = ~np.isnan(beyond)
    constant = np.where(outside, total * np.where(outside, beyond, 0.0), 0.0).sum(axis=1)
    point, entry = np.nonzero((total != 0) & ~outside)
    return Weights.of(shape, point.astype(np.int64), cell[point, entry], total[point, entry], constant)


def _along(places: Floats, interpolation: str) -> tuple[Index, Floats]:
    """Cells near places along one axis, and their weights; shapes (n, taps)."""
    base = np.floor(places)
    rest = places - base
    if interpolation == "linear":
        offsets, weight = np.arange(2), np.stack([1.0 - rest, rest], axis=1)
    else:
        offsets = np.arange(1 - RADIUS, RADIUS + 1)
        distance = offsets[None, :] - rest[:, None]
        window = np.i0(SHAPE * np.sqrt(np.maximum(0.0, 1.0 - (distance / RADIUS) ** 2))) / np.i0(SHAPE)
        weight = np.sinc(distance) * window
        weight[rest == 0] = offsets == 0  # sin(pi) is not quite zero
    return base.astype(np.int64)[:, None] + offsets[None, :], weight


def _mapped(index: Index, extent: int, pair: tuple[Boundary, Boundary]) -> tuple[Index, npt.NDArray[np.bool_], Array]:
    """Where cells along an axis lie: the cell inside, whether there is any value, and that of a constant, else NaN."""
    inside, lies = np.clip(index, 0, extent - 1), np.ones(index.shape, dtype=bool)
    value = np.full(index.shape, np.nan, np.result_type(float, *(side.value for side in pair)))
    for side, test in zip(pair, (index < 0, index >= extent), strict=True):
        if side.kind == "fixed":
            lies &= ~test
        elif side.kind == "constant":
            value[test] = side.value
        else:
            inside = np.where(test, map_index(index, extent, side.kind), inside)
    return inside, lies, value
