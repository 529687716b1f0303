"""Sources and receivers on the way back through a run: they change places.

Where nothing of a step reads what they change in it, a run of the adjoint has them as its own: the cotangents
of the traces of a step are added after the step before is taken back, and those of cells of sources are recorded.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.inputs.arrays import Array, as_array
from tilewright.programs.stencil.adjoint_parts import Adjoint
from tilewright.programs.stencil.points import Index, Weights, of_cells
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.points import PointData, Receivers, Sources, updated_entries

Newest = Callable[[str], Array]  # what shows the newest version of a field, which may be written to


class Pulled:
    """Sources and receivers on the way back: receivers add the cotangents of their traces, sources read."""

    def __init__(
        self,
        adjoint: Adjoint,
        problem: Problem,
        data: PointData,
        of_traces: Mapping[str, Any] | None,
    ) -> None:
        self._adjoint, self._problem, self._receivers = adjoint, problem, data.receivers
        self._traces: dict[str, Array] = {}
        for each in data.receivers:
            shape = (each.rows(problem.steps), each.weights.points)
            array = None if of_traces is None else of_traces.get(each.field)
            if array is not None:
                values = as_array(array, f"the cotangent of the traces of {each.field}")
                if values.shape != shape:
                    raise ArrayError(
                        f"the cotangent of the traces of {each.field!r} has the shape {shape}, got {values.shape}"
                    )
                self._traces[each.field] = values
        every = [(None, each) for each in data.sources] + [pair for each in data.sources for pair in each.scaled]
        self._sources = [(scale, each.without_held(problem)) for scale, each in every]
        self.values = {each.field: np.zeros(each.values.shape) for each in data.sources}
        """By field, the cotangents of values of sources; shape (steps, points)."""
        self.records: dict[str, Array] = {}
        """What a run of the adjoint records of the cells of sources, by its field; shape (steps, cells)."""
        self._at_first: dict[str, Array] = {}
        self._recorded: dict[str, Index] = {}

    def add_traces(self, newest: Newest, number: int) -> None:
        """Add the cotangent of what was recorded after a step to that of its new state."""
        for each in self._receivers:
            if each.field in self._traces and (number + 1) % each.every == 0:
                row = self._traces[each.field][(number + 1) // each.every - 1]
                self._add_row(newest, each, row, moving=True)
                self._add_row(newest, each, row, moving=False)

    def _add_row(self, newest: Newest, each: Receivers, row: Array, *, moving: bool) -> None:
        """Add the cotangent of a record in the cells that steps update, or in all others."""
        adjoint, updated = self._adjoint, each.field in self._problem.program.updated
        if moving:
            name = adjoint.cotangent(each.field) if updated else None
        else:
            name = (adjoint.kept if updated else adjoint.sums).get(each.field)
        if name is not None:
            weights = self._parts[each.field][moving]
            weights.add(newest(name), weights.weight * row[weights.point])

    @functools.cached_property
    def _parts(self) -> dict[str, dict[bool, Weights]]:
        """Of receivers, by field, the entries of cells that steps update, and all others."""
        moves = {each.field: updated_entries(self._problem, each.field, each.weights) for each in self._receivers}
        return {
            each.field: {True: each.weights.some(moves[each.field]), False: each.weights.some(~moves[each.field])}
            for each in self._receivers
        }

    def fits(self, program: Program) -> bool:
        """Whether a run of the adjoint may have them: no statement reads what they change in the step that does."""
        fields = [each.field for _, each in self._sources]
        names = set(map(self._adjoint.cotangent, [*fields, *(each.field for each in self._receivers)]))
        after = {read.field for each in program.statements for read in each.reads if read.level == 1}
        return not names & after and not any(field in self._adjoint.stages for field in fields)

    def tabled(self, cotangents: dict[str, Array]) -> PointData:
        """Return them as points of a run of the adjoint, which records to :attr:`records`; add to ``cotangents``."""
        steps, shape, dtype = self._problem.steps, self._problem.shape, self._problem.dtype
        sources, receivers = [], []

        def first(name: str) -> Array:  # the cotangent of a constant field is summed from nothing on
            return cotangents.setdefault(name, np.zeros(shape, dtype))

        for each in self._receivers:
            if each.field not in self._traces:
                continue
            traces = self._traces[each.field]
            self._add_row(first, each, traces.sum(axis=0, dtype=np.float64), moving=False)
            if each.field not in self._problem.program.updated:
                continue
            if steps % each.every == 0:
                self._add_row(first, each, traces[-1], moving=True)
            # After the run's step s, what was recorded after the step that it takes back next.
            numbers = np.arange(each.every - 1, steps - 1, each.every)
            values = np.zeros((steps, each.weights.points), traces.dtype)
            values[steps - 2 - numbers] = traces[: len(numbers)]
            weights = self._parts[each.field][True]
            sources.append(Sources(field=self._adjoint.cotangent(each.field), weights=weights, values=values))
        for field in dict.fromkeys(each.field for _, each in self._sources):
            cells = np.unique(np.concatenate([each.weights.cells for _, each in self._sources if each.field == field]))
            name, weights = self._adjoint.cotangent(field), of_cells(cells, shape)
            receivers.append(Receivers(field=name, weights=weights))
            self.records[name] = np.zeros((steps, len(cells)), dtype)
            self._recorded[field], self._at_first[field] = cells, weights.at(cotangents[name])
        return PointData(sources=tuple(sources), receivers=tuple(receivers))

    def take_records(self, newest: Newest) -> None:
        """Read the cotangents of sources from what a run recorded, and add the cotangents of their scales."""
        for scale, each in self._sources:
            rows = self.records[self._adjoint.cotangent(each.field)]
            cotangents = np.concatenate((self._at_first[each.field][np.newaxis], rows[:-1]))[::-1]
            columns = np.searchsorted(self._recorded[each.field], each.weights.cells)
            self._take(newest, scale, each, cotangents[:, columns])

    def _take(self, newest: Newest, scale: str | None, each: Sources, cotangents: Array, first: int = 0) -> None:
        """Take the cotangents of sources, or of what scales them, in some steps; ``cotangents`` are (steps, cells)."""
        weights, steps = each.weights, slice(first, first + len(cotangents))
        if scale is None:
            self.values[each.field][steps] = weights.read(cotangents.T).T
        elif scale in self._adjoint.sums:
            values = weights.weight * cotangents[:, weights.column] * each.values[steps][:, weights.point]
            weights.add(newest(self._adjoint.sums[scale]), values.sum(axis=0))

    def before(self, newest: Newest) -> list[Array]:
        """Return the cotangents of new values at each of the sources, if no later statement reads them."""
        return [each.weights.at(newest(self._adjoint.cotangent(each.field))) for _, each in self._sources]

    def take_sources(self, newest: Newest, before: list[Array], number: int) -> None:
        """Read the cotangents of the sources of a step, and add the cotangents of their scales."""
        stages = self._adjoint.stages
        for (scale, each), values in zip(self._sources, before, strict=True):
            cotangents = each.weights.at(newest(stages[each.field])) if each.field in stages else values
            self._take(newest, scale, each, cotangents[np.newaxis], number)
