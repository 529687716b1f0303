"""Sources and receivers on the way back through a run: they change places."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.programs.stencil.adjoint import Adjoint
from tilewright.programs.stencil.points import Weights
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.points import PointData, Receivers, Sources, updated_cells
from tilewright.verbs.arrays import Array, as_array

Newest = Callable[[str], Array]
"""What shows the newest version of a field, which may be written to."""


class Pulled:
    """Sources and receivers on the way back: receivers add what their traces are worth, sources read."""

    def __init__(
        self,
        adjoint: Adjoint,
        problem: Problem,
        data: PointData,
        scaled: tuple[tuple[str, Sources], ...],
        of_traces: Mapping[str, Any] | None,
    ) -> None:
        """Check what traces are worth.

        Raises:
            ArrayError: If an array does not fit.
        """
        self._adjoint, self._problem, self._data, self._scaled = adjoint, problem, data, scaled
        self._traces: dict[str, Array] = {}
        for each in data.receivers:
            shape = (each.rows(problem.steps), each.weights.points)
            array = None if of_traces is None else of_traces.get(each.field)
            if array is not None:
                found = as_array(array, f"the cotangent of the traces of {each.field}")
                if found.shape != shape:
                    raise ArrayError(
                        f"the cotangent of the traces of {each.field!r} has the shape {shape}, got {found.shape}"
                    )
                self._traces[each.field] = found
        self.values = {each.field: np.zeros(each.values.shape) for each in data.sources}
        """By field, what values of sources are worth; shape (steps, points)."""
        every: list[Sources | Receivers] = [*data.sources, *data.receivers, *(each for _, each in scaled)]
        self._places = {id(each.weights): np.unravel_index(each.weights.cell, problem.shape) for each in every}
        self._moves = {id(each.weights): updated_cells(problem, each.field, each.weights.cell) for each in every}

    def add_traces(self, newest: Newest, number: int) -> None:
        """Add what was recorded after a step to what its new state is worth."""
        adjoint, problem = self._adjoint, self._problem
        for each in self._data.receivers:
            if each.field not in self._traces or (number + 1) % each.every:
                continue
            row = self._traces[each.field][(number + 1) // each.every - 1]
            values = each.weights.weight * row[each.weights.point]
            if each.field not in problem.program.updated:
                name = adjoint.sums.get(each.field)
                pairs = [] if name is None else [(name, np.ones(len(values), dtype=bool))]
            else:
                moves = self._moves[id(each.weights)]
                pairs = [(adjoint.worth(each.field), moves)]
                if each.field in adjoint.kept:
                    pairs.append((adjoint.kept[each.field], ~moves))
            for name, which in pairs:
                self._add(newest(name), each.weights, values, which)

    def before(self, newest: Newest) -> dict[int, Array]:
        """Return what new values are worth at sources, by these' identity, where no later statement reads them."""
        stages = self._adjoint.stages
        return {
            id(each): self._at(newest(self._adjoint.worth(each.field)), each)
            for each in self._all()
            if each.field not in stages
        }

    def take_sources(self, newest: Newest, before: dict[int, Array], number: int) -> None:
        """Read what the sources of a step are worth, and add what their scales are worth."""
        stages = self._adjoint.stages
        worth = {
            id(each): self._at(newest(stages[each.field]), each) if each.field in stages else before[id(each)]
            for each in self._all()
        }
        for each in self._data.sources:
            terms = each.weights.weight * worth[id(each)]
            self.values[each.field][number] = np.bincount(each.weights.point, terms, minlength=each.weights.points)
        for scale, each in self._scaled:
            name = self._adjoint.sums.get(scale)
            if name is not None:
                values = each.weights.weight * each.values[number][each.weights.point] * worth[id(each)]
                self._add(newest(name), each.weights, values, np.ones(len(values), dtype=bool))

    def _all(self) -> tuple[Sources, ...]:
        return (*self._data.sources, *(each for _, each in self._scaled))

    def _at(self, array: Array, each: Sources) -> Array:
        """Values at the cells of sources; 0 at those that no step updates."""
        found: Array = np.where(self._moves[id(each.weights)], array[self._places[id(each.weights)]], 0.0)
        return found

    def _add(self, array: Array, weights: Weights, values: Array, which: Array) -> None:
        places = tuple(place[which] for place in self._places[id(weights)])
        np.add.at(array, places, values[which].astype(array.dtype))
