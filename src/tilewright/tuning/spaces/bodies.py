"""The rule that says how the code of a kernel on a CPU is written; its thresholds were measured on catalogue programs.

What a tiling asks for overrules it: its keys ``rows``, ``neighbours``, ``sums`` and ``piece``. The rule does not know
the machine: one text is written for all processors, whose compilers' macros say how long vectors are and how many
registers there are. What a processor takes over another form than the rule's is :func:`arithmetic_ratio`.
"""

from dataclasses import replace

from tilewright.base.errors import UsageError
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import FEW, VectorUnits, vector_units
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.regions import inner_programs
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.code import BoxCode, CpuSchedule, KernelCode, Stage
from tilewright.schedules.streaming.levels import of_problem
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.box_bodies import box_code
from tilewright.tuning.spaces.stream_bodies import stream_stages
from tilewright.tuning.spaces.sum_forms import statement_cycles

_CHAIN = 12
"""Additions that may wait for each other: more of them than a scheduler holds several results of."""
_GROUPED = 6
"""Fewest plain reads that are worth sums by rows."""
_PIECE = 2**13
"""Bytes of a field in a piece of a sweep: what a few fields have of one lies in L1."""
_PART = 2048
"""Cells of which parts in 1D are multiples: smaller ones take less time than a barrier."""

_STREAMED = 2**25
"""Bytes of states that a cache may hold until they are read again: as much as the L3 of a few cores."""


def cpu_schedule(
    problem: Problem, tiling: Tiling, storage: Storage = PLAIN, *, strict: bool = False, batch: bool = False
) -> CpuSchedule:
    """Return a legal tiling with everything decided that it leaves open."""
    return CpuSchedule(
        tiling=tiling,
        body=choose_body(problem, tiling, storage, strict=strict, batch=batch),
        storage=storage,
        batch=batch,
    )


def choose_body(
    problem: Problem, tiling: Tiling, storage: Storage = PLAIN, *, strict: bool = False, batch: bool = False
) -> KernelCode:
    """Decide how the code of a legal tiling is written, whatever the shape and the steps of the problem."""
    # ``strict``: every operation keeps its order and rounding; ``batch``: many grids, each in one thread's caches.
    _check(problem, tiling)
    boxes: tuple[BoxCode, ...] = ()
    stages: tuple[Stage, ...] = ()
    streams = tiling.family.streams
    nested = bool(storage.subdomains) and not streams
    inner = inner_programs(problem.program, storage.subdomains, nested=nested)
    for program in (problem.program, *(program for _, program in inner)):
        some = problem if program is problem.program else replace(problem, program=program)
        if streams:
            stages += stream_stages(some, tiling, strict=strict)
        else:
            boxes += tuple(box_code(some, each, tiling, strict=strict, batch=batch) for each in program.statements)
    return KernelCode(
        boxes=boxes,
        stages=stages,
        # Inline they cost nothing but where rows hold much arithmetic; apart they cost 10 % of a seven-point stencil.
        ends_apart=any(stage.many.planes for stage in stages),
        chain=_CHAIN,
        grouped=_GROUPED,
        piece=tiling.piece or _PIECE // problem.itemsize,
        part=_PART,
        # A sweep finds what it has computed no more in a cache when it writes the state.
        streamed=_STREAMED if storage.kept and not tiling.family.untiled else None,
    )


def _check(problem: Problem, tiling: Tiling) -> None:
    """Refuse what a tiling asks for of the code where there is none of that kind."""
    name = problem.program.name
    if tiling.piece and (not tiling.family.untiled or len(problem.program.statements) == 1):
        raise UsageError(
            f"piece is a size of the tiling none for programs of several statements, got {str(tiling)!r} for {name!r}",
            "leave piece out",
        )
    if (tiling.sums or tiling.neighbours) and problem.program.analysis.sweep:
        raise UsageError(
            f"{name!r} is computed cell by cell, so sums and neighbours mean nothing, got {str(tiling)!r}",
            "leave them out",
        )


def arithmetic_ratio(problem: Problem, tiling: Tiling, machine: Machine) -> float:
    """Return by how much a tiling's ``sums`` lengthen the arithmetic of a cell, over the rule's choice.

    The model's seconds per vector are of code as the rule writes it, calibrated or estimated; what another form of its
    sums takes is to that as the cycles of both are by their counts (:func:`tilewright.costs.operations.sum_cycles`).
    """
    if tiling.sums is None or machine.kind != "cpu":
        return 1.0  # GPUs have no such forms
    units = vector_units(machine)
    asked, plain = (
        _cycles(problem, choose_body(problem, each), units) for each in (tiling, replace(tiling, sums=None))
    )
    return asked / plain


def _cycles(problem: Problem, body: KernelCode, units: VectorUnits) -> float:
    """Cycles per vector of all statements, those of a block of results shared among these."""
    total = 0.0
    for box, statement in zip(body.boxes, problem.program.statements, strict=False):
        total += statement_cycles(statement, box.block, box.block.sums[0], units)
    produced = {each.field: each for each in problem.program.statements}
    pipeline = of_problem(problem)
    for number, stage in enumerate(body.stages[: len(pipeline.stages)]):
        block = (stage.few if units == FEW else stage.many).blocks[0]
        fields = [field for field, own in zip(problem.program.fields, pipeline.stage_of, strict=True) if own == number]
        for field, sums in zip(fields, block.sums, strict=True):
            if field in produced:
                total += statement_cycles(produced[field], block, sums, units, pairs=block.pairs)
    return total
