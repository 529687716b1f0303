"""Dependences between the computations of an iterated stencil, flow and memory.

Time is counted in *logical steps*: a program whose statements need values of the same step (``u.new``) runs in
``stages``, and logical step ``t * stages + s`` is stage ``s`` of step ``t``. A dependence ``(time, offset)`` says that
the computation at ``(tau, x)`` must follow the one at ``(tau - time, x + offset)``.

*Flow* dependences are the program's reads. *Memory* dependences come from keeping only ``m`` copies of a field: the
value of version ``v + m`` overwrites version ``v``, so it must follow every read of that version.
"""

import functools
from dataclasses import dataclass

from tilewright.base.errors import TraceError
from tilewright.base.intmath import ceil_div
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """One dependence."""

    time: int  # distance in logical steps; 0 only inside a sweep
    offset: tuple[int, ...]  # of the computation that must come first, relative to this one
    kind: str  # ``flow`` or ``memory``
    cause: str  # the read behind it, as a user would write it
    stage: int = 0  # of this computation

    def __str__(self) -> str:
        return f"{self.kind} dependence ({-self.time}; {', '.join(f'{o:+d}' for o in self.offset)}) from {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The order and the dependences of a program."""

    stages: tuple[tuple[int, ...], ...]  # indices of the statements of each stage of a step, which are independent
    copies: tuple[int, ...]  # fewest versions that the stages allow, per field; 1 for one that is never updated
    dependences: tuple[Dependence, ...]  # the distinct ones between logical steps
    sweep: tuple[Dependence, ...]  # inside one sweep (a statement that reads its own new values): recurrences


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """How far dependences reach per logical step along one axis."""

    left: int  # reach towards smaller indices, per logical step, at least 0
    right: int  # reach towards larger indices, per logical step, at least 0

    @property
    def widest(self) -> int:
        """The larger of the two."""
        return max(self.left, self.right)


@functools.lru_cache(maxsize=1024)
def analyse(program: Program) -> Analysis:
    """Find the stages, the copies and the dependences of a program."""
    stage_of = _stages(program)
    depth = max(stage_of) + 1
    stages = tuple(tuple(i for i, stage in enumerate(stage_of) if stage == s) for s in range(depth))
    flow = _flow(program, stage_of, depth)
    copies = {field: _copies(program, field, stage_of, depth) for field in program.fields}
    memory = [
        dependence
        for field in program.updated
        for dependence in _memory(program, field, copies[field], stage_of, depth)
        if dependence.time > 0
    ]
    between = dict.fromkeys([d for d in flow if d.time > 0] + memory)
    return Analysis(
        stages=stages,
        copies=tuple(copies.values()),
        dependences=tuple(between),
        sweep=tuple(d for d in flow if d.time == 0),
    )


@functools.lru_cache(maxsize=256)
def plane_weights(program: Program) -> tuple[int, ...]:
    """Return weights w, the last one 1, with ``w . o < 0`` for every read o of a recurrence's own new values.

    Cells x of a plane ``w . x = tau`` do not need each other, and planes follow each other.
    """
    found = [1]
    for axis in range(program.rank - 2, -1, -1):
        ahead = [0]
        for dependence in analyse(program).sweep:
            rest = sum(w * o for w, o in zip(found, dependence.offset[axis + 1 :], strict=True))
            if dependence.offset[axis] < 0:
                ahead.append(rest)
        found.insert(0, 1 + max(ahead))
    return tuple(found)


def overwrites_its_input(program: Program, statement: Statement) -> bool:
    """Whether a statement's new version overwrites one that it reads (at the centre)."""
    copies = analyse(program).copies[program.fields.index(statement.field)]
    return any(
        read.field == statement.field and read.level != 1 and (1 - read.level) % copies == 0 for read in statement.reads
    )


def slopes(problem: Problem) -> tuple[Slope, ...]:
    """Return, per axis, the slope that covers every dependence of a problem, boundaries included.

    ``mirror`` maps a read outside to the opposite side, which adds the reach there, ``reflect`` the reach less one;
    ``nearest`` and ``constant`` add none. ``wrap`` is a long-range dependence that no slope covers; it is not
    included here.
    """
    result = []
    for axis in range(problem.program.rank):
        left = right = 0
        for dependence in analyse(problem.program).dependences:
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
    bend = 0
    kinds = {side.kind for sides in problem.boundaries for side in sides[axis]}
    if "mirror" in kinds:
        bend = abs(distance)
    elif "reflect" in kinds:
        bend = max(0, abs(distance) - 1)
    return (distance, -bend if distance > 0 else bend)


def _stages(program: Program) -> list[int]:
    position = {statement.field: i for i, statement in enumerate(program.statements)}
    needs = [
        {position[read.field] for read in statement.reads if read.level == 1} - {i}
        for i, statement in enumerate(program.statements)
    ]
    stage = [0] * len(needs)
    for _ in needs:
        stage = [1 + max([-1, *(stage[j] for j in need)]) for need in needs]
    if any(stage[i] <= max([-1, *(stage[j] for j in need)]) for i, need in enumerate(needs)):
        raise TraceError(
            f"the statements of {program.name!r} need each other's new values in a circle",
            "one of them must read the current values instead of .new",
        )
    return stage


def _cause(field: str, level: int, offset: tuple[int, ...]) -> str:
    suffix = {1: ".new", 0: "", -1: ".prev", -2: ".prev2"}[level]
    return f"{field}{suffix}[{', '.join(str(o) for o in offset)}]"


def _flow(program: Program, stage_of: list[int], depth: int) -> list[Dependence]:
    position = {statement.field: i for i, statement in enumerate(program.statements)}
    result = []
    for i, statement in enumerate(program.statements):
        for read in statement.reads:
            if read.field not in position:
                continue
            writer = position[read.field]
            time = (1 - read.level) * depth + stage_of[i] - stage_of[writer]
            if time == 0 and not read.offset < (0,) * program.rank:
                raise TraceError(
                    f"{_cause(read.field, 1, read.offset)} in {program.name!r} is not computed yet when it is read",
                    "a recurrence reads new values at lexicographically earlier cells only",
                )
            cause = _cause(read.field, read.level, read.offset)
            result.append(Dependence(time=time, offset=read.offset, kind="flow", cause=cause, stage=stage_of[i]))
    return result


def _memory(program: Program, field: str, copies: int, stage_of: list[int], depth: int) -> list[Dependence]:
    position = {statement.field: i for i, statement in enumerate(program.statements)}
    writer = position[field]
    result = []
    for i, statement in enumerate(program.statements):
        for read in statement.reads:
            if read.field != field:
                continue
            time = (read.level + copies - 1) * depth + stage_of[writer] - stage_of[i]
            offset = tuple(-distance for distance in read.offset)
            in_place = time == 0 and i == writer and not any(offset)
            if not in_place:
                cause = _cause(field, read.level, read.offset)
                stage = stage_of[writer]
                result.append(Dependence(time=time, offset=offset, kind="memory", cause=cause, stage=stage))
    return result


def _copies(program: Program, field: str, stage_of: list[int], depth: int) -> int:
    """Smallest number of versions for which every read comes before the value that overwrites it."""
    if field not in program.updated:
        return 1
    copies = program.history(field)
    while any(dependence.time <= 0 for dependence in _memory(program, field, copies, stage_of, depth)):
        copies += 1
    return copies
