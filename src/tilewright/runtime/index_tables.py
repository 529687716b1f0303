"""Tables of what a program computes with that depends on the cell's place alone, as kernels on processors read them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.base.constants import CACHE_LINE
from tilewright.base.dtypes import arithmetic, numpy_type
from tilewright.base.intmath import round_up
from tilewright.codegen.emit import StencilLayout
from tilewright.programs.stencil.expression import Inside, Placed
from tilewright.programs.stencil.forms import Extended
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.reference import along
from tilewright.programs.stencil.regions import middle, reads_across
from tilewright.programs.stencil.storage import Subdomain, Subdomains
from tilewright.runtime import memory
from tilewright.runtime.memory import Array, Layout


def index_table(
    node: Placed, problem: Problem, halo: Extended | None, profiles: Mapping[str, Any], margin: int = 0
) -> Array:
    """Return the numbers of a leaf of the cell's place, and ``margin`` beyond the axis; 0 and 1 for truth values."""
    axis, kind, whole = node.axis, numpy_type(problem.dtype), problem if halo is None else halo.problem
    low = -margin - (0 if halo is None else halo.around[axis][0])
    positions, extent = problem.places(axis, low, low + whole.shape[axis] + 2 * margin)
    if halo is not None and any(halo.around[axis]):
        positions %= extent  # what lies in the halo has the numbers of what it is a copy of
    return np.ascontiguousarray(along(node, positions, extent, kind, profiles).astype(kind))


def _middle(
    needs: StencilLayout, tables: Sequence[Array], problem: Problem, subdomains: Subdomains
) -> tuple[tuple[int, int], ...]:
    """Return the longest range of cells per axis along which every truth value is what it is in the middle."""
    return middle(
        problem,
        subdomains,
        [
            (node, table[needs.margin : needs.margin + problem.shape[node.axis]] != 0)
            for node, table in zip(needs.placed, tables, strict=True)
            if isinstance(node, Inside)
        ],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptField:
    """How a field that lives in a subdomain lies in memory."""

    part: Subdomain
    low: int  # end of the cells that are kept at the first end of the axis
    high: int  # start of those at the other one
    layout: Layout  # of what is kept

    @property
    def numbers(self) -> tuple[int, ...]:
        """What a kernel is told, see :class:`tilewright.codegen.layouts.Packed`."""
        return self.low, self.high, self.high - self.low, self.layout.slot, *self.layout.strides[:-1]

    def fill(self, target: Array, values: Array, shape: tuple[int, ...]) -> None:
        """Put the cells of the subdomain of a grid into what is kept, and 0 around them."""
        target[...] = 0
        for span, half in zip(self._spans(shape), self._halves(shape), strict=True):
            np.copyto(target[span], values[half], casting="unsafe")

    def cut(self, source: Array, shape: tuple[int, ...]) -> Array:
        """Return the cells of the subdomain of a grid."""
        cells = np.empty(self.part.shape(shape), source.dtype)
        for span, half in zip(self._spans(shape), self._halves(shape), strict=True):
            cells[half] = source[span]
        return cells

    def _spans(self, shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
        axis, gap = self.part.axis, self.high - self.low
        first, second = self.part.parts(shape)
        moved = slice(second[axis].start - gap, second[axis].stop - gap)
        return [first, (*second[:axis], moved, *second[axis + 1 :])]

    def _halves(self, shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
        axis, first = self.part.axis, self.part.parts(shape)[0]
        rest = slice(first[axis].stop, None)
        return [first, (*first[:axis], rest, *first[axis + 1 :])]


def _field(part: Subdomain, field: str, problem: Problem, inner: tuple[int, int] | None, *, padded: bool) -> KeptField:
    """Lay out a field: with as many cells as reads reach into the middle, where kernels have it in place."""
    extent = problem.shape[part.axis]
    if inner is None:
        low = min(part.low, extent)
        high = max(low, extent - part.high)
    else:
        reach = max(reads_across(problem, field, part.axis))
        low = min(extent, inner[0] + reach)
        high = max(low, inner[1] - reach)
        low += (high - low) % (CACHE_LINE // problem.itemsize)  # rows start at cache lines at both ends
    shape = tuple(n - (high - low) if axis == part.axis else n for axis, n in enumerate(problem.shape))
    layout = memory.layout(shape, problem.itemsize)
    if not padded:
        strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        layout = replace(layout, strides=strides, slot=round_up(math.prod(shape), CACHE_LINE // problem.itemsize))
    return KeptField(part=part, low=low, high=high, layout=layout)


class IndexTables:
    """A number for every index along an axis, and for those a little beyond its ends."""

    parts: Mapping[str, KeptField] = MappingProxyType({})  # by field, those that live in subdomains

    def __init__(
        self,
        layout: StencilLayout,
        problem: Problem,
        profiles: Mapping[str, Any],  # by name, given numbers along an axis
        halo: Extended | None = None,
        subdomains: Subdomains = (),
        *,
        padded: bool = True,  # lay rows in subdomains as those of other fields, not one after the other
    ) -> None:
        whole = problem if halo is None else halo.problem
        self._arrays = [index_table(node, problem, halo, profiles, layout.margin) for node in layout.placed]
        # where the number of the first cell lies, by table
        self.addresses = [each.ctypes.data + layout.margin * each.itemsize for each in self._arrays]
        if any(isinstance(node, Inside) for node in layout.placed):
            inner = _middle(layout, self._arrays, whole, subdomains)
            self.parts = {
                field: _field(part, field, whole, inner[part.axis] if layout.packed else None, padded=padded)
                for field, part in subdomains
            }
            numbers = [
                *(end for pair in inner for end in pair),
                *(n for each in self.parts.values() for n in each.numbers),
            ]
            self._middle = np.array(numbers, np.int64)
            self.addresses.append(self._middle.ctypes.data)


def scalar_table(problem: Problem, scalars: Mapping[str, Any], steps: int) -> tuple[Array, int]:
    """Return a program's scalars as kernels read them, in one row or one per step, and the bytes between rows."""
    kind, names = arithmetic(problem.dtype), problem.program.scalars
    if not problem.varying:
        return np.array([*(scalars[name] for name in names), 0], dtype=kind), 0
    table = np.zeros((max(1, steps), len(names)), dtype=kind)
    for column, name in enumerate(names):
        values = np.atleast_1d(np.asarray(scalars[name]).astype(kind))[: len(table)]
        table[: len(values), column] = values
        table[len(values) :, column] = values[-1:] if len(values) else 0  # the last value stays
    return table, table.strides[0]
