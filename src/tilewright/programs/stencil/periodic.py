"""Periodic grids made tileable: the grid inside a larger one, surrounded by periodic copies of itself.

``wrap`` is a dependence across the whole grid, which no time tile keeps. On a grid that is extended by the reach per
step times a number of steps, filled with copies, the same steps run with ``fixed`` edges instead: what is wrong at
the edges creeps inwards by the reach per step and stops short of the grid proper. Then the copies are refreshed.
"""

import sys
from dataclasses import dataclass, replace

from tilewright.base.facts import fact
from tilewright.base.intmath import ceil_div
from tilewright.programs.stencil.boundaries import FIXED
from tilewright.programs.stencil.dependences import distances
from tilewright.programs.stencil.expression import reads
from tilewright.programs.stencil.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """What is computed for a problem that is not computed as it is: fields behind its own, copies around its grid."""

    problem: Problem  # on the larger grid; with copies around it its steps are those of one block
    around: tuple[tuple[int, int], ...]  # cells below and above the grid proper, per axis; of a grid alone none

    @property
    def block(self) -> int:
        """Steps until the copies, or what was made of the first state, are stale."""
        program = self.problem.program
        stale = any(read.field in program.updated for _, tape in program.once for read in reads(tape))
        return self.problem.steps if self.wider or stale else sys.maxsize

    @property
    def wider(self) -> bool:
        """Whether there are copies around the grid."""
        return any(map(any, self.around))

    def fitted(self, shape: tuple[int, ...]) -> "Extended":
        """Return the same copies around a grid of another shape."""
        whole = tuple(low + extent + high for extent, (low, high) in zip(shape, self.around, strict=True))
        return self if whole == self.problem.shape else replace(self, problem=replace(self.problem, shape=whole))


@fact
def wrapped_axes(problem: Problem) -> tuple[int, ...]:
    """Return the axes on which a read wraps around the grid.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> from tilewright.programs.stencil.problem import make_problem
    >>> wrapped_axes(make_problem(program("heat2d"), (8, 8), 1, boundary=("wrap", "nearest")))
    (0,)
    """
    axes = set()
    for statement in problem.program.statements:
        for read in statement.reads:
            sides = problem.sides(read.field)
            axes |= {a for a, offset in enumerate(read.offset) if offset and sides[a][0].kind == "wrap"}
    return tuple(sorted(axes))


def extend(problem: Problem, steps: int) -> Extended | None:
    """Extend a problem so that a block of steps needs no wrapping.

    Before: ``u`` wraps on an axis of S cells. After: the axis has S + (left + right) * steps cells and is ``fixed``;
    after the block the S cells in the middle hold exactly what they would hold on the periodic grid. None where nothing
    wraps, a field is read across another boundary of the same axis, or the program is a recurrence.
    """
    axes = wrapped_axes(problem)
    if not axes or problem.program.analysis.sweep or not all(all_wrap(problem, axis) for axis in axes):
        return None
    logical = steps * len(problem.program.stages)
    around = tuple(_around(problem, axis, logical) if axis in axes else (0, 0) for axis in range(problem.program.rank))
    shape = tuple(low + extent + high for extent, (low, high) in zip(problem.shape, around, strict=True))
    boundaries = tuple(
        tuple((FIXED, FIXED) if axis in axes else pair for axis, pair in enumerate(sides))
        for sides in problem.boundaries
    )
    return Extended(problem=replace(problem, shape=shape, steps=steps, boundaries=boundaries), around=around)


def all_wrap(problem: Problem, axis: int) -> bool:
    """Whether every field that is read across an axis wraps there."""
    return all(
        problem.sides(read.field)[axis][0].kind == "wrap"
        for statement in problem.program.statements
        for read in statement.reads
        if read.offset[axis]
    )


def _around(problem: Problem, axis: int, logical: int) -> tuple[int, int]:
    """Cells needed on both sides of an axis for a number of logical steps.

    Wrong values advance by the flow dependences' slope per logical step; the first step starts as far inside as the
    furthest read, whatever its time level.
    """
    slope = [0, 0]
    for dependence in problem.program.analysis.dependences:
        if dependence.kind == "flow":
            for distance in distances(problem, dependence, axis):
                side = int(distance > 0)
                slope[side] = max(slope[side], ceil_div(abs(distance), dependence.time))
    needed = []
    for side, reach in enumerate(problem.program.reach[axis]):
        needed.append(slope[side] * logical + max(0, reach - slope[side]))
    return needed[0], needed[1]
