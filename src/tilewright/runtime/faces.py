"""Sums of a field over the steps of a run, near the sides of the grid: see :mod:`tilewright.codegen.points`."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.programs.stencil.problem import Problem, Span
from tilewright.programs.stencil.storage import Subdomain
from tilewright.runtime.memory import Array


class FaceSums:
    """Sums of what a statement makes of a field's cells near the sides, from zero on."""

    def __init__(self, problem: Problem, field: str, widths: tuple[Span, ...]) -> None:
        """Make room for the sums of a problem's field."""
        # widths: cells at both ends of every axis
        self.field, self.widths, self._shape = field, widths, problem.shape
        statement = next(each for each in problem.program.statements if each.field == field)
        self._box = tuple(slice(*span) for span in problem.update_box(statement))
        self._parts = {axis: Subdomain(axis, *pair) for axis, pair in enumerate(widths) if any(pair)}
        # axis by axis, those at the second end of an axis behind those at the first
        self.sums: Array = np.zeros(sum(math.prod(each.shape(problem.shape)) for each in self._parts.values()))
        self.sums = self.sums.astype(problem.dtype)

    def add(self, look: Callable[[str, npt.NDArray[np.int64]], Array]) -> None:
        """Add new values, of which cells are asked by their numbers in the grid."""
        moves, cells = self._cells
        self.sums[moves] += look(self.field, cells)

    @functools.cached_property
    def _cells(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Which sums are of cells that are updated, and the numbers of these in the grid."""
        numbers, updated = np.arange(math.prod(self._shape)), np.zeros(self._shape, dtype=bool)
        updated[self._box] = True
        found = np.concatenate([part.cut(numbers.reshape(self._shape)).ravel() for part in self._parts.values()])
        moves = updated.ravel()[found]
        return moves, found[moves]

    def at_end(self, axis: int, *, last: bool) -> npt.NDArray[Any]:
        """Return the sums of the cells at one end of an axis, a view that is the grid's shape along the others.

        Where both ends have cells in common these are summed once, with those of the first end.
        """
        start = 0
        for each, part in self._parts.items():
            shape = part.shape(self._shape)
            if each == axis:
                found = self.sums[start : start + math.prod(shape)].reshape(shape)
                count = min(self.widths[axis][last], self._shape[axis])
                cells = slice(shape[axis] - count, None) if last else slice(count)
                return found[(slice(None),) * axis + (cells,)]
            start += math.prod(shape)
        raise KeyError(axis)
