"""Blocks of a grid on ranks, and what each needs of the others for a number of steps: known without any message."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.distributed.windows import Box, Range, Window, depths, part, pieces, placed, window
from tilewright.programs.stencil.periodic import wrapped_axes
from tilewright.programs.stencil.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPart:
    """A box of one block that another block's window holds."""

    box: Box  # in cells of the grid
    at: tuple[int, ...]  # where it begins in the window

    @property
    def cells(self) -> int:
        """Number of its cells."""
        return math.prod(high - low for low, high in self.box)

    @property
    def target(self) -> tuple[slice, ...]:
        """Where it lies in the window."""
        return tuple(slice(at, at + high - low) for at, (low, high) in zip(self.at, self.box, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """How a grid is dealt to ranks: in equal blocks, the first a cell larger where it does not divide, as PETSc's."""

    shape: tuple[int, ...]  # of the grid
    topology: tuple[int, ...]  # ranks per axis; the last axis varies fastest in a rank's number

    def __post_init__(self) -> None:
        for axis, (extent, ranks) in enumerate(zip(self.shape, self.topology, strict=True)):
            if ranks > extent:
                raise UsageError(
                    f"axis {axis} has {extent} cells, fewer than the {ranks} ranks that the topology "
                    f"{self.topology} puts there",
                    "take fewer ranks or another topology",
                )

    @property
    def size(self) -> int:
        """Number of ranks."""
        return math.prod(self.topology)

    def ranges(self, axis: int) -> list[Range]:
        """Return the cells of every rank along an axis.

        >>> Decomposition(shape=(7,), topology=(3,)).ranges(0)
        [(0, 3), (3, 5), (5, 7)]
        """
        each, more = divmod(self.shape[axis], self.topology[axis])
        starts = [rank * each + min(rank, more) for rank in range(self.topology[axis] + 1)]
        return list(itertools.pairwise(starts))

    def block(self, rank: int) -> Box:
        """Return the cells of a rank."""
        found = []
        for axis in reversed(range(len(self.topology))):
            rank, place = divmod(rank, self.topology[axis])
            found.append(self.ranges(axis)[place])
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Halo:
    """What a rank's window holds of every rank, its own block included."""

    window: Window  # of its block
    # by rank, the boxes of that rank's block; of its own also the copies of a grid that wraps
    parts: dict[int, tuple[WindowPart, ...]]


def halo(problem: Problem, layout: Decomposition, rank: int, steps: int) -> Halo:
    """Find what a rank's window holds for a number of steps."""
    found = window(problem, layout.block(rank), steps)
    axes = [_along(layout, axis, span) for axis, span in enumerate(found.span)]
    parts: dict[int, list[WindowPart]] = {}
    for segments in itertools.product(*axes):
        owner = int(np.ravel_multi_index([place for place, _, _ in segments], layout.topology))
        part = WindowPart(box=tuple(cells for _, cells, _ in segments), at=tuple(at for _, _, at in segments))
        parts.setdefault(owner, []).append(part)
    return Halo(window=found, parts={owner: tuple(each) for owner, each in sorted(parts.items())})


def _along(layout: Decomposition, axis: int, span: Range) -> list[tuple[int, Range, int]]:
    """Cut a window along one axis: whose cells, which ones, and where they begin in the window."""
    found = []
    for (low, high), at in pieces(span, layout.shape[axis]):
        for place, (first, last) in enumerate(layout.ranges(axis)):
            a, b = max(low, first), min(high, last)
            if a < b:
                found.append((place, (a, b), at + a - low))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A block cut into what depends on it alone, and the rest."""

    interior: Window  # computed while messages travel; its window is the block
    strips: tuple[Window, ...]  # computed afterwards; their windows lie in that of the block


def split(problem: Problem, layout: Decomposition, rank: int, steps: int) -> Split | None:
    """Cut a rank's block into interior and strips along the cut sides; None where it is too small or nothing is cut."""
    block, wrapped = layout.block(rank), set(wrapped_axes(problem))
    inner, ends = [], []
    for axis, ((low, high), (below, above)) in enumerate(zip(block, depths(problem, steps), strict=True)):
        whole = (low, high) == (0, problem.shape[axis])
        first = whole or (low == 0 and axis not in wrapped)
        last = whole or (high == problem.shape[axis] and axis not in wrapped)
        inner.append((low if first else low + below, high if last else high - above))
        ends.append((first, last))
    if any(low >= high for low, high in inner) or tuple(inner) == block:
        return None
    start = tuple(low for low, _ in block)
    alone = part(problem, tuple(high - low for low, high in block), steps, ends)
    interior = Window(problem=placed(alone, problem, start), span=block, box=tuple(inner))
    strips = []
    for axis, ((low, high), (inner_low, inner_high)) in enumerate(zip(block, inner, strict=True)):
        for begin, end in ((low, inner_low), (inner_high, high)):
            if begin < end:
                box = (*inner[:axis], (begin, end), *block[axis + 1 :])
                strips.append(window(problem, box, steps))
    return Split(interior=interior, strips=tuple(strips))
