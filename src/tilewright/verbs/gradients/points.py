"""Sources and receivers on the way back through a run: they change places.

Where nothing of a step reads what they change in it, a run of the adjoint has them as its own: what the traces of a
step are worth is added after the step before is taken back, and what cells of sources are worth is recorded.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.inputs.arrays import Array, as_array
from tilewright.programs.stencil.adjoint_parts import Adjoint
from tilewright.programs.stencil.points import Index, Weights, numbered
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.points import PointData, Receivers, Sources, updated_cells

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
        self.records: dict[str, Array] = {}
        """What a run of the adjoint records of the cells of sources, by its field; shape (steps, cells)."""
        self._at_first: dict[str, Array] = {}
        every: list[Sources | Receivers] = [*data.sources, *data.receivers, *(each for _, each in scaled)]
        self._places = {id(each.weights): np.unravel_index(each.weights.cell, problem.shape) for each in every}
        self._moves = {id(each.weights): updated_cells(problem, each.field, each.weights.cell) for each in every}

    def add_traces(self, newest: Newest, number: int) -> None:
        """Add what was recorded after a step to what its new state is worth."""
        for each in self._data.receivers:
            if each.field in self._traces and (number + 1) % each.every == 0:
                row = self._traces[each.field][(number + 1) // each.every - 1]
                self._add_row(newest, each, row, moving=True)
                self._add_row(newest, each, row, moving=False)

    def _add_row(self, newest: Newest, each: Receivers, row: Array, *, moving: bool) -> None:
        """Add what a record is worth in the cells that steps update, or in all others."""
        adjoint = self._adjoint
        if each.field in self._problem.program.updated:
            name = adjoint.worth(each.field) if moving else adjoint.kept.get(each.field)
            which = self._moves[id(each.weights)] == moving
        else:
            name, which = None if moving else adjoint.sums.get(each.field), np.ones(len(each.weights.cell), dtype=bool)
        if name is not None:
            self._add(newest(name), each.weights, each.weights.weight * row[each.weights.point], which)

    def fits(self, program: Program) -> bool:
        """Whether a run of the adjoint may have them: no statement reads what they change in the step that does."""
        fields = [each.field for each in self._all()] + [each.field for each in self._data.receivers]
        names = set(map(self._adjoint.worth, fields))
        after = {read.field for each in program.statements for read in each.reads if read.level == 1}
        return not names & after and not any(each.field in self._adjoint.stages for each in self._all())

    def tabled(self, worth: dict[str, Array]) -> PointData:
        """Return them as points of a run of the adjoint, which records to :attr:`records`; add to ``worth``."""
        steps, shape = self._problem.steps, self._problem.shape
        sources, receivers = [], []
        for each in self._data.receivers:
            if each.field not in self._traces:
                continue
            given = self._traces[each.field]
            self._add_row(worth.__getitem__, each, given.sum(axis=0, dtype=np.float64), moving=False)
            if each.field not in self._problem.program.updated:
                continue
            if steps % each.every == 0:
                self._add_row(worth.__getitem__, each, given[-1], moving=True)
            # After the run's step s, what was recorded after the step that it takes back next.
            numbers = np.arange(each.every - 1, steps - 1, each.every)
            values = np.zeros((steps, each.weights.points), given.dtype)
            values[steps - 2 - numbers] = given[: len(numbers)]
            weights = each.weights.some(self._moves[id(each.weights)])
            sources.append(Sources(field=self._adjoint.worth(each.field), weights=weights, values=values))
        for field in dict.fromkeys(each.field for each in self._all()):
            cells, name = self._cells(field), self._adjoint.worth(field)
            places = np.arange(len(cells))
            weights = Weights(
                points=len(cells), point=places, cell=cells, weight=np.ones(len(cells)), constant=np.zeros(len(cells))
            )
            receivers.append(Receivers(field=name, weights=weights))
            self.records[name] = np.zeros((steps, len(cells)), self._problem.dtype)
            self._at_first[field] = worth[name][np.unravel_index(cells, shape)]
        return PointData(sources=tuple(sources), receivers=tuple(receivers))

    def take_records(self, newest: Newest) -> None:
        """Read what sources are worth from what a run recorded, and add what their scales are worth."""
        for each in self._all():
            cells, rows = self._cells(each.field), self.records[self._adjoint.worth(each.field)]
            worth = np.concatenate((self._at_first[each.field][np.newaxis], rows[:-1]))[::-1]
            terms = np.where(self._moves[id(each.weights)], worth[:, np.searchsorted(cells, each.weights.cell)], 0.0)
            self._take_terms(newest, each, each.weights.weight * terms)

    def _take_terms(self, newest: Newest, each: Sources, terms: Array, first: int = 0) -> None:
        """Take what sources are worth in some steps, by entry of their weights; shape (steps, entries)."""
        for own in self._data.sources:
            if own is each:
                for number, row in enumerate(terms, first):
                    found = np.bincount(each.weights.point, row, minlength=each.weights.points)
                    self.values[each.field][number] = found
        for scale, own in self._scaled:
            name = self._adjoint.sums.get(scale)
            if own is each and name is not None:
                values = (terms * each.values[first : first + len(terms)][:, each.weights.point]).sum(axis=0)
                self._add(newest(name), each.weights, values, np.ones(len(values), dtype=bool))

    def _cells(self, field: str) -> Index:
        return numbered(np.concatenate([each.weights.cell for each in self._all() if each.field == field]))[0]

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
        for each in self._all():
            self._take_terms(newest, each, each.weights.weight * worth[id(each)][np.newaxis], number)

    def _all(self) -> tuple[Sources, ...]:
        return (*self._data.sources, *(each for _, each in self._scaled))

    def _at(self, array: Array, each: Sources) -> Array:
        """Values at the cells of sources; 0 at those that no step updates."""
        found: Array = np.where(self._moves[id(each.weights)], array[self._places[id(each.weights)]], 0.0)
        return found

    def _add(self, array: Array, weights: Weights, values: Array, which: Array) -> None:
        places = tuple(place[which] for place in self._places[id(weights)])
        np.add.at(array, places, values[which].astype(array.dtype))
