"""The cotangents of cells along the sides that no step changes: from sums over the steps of what their neighbours are.

Where steps depend on no state, a step adds to the cotangents of kept cells something that is linear in those of cells
near the sides. So the steps back say the cotangents of updated cells alone, with their sums near the sides
(:mod:`tilewright.codegen.points`), and one step from these sums makes the rest, on parts of the grid as thin as the
reach.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.inputs.arrays import Array
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.adjoint_parts import Inner
from tilewright.programs.stencil.problem import Part, Problem, Span, make_problem
from tilewright.runtime.points import FaceSums

Box = tuple[slice, ...]


class EdgeSums:
    """Sums near the sides during the steps back, and what they make."""

    def __init__(self, problem: Problem, inner: Inner, margins: Mapping[str, tuple[Span, ...]]) -> None:
        """Make room for the sums; ``margins`` counts kept cells at both ends of every axis, by field (``u_rim``)."""
        self._problem, self._inner, self._margins = problem, inner, margins
        edges = inner.edges
        most = [
            tuple(max(pairs[axis][end] for pairs in margins.values()) for end in (0, 1)) for axis in range(edges.rank)
        ]
        self._widths = tuple(
            (low + reach[1] if low else 0, high + reach[0] if high else 0)
            for (low, high), reach in zip(most, edges.reach, strict=True)
        )
        reads = {read.field for each in edges.statements if each.field in margins for read in each.reads}
        names = [name for name in inner.program.updated if name in reads]
        self.sums = tuple(FaceSums(problem, name, self._widths) for name in names)

    def add(
        self,
        cotangents: Mapping[str, Array],  # by the fields that sum them
        # the cotangents of updated cells at first and in the end, newest first
        versions: tuple[Mapping[str, Sequence[Array]], Mapping[str, Sequence[Array]]],
        constant: Callable[[str], Array],
        scalars: Mapping[str, Any],
    ) -> None:
        """Add the cotangents of kept cells to ``cotangents``, in place."""
        for axis, last in self._ends():
            slab = self._slab(axis, last=last)
            boxes = {
                rim: self._kept(pairs, axis, last=last) for rim, pairs in self._margins.items() if pairs[axis][last]
            }
            problem = self._part(slab, {rim: _within(box, slab) for rim, box in boxes.items()})
            state = {}
            for each in self.sums:
                slabs = [[level[slab] for level in version[each.field]] for version in versions]
                state[each.field] = self._read(each, axis, slabs, last=last)
            for name in problem.program.fields:
                if name not in state:
                    state[name] = [np.asarray(constant(name)[slab], problem.dtype)]
            with np.errstate(all="ignore"):
                result = reference.step(problem, state, reference.typed_scalars(problem.dtype, scalars))
            for rim, box in boxes.items():
                cotangents[rim][box] += result[rim][0][_within(box, slab)]

    def _ends(self) -> Iterator[tuple[int, bool]]:
        for axis, pair in enumerate(self._widths):
            yield from ((axis, bool(end)) for end, width in enumerate(pair) if width)

    def _slab(self, axis: int, *, last: bool) -> Box:
        shape, width = self._problem.shape, self._widths[axis][last]
        span = slice(max(0, shape[axis] - width), shape[axis]) if last else slice(0, min(width, shape[axis]))
        return tuple(span if number == axis else slice(0, extent) for number, extent in enumerate(shape))

    def _part(self, slab: Box, boxes: Mapping[str, Box]) -> Problem:
        """The step from sums to the cotangents of kept cells, on a part of the grid; of no other field but one cell."""
        shape = tuple(span.stop - span.start for span in slab)
        problem = make_problem(self._inner.edges, shape, 1, self._problem.dtype, self._inner.edge_boundary)
        cell = (slice(0, 1),) * len(shape)
        spans = {name: boxes.get(name, cell) for name in problem.program.updated}
        return replace(
            problem,
            part=Part(start=tuple(span.start for span in slab), shape=self._problem.shape),
            regions=tuple((name, tuple((span.start, span.stop) for span in box)) for name, box in spans.items()),
        )

    def _read(self, sums: FaceSums, axis: int, versions: Sequence[Sequence[Array]], *, last: bool) -> list[Array]:
        """What is summed of the versions that the steps read: all but the last ones, and those at first."""
        first, final = versions
        total = sums.at_end(axis, last=last)
        totals = []
        for level in range(self._inner.edges.history(sums.field)):
            total = total - final[level] + first[level]
            totals.append(total)
        return totals

    def _kept(self, margins: tuple[Span, ...], axis: int, *, last: bool) -> Box:
        """The cells at one end of an axis that are kept and at no end of an axis before it."""
        count = margins[axis][last]
        box = list(self._slab(axis, last=last))
        extent = self._problem.shape[axis]
        box[axis] = slice(max(0, extent - count), extent) if last else slice(0, min(count, extent))
        for before, (low, high) in enumerate(margins[:axis]):
            box[before] = slice(low, max(low, self._problem.shape[before] - high))
        return tuple(box)


def _within(box: Box, slab: Box) -> Box:
    return tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(box, slab, strict=True))
