"""The order and the dependences of a program.

Time is counted in *logical steps*: a program whose statements need values of the same step (``u.new``) runs in
``stages``, and logical step ``t * stages + s`` is stage ``s`` of step ``t``. A dependence ``(time, offset)`` says that
the computation at ``(tau, x)`` must follow the one at ``(tau - time, x + offset)``.

*Flow* dependences are the program's reads. *Memory* dependences come from keeping only ``m`` copies of a field: the
value of version ``v + m`` overwrites version ``v``, so it must follow every read of that version.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.base.errors import TraceError
from tilewright.programs.stencil.expression import Read

Updates = Mapping[str, tuple[Read, ...]]
"""What the statements of a step read, by the field that each updates, in their order."""


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


def analyse(name: str, updates: Updates, histories: Mapping[str, int]) -> Analysis:
    """Find the stages, the copies and the dependences of a program; ``histories``: past time levels of every field."""
    stage_of = _stages(name, updates)
    depth = max(stage_of.values()) + 1
    numbers = {field: number for number, field in enumerate(updates)}
    stages = tuple(tuple(numbers[field] for field in updates if stage_of[field] == s) for s in range(depth))
    flow = _flow(name, updates, stage_of, depth)
    copies = {
        field: _copies(field, past, updates, stage_of, depth) if field in updates else 1
        for field, past in histories.items()
    }
    memory = [
        dependence
        for field in histories
        if field in updates
        for dependence in _memory(field, copies[field], updates, stage_of, depth)
        if dependence.time > 0
    ]
    between = dict.fromkeys([d for d in flow if d.time > 0] + memory)
    return Analysis(
        stages=stages,
        copies=tuple(copies.values()),
        dependences=tuple(between),
        sweep=tuple(d for d in flow if d.time == 0),
    )


def _stages(name: str, updates: Updates) -> dict[str, int]:
    needs = {field: {read.field for read in reads if read.level == 1} - {field} for field, reads in updates.items()}
    stage = dict.fromkeys(updates, 0)
    for _ in needs:
        stage = {field: 1 + max([-1, *(stage[other] for other in need)]) for field, need in needs.items()}
    if any(stage[field] <= max([-1, *(stage[other] for other in need)]) for field, need in needs.items()):
        raise TraceError(
            f"the statements of {name!r} need each other's new values in a circle",
            "one of them must read the current values instead of .new",
        )
    return stage


def _flow(name: str, updates: Updates, stage_of: Mapping[str, int], depth: int) -> list[Dependence]:
    result = []
    for field, reads in updates.items():
        for read in reads:
            if read.field not in updates:
                continue
            time = (1 - read.level) * depth + stage_of[field] - stage_of[read.field]
            if time == 0 and not read.offset < (0,) * len(read.offset):
                raise TraceError(
                    f"{read.text} in {name!r} is not computed yet when it is read",
                    "a recurrence reads new values at lexicographically earlier cells only",
                )
            stage = stage_of[field]
            result.append(Dependence(time=time, offset=read.offset, kind="flow", cause=read.text, stage=stage))
    return result


def _memory(field: str, copies: int, updates: Updates, stage_of: Mapping[str, int], depth: int) -> list[Dependence]:
    result = []
    for reader, reads in updates.items():
        for read in reads:
            if read.field != field:
                continue
            time = (read.level + copies - 1) * depth + stage_of[field] - stage_of[reader]
            offset = tuple(-distance for distance in read.offset)
            in_place = time == 0 and reader == field and not any(offset)
            if not in_place:
                stage = stage_of[field]
                result.append(Dependence(time=time, offset=offset, kind="memory", cause=read.text, stage=stage))
    return result


def _copies(field: str, past: int, updates: Updates, stage_of: Mapping[str, int], depth: int) -> int:
    """Smallest number of versions for which every read comes before the value that overwrites it."""
    copies = past
    while any(dependence.time <= 0 for dependence in _memory(field, copies, updates, stage_of, depth)):
        copies += 1
    return copies
