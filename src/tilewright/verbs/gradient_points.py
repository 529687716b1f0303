"""Sources and receivers on the way back through a run: they change places."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.programs.stencil.adjoint import Adjoint
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.points import PointData, Receivers, Sources, updated_cells
from tilewright.verbs.arrays import Array, as_array


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
        self._moves = {id(each.weights): updated_cells(problem, each.field, each.weights.cell) for each in every}

    def with_traces(self, worth: dict[str, Array], number: int) -> dict[str, Array]:
        """Add what was recorded after a step to what its new state is worth."""
        adjoint, problem = self._adjoint, self._problem
        found = dict(worth)
        for each in self._data.receivers:
            if each.field not in self._traces or (number + 1) % each.every:
                continue
            row = self._traces[each.field][(number + 1) // each.every - 1]
            weights = each.weights
            values = weights.weight * row[weights.point]
            if each.field not in problem.program.updated:
                name = adjoint.sums.get(each.field)
                pairs = [] if name is None else [(name, np.ones(len(values), dtype=bool))]
            else:
                moves = self._moves[id(weights)]
                pairs = [(adjoint.worth(each.field), moves)]
                if each.field in adjoint.kept:
                    pairs.append((adjoint.kept[each.field], ~moves))
            for name, which in pairs:
                array = found[name].copy() if name in found else np.zeros(problem.shape, problem.dtype)
                np.add.at(array.reshape(-1), weights.cell[which], values[which].astype(array.dtype))
                found[name] = array
        return found

    def sources(self, before: Mapping[str, Array], worth: dict[str, Array], number: int) -> None:
        """Read what the sources of a step are worth, and add what their scales are worth."""
        adjoint = self._adjoint

        def new_worth(of: Sources) -> Array:
            stage = adjoint.stages.get(of.field)
            array = before[adjoint.worth(of.field)] if stage is None else worth[stage]
            found: Array = np.where(self._moves[id(of.weights)], array.reshape(-1)[of.weights.cell], 0.0)
            return found

        for each in self._data.sources:
            weights = each.weights
            terms = weights.weight * new_worth(each)
            self.values[each.field][number] = np.bincount(weights.point, terms, minlength=weights.points)
        for scale, each in self._scaled:
            name = adjoint.sums.get(scale)
            if name is None:
                continue
            weights = each.weights
            terms = weights.weight * each.values[number][weights.point] * new_worth(each)
            array = worth[name].copy()
            np.add.at(array.reshape(-1), weights.cell, terms.astype(array.dtype))
            worth[name] = array
