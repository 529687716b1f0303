"""Sources and receivers of a grid that is cut: what falls into a window, and traces of what windows recorded.

A window adds to the cells that it holds, those computed a second time for its box among them, in the order of the run
in memory. It records the cells of its box, so that every cell is recorded once; receivers, whose cells may lie in
several boxes, take their sums of a table of all cells, as in memory. Both give the bits of the run in memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import ToolchainError
from tilewright.base.fingerprint import digest, fingerprint
from tilewright.distributed.windows import Box
from tilewright.plan import Target
from tilewright.programs.stencil.points import Index, Sums, Weights, around
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.memory import Array
from tilewright.runtime.points import MOST_BYTES, Look, PointData, Receivers, Recording, Sources, bytes_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowPoints:
    """The sources and receivers of one window."""

    data: PointData  # on the window's cells; each receiver is one cell
    columns: Mapping[str, Index]  # by field, places of the window's recorded cells among all of the grid's


def check_target(target: Target) -> None:
    """Check that kernels of a target know of points."""
    if target.on_device:
        raise ToolchainError(
            "sources and receivers of a grid that is cut need backend='c' or 'numpy'", f"it was {target.name!r}"
        )


def fingerprint_of(data: PointData | None) -> str:
    """Return a fingerprint of sources and receivers."""
    if data is None:
        return ""
    every = [(each.field, each.weights) for each in data.sources]
    every += [(each.field, each.weights) for each in data.receivers]
    each = [
        (field, *(digest(np.ascontiguousarray(a).tobytes()) for a in (w.point, w.cell, w.weight, w.constant)))
        for field, w in every
    ]
    values = [digest(np.ascontiguousarray(one.values).tobytes()) for one in data.sources]
    return fingerprint(each, values, [one.every for one in data.receivers])


def added(data: PointData, problem: Problem, span: Box) -> tuple[Sources, ...]:
    """Return the sources whose cells a window holds."""
    halo = [(-low, high - extent) for (low, high), extent in zip(span, problem.shape, strict=True)]
    sources = []
    for each in data.sources:
        weights = each.weights
        cells, which = around(weights.cell, problem.shape, halo)
        order = np.argsort(which, kind="stable")  # the order in which they are added to a cell
        cells, which = cells[order], which[order]
        inside = Weights(
            points=weights.points,
            point=weights.point[which],
            cell=cells,
            weight=weights.weight[which],
            constant=weights.constant,
        )
        sources.append(replace(each, weights=inside))
    return tuple(sources)


def inside(cells: Index, shape: tuple[int, ...], box: Box) -> tuple[Index, tuple[Index, ...]]:
    """Return which cells of a grid, given in row-major order, lie in a box, and per axis where these lie."""
    places = np.unravel_index(cells, shape)
    pairs = zip(places, box, strict=True)
    which = np.flatnonzero(np.logical_and.reduce([(place >= low) & (place < high) for place, (low, high) in pairs]))
    return which, tuple(place[which] for place in places)


class GridPoints:
    """The sources and receivers of a grid that is cut."""

    def __init__(self, problem: Problem, data: PointData, look: Look) -> None:
        self._problem, self._data = problem, data
        self._recording = {each.field: Recording(each, problem, look, data.summing) for each in data.receivers}
        self.traces = data.traces(problem)
        """By field, what the receivers recorded; shapes (rows, points)."""

    def window(self, span: Box, box: Box) -> WindowPoints:
        """Return what the window ``span`` adds, and records of the cells of ``box``."""
        receivers, columns = [], {}
        shape = tuple(high - low for low, high in span)
        for field, recording in self._recording.items():
            columns[field], places = inside(recording.cells, self._problem.shape, box)
            if field not in self._problem.points.receivers:
                continue
            own = tuple(place - low for place, (low, _) in zip(places, span, strict=True))
            count = len(columns[field])
            weights = Weights(
                points=count,
                point=np.arange(count, dtype=np.int64),
                cell=np.ravel_multi_index(own, shape).astype(np.int64),
                weight=np.ones(count),
                constant=np.zeros(count),
            )
            receivers.append(Receivers(field=field, weights=weights, every=recording.every))
        data = PointData(
            sources=added(self._data, self._problem, span), receivers=tuple(receivers), summing=_as_recorded
        )
        return WindowPoints(data=data, columns=columns)

    def table(self, first: int, steps: int) -> dict[str, Array]:
        """Return arrays for what all windows record in the steps after ``first``, by field; shapes (rows, cells)."""
        tables = {}
        for field, each in self._recording.items():
            rows = self.rows(field, first, steps)
            tables[field] = np.zeros((rows.stop - rows.start, len(each.cells)), self._problem.dtype)
        return tables

    def rows(self, field: str, first: int, steps: int) -> slice:
        """Return which rows of a trace are those of some steps."""
        every = self._recording[field].every
        return slice(first // every, (first + steps) // every)

    def finish(self, table: Mapping[str, Array], first: int) -> None:
        """Take the sums of what all windows recorded after ``first`` steps."""
        for field, each in self._recording.items():
            rows = table[field]
            begin = first // each.every
            self.traces[field][begin : begin + len(rows)] = each.sums(rows.T)

    def bytes(self, steps: int) -> int:
        """Return the memory that they take in a run whose windows have so many steps."""
        traces = sum(each.nbytes for each in self.traces.values())
        rows = {field: steps // each.every + 1 for field, each in self._recording.items()}
        tables = sum(2 * rows[f] * len(each.cells) for f, each in self._recording.items()) * self._problem.itemsize
        sums = sum(3 * rows[f] * self.traces[f].shape[1] for f in rows) * np.dtype(np.float64).itemsize
        of_kernels = 2 * min(MOST_BYTES, steps * bytes_of(self._problem))
        return int(traces + tables + sums + of_kernels)


def _as_recorded(terms: Sums, table: Array, start: Array) -> Array:  # noqa: ARG001  (as sums are taken elsewhere)
    """Return values of cells as they are: every receiver of a window is one cell."""
    return table
