"""Sources and receivers of a grid that is cut: what falls into a window, and traces of what windows recorded.

A window adds to the cells that it holds, those computed a second time for its box among them, in the order of the run
in memory. It records the cells of its box, so that every cell is recorded once; receivers, whose cells may lie in
several boxes, take their sums of a table of all cells, as in memory. Both give the bits of the run in memory.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.base.errors import ToolchainError
from tilewright.base.fingerprint import digest, fingerprint
from tilewright.distributed.windows import Box
from tilewright.plan import Target
from tilewright.programs.stencil.points import inside, of_cells, renumbered
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.memory import Array
from tilewright.runtime.points import MOST_BYTES, Look, PointData, bytes_of, read


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
    values = [digest(np.ascontiguousarray(source.values).tobytes()) for source in data.sources]
    return fingerprint(each, values, [receiver.every for receiver in data.receivers])


class GridPoints:
    """The sources and receivers of a grid that is cut."""

    def __init__(self, problem: Problem, data: PointData, look: Look) -> None:
        self._problem, self._data = problem, data
        self._receivers = {each.field: each.without_held(problem, look) for each in data.receivers}
        self.traces = data.traces(problem)  # by field, what the receivers recorded; shapes (rows, points)

    def window(self, span: Box, box: Box) -> PointData:
        """Return what the window ``span`` adds, and records of the cells of ``box`` into :meth:`table`."""
        receivers, shape = [], self._problem.shape
        for each in self._receivers.values():
            columns = np.flatnonzero(inside(each.weights.cells, shape, box))
            cells = renumbered(each.weights.cells[columns], shape, span)
            weights = of_cells(cells, tuple(high - low for low, high in span))
            receivers.append(replace(each, weights=weights, columns=columns))
        return self._data.within(span, tuple(receivers))

    def table(self, first: int, steps: int) -> dict[str, Array]:
        """Return arrays for what all windows record in the steps after ``first``, by field; shapes (rows, cells)."""
        rows = {field: self.rows(field, first, steps) for field in self._receivers}
        return {
            field: np.zeros((rows[field].stop - rows[field].start, len(each.weights.cells)), self._problem.dtype)
            for field, each in self._receivers.items()
        }

    def rows(self, field: str, first: int, steps: int) -> slice:
        """Return which rows of a trace are those of some steps."""
        each = self._receivers[field]
        return slice(each.rows(first), each.rows(first + steps))

    def finish(self, table: Mapping[str, Array], first: int) -> None:
        """Take the sums of what all windows recorded after ``first`` steps."""
        for field, each in self._receivers.items():
            begin = each.rows(first)
            values = read(each.weights, table[field].T, self._data.threads)
            self.traces[field][begin : begin + len(table[field])] = values.T

    def bytes(self, steps: int) -> int:
        """Return the memory that they take in a run whose windows have so many steps."""
        traces = sum(each.nbytes for each in self.traces.values())
        rows = {field: each.rows(steps) + 1 for field, each in self._receivers.items()}
        cells = sum(rows[field] * len(each.weights.cells) for field, each in self._receivers.items())
        sums = sum(3 * rows[f] * self.traces[f].shape[1] for f in rows) * np.dtype(np.float64).itemsize
        of_kernels = 2 * min(MOST_BYTES, steps * bytes_of(self._problem))
        return int(traces + 2 * cells * self._problem.itemsize + sums + of_kernels)
