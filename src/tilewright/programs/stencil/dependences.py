"""How far the dependences of programs and problems reach: slopes, distances, and the planes of a recurrence."""

from dataclasses import dataclass

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


def _overwritten(program: Program, read: Read) -> bool:
    """Whether what is read lies where the same step writes the field's new version."""
    return read.level != 1 and (1 - read.level) % program.analysis.copies[program.fields.index(read.field)] == 0


def overwrites_its_input(program: Program, statement: Statement) -> bool:
    """Whether a statement's new version overwrites one that it reads (at the centre)."""
    return any(read.field == statement.field and _overwritten(program, read) for read in statement.reads)


def overwritten_fields(program: Program) -> frozenset[str]:
    """Return the updated fields of which a step overwrites a version that a statement reads."""
    reads = (read for statement in program.statements for read in statement.reads)
    return frozenset(read.field for read in reads if read.field in program.updated and _overwritten(program, read))


def needs_no_versions(problem: Problem) -> bool:
    """Whether a run can do with the arrays that it is given and those of its results: of a single step.

    Each updated field has two versions at most, and one field alone has two: kernels know one distance between these.
    """
    copies = problem.program.analysis.copies
    return problem.steps == 1 and not problem.points and set(copies) <= {1, 2} and copies.count(2) <= 1


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
