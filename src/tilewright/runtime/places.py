"""Tables of what a program computes with that depends on the cell's place alone, as kernels on processors read them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.base.dtypes import arithmetic, numpy_type
from tilewright.codegen.emit import StencilLayout
from tilewright.programs.stencil.expression import Inside, Placed
from tilewright.programs.stencil.periodic import Extended
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.reference import along
from tilewright.programs.stencil.regions import holds_inside
from tilewright.runtime.memory import Array


def place_table(node: Placed, problem: Problem, halo: Extended | None, margin: int = 0) -> Array:
    """Return the numbers of a leaf that depends on the cell's place alone, 0 and 1 for truth values.

    Args:
        node: The leaf.
        problem: The problem.
        halo: Periodic copies around a grid that wraps: what lies in them has the numbers of what it is a copy of.
        margin: Cells beyond the ends of the axis.
    """
    axis, kind, whole = node.axis, numpy_type(problem.dtype), problem if halo is None else halo.problem
    low = -margin - (0 if halo is None else halo.around[axis][0])
    places, extent = problem.places(axis, low, low + whole.shape[axis] + 2 * margin)
    if halo is not None and any(halo.around[axis]):
        places %= extent
    return np.ascontiguousarray(along(node, places, extent, kind).astype(kind))


def _middle(layout: StencilLayout, tables: Sequence[Array], problem: Problem) -> list[tuple[int, int]]:
    """Return the longest range of cells per axis along which every truth value is what it is in the middle."""
    found = []
    for axis, extent in enumerate(problem.shape):
        same = np.ones(extent, dtype=bool)
        for node, table in zip(layout.placed, tables, strict=True):
            if isinstance(node, Inside) and node.axis == axis:
                same &= (table[layout.margin : layout.margin + extent] != 0) == holds_inside(node)
        changes = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
        ranges = [(int(low), int(high)) for low, high in zip(changes[::2], changes[1::2], strict=True)]
        found.append(max(ranges, key=lambda each: each[1] - each[0], default=(0, 0)))
    return found


class PlaceTables:
    """A number for every index along an axis, and for those a little beyond its ends.

    Attributes:
        addresses: Where the number of the first cell of each table's axis lies.
    """

    def __init__(self, layout: StencilLayout, problem: Problem, halo: Extended | None = None) -> None:
        """Make the tables.

        Args:
            layout: What the kernel wants.
            problem: The problem.
            halo: Periodic copies around a grid that wraps: what lies in them has the numbers of what it is a copy of.
        """
        self._arrays = [place_table(node, problem, halo, layout.margin) for node in layout.placed]
        self.addresses = [each.ctypes.data + layout.margin * each.itemsize for each in self._arrays]
        if any(isinstance(node, Inside) for node in layout.placed):
            self._middle = np.array(_middle(layout, self._arrays, problem if halo is None else halo.problem), np.int64)
            self.addresses.append(self._middle.ctypes.data)


def scalar_table(problem: Problem, scalars: Mapping[str, Any], steps: int) -> tuple[Array, int]:
    """Return a program's scalars as kernels read them, and the bytes from one step's to the next one's.

    Args:
        problem: The problem.
        scalars: By name, numbers; of those that vary an array of one per step, or a number for all steps. Steps beyond
            the last value have it, too.
        steps: Steps from the start of the run for which they are wanted.

    Returns:
        One row, or one per step; the bytes are 0 for one row.
    """
    kind, names = arithmetic(problem.dtype), problem.program.scalars
    if not problem.varying:
        return np.array([*(scalars[name] for name in names), 0], dtype=kind), 0
    table = np.zeros((max(1, steps), len(names)), dtype=kind)
    for column, name in enumerate(names):
        values = np.atleast_1d(np.asarray(scalars[name]).astype(kind))[: len(table)]
        table[: len(values), column] = values
        table[len(values) :, column] = values[-1:] if len(values) else 0
    return table, table.strides[0]
