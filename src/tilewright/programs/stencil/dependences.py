"""How far the dependences of programs and problems reach: slopes, distances, and the planes of a recurrence."""

from dataclasses import dataclass

from tilewright.base.constants import PAGE
from tilewright.base.facts import fact
from tilewright.base.intmath import ceil_div
from tilewright.programs.stencil.analysis import Dependence
from tilewright.programs.stencil.boundaries import bend
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """How far dependences reach per logical step along one axis."""

    left: int  # reach towards smaller indices, per logical step, at least 0
    right: int  # reach towards larger indices, per logical step, at least 0

    @property
    def widest(self) -> int:
        """The larger of the two."""
        return max(self.left, self.right)


@fact
def plane_weights(program: Program) -> tuple[int, ...]:
    """Return weights w, the last one 1, with ``w . o < 0`` for every read o of a recurrence's own new values.

    Cells x of a plane ``w . x = tau`` do not need each other, and planes follow each other.
    """
    weights = [1]
    for axis in range(program.rank - 2, -1, -1):
        ahead = [0]
        for dependence in program.analysis.sweep:
            rest = sum(w * o for w, o in zip(weights, dependence.offset[axis + 1 :], strict=True))
            if dependence.offset[axis] < 0:
                ahead.append(rest)
        weights.insert(0, 1 + max(ahead))
    return tuple(weights)


def chained_reads(statement: Statement) -> tuple[Read, ...]:
    """Return the reads of new values of a statement's own row, whose cells wait for each other."""
    return tuple(
        read
        for read in statement.reads
        if read.field == statement.field and read.level == 1 and not any(read.offset[:-1])
    )


def overwrites_its_input(program: Program, statement: Statement) -> bool:
    """Whether a statement's new version overwrites one that it reads (at the centre)."""
    copies = program.analysis.copies[program.fields.index(statement.field)]
    return any(
        read.field == statement.field and read.level != 1 and (1 - read.level) % copies == 0 for read in statement.reads
    )


def overwrites_given(program: Program, field: str) -> bool:
    """Whether a single step overwrites in place a version of a field that it was given, so that it needs a copy."""
    return program.history(field) > 1 or program.analysis.copies[program.fields.index(field)] == 1


@fact
def needs_no_versions(problem: Problem) -> bool:
    """Whether a run can do with the arrays that it is given and those of its results: of a single step.

    Each updated field has two versions at most, and one field alone has two: kernels know one distance between these.
    """
    # Rows of a recurrence that are computed in turn lie in the same sets of L1 where they are halves of a page apart,
    # and do not fit there together.
    copies = problem.program.analysis.copies
    if problem.steps != 1 or problem.points or not set(copies) <= {1, 2} or copies.count(2) > 1:
        return False
    apart = problem.shape[-1] * problem.itemsize % (PAGE // 2)
    return apart > 0 or not any(map(chained_reads, problem.program.statements))


def slopes(problem: Problem) -> tuple[Slope, ...]:
    """Return, per axis, the slope that covers every dependence of a problem, boundaries included.

    ``mirror`` maps a read outside to the opposite side, which adds the reach there, ``reflect`` the reach less one;
    ``nearest`` and ``constant`` add none. ``wrap`` is a long-range dependence that no slope covers; it is not
    included here.
    """
    result = []
    for axis in range(problem.program.rank):
        left = right = 0
        for dependence in problem.program.analysis.dependences:
            for distance in distances(problem, dependence, axis):
                if distance < 0:
                    left = max(left, ceil_div(-distance, dependence.time))
                else:
                    right = max(right, ceil_div(distance, dependence.time))
        result.append(Slope(left=left, right=right))
    return tuple(result)


def distances(problem: Problem, dependence: Dependence, axis: int) -> tuple[int, ...]:
    """Return how far a dependence reaches along an axis: as written, and as ``mirror`` and ``reflect`` bend it."""
    distance = dependence.offset[axis]
    back = bend((side for sides in problem.boundaries for side in sides[axis]), distance)
    return (distance, -back if distance > 0 else back)
