"""Ghost cells: buffers of a plain code that hold, around the grid, what its boundaries say lies outside.

A loop over the grid then needs no conditions. Cells outside that repeat cells inside are written again whenever their
source is, by whoever writes it; constants are written once. Rows start at cache lines. Where every boundary is
``fixed`` nothing outside is read and a buffer is the grid alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.programs.stencil import reference
from tilewright.programs.stencil.problem import Problem

Array = npt.NDArray[Any]
LINE = 64
_STILL = ("fixed", "constant")
"""Boundaries whose ghost cells no step changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghosts:
    """Where a grid lies in its buffers, the same for every field.

    Attributes:
        shape: Extents of the grid, outermost first.
        reach: Ghost cells below and above, per axis.
        origin: Index of the grid's first cell in a buffer.
        extents: Extents of a buffer.
    """

    shape: tuple[int, ...]
    reach: tuple[tuple[int, int], ...]
    origin: tuple[int, ...]
    extents: tuple[int, ...]

    def inside(self, buffer: Array) -> Array:
        """The grid in a buffer."""
        spans = zip(self.origin, self.shape, strict=True)
        grid: Array = buffer[tuple(slice(first, first + extent) for first, extent in spans)]
        return grid


def ghosts_of(problem: Problem) -> Ghosts:
    """Lay out the buffers of a problem.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> from tilewright.programs.stencil.problem import make_problem
    >>> ghosts_of(make_problem(program("j2d5pt"), (10, 30), 1, boundary="wrap")).extents
    (12, 48)
    """
    last = problem.program.rank - 1
    line = LINE // problem.itemsize
    reach, origin, extents = [], [], []
    for axis, extent in enumerate(problem.shape):
        needed = any(side.kind != "fixed" for sides in problem.boundaries for side in sides[axis])
        low, high = problem.program.reach[axis] if needed else (0, 0)
        aligned = axis == last and low + high > 0
        first = -(-low // line) * line if aligned else low
        whole = first + extent + high
        reach.append((low, high))
        origin.append(first)
        extents.append(-(-whole // line) * line if aligned else whole)
    return Ghosts(shape=problem.shape, reach=tuple(reach), origin=tuple(origin), extents=tuple(extents))


def padded(ghosts: Ghosts, problem: Problem, field: str, array: Array) -> Array:
    """Return an array as a buffer holds it: with its ghost cells; itself, where there are none."""
    if ghosts.extents == ghosts.shape:
        return array
    buffer = np.zeros(ghosts.extents, dtype=array.dtype)
    spans = zip(ghosts.origin, ghosts.shape, ghosts.reach, strict=True)
    part = tuple(slice(first - low, first + extent + high) for first, extent, (low, high) in spans)
    buffer[part] = reference.pad(array, ghosts.reach, problem.sides(field))
    return buffer


def copies(ghosts: Ghosts, problem: Problem, field: str, axis: int) -> Iterator[tuple[int, int]]:
    """Yield, for every ghost index of an axis that repeats a cell, the index itself and that of the cell."""
    extent = ghosts.shape[axis]
    (low, high), (below, above) = ghosts.reach[axis], problem.sides(field)[axis]
    for side, span in ((below, range(-low, 0)), (above, range(extent, extent + high))):
        if side.kind not in _STILL:
            for index in span:
                yield index, int(reference.map_index(np.array(index), extent, side.kind))


def text_of(axis: int, index: int, extent: int) -> str:
    """Write an index in C, counted from the nearer end of the axis.

    >>> text_of(0, -1, 8), text_of(0, 1, 8), text_of(0, 7, 8), text_of(0, 9, 8)
    ('-1', '1', 'n0 - 1', 'n0 + 1')
    """
    if 2 * index < extent:
        return str(index)
    behind = index - extent
    return f"n{axis} {'-' if behind < 0 else '+'} {abs(behind)}"


def flat(indices: Sequence[str]) -> str:
    """Write the distance of a cell from the grid's first one.

    >>> flat(["i", "j"])
    '(i * p1 + j)'
    """
    text = indices[0]
    for axis, index in enumerate(indices[1:], 1):
        text = f"({text} * p{axis} + {index})"
    return text


def row_text(ghosts: Ghosts, problem: Problem, field: str, row: str) -> list[str]:
    """Write the ghost cells of a row that has just been computed, ``row`` being the address of its first cell."""
    axis = len(ghosts.shape) - 1
    extent = ghosts.shape[axis]
    return [
        f"({row})[{text_of(axis, ghost, extent)}] = ({row})[{text_of(axis, cell, extent)}];"
        for ghost, cell in copies(ghosts, problem, field, axis)
    ]


def slab_text(ghosts: Ghosts, problem: Problem, field: str, target: str, names: tuple[str, ...]) -> list[str]:
    """Write the ghost rows (or planes) that repeat the row (or plane) that has just been computed.

    Args:
        ghosts: The layout.
        problem: The problem.
        field: The field that is written.
        target: Address of the first cell of its new version.
        names: Names of the indices of the row, or of the plane; the last one's axis is the one treated.

    Returns:
        Lines of C. The ghost cells of the row or plane itself come along.
    """
    axis, last, extent = len(names) - 1, len(ghosts.shape) - 1, ghosts.shape[len(names) - 1]
    pairs = list(copies(ghosts, problem, field, axis))
    if not pairs:
        return []
    size = " * ".join(f"p{inner}" for inner in range(axis + 1, last + 1))
    first = [f"(-{origin})" for origin in ghosts.origin[axis + 1 :]]

    def start(index: int) -> str:
        return f"{target} + {flat([*names[:-1], f'({text_of(axis, index, extent)})', *first])}"

    lines = [
        f"  if ({names[-1]} == {text_of(axis, cell, extent)}) "
        f"memcpy({start(ghost)}, {start(cell)}, {size} * sizeof(real));"
        for ghost, cell in pairs
    ]
    depth = max(min(cell + 1, extent - cell) for _, cell in pairs)
    return [f"if ({names[-1]} < {depth} || {names[-1]} >= n{axis} - {depth}) {{", *lines, "}"]
